"""Newton's method on J in affine-scaled variables β⁺ = β + σ∘z (formulation, section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from spnmkl.certificate import Dual, balanced, dual_value, relative_gap
from spnmkl.circuit.measure import second_moment
from spnmkl.circuit.program import Floats
from spnmkl.errors import Stopped
from spnmkl.problem import Problem
from spnmkl.solvers.bound import flows_at, improved_witness, search_dual
from spnmkl.solvers.budget import Budget
from spnmkl.solvers.descent import descend, mm_step
from spnmkl.solvers.evaluator import Evaluator, Point, Slope
from spnmkl.solvers.factor import Factors, solved
from spnmkl.solvers.iterate import Iterate, trivial_objective
from spnmkl.solvers.qp import bounded_qp, most_sweeps

_LOWEST, _HIGHEST = -0.8, 4.0  # of the relative step z
_TRIALS, _SHRINK = 4, 0.35  # of the step-length test
_PATIENCE = 4  # iterations between two looks at the pruned part
_CHEAP = 4  # so much more work than without the pruned part is always worth a look at it
_LOOSE = 1e-5  # a finer tolerance asks for the weights themselves, which are known to the root of the gap
_COLLAPSED = 0.05  # share of λ cᵀβ below which pruning a whole component is tried
_FADED = 1e-3  # share below which growing back step by step would take too long: it is seeded anew
_SINGLE = 1e-4  # the curvature is computed in single precision while the optimum is farther
_STALLED = 8  # steps without progress before giving up


Verdict = tuple[NDArray[np.bool_], Floats | None]  # a component, and the direction to seed it with (None: prune it)


@dataclass(frozen=True)
class _Step:
    z: Floats
    sigma: Floats
    predicted: float  # gᵀz < 0, the first-order change of J
    turn: Floats  # (classes, n) the first-order change of α


def newton(
    problem: Problem, beta: Floats, tol: float, *, alpha: Floats | None = None, budget: Budget | None = None
) -> Iterator[Iterate]:
    """Descend from β > 0, yielding every accepted point; ends when nothing improves any more.

    Raises
    ------
    Struggling
        The SVMs take more steps than the budget, if there is one.
    """
    if not problem.bounded:
        return descend(problem, beta, tol)
    method = _Newton(problem, tol, budget)
    if alpha is not None:
        method.evaluator.alpha = balanced(np.clip(alpha, 0.0, problem.C), problem.Y)
    return method.run(beta)


class _Newton:
    def __init__(self, problem: Problem, tol: float, budget: Budget | None) -> None:
        self.problem, self.tol = problem, tol
        self.evaluator, self.factors = Evaluator(problem, rescale=True, budget=budget), Factors(problem.pause)
        self.alone = vanishes_alone(problem)
        self.cheap_witness = problem.circuit.mixture is not None  # another β̃ for the same α takes no pass
        self.dual = Dual(-np.inf, np.zeros_like(problem.Y), np.ones(len(problem.p)))
        self.witness = np.full(len(problem.p), 1.0 / problem.c.sum())
        self.scale = trivial_objective(problem)
        self.best = np.inf
        self.damping = 1e-2
        self.limits = np.full(problem.components.max() + 1, _COLLAPSED)
        self.since_look = _PATIENCE  # zeros of the start are looked at once
        self.near = False
        self.svm_share = 0.05  # of the gap, left to the SVM's own error
        self.residual = 1.0

    def run(self, beta: Floats) -> Iterator[Iterate]:
        point = self.evaluate(beta)
        idle, fresh = 0, False
        while idle < _STALLED:
            try:
                slope = self.differentiate(point)
            except Stopped:
                yield self.unfinished(point)
                raise
            residuals = self.residuals(point, slope)
            self.residual = max(float(residuals.max(initial=0.0)), point.svm_error / point.objective)
            # Much closer to stationary than proven: it is the bound (or the pruned part) that needs work.
            self.near = residuals.sum() < max(10 * self.tol, 0.3 * self.gap)
            looked = slope.circuit is self.problem.circuit
            witness = self.inner(point.beta)
            seeds = self.improve_bound(point, slope) if looked else []
            revised = self.reseeded(point, seeds)
            if revised is not None and not fresh:
                point, fresh = revised, True  # look at it once more before handing it out
                continue
            fresh, settled = False, self.settled(point)
            looked, point = looked and settled is point, settled
            step = None
            if revised is None and self.gap > self.tol:
                step = self.newton_step(point, slope)
                self.look_ahead(point, step)
            yield Iterate(
                point.beta,
                point.alpha,
                point.intercept,
                point.objective,
                self.dual,
                self.residual,
                self.evaluator.active(point.beta > 0).size,
                self.evaluator.evaluations,
                witness=witness if looked else None,
                flows=slope.flows if looked else None,
            )
            before = point.value
            point = revised or self.descended(point, slope, step or self.newton_step(point, slope))
            idle = 0 if point.value < before - 1e-3 * self.tol * abs(before) else idle + 1
            self.svm_share = 0.05 * 0.3**idle

    def unfinished(self, point: Point) -> Iterate:
        """A point that was stopped at: what it costs is known, how good it is not."""
        size = self.evaluator.active(point.beta > 0).size
        return Iterate(
            point.beta, point.alpha, point.intercept, point.objective, self.dual, 1.0, size, self.evaluator.evaluations
        )

    @property
    def gap(self) -> float:
        return min(1.0, relative_gap(self.best, self.dual.value)) if np.isfinite(self.best) else 1.0

    def evaluate(self, beta: Floats) -> Point:
        accuracy = min(3e-3, self.svm_share * max(self.gap, self.tol))
        point = self.evaluator.evaluate(beta, accuracy * min(self.scale, self.best))
        allowed = self.tol * point.value
        if point.value - self.dual.value < 0.5 * allowed and point.svm_error > 0.3 * allowed:
            point = self.evaluator.refined(point, 0.1 * allowed)  # it is the SVM's error that keeps the gap open
        self.best = min(self.best, point.objective)
        return point

    def settled(self, point: Point) -> Point:
        """The same weights, with SVMs solved further where that alone closes the gap."""
        allowed = self.tol * point.value
        if self.tol < _LOOSE or self.gap <= self.tol or point.value - self.dual.value > 0.8 * allowed:
            return point
        point = self.evaluator.refined(point, 0.1 * allowed)
        self.best = min(self.best, point.objective)
        return point

    def differentiate(self, point: Point) -> Slope:
        """On the active circuit, or now and then on all of it.

        Where a bound is known, zeros are whole components, so that one pass at β̃, equal to β off them, serves the
        gradient of the rest, the bound, and the question which pruned weights want to come back.
        """
        alive = point.beta > 0
        active = self.evaluator.active(alive)
        cheap = self.problem.circuit.size <= _CHEAP * active.size
        look = self.near or cheap or self.since_look >= _PATIENCE
        if alive.all() or not look:
            self.since_look += 1
            return self.evaluator.differentiate(point.alpha, point.beta, active)
        self.since_look = 0
        return self.evaluator.differentiate(point.alpha, self.inner(point.beta), self.problem.circuit)

    def inner(self, beta: Floats) -> Floats:
        return np.where(beta > 0, beta, self.witness)

    def residuals(self, point: Point, slope: Slope) -> Floats:
        """|β_v ∂J/∂β_v| over the objective, for the positive weights."""
        alive = point.beta > 0
        return np.abs(self.problem.regularizer_slope(point.beta) - slope.D)[alive] / point.objective

    def improve_bound(self, point: Point, slope: Slope) -> list[Verdict]:
        """Better the dual bound at this α; returns components to prune (None) or to seed (with a direction)."""
        problem = self.problem
        # SMO keeps yᵀα = 0 to rounding: made more exact, α = C would no longer be at its bound.
        alpha, witness, flows = point.alpha, self.inner(point.beta), slope.flows
        value = self.bound(alpha, witness, flows)
        flows_of = flows_at(problem, alpha, (witness, slope.quadratics))
        for _ in range(10 if (self.near or self.cheap_witness) and not problem.linear else 0):
            if self.gap <= self.tol or (point.svm_error > point.value - value and not self.cheap_witness):
                break  # good enough, or it is the SVM's error that keeps the gap open
            witness = improved_witness(problem, witness, flows)
            flows = flows_of(witness)
            last, value = value, self.bound(alpha, witness, flows)
            if value - last < 0.1 * (self.best - value):
                break
        self.witness = np.where(point.beta > 0, self.witness, witness)
        return self.verdicts(point, witness, flows)

    def look_ahead(self, point: Point, step: _Step) -> None:
        """Where this point is good enough already, α after the step proves it: no need to go there."""
        if self.tol < _LOOSE or -step.predicted > self.tol * point.objective:
            return
        alpha, witness = self.turned(point, step, 1.0), self.inner(self.moved(point, step, 1.0))
        found = search_dual(
            self.problem, alpha, witness, target=self.best * (1 - self.tol), rounds=10 if self.cheap_witness else 1
        )
        if found.value > self.dual.value:
            self.dual = found

    def turned(self, point: Point, step: _Step, length: float) -> Floats:
        return np.clip(point.alpha + length * step.turn, 0.0, self.problem.C)

    def bound(self, alpha: Floats, witness: Floats, flows: Floats) -> float:
        value = dual_value(self.problem, alpha, witness, flows)
        if value > self.dual.value:
            self.dual = Dual(value, alpha, witness, flows)
        return value

    def verdicts(self, point: Point, witness: Floats, flows: Floats) -> list[Verdict]:
        """Collapsed components that vanish as a whole: at fixed α, can they pay for themselves?"""
        problem = self.problem
        found: list[Verdict] = []
        D, slope = problem.circuit.X.T @ flows, problem.regularizer_slope(witness)
        gain, cost = D / problem.p, slope / problem.p
        weight = problem.regularizer_slope(point.beta) / problem.p
        doubt = min(0.9, 2 * max(0.0, self.gap) ** 0.5)  # α moves as the root of the gap
        for k in np.flatnonzero(problem.homogeneous):
            part = problem.components == k
            if weight[part].sum() > self.limits[k] * weight.sum() or self.alone[part].all():
                continue  # what vanishes alone, Newton's own steps take to zero and back
            if gain[part].sum() > (1 + 1e-7) * cost[part].sum():
                if weight[part].sum() < _FADED * weight.sum():
                    found.append((part, witness))
            elif (D[part] < (1 - doubt) * slope[part]).all() and (point.beta[part] > 0).any():
                found.append((part, None))
        return found

    def reseeded(self, point: Point, seeds: list[Verdict]) -> Point | None:
        """Prune all that should go at once, seed one by one; each only where that lowers J."""
        problem, result = self.problem, None
        gone = np.any([part for part, direction in seeds if direction is None] or [np.zeros_like(self.alone)], axis=0)
        if gone.any():
            trial = self.evaluate(np.where(gone, 0.0, point.beta))
            if trial.value <= point.value + point.svm_error:
                result = trial
            else:
                self.limits[problem.components[gone]] *= 0.2  # too early: not again before it has shrunk further
        for part, direction in seeds:
            if direction is None:
                continue
            base = result or point
            share = direction[part] / (problem.c[part] * direction[part]).sum()
            size = 1e-2 * ((problem.c * base.beta).sum() or 1.0)
            for _ in range(6):
                beta = base.beta.copy()
                beta[part] = size * share
                if (problem.c * beta)[part].sum() <= (problem.c * base.beta)[part].sum():
                    break
                trial = self.evaluate(beta)
                if trial.value < base.value:
                    result = trial
                    self.limits[problem.components[part]] *= 0.2  # or it might be pruned and seeded for ever
                    break
                size *= 0.2
        return result

    def descended(self, point: Point, slope: Slope, step: _Step) -> Point:
        """One Newton step whose length passes the test on J, or one MM step, which always decreases J."""
        length = 1.0
        for _ in range(_TRIALS):
            self.evaluator.alpha = balanced(self.turned(point, step, length), self.problem.Y)
            trial = self.evaluate(self.moved(point, step, length))
            slack = point.svm_error + 1e-13 * abs(point.value)
            if trial.value <= point.value + 1e-4 * length * step.predicted + slack:
                self.damping = self.damping * 0.2 if length == 1.0 else min(100.0, 5 * self.damping + 1e-6)
                return trial
            length *= _SHRINK
        self.damping = min(100.0, 5 * self.damping + 1e-6)
        return self.evaluate(mm_step(self.problem, point.beta, self.problem.circuit.X.T @ self.own_flows(point, slope)))

    def own_flows(self, point: Point, slope: Slope) -> Floats:
        """(all terms,) ½ W_t(β) q_t, with zeros on pruned terms."""
        flows = np.zeros(self.problem.circuit.n_terms)
        flows[slope.circuit.terms] = slope.circuit.weights(point.beta) * slope.quadratics / 2
        return flows

    def newton_step(self, point: Point, slope: Slope) -> _Step:
        problem, circuit, beta = self.problem, slope.circuit, point.beta
        W, X = circuit.weights(beta), circuit.X.toarray()
        flows = W * slope.quadratics / 2
        D = X.T @ flows
        gradient = problem.regularizer_slope(beta) - D
        sigma, curvature = beta.copy(), 2 * D
        J = W[:, None] * X  # ∂W_t/∂z_v

        # A pruned weight that can be zero alone comes back through ∂K/∂β_v, which does not vanish with it.
        pruned = self.alone & (beta <= 0) & (problem.p == 1)
        pull = X[:, pruned].T @ slope.quadratics / 2
        entering = np.zeros(len(beta), dtype=bool)
        entering[pruned] = pull > problem.lam * problem.c[pruned] if len(slope.quadratics) else False
        if entering.any():
            full_pull = np.zeros(len(beta))
            full_pull[pruned] = pull
            sigma[entering] = beta.max() or 1.0 / problem.c.sum()
            gradient[entering] = sigma[entering] * (problem.lam * problem.c - full_pull)[entering]
            curvature[entering] = 2 * sigma[entering] * full_pull[entering]
            J[:, entering] = X[:, entering] * sigma[entering]

        responses = self.svm_responses(point, slope, J)
        H = sum((half.T @ half for _, half, _ in responses.values()), np.zeros((len(beta), len(beta))))
        H -= second_moment(circuit, flows)
        bend = problem.regularizer_slope(beta) * (problem.p - 1)
        H[np.diag_indices_from(H)] += D + (self.damping + 1e-12) * curvature + 1e-300
        H = _convex_model(H, bend, sigma > 0)

        low = np.where(entering, 0.0, np.where(self.alone, -1.0, _LOWEST))
        active = np.flatnonzero(sigma > 0)
        z = np.zeros(len(beta))
        z[active] = bounded_qp(
            np.ascontiguousarray(H[np.ix_(active, active)]),
            gradient[active],
            low[active],
            np.full(len(active), _HIGHEST),
            most_sweeps(len(active)),
        )
        turn = np.zeros_like(point.alpha)
        for c, (free, _, turns) in responses.items():
            turn[c, free] = -turns @ z
        turn *= problem.Y
        return _Step(z, sigma, float(gradient[active] @ z[active]), turn)

    def svm_responses(
        self, point: Point, slope: Slope, J: Floats
    ) -> dict[int, tuple[NDArray[np.intp], Floats, Floats]]:
        """Per class its free support vectors F, B and L⁻ᵀB, where LLᵀ = K_FF.

        BᵀB = RᵀAR with A the leading block of the inverse of [K_FF 1; 1ᵀ 0] is the curvature, −L⁻ᵀBz the change of α∘y.
        """
        found = {}
        for c, alpha in enumerate(point.alpha):
            free = np.flatnonzero((alpha > 0) & (alpha < self.problem.C))
            if len(free) < 2:
                continue
            R = np.column_stack([slope.responses[:, c, free].T @ J, np.ones(len(free))])
            L = self.factors.cholesky(self.evaluator.K, free, np.float32 if self.gap > _SINGLE else np.float64)
            half = solved(L, R)
            one = half[:, -1]
            half = half[:, :-1]
            half -= np.outer(one, (one @ half) / (one @ one))
            found[c] = free, half, solved(L, half, trans=1)
        return found

    def moved(self, point: Point, step: _Step, length: float) -> Floats:
        beta = point.beta + length * step.z * step.sigma
        beta[self.alone & (beta < 1e-14 * beta.max())] = 0.0
        return np.maximum(beta, 0.0)


def _convex_model(H: Floats, bend: Floats, active: NDArray[np.bool_]) -> Floats:
    """H + diag(bend); where p < 1 makes that indefinite, the concave terms are linearised instead (CCCP)."""
    if (bend < 0).any():
        part = np.ix_(active, active)
        try:
            scipy.linalg.cholesky((H + np.diag(bend))[part], check_finite=False)
        except scipy.linalg.LinAlgError:
            bend = np.maximum(bend, 0.0)
    return H + np.diag(bend)


def vanishes_alone(problem: Problem) -> NDArray[np.bool_]:
    """e_mv ≥ p_v on every path through v (formulation, section 6)."""
    return problem.circuit.smallest_exponents >= problem.p - 1e-12
