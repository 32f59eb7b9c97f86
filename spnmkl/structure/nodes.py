"""What a drawing is made of, and the expressions that read like its formula."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, Literal

from spnmkl.errors import StructureError

Kind = Literal["sum", "product", "kernel"]
KINDS: tuple[Kind, ...] = ("sum", "product", "kernel")
PREFIX: dict[Kind, str] = {"sum": "s", "product": "p", "kernel": "k"}


def describe(value: object) -> str:
    """A value and its type for a message, cut where it is long."""
    if value is None:
        return "nothing"
    kind = {"str": "text", "dict": "mapping"}.get(type(value).__name__, type(value).__name__)
    # Python itself refuses to write out an integer of thousands of digits.
    if isinstance(value, str | float) or (isinstance(value, int) and value.bit_length() <= 1000):
        return f"{_cut(repr(value))} ({kind})"
    return f"a value of type {kind}"


def _cut(text: str, length: int = 60) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def name_list(ids: Iterable[str], separator: str = ", ", limit: int = 5) -> str:
    """Quoted ids for a message, the first few of them."""
    ids = list(ids)
    more = f" and {len(ids) - limit:,} more" if len(ids) > limit else ""
    return separator.join(_cut(repr(i)) for i in ids[:limit]) + more


def first_double(names: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def as_text(value: object, what: str) -> str:
    if not isinstance(value, str) or not value or has_surrogate(value):
        raise StructureError(f"{what} must be non-empty Unicode text; found {describe(value)}.")
    return value


def has_surrogate(text: str) -> bool:
    # A lone surrogate passes through JSON but can be neither printed nor written to a file.
    return not text.isascii() and text.encode("utf-8", "ignore").decode() != text


def as_number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise StructureError(f"{what} must be a number; found {describe(value)}.")
    try:
        return float(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class KernelSpec:
    """What a leaf computes; equal specifications are computed once.

    Parameters
    ----------
    kernel : str
        Name of the base kernel, see `kernel_names`.
    params : mapping or tuple of (name, value) pairs, default=()
        Its parameters: text, numbers, true/false, None, or lists of these. Kept as a sorted tuple.
    features : sequence of int or str, default=None
        The columns the kernel sees, by position or by name; all of them when None.
    normalize : str, default="unit_diagonal"
        Name of the normalisation, see `NORMALIZATIONS`.

    Raises
    ------
    StructureError
        A parameter or column is of a kind that no drawing can hold.

    Examples
    --------
    >>> from spnmkl.structure import KernelSpec
    >>> KernelSpec("rbf", {"gamma": 0.5}, features=["height", "width"]).params
    (('gamma', 0.5),)
    """

    kernel: str
    params: tuple[tuple[str, Any], ...] = ()
    features: tuple[int | str, ...] | None = None
    normalize: str = "unit_diagonal"

    def __post_init__(self) -> None:
        as_text(self.kernel, "The name of a kernel")
        as_text(self.normalize, f"The normalisation of kernel {self.kernel!r}")
        object.__setattr__(self, "params", _params(self.params, self.kernel))
        object.__setattr__(self, "features", _features(self.features, self.kernel))


def _params(params: object, kernel: str) -> tuple[tuple[str, Any], ...]:
    try:
        pairs = dict(params) if isinstance(params, Mapping | tuple) else None
    except (TypeError, ValueError):
        pairs = None
    if pairs is None:
        raise StructureError(f"The parameters of kernel {kernel!r} must be a mapping; found {describe(params)}.")
    names = sorted(as_text(name, f"A parameter name of kernel {kernel!r}") for name in pairs)
    return tuple((name, _param(pairs[name], f"Parameter {name!r} of kernel {kernel!r}")) for name in names)


def _param(value: object, what: str) -> Any:
    if isinstance(value, list | tuple):
        return tuple(_scalar(item, what) for item in value)
    return _scalar(value, what)


def _scalar(value: object, what: str) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Real) and math.isfinite(number := as_number(value, what)):
        return int(value) if isinstance(value, Integral) else number
    raise StructureError(
        f"{what} must be text, a finite number, true, false, nothing, or a list of these; found {describe(value)}."
    )


def _features(features: object, kernel: str) -> tuple[int | str, ...] | None:
    if features is None:
        return None
    if isinstance(features, str | bytes | Mapping | Set) or not isinstance(features, Iterable):
        raise StructureError(
            f"The features of kernel {kernel!r} must be a list of column names or positions;"
            f" found {describe(features)}."
        )
    return tuple(_feature(feature, kernel) for feature in features)


def _feature(feature: object, kernel: str) -> int | str:
    if isinstance(feature, str):
        return feature
    if isinstance(feature, Integral) and not isinstance(feature, bool) and 0 <= int(feature) <= sys.maxsize:
        return int(feature)
    raise StructureError(
        f"A feature of kernel {kernel!r} must be a column name or a position from 0; found {describe(feature)}."
    )


@dataclass(frozen=True, slots=True)
class Node:
    """One node of a drawing; `p` counts for products and `spec` for kernels only."""

    kind: Kind
    label: str | None = None
    p: float = 1.0
    spec: KernelSpec | None = None
    x: float | None = None
    y: float | None = None


def unlabelled(id: str, node: Node) -> Node:
    """A label that repeats the id says nothing and is dropped, so that equal drawings compare equal."""
    return replace(node, label=None) if node.label == id else node


Nodes = dict[str, Node]
Children = dict[str, tuple[str, ...]]


class Expression:
    """A node of an expression; the same object in two places is one shared node."""

    __slots__ = ("children", "id", "node")

    def __init__(self, node: Node, children: tuple[Expression, ...], id: str | None) -> None:
        for child in children:
            if not isinstance(child, Expression):
                raise StructureError(
                    f"A child in an expression must be a Sum, Product or Kernel; found {describe(child)}."
                )
        if node.label is not None:
            as_text(node.label, "A label")
        if id is not None:
            as_text(id, "The id of a node")
        self.node, self.children, self.id = node, children, id

    def __repr__(self) -> str:
        name = f" {self.id or self.node.label!r}" if self.id or self.node.label else ""
        return f"<{type(self).__name__}{name}: {self._content()}>"

    def _content(self) -> str:
        return "1 child" if len(self.children) == 1 else f"{len(self.children)} children"


class Sum(Expression):
    """The sum of its children.

    Parameters
    ----------
    *children : Product
        What is added. Anything else is accepted, so that a drawing can be half done, and found by `SPN.validate`.
    label : str, default=None
        A name to show.
    id : str, default=None
        A name to refer to the node by; s1, s2, … by default.

    Raises
    ------
    StructureError
        A child is no Sum, Product or Kernel.

    Examples
    --------
    >>> from spnmkl import Kernel, Product, Sum
    >>> k1, k2 = Kernel("rbf", gamma=0.5), Kernel("linear")
    >>> Sum(Product(k1), Product(k2), Product(k1, k2, p=2))
    <Sum: 3 children>
    """

    __slots__ = ()

    def __init__(self, *children: Expression, label: str | None = None, id: str | None = None) -> None:
        super().__init__(Node("sum", label), children, id)


class Product(Expression):
    """A learned weight β ≥ 0 times the entry-wise product of its children.

    Parameters
    ----------
    *children : Sum, Product or Kernel
        What is multiplied. The same kernel twice means its square.
    p : float, default=1.0
        Exponent of β in the regulariser: 1 prunes whole branches, more keeps all of them, less prunes single nodes.
    label : str, default=None
        A name to show; the weight is then called β_label.
    id : str, default=None
        A name to refer to the node by, for example in ``beta_``; p1, p2, … by default.

    Raises
    ------
    StructureError
        A child is no Sum, Product or Kernel, or p is no number.

    Examples
    --------
    >>> from spnmkl import Kernel, Product
    >>> Product(Kernel("rbf"), Kernel("linear"), p=2, id="joint")
    <Product 'joint': 2 children>
    """

    __slots__ = ()

    def __init__(self, *children: Expression, p: float = 1.0, label: str | None = None, id: str | None = None) -> None:
        super().__init__(Node("product", label, p=as_number(p, "The p of a product")), children, id)


class Kernel(Expression):
    """A leaf: a base kernel by name, its parameters as keywords.

    Parameters
    ----------
    kernel : str
        One of `kernel_names`: "linear", "polynomial", "rbf", "laplacian", "chi2", "cosine", "hamming" (the share of
        equal values, for categories), "precomputed" (a matrix that you bring), or a kernel of your own, see
        `register_kernel`.
    features : iterable of int or str, default=None
        The columns the kernel sees, by position or by name; None for all of them.
    normalize : str, default="unit_diagonal"
        How its matrix is scaled, so that kernels can be compared: "unit_diagonal", "unit_trace", "unit_variance",
        "centred" or "none"; `spnmkl.kernels.NORMALIZATIONS` says what each does. Learned from the training rows, used
        for new ones.
    label : str, default=None
        A name to show.
    id : str, default=None
        A name to refer to the leaf by, for example for its matrix; k1, k2, … by default.
    **params : float, int or str
        The parameters of the kernel; `kernel_schema` lists them with their defaults. ``gamma`` of "rbf", "laplacian"
        and "chi2" is the decay with the distance: a number, "scale" for 1 / (columns · variance), "median" for 1 /
        (median distance between rows), or a multiple of these such as "4*median". "polynomial" is
        (gamma ⟨x, z⟩ + coef0)^degree, with ``degree`` 2, ``gamma`` "scale" and ``coef0`` 1 by default.

    Raises
    ------
    StructureError
        A parameter or column is of a kind that no drawing can hold. Whether the kernel exists and takes these
        parameters is asked when it is computed, and by `validate_kernels`.

    Examples
    --------
    >>> from spnmkl import Kernel
    >>> Kernel("rbf", gamma="4*median", features=["height", "width"], label="size")
    <Kernel 'size': rbf>
    >>> Kernel("hamming", features=[3, 4], normalize="centred")
    <Kernel: hamming>
    """

    __slots__ = ()

    def __init__(
        self,
        kernel: str,
        /,
        *,
        features: Iterable[int | str] | None = None,
        normalize: str = "unit_diagonal",
        label: str | None = None,
        id: str | None = None,
        **params: Any,
    ) -> None:
        spec = KernelSpec(kernel, tuple(params.items()), features, normalize)  # type: ignore[arg-type]
        super().__init__(Node("kernel", label, spec=spec), (), id)

    @property
    def spec(self) -> KernelSpec:
        """What the leaf computes, as a `KernelSpec`."""
        assert self.node.spec is not None
        return self.node.spec

    def on(self, features: Iterable[int | str] | None, label: str | None = None) -> Kernel:
        """The same kernel on other columns, as a new leaf.

        Parameters
        ----------
        features : iterable of int or str, or None
            The columns, by position or by name; None for all of them.
        label : str, default=None
            The name of the new leaf.

        Returns
        -------
        Kernel
            A leaf of its own, with the same parameters and normalisation.
        """
        spec = self.spec
        return Kernel(spec.kernel, features=features, normalize=spec.normalize, label=label, **dict(spec.params))

    def _content(self) -> str:
        return self.spec.kernel


class FreshIds:
    """Hands out ids that are not taken, numbered on from a stem."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._last: dict[str, int] = {}

    def next(self, stem: str) -> str:
        number = self._last.get(stem, 0) + 1
        while f"{stem}{number}" in self._taken:
            number += 1
        self._last[stem] = number
        self._taken.add(f"{stem}{number}")
        return f"{stem}{number}"

    def like(self, taken_id: str) -> str:
        """A free id that reads like one that is taken: p1 gives p2, colour gives colour1."""
        return self.next(re.sub(r"\d+$", "", taken_id))


def read_expression(expression: Expression) -> tuple[Nodes, Children]:
    """Number the nodes of an expression in depth-first order of first appearance."""
    if not isinstance(expression, Expression):
        raise StructureError(
            f"An SPN is built from a Sum, Product or Kernel; found {describe(expression)}."
            " Use SPN.from_dict, from_json or from_networkx for other forms."
        )
    appeared = list(_preorder(expression))
    given = [item.id for item in appeared if item.id is not None]
    double = first_double(given)
    if double is not None:
        raise StructureError(f"The id {double!r} is given to two nodes; every node needs its own.")
    fresh = FreshIds(given)
    ids = {id(item): item.id or fresh.next(PREFIX[item.node.kind]) for item in appeared}
    nodes = {ids[id(item)]: unlabelled(ids[id(item)], item.node) for item in appeared}
    children: Children = {}
    for item in appeared:
        children[ids[id(item)]] = _separate([ids[id(child)] for child in item.children], nodes, fresh)
    return nodes, {node: children.get(node, ()) for node in nodes}


def _preorder(expression: Expression) -> Iterator[Expression]:
    seen: set[int] = set()
    stack = [expression]
    while stack:
        item = stack.pop()
        if id(item) not in seen:
            seen.add(id(item))
            yield item
            stack.extend(reversed(item.children))


def _separate(children: list[str], nodes: Nodes, fresh: FreshIds) -> tuple[str, ...]:
    """Product(k, k) means K∘K: a kernel that stands twice below one node becomes two leaves."""
    separate: list[str] = []
    present: set[str] = set()
    for child in children:
        if child in present:
            if nodes[child].kind != "kernel":
                raise StructureError(
                    f"The node {child!r} stands twice below the same node; put a product above one of them."
                )
            copy = fresh.like(child)
            nodes[copy] = replace(nodes[child], label=nodes[child].label or child)
            child = copy
        present.add(child)
        separate.append(child)
    return tuple(separate)
