"""The small quadratic program of every step: one variable per weight, each in its box."""

import numpy as np
from numba import njit


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
        if largest < 1e-12:
            break
    return z


def most_sweeps(size: int) -> int:
    """About a fifth of a second's worth."""
    return int(min(3000, max(50, 3e8 / max(size, 1) ** 2)))
