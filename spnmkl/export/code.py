"""The drawing as Python code in the expression API."""

from __future__ import annotations

import keyword
import math
import pprint
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from spnmkl.structure import SPN, KernelSpec
from spnmkl.structure.nodes import PREFIX, FreshIds, Kind

Features = tuple[int | str, ...]
_CLASSES: dict[Kind, str] = {"sum": "Sum", "product": "Product", "kernel": "Kernel"}
_TAKEN = ("SPN", "spn", "float", "range", *_CLASSES.values())
_OWN_ARGUMENTS = frozenset({"features", "normalize", "label", "id"})
_LINE, _LONG_LIST = 100, 60
# More levels in one expression are hard to read, and Python's parser gives up at 200.
_DEEPEST = 7


def to_python(spn: SPN) -> str:
    """Code that builds the drawing and names it `spn`; it runs as it is.

    Nodes used once are nested, shared ones become variables, and so do levels where the nesting is deep. Ids are
    written where numbering would not give the same ones; positions are left out. A drawing that no expression
    describes (several roots, a cycle) is written as a dictionary.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid.

    Returns
    -------
    str
        Python.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import to_python
    >>> print(to_python(templates.flat({"size": ["height", "width"], "colour": [2]})))
    from spnmkl import SPN, Kernel, Product, Sum
    <BLANKLINE>
    spn = SPN(
        Sum(
            Product(Kernel("rbf", gamma="median", features=["height", "width"], label="size"), label="size"),
            Product(Kernel("rbf", gamma="median", features=[2], label="colour"), label="colour"),
        )
    )
    <BLANKLINE>
    """
    if not _is_expression(spn):
        return f"from spnmkl import SPN\n\nspn = SPN.from_dict(\n{_indented(_dictionary(spn))}\n)\n"
    order = list(_children_first(spn))
    named = _named(spn, order)
    lists = _shared_columns(spn, FreshIds([*spn.nodes, *named.values()]))
    numbered = _numbered(spn)
    written: dict[str, list[str]] = {}
    statements: list[str] = []
    for v in order:
        arguments = [[named[c]] if c in named else written.pop(c) for c in spn.children(v)]
        own = _own_arguments(spn, v, spn.kind(v) not in numbered, lists)
        block = _call(_CLASSES[spn.kind(v)], arguments + own)
        if v in named:
            block[0] = f"{named[v]} = {block[0]}"
            statements += block
        written[v] = block
    classes = sorted({_CLASSES[spn.kind(v)] for v in order})
    lines = [f"from spnmkl import {', '.join(['SPN', *classes])}", ""]
    for columns, name in lists.items():
        first, *others = _features(columns)
        lines += [f"{name} = {first.removeprefix('features=')}", *others]
    lines += statements
    if lists or statements:
        lines.append("")
    top = _call("SPN", [written[spn.root]])
    return "\n".join([*lines, f"spn = {top[0]}", *top[1:], ""])


def _is_expression(spn: SPN) -> bool:
    return (
        len(spn.roots) == 1
        and not any(issue.code in ("cycle", "unreachable") for issue in spn.validate())
        and not any(spn.children(v) or _OWN_ARGUMENTS.intersection(dict(spn.spec(v).params)) for v in spn.kernels)
    )


def _dictionary(spn: SPN) -> str:
    described = spn.to_dict()
    for node in described["nodes"]:
        node.pop("x", None)
        node.pop("y", None)
    return pprint.pformat(described, width=_LINE, sort_dicts=False)


def _indented(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


def _children_first(spn: SPN) -> Iterator[str]:
    """Every node after its children, in the order in which the drawing is read."""
    seen = {spn.root}
    stack = [(spn.root, iter(spn.children(spn.root)))]
    while stack:
        v, children = stack[-1]
        child = next((c for c in children if c not in seen), None)
        if child is None:
            yield v
            stack.pop()
        else:
            seen.add(child)
            stack.append((child, iter(spn.children(child))))


def _named(spn: SPN, order: list[str]) -> dict[str, str]:
    """The nodes that get a variable: shared ones, and those under which the nesting is deep."""
    names: dict[str, str] = {}
    fresh = FreshIds(spn.nodes)
    depth: dict[str, int] = {}
    for v in order:
        depth[v] = 1 + max((depth[c] for c in spn.children(v) if c not in names), default=0)
        deep = depth[v] >= (_DEEPEST if spn.kind(v) == "sum" else 2 * _DEEPEST) and v != spn.root
        if deep or len(spn.parents(v)) > 1:
            names[v] = v if _is_plain(v) and v not in _TAKEN else fresh.next("node_")
    return names


def _is_plain(name: str) -> bool:
    """Python would normalise other identifiers than ASCII ones."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("__")


def _numbered(spn: SPN) -> set[Kind]:
    """The kinds whose ids are what the nodes would be numbered anyway, in the order of first appearance."""
    appeared: dict[str, None] = {}
    stack = [spn.root]
    while stack:
        v = stack.pop()
        if v not in appeared:
            appeared[v] = None
            stack.extend(reversed(spn.children(v)))
    kinds = set(PREFIX)
    while True:
        fresh = FreshIds(v for v in appeared if spn.kind(v) not in kinds)
        wrong = {kind for v in appeared if (kind := spn.kind(v)) in kinds and fresh.next(PREFIX[kind]) != v}
        if not wrong:
            return kinds
        kinds -= wrong


def _shared_columns(spn: SPN, fresh: FreshIds) -> dict[Features, str]:
    """Variables for lists of columns that are too long to be written more than once."""
    often = Counter(spn.spec(v).features for v in spn.kernels)
    long = [
        columns for columns, n in often.items() if columns and n > 1 and len("".join(_features(columns))) > _LONG_LIST
    ]
    return {columns: fresh.next("columns_") for columns in long}


def _own_arguments(spn: SPN, v: str, with_id: bool, lists: Mapping[Features, str]) -> list[list[str]]:
    arguments = list(_kernel_arguments(spn.spec(v), lists)) if spn.kind(v) == "kernel" else []
    if spn.kind(v) == "product" and spn.p(v) != 1:
        arguments.append([f"p={_literal(spn.p(v))}"])
    if spn.label(v) != v:
        arguments.append([f"label={_literal(spn.label(v))}"])
    if with_id:
        arguments.append([f"id={_literal(v)}"])
    return arguments


def _kernel_arguments(spec: KernelSpec, lists: Mapping[Features, str]) -> Iterator[list[str]]:
    yield [_literal(spec.kernel)]
    yield from ([f"{name}={_literal(value)}"] for name, value in spec.params if _is_plain(name))
    odd = {name: value for name, value in spec.params if not _is_plain(name)}
    if odd:
        yield [f"**{_literal(odd)}"]
    if spec.features is not None:
        yield [f"features={lists[spec.features]}"] if spec.features in lists else _features(spec.features)
    if spec.normalize != "unit_diagonal":
        yield [f"normalize={_literal(spec.normalize)}"]


def _features(features: Features) -> list[str]:
    first = features[0] if features else None
    if isinstance(first, int) and len(features) > 3 and features == tuple(range(first, first + len(features))):
        return [f"features=range({first}, {first + len(features)})"]
    flat = f"features={_literal(features)}"
    if len(flat) <= _LINE:
        return [flat]
    lines = [""]
    for item in map(_literal, features):
        if len(lines[-1]) + len(item) > _LINE:
            lines.append("")
        lines[-1] += f"{item}, "
    return ["features=[", *("    " + line.rstrip() for line in lines if line), "]"]


def _literal(value: Any) -> str:
    if isinstance(value, str):
        plain = value.isprintable() and '"' not in value and "\\" not in value
        return f'"{value}"' if plain else repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_literal(key)}: {_literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_literal, value)) + "]"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f'float("{value}")'
    return repr(value)


def _call(name: str, arguments: list[list[str]]) -> list[str]:
    """The lines of a call: a single one where it fits, else one argument after the other."""
    if all(len(lines) == 1 for lines in arguments):
        line = f"{name}({', '.join(lines[0] for lines in arguments)})"
        if len(line) <= _LINE:
            return [line]
    lines = [f"{name}("]
    for argument in arguments:
        lines += ["    " + line for line in argument]
        lines[-1] += "," * (len(arguments) > 1)
    return [*lines, ")"]
