"""Cholesky factors of blocks of K, for the curvature of the SVM."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import scipy.linalg
from numba import njit
from numpy.typing import NDArray

from spnmkl.circuit.blocks import Block, over_lanes
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

    def __init__(self, pause: Pause, n_threads: int = 1) -> None:
        self.pause, self.n_threads = pause, n_threads
        self._memory: NDArray[np.floating] = np.empty(0)

    def cholesky(
        self,
        K: NDArray[np.floating],
        rows: NDArray[np.intp],
        dtype: type[np.floating],
        below: NDArray[np.floating] | None = None,
    ) -> NDArray[np.floating]:
        """Lower factor of K on some rows, with the least ridge, relative to its mean diagonal, that makes it succeed.

        Only the lower triangle of what is returned is the factor. It is overwritten by the next. With `below`, it lies
        there, which may be under the diagonal of K itself; rows must be in order then.
        """
        level = float(np.diagonal(K)[rows].mean()) or 1.0
        size = len(rows)
        block = self._block(size, dtype, len(K)) if below is None else below[:size, :size]
        for ridge in _RIDGES[dtype]:
            _gather(K, rows, ridge * level, block)
            if factorised(block, self.pause, self.n_threads):
                return block
        for i in range(size):
            block[i, :i], block[i, i] = 0.0, np.sqrt(level)
        return block

    def _block(self, size: int, dtype: type[np.floating], largest: int) -> NDArray[np.floating]:
        if self._memory.dtype != dtype or len(self._memory) < size**2:
            self._memory = np.empty(0)  # free before more is asked for
            self._memory = np.empty(min(int(_ROOM * size**2), largest**2), dtype)
        return self._memory[: size**2].reshape((size, size), order="F")


@njit(nogil=True, cache=True)
def _gather(K, rows, ridge, block):  # type: ignore[no-untyped-def]
    """The lower triangle of K on these rows, in squares that stay in cache."""
    n, step = len(rows), 32
    for i0 in range(0, n, step):
        for j0 in range(0, i0 + step, step):
            for i in range(i0, min(i0 + step, n)):
                for j in range(j0, min(j0 + step, i + 1)):
                    block[i, j] = K[rows[j], rows[i]]
    for j in range(n):
        block[j, j] += ridge


def solved(L: NDArray[np.floating], B: Floats, trans: int = 0) -> Floats:
    """L⁻¹B or L⁻ᵀB."""
    X = np.array(B, L.dtype, order="F")
    if L.flags.f_contiguous:
        return _triangular(L, X, trans)
    parts = _parts(len(L))  # no copy of all of L is made
    for here in parts[::-1] if trans else parts:
        done = slice(here.stop, None) if trans else slice(0, here.start)
        X[here] -= (L[done, here].T if trans else L[here, done]) @ X[done]
        X[here] = _triangular(L[here, here], X[here], trans)
    return X.astype(np.float64)


def _triangular(L: NDArray[np.floating], B: NDArray[np.floating], trans: int) -> Floats:
    (trtrs,) = scipy.linalg.get_lapack_funcs(("trtrs",), (L,))
    return trtrs(L, B, lower=True, trans=trans, overwrite_b=True)[0].astype(np.float64)


def _parts(n: int) -> list[slice]:
    return [slice(k, min(k + _BLOCK, n)) for k in range(0, n, _BLOCK)]


def factorised(A: NDArray[np.floating], pause: Pause, n_threads: int = 1) -> bool:
    """Cholesky in place on the lower triangle, with pauses where it is large; whether it exists.

    What is above the diagonal stays as it is but, in Fortran order, of a small one. Threads share the blocks, each of
    which is computed by one of them: any number gives the same bits.
    """
    n = len(A)
    if n <= _WHOLE and A.flags.f_contiguous:
        return potrf(A)
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (A,))
    parts = _parts(n)

    def divide(lane: int, blocks: Iterable[Block]) -> None:
        for row, _ in blocks:
            A[parts[row], here] = trsm(1.0, L, A[parts[row], here], side=1, lower=1, trans_a=1)
            pause()

    def subtract(lane: int, blocks: Iterable[Block]) -> None:
        for row, column in blocks:
            product = A[parts[row], here] @ A[parts[column], here].T
            A[parts[row], parts[column]] -= np.tril(product) if row == column else product
            pause()

    for k, here in enumerate(parts):
        L = np.tril(A[here, here]).copy(order="F")
        if not potrf(L):
            return False
        np.copyto(A[here, here], L, where=np.tri(len(L), dtype=bool))
        left = range(k + 1, len(parts))
        over_lanes(divide, [[(row, k)] for row in left], n_threads)
        over_lanes(subtract, [[(row, column)] for column in left for row in range(column, len(parts))], n_threads)
    return True
