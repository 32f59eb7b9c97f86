"""Where path following begins: a first μ, weights above zero, and the centre there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnmkl.certificate import balanced
from spnmkl.circuit.program import Floats
from spnmkl.solvers.barrier import Barrier, PathPoint
from spnmkl.solvers.centring import Centre, Inside, around
from spnmkl.solvers.iterate import trivial_objective
from spnmkl.solvers.shifted import ShiftedKernel
from spnmkl.solvers.start import better_scale, first_weights

_FIRST_MU = 0.3  # of the value, over the number of bounds
_START_MU = 0.5  # of a start's gap instead, where that is less
_CENTRED = 0.05  # of μ√n: the decrement of the first centres
_FAR_BELOW = 0.5  # of the trivial objective: a value below it asks for a smaller μ
_LIFT = 2  # times the gap, shared out over the bounds: what a weight of zero may cost
_LEAST_LIFT, _MOST_LIFT = 1e-8, 1e-2  # of the largest weight: where weights of zero begin
_RESCALINGS, _SCALE_OFF = 3, 2.0  # steps to a better scale; a factor that is worth one
_SCALE_FAR = 4.0  # a factor beyond which the old centre is no start for the new one


@dataclass(frozen=True)
class Start:
    """A point near the optimum: weights, α if it is known, and about the relative gap."""

    beta: Floats
    alpha: Floats | None
    gap: float


def first_point(barrier: Barrier, start: Start | None) -> tuple[PathPoint, float]:
    """A centred pair and its μ, which fits the gap of a start."""
    if start is None:
        return _of_equal_weights(barrier)
    problem, beta = barrier.problem, _lifted(barrier, start)
    share = min(_FIRST_MU, _START_MU * start.gap)
    mu = share * trivial_objective(problem) / barrier.n_bounds
    kernel = barrier.kernel_at(beta, mu)
    begin: list[Inside | None] = [None] * len(barrier.Y)
    if start.alpha is None:
        begin = list(barrier.centred(kernel, mu, begin, _CENTRED))
        inside = np.array([c.a for c in begin if c is not None])
    else:
        inside = balanced(start.alpha, problem.Y)[barrier.classes][:, barrier.live]
    value = min(barrier.objective_at(beta, kernel, inside)[0], trivial_objective(problem))
    mu = share * value / barrier.n_bounds
    if start.alpha is not None:
        begin = [around(kernel, y, barrier.C, mu, a) for y, a in zip(barrier.Y, inside, strict=True)]
    return barrier.point(beta, kernel, barrier.centred(kernel, mu, begin, _CENTRED)), mu


def _of_equal_weights(barrier: Barrier) -> tuple[PathPoint, float]:
    """At a scale found on some rows by rough SVMs, which the centre on all rows then corrects."""
    trivial = trivial_objective(barrier.problem)
    beta, mu = first_weights(barrier.problem), _FIRST_MU * trivial / barrier.n_bounds
    kernel = barrier.kernel_at(beta, mu)
    centres = barrier.centred(kernel, mu, [None] * len(barrier.Y), _CENTRED)
    beta, centres = _rescaled(barrier, beta, kernel, centres, mu)
    value = barrier.objective(beta, centres)[0]
    if value < _FAR_BELOW * trivial:
        mu = _FIRST_MU * value / barrier.n_bounds
        centres = barrier.centred(kernel, mu, list(centres), _CENTRED)
    return barrier.point(beta, kernel, centres), mu


def _lifted(barrier: Barrier, start: Start) -> Floats:
    """Its weights, those of zero about where the path has them: at β_v = μ/(λ c_v − d_v), eq. 26."""
    problem = barrier.problem
    top = float(start.beta.max()) or 1.0 / float(problem.c.sum())
    level = _LIFT * start.gap * problem.regularizer(start.beta) / (problem.lam * problem.c * barrier.n_bounds)
    return np.maximum(start.beta, np.clip(level, _LEAST_LIFT * top, _MOST_LIFT * top))


def _rescaled(
    barrier: Barrier, beta: Floats, kernel: ShiftedKernel, centres: list[Centre], mu: float
) -> tuple[Floats, list[Centre]]:
    """K(tβ) = tK(β): a better scale (eq. 22) takes no pass."""
    p = barrier.problem.p
    for _ in range(_RESCALINGS if (p == p[0]).all() else 0):
        F = 0.5 * sum(float((c.a * y) @ c.f) for c, y in zip(centres, barrier.Y, strict=True))
        t = better_scale(F, float(barrier.problem.regularizer_slope(beta).sum()), float(p[0]))
        if 1 / _SCALE_OFF < t < _SCALE_OFF:
            break
        beta = t * beta
        kernel.scale(t)
        begin: list[Inside | None] = [None if max(t, 1 / t) > _SCALE_FAR else c for c in centres]
        centres = barrier.centred(kernel, mu, begin, _CENTRED)
    return beta, centres
