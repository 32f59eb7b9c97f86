"""Which products can be pruned under their p, and why (formulation, section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

import networkx as nx

from spnmkl.errors import ParameterError
from spnmkl.structure.derivations import derive

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
    parts = {v: members for members, _ in derivations.components() for v in members}

    @cache
    def can_vanish(members: frozenset[str]) -> bool:
        """Every path that meets the set has Σ e/p ≥ 1 over it."""
        return derivations.least_sum({v: 1 / power[v] for v in members}) >= 1 - _ROUNDING

    verdicts: dict[str, Prunable] = {}
    for v, branches in _branches(spn).items():
        name = repr(spn.label(v))
        alone = float(least[v]) >= power[v] - _ROUNDING
        # Below p = 1 a set can vanish that is not whole paths; otherwise only the component is left to ask about.
        branch = next((b for b in branches if any(power[u] < 1 for u in b) and can_vanish(b)), None)
        if alone:
            verdicts[v] = Prunable(
                "alone", (v,), f"{name} can be pruned alone: its exponent is at least p = {power[v]:g} on every path."
            )
        elif branch is not None and branch != parts[v]:
            verdicts[v] = Prunable(
                "branch",
                _ordered(spn, branch),
                f"{name} can be pruned only with the other {len(branch) - 1} products of its branch.",
            )
        elif can_vanish(parts[v]):
            verdicts[v] = Prunable(
                "component",
                _ordered(spn, parts[v]),
                f"{name} can be pruned only together with all {len(parts[v])} products it is joined to by shared paths.",
            )
        else:
            verdicts[v] = Prunable(
                "never",
                (),
                f"{name} cannot be pruned: p = {power[v]:g} is above its share of the exponents on some path.",
            )
    return verdicts


def _ordered(spn: SPN, members: frozenset[str]) -> tuple[str, ...]:
    return tuple(v for v in spn.products if v in members)


def _branches(spn: SPN) -> dict[str, list[frozenset[str]]]:
    """For every product the branches it lies in, smallest first.

    The branch of w is w with all that is reached only through it.
    """
    above = nx.immediate_dominators(spn.graph, spn.root)
    inside: dict[str, set[str]] = {v: {v} if spn.kind(v) == "product" else set() for v in spn.nodes}
    order = spn.topological_order()
    for v in reversed(order):
        if above.get(v, v) not in (None, v):
            inside[above[v]] |= inside[v]
    branches: dict[str, list[frozenset[str]]] = {}
    for v in order:
        outer = branches.get(above[v], []) if above.get(v, v) not in (None, v) else []
        branches[v] = [frozenset(inside[v]), *outer] if spn.kind(v) == "product" else outer
    return {v: branches[v] for v in spn.products}


def _powers(spn: SPN, p: float | Mapping[str, float] | str | None, least: Mapping[str, float]) -> Mapping[str, float]:
    if p == "sparse":
        return least
    if isinstance(p, str):
        raise ParameterError(f"p must be a number above 0, a mapping, 'sparse' or None, but it is {p!r}.")
    if isinstance(p, Mapping):
        return {v: float(p.get(v, spn.p(v))) for v in spn.products}
    return {v: spn.p(v) if p is None else float(p) for v in spn.products}
