"""One step of Newton's method: a quadratic model of J around β, minimised over a box (eq. 19)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from spnmkl.circuit.measure import second_moment
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.curvature import Curvature, Response
from spnmkl.solvers.evaluator import Evaluator, Point, Slope
from spnmkl.solvers.qp import bounded_qp, most_sweeps

_LOWEST, _HIGHEST = -0.8, 4.0  # of the relative step z
_REGROWN = 0.1  # of the largest weight, to which any may grow at once
_FIRST_DAMPING, _MOST_DAMPING = 1e-2, 100.0  # of the curvature that the model forgets
_RELAXED, _TIGHTENED, _LEAST_TIGHTENED = 0.2, 5, 1e-6  # damping after a full step, and after one that was cut
_RIDGE, _NO_CURVATURE = 1e-12, 1e-300  # so that H has a diagonal above 0: of the curvature, and where there is none
_FAINT = 1e-2  # of what a weight costs: a pull from which nothing is told of the one at a smaller weight
_GONE = 1e-14  # of the largest weight: one that can be zero alone, and is less, is zero


@dataclass(frozen=True)
class Step:
    """β⁺ = β + σ∘z and what it promises.

    Attributes
    ----------
    z, sigma : (V,) the step, relative to σ, which is β but for weights that come back from zero.
    predicted : gᵀz < 0, the first-order change of J.
    turn : (classes, n) the first-order change of α.
    """

    z: Floats
    sigma: Floats
    predicted: float
    turn: Floats


@dataclass
class _Model:
    """J(β + σ∘z) ≈ J + gᵀz + ½ zᵀHz before H is formed.

    Attributes
    ----------
    entering : (V,) zero weights that may grow.
    sigma : (V,) the unit of z.
    gradient : (V,) ∂J/∂z.
    bent : (V,) the same, corrected for weights that shrink but stay.
    damped : (V,) the curvature that damping adds a share of.
    J : (terms, V) ∂W_t/∂z_v.
    """

    entering: NDArray[np.bool_]
    sigma: Floats
    gradient: Floats
    bent: Floats
    damped: Floats
    J: Floats


class Stepper:
    """Makes steps, and remembers how far its model could be trusted (`damping`)."""

    def __init__(self, problem: Problem, alone: NDArray[np.bool_]) -> None:
        self.problem, self.alone = problem, alone
        self.curvature = Curvature(problem.pause, problem.n_threads)
        self.damping = _FIRST_DAMPING

    def step(self, point: Point, slope: Slope, evaluator: Evaluator, gap: float) -> Step:
        """The minimiser of the model over −0.8 ≤ z ≤ 4; z ≥ −1 for weights that can be zero alone."""
        circuit, beta = slope.circuit, point.beta
        W, X = circuit.weights(beta), circuit.X.toarray()
        flows = W * slope.quadratics / 2  # eq. 7
        D = X.T @ flows
        model = self._first_order(beta, W, X, D, slope.quadratics)
        responses = self.curvature.responses(evaluator, point, slope, model.J, gap)
        H = self._hessian(beta, responses, second_moment(circuit, flows), D, model)
        moving = model.sigma > 0
        z = self._minimiser(H, model.gradient, model)
        slope_there = np.where(z > self._low(model), model.bent, model.gradient)
        if (slope_there != model.gradient)[moving].any():
            bent = self._minimiser(H, slope_there, model)
            z = bent if model.gradient[moving] @ bent[moving] < 0 else z
        predicted = float(model.gradient[moving] @ z[moving])
        return Step(z, model.sigma, predicted, self._turn(point, responses, z))

    def _first_order(self, beta: Floats, W: Floats, X: Floats, D: Floats, quadratics: Floats) -> _Model:
        """The gradient (eq. 5).

        A pruned weight that can be zero alone comes back through ∂K/∂β_v, which does not vanish with it; its unit is
        the largest weight.
        """
        problem = self.problem
        gradient = problem.regularizer_slope(beta) - D
        sigma, damped = beta.copy(), 2 * D
        J = W[:, None] * X
        pruned = self.alone & (beta <= 0) & (problem.p == 1)
        pull = X[:, pruned].T @ quadratics / 2
        entering = np.zeros(len(beta), dtype=bool)
        entering[pruned] = pull > problem.lam * problem.c[pruned] if len(quadratics) else False
        if entering.any():
            full_pull = np.zeros(len(beta))
            full_pull[pruned] = pull
            sigma[entering] = beta.max() or 1.0 / problem.c.sum()
            gradient[entering] = sigma[entering] * (problem.lam * problem.c - full_pull)[entering]
            damped[entering] = 2 * sigma[entering] * full_pull[entering]
            J[:, entering] = X[:, entering] * sigma[entering]
        return _Model(entering, sigma, gradient, bent_slope(gradient, D), damped, J)

    def _hessian(
        self, beta: Floats, responses: dict[int, Response], moment: Floats, D: Floats, model: _Model
    ) -> Floats:
        """Eq. 19, damped: Σ RᵀAR + diag(D) − second moment + diag(λ c p (p − 1) β^p)."""
        problem = self.problem
        H = sum((response.gram for response in responses.values()), np.zeros((len(beta), len(beta))))
        H -= moment
        bend = problem.regularizer_slope(beta) * (problem.p - 1)
        H[np.diag_indices_from(H)] += D + (self.damping + _RIDGE) * model.damped + _NO_CURVATURE
        return _convex(H, bend, model.sigma > 0)

    def _minimiser(self, H: Floats, gradient: Floats, model: _Model) -> Floats:
        low, moving = self._low(model), np.flatnonzero(model.sigma > 0)
        z = np.zeros(len(low))
        z[moving] = bounded_qp(
            np.ascontiguousarray(H[np.ix_(moving, moving)]),
            gradient[moving],
            low[moving],
            _most_growth(model.sigma[moving]),
            most_sweeps(len(moving)),
        )
        return z

    def _low(self, model: _Model) -> Floats:
        return np.where(model.entering, 0.0, np.where(self.alone, -1.0, _LOWEST))

    def _turn(self, point: Point, responses: dict[int, Response], z: Floats) -> Floats:
        turn = np.zeros_like(point.alpha)
        for c, response in responses.items():
            turn[c, response.free] = -response.turns @ z
        turn *= self.problem.Y
        return turn

    def moved(self, point: Point, step: Step, length: float) -> Floats:
        """β after so much of the step."""
        beta = point.beta + length * step.z * step.sigma
        beta[self.alone & (beta < _GONE * beta.max())] = 0.0
        return np.maximum(beta, 0.0)

    def turned(self, point: Point, step: Step, length: float) -> Floats:
        """α after so much of the step, to first order."""
        return np.clip(point.alpha + length * step.turn, 0.0, self.problem.C)

    def accepted(self, at_once: bool) -> None:
        """A model that held is damped less; one whose step had to be cut, or was refused, more."""
        tightened = min(_MOST_DAMPING, _TIGHTENED * self.damping + _LEAST_TIGHTENED)
        self.damping = self.damping * _RELAXED if at_once else tightened


def _most_growth(sigma: Floats) -> Floats:
    """Of z: by −0.8 ≤ z ≤ 4 a weight that was pruned too early would take a dozen steps to come back."""
    largest = sigma.max(initial=0.0)
    return np.maximum(_HIGHEST, _REGROWN * largest / np.maximum(sigma, _GONE * largest) - 1)


def bent_slope(gradient: Floats, D: Floats) -> Floats:
    """s − D or, of weights that should shrink, 2D(1 − √(D/s)): the same where D = s, and less where a tangent misleads.

    D is what pulls a weight up, s = λ c p β^p what it costs. Of one kernel D/s is 1/(a + bβ)²; then this finds D = s.
    """
    slope = gradient + D
    shrinks = (gradient > 0) & (_FAINT * slope < D)
    return np.where(shrinks, 2 * D * (1 - np.sqrt(D / np.where(shrinks, slope, 1.0))), gradient)


def _convex(H: Floats, bend: Floats, moving: NDArray[np.bool_]) -> Floats:
    """H + diag(bend); where p < 1 makes that indefinite, the concave terms are linearised instead (CCCP)."""
    if (bend < 0).any():
        part = np.ix_(moving, moving)
        try:
            scipy.linalg.cholesky((H + np.diag(bend))[part], check_finite=False)
        except scipy.linalg.LinAlgError:
            bend = np.maximum(bend, 0.0)
    return H + np.diag(bend)
