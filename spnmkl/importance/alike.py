"""Columns that say nearly the same: found by their correlation, whatever its sign, and joined into groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from spnmkl.errors import ParameterError

_BLOCK = 1000  # columns at a time, so that no matrix of all pairs is ever held


def alike(values: ArrayLike, threshold: float) -> NDArray[np.intp]:
    """(columns,) the number of each column's group: single linkage on |r|, cut at a threshold.

    Two columns are in one group where a chain of columns leads from one to the other, each correlated with the next by
    at least so much. Missing values count as the mean; a constant column is alone.
    """
    if not 0 < threshold <= 1:
        raise ParameterError(f"alike must be a correlation above 0 and up to 1, but it is {threshold!r}.")
    V = np.asarray(values, dtype=float)
    V = V - np.nanmean(V, axis=0) if len(V) else V
    V[np.isnan(V)] = 0.0
    length = np.sqrt((V * V).sum(axis=0))
    # Single precision halves the time, and nobody sets a threshold to seven digits.
    Z = np.divide(V, length, out=np.zeros_like(V), where=length > 0).astype(np.float32)
    pairs = [
        sp.coo_array(np.abs(Z[:, start : start + _BLOCK].T @ Z) >= threshold - 1e-6)
        for start in range(0, Z.shape[1], _BLOCK)
    ]
    return (
        np.asarray(connected_components(sp.vstack(pairs), directed=False)[1], dtype=np.intp)
        if pairs
        else np.empty(0, int)
    )


def column_groups(table: pd.DataFrame, columns: list[object], threshold: float) -> list[tuple[object, ...]]:
    """The columns in groups, in the order in which they stand; a column that is none of numbers is alone."""
    numbers = [column for column in columns if column in table.columns]
    label = dict(zip(numbers, alike(table[numbers].to_numpy(dtype=float), threshold).tolist(), strict=True))
    groups: dict[object, list[object]] = {}
    for column in columns:
        groups.setdefault(("group", label[column]) if column in label else column, []).append(column)
    return [tuple(group) for group in groups.values()]
