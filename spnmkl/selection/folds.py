"""Rows held out: folds, and the parts of kernels that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import ComputedSource, KernelSource, MatrixSource, is_computed
from spnmkl.errors import DataError, ParameterError, Stopped
from spnmkl.parameters import seed


def parts(
    source: KernelSource, train: NDArray, test: NDArray, stop: Callable[[], bool] | None = None
) -> tuple[KernelSource, KernelSource]:
    """The kernels between training rows, and between those held out and them: cut matrices, or tiles of a source.

    Cutting many large matrices takes seconds; `stop` is asked before each, and once it is true `Stopped` is raised.
    """
    if isinstance(source, MatrixSource):
        inside, across = (MatrixSource(blocks(source.matrices, rows, train, stop)) for rows in (train, test))
        return inside, across
    assert is_computed(source)
    whole, n = source.among(np.concatenate([train, test])), len(train)
    assert is_computed(whole)
    return _Inside(whole, 0, n, n), _Window(whole, n, len(test), n)


class _Window:
    """Some rows of a computed source, and its first columns."""

    def __init__(self, source: ComputedSource, first: int, n_rows: int, n_columns: int) -> None:
        self.source, self.first, self.shape = source, first, (n_rows, n_columns)

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        start, stop, step = rows.indices(self.shape[0])
        within = slice(*columns.indices(self.shape[1]))
        return self.source.tiles(leaves, slice(start + self.first, stop + self.first, step), within)

    def rows_per_tile(self) -> int:
        return self.source.rows_per_tile()


class _Inside(_Window):
    """The first rows and columns, which can be asked for the rows that count alone."""

    def among(self, rows: NDArray[np.intp]) -> KernelSource:
        return self.source.among(rows)

    def together(self, leaves: Sequence[str]) -> list[list[str]]:
        return self.source.together(leaves)

    def in_single(self) -> KernelSource:
        rough = self.source.in_single()
        assert is_computed(rough)
        return _Inside(rough, self.first, *self.shape)


def folds_at_once(n_threads: int, n_folds: int, bytes_each: float, room: float) -> int:
    """How many folds are worked on together, where each has kernels of its own in a room of so many bytes.

    The fewest that keep all threads busy to the end: of five folds on two threads first three, then two.
    """
    busy = range(min(n_threads, n_folds), n_folds + 1)
    fewest = next(k for k in busy if n_folds % k == 0 or n_folds % k >= n_threads)
    return max(1, min(fewest, int(min(room / max(bytes_each, 1.0), n_folds))))


def fold_bytes(whole: float, n_folds: int) -> float:
    """Of a fold's own kernels, where those over all rows take so many: its rows by its rows, and by those held out."""
    return whole * (1 - 1 / n_folds)


def fold_splits(
    y: NDArray, folds: int, groups: ArrayLike | None, random_state: int | None
) -> Iterable[tuple[NDArray, NDArray]]:
    """Training and test rows of every fold, stratified, and with whole groups held out where there are some."""
    seed(random_state)
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if not isinstance(folds, (int, np.integer)) or folds < 2 or folds > smallest:
        raise ParameterError(
            f"folds must be a whole number from 2 to {smallest}, the size of the smallest class, but it is {folds!r}."
        )
    if groups is None:
        return StratifiedKFold(folds, shuffle=True, random_state=random_state).split(y, y)
    group = np.asarray(groups)
    if group.shape != y.shape:
        raise DataError(f"groups must hold one entry per sample, {len(y)} in all, but its shape is {group.shape}.")
    if folds > (n_groups := len(np.unique(group))):
        raise ParameterError(
            f"folds must be a whole number from 2 to {n_groups}, the number of groups, but it is {folds!r}."
        )
    return StratifiedGroupKFold(folds, shuffle=True, random_state=random_state).split(y, y, group)


def matrix_bytes(matrices: Mapping[str, Floats]) -> int:
    """Those that leaves share count once."""
    return sum({K.ctypes.data: K.nbytes for K in matrices.values()}.values())


def blocks(
    matrices: Mapping[str, Floats], rows: NDArray, columns: NDArray, stop: Callable[[], bool] | None = None
) -> dict[str, Floats]:
    """The block of every matrix, cut once where leaves share it."""
    cut: dict[int, Floats] = {}
    for K in matrices.values():
        if K.ctypes.data not in cut:
            if stop is not None and stop():
                raise Stopped
            cut[K.ctypes.data] = block = np.empty((len(rows), len(columns)))
            _cut(K, rows, columns, block)
    return {leaf: cut[K.ctypes.data] for leaf, K in matrices.items()}


@njit(nogil=True, cache=True)
def _cut(K, rows, columns, block):  # type: ignore[no-untyped-def]
    """K[np.ix_(rows, columns)], which takes numpy twenty times as long."""
    for i in range(len(rows)):
        row = K[rows[i]]
        for j in range(len(columns)):
            block[i, j] = row[columns[j]]
