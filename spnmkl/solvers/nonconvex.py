"""Where p < 1 leaves many local optima: descents from several starts, and from changed weights of the best found.

A local optimum is known by its support, and any support whose zeros can vanish together may be one (formulation,
section 6), so starts differ in which weights are nearly zero. Each has the Σ_m g_m of weights at which the SVM fits, or
that of the best point: smaller, it would fall to β = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from spnmkl.certificate import Dual, relative_gap
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.budget import Budget, Struggling
from spnmkl.solvers.interior import interior
from spnmkl.solvers.iterate import Iterate, trivial_iterate, trivial_objective
from spnmkl.solvers.newton import newton
from spnmkl.solvers.smallest import light_side
from spnmkl.solvers.start import fitting_weights

Solver = Callable[[Problem, Floats, float], Iterator[Iterate]]
_ROUNDS = 4  # of five starts each
_SLOW_STARTS, _SLOW_SPREAD = 3, 1.5  # uneven ones for a slow method, and how uneven, in log β
_EVALUATIONS, _ROWS = 400, 150  # no new start after so many, fewer in proportion on more rows
_NEARLY_ZERO = 1e-4  # of a weight
_SMALL_START = 0.1  # of the weights at which the SVM fits
_HALF = 0.5  # of the trivial objective: what an SVM leaves at the start of a slow method
_MOST_SMALL, _SPREADS = 0.7, (0.5, 1.5)  # of the weights: so many nearly zero at most; how uneven the others are
_OTHERS = 4  # the next best supports that one is joined with
_BACK, _BACK_SPREAD = 0.3, 0.5  # of a typical weight: where pruned ones return; how uneven
_SHUFFLED, _SHUFFLED_SPREAD = 0.01, 2.0  # the same for shuffled weights
_AWAKE = 1e-3  # of the largest weight: zeros of the problem with a larger p
_LAST_TOL = 0.1  # of tol: the last descent, from the best
_NOTHING = 1e-300  # instead of 0 as a divisor
_ROUGH, _ROUGH_STEPS = 1e-2, 20  # of the problems with a larger p
_SETTLING, _HOPELESS = 0.02, 20.0  # once its residual is small, a descent seldom gains so many residuals more


def nonconvex_iterates(problem: Problem, method: Solver, tol: float) -> Iterator[Iterate]:
    """Descend from several starts: the best of their local optima is kept. β = 0, if it is one, comes last.

    Up to 23 starts, none after 400 kernels were formed; above 150 rows fewer in proportion (60 at 1,000), but the first
    three always. A descent is left where it is clearly bound for a worse point than the best.
    """
    search = _Search(problem, method, tol)
    if method is newton:
        yield from search.thorough()
    else:
        yield from search.short()
    if problem.path_sums[0].min() >= 1:
        alpha = light_side(problem.Y, problem.C)[0]
        no_bound = Dual(-np.inf, alpha, np.ones(len(problem.p)))
        yield trivial_iterate(problem, alpha, no_bound, search.spent, search.name)


class _Search:
    def __init__(self, problem: Problem, method: Solver, tol: float) -> None:
        self.problem, self.method, self.tol = problem, method, tol
        self.rng = np.random.default_rng(0)
        self.spent, self.name = 0, ""
        self.fitting = fitting_weights(problem)
        self.found: list[Iterate] = []  # local optima, the best first

    def short(self) -> Iterator[Iterate]:
        """For a method whose descents take hundreds of steps, and more from weights that are nearly zero."""
        start = fitting_weights(self.problem, _HALF)
        yield from self.descent(start)
        for factors in np.exp(self.rng.normal(0.0, _SLOW_SPREAD, (_SLOW_STARTS, len(start)))):
            yield from self.descent(start * factors)
        yield from self.descent(self.along_p())

    def thorough(self) -> Iterator[Iterate]:
        yield from self.descent(self.fitting)
        yield from self.descent(self.along_p())
        yield from self.descent(_SMALL_START * self.fitting)
        for _ in range(_ROUNDS):
            for start in (self.uneven, self.joined, self.uneven, self.without_one, self.shuffled):
                if self.spent < _EVALUATIONS * min(1.0, _ROWS / self.problem.n):
                    yield from self.descent(start())
        yield from self.descent(self.best, _LAST_TOL * self.tol)

    @property
    def best(self) -> Floats:
        return self.found[0].beta if self.found else self.fitting

    def descent(self, start: Floats, tol: float | None = None) -> Iterator[Iterate]:
        for iterate in self.method(self.problem, start, tol or self.tol):
            yield replace(iterate, evaluations=self.spent + iterate.evaluations)
            if self.hopeless(iterate):
                break
        self.spent += iterate.evaluations
        self.name = iterate.method
        if iterate.beta.any() and iterate.stationarity <= self.tol:
            self.found = sorted([*self.found, iterate], key=lambda known: known.objective)

    def hopeless(self, iterate: Iterate) -> bool:
        if not self.found or iterate.stationarity > _SETTLING:
            return False
        return iterate.objective - self.found[0].objective > _HOPELESS * iterate.stationarity * iterate.objective

    def uneven(self) -> Floats:
        """Log-normal, some of them nearly zero, as local optima are."""
        rng, size = self.rng, len(self.fitting)
        small = rng.random(size) < rng.uniform(0.0, _MOST_SMALL)
        spread = np.exp(rng.normal(0.0, rng.choice(_SPREADS), size))
        return self.scaled(self.fitting * spread * np.where(small, _NEARLY_ZERO, 1.0), self.fitting)

    def joined(self) -> Floats:
        """The support of the best with that of another local optimum."""
        distinct = [known.beta for known in self.found[1:] if not np.array_equal(known.beta > 0, self.best > 0)]
        other = distinct[self.rng.integers(min(_OTHERS, len(distinct)))] if distinct else self.typical()
        return self.scaled(np.maximum(self.best, other), self.best)

    def without_one(self) -> Floats:
        """The best, one of its weights nearly zero and all pruned ones back."""
        typical, best = self.typical(), self.best
        cost = self.problem.c * best**self.problem.p
        beta = np.maximum(best, _BACK * typical) * np.exp(self.rng.normal(0.0, _BACK_SPREAD, len(best)))
        beta[self.rng.choice(len(best), p=cost / cost.sum())] *= _NEARLY_ZERO
        return self.scaled(beta, best)

    def shuffled(self) -> Floats:
        """The best, every weight changed at random."""
        spread = np.exp(self.rng.normal(0.0, _SHUFFLED_SPREAD, len(self.best)))
        return self.scaled(np.maximum(self.best, _SHUFFLED * self.typical()) * spread, self.best)

    def typical(self) -> Floats:
        """Weights that each cost what those of the best cost on average."""
        problem, alive = self.problem, self.best > 0
        cost = (problem.c * self.best**problem.p)[alive].mean()
        return (cost / problem.c) ** (1 / problem.p)

    def scaled(self, beta: Floats, like: Floats) -> Floats:
        """At the Σ_m g_m of `like`."""
        total = self.problem.circuit.path_weight_total
        return beta * (total(like) / max(total(beta), _NOTHING))

    def along_p(self) -> Floats:
        """Good for the convex problem and, from there, for one halfway to it."""
        problem, beta = self.problem, self.fitting
        low, high = np.minimum(problem.p, 1.0), np.maximum(problem.p, 1.0)
        for easier in (replace(problem, p=high), replace(problem, p=high * low**0.5)):
            iterate = _roughly(easier, beta)
            self.spent += 0 if iterate is None else iterate.evaluations
            if iterate is not None and iterate.objective < trivial_objective(problem):
                beta = np.maximum(iterate.beta, _AWAKE * iterate.beta.max())
        return beta


def _roughly(problem: Problem, beta: Floats) -> Iterate | None:
    """A point within a hundredth of stationary or optimal, or after some steps; None where rounding allows none."""
    try:
        return _first_good(newton(problem, beta, _ROUGH, budget=Budget(problem) if problem.convex else None))
    except (Struggling, ArithmeticError):
        return _first_good(interior(problem, _ROUGH)) if problem.convex else None


def _first_good(iterates: Iterator[Iterate]) -> Iterate | None:
    iterate = None
    for iterate in islice(iterates, _ROUGH_STEPS):
        if min(iterate.stationarity, relative_gap(iterate.objective, iterate.dual.value)) <= _ROUGH:
            break
    return iterate
