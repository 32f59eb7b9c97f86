"""K_FF⁻¹R without a factor: preconditioned conjugate gradients, where K is large and in single precision.

A step of Newton's method needs the curvature to a few digits only. What makes gradients slow, the largest eigenvalues
of K, is taken away by the factor of some rows (Nyström's preconditioner, Frangella, Tropp and Udell 2023); then a dozen
passes over K give what a factor takes as long for as hundreds of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.blocks import Block, dealt, over_lanes, rectangle
from spnmkl.circuit.program import Floats
from spnmkl.solvers.factor import Pause

Single = NDArray[np.float32]

_WORTH = 1500.0, 60.0  # F³ over n², and more for each column: from which on a factor takes longer than the passes
_ROWS, _LEAST_EIGENVALUE = 400, 1e-6  # of the preconditioner; of its largest one: what is less is rounding
_RIDGE = 1e-6  # of the mean diagonal entry, as of a factor in single precision
_TOL = 1e-2  # of R: what may be left
_MOST, _LOOKED_AT = 24, 8  # passes granted; the one after which their number is guessed
_BLOCK, _LANES = 512, 8  # rows between two chances to stop; parts that threads share


def are_quicker(K: NDArray[Any], free: NDArray[np.intp], columns: int) -> bool:
    """Than a factor of K on the rows F that are free, for so many columns of R."""
    worth = _WORTH[0] + _WORTH[1] * columns
    return K.dtype == np.float32 and float(len(free)) ** 3 > worth * float(len(K)) ** 2


def solved_by_gradients(
    K: Single, free: NDArray[np.intp], R: Floats, pause: Pause, n_threads: int = 1
) -> tuple[Floats, Floats] | None:
    """(F, m) X ≈ K_FF⁻¹R and (m, m) RᵀK_FF⁻¹R, whose error is that of X squared; None where that takes too long."""
    sizes = np.linalg.norm(R, axis=0)
    some = sizes > 0
    B = (R[:, some] / sizes[some]).astype(np.float32)
    ridge = _RIDGE * float(np.diagonal(K)[free].mean())
    try:
        precondition = _Preconditioner(K, free, ridge, pause)
    except np.linalg.LinAlgError:
        return None
    X, left = np.zeros_like(B), B.copy()
    turned = precondition(left)
    direction, old = turned.copy(), _products(left, turned)
    for done in range(1, _MOST + 1):
        image = _times(K, free, direction, pause, n_threads) + np.float32(ridge) * direction
        length = _ratio(old, _products(direction, image))
        X += length * direction
        left -= length * image
        rest = float(np.linalg.norm(left, axis=0).max())
        if not np.isfinite(rest) or (done == _LOOKED_AT and rest > _TOL ** (done / _MOST)):
            return None
        if rest <= _TOL:
            found, gram = _scaled(X, B, left, sizes)
            return (found, gram) if np.isfinite(gram).all() else None
        turned = precondition(left)
        new = _products(left, turned)
        direction = turned + _ratio(new, old) * direction
        old = new
    return None


def _scaled(X: Single, B: Single, left: Single, sizes: Floats) -> tuple[Floats, Floats]:
    """For R, whose columns are B's times their sizes, with those of size 0."""
    some = sizes > 0
    found, gram = np.zeros((len(X), len(sizes))), np.zeros((len(sizes), len(sizes)))
    found[:, some] = X * sizes[some]
    product = (B + left).T.astype(np.float64) @ X.astype(np.float64)  # RᵀX + (R − KX)ᵀX
    gram[np.ix_(some, some)] = (product + product.T) / 2 * np.outer(sizes[some], sizes[some])
    return found, gram


class _Preconditioner:
    """(K + ridge)⁻¹ for what some rows of K tell of it, and a multiple of the identity beside it.

    In double precision: what little is left beside a large eigenvalue is a difference of nearly equal numbers.
    """

    def __init__(self, K: Single, free: NDArray[np.intp], ridge: float, pause: Pause) -> None:
        some = slice(None, None, -(-len(free) // _ROWS))
        across = K[free[some]][:, free].astype(np.float64)
        values, vectors = _range_of(across[:, some])
        pause()
        half = (vectors / np.sqrt(values)).T @ across  # K_FF ≈ halfᵀ half
        pause()
        explained, vectors = _range_of(half @ half.T)
        pause()
        self.basis = (vectors / np.sqrt(explained)).T @ half  # of orthonormal rows
        beside = max(float(np.diagonal(K)[free].mean()) - explained.sum() / len(free), ridge)
        self.shrunk = (beside / (explained + beside) - 1.0)[:, None]

    def __call__(self, B: Single) -> Single:
        return (B + self.basis.T @ (self.shrunk * (self.basis @ B))).astype(np.float32)


def _range_of(A: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues that are more than rounding, and their vectors."""
    values, vectors = np.linalg.eigh(A)
    if not values[-1] > 0:
        raise np.linalg.LinAlgError("nothing above zero, or not finite")
    kept = values > _LEAST_EIGENVALUE * values[-1]
    return values[kept], vectors[:, kept]


def _times(K: Single, free: NDArray[np.intp], B: Single, pause: Pause, n_threads: int) -> Single:
    """K_FF B, by whole rows of K, which lie beside each other."""
    spread, found = np.zeros((len(K), B.shape[1]), np.float32), np.empty((len(K), B.shape[1]), np.float32)
    spread[free] = B

    def multiply(lane: int, blocks: Iterable[Block]) -> None:
        for first, last in blocks:
            np.matmul(K[first:last], spread, out=found[first:last])
            pause()

    over_lanes(multiply, dealt(rectangle(len(K), _BLOCK, _LANES), _LANES), n_threads)
    return found[free]


def _products(A: Single, B: Single) -> Floats:
    return np.einsum("fm,fm->m", A, B, dtype=np.float64)


def _ratio(above: Floats, below: Floats) -> Single:
    """0 where nothing is left."""
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0).astype(np.float32)
