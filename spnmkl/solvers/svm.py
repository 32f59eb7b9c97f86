"""The inner SVM (eq. 4): sequential minimal optimisation on a dense kernel, started from the last α."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spnmkl.certificate import best_intercept
from spnmkl.circuit.program import Floats

_CHUNK = 200_000  # steps between two looks at the gap
_CHUNK_ENTRIES = 200_000_000  # kernel entries between them, a fraction of a second
_LEAST_CHUNK = 1000  # steps
_MOST_ENTRIES = 4_000_000_000  # kernel entries, some seconds, at which an SVM without a limit gives up
_FIRST_TOL, _TIGHTER = 1e-2, 0.2  # the KKT violation asked for at first, and how it falls while the gap is open
_EXACT, _FINEST_TOL, _ANEW_TOL = 1e-13, 1e-14, 1e-12  # violations that rounding leaves; the one after a new gradient
_FLAT, _NOTHING = 1e-13, 1e-300  # of the diagonal: a curvature that rounding leaves
Stop = Callable[[], bool] | None
_LEAST, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@njit(nogil=True, cache=True)
def _ordered(x):  # type: ignore[no-untyped-def]
    """The bits of a double as an integer, in the order of doubles."""
    bits = np.float64(x).view(np.int64)
    return bits ^ ((bits >> 63) & _MOST)


@njit(nogil=True, cache=True)
def _may_move(t, y, lower, upper, alpha, up, down):  # type: ignore[no-untyped-def]
    """Sets all bits of `up` and `down` at t where y α may grow and shrink, none elsewhere."""
    grow, shrink = alpha[t] < upper[t], alpha[t] > lower[t]
    if y[t] < 0:
        grow, shrink = shrink, grow
    up[t] = -1 if grow else 0
    down[t] = -1 if shrink else 0


@njit(nogil=True, cache=True)
def _extremes(F, up, down):  # type: ignore[no-untyped-def]
    """Where F is largest among those that may grow, and smallest among those that may shrink; −1 if there are none."""
    i = j = -1
    for t in range(len(F)):
        if up[t] and (i < 0 or F[t] > F[i]):
            i = t
        if down[t] and (j < 0 or F[t] < F[j]):
            j = t
    return i, j


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _smo(K, diagonal, y, lower, upper, alpha, G, tol, max_steps):  # type: ignore[no-untyped-def]
    """min ½ aᵀQa − linᵀa, Q = yyᵀ∘K, lower ≤ a ≤ upper, yᵀa fixed; G is the gradient, kept up to date.

    Pairs by second-order information (Fan, Chen, Lin 2005). Returns the steps taken and the KKT violation. The loops
    over all samples have no branches, so that they run on vectors: the largest value and its place are found together,
    as the largest of integers that hold a value's leading bits and, as their last bits, its index. Such a place is the
    best one but for rounding; whether the end is reached is decided by the values themselves.
    """
    n = len(y)
    index = np.int64(1)
    while index < n:
        index *= 2
    index -= 1
    F = -y * G
    up, down = np.empty(n, np.int64), np.empty(n, np.int64)
    for t in range(n):
        _may_move(t, y, lower, upper, alpha, up, down)
    i, low = _extremes(F, up, down)
    step, violation = 0, np.inf
    while i >= 0 and low >= 0:
        violation = F[i] - F[low]
        if violation <= tol:
            i, low = _extremes(F, up, down)
            violation = F[i] - F[low]
        if violation <= tol or step == max_steps:
            break
        high, row_i = F[i], K[i]
        best = np.int64(0)
        for t in range(n):
            difference = max(high - F[t], 0.0)
            both = diagonal[i] + diagonal[t]
            curvature = max(both - 2 * row_i[t], _FLAT * both, _NOTHING)
            gain = np.float64(difference * difference / curvature).view(np.int64)
            best = max(best, (gain & ~index | t) & down[t])
        if best <= index:
            break
        j = best & index
        both = diagonal[i] + diagonal[j]
        move = (high - F[j]) / max(both - 2 * row_i[j], _FLAT * both, _NOTHING)
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
        _may_move(i, y, lower, upper, alpha, up, down)
        _may_move(j, y, lower, upper, alpha, up, down)
        row_j = K[j]
        largest, smallest = _LEAST, _MOST
        for t in range(n):
            F[t] -= move * (np.float64(row_i[t]) - row_j[t])
            value = _ordered(F[t]) & ~index | t
            largest = max(largest, value & up[t] | _LEAST & ~up[t])
            smallest = min(smallest, value & down[t] | _MOST & ~down[t])
        i = largest & index if largest != _LEAST else -1
        low = smallest & index if smallest != _MOST else -1
        step += 1
    for t in range(n):
        G[t] = -y[t] * F[t]
    return step, violation if i >= 0 and low >= 0 else -np.inf


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _weighed_sums(K, a, out):  # type: ignore[no-untyped-def]
    """out = Ka in double precision."""
    for i in range(len(K)):
        total = 0.0
        for j in range(len(a)):
            total += K[i, j] * a[j]
        out[i] = total


def _times(K: NDArray[np.floating], a: Floats) -> Floats:
    """Ka; K in single precision is not copied for it."""
    if K.dtype == np.float64:
        return K @ a
    out = np.zeros(len(K))
    if a.any():
        _weighed_sums(K, a, out)
    return out


@dataclass(frozen=True)
class SVMSolution:
    """One class's SVM at fixed K: dual ≤ optimum ≤ primal."""

    alpha: Floats
    intercept: float
    dual: float
    primal: float
    steps: int


def solve_svm(
    K: NDArray[np.floating],
    y: Floats,
    C: Floats,
    alpha: Floats,
    gap: float,
    max_steps: int | None = None,
    stop: Stop = None,
) -> SVMSolution:
    """Solve until primal − dual ≤ gap (absolute), starting from a feasible α, which is not changed.

    By default it gives up after about 4·10⁹ kernel entries, some seconds, and whenever `stop` says so; what is missing
    then shows in primal − dual.
    """
    chunk = min(_CHUNK, max(_LEAST_CHUNK, _CHUNK_ENTRIES // len(y)))
    max_steps = max(_CHUNK, _MOST_ENTRIES // len(y)) if max_steps is None else max_steps
    alpha = alpha.copy()
    zero, diagonal = np.zeros_like(C), np.ascontiguousarray(np.diagonal(K), np.float64)
    steps, tol, refreshed = 0, _FIRST_TOL, False
    G = y * _times(K, alpha * y) - 1.0
    while True:
        taken, violation = _smo(K, diagonal, y, zero, C, alpha, G, tol, min(chunk, max_steps - steps))
        steps += taken
        f = y * (G + 1.0)
        intercept, loss = best_intercept(f, y, C)
        quadratic = float((alpha * y) @ f)
        dual, primal = alpha.sum() - quadratic / 2, quadratic / 2 + loss
        if primal - dual <= gap or steps >= max_steps or (stop is not None and stop()):
            return SVMSolution(alpha, intercept, dual, primal, steps)
        if taken < chunk:
            # Rounding in G grows with the steps: before giving up, form it anew once.
            if violation <= _EXACT * max(1.0, np.abs(G).max()) or tol < _FINEST_TOL:
                if refreshed:
                    return SVMSolution(alpha, intercept, dual, primal, steps)
                G, refreshed, tol = y * _times(K, alpha * y) - 1.0, True, _ANEW_TOL
            tol *= _TIGHTER


def least_norm(
    K: Floats, y: Floats, lower: Floats, upper: Floats, a: Floats, gap: float, max_steps: int, stop: Stop = None
) -> Floats:
    """argmin ½ aᵀQa over lower ≤ a ≤ upper with yᵀa as given (eq. 17); relative accuracy `gap`."""
    a = a.copy()
    G = y * (K @ (a * y))
    diagonal = np.ascontiguousarray(np.diagonal(K))
    scale = float(np.abs(G).max())
    chunk = min(_CHUNK, max(_LEAST_CHUNK, _CHUNK_ENTRIES // len(y)))
    for done in range(0, max_steps, chunk):
        most = min(chunk, max_steps - done)
        if _smo(K, diagonal, y, lower, upper, a, G, gap * scale, most)[0] < most or (stop is not None and stop()):
            break
    return a
