"""The search itself: from the flat sum, one branch at a time, as long as evidence asks for more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spnmkl.errors import Stopped
from spnmkl.parallel import Place
from spnmkl.search.beside import each
from spnmkl.search.branches import Branch, Weights, equal, multiplies
from spnmkl.search.fits import Fitted, Ground, constant_alone, fit, pruned
from spnmkl.search.moves import Pool, asked_for, candidates, flat, grown, product_of_views, templates, with_template

GAIN = 0.5  # of the criterion: less is not worth a drawing that is harder to read
FOUND = 5.0  # of the criterion, over the constant and over the best flat sum, to call a drawing found
Tell = Callable[["Walk"], None]
Asked = Callable[[], bool]  # whether to stop
_Tried = tuple[Weights, Fitted, int]  # what to fit, from where, and with how many refits


@dataclass(eq=False)
class Walk:
    """A search under way, or done: what was fitted so far.

    Attributes
    ----------
    constant, flat, simple : no kernel; all leaves added; the best drawing without a product.
    best : the best drawing so far.
    seen : every drawing that was reached, with its fit.
    refits : evidence refits so far.
    """

    ground: Ground
    pool: Pool
    budget: int
    constant: Fitted
    flat: Fitted | None = None
    simple: Fitted | None = None
    best: Fitted | None = None
    seen: dict[tuple[Branch, ...], Fitted] = field(default_factory=dict)
    refits: int = 0
    ended: str = "done"

    def note(self, fitted: Fitted) -> None:
        self.refits += fitted.refits
        known = self.seen.get(fitted.branches)
        if known is None or fitted.value > known.value:
            self.seen[fitted.branches] = fitted
        if self.best is None or self.better(fitted, self.best):
            self.best = fitted
        if not any(map(multiplies, fitted.branches)) and (self.simple is None or self.better(fitted, self.simple)):
            self.simple = fitted

    def better(self, one: Fitted, other: Fitted) -> bool:
        return one.criterion(self.ground) > other.criterion(self.ground)

    def over(self, fitted: Fitted, other: Fitted) -> float:
        """By how much the criterion is larger, in units of what classes add to its spread."""
        return (fitted.criterion(self.ground) - other.criterion(self.ground)) / self.ground.excess

    @property
    def beats_constant(self) -> bool:
        return self.best is not None and self.over(self.best, self.constant) >= FOUND

    @property
    def left(self) -> int:
        return self.budget - self.refits


def walk(
    ground: Ground, pool: Pool, budget: int, stop: Asked, n_jobs: int | None = None, tell: Tell | None = None
) -> Walk:
    """Fit the flat sum and prune it; then screen, refit the best candidates and take the best, until none gains.

    Candidates are refitted side by side, by joblib's backend; what comes of it does not depend on how many at a time.
    """
    found = Walk(ground, pool, budget, constant_alone(ground))
    say = tell or (lambda walk: None)
    try:
        _begin(found, stop, say)
        while found.left > 0 and _step(found, stop, n_jobs, say):
            pass
    except Stopped:
        pass
    if stop():
        found.ended = "stopped"
    elif found.left <= 0:
        found.ended = "budget"
    return found


def _begin(found: Walk, stop: Asked, say: Tell) -> None:
    """The flat sum, whole and pruned; the product of three views; and what is left of the flat sum, with templates."""
    ground, pool = found.ground, found.pool
    found.flat = fit(ground, flat(pool), 1.0, np.zeros_like(ground.Y))  # to its end, so that there is something to give
    found.note(found.flat)
    say(found)
    found.note(_less(pruned(ground, found.flat, found.left, stop), found.flat))
    say(found)
    sums, alone = found.simple or found.flat, product_of_views(pool)
    if alone is not None and found.left > 0:
        start = fit(ground, (equal(alone, float(np.log(4.0))),), 1.0, np.zeros_like(ground.Y), stop=stop)
        found.note(pruned(ground, start, found.left - 1, stop))
        say(found)
    for template in templates(pool):
        if found.left > 0 and asked_for(ground, sums, template):
            fitted = tried(ground, with_template(sums, template), sums, found.left, stop)
            if fitted is None:
                return
            found.note(fitted)
            say(found)


def _less(fitted: Fitted, before: Fitted) -> Fitted:
    """With its own refits alone."""
    return Fitted(fitted.weights, fitted.constant, fitted.a, fitted.value, fitted.refits - before.refits)


def _step(found: Walk, stop: Asked, n_jobs: int | None, say: Tell) -> bool:
    """Whether a candidate was taken."""
    assert found.best is not None
    before = found.best
    asked = candidates(found.ground, found.pool, before)[: found.left]
    if not asked or stop():
        return False
    share = max(1, found.left // len(asked))
    works = [(grown(before, one.branch), before, share) for one in asked]
    for _, fitted in each(_tried, found.ground, works, n_jobs, stop):
        if fitted is not None:
            found.note(fitted)
            say(found)
    taken = found.best.criterion(found.ground) >= before.criterion(found.ground) + GAIN * found.ground.excess
    if not taken and found.best.free > before.free:
        found.best = before
    return taken


def _tried(ground: Ground, work: _Tried, place: Place) -> Fitted | None:
    return tried(ground, *work, place.stop)


def tried(ground: Ground, weights: Weights, before: Fitted, budget: int, stop: Asked) -> Fitted | None:
    """A drawing with one more branch, pruned; None where it was stopped before it was fitted."""
    try:
        fitted = fit(ground, weights, before.constant, before.a, stop=stop)
    except Stopped:
        return None
    return pruned(ground, fitted, budget - 1, stop)


def found_among(given: tuple[Ground, Pool, int], rows: NDArray[np.intp], place: Place) -> tuple[Branch, ...] | None:
    """The drawing that is found in some of the rows; None where it was stopped."""
    ground, pool, budget = given
    part = Ground(tuple(np.ascontiguousarray(K[np.ix_(rows, rows)]) for K in ground.K), ground.Y[:, rows].copy())
    done = walk(part, pool, budget, place.stop, 1)
    if place.stop() or done.best is None:
        return None
    return done.best.branches
