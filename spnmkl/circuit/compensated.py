"""Quadratic forms of kernels as if in twice the precision, for when those in double precision are mostly rounding.

With α of 10⁶ and kernels of low rank, (α∘y)ᵀK(α∘y) is a number near 1 left of terms near 10¹². Products and sums are
therefore kept with what they round off (Ogita, Rump, Oishi 2005, Dot2): the result has about all of its digits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numba import njit

from spnmkl.circuit.source import Floats, KernelSource

_SPLIT = 134217729.0  # 2²⁷ + 1: cuts a double in two halves, whose products are exact
_ENTRIES = 2**22  # of all kernels at a time


@njit(nogil=True, cache=True)
def _product(x, y):  # type: ignore[no-untyped-def]
    """x y as a rounded number and what it rounds off."""
    p = x * y
    a, b = _SPLIT * x, _SPLIT * y
    x_high, y_high = a - (a - x), b - (b - y)
    x_low, y_low = x - x_high, y - y_high
    return p, x_low * y_low - (((p - x_high * y_high) - x_low * y_high) - x_high * y_low)


@njit(nogil=True, cache=True)
def _sum(x, y):  # type: ignore[no-untyped-def]
    """x + y as a rounded number and what it rounds off."""
    s = x + y
    z = s - x
    return s, (x - (s - z)) + (y - z)


@njit(nogil=True, cache=True)
def _add_rows(X, first, A, high, low):  # type: ignore[no-untyped-def]
    """Adds rows of a kernel, from column `first` on and mirrored, to Σ_c A_cᵀKA_c = high + low."""
    n = A.shape[1]
    for c in range(len(A)):
        for i in range(len(X)):
            row = first + i
            s, e = _product(0.5 * X[i, i], A[c, row])
            for j in range(row + 1, n):
                p, r = _product(X[i, j - first], A[c, j])
                s, t = _sum(s, p)
                e += t + r
            p, r = _product(2.0 * A[c, row], s)
            high, t = _sum(high, p)
            low += t + r + 2.0 * A[c, row] * e
    return high, low


def compensated_forms(source: KernelSource, leaves: Sequence[str], A: Floats) -> Floats:
    """(leaves,) Σ_c A_cᵀK A_c of every kernel."""
    n, forms = source.shape[0], np.zeros((len(leaves), 2))
    rows = max(1, min(source.rows_per_tile(), _ENTRIES // (n * max(1, len(leaves)))))
    for first in range(0, n, rows):
        tiles = source.tiles(leaves, slice(first, min(first + rows, n)), slice(first, None))
        for form, X in zip(forms, tiles, strict=True):
            form[:] = _add_rows(X, first, A, *form)
    return forms.sum(axis=1)
