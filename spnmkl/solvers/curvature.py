"""How the SVM answers to a change of the weights: the first term of the Hessian, and the turn of α."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.entries import mirror
from spnmkl.circuit.program import Floats
from spnmkl.solvers.evaluator import Evaluator, Point, Slope
from spnmkl.solvers.factor import Factors, solved

_SINGLE = 1e-4  # single precision is enough while the optimum is farther, by the gap or the residual


@dataclass(frozen=True)
class Response:
    """Of one class, on its free support vectors F.

    Attributes
    ----------
    free : the indices F.
    half : (F, V) B with BᵀB = RᵀAR of eq. 19, A the leading block of the inverse of [K_FF 1; 1ᵀ 0].
    turns : (F, V) L⁻ᵀB with LLᵀ = K_FF: a step z changes α∘y by −L⁻ᵀBz.
    """

    free: NDArray[np.intp]
    half: Floats
    turns: Floats


def svm_responses(
    factors: Factors, evaluator: Evaluator, point: Point, slope: Slope, J: Floats, distance: float
) -> dict[int, Response]:
    """By class, where two support vectors or more are free; J is ∂W_t/∂z_v, `distance` how far the optimum is.

    K is that of the evaluator; where it is in single precision, so are its factors, which are made in its own memory.
    """
    K, C, below = evaluator.K, evaluator.problem.C, evaluator.below
    dtype: type[np.floating] = np.float32 if distance > _SINGLE or below is not None else np.float64
    found = {}
    for c, alpha in enumerate(point.alpha):
        free = np.flatnonzero((alpha > 0) & (alpha < C))
        if len(free) < 2:
            continue
        R = np.column_stack([slope.responses[:, c, free].T @ J, np.ones(len(free))])
        L = factors.cholesky(K, free, dtype, below)
        half = solved(L, R)
        one = half[:, -1]
        half = half[:, :-1]
        half -= np.outer(one, (one @ half) / (one @ one))
        found[c] = Response(free, half, solved(L, half, trans=1))
    if below is not None:
        mirror(K, 0, len(K))
    return found
