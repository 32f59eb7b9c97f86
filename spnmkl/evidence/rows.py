"""The rows that evidence is computed on: all of them, or a stratified sample; and the kernels among these."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource, is_computed
from spnmkl.memory import kernel_bytes

Rows = NDArray[np.intp]
_AT_A_TIME = 64  # rows of a source


def sampled(codes: Rows, most: int, rng: np.random.Generator, fewest: int = 2) -> Rows:
    """So many rows of codes 0, 1, …, of every class its share, and not less than the fewest or what there is."""
    if len(codes) <= most:
        return np.arange(len(codes))
    counts = np.bincount(codes)
    shares = counts * most / len(codes)
    sizes = np.maximum(shares.astype(int), np.minimum(fewest, counts))
    while sizes.sum() < most:
        sizes[np.argmax(np.where(sizes < counts, shares - sizes, -np.inf))] += 1
    chosen = [rng.permutation(np.flatnonzero(codes == c))[:size] for c, size in enumerate(sizes)]
    return np.sort(np.concatenate(chosen))


def among(source: KernelSource, leaves: Sequence[str], rows: Rows) -> KernelSource:
    """The kernels among some rows, as matrices where these fit: they are read again and again."""
    n = source.shape[0]
    if isinstance(source, MatrixSource) and len(rows) == n:
        return source
    few = 8.0 * len(leaves) * len(rows) ** 2 <= kernel_bytes(None)
    if is_computed(source):
        part = source.among(rows)
        return MatrixSource(_matrices(part, leaves, np.arange(len(rows)))) if few else part
    return MatrixSource(_matrices(source, leaves, rows))


def _matrices(source: KernelSource, leaves: Sequence[str], rows: Rows) -> dict[str, Floats]:
    """Cut out of whole rows, piece by piece."""
    if isinstance(source, MatrixSource):
        return {leaf: source.matrices[leaf][np.ix_(rows, rows)] for leaf in leaves}
    found = {leaf: np.empty((len(rows), len(rows))) for leaf in leaves}
    n = source.shape[0]
    for first in range(0, n, _AT_A_TIME):
        last = min(first + _AT_A_TIME, n)
        inside = np.flatnonzero((rows >= first) & (rows < last))
        if not len(inside):
            continue
        for leaf, tile in zip(leaves, source.tiles(leaves, slice(first, last), slice(None)), strict=True):
            found[leaf][inside] = tile[rows[inside] - first][:, rows]
    return found
