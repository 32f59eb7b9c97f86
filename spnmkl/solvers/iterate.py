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
    stationarity : largest relative KKT residual of the positive weights.
    circuit_size : multiplications per kernel entry of the active circuit.
    evaluations : SVMs solved so far.
    """

    beta: Floats
    alpha: Floats
    intercept: Floats
    objective: float
    dual: Dual
    stationarity: float
    circuit_size: int
    evaluations: int
