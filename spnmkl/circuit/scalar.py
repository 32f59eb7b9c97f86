"""The circuit on numbers instead of kernel entries: sums over all paths at the cost of one small pass."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(nogil=True, cache=True)
def mixing(
    operation_start: NDArray[np.int64],
    arguments: NDArray[np.int64],
    n_leaves: int,
    W: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of a circuit whose terms have one argument each, K = Σ_l w_l K_l: (leaves,) w and (terms, leaves) ∂w_l/∂W_t."""
    n_operations = len(operation_start) - 1
    # Whole rows are assigned entry by entry: numba takes seconds to compile what it would say of unequal lengths.
    parts = np.zeros((n_operations, n_leaves))  # of every operation
    for k in range(n_operations):
        for t in range(operation_start[k], operation_start[k + 1]):
            slot = arguments[t]
            if slot < n_leaves:
                parts[k, slot] += W[t]
            else:
                for leaf in range(n_leaves):
                    parts[k, leaf] += W[t] * parts[slot - n_leaves, leaf]
    outside = np.zeros(n_operations)
    outside[n_operations - 1] = 1.0
    slopes = np.zeros((len(W), n_leaves))
    for k in range(n_operations - 1, -1, -1):
        for t in range(operation_start[k], operation_start[k + 1]):
            slot = arguments[t]
            if slot < n_leaves:
                slopes[t, slot] = outside[k]
            else:
                for leaf in range(n_leaves):
                    slopes[t, leaf] = outside[k] * parts[slot - n_leaves, leaf]
                outside[slot - n_leaves] += outside[k] * W[t]
    return parts[-1], slopes


@njit(nogil=True, cache=True)
def scalar_flows(
    operation_start: NDArray[np.int64],
    term_start: NDArray[np.int64],
    arguments: NDArray[np.int64],
    n_leaves: int,
    W: NDArray[np.float64],
) -> NDArray[np.float64]:
    """For every term the total weight of the derivations through it, counted once per occurrence; kernels count 1."""
    n_operations = len(operation_start) - 1
    value, outside = np.empty(n_leaves + n_operations), np.empty(n_leaves + n_operations)
    for slot in range(len(value)):
        value[slot], outside[slot] = 1.0, 0.0
    outside[len(outside) - 1] = 1.0
    for k in range(n_operations):
        total = 0.0
        for t in range(operation_start[k], operation_start[k + 1]):
            product = W[t]
            for a in range(term_start[t], term_start[t + 1]):
                product *= value[arguments[a]]
            total += product
        value[n_leaves + k] = total
    flows = np.empty(len(W))
    for k in range(n_operations - 1, -1, -1):
        for t in range(operation_start[k], operation_start[k + 1]):
            start, stop = term_start[t], term_start[t + 1]
            scale = outside[n_leaves + k] * W[t]
            product = 1.0
            for a in range(start, stop):
                others = product
                for b in range(a + 1, stop):
                    others *= value[arguments[b]]
                outside[arguments[a]] += scale * others
                product *= value[arguments[a]]
            flows[t] = scale * product
    return flows
