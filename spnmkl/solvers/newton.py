"""Newton's method on J in affine-scaled variables β⁺ = β + σ∘z (formulation, section 8): its loop.

What is proved is kept in `proof`, which components are pruned and seeded is decided in `pruning`, a step is made in
`newton_step`, J and its slope come from `evaluator`. The handbook (docs/handbook.md) tells the steps in order.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spnmkl.certificate import balanced
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import is_computed
from spnmkl.errors import Stopped
from spnmkl.problem import Problem
from spnmkl.solvers.budget import Budget, Struggling
from spnmkl.solvers.descent import descend, mm_step
from spnmkl.solvers.evaluator import Evaluator, Point, Slope
from spnmkl.solvers.iterate import Iterate, trivial_objective
from spnmkl.solvers.newton_step import Step, Stepper
from spnmkl.solvers.proof import Proof
from spnmkl.solvers.pruning import Pruning

_TRIALS, _SHRINK = 4, 0.35  # of the step-length test
_ARMIJO = 1e-4  # of the predicted fall of J: what a step must achieve
_VALUE_ROUNDING = 1e-13  # of J: a rise that is none
_LOOSE = 1e-5  # a finer tolerance asks for the weights themselves, which are known to the root of the gap
_STALLED, _PROGRESS = 8, 1e-3  # steps in a row that gain less than so much of tol before giving up
_NEAR_TOL, _NEAR_GAP = 10, 0.3  # residuals below so many tolerances, or so much of the gap: the bound needs work
_SVM_SHARE, _SVM_FALL = 0.05, 0.3  # of the gap, left to the SVM's own error; falls with every idle step
_ROUGHEST = 3e-3  # of the objective: an SVM's own error is never allowed to be more
_NEARLY_CLOSED, _ROUGH = (
    0.5,
    0.3,
)  # of tol: J within the first of D, and an SVM's error above the second, which is too much
_CLOSABLE, _REFINED = 0.8, 0.1  # of tol: where a point handed out is within the first; what such errors are brought to


def newton(
    problem: Problem,
    beta: Floats,
    tol: float,
    *,
    alpha: Floats | None = None,
    budget: Budget | None = None,
    guessed: float = np.inf,
) -> Iterator[Iterate]:
    """Descend from β > 0, yielding every accepted point; ends when nothing improves any more.

    The error of the first SVMs is relative to the J that is `guessed` for the start.

    Raises
    ------
    Struggling
        The SVMs take more steps than the budget, if there is one.
    """
    if not problem.bounded:
        return descend(problem, beta, tol)
    method = _Newton(problem, tol, budget, guessed)
    if alpha is not None:
        method.evaluator.alpha = balanced(np.clip(alpha, 0.0, problem.C), problem.Y)
    return method.run(beta)


class _Newton:
    """The loop: evaluate, differentiate, prove, prune or seed, step.

    Attributes
    ----------
    evaluator : J and its slope, with the K of the last point.
    proof : the best objective and bound so far.
    pruning : what is known about components that vanish.
    stepper : makes steps.
    near : whether the last point was much closer to stationary than proved.
    svm_share : of the gap, left to the SVM's own error.
    """

    def __init__(self, problem: Problem, tol: float, budget: Budget | None, guessed: float) -> None:
        self.problem, self.tol, self.guessed = problem, tol, guessed
        self.evaluator = Evaluator(problem, rescale=True, budget=budget)
        self.proof, self.pruning = Proof(problem, tol), Pruning(problem)
        self.stepper = Stepper(problem, self.pruning.alone)
        self.near, self.svm_share = False, _SVM_SHARE

    def run(self, beta: Floats) -> Iterator[Iterate]:
        try:
            yield from self.points(beta)
        except Struggling:
            if self.evaluator.last.objective < min(self.proof.best, trivial_objective(self.problem)):
                yield self.unfinished(self.evaluator.last)
            raise

    def unfinished(self, point: Point) -> Iterate:
        """Where the SVMs ended before they were solved, and what that proves: another method may go on from there."""
        self.proof.meet(point)
        slope = self.evaluator.differentiate(point.alpha, self.proof.inner(point.beta), self.problem.circuit)
        self.proof.improve(point, slope, near=False)
        return self.iterate(point, self.judge(point, slope))

    def points(self, beta: Floats) -> Iterator[Iterate]:
        point = self.evaluate(beta)
        idle, fresh = 0, False
        while idle < _STALLED:
            try:
                slope = self.differentiate(point)
            except Stopped:
                yield self.iterate(point, 1.0)  # what it costs is known, how good it is not
                raise
            residual = self.judge(point, slope)
            looked, witness = slope.circuit is self.problem.circuit, self.proof.inner(point.beta)
            revised = self.revised(point, slope) if looked else None
            if revised is not None and not fresh:
                point, fresh = revised, True  # look at it once more before handing it out
                continue
            fresh, settled = False, self.settled(point)
            looked, point = looked and settled is point, settled
            step = None
            if revised is None and not self.proof.closed:
                step = self.step(point, slope)
                self.look_ahead(point, step)
            yield self.iterate(point, residual, *((witness, slope.flows) if looked else ()))
            before = point.value
            point = revised or self.descended(point, slope, step or self.step(point, slope))
            idle = 0 if point.value < before - _PROGRESS * self.tol * abs(before) else idle + 1
            self.svm_share = _SVM_SHARE * _SVM_FALL**idle

    def iterate(
        self, point: Point, residual: float, witness: Floats | None = None, flows: Floats | None = None
    ) -> Iterate:
        return Iterate(
            point.beta,
            point.alpha,
            point.intercept,
            point.objective,
            self.proof.dual,
            residual,
            self.evaluator.active(point.beta > 0).size,
            self.evaluator.evaluations,
            witness=witness,
            flows=flows,
        )

    def evaluate(self, beta: Floats) -> Point:
        """J at β, as exact as the gap asks for; more so where it is the SVM's error that keeps the gap open."""
        proof = self.proof
        best, gap = (proof.best, proof.gap) if np.isfinite(proof.best) else (self.guessed, 1.0)
        if is_computed(self.problem.source):
            gap = self.tol  # beside computing kernels an SVM takes no time
        accuracy = min(_ROUGHEST, self.svm_share * max(gap, self.tol))
        point = self.evaluator.evaluate(beta, accuracy * min(trivial_objective(self.problem), best))
        allowed = self.tol * point.value
        if point.value - proof.dual.value < _NEARLY_CLOSED * allowed and point.svm_error > _ROUGH * allowed:
            point = self.evaluator.refined(point, _REFINED * allowed)
        proof.meet(point)
        return point

    def settled(self, point: Point) -> Point:
        """The same weights, with SVMs solved further where that alone closes the gap."""
        allowed, proof = self.tol * point.value, self.proof
        if self.tol < _LOOSE or proof.closed or point.value - proof.dual.value > _CLOSABLE * allowed:
            return point
        point = self.evaluator.refined(point, _REFINED * allowed)
        proof.meet(point)
        return point

    def differentiate(self, point: Point) -> Slope:
        """On the active circuit, or now and then on all of it.

        Where a bound is known, zeros are whole components, so that one pass at β̃, equal to β off them, serves the
        gradient of the rest, the bound, and the question which pruned weights want to come back.
        """
        active = self.evaluator.active(point.beta > 0)
        if self.pruning.wants_look(point.beta, active, self.near):
            return self.evaluator.differentiate(point.alpha, self.proof.inner(point.beta), self.problem.circuit)
        return self.evaluator.differentiate(point.alpha, point.beta, active)

    def judge(self, point: Point, slope: Slope) -> float:
        """The largest relative residual of the positive weights (eq. 15), or the SVM's relative error if larger."""
        difference = self.problem.regularizer_slope(point.beta) - slope.D
        residuals = np.abs(difference)[point.beta > 0] / point.objective
        self.near = residuals.sum() < max(_NEAR_TOL * self.tol, _NEAR_GAP * self.proof.gap)
        return max(float(residuals.max(initial=0.0)), point.svm_error / point.objective)

    def revised(self, point: Point, slope: Slope) -> Point | None:
        """Better the bound at this α; then the point with components pruned or seeded, where that lowers J."""
        witness, flows = self.proof.improve(point, slope, self.near)
        verdicts = self.pruning.verdicts(point.beta, witness, flows, self.proof.gap)
        return self.pruning.carried_out(point, verdicts, self.evaluate)

    def step(self, point: Point, slope: Slope) -> Step:
        return self.stepper.step(point, slope, self.evaluator, self.proof.gap)

    def look_ahead(self, point: Point, step: Step) -> None:
        """Where this point is good enough already, α after the step proves it: no need to go there."""
        if self.tol >= _LOOSE and -step.predicted <= self.tol * point.objective:
            self.proof.look_ahead(self.stepper.turned(point, step, 1.0), self.stepper.moved(point, step, 1.0))

    def descended(self, point: Point, slope: Slope, step: Step) -> Point:
        """One Newton step whose length passes the test on J, or one MM step, which always decreases J."""
        length = 1.0
        for _ in range(_TRIALS):
            self.evaluator.alpha = balanced(self.stepper.turned(point, step, length), self.problem.Y)
            trial = self.evaluate(self.stepper.moved(point, step, length))
            slack = point.svm_error + _VALUE_ROUNDING * abs(point.value)
            if trial.value <= point.value + _ARMIJO * length * step.predicted + slack:
                self.stepper.accepted(at_once=length == 1.0)
                return trial
            length *= _SHRINK
        self.stepper.accepted(at_once=False)
        return self.evaluate(mm_step(self.problem, point.beta, self.problem.circuit.X.T @ self.own_flows(point, slope)))

    def own_flows(self, point: Point, slope: Slope) -> Floats:
        """(all terms,) eq. 7 at β itself, with zeros on pruned terms."""
        flows = np.zeros(self.problem.circuit.n_terms)
        flows[slope.circuit.terms] = slope.circuit.weights(point.beta) * slope.quadratics / 2
        return flows
