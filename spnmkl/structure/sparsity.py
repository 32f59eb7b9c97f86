"""Which products can be pruned under their p, and why (formulation, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import networkx as nx

from spnmkl.errors import ParameterError
from spnmkl.structure.derivations import Derivations, derive

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

How = Literal["alone", "branch", "component", "never"]
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Prunable:
    """Whether the weight of a product can be zero at an optimum.

    Attributes
    ----------
    how : "alone", "branch" (with all that hangs on it alone), "component" (with all it shares paths with), "never".
    together : the products that vanish with it, itself included; empty for "never".
    reason : one sentence.
    """

    how: How
    together: tuple[str, ...]
    reason: str

    def __bool__(self) -> bool:
        return self.how != "never"


def prunable(spn: SPN, p: float | Mapping[str, float] | str | None = None) -> dict[str, Prunable]:
    """Per product, whether it can be pruned under `p` (None: the structure's own; "sparse": its smallest exponent)."""
    spn.check()
    derivations = derive(spn)
    least = derivations.smallest_exponents()
    power = _powers(spn, p, {v: float(e) for v, e in least.items()})
    branches = _branches(spn)
    parts = {v: members for members, _ in derivations.components() for v in members}
    threshold = {
        members: derivations.least_sum({v: 1 / power[v] for v in members}) for members in dict.fromkeys(parts.values())
    }
    return {
        v: _verdict(spn, derivations, v, float(least[v]), power, branches[v], parts[v], threshold[parts[v]])
        for v in spn.products
    }


def _verdict(
    spn: SPN,
    derivations: Derivations,
    v: str,
    least: float,
    power: Mapping[str, float],
    branch: frozenset[str],
    part: frozenset[str],
    part_threshold: float,
) -> Prunable:
    name = repr(spn.label(v))
    if least >= power[v] - _ROUNDING:
        return Prunable(
            "alone",
            (v,),
            f"{name} can be pruned alone: its exponent is at least p = {power[v]:g} on every path.",
        )
    # Σ e/p over a branch reaches 1 only with some p < 1, or on whole paths, which is the component's case.
    bent = any(power[u] < 1 for u in branch)
    if bent and branch != part and derivations.least_sum({u: 1 / power[u] for u in branch}) >= 1 - _ROUNDING:
        return Prunable(
            "branch",
            _ordered(spn, branch),
            f"{name} can be pruned only together with the {len(branch) - 1} products that hang on it alone.",
        )
    if part_threshold >= 1 - _ROUNDING:
        return Prunable(
            "component",
            _ordered(spn, part),
            f"{name} can be pruned only together with all {len(part)} products it is joined to by shared paths.",
        )
    return Prunable(
        "never",
        (),
        f"{name} cannot be pruned: p = {power[v]:g} is above its share of the exponents on some path.",
    )


def _ordered(spn: SPN, members: frozenset[str]) -> tuple[str, ...]:
    return tuple(v for v in spn.products if v in members)


def _branches(spn: SPN) -> dict[str, frozenset[str]]:
    """For every product, the products that are reached only through it, itself included."""
    above = nx.immediate_dominators(spn.graph, spn.root)
    collected: dict[str, set[str]] = {v: {v} if spn.kind(v) == "product" else set() for v in spn.nodes}
    for v in reversed(spn.topological_order()):
        parent = above.get(v)
        if parent is not None and parent != v:
            collected[parent] |= collected[v]
    return {v: frozenset(collected[v]) for v in spn.products}


def _powers(spn: SPN, p: float | Mapping[str, float] | str | None, least: Mapping[str, float]) -> Mapping[str, float]:
    if p == "sparse":
        return least
    if isinstance(p, str):
        raise ParameterError(f"p must be a number above 0, a mapping, 'sparse' or None, but it is {p!r}.")
    if isinstance(p, Mapping):
        return {v: float(p.get(v, spn.p(v))) for v in spn.products}
    return {v: spn.p(v) if p is None else float(p) for v in spn.products}
