"""How the SVM answers to a change of the weights: the first term of the Hessian, and the turn of α."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.entries import mirror
from spnmkl.circuit.program import Floats
from spnmkl.solvers.evaluator import Evaluator, Point, Slope
from spnmkl.solvers.factor import Factors, Pause, solved
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


class Curvature:
    """Finds the responses of one problem's SVMs.

    Attributes
    ----------
    slow : whether conjugate gradients took too long once: from then on all are found by factors.
    """

    def __init__(self, pause: Pause, n_threads: int = 1) -> None:
        self.pause, self.n_threads, self.slow = pause, n_threads, False
        self.factors = Factors(pause, n_threads)

    def responses(
        self, evaluator: Evaluator, point: Point, slope: Slope, J: Floats, distance: float
    ) -> dict[int, Response]:
        """By class, where two support vectors or more are free; J is ∂W_t/∂z_v, `distance` how far the optimum is.

        K is that of the evaluator. Where it is in single precision, so are its factors, which are made in its own
        memory; large ones are avoided as long as conjugate gradients end soon.
        """
        K, C, below = evaluator.K, evaluator.problem.C, evaluator.below
        dtype: type[np.floating] = np.float32 if distance > _SINGLE or below is not None else np.float64
        found, torn = dict[int, Response](), False
        for c, alpha in enumerate(point.alpha):
            free = np.flatnonzero((alpha > 0) & (alpha < C))
            if len(free) < 2:
                continue
            R = np.column_stack([slope.responses[:, c, free].T @ J, np.ones(len(free))])
            if are_quicker(K, free, R.shape[1]) and not self.slow:
                if torn:
                    mirror(K, 0, len(K))
                    torn = False
                if (response := self._by_gradients(K, free, R)) is not None:
                    found[c] = response
                    continue
            L = self.factors.cholesky(K, free, dtype, below)
            found[c], torn = _by_factor(L, free, R), below is not None
        if torn:
            mirror(K, 0, len(K))
        return found

    def _by_gradients(self, K: NDArray[np.float32], free: NDArray[np.intp], R: Floats) -> Response | None:
        solution = solved_by_gradients(K, free, R, self.pause, self.n_threads)
        self.slow = solution is None or solution[1][-1, -1] <= 0
        if solution is None or self.slow:
            return None
        X, gram = solution
        share = gram[-1] / gram[-1, -1]  # of the intercept in every column
        inner = _semidefinite((gram - np.outer(gram[-1], share))[:-1, :-1])
        return Response(free, inner, X[:, :-1] - np.outer(X[:, -1], share[:-1]))


def _semidefinite(gram: Floats) -> Floats:
    """Without what the error of a solution put below zero, which a model of a convex function must not have."""
    values, vectors = np.linalg.eigh(gram)
    return gram if values[0] >= 0 else (vectors * np.maximum(values, 0.0)) @ vectors.T


def _by_factor(L: NDArray[np.floating], free: NDArray[np.intp], R: Floats) -> Response:
    """K_FF = LLᵀ."""
    half = solved(L, R)
    one = half[:, -1]
    half = half[:, :-1]
    half -= np.outer(one, (one @ half) / (one @ one))
    return Response(free, half.T @ half, solved(L, half, trans=1))
