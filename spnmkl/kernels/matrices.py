"""Kernel matrices as such: are they ones, and how well do they fit the labels."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.linalg.lapack import dpotrf

from spnmkl.errors import DataError, KernelError
from spnmkl.kernels.known import Known, mark_of
from spnmkl.threads import single_threaded_blas

SYMMETRY_TOLERANCE = 1e-6
PSD_TOLERANCE = 1e-7
PSD_ROWS = 256
_HASHED_ROWS = 512  # up to which a change of any entry is seen
_MARKED = 32  # entries of a row in which a change is looked for, beyond so many rows
_BLOCK = 256
_ROUNDING = 1e-15


@dataclass(frozen=True)
class _Advice:
    finite: str
    symmetric: str
    semidefinite: str
    overwrite: bool


GIVEN = _Advice(
    "remove or fill missing values before computing it",
    "if the difference has no meaning, pass (K + K.T) / 2",
    "set its negative eigenvalues to zero, or add their size to the diagonal",
    overwrite=False,
)
_COMPUTED = _Advice(
    "rescale the columns or choose smaller parameters",
    "a kernel function must give k(x, z) = k(z, x)",
    "choose other parameters or another function",
    overwrite=True,
)


@dataclass(frozen=True)
class _Passed:
    mark: tuple[int, int]
    uneven: bool  # by rounding, so that a copy is needed


_known = Known[_Passed]()


def check_matrix(K: ArrayLike, name: str, n: int | None = None) -> np.ndarray:
    """Check that a given matrix can serve as a kernel matrix.

    What was found is kept for as long as the object given lives, so that its next check costs little; a matrix that
    was changed in place since is checked anew. The change is seen by a hash of all entries up to 512 rows, beyond by
    one of the diagonal and 32 neighbouring entries of each row, which meets every row and every column: there it may
    miss single entries written later, which then count as the unexamined rows do.

    Parameters
    ----------
    K : array-like of shape (n, n)
    name : str
        What the messages call it, usually the leaf.
    n : int, optional
        The number of samples it must have.

    Returns
    -------
    K : ndarray of shape (n, n)
        float64, C-contiguous, symmetric to rounding: the array itself where it is that already, else a copy.

    Raises
    ------
    KernelError
        Not square or of the wrong size; NaN or infinity; |K − Kᵀ| above 1e-6 · max |K|; not positive semidefinite.
        The last is tested on all pairs of rows, by |K_ij|² ≤ K_ii K_jj, and by a Cholesky factorisation on all rows
        or, beyond 256, on 256 of them, evenly spread. Both allow a smallest eigenvalue of −1e-7 · (the trace over
        these rows or, if larger, the largest diagonal entry), which single-precision rounding needs. So up to 256
        rows passing is a proof but for that; beyond it is none.
    """
    square = _square(K, name, n)
    if (known := _known.of(K)) is not None and known.mark == _mark(square):
        return _evened(square.copy()) if known.uneven else square
    checked = _checked(square, f"Kernel matrix {name!r}", GIVEN)
    _known.keep(K, _Passed(_mark(square), uneven=checked is not square))
    return checked


def check_computed(K: np.ndarray, who: str) -> np.ndarray:
    """The same for a matrix that we computed and may overwrite."""
    checked = _checked(np.ascontiguousarray(K), who, _COMPUTED)
    _known.keep(checked, _Passed(_mark(checked), uneven=False))
    return checked


def _mark(K: np.ndarray) -> tuple[int, int]:
    return mark_of(K, len(K) if len(K) <= _HASHED_ROWS else _MARKED)


def not_finite(who: str, advice: _Advice = _COMPUTED) -> KernelError:
    return KernelError(f"{who} holds NaN or infinity, but kernel values must be finite; {advice.finite}.")


def spread_rows(n: int, at_most: int) -> np.ndarray:
    """At most so many of n row numbers, evenly spread and always the same."""
    return np.arange(n) if n <= at_most else np.linspace(0, n - 1, at_most).astype(np.intp)


def tested_rows(n: int) -> np.ndarray:
    """The rows on which a matrix is tested for being positive semidefinite."""
    return spread_rows(n, PSD_ROWS)


def row_blocks(n: int) -> Iterator[slice]:
    return (slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK))


def _square(given: ArrayLike, name: str, n: int | None) -> np.ndarray:
    try:
        kind = np.asarray(given).dtype.kind
        if kind not in "biufO" or np.ma.is_masked(given):
            raise TypeError
        K = np.ascontiguousarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise KernelError(f"Kernel matrix {name!r} must hold real numbers; pass an (n, n) array of floats.") from None
    if K.ndim != 2 or K.shape[0] != K.shape[1] or not K.size:
        raise KernelError(
            f"Kernel matrix {name!r} must be square, but its shape is {K.shape}; "
            "pass the kernel between all training samples."
        )
    if n is not None and len(K) != n:
        raise KernelError(
            f"Kernel matrix {name!r} must be {n} × {n}, one row per sample, but it is {len(K)} × {len(K)}; "
            "compute it on the same samples as the labels."
        )
    return K


def _checked(K: np.ndarray, who: str, advice: _Advice) -> np.ndarray:
    v, diagonal = _probe(len(K)), np.ascontiguousarray(np.diagonal(K))
    shift = PSD_TOLERANCE * max(np.abs(diagonal[tested_rows(len(K))]).sum(), np.abs(diagonal).max())
    with np.errstate(invalid="ignore", over="ignore"):
        across, down, excess = _one_pass(K, v, _roots(diagonal, shift))
        asymmetry, largest = _asymmetry(K, diagonal, across - down)
    if not (np.isfinite(asymmetry) and np.isfinite(largest)):
        raise not_finite(who, advice)
    if asymmetry > SYMMETRY_TOLERANCE * largest:
        raise KernelError(
            f"{who} is not symmetric: entries (i, j) and (j, i) differ by up to {asymmetry:.2g}; {advice.symmetric}."
        )
    if advice.overwrite or asymmetry > 0:
        K = _evened(K if advice.overwrite else K.copy())
    if excess > 0 and diagonal.min() >= -shift:
        _check_pairs(K, _roots(diagonal, shift), who, advice)
    _check_semidefinite(K, min(diagonal.min(), float(v @ across / (v @ v))), shift, who, advice)
    return K


@lru_cache(maxsize=4)
def _probe(n: int) -> np.ndarray:
    v = np.random.default_rng(0).uniform(0.5, 1.5, n)
    v.flags.writeable = False
    return v


def _roots(diagonal: np.ndarray, shift: float) -> np.ndarray:
    """√(K_ii + shift): of a kernel, |K_ij| is at most the product of two."""
    return np.sqrt(np.maximum(diagonal + shift, 0.0))


def _tiles(n: int) -> Iterator[tuple[slice, slice]]:
    return ((rows, columns) for rows in row_blocks(n) for columns in row_blocks(n) if columns.stop >= rows.stop)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _one_pass(K, v, roots):  # type: ignore[no-untyped-def]
    """Kv, Kᵀv and Σ max(0, |K_ij| − r_i r_j); every row is read once, four at a time for four streams of memory."""
    n = len(K)
    across, down, excess = np.zeros(n), np.zeros(n), 0.0
    for i in range(0, n - 3, 4):
        x0, x1, x2, x3 = K[i], K[i + 1], K[i + 2], K[i + 3]
        v0, v1, v2, v3 = v[i], v[i + 1], v[i + 2], v[i + 3]
        r0, r1, r2, r3 = roots[i], roots[i + 1], roots[i + 2], roots[i + 3]
        d0, d1, d2, d3 = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            d0 += x0[j] * v[j]
            d1 += x1[j] * v[j]
            d2 += x2[j] * v[j]
            d3 += x3[j] * v[j]
            down[j] += v0 * x0[j] + v1 * x1[j] + v2 * x2[j] + v3 * x3[j]
            excess += max(abs(x0[j]) - r0 * roots[j], 0.0) + max(abs(x1[j]) - r1 * roots[j], 0.0)
            excess += max(abs(x2[j]) - r2 * roots[j], 0.0) + max(abs(x3[j]) - r3 * roots[j], 0.0)
        across[i], across[i + 1], across[i + 2], across[i + 3] = d0, d1, d2, d3
    for i in range(n - n % 4, n):
        for j in range(n):
            across[i] += K[i, j] * v[j]
            down[j] += v[i] * K[i, j]
            excess += max(abs(K[i, j]) - roots[i] * roots[j], 0.0)
    return across, down, excess


def _asymmetry(K: np.ndarray, diagonal: np.ndarray, difference: np.ndarray) -> tuple[float, float]:
    """max |K − Kᵀ| and max |K|, NaN or infinite if any entry is; without an n×n temporary.

    For random v, `difference` = Kv − Kᵀv exceeds rounding where K and Kᵀ differ, and was had in one pass over the rows;
    only then are the entries compared. Of a kernel |K_ij| ≤ √(K_ii K_jj), which bounds the rounding.
    """
    root = np.sqrt(np.abs(diagonal))
    if (np.abs(difference) <= _ROUNDING * len(K) ** 0.5 * root.sum() * root).all():
        return 0.0, float(root.max() ** 2)
    asymmetry = largest = 0.0
    for rows, columns in _tiles(len(K)):
        upper, lower = K[rows, columns], K[columns, rows].T
        largest = np.max([largest, upper.max(), -upper.min()])
        asymmetry = np.max([asymmetry, np.abs(upper - lower).max()])
    return float(asymmetry), float(largest)


def _evened(K: np.ndarray) -> np.ndarray:
    _symmetrise(K)
    return K


@njit(nogil=True, cache=True)
def _symmetrise(K):  # type: ignore[no-untyped-def]
    """K ← (K + Kᵀ)/2, in blocks that stay in cache."""
    n, block = len(K), 32
    for i0 in range(0, n, block):
        for j0 in range(0, i0 + block, block):
            for i in range(i0, min(i0 + block, n)):
                for j in range(j0, min(j0 + block, i)):
                    K[i, j] = K[j, i] = (K[i, j] + K[j, i]) / 2


def _check_pairs(K: np.ndarray, roots: np.ndarray, who: str, advice: _Advice) -> None:
    """All 2 × 2 minors: the pair that exceeds its bound the most is named."""
    excess, i, j = max(_worst_pair(K[rows], roots[rows], roots, rows.start) for rows in row_blocks(len(K)))
    if excess > 0:
        i, j = sorted((i, j))
        bound = np.sqrt(max(K[i, i], 0.0)) * np.sqrt(max(K[j, j], 0.0))
        raise KernelError(
            f"{who} is not positive semidefinite: entry ({i}, {j}) is {K[i, j]:.6g}, but the diagonal entries of {i} "
            f"and {j}, {K[i, i]:.6g} and {K[j, j]:.6g}, allow at most {bound:.6g} in size; {advice.semidefinite}."
        )


def _worst_pair(block: np.ndarray, own: np.ndarray, roots: np.ndarray, first: int) -> tuple[float, int, int]:
    excess = np.abs(block) - np.outer(own, roots)
    i, j = np.unravel_index(int(excess.argmax()), excess.shape)
    return float(excess[i, j]), first + int(i), int(j)


def _check_semidefinite(K: np.ndarray, lowest: float, shift: float, who: str, advice: _Advice) -> None:
    """By a part of the rows, and what is known of the lowest eigenvalue over all of them."""
    rows = tested_rows(len(K))
    # Without a shift the diagonal is zero, and so is all else: the pairs have shown it.
    if lowest >= -shift and (shift == 0 or _factorises(_shifted(K, rows, shift))):
        return
    lowest = min(lowest, np.linalg.eigvalsh(K[np.ix_(rows, rows)])[0])
    raise KernelError(
        f"{who} is not positive semidefinite: it has an eigenvalue of {lowest:.2g} or less; {advice.semidefinite}."
    )


@njit(nogil=True, cache=True)
def _shifted(K, rows, shift):  # type: ignore[no-untyped-def]
    """The upper triangle of K + shift·I among these rows; nothing is written below it."""
    part = np.empty((len(rows), len(rows)))
    for a in range(len(rows)):
        x = K[rows[a]]
        part[a, a] = x[rows[a]] + shift
        for b in range(a + 1, len(rows)):
            part[a, b] = x[rows[b]]
    return part


@single_threaded_blas()
def _factorises(upper: np.ndarray) -> bool:
    # In place, and by the lower triangle of the transpose: half of the time of numpy's.
    _, failed_at = dpotrf(upper.T, lower=1, clean=False, overwrite_a=True)
    return bool(failed_at == 0)


def alignment(K: np.ndarray, y: np.ndarray) -> float:
    """Centred alignment of a kernel with the labels, between −1 and 1 (0 and 1 for a proper kernel).

    The cosine between HKH and HYYᵀH, where H centres and Y has one indicator column per class; for two
    classes this is the alignment with ±1 labels. 0 if the kernel or the labels are constant.
    """
    K, y = np.asarray(K, dtype=np.float64), np.asarray(y)
    if y.ndim != 1 or K.shape != (len(y), len(y)):
        raise DataError(
            f"Alignment needs one label per row of the kernel matrix, but the matrix is of shape {K.shape} "
            f"and the labels of shape {y.shape}; pass an (n, n) matrix and n labels."
        )
    classes, codes = np.unique(y, return_inverse=True)
    Y = np.eye(len(classes))[codes]  # (n, classes)
    Y -= Y.mean(axis=0)
    # ‖HYYᵀH‖ = ‖YᵀY‖ once Y is centred, and ⟨HKH, YYᵀ⟩ = ⟨KY, Y⟩: no n×n temporaries.
    norm = _centred_norm(K) * np.linalg.norm(Y.T @ Y)
    return float(np.vdot(K @ Y, Y) / norm) if norm > 0 else 0.0


def _centred_norm(K: np.ndarray) -> float:
    means = K.mean(axis=1)
    total = sum(np.sum((K[rows] - (means[rows, None] + means - means.mean())) ** 2) for rows in row_blocks(len(K)))
    norm = float(np.sqrt(total))
    # What a constant kernel leaves is rounding, not a direction.
    return norm if norm > 1e-13 * np.linalg.norm(np.diagonal(K)) else 0.0
