"""How the circuit reads kernels: in tiles, whether they lie in memory or are computed when asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeGuard, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from spnmkl.errors import Stopped

Floats = NDArray[np.float64]
Seen = Callable[[int], object]
_COPIED_ROWS = 64  # of a tile at a time, where entries of it are picked


class KernelSource(Protocol):
    """Base kernels between `shape[0]` rows and `shape[1]` columns, read in tiles; for training both are the n samples.

    Anything with these three may take the place of matrices in `solve`.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import solve, templates
    >>> class Gram:
    ...     def __init__(self, X):
    ...         self.X, self.shape = X, (len(X), len(X))
    ...     def tiles(self, leaves, rows, columns):
    ...         column = {"k1": 0, "k2": 1}
    ...         return [np.outer(self.X[rows, column[v]], self.X[columns, column[v]]) for v in leaves]
    ...     def rows_per_tile(self):
    ...         return 64
    >>> X = np.random.default_rng(0).normal(size=(60, 2))
    >>> solve(templates.flat([0, 1]), Gram(X), X[:, 0] > 0, C=10.0).status
    'optimal'
    """

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        ...

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        """The values of some rows and columns.

        Parameters
        ----------
        leaves : sequence of str
            Which kernels.
        rows, columns : slice
            Which part.

        Returns
        -------
        list of ndarray
            One array per leaf, float64, with contiguous rows. It must stay unchanged while the caller holds it.
        """
        ...

    def rows_per_tile(self) -> int:
        """How many whole rows to ask for at a time, at most; shorter rows may be more.

        Returns
        -------
        int
            The number of rows.
        """
        ...


@runtime_checkable
class ComputedSource(KernelSource, Protocol):
    """A source that computes every entry it gives: better asked for the rows that count alone."""

    def among(self, rows: NDArray[np.intp]) -> KernelSource: ...

    def together(self, leaves: Sequence[str]) -> list[list[str]]:
        """The leaves in groups; what is computed once for a group would be computed again for each leaf alone."""
        ...

    def in_single(self) -> KernelSource:
        """The same kernels by cheaper arithmetic, about as exact as single precision: for a solver, for no proof."""
        ...


def is_computed(source: KernelSource) -> TypeGuard[ComputedSource]:
    """As `isinstance` says, in a hundredth of its time."""
    return all(hasattr(source, name) for name in ("among", "together", "in_single"))


class MatrixSource:
    """Kernel matrices held in memory, used where they lie.

    Parameters
    ----------
    matrices : mapping from leaf id to ndarray of shape (rows, columns)
        The kernels.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.kernels import MatrixSource
    >>> MatrixSource({"k1": np.eye(3)}).shape
    (3, 3)
    """

    def __init__(self, matrices: Mapping[str, Floats]) -> None:
        self.matrices = {leaf: np.ascontiguousarray(K, dtype=np.float64) for leaf, K in matrices.items()}

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        n_rows, n_columns = next(iter(self.matrices.values())).shape
        return n_rows, n_columns

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        """The values of some rows and columns.

        Parameters
        ----------
        leaves : sequence of str
            Which kernels.
        rows, columns : slice
            Which part.

        Returns
        -------
        list of ndarray
            One per leaf, not copied.
        """
        return [self.matrices[leaf][rows, columns] for leaf in leaves]

    def rows_per_tile(self) -> int:
        """How many whole rows to ask for at a time.

        Returns
        -------
        int
            All of them.
        """
        return self.shape[0]


def diagonals(source: KernelSource, leaves: Sequence[str]) -> dict[str, Floats]:
    """(n,) of every leaf, read in small tiles unless all is at hand."""
    n = source.shape[0]
    if source.rows_per_tile() >= n:
        return dict(zip(leaves, map(np.diagonal, source.tiles(leaves, slice(None), slice(None))), strict=True))
    blocks = (slice(first, min(first + _COPIED_ROWS, n)) for first in range(0, n, _COPIED_ROWS))
    parts = [[np.diagonal(tile).copy() for tile in source.tiles(leaves, rows, rows)] for rows in blocks]
    return {leaf: np.concatenate(own) for leaf, own in zip(leaves, zip(*parts, strict=True), strict=True)}


class EveryKth:
    """Every k-th row and column of a source, copied only tile by tile."""

    def __init__(self, source: KernelSource, k: int) -> None:
        self.source, self.k = source, k

    @property
    def shape(self) -> tuple[int, int]:
        n_rows, n_columns = self.source.shape
        return -(-n_rows // self.k), -(-n_columns // self.k)

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        (rows, columns) = (self._widened(s, size) for s, size in zip((rows, columns), self.shape, strict=True))
        return [np.ascontiguousarray(tile) for tile in self.source.tiles(leaves, rows, columns)]

    def matrices(self, leaves: Sequence[str]) -> dict[str, Floats]:
        """What there is of it, copied."""
        n_rows, n_columns = self.shape
        copies = {leaf: np.empty((n_rows, n_columns)) for leaf in leaves}
        for first in range(0, n_rows, _COPIED_ROWS):
            rows = slice(first, min(first + _COPIED_ROWS, n_rows))
            wide = self.source.tiles(leaves, self._widened(rows, n_rows), self._widened(slice(None), n_columns))
            for copy, tile in zip(copies.values(), wide, strict=True):
                copy[rows] = tile
        return copies

    def _widened(self, part: slice, size: int) -> slice:
        start, stop, _ = part.indices(size)
        return slice(start * self.k, stop * self.k, self.k)

    def rows_per_tile(self) -> int:
        return 16


class Interruptible:
    """A source that raises `Stopped` once `stop` is true: whatever reads it ends with the tile it is at."""

    def __init__(self, source: KernelSource, stop: Callable[[], bool], seen: Seen | None = None) -> None:
        self.source, self.stop, self.seen = source, stop, seen

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        if self.stop():
            raise Stopped
        found = self.source.tiles(leaves, rows, columns)
        if self.seen is not None:
            self.seen(sum(tile.size for tile in found))
        return found

    def rows_per_tile(self) -> int:
        return self.source.rows_per_tile()


class _InterruptibleComputed(Interruptible):
    """Asks between the groups of a tile too: many slow kernels may take seconds for a few rows."""

    source: ComputedSource

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        found: dict[str, Floats] = {}
        for group in self.source.together(leaves):
            found |= zip(group, super().tiles(group, rows, columns), strict=True)
        return [found[leaf] for leaf in leaves]

    def among(self, rows: NDArray[np.intp]) -> KernelSource:
        return interruptible(self.source.among(rows), self.stop, self.seen)

    def together(self, leaves: Sequence[str]) -> list[list[str]]:
        return self.source.together(leaves)

    def in_single(self) -> KernelSource:
        return interruptible(self.source.in_single(), self.stop, self.seen)


def interruptible(source: KernelSource, stop: Callable[[], bool], seen: Seen | None = None) -> Interruptible:
    """The source as it is, computed or not, but for `Stopped`; `seen` is called with how many entries it gave."""
    wrapped = _InterruptibleComputed if is_computed(source) else Interruptible
    return wrapped(source, stop, seen)
