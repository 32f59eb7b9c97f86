"""Cholesky factors of blocks of K, for the curvature of the SVM."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg
from numba import njit
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.solvers.unlocked import potrf

# of the mean diagonal entry, tried one after another, by precision
_RIDGES = {np.float64: (1e-10, 1e-8, 1e-6, 1e-4, 1.0), np.float32: (1e-6, 1e-5, 1e-4, 1e-3, 1.0)}
_BLOCK, _WHOLE = 1024, 2500  # rows between two chances to stop; rows up to which it is done at once
Pause = Callable[[], object]
_ROOM = 1.1  # so much more than asked for, since the next block is often a little larger


def at_once() -> None:
    """No pause."""


class Factors:
    """One factor at a time, in the memory of the last: a system hands out fresh memory slowly."""

    def __init__(self, pause: Pause) -> None:
        self.pause = pause
        self._memory: NDArray[np.floating] = np.empty(0)

    def cholesky(self, K: Floats, rows: NDArray[np.intp], dtype: type[np.floating]) -> NDArray[np.floating]:
        """Lower factor of K on some rows, with the least ridge, relative to its mean diagonal, that makes it succeed.

        It is overwritten by the next.
        """
        level = float(np.diagonal(K)[rows].mean()) or 1.0
        block = self._block(len(rows), dtype, len(K))
        for ridge in _RIDGES[dtype]:
            _gather(K, rows, ridge * level, block)
            if factorised(block, self.pause):
                return block
        block[:] = 0.0
        np.fill_diagonal(block, np.sqrt(level))
        return block

    def _block(self, size: int, dtype: type[np.floating], largest: int) -> NDArray[np.floating]:
        if self._memory.dtype != dtype or len(self._memory) < size**2:
            self._memory = np.empty(0)  # free before more is asked for
            self._memory = np.empty(min(int(_ROOM * size**2), largest**2), dtype)
        return self._memory[: size**2].reshape((size, size), order="F")


@njit(nogil=True, cache=True)
def _gather(K, rows, ridge, block):  # type: ignore[no-untyped-def]
    """The lower triangle of K on these rows."""
    for j in range(len(rows)):
        for i in range(j, len(rows)):
            block[i, j] = K[rows[j], rows[i]]
        block[j, j] += ridge


def solved(L: NDArray[np.floating], B: Floats, trans: int = 0) -> Floats:
    """L⁻¹B or L⁻ᵀB."""
    (trtrs,) = scipy.linalg.get_lapack_funcs(("trtrs",), (L,))
    return trtrs(L, np.array(B, L.dtype, order="F"), lower=True, trans=trans, overwrite_b=True)[0].astype(np.float64)


def factorised(A: NDArray[np.floating], pause: Pause) -> bool:
    """Cholesky in place on the lower triangle (Fortran order), with pauses where it is large; whether it exists."""
    n = len(A)
    if n <= _WHOLE:
        return potrf(A)
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (A,))
    parts = [slice(k, min(k + _BLOCK, n)) for k in range(0, n, _BLOCK)]
    for k, here in enumerate(parts):
        L = np.tril(A[here, here]).copy(order="F")
        if not potrf(L):
            return False
        A[here, here] = L
        for rows in parts[k + 1 :]:
            A[rows, here] = trsm(1.0, L, A[rows, here], side=1, lower=1, trans_a=1)
            pause()
        for j in range(k + 1, len(parts)):
            for rows in parts[j:]:
                A[rows, parts[j]] -= A[rows, here] @ A[parts[j], here].T
                pause()
    return True
