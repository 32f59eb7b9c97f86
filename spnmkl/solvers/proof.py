"""What Newton's method has proved so far: the best objective, the best bound, and the witness behind it."""

from __future__ import annotations

import numpy as np

from spnmkl.certificate import Dual, dual_value, relative_gap
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.bound import flows_at, improved_witness, search_dual
from spnmkl.solvers.evaluator import Point, Slope

_ROUNDS = 10  # of better witnesses at one α
_WORTH_A_ROUND = 0.1  # of what is missing to the objective: a round that gains less is the last


class Proof:
    """The gap, and how it is narrowed from below.

    Attributes
    ----------
    best : the least objective so far.
    dual : the best bound so far, with what proves it.
    witness : (V,) β̃, which stands in for weights of zero: their own say nothing of the direction they would return in.
    cheap : whether another β̃ for the same α takes no pass over the kernels.
    """

    def __init__(self, problem: Problem, tol: float) -> None:
        self.problem, self.tol = problem, tol
        self.best = np.inf
        self.dual = Dual(-np.inf, np.zeros_like(problem.Y), np.ones(len(problem.p)))
        self.witness = np.full(len(problem.p), 1.0 / problem.c.sum())
        self.cheap = problem.circuit.mixture is not None

    @property
    def gap(self) -> float:
        """At most 1, which is what is known before there is a point."""
        return min(1.0, relative_gap(self.best, self.dual.value)) if np.isfinite(self.best) else 1.0

    @property
    def closed(self) -> bool:
        return self.gap <= self.tol

    def meet(self, point: Point) -> None:
        self.best = min(self.best, point.objective)

    def inner(self, beta: Floats) -> Floats:
        """β with the witness in place of zeros."""
        return np.where(beta > 0, beta, self.witness)

    def bound(self, alpha: Floats, witness: Floats, flows: Floats) -> float:
        """D at these, kept if it is the best."""
        value = dual_value(self.problem, alpha, witness, flows)
        if value > self.dual.value:
            self.dual = Dual(value, alpha, witness, flows)
        return value

    def improve(self, point: Point, slope: Slope, near: bool) -> tuple[Floats, Floats]:
        """Better the bound at this point's α; returns the last witness and its flows.

        Witnesses are tried where they take no pass over the kernels, or where the point is near its end: much closer to
        stationary than proved.
        """
        problem = self.problem
        # SMO keeps yᵀα = 0 to rounding: made more exact, α = C would no longer be at its bound.
        alpha, witness, flows = point.alpha, self.inner(point.beta), slope.flows
        value = self.bound(alpha, witness, flows)
        flows_of = flows_at(problem, alpha, (witness, slope.quadratics))
        for _ in range(_ROUNDS if (near or self.cheap) and not problem.linear else 0):
            if self.closed or (point.svm_error > point.value - value and not self.cheap):
                break  # good enough, or it is the SVM's error that keeps the gap open
            witness = improved_witness(problem, witness, flows)
            flows = flows_of(witness)
            last, value = value, self.bound(alpha, witness, flows)
            if value - last < _WORTH_A_ROUND * (self.best - value):
                break
        self.witness = np.where(point.beta > 0, self.witness, witness)
        return witness, flows

    def look_ahead(self, alpha: Floats, beta: Floats) -> None:
        """Try α and β of a point that need not be gone to."""
        rounds = _ROUNDS if self.cheap else 1
        target = self.best * (1 - self.tol)
        found = search_dual(self.problem, alpha, self.inner(beta), target=target, rounds=rounds)
        if found.value > self.dual.value:
            self.dual = found
