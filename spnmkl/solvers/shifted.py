"""(K + D)⁻¹ for a kernel K and a positive diagonal D: what every step along the central path solves with (eq. 28).

Where K has low rank (one kernel per column; binary, categorical, counted columns) a pivoted Cholesky factor G, K ≈ GᵀG,
makes that cheap; else rows whose D dwarfs K_ii, which is where most samples end up, are set apart and the rest is
factorised. Either only preconditions Newton's method, whose residuals are formed with K itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from spnmkl.circuit.program import Floats
from spnmkl.solvers.factor import Pause, factorised

_LOWEST_TOL = 1e-13  # of the largest diagonal entry: what is left of K then is rounding
_PIVOTS = 64  # between two chances to stop
_SURE = 16  # columns of the factor before its rank is guessed
_MOST_RANK = 0.5  # of the rows; beyond, the factor costs more than it saves
_DECOUPLED = 1e-7  # K_ii/D_i below which a row is set apart: its coupling is at most the root of it
_NEARLY_ALL = 0.9  # of the rows: setting the others apart is not worth it
_STAGES = (8, 4, 2, 1)  # parts of the most rank at which what is left is looked at
_TOO_SLOW = 1.5  # times the most rank: an extrapolated one beyond that ends the attempt
_FEWEST_ROWS = 8  # for which a low rank is looked for
_FIRST_RIDGE, _RIDGE_GROWTH, _RIDGES = 1e-15, 30.0, 12  # of the largest diagonal entry; tried one after another
_WELL_POSED = 1e6  # trace of GᵀG over the least D: below, Woodbury's identity loses at most so many of 16 digits


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _pivoted(K, left, tolerance, most, start, L):  # type: ignore[no-untyped-def]
    """Pivoted Cholesky, row by row into L (most, n) from row `start` on; `left` is the diagonal not yet explained.

    Returns the rank at which all that is left is below the tolerance, or −1 at `most`.
    """
    n = len(K)
    for r in range(start, most):
        pivot = 0
        for i in range(1, n):
            if left[i] > left[pivot]:
                pivot = i
        if left[pivot] <= tolerance:
            return r
        row = L[r]
        row[:] = K[pivot]
        for j in range(r):
            weight, other = L[j, pivot], L[j]
            if weight != 0.0:
                for i in range(n):
                    row[i] -= weight * other[i]
        scale = 1.0 / np.sqrt(left[pivot])
        for i in range(n):
            row[i] *= scale
            left[i] -= row[i] * row[i]
        left[pivot] = 0.0
    return -1


def _low_rank(K: NDArray[Any], diagonal: Floats, tolerance: float, pause: Pause) -> tuple[Floats, Floats] | None:
    """(r, n) G and (n,) the diagonal of K − GᵀG; None as soon as the rank looks too high to pay."""
    n, left = len(K), diagonal.copy()
    most = int(_MOST_RANK * n)
    L = np.empty((most, n))
    total, done = float(left.sum()), 0
    for stage in sorted({min(max(part, _SURE), most) for part in (most // s for s in _STAGES)}):
        for first in range(done, stage, _PIVOTS):
            rank = _pivoted(K, left, tolerance, min(first + _PIVOTS, stage), first, L)
            if rank >= 0:
                return L[:rank], np.maximum(left, 0.0)
            pause()
        # Extrapolated as a geometric decay, what is left must come down to the tolerance in time.
        rest, done = float(np.maximum(left, 0.0).sum()), stage
        if rest > 0 and np.log(total / (n * tolerance)) * stage > np.log(total / rest) * most * _TOO_SLOW:
            return None
    return None


class ShiftedKernel:
    """A kernel matrix that is solved with under many diagonals, with its factor of low rank where it has one.

    Attributes
    ----------
    K : (n, n), not copied.
    G, rest : (r, n) and (n,) with K ≈ GᵀG + diag(rest); G is None where that does not pay.
    """

    def __init__(self, K: NDArray[Any], pause: Pause, tolerance: float = 0.0) -> None:
        self.K, self.pause = K, pause
        self.diagonal = np.ascontiguousarray(np.diagonal(K), np.float64)
        least = _LOWEST_TOL * float(self.diagonal.max(initial=0.0))
        found = (
            _low_rank(K, self.diagonal, max(tolerance, least), pause) if len(K) > _FEWEST_ROWS and least > 0 else None
        )
        self.G: Floats | None = None if found is None else found[0]
        self.rest = np.zeros(0) if found is None else found[1]

    @property
    def rank(self) -> int:
        return len(self.K) if self.G is None else len(self.G)

    def times(self, A: Floats) -> Floats:
        return self.K @ A

    def scale(self, t: float) -> None:
        """K ← tK."""
        self.K *= t
        self.diagonal *= t
        if self.G is not None:
            self.G *= t**0.5
            self.rest *= t

    def shifted(self, D: Floats) -> Low | Dense:
        coupled = np.flatnonzero(self.diagonal > _DECOUPLED * D)
        m, r, n = len(coupled), self.rank, len(D)
        if self.G is None or m**3 / 3 < 2 * r * r * n + r**3 / 3:
            return Dense(self, D, coupled)
        return Low(self.G, D + self.rest, self.pause, float(self.diagonal.sum()))


class Low:
    """(GᵀG + D)⁻¹ by Woodbury's identity, with one step of refinement where D is small beside the trace of GᵀG."""

    def __init__(self, G: Floats, D: Floats, pause: Pause, trace: float = np.inf) -> None:
        self.G, self.D, self.inverse = G, D, 1.0 / D
        self.refined = trace > _WELL_POSED * float(D.min())
        self.L = cholesky(self._inner, pause) if len(G) else np.empty((0, 0))

    def _inner(self) -> Floats:
        """I + G D⁻¹ Gᵀ."""
        S = blas.dsyrk(1.0, (self.G * np.sqrt(self.inverse)).T, trans=1, lower=1)
        S.T.flat[:: len(S) + 1] += 1.0
        return S

    def _once(self, B: Floats) -> Floats:
        W = B * self.inverse[:, None]
        X = lapack.dpotrs(self.L, self.G @ W, lower=1)[0]
        return W - (self.G.T @ X) * self.inverse[:, None]

    def __call__(self, B: Floats) -> Floats:
        """(n, k) the solutions for the columns of B."""
        if not len(self.G):
            return B * self.inverse[:, None]
        X = self._once(B)
        if not self.refined:
            return X
        return X + self._once(B - self.D[:, None] * X - self.G.T @ (self.G @ X))


class Dense:
    """(K + D)⁻¹, where rows that hardly couple are solved by their diagonal alone."""

    def __init__(self, kernel: ShiftedKernel, D: Floats, coupled: np.ndarray) -> None:
        self.full = D + kernel.diagonal
        self.coupled = None if len(coupled) > _NEARLY_ALL * len(D) else coupled
        self.L = cholesky(lambda: self._block(kernel.K), kernel.pause) if len(coupled) else np.empty((0, 0))

    def _block(self, K: Floats) -> Floats:
        if self.coupled is None:
            A = np.array(K.T, order="F")  # symmetric: a plain copy
            A.T.flat[:: len(A) + 1] = self.full
            return A
        A = np.empty((len(self.coupled),) * 2, order="F")
        _gather(K, self.coupled, A)
        A.T.flat[:: len(A) + 1] = self.full[self.coupled]
        return A

    def __call__(self, B: Floats) -> Floats:
        if self.coupled is None:
            return lapack.dpotrs(self.L, B, lower=1)[0]
        X = B / self.full[:, None]
        if len(self.coupled):
            X[self.coupled] = lapack.dpotrs(self.L, B[self.coupled], lower=1)[0]
        return X


@njit(nogil=True, cache=True)
def _gather(K, rows, block):  # type: ignore[no-untyped-def]
    """The lower triangle of K on these rows."""
    for j in range(len(rows)):
        row = K[rows[j]]
        for i in range(j, len(rows)):
            block[i, j] = row[rows[i]]


def cholesky(form: Callable[[], Floats], pause: Pause) -> Floats:
    """Lower factor of the matrix that `form` makes (Fortran order), with the least ridge at which it exists.

    Raises
    ------
    FloatingPointError
        There is none: the matrix holds what is not finite, or is far from positive definite.
    """
    ridge = 0.0
    for _ in range(_RIDGES):
        A = form()
        if ridge > 0.0:
            A.T.flat[:: len(A) + 1] += ridge * float(A.diagonal().max())
        if factorised(A, pause) and np.isfinite(A[-1, -1]):
            return A
        ridge = ridge * _RIDGE_GROWTH or _FIRST_RIDGE
    raise FloatingPointError("no Cholesky factor")
