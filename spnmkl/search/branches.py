"""Drawings as a search sees them: sums of branches, each a product of sums of leaves; no numbers but their weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product

from spnmkl.structure import SPN, Kernel, Product, Sum

Factor = tuple[int, ...]  # leaves that are added, in order
Branch = tuple[Factor, ...]  # factors that are multiplied, in order
Path = tuple[int, ...]


@dataclass(frozen=True, order=True)
class Weighed:
    """A branch with its weights, as logarithms: those of every factor's leaves, and that of the whole."""

    factors: Branch
    logs: tuple[tuple[float, ...], ...]
    scale: float


Weights = tuple[Weighed, ...]


def equal(factors: Iterable[Iterable[int]], scale: float) -> Weighed:
    """A branch whose leaves have the same weight in each factor."""
    ordered = tuple(sorted(tuple(sorted(set(factor))) for factor in factors))
    return Weighed(ordered, tuple((-math.log(len(factor)),) * len(factor) for factor in ordered), scale)


def branches(weights: Weights) -> tuple[Branch, ...]:
    return tuple(branch.factors for branch in weights)


def free_weights(branch: Branch) -> int:
    """How many numbers its weights tell: scales inside a product cannot be told from its own."""
    return 1 + sum(len(factor) - 1 for factor in branch)


def paths(branch: Branch) -> frozenset[Path]:
    """What it multiplies: one leaf of every factor."""
    return frozenset(tuple(sorted(path)) for path in product(*branch))


def multiplies(branch: Branch) -> bool:
    return len(branch) > 1


def alike(one: Iterable[Branch], other: Iterable[Branch]) -> float:
    """The paths in both, of those in either."""
    a, b = (frozenset().union(*map(paths, branches)) for branches in (one, other))
    return len(a & b) / len(a | b) if a | b else 1.0


def merged(weights: Iterable[Weighed]) -> Weights:
    """In order, each branch once, with the weights of a factor's leaves adding up to 1."""
    found: dict[Branch, Weighed] = {}
    for branch in map(_settled, weights):
        known = found.get(branch.factors)
        both = branch if known is None else replace(known, scale=_log_sum([known.scale, branch.scale]))
        found[branch.factors] = both
    return tuple(sorted(found.values()))


def _settled(branch: Weighed) -> Weighed:
    totals = [_log_sum(logs) for logs in branch.logs]
    shared = [tuple(x - total for x in logs) for logs, total in zip(branch.logs, totals, strict=True)]
    pairs = sorted(zip(branch.factors, shared, strict=True))
    factors, logs = zip(*pairs, strict=True)
    return Weighed(factors, logs, branch.scale + sum(totals))


def _log_sum(logs: Sequence[float]) -> float:
    top = max(logs)
    return top if math.isinf(top) else top + math.log(sum(math.exp(x - top) for x in logs))


def without_leaves(branch: Weighed, gone: Iterable[tuple[int, int]]) -> Weighed | None:
    """Without some places (factor, place in it); None where nothing is left of a factor."""
    out = set(gone)
    kept = [[k for k in range(len(factor)) if (j, k) not in out] for j, factor in enumerate(branch.factors)]
    if not all(kept):
        return None
    return Weighed(
        tuple(tuple(factor[k] for k in keep) for factor, keep in zip(branch.factors, kept, strict=True)),
        tuple(tuple(logs[k] for k in keep) for logs, keep in zip(branch.logs, kept, strict=True)),
        branch.scale,
    )


def joined(weights: Weights) -> Iterator[Weights]:
    """Two products as one, those first that have most in common: a × S + b × S as (a + b) × S."""
    pairs = [(_aligned(*pair), pair) for pair in combinations(weights, 2)]
    some = [(factors, pair) for factors, pair in pairs if factors is not None]
    some.sort(key=lambda found: -_common(found[1][0].factors, found[0]))
    for factors, (one, other) in some:
        others = [branch for branch in weights if branch not in (one, other)]
        yield merged([_together(one, replace(other, factors=factors, logs=_reordered(other, factors))), *others])


def _aligned(one: Weighed, other: Weighed) -> Branch | None:
    """The factors of the other in the order in which they have most leaves in common; None where they have none."""
    if not 1 < len(one.factors) == len(other.factors):
        return None
    best = max(permutations(other.factors), key=lambda factors: _common(one.factors, factors))
    return best if _common(one.factors, best) else None


def _common(one: Branch, other: Branch) -> int:
    return sum(len(set(a) & set(b)) for a, b in zip(one, other, strict=True))


def _reordered(branch: Weighed, factors: Branch) -> tuple[tuple[float, ...], ...]:
    left, found = list(zip(branch.factors, branch.logs, strict=True)), []
    for factor in factors:
        k = next(k for k, (known, _) in enumerate(left) if known == factor)
        found.append(left.pop(k)[1])
    return tuple(found)


def _together(one: Weighed, other: Weighed) -> Weighed:
    """Weights of the heavier one, and where it has none those of the other, as much lighter as that is as a whole."""
    heavy, light = (one, other) if one.scale >= other.scale else (other, one)
    factors, weights = [], []
    for j in range(len(heavy.factors)):
        logs = {
            leaf: log + light.scale - heavy.scale for leaf, log in zip(light.factors[j], light.logs[j], strict=True)
        }
        logs |= dict(zip(heavy.factors[j], heavy.logs[j], strict=True))
        factors.append(tuple(sorted(logs)))
        weights.append(tuple(logs[leaf] for leaf in sorted(logs)))
    return _settled(Weighed(tuple(factors), tuple(weights), heavy.scale))


def product_names(branches: Sequence[Branch]) -> dict[str, str]:
    """What the products of a drawing are called: by branch (b0), or branch, factor and place in it (b0f1l2)."""
    places = [f"b{b}" for b in range(len(branches))]
    for b, branch in enumerate(branches):
        places += (f"b{b}f{j}l{k}" for j, factor in enumerate(branch) if len(factor) > 1 for k in range(len(factor)))
    return {place: f"p{number}" for number, place in enumerate(places, 1)}


def drawn(branches: Sequence[Branch], leaves: Sequence[Kernel] | Mapping[int, Kernel]) -> SPN:
    """The drawing, its products with the names of `product_names`; a leaf in several branches is one node."""
    names = product_names(branches)

    def added(factor: Factor, place: str) -> Kernel | Sum:
        if len(factor) == 1:
            return leaves[factor[0]]
        return Sum(*(Product(leaves[leaf], id=names[f"{place}l{k}"]) for k, leaf in enumerate(factor)))

    products = [
        Product(*(added(factor, f"b{b}f{j}") for j, factor in enumerate(branch)), id=names[f"b{b}"])
        for b, branch in enumerate(branches)
    ]
    return SPN(products[0] if len(products) == 1 else Sum(*products))


def formula(branches: Sequence[Branch], names: Sequence[str]) -> str:
    """(u1 + u2) × (v1 + v2) + w: without weights."""
    return " + ".join(branch_text(branch, names, alone=len(branches) == 1) for branch in branches)


def branch_text(branch: Branch, names: Sequence[str], alone: bool = True) -> str:
    sums = [" + ".join(names[leaf] for leaf in factor) for factor in branch]
    if len(branch) == 1:
        return sums[0] if alone or len(branch[0]) == 1 else f"({sums[0]})"
    return " × ".join(f"({text})" if len(factor) > 1 else text for text, factor in zip(sums, branch, strict=True))
