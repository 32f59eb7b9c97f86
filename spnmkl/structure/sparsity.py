"""Which products can be pruned under their p, and why (formulation, section 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import inf
from numbers import Real
from typing import TYPE_CHECKING, Literal

from spnmkl.errors import ParameterError
from spnmkl.structure.derivations import derive

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

How = Literal["alone", "branch", "component", "never"]
_ROUNDING = 1e-12
_MOST_TRIED = 60  # products: beyond, the set named may not be the smallest


@dataclass(frozen=True)
class Prunable:
    """Whether the weight of a product can be zero at an optimum; true in an ``if`` where it can.

    Attributes
    ----------
    how : {"alone", "branch", "component", "never"}
        With some that it shares paths with ("branch"), or with all of them ("component").
    together : tuple of str
        The products that vanish with it, itself included; empty for "never".
    reason : str
        One sentence.

    Examples
    --------
    >>> from spnmkl import templates
    >>> verdict = templates.figure1().prunable()["p9"]
    >>> verdict.how
    'component'
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
    def largest(members: frozenset[str]) -> frozenset[str]:
        """The largest subset that can vanish: every path that meets it has Σ e/p ≥ 1 over it.

        There is one, since the union of two such sets is one; the nodes of a path that falls short must stay.
        """
        while members:
            total, used = derivations.lightest({v: 1 / power[v] for v in members})
            if total >= 1 - _ROUNDING:
                break
            members -= used
        return members

    verdicts: dict[str, Prunable] = {}
    everything = largest(frozenset(spn.products)) if any(power[v] < 1 for v in spn.products) else None
    for v, branches in _branches(spn).items():
        together = frozenset([v])
        if float(least[v]) < power[v] - _ROUNDING:
            together = largest(parts[v]) if everything is None else everything & parts[v]
            if v in together and everything is not None:
                smaller = [branch for branch in branches if len(branch) < len(together)]
                together = next((b for b in smaller if largest(b) == b), _least(v, together, largest))
        verdicts[v] = _verdict(spn, v, power[v], together, parts[v])
    return verdicts


def _least(v: str, members: frozenset[str], largest: Callable[[frozenset[str]], frozenset[str]]) -> frozenset[str]:
    """A set with v that can vanish and from which no other node can be left out."""
    for u in sorted(members):
        if u != v and u in members and len(members) <= _MOST_TRIED and v in (rest := largest(members - {u})):
            members = rest
    return members


def _verdict(spn: SPN, v: str, p: float, together: frozenset[str], part: frozenset[str]) -> Prunable:
    name, others = spn.names[v], len(together) - 1
    if v not in together:
        reason = f"{name} cannot be pruned: p = {p:g} is above its share of the exponents on some path."
        return Prunable("never", (), reason)
    if not others:
        reason = f"{name} can be pruned alone: its exponent is at least p = {p:g} on every path."
        return Prunable("alone", (v,), reason)
    if together == part:
        reason = f"{name} can be pruned only together with all {len(part)} products it is joined to by shared paths."
        return Prunable("component", _ordered(spn, part), reason)
    reason = f"{name} can be pruned only with the other {others} product{'s' * (others > 1)} of its branch."
    return Prunable("branch", _ordered(spn, together), reason)


def _ordered(spn: SPN, members: frozenset[str]) -> tuple[str, ...]:
    return tuple(v for v in spn.products if v in members)


def _branches(spn: SPN) -> dict[str, list[frozenset[str]]]:
    """For every product the branches it lies in, smallest first.

    The branch of w is w with all that is reached only through it.
    """
    from networkx import immediate_dominators

    above = immediate_dominators(spn.graph, spn.root)
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
        unknown = [v for v in p if v not in spn.products]
        if unknown:
            raise ParameterError(f"p names {unknown[0]!r}, which is not a product of the structure; remove it.")
        values = {v: p.get(v, spn.p(v)) for v in spn.products}
    else:
        values = {v: spn.p(v) if p is None else p for v in spn.products}
    for v, value in values.items():
        if not (isinstance(value, Real) and 0 < value < inf):
            raise ParameterError(f"p of product {v!r} must be a finite number above 0, but it is {value!r}; choose 1.")
    return {v: float(value) for v, value in values.items()}
