"""The end of a path: as good to the tolerance, at the bounds where the path leads to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spnmkl.certificate import balanced, relative_gap
from spnmkl.circuit.program import Floats
from spnmkl.errors import Stopped
from spnmkl.rounding import rounding_of_flows
from spnmkl.solvers.barrier import Barrier, PathPoint
from spnmkl.solvers.centring import Centre, snapped
from spnmkl.solvers.iterate import Iterate, trivial_iterate, trivial_objective
from spnmkl.solvers.shifted import ShiftedKernel
from spnmkl.solvers.svm import solve_svm

_CENTRED = 0.05  # of μ√n: the decrement of a centre without some weights
_FITTING_STEPS, _FITTED = 5, 0.1  # of SMO, per row; of tol: the error of an SVM with α at its bounds
_LEADING = 0.5  # of the largest component's cost: one that costs more stays
_MINOR = 1e-3  # of the cost of all: components that are tried at zero by themselves, if all together fail


class Ending:
    """Simplifies a point that is good enough: weights of zero, α of 0 and C; what fails loses nothing."""

    def __init__(self, barrier: Barrier, tol: float) -> None:
        self.barrier, self.problem, self.tol = barrier, barrier.problem, tol
        self.best = np.inf

    def simplified(self, point: PathPoint, iterate: Iterate, mu: float, best: float) -> Iterate:
        """As simple as the tolerance allows; `best` is the least objective so far."""
        self.best = best
        if trivial_objective(self.problem) <= iterate.objective:
            evaluations = self.barrier.evaluations
            trivial = trivial_iterate(self.problem, point.alpha, iterate.dual, evaluations, "interior")
            return replace(trivial, smallest_C=self._multiple_of_C(point), final=True)
        simpler = self._with_bounds(iterate, point.kernel, point.centres) or iterate
        try:
            return self.pruned(point, iterate, mu) or simpler
        except (FloatingPointError, Stopped):
            return simpler

    def pruned(self, point: PathPoint, iterate: Iterate, mu: float) -> Iterate | None:
        """Without the weights that should be zero, where the gap still holds."""
        barrier = self.barrier
        for vanishing in self._vanishing(point):
            beta = np.where(vanishing, 0.0, point.beta)
            kernel = barrier.kernel_at(beta, mu)  # in the memory of the point's own
            smaller = replace(iterate, beta=beta, circuit_size=self.problem.circuit.restricted(beta > 0).size)
            centres = barrier.centred(kernel, mu, list(point.centres), _CENTRED)
            if (found := self._with_bounds(smaller, kernel, centres)) is not None:
                return found
        return None

    def _vanishing(self, point: PathPoint) -> Iterator[NDArray[np.bool_]]:
        """Weights that should be zero: of components with a share below what they lack to pay for themselves."""
        problem, parts = self.problem, self.problem.components
        cost, gain = (
            np.bincount(parts, weights=x / problem.p) for x in (problem.regularizer_slope(point.beta), point.D)
        )
        gone = problem.homogeneous & (cost < (1.0 - gain / cost) * cost.sum()) & (cost < _LEADING * cost.max())
        if gone.any():
            yield gone[parts]
            small = gone & (cost < _MINOR * cost.sum())
            if small.any() and (small != gone).any():
                yield small[parts]

    def _with_bounds(self, iterate: Iterate, kernel: ShiftedKernel, centres: list[Centre]) -> Iterate | None:
        """With α at its bounds, or as it is, where that is good to the tolerance."""
        barrier = self.barrier
        # SMO keeps yᵀα = 0 to rounding; scaled for it once more, α = C would no longer be at its bound.
        as_it_is = balanced(np.array([c.a for c in centres]), barrier.Y)
        for alpha in (self._at_bounds(kernel, centres), as_it_is):
            objective, intercept = barrier.objective_at(iterate.beta, kernel, alpha)
            if relative_gap(objective, iterate.dual.value) <= self.tol:
                return replace(
                    iterate,
                    alpha=barrier.on_all_rows(alpha),
                    intercept=intercept,
                    objective=objective,
                    evaluations=barrier.evaluations,
                    witness=None,
                    flows=None,
                    final=True,
                )
        return None

    def _at_bounds(self, kernel: ShiftedKernel, centres: list[Centre]) -> Floats:
        """α with entries of 0 and C, fitted again by a few steps of SMO."""
        Y, C, stop = self.barrier.Y, self.barrier.C, self.problem.stop
        gap, steps = _FITTED * self.tol * self.best / len(centres), _FITTING_STEPS * len(C)
        begin = [snapped(c, y, C) for c, y in zip(centres, Y, strict=True)]
        fits = [solve_svm(kernel.K, y, C, a, gap, steps, stop) for a, y in zip(begin, Y, strict=True)]
        return np.array([fit.alpha for fit in fits])

    def _multiple_of_C(self, point: PathPoint) -> float | None:
        """C_min as a multiple of C, about and from below, where β = 0 is optimal (eq. 18)."""
        problem = self.problem
        to_light_side = trivial_objective(problem) / float(point.alpha.sum())
        flows = np.where(point.flows > rounding_of_flows(problem, point.alpha)(point.beta), point.flows, 0.0)
        D = problem.circuit.X.T @ flows
        steepest = float((D / (point.beta * problem.lam * problem.c)).max()) * to_light_side**2
        return None if (problem.p != 1).any() else max(1.0, steepest**-0.5) if steepest > 0 else np.inf
