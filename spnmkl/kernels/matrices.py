"""Kernel matrices as such: are they ones, and how well do they fit the labels."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numba import njit
from scipy.linalg.lapack import dpotrf

from spnmkl.errors import DataError, KernelError

SYMMETRY_TOLERANCE = 1e-6
PSD_TOLERANCE = 1e-7
PSD_ROWS = 512
_BLOCK = 256


@dataclass(frozen=True)
class _Advice:
    finite: str
    symmetric: str
    semidefinite: str
    overwrite: bool


_GIVEN = _Advice(
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


def check_matrix(K: np.ndarray, name: str, n: int | None = None) -> np.ndarray:
    """Check that a given matrix can serve as a kernel matrix.

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
        float64, C-contiguous, exactly symmetric: the array itself where it is that already, else a copy.

    Raises
    ------
    KernelError
        Not square or of the wrong size; NaN or infinity; |K − Kᵀ| above 1e-6 · max |K|; not positive
        semidefinite. The last is tested by a Cholesky factorisation on at most 512 rows, evenly spread
        over the matrix, and allows a smallest eigenvalue of −1e-7 · (the trace over these rows), which
        single-precision rounding needs. So beyond 512 rows passing is no proof.
    """
    return _checked(_square(K, name, n), f"Kernel matrix {name!r}", _GIVEN)


def check_computed(K: np.ndarray, who: str) -> np.ndarray:
    """The same for a matrix that we computed and may overwrite."""
    return _checked(np.ascontiguousarray(K), who, _COMPUTED)


def spread_rows(n: int, at_most: int) -> np.ndarray:
    """At most so many of n row numbers, evenly spread and always the same."""
    return np.arange(n) if n <= at_most else np.linspace(0, n - 1, at_most).astype(np.intp)


def row_blocks(n: int) -> Iterator[slice]:
    return (slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK))


def _square(K: np.ndarray, name: str, n: int | None) -> np.ndarray:
    try:
        K = np.ascontiguousarray(K, dtype=np.float64)
    except (TypeError, ValueError):
        raise KernelError(f"Kernel matrix {name!r} must hold numbers; pass an (n, n) array of floats.") from None
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
    asymmetry, largest = _asymmetry(K)
    if not (np.isfinite(asymmetry) and np.isfinite(largest)):
        raise KernelError(f"{who} holds NaN or infinity, but kernel values must be finite; {advice.finite}.")
    if asymmetry > SYMMETRY_TOLERANCE * largest:
        raise KernelError(
            f"{who} is not symmetric: entries (i, j) and (j, i) differ by up to {asymmetry:.2g}; {advice.symmetric}."
        )
    if asymmetry > 0:
        K = K if advice.overwrite else K.copy()
        _symmetrise(K)
    _check_semidefinite(K, who, advice)
    return K


def _tiles(n: int) -> Iterator[tuple[slice, slice]]:
    return ((rows, columns) for rows in row_blocks(n) for columns in row_blocks(n) if columns.stop >= rows.stop)


@njit(nogil=True, cache=True)
def _scan(bits):  # type: ignore[no-untyped-def]
    """Of a matrix of floats read as integers: whether some bit differs from the transpose, and the bits of max |K|.

    Without their sign, floats are ordered as their bits are, with infinity and NaN above all others.
    """
    n, block, unsigned = len(bits), 64, np.int64(0x7FFFFFFFFFFFFFFF)
    different = largest = np.int64(0)
    for i0 in range(0, n, block):
        for j0 in range(i0, n, block):
            for i in range(i0, min(i0 + block, n)):
                for j in range(j0, min(j0 + block, n)):
                    largest = max(largest, bits[i, j] & unsigned)
            for i in range(i0, min(i0 + block, n)):
                for j in range(j0, min(j0 + block, n)):
                    different |= bits[i, j] ^ bits[j, i]
    return different != 0, largest


def _asymmetry(K: np.ndarray) -> tuple[float, float]:
    """max |K − Kᵀ| and max |K|, NaN or infinite if any entry is; tile by tile, without an n×n temporary."""
    different, largest = _scan(K.view(np.int64))
    return _differences(K) if different else (0.0, float(np.int64(largest).view(np.float64)))


def _differences(K: np.ndarray) -> tuple[float, float]:
    asymmetry = largest = 0.0
    with np.errstate(invalid="ignore", over="ignore"):
        for rows, columns in _tiles(len(K)):
            upper, lower = K[rows, columns], K[columns, rows].T
            largest = np.max([largest, upper.max(), -upper.min()])
            asymmetry = np.max([asymmetry, np.abs(upper - lower).max()])
    return float(asymmetry), float(largest)


def _symmetrise(K: np.ndarray) -> None:
    for rows, columns in _tiles(len(K)):
        mean = (K[rows, columns] + K[columns, rows].T) / 2
        K[rows, columns] = mean
        K[columns, rows] = mean.T


def _check_semidefinite(K: np.ndarray, who: str, advice: _Advice) -> None:
    rows = spread_rows(len(K), PSD_ROWS)
    part = K[np.ix_(rows, rows)]
    tolerance = PSD_TOLERANCE * np.abs(np.diagonal(part)).sum()
    lowest = np.diagonal(K).min()
    if lowest >= -tolerance and (not part.any() or _factorises(part, tolerance)):
        return
    lowest = min(lowest, np.linalg.eigvalsh(part)[0])
    raise KernelError(
        f"{who} is not positive semidefinite: it has an eigenvalue of {lowest:.2g} or less; {advice.semidefinite}."
    )


def _factorises(part: np.ndarray, shift: float) -> bool:
    shifted = part.copy()
    shifted[np.diag_indices_from(part)] += shift
    _, failed_at = dpotrf(shifted.T, clean=False, overwrite_a=True)  # in place, a third of the time of numpy's
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
