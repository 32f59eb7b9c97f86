"""Where p < 1 leaves many local optima: descents from several starts, then from changed supports of the best."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from spnmkl.certificate import Dual, relative_gap
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.iterate import Iterate, trivial_iterate, trivial_objective
from spnmkl.solvers.newton import newton
from spnmkl.solvers.smallest import light_side
from spnmkl.solvers.start import fitting_weights

Solver = Callable[[Problem, Floats, float], Iterator[Iterate]]
_UNEVEN_STARTS = 10


def nonconvex_iterates(problem: Problem, method: Solver, tol: float) -> Iterator[Iterate]:
    """Descend from several starts: the best of their local optima is kept. β = 0, if it is one, comes last."""
    done = 0
    for start, spent in _starts(problem):
        done += spent
        for iterate in method(problem, start, tol):
            yield replace(iterate, evaluations=done + iterate.evaluations)
        done += iterate.evaluations
    if problem.path_sums[0].min() >= 1:
        alpha = light_side(problem.Y, problem.C)[0]
        no_bound = Dual(-np.inf, alpha, np.ones(len(problem.p)))
        yield trivial_iterate(problem, alpha, no_bound, done, iterate.method)


def _starts(problem: Problem) -> Iterator[tuple[Floats, int]]:
    """Equal weights at which the SVM fits; the same unevenly, as sparse optima are; along p from the convex problem."""
    equal = fitting_weights(problem, 0.5)
    yield equal, 0
    for factors in np.exp(np.random.default_rng(0).normal(0.0, 1.5, (_UNEVEN_STARTS, len(equal)))):
        yield equal * factors, 0
    yield _along_p(problem, equal)


def _along_p(problem: Problem, beta: Floats) -> tuple[Floats, int]:
    """Weights that are good for the convex problem and, from there, for one halfway to it; with the evaluations."""
    low, high = np.minimum(problem.p, 1.0), np.maximum(problem.p, 1.0)
    spent = 0
    for easier in (replace(problem, p=high), replace(problem, p=high * low**0.5)):
        for k, iterate in enumerate(newton(easier, beta, 1e-2)):
            if k == 20 or min(iterate.stationarity, relative_gap(iterate.objective, iterate.dual.value)) <= 1e-2:
                break
        spent += iterate.evaluations
        if iterate.objective < trivial_objective(problem):
            beta = np.maximum(iterate.beta, 1e-3 * iterate.beta.max())
    return beta, spent
