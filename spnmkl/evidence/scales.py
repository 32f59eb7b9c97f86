"""What a kernel does not tell of its weights: directions in log β along which K(β) stays, and the rule that fixes them.

Below a product all weights of one sum may grow while those of another, or the product's own, shrink: the weights of all
paths, and so the kernel, remain. Certified weights pay for their size, which settles it; evidence does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsmr

from spnmkl.circuit.program import Circuit, Floats

Directions = tuple[NDArray[np.intp], Floats]
_MOST_STEPS, _MOST_HALVINGS, _FLAT = 200, 40, 1e-12
_RANK = 1e-9  # of the largest singular value; exponents are simple fractions


def unit_scales(circuit: Circuit, scales: Floats) -> Floats:
    """(V,) log β at which every path has the scale 1, for these of the leaves; in the least squares, where none has it.

    By operations: X_t·u + Σ φ over the operations that a term multiplies + Σ log scale of its kernels = φ of its own,
    with φ = 0 at the root.
    """
    logs = np.log(scales)
    if not logs.any() or not circuit.n_terms:
        return np.zeros(len(circuit.products))
    kernels = _incidence(circuit)[:, : len(circuit.leaves)] @ logs
    found: Floats = lsmr(_sums(circuit), -kernels, atol=1e-14, btol=1e-14, maxiter=10_000)[0]
    return found[: len(circuit.products)]


def cheapest(beta: Floats, prices: Floats, free: Sequence[Directions]) -> Floats:
    """Of all weights that give the same kernel those of least Σ_v c_v β_v (eq. 38), along `same_kernel`."""
    beta = beta.copy()
    for columns, basis in free:
        beta[columns] = _cheapest_along(beta[columns], prices[columns], basis)
    return beta


def _cheapest_along(beta: Floats, c: Floats, basis: Floats) -> Floats:
    """Newton's method on Σ c β exp(basis z), which is strictly convex in z, halving steps until it falls."""
    cost = c * beta
    for _ in range(_MOST_STEPS):
        slope = basis.T @ cost
        step = np.linalg.lstsq(basis.T @ (cost[:, None] * basis), -slope, rcond=None)[0]
        if -slope @ step <= _FLAT * cost.sum():
            break
        for halving in range(_MOST_HALVINGS):
            tried = cost * np.exp(np.clip(basis @ step * 0.5**halving, -700, 700))
            if tried.sum() < cost.sum():
                break
        else:
            break
        cost = tried
    return cost / c


def same_kernel(circuit: Circuit) -> Iterator[Directions]:
    """By parts of the circuit that have nothing in common: products, and a basis of their directions of eq. 37."""
    n, A = len(circuit.products), _sums(circuit).tocsc()
    used = np.diff(A.indptr) > 0
    _, label = connected_components((A.T @ A) != 0, directed=False)
    for part in np.unique(label[used]):
        columns = np.flatnonzero((label == part) & used)
        products = columns[columns < n]
        if len(products) < 2:
            continue
        rows = np.unique(A[:, columns].nonzero()[0])
        triangular = np.linalg.qr(A[rows][:, columns].toarray(), mode="r")
        _, sizes, V = np.linalg.svd(triangular, full_matrices=True)
        rank = int((sizes > _RANK * sizes[0]).sum())
        if rank < len(columns):
            yield products, V[rank:, columns < n].T


def _sums(circuit: Circuit) -> sp.csr_array:
    """(terms, products + operations but the root): X_t·d + Σ φ of what is multiplied − φ of the own one, eq. 37."""
    operations = _incidence(circuit)[:, len(circuit.leaves) :]
    own = sp.csr_array(
        (np.ones(circuit.n_terms), (np.arange(circuit.n_terms), circuit.operation_of_term)), shape=operations.shape
    )
    return sp.hstack([circuit.X, (operations - own)[:, :-1]], format="csr")


def _incidence(circuit: Circuit) -> sp.csr_array:
    """(terms, slots): how often a term multiplies a slot."""
    rows = np.repeat(np.arange(circuit.n_terms), np.diff(circuit.term_start))
    shape = (circuit.n_terms, len(circuit.leaves) + circuit.n_operations)
    return sp.csr_array((np.ones(len(rows)), (rows, circuit.arguments)), shape=shape)
