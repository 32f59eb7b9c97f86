"""A program of sums of terms, and what is read off it without listing its paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import inf, prod


@dataclass(frozen=True)
class Term:
    """One alternative of an operation: a monomial in β times the product of its arguments.

    Attributes
    ----------
    exponents : exponent of every β in the monomial.
    products : the product nodes behind it, each with its layer counted from the operation.
    arguments : slots multiplied, each with the number of layers between the operation and the slot.
    """

    exponents: Mapping[str, Fraction]
    products: tuple[tuple[str, int], ...]
    arguments: tuple[tuple[int, int], ...]

    def times(self, other: Term, shift: int = 0) -> Term:
        return Term(
            _added(self.exponents, other.exponents),
            self.products + tuple((v, layer + shift) for v, layer in other.products),
            self.arguments + tuple((slot, depth + shift) for slot, depth in other.arguments),
        )


ONE = Term({}, (), ())


_Lightest = tuple[float, frozenset[str]]


_NEVER: _Lightest = (inf, frozenset())


def _by_weight(found: _Lightest) -> float:
    return found[0]


def _added(left: Mapping[str, Fraction], right: Mapping[str, Fraction]) -> Mapping[str, Fraction]:
    if not left or not right:
        return left or right
    total = dict(left)
    for v, e in right.items():
        total[v] = total.get(v, Fraction(0)) + e
    return total


@dataclass(frozen=True)
class Derivations:
    """Slots 0 … L-1 are the kernels, slot L+k is operation k, the sum of its terms; the last operation is the root."""

    leaves: tuple[str, ...]
    operations: tuple[tuple[Term, ...], ...]

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        return tuple(term for operation in self.operations for term in operation)

    @cached_property
    def counts(self) -> list[int]:
        """The number of derivations of every slot, as exact integers."""
        count = [1] * len(self.leaves)
        for terms in self.operations:
            count.append(sum(prod(count[slot] for slot, _ in term.arguments) for term in terms))
        return count

    def total_exponents(self) -> dict[str, Fraction]:
        """c_v = Σ_m e_mv (eq. 2), exactly."""
        count, first = self.counts, len(self.leaves)
        outside = [0] * len(count)
        outside[-1] = 1
        c: dict[str, Fraction] = {}
        for k in range(len(self.operations) - 1, -1, -1):
            for term in self.operations[k]:
                slots = [slot for slot, _ in term.arguments]
                paths = outside[first + k] * prod(count[slot] for slot in slots)
                for v, e in term.exponents.items():
                    c[v] = c.get(v, Fraction(0)) + paths * e
                for position, slot in enumerate(slots):
                    if slot >= first:
                        others = prod(count[s] for i, s in enumerate(slots) if i != position)
                        outside[slot] += outside[first + k] * others
        return c

    def smallest_exponents(self) -> dict[str, Fraction]:
        """min over the paths through v of e_mv, for every product v."""
        # Per slot: the least exponent of v on any derivation (only where v cannot be avoided) and on those that meet v.
        least: list[dict[str, Fraction]] = [{} for _ in self.leaves]
        met: list[dict[str, Fraction]] = [{} for _ in self.leaves]
        for terms in self.operations:
            least_here: dict[str, Fraction] | None = None
            met_here: dict[str, Fraction] = {}
            for term in terms:
                slots = [slot for slot, _ in term.arguments]
                unavoidable = term.exponents
                for slot in slots:
                    unavoidable = _added(unavoidable, least[slot])
                through = dict(unavoidable)
                for slot in slots:
                    for v, e in met[slot].items():
                        if v not in unavoidable:  # then no other argument need meet v
                            through[v] = min(through.get(v, e), e)
                for v, e in through.items():
                    met_here[v] = min(met_here.get(v, e), e)
                if least_here is None:
                    least_here = dict(unavoidable)
                else:
                    least_here = {v: min(e, unavoidable[v]) for v, e in least_here.items() if v in unavoidable}
            least.append(least_here or {})
            met.append(met_here)
        return met[-1]

    def lightest(self, cost: Mapping[str, float]) -> tuple[float, frozenset[str]]:
        """The derivation with the least Σ_v cost_v e_mv among those that use a node of `cost`.

        Returns the sum and the products used; inf and none where no derivation uses such a node.
        """
        free: list[_Lightest] = [(0.0, frozenset())] * len(self.leaves)
        met: list[_Lightest] = [_NEVER] * len(self.leaves)
        for operation in self.operations:
            frees: list[_Lightest] = []
            mets: list[_Lightest] = []
            for term in operation:
                own = sum(cost[v] * e for v, e in term.exponents.items() if v in cost)
                parts = [free[slot] for slot, _ in term.arguments]
                total = own + sum(weight for weight, _ in parts)
                used = frozenset(term.exponents).union(*(nodes for _, nodes in parts))
                frees.append((total, used))
                if any(v in cost for v in used):
                    mets.append((total, used))
                else:
                    for k, (slot, _) in enumerate(term.arguments):
                        others = frozenset(term.exponents).union(*(n for i, (_, n) in enumerate(parts) if i != k))
                        mets.append((total - parts[k][0] + met[slot][0], others | met[slot][1]))
            free.append(min(frees, key=_by_weight))
            met.append(min(mets, key=_by_weight, default=_NEVER))
        return met[-1]

    def products_below(self) -> list[frozenset[str]]:
        """The products met under every slot."""
        below: list[frozenset[str]] = [frozenset()] * len(self.leaves)
        for terms in self.operations:
            below.append(frozenset().union(*(self._products_of(term, below) for term in terms)))
        return below

    def _products_of(self, term: Term, below: list[frozenset[str]]) -> frozenset[str]:
        return frozenset(term.exponents).union(*(below[slot] for slot, _ in term.arguments))

    def components(self) -> list[tuple[frozenset[str], tuple[Term, ...]]]:
        """Products joined by sharing a path, with the root terms that reach them (formulation, section 6)."""
        below = self.products_below()
        owner: dict[str, int] = {}
        groups: dict[int, tuple[set[str], list[Term]]] = {}
        for k, term in enumerate(self.operations[-1]):
            products = self._products_of(term, below)
            merged: tuple[set[str], list[Term]] = (set(products), [term])
            for old in sorted({owner[v] for v in products if v in owner}):
                members, terms = groups.pop(old)
                merged = (merged[0] | members, terms + merged[1])
            groups[k] = merged
            for v in merged[0]:
                owner[v] = k
        return [(frozenset(members), tuple(terms)) for members, terms in groups.values()]
