"""A structure written as a formula, in LaTeX and in plain text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from spnmkl.structure.nodes import PREFIX, Kind

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

_LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def _number(kind: Kind, name: str) -> str | None:
    """The 9 of an automatic id p9."""
    automatic = re.fullmatch(PREFIX[kind] + "([0-9]+)", name)
    return automatic[1] if automatic else None


def plain_symbol(kind: Kind, name: str) -> str:
    """β9 for the product p9, K4 for the kernel k4; β_colour or β[left eye] for other names."""
    letter = "β" if kind == "product" else "K"
    number = _number(kind, name)
    if number is not None:
        return letter + number
    return f"{letter}_{name}" if re.fullmatch(r"\w+", name) else f"{letter}[{name}]"


def latex_symbol(kind: Kind, name: str) -> str:
    letter = r"\beta" if kind == "product" else "K"
    escaped = "".join(_LATEX_SPECIAL.get(c, c) for c in name)
    index = _number(kind, name) or r"\text{" + escaped + "}"
    return f"{letter}_{{{index}}}"


def symbols(spn: SPN, latex: bool = False) -> dict[str, str]:
    """The symbol of every product's weight and of every kernel."""
    symbol = latex_symbol if latex else plain_symbol
    return {v: symbol(spn.kind(v), name) for v, name in _names(spn).items()}


def _names(spn: SPN) -> dict[str, str]:
    """Labels where they are clear, else ids: two weights need two names, equal kernels may share one."""
    meanings: dict[tuple[Kind, str], set[object]] = defaultdict(set)
    for v in spn.products:
        for name in (v, spn.label(v)):
            meanings["product", name].add(v)
    for v in spn.kernels:
        for name in (v, spn.label(v)):
            meanings["kernel", name].add(spn.spec(v))
    return {
        v: spn.label(v) if len(meanings[spn.kind(v), spn.label(v)]) == 1 and _is_name(spn.label(v)) else v
        for v in (*spn.products, *spn.kernels)
    }


def _is_name(label: str) -> bool:
    """The path-dependent view labels its products with formulas; those are no names."""
    return "{" not in label


def write_formula(spn: SPN, latex: bool, limit: int) -> str:
    """Node by node from a stack; after `limit` nodes an ellipsis stands for what is left in each bracket."""
    symbol = symbols(spn, latex)
    times, dots = (r" \circ ", r"\ldots") if latex else ("∘", "…")
    written = ["K = "]
    visited = 0
    # (text before it, node, whether it needs brackets); without a node: a closing bracket
    stack: list[tuple[str, str | None, bool]] = [("", spn.root, False)]
    while stack:
        text, node, bracketed = stack.pop()
        if node is None:
            written.append(text)
            continue
        if visited >= limit:
            written += [text, dots] if written[-1] != dots else []
            continue
        visited += 1
        written.append(text)
        kind, children = spn.kind(node), spn.children(node)
        if kind == "kernel":
            written.append(symbol[node])
            continue
        if bracketed:
            written.append("(")
            stack.append((")", None, False))
        if kind == "product":
            spaced = not latex and _number(kind, symbol[node].replace("β", "p")) is None
            written.append(symbol[node] + " " * spaced)
        between = times if kind == "product" else " + "
        for position in range(len(children) - 1, -1, -1):
            stack.append((between if position else "", children[position], kind == "product"))
    return "".join(written)
