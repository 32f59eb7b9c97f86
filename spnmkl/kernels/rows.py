"""Samples as rows of numbers, dense or sparse (CSR): scaled, told apart, and taken apart for a file."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array, issparse

from spnmkl.circuit.program import Floats

_CONSTANT = 1e-12  # of the largest value: a spread that is rounding


def distinct_rows(X: Any) -> Any:
    if not issparse(X):
        return np.unique(X, axis=0)
    X = csr_array(X)
    X.sum_duplicates()
    X.eliminate_zeros()
    parts = [slice(*ends) for ends in pairwise(X.indptr)]
    return X[list({(X.indices[own].tobytes(), X.data[own].tobytes()): i for i, own in enumerate(parts)}.values())]


def standardised(X: Any, centre: Floats | None, spread: Floats | None) -> Any:
    """As it is without centre and spread; sparse rows stay so where nothing is to be taken away from them."""
    if centre is None or spread is None:
        return X
    if issparse(X) and not centre.any():
        return X @ diags_array(1 / spread)
    return ((X.toarray() if issparse(X) else X) - centre) / spread


def standardising(X: Any, weight: Floats | None) -> tuple[Floats, Floats]:
    """Mean and spread of every column, 1 for a constant one; a sample counts as often as its weight says.

    Of sparse rows the mean is left where it is, and the spread is around 0.
    """
    if issparse(X):
        share = np.full(X.shape[0], 1 / X.shape[0]) if weight is None else weight / weight.sum()
        largest = np.maximum(abs(X).max(axis=0).toarray().ravel(), np.finfo(float).tiny)
        spread = np.sqrt((X @ diags_array(1 / largest)).power(2).T @ share)
        return np.zeros(X.shape[1]), np.where(spread > _CONSTANT, spread * largest, 1.0)
    largest = np.abs(X).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # else squares of very large or small numbers are infinite or 0
    scaled = X / unit
    centre = np.average(scaled, axis=0, weights=weight)
    spread = np.sqrt(np.average((scaled - centre) ** 2, axis=0, weights=weight))
    return centre * unit, np.where(spread > _CONSTANT, spread * unit, 1.0)


def row_arrays(X: Any, name: str) -> dict[str, NDArray]:
    """Dense rows as they are, sparse ones by what compressed rows are made of."""
    if not issparse(X):
        return {name: X}
    columns, starts = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return {f"{name}_values": X.data, f"{name}_columns": columns, f"{name}_starts": starts}


def sparse_rows(values: Floats, columns: NDArray, starts: NDArray, n_columns: int) -> csr_array:
    """Rows made of these parts, of which numbers that are too large have been refused."""
    if not len(starts) or starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
        raise ValueError("the parts of sparse rows do not begin where the last one ends")
    return csr_array((values, columns, starts), shape=(len(starts) - 1, n_columns))
