"""What every solver hands out after an outer iteration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnmkl.certificate import Dual, best_intercept
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem

EVEN = 2.0**-40  # by how much the most frequent class may stand above the others where all are denied alike


@dataclass(frozen=True)
class Iterate:
    """A point of the alternation or descent, with its objective and the bound found on the way.

    Attributes
    ----------
    objective : P at (β, α); includes the inner SVM's own error.
    dual : the best bound so far.
    stationarity : the largest relative KKT residual of the positive weights, or the SVM's relative error if larger.
    circuit_size : multiplications per kernel entry of the active circuit.
    evaluations : kernels K(β) formed on all rows so far.
    smallest_C : C_min as a multiple of the given C, where this is the trivial solution below it.
    single : whether kernels were seen in single precision, of which nothing is proved.
    final : better than any before it though its objective may not be: as good to the tolerance, and simpler.
    witness, flows : what stands in for zero weights, and the flows with it at α, where all terms were looked at.
    method : which one made it, one of `solution.METHODS`.
    """

    beta: Floats
    alpha: Floats
    intercept: Floats
    objective: float
    dual: Dual
    stationarity: float
    circuit_size: int
    evaluations: int
    smallest_C: float | None = None
    witness: Floats | None = None
    flows: Floats | None = None
    single: bool = False
    final: bool = False
    method: str = "newton"


def constant_loss(Y: Floats, C: Floats) -> float:
    """The hinge loss of the best constant classifier, over the classes."""
    positive = np.where(Y > 0, C, 0.0).sum(axis=1)
    return float(2 * np.minimum(positive, C.sum() - positive).sum())


def trivial_objective(problem: Problem) -> float:
    """J(0)."""
    return constant_loss(problem.Y, problem.C)


def trivial_iterate(problem: Problem, alpha: Floats, proof: Dual, evaluations: int, method: str) -> Iterate:
    """β = 0: the best constant classifier.

    Of several classes each is better denied alike, at −1. So that the one of most weight is answered, and not the
    first, its intercept lies above the others by less than rounding would tell.
    """
    nothing = np.zeros(problem.n)
    intercept = np.array([best_intercept(nothing, y, problem.C)[0] for y in problem.Y])
    if len(intercept) > 1:
        intercept += EVEN * np.where(problem.Y > 0, problem.C, 0.0).sum(axis=1) / problem.C.sum()
    beta = np.zeros(len(problem.p))
    return Iterate(beta, alpha, intercept, trivial_objective(problem), proof, 0.0, 0, evaluations, method=method)
