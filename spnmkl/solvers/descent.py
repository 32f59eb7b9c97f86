"""Descent where p < 1 rules out convexity: true curvature in a trust region, weights that reach zero exactly.

The variables are τ_v = β_v^{r_v} of eq. 31: a weight that can vanish alone enters K(β) at
least linearly, the others pay for τ_v linearly (or more, where p_v > 1). So a step can reach τ = 0 and be judged there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spnmkl.certificate import Dual, balanced
from spnmkl.circuit.measure import second_moment
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.curvature import Curvature
from spnmkl.solvers.evaluator import Point, Slope
from spnmkl.solvers.iterate import Iterate, trivial_objective
from spnmkl.solvers.pruning import vanishes_alone
from spnmkl.solvers.sturdy import SturdyEvaluator

_LOWEST, _HIGHEST = -0.8, 4.0  # of the relative step z in τ
_FIRST_RADIUS = 0.6  # farther, a start that costs too much would fall to β = 0
_LEAST_RADIUS, _RADIUS_AFTER_MM = 1e-3, 0.1  # of the box: never less after a step; after the one that always descends
_TRIALS = 8  # radii tried before the step that always descends
_GOOD, _POOR, _ENOUGH = 0.7, 0.2, 0.05  # of the predicted fall: the box grows, shrinks, the step is taken
_GROWTH, _SHRINK = 2.5, 0.3  # of the radius, and of the step's length
_AT_EDGE = 0.9  # of the radius: a step of that length was held back by the box
_SWEEPS, _SETTLED = 500, 1e-10  # of the model's minimisation, and the change of z that ends them
_GONE = 1e-9  # of the objective: what a falling weight may cost when it is taken to be zero
_LOSING = 2.0  # a weight whose cost falls so many times faster than its gain may as well be zero
_STALLED = 6  # steps without progress before giving up
_FIRST_ACCURACY, _FINEST = 3e-3, 1e-12  # of the objective, the SVM's own error
_FINER = 0.1  # of itself: that error after an idle step; of the predicted fall: that error before a step
_ENOUGH_ACCURACY = 0.01  # times tol^1.5: no step asks for less
_PROGRESS = 1e-4  # of tol: a step that gains less is idle
_EXACTLY = 1e-12  # what sums of e_mv/p_v may lack to 1 in rounding
_NOTHING = 1e-300  # instead of 0 as a divisor


def descend(problem: Problem, beta: Floats, tol: float) -> Iterator[Iterate]:
    """Descend from β, yielding every accepted point; ends at one whose relative KKT residual is at most `tol`."""
    return _Descent(problem, tol).run(beta)


@njit(nogil=True, cache=True)
def _boxed_qp(H, g, low, high, sweeps):  # type: ignore[no-untyped-def]
    """A coordinate-wise minimum of ½ zᵀHz + gᵀz over low ≤ z ≤ high, from z = 0; H may be indefinite."""
    z = np.zeros(len(g))
    Hz = np.zeros(len(g))
    for _ in range(sweeps):
        largest = 0.0
        for i in range(len(g)):
            slope, bend = g[i] + Hz[i], H[i, i]
            if bend > 0.0:
                new = min(max(z[i] - slope / bend, low[i]), high[i])
            else:
                down, up = low[i] - z[i], high[i] - z[i]
                better = slope * down + 0.5 * bend * down * down < slope * up + 0.5 * bend * up * up
                new = low[i] if better else high[i]
            move = new - z[i]
            if slope * move + 0.5 * bend * move * move < 0.0:
                z[i] = new
                Hz += H[i] * move
                largest = max(largest, abs(move))
        if largest < _SETTLED:
            break
    return z


@dataclass(frozen=True)
class _Model:
    """J(τ(1 + z)) ≈ J + gᵀz + ½ zᵀHz on the positive weights; turns: how α∘y follows, per class."""

    alive: NDArray[np.intp]
    g: Floats
    H: Floats
    turns: dict[int, tuple[NDArray[np.intp], Floats]]


class _Descent:
    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.evaluator, self.curvature = SturdyEvaluator(problem), Curvature(problem.pause, problem.n_threads)
        least = problem.circuit.smallest_exponents
        self.alone = vanishes_alone(problem)
        self.r = np.minimum(1.0, np.maximum(problem.p, least))  # eq. 31
        self.radius, self.accuracy = _FIRST_RADIUS, _FIRST_ACCURACY
        self.refused: bytes = b""  # the zeros tried in vain last
        self.scale = trivial_objective(problem)

    def run(self, beta: Floats) -> Iterator[Iterate]:
        point, idle = self.evaluate(beta), 0
        while idle < _STALLED:
            slope = self.evaluator.differentiate(point.alpha, point.beta, self.evaluator.active(point.beta > 0))
            D = slope.D
            residual = self.residual(point, D)
            yield self.iterate(point, residual)
            model = None if residual <= self.tol else self.model(point, slope, D, residual)
            shorter = self.without_losers(point, D)  # overwrites the K that the model needed
            if shorter is None and model is None:
                return
            before = point.value
            point = self.stepped(point, D, model) if shorter is None and model is not None else shorter or point
            if point.value < before - _PROGRESS * self.tol * abs(before):
                idle = 0
            else:  # the SVM's own error hides what is left to gain
                idle, self.accuracy = idle + 1, max(_FINEST, _FINER * self.accuracy)
                point = self.evaluator.refined(point, self.accuracy * self.scale)

    def iterate(self, point: Point, residual: float) -> Iterate:
        unbounded = Dual(-np.inf, np.zeros_like(self.problem.Y), np.ones(len(self.problem.p)))
        size, count = self.evaluator.active(point.beta > 0).size, self.evaluator.evaluations
        return Iterate(point.beta, point.alpha, point.intercept, point.objective, unbounded, residual, size, count)

    def evaluate(self, beta: Floats) -> Point:
        point = self.evaluator.evaluate(beta, self.accuracy * self.scale)
        self.scale = min(self.scale, point.objective)
        return point

    def residual(self, point: Point, D: Floats) -> float:
        """The largest |β_v ∂J/∂β_v| of the positive weights over the objective (eq. 15), or the SVM's own error."""
        difference = np.abs(self.problem.regularizer_slope(point.beta) - D)[point.beta > 0]
        return max(float(difference.max(initial=0.0)), point.svm_error) / point.objective

    def without_losers(self, point: Point, D: Floats) -> Point | None:
        """All weights that fall fast at zero at once, where they can be zero together and J is lower there."""
        cost = self.problem.regularizer_slope(point.beta)
        overall = max(1.0, cost.sum() / max(D.sum(), _NOTHING))  # where all should shrink, that comes first
        losing = (point.beta > 0) & (self.problem.p <= 1) & (cost > _LOSING * overall * D)
        if not losing.any() or losing.tobytes() == self.refused:
            return None
        beta = shortened(self.problem, point.beta, losing)
        if beta is not None and beta.any():  # to β = 0 the steps lead, if they must
            trial = self.evaluate(beta)
            if trial.value <= point.value:
                return trial
        self.refused = losing.tobytes()
        return None

    def stepped(self, point: Point, D: Floats, model: _Model) -> Point:
        """The best step of the model in a box that shrinks until J falls as it says; else one that always descends."""
        low = np.where(self.alone, -1.0, _LOWEST)[model.alive]
        for _ in range(_TRIALS):
            box = np.maximum(low, -self.radius), np.full(len(low), min(self.radius, _HIGHEST))
            z = _boxed_qp(model.H, model.g, *box, _SWEEPS)
            predicted = float(model.g @ z + z @ model.H @ z / 2)
            enough = max(-_FINER * predicted / self.scale, _ENOUGH_ACCURACY * self.tol**1.5, _FINEST)
            self.accuracy = min(self.accuracy, enough)
            trial = self.moved(point, model, z)
            ratio = (trial.value - point.value - point.svm_error) / min(predicted, -_NOTHING)
            length = float(np.abs(z).max(initial=0.0))
            if ratio > _GOOD and length > _AT_EDGE * self.radius:
                self.radius = min(_HIGHEST, _GROWTH * self.radius)
            elif ratio < _POOR:
                self.radius = _SHRINK * length
            if ratio > _ENOUGH or -predicted <= point.svm_error:
                self.radius = max(self.radius, _LEAST_RADIUS)
                return trial
        self.radius = _RADIUS_AFTER_MM
        return self.evaluate(mm_step(self.problem, point.beta, D))

    def moved(self, point: Point, model: _Model, z: Floats) -> Point:
        problem, beta, fall = self.problem, point.beta.copy(), np.zeros(len(point.beta))
        beta[model.alive] *= np.maximum(0.0, 1 + z) ** (1 / self.r[model.alive])
        fall[model.alive] = z
        beta[(problem.p < 1) & (fall < 0) & (problem.regularizer_slope(beta) < _GONE * self.scale)] = 0.0
        turned = point.alpha * problem.Y
        for c, (free, turns) in model.turns.items():
            turned[c, free] -= turns @ z
        self.evaluator.alpha = balanced(np.clip(turned * problem.Y, 0.0, problem.C), problem.Y)
        return self.evaluate(beta)

    def model(self, point: Point, slope: Slope, D: Floats, residual: float) -> _Model:
        """Eq. 32; the gradient in z is that of eq. 5 over r."""
        problem, circuit = self.problem, slope.circuit
        alive = np.flatnonzero(point.beta > 0)
        r, cost, D = self.r[alive], problem.regularizer_slope(point.beta)[alive], D[alive]
        J = circuit.weights(point.beta)[:, None] * circuit.X.toarray()[:, alive] / r  # ∂W_t/∂z_v
        H = np.zeros((len(alive), len(alive)))
        turns = {}
        responses = self.curvature.responses(self.evaluator, point, slope, J, residual)
        for c, response in responses.items():
            H += response.gram
            turns[c] = response.free, response.turns
        H -= second_moment(circuit, slope.flows)[np.ix_(alive, alive)] / np.outer(r, r)
        H[np.diag_indices_from(H)] += cost * problem.p[alive] / r**2 - (cost - D) / r
        return _Model(alive, (cost - D) / r, np.ascontiguousarray(H), turns)


def shortened(problem: Problem, beta: Floats, gone: NDArray[np.bool_]) -> Floats | None:
    """β with as many of these at zero as can be, and what then stands on no path; None where none can be.

    Every path that meets the zeros has Σ e_mv/p_v ≥ 1 over them (eq. 16): products of a path that falls short stay.
    """
    names = problem.circuit.products
    members = {v: 1 / problem.p[k] for k, v in enumerate(names) if gone[k] or beta[k] <= 0}
    while members:
        total, used = problem.circuit.derivations.lightest(members)
        if total >= 1 - _EXACTLY:
            break
        members = {v: weight for v, weight in members.items() if v not in used}
    left = np.array([v not in members for v in names]) & (beta > 0)
    left &= problem.circuit.restricted(left).X.sum(axis=0) > 0
    return None if (left == (beta > 0)).all() else np.where(left, beta, 0.0)


def mm_step(problem: Problem, beta: Floats, D: Floats) -> Floats:
    """Eq. 21 with D = β∘d: monotone on J for every p > 0."""
    return (beta * np.maximum(D, 0.0) / (problem.lam * problem.c * problem.p)) ** (1 / (problem.p + 1))
