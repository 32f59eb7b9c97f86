"""How the SVM answers to a change of the weights: the first term of the Hessian, and the turn of α."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.entries import mirror
from spnmkl.circuit.program import Floats
from spnmkl.solvers.evaluator import Evaluator, Point, Slope
from spnmkl.solvers.factor import Factors, solved
from spnmkl.solvers.gradients import are_quicker, solved_by_gradients

_SINGLE = 1e-4  # single precision is enough while the optimum is farther, by the gap or the residual


@dataclass(frozen=True)
class Response:
    """Of one class, on its free support vectors F.

    Attributes
    ----------
    free : the indices F.
    gram : (V, V) RᵀAR of eq. 19, A the leading block of the inverse of [K_FF 1; 1ᵀ 0].
    turns : (F, V) AR: a step z changes α∘y by −ARz.
    """

    free: NDArray[np.intp]
    gram: Floats
    turns: Floats


def svm_responses(
    factors: Factors, evaluator: Evaluator, point: Point, slope: Slope, J: Floats, distance: float
) -> dict[int, Response]:
    """By class, where two support vectors or more are free; J is ∂W_t/∂z_v, `distance` how far the optimum is.

    K is that of the evaluator. Where it is in single precision, so are its factors, which are made in its own memory;
    large ones are avoided as long as conjugate gradients end soon.
    """
    K, C, below = evaluator.K, evaluator.problem.C, evaluator.below
    dtype: type[np.floating] = np.float32 if distance > _SINGLE or below is not None else np.float64
    found, torn = dict[int, Response](), False
    for c, alpha in enumerate(point.alpha):
        free = np.flatnonzero((alpha > 0) & (alpha < C))
        if len(free) < 2:
            continue
        R = np.column_stack([slope.responses[:, c, free].T @ J, np.ones(len(free))])
        if are_quicker(K, free) and not factors.needed:
            if torn:
                mirror(K, 0, len(K))
                torn = False
            if (response := _by_gradients(factors, K, free, R)) is not None:
                found[c] = response
                continue
            factors.needed = True
        found[c], torn = _by_factor(factors.cholesky(K, free, dtype, below), free, R), below is not None
    if torn:
        mirror(K, 0, len(K))
    return found


def _by_gradients(factors: Factors, K: NDArray[np.float32], free: NDArray[np.intp], R: Floats) -> Response | None:
    solution = solved_by_gradients(K, free, R, factors.pause, factors.n_threads)
    if solution is None:
        return None
    X, gram = solution
    share = gram[-1] / gram[-1, -1]  # of the intercept in every column
    return Response(free, (gram - np.outer(gram[-1], share))[:-1, :-1], X[:, :-1] - np.outer(X[:, -1], share[:-1]))


def _by_factor(L: NDArray[np.floating], free: NDArray[np.intp], R: Floats) -> Response:
    """K_FF = LLᵀ."""
    half = solved(L, R)
    one = half[:, -1]
    half = half[:, :-1]
    half -= np.outer(one, (one @ half) / (one @ one))
    return Response(free, half.T @ half, solved(L, half, trans=1))
