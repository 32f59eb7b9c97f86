"""What every solver hands out after an outer iteration."""

from __future__ import annotations

from dataclasses import dataclass

from spnmkl.certificate import Dual
from spnmkl.circuit.program import Floats


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
    method: str = "newton"
