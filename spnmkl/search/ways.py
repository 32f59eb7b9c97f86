"""Searches with leaves as they are and centred ones, and which of their drawings are shown, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from spnmkl.search.branches import alike, multiplies
from spnmkl.search.fits import Fitted, Ground, fit
from spnmkl.search.leaves import Leaves
from spnmkl.search.walk import FOUND, Asked, Walk

SHOWN, DISTINCT = 3, 0.75  # drawings beside the flat sum; those with so many paths in common count as one
POLISH = 100  # steps of L-BFGS for what is shown


@dataclass(frozen=True, eq=False)
class Way:
    """A search with leaves of one kind."""

    leaves: Leaves
    walk: Walk


@dataclass(frozen=True, eq=False)
class BothWays:
    """Searches with leaves as they are and, where they may be, centred: evidence says which suits the labels.

    A product of centred kernels is an interaction alone; one of kernels as they are has the effects of its factors in
    it, too. Of labels that come from interactions alone the former finds more, of others the latter.
    """

    ways: tuple[Way, ...]

    @property
    def plain(self) -> Way:
        return self.ways[0]

    @property
    def best(self) -> Way:
        return max(self.ways, key=lambda way: -np.inf if way.walk.best is None else criterion(way.walk, way.walk.best))

    @property
    def refits(self) -> int:
        return sum(way.walk.refits for way in self.ways)

    @property
    def beats_constant(self) -> bool:
        return self.best.walk.beats_constant

    @property
    def over_sums(self) -> float:
        """The best drawing with a product over the best one without, after prices."""
        products = [over for way in self.ways for over in _products(way.walk)]
        sums = [criterion(way.walk, way.walk.simple) for way in self.ways if way.walk.simple is not None]
        return (max(products) - max(sums)) / self.plain.walk.ground.excess if products and sums else 0.0

    @property
    def found(self) -> bool:
        best = self.best.walk.best
        multiplied = best is not None and any(map(multiplies, best.branches))
        return multiplied and self.beats_constant and self.over_sums >= FOUND


def criterion(walk: Walk, fitted: Fitted) -> float:
    return fitted.criterion(walk.ground)


def _products(walk: Walk) -> list[float]:
    return [criterion(walk, one) for one in walk.seen.values() if any(map(multiplies, one.branches))]


Ranked = Sequence[tuple[Way, Fitted]]


def ranked(done: BothWays, stop: Asked) -> list[tuple[Way, Fitted]]:
    """What is shown: the best drawings that differ, and the flat sum, all fitted to the end.

    Where no product is worth having, those without come first; where nothing is, the flat sum alone is shown.
    """
    best, everything = done.best, done.plain.walk.flat
    assert everything is not None
    walk = best.walk

    def place(way: Way, one: Fitted) -> tuple[bool, float]:
        return not done.found and any(map(multiplies, one.branches)), -criterion(way.walk, one)

    order = sorted(walk.seen.values(), key=lambda one: (place(best, one), one.branches))
    shown: list[Fitted] = []
    for one in order if done.beats_constant else ():
        better = walk.over(one, walk.constant) >= FOUND and not (walk.simple and walk.better(walk.simple, one))
        apart = all(alike(one.branches, other.branches) < DISTINCT for other in [*shown, everything])
        if len(shown) < SHOWN and better and apart:
            shown.append(one)
    polished = [(best, _polished(walk.ground, one, stop)) for one in shown]
    polished.append((done.plain, _polished(done.plain.walk.ground, everything, stop)))
    return sorted(polished, key=lambda pair: place(*pair))


def flat_among(order: Ranked, done: BothWays) -> tuple[Way, Fitted]:
    """The flat sum over all kernels."""
    return next((way, one) for way, one in order if way is done.plain and is_flat(one, way.leaves))


def lead_of(order: Ranked, done: BothWays) -> float:
    """The first over the flat sum, after prices; where it was not found, the first is a sum, too."""
    first, flat = (criterion(way.walk, one) for way, one in (order[0], flat_among(order, done)))
    return (first - flat) / done.plain.walk.ground.excess


def _polished(ground: Ground, one: Fitted, stop: Asked) -> Fitted:
    if stop():
        return one
    found = fit(ground, one.weights, one.constant, one.a, POLISH)
    return found if found.value > one.value else one


def is_flat(one: Fitted, leaves: Leaves) -> bool:
    return one.branches == tuple(((leaf,),) for leaf in range(len(leaves.kernels)))
