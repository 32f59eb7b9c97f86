"""The inner SVM: sequential minimal optimisation on a dense kernel, started from the last α."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit

from spnmkl.certificate import best_intercept
from spnmkl.circuit.program import Floats

_CHUNK = 200_000  # steps between two looks at the gap
_CHUNK_ENTRIES = 200_000_000  # kernel entries between them, a fraction of a second


@njit(nogil=True, cache=True)
def _smo(K, diagonal, y, lower, upper, alpha, G, tol, max_steps):  # type: ignore[no-untyped-def]
    """min ½ aᵀQa − linᵀa, Q = yyᵀ∘K, lower ≤ a ≤ upper, yᵀa fixed; G is the gradient, kept up to date.

    Pairs by second-order information (Fan, Chen, Lin 2005). Returns the steps taken and the KKT violation.
    """
    n = len(y)
    high = -np.inf  # the largest −yG that may go up, and its index
    low = np.inf  # the smallest −yG that may go down
    i = -1
    for t in range(n):
        v = -y[t] * G[t]
        up, down = alpha[t] < upper[t], alpha[t] > lower[t]
        if y[t] < 0:
            up, down = down, up
        if up and v > high:
            high, i = v, t
        if down and v < low:
            low = v
    for step in range(max_steps):
        if high - low <= tol or i < 0:
            return step, high - low
        j, best = -1, 0.0
        row_i = K[i]
        for t in range(n):
            if (alpha[t] > lower[t]) if y[t] > 0 else (alpha[t] < upper[t]):
                difference = high + y[t] * G[t]
                if difference > 0:
                    curvature = max(diagonal[i] + diagonal[t] - 2 * row_i[t], 1e-13 * (diagonal[i] + diagonal[t]))
                    gain = difference * difference / max(curvature, 1e-300)
                    if gain > best:
                        best, j = gain, t
        if j < 0:
            return step, high - low
        curvature = max(diagonal[i] + diagonal[j] - 2 * row_i[j], 1e-13 * (diagonal[i] + diagonal[j]))
        move = (high + y[j] * G[j]) / max(curvature, 1e-300)
        room_i = upper[i] - alpha[i] if y[i] > 0 else alpha[i] - lower[i]
        room_j = alpha[j] - lower[j] if y[j] > 0 else upper[j] - alpha[j]
        if move >= room_i and room_i <= room_j:
            move = room_i
            alpha[j] -= y[j] * move
            alpha[i] = upper[i] if y[i] > 0 else lower[i]
        elif move >= room_j:
            move = room_j
            alpha[i] += y[i] * move
            alpha[j] = lower[j] if y[j] > 0 else upper[j]
        else:
            alpha[i] += y[i] * move
            alpha[j] -= y[j] * move
        row_j = K[j]
        high, low, i = -np.inf, np.inf, -1
        for t in range(n):
            G[t] += y[t] * move * (row_i[t] - row_j[t])
            v = -y[t] * G[t]
            up, down = alpha[t] < upper[t], alpha[t] > lower[t]
            if y[t] < 0:
                up, down = down, up
            if up and v > high:
                high, i = v, t
            if down and v < low:
                low = v
    return max_steps, high - low


@dataclass(frozen=True)
class SVMSolution:
    """One class's SVM at fixed K: dual ≤ optimum ≤ primal."""

    alpha: Floats
    intercept: float
    dual: float
    primal: float
    steps: int


def solve_svm(
    K: Floats,
    y: Floats,
    C: Floats,
    alpha: Floats,
    gap: float,
    max_steps: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> SVMSolution:
    """Solve until primal − dual ≤ gap (absolute), starting from a feasible α, which is not changed.

    By default it gives up after about 4·10⁹ kernel entries, some seconds, and whenever `stop` says so; what is missing
    then shows in primal − dual.
    """
    chunk = min(_CHUNK, max(1000, _CHUNK_ENTRIES // len(y)))
    max_steps = max(_CHUNK, 4_000_000_000 // len(y)) if max_steps is None else max_steps
    alpha = alpha.copy()
    zero, diagonal = np.zeros_like(C), np.ascontiguousarray(np.diagonal(K))
    steps, tol, refreshed = 0, 1e-2, False
    G = y * (K @ (alpha * y)) - 1.0
    while True:
        taken, violation = _smo(K, diagonal, y, zero, C, alpha, G, tol, chunk)
        steps += taken
        f = y * (G + 1.0)
        intercept, loss = best_intercept(f, y, C)
        quadratic = float((alpha * y) @ f)
        dual, primal = alpha.sum() - quadratic / 2, quadratic / 2 + loss
        if primal - dual <= gap or steps >= max_steps or (stop is not None and stop()):
            return SVMSolution(alpha, intercept, dual, primal, steps)
        if taken < chunk:
            # Rounding in G grows with the steps: before giving up, form it anew once.
            if violation <= 1e-13 * max(1.0, np.abs(G).max()) or tol < 1e-14:
                if refreshed:
                    return SVMSolution(alpha, intercept, dual, primal, steps)
                G, refreshed, tol = y * (K @ (alpha * y)) - 1.0, True, 1e-12
            tol *= 0.2


def least_norm(K: Floats, y: Floats, lower: Floats, upper: Floats, a: Floats, gap: float) -> Floats:
    """argmin ½ aᵀQa over lower ≤ a ≤ upper with yᵀa as given (formulation, section 7); relative accuracy `gap`."""
    a = a.copy()
    G = y * (K @ (a * y))
    diagonal = np.ascontiguousarray(np.diagonal(K))
    scale = float(np.abs(G).max())
    _smo(K, diagonal, y, lower, upper, a, G, gap * scale, 20 * _CHUNK)
    return a
