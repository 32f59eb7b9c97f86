"""What is left of a drawing where only some columns are: for a view alone, and for all without it."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from spnmkl.circuit.program import compile_circuit
from spnmkl.errors import DataError, ParameterError
from spnmkl.structure import SPN, KernelSpec
from spnmkl.wording import quoted, suggestion

FULL = "full"
RULE = (
    "Alone and without, a kernel sees the columns that are left and a product multiplies the factors that are left; "
    "what has none left is gone. All else is as drawn."
)


@dataclass(frozen=True, eq=False)
class Removals:
    """The drawing, and what is left of it for every view.

    Attributes
    ----------
    structures : dict from name to SPN
        Those that are trained, each once; "full" is the drawing itself.
    alone, without : dict from view to the name of a structure
        None where no kernel is left.
    leaves : dict from view to leaves
        The kernels of the drawing that see columns of this view only.
    """

    structures: Mapping[str, SPN]
    alone: Mapping[str, str | None]
    without: Mapping[str, str | None]
    leaves: Mapping[str, tuple[str, ...]]

    @property
    def views(self) -> tuple[str, ...]:
        return tuple(self.alone)


def removals(spn: SPN, views: Mapping[str, Iterable[int | str]], known: Sequence[Any]) -> Removals:
    """The structures of every view alone and of all without it.

    Parameters
    ----------
    spn : SPN
        A valid drawing.
    views : mapping from view to columns
        By name or position; a given matrix counts as a column of its leaf's label.
    known : sequence
        The columns that there are.
    """
    spn.check()
    seen = {leaf: seen_columns(spn, leaf, known) for leaf in spn.kernels}
    everything = frozenset(column for columns in seen.values() for column in columns)
    members = {view: _members(view, columns, known, everything) for view, columns in _mapping(views).items()}
    used = {view: columns & everything for view, columns in members.items()}
    names: dict[frozenset[Any], str | None] = {everything: FULL}
    structures = {FULL: spn}

    def named(columns: frozenset[Any], wish: str) -> str | None:
        if columns not in names:
            left = restricted(spn, columns, seen)
            names[columns] = None if left is None else wish
            if left is not None:
                structures[wish] = left
        return names[columns]

    alone = {view: named(columns, f"{view} alone") for view, columns in used.items()}
    without = {view: named(everything - columns, f"all without {view}") for view, columns in used.items()}
    leaves = {view: tuple(v for v in spn.kernels if set(seen[v]) <= columns) for view, columns in members.items()}
    return Removals(structures, alone, without, leaves)


def seen_columns(spn: SPN, leaf: str, known: Sequence[Any]) -> tuple[Any, ...]:
    """The columns that a leaf sees; of a given matrix, its label."""
    spec = spn.spec(leaf)
    if spec.kernel == "precomputed":
        return (_matrix(spn, leaf),)
    return tuple(known) if spec.features is None else tuple(_column(f, known) for f in spec.features)


def restricted(spn: SPN, columns: Collection[Any], seen: Mapping[str, Sequence[Any]]) -> SPN | None:
    """The drawing over these columns, with the ids that its nodes have; None where nothing is left.

    Branches of a sum that have become the same are one.
    """
    stored = {node["id"]: node for node in spn.to_dict()["nodes"]}
    kinds: dict[Hashable, int] = {}  # what can be computed, numbered
    same: dict[str, int] = {}  # node that is left → what it computes
    children: dict[str, list[str]] = {}
    for v in reversed(spn.topological_order()):
        if spn.kind(v) == "kernel":
            left = [column for column in seen[v] if column in columns]
            if left and len(left) < len(seen[v]):
                stored[v] = {**stored[v], "features": left}
            if left:
                same[v] = kinds.setdefault(_computed(spn, v, left), len(kinds))
            continue
        kept = [child for child in spn.children(v) if child in same]
        if spn.kind(v) == "sum":
            kept = list({same[child]: child for child in reversed(kept)}.values())[::-1]
        if kept:
            children[v] = kept
            what = spn.kind(v), stored[v].get("p", 1.0), tuple(sorted(same[child] for child in kept))
            same[v] = kinds.setdefault(what, len(kinds))
    if spn.root not in same:
        return None
    reached = _below(spn.root, children)
    nodes = [node for v, node in stored.items() if v in reached]
    edges = [[v, child] for v in reached for child in children.get(v, ())]
    return SPN.from_dict({**spn.to_dict(), "nodes": nodes, "edges": edges})


def weighed(spn: SPN, beta: Mapping[str, float]) -> dict[str, Any]:
    """What has weight, from the root down: node → its children, of products with their c_v (eq. 2), or the kernel.

    Where it is the same of a drawing and of what is left of it, the best weights of the one are those of the other:
    what is left can do no better than the whole, and does as well. With another c_v a weight has another price, also
    where the paths that went had none.
    """
    circuit = compile_circuit(spn)
    prices = dict(zip(circuit.products, circuit.total_exponents().tolist(), strict=True))
    found: dict[str, Any] = {}
    waiting = [spn.root]
    while waiting:
        v = waiting.pop()
        if v not in found:
            children = tuple(child for child in spn.children(v) if beta.get(child, 1.0) > 0)
            found[v] = spn.spec(v) if spn.kind(v) == "kernel" else (children, prices.get(v))
            waiting += children
    return found


def _computed(spn: SPN, leaf: str, left: Sequence[Any]) -> Hashable:
    spec = spn.spec(leaf)
    own = spn.label(leaf) if spec.kernel == "precomputed" else ""
    return own, KernelSpec(spec.kernel, spec.params, None, spec.normalize), tuple(left)


def _below(root: str, children: Mapping[str, Sequence[str]]) -> dict[str, None]:
    reached, waiting = {root: None}, [root]
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in reached:
                reached[child] = None
                waiting.append(child)
    return reached


def _matrix(spn: SPN, leaf: str) -> tuple[str, str]:
    return "matrix", spn.label(leaf)


def _column(feature: int | str, known: Sequence[Any]) -> Any:
    return known[feature] if isinstance(feature, int) and feature < len(known) else feature


def _mapping(views: Mapping[str, Iterable[int | str]]) -> Mapping[str, Iterable[int | str]]:
    if not isinstance(views, Mapping) or not views:
        raise ParameterError(
            'views must map the name of each view to its columns, such as {"blood": ["glucose", "iron"]}, but it is '
            f"{quoted(views)}."
        )
    return views


def _members(
    view: str, columns: Iterable[int | str], known: Sequence[Any], everything: frozenset[Any]
) -> frozenset[Any]:
    found = frozenset(_column(column, known) for column in columns)
    for column in found - {*known, *everything}:
        raise DataError(
            f"View {quoted(view)} names column {column!r}, which does not exist; {_closest(column, known)}."
        )
    if not found:
        raise ParameterError(f"View {quoted(view)} has no column; name its columns, or leave it out.")
    return found


def _closest(column: object, known: Sequence[Any]) -> str:
    if isinstance(column, str):
        return suggestion(column, map(str, known))
    return f"there are {len(known)} columns, counted from 0"
