"""The small quadratic program of every step: one variable per weight, each in its box."""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.linalg import lapack

from spnmkl.circuit.program import Floats
from spnmkl.solvers.factor import at_once
from spnmkl.solvers.shifted import cholesky

_SETTLED = 1e-12  # a change of z that ends the sweeps
_FEWEST_SWEEPS, _MOST_SWEEPS = 50, 3000  # of coordinate descent, whatever the work
_SWEEP_WORK = 3e8  # multiplications in about a fifth of a second
_FLAT = 1e-10  # of the largest eigenvalue of H, scaled to a diagonal of 1: what is less is rounding
_NO_CURVATURE = 1e-300  # instead of a diagonal of 0


@njit(nogil=True, cache=True)
def bounded_qp(H, g, low, high, sweeps):  # type: ignore[no-untyped-def]
    """min ½ zᵀHz + gᵀz over low ≤ z ≤ high by coordinate descent.

    A curvature of zero or, by rounding, less is that of a weight which only costs, as that of a constant kernel.
    """
    z = np.zeros(len(g))
    Hz = np.zeros(len(g))
    for _ in range(sweeps):
        largest = 0.0
        for i in range(len(g)):
            slope = g[i] + Hz[i]
            if H[i, i] > 0.0:
                move = min(max(z[i] - slope / H[i, i], low[i]), high[i]) - z[i]
            else:
                move = low[i] - z[i] if slope > 0.0 else 0.0
            if move != 0.0:
                z[i] += move
                Hz += H[i] * move
                largest = max(largest, abs(move))
        if largest < _SETTLED:
            break
    return z


def most_sweeps(size: int) -> int:
    """About a fifth of a second's worth."""
    return int(min(_MOST_SWEEPS, max(_FEWEST_SWEEPS, _SWEEP_WORK / max(size, 1) ** 2)))


def bounded_step(H: Floats, rhs: Floats, low: Floats, high: Floats) -> Floats:
    """min ½ zᵀHz − rhsᵀz over low ≤ z ≤ high: Newton's where that is inside, else by coordinate descent."""
    z = _solve_definite(H, rhs)
    if (z >= low).all() and (z <= high).all():
        return z
    return bounded_qp(np.ascontiguousarray((H + H.T) / 2), -rhs, low, high, most_sweeps(len(rhs)))


def _solve_definite(H: Floats, rhs: Floats) -> Floats:
    """H⁻¹ rhs; where H is, by rounding, not definite, with its eigenvalues lifted."""
    d = np.sqrt(np.maximum(H.diagonal(), _NO_CURVATURE))
    scaled = H / np.outer(d, d)
    try:
        L = cholesky(lambda: np.array(scaled, order="F"), at_once)
        z = lapack.dpotrs(L, rhs / d, lower=1)[0] / d
        if np.isfinite(z).all() and rhs @ z > 0:
            return z
    except FloatingPointError:
        pass
    w, U = np.linalg.eigh((scaled + scaled.T) / 2)
    w = np.maximum(w, _FLAT * max(float(w.max()), _NO_CURVATURE))
    with np.errstate(over="ignore", invalid="ignore"):
        z = (U @ ((U.T @ (rhs / d)) / w)) / d
    return np.where(np.isfinite(z), z, 0.0)
