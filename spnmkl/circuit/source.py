"""How the circuit reads kernels: in tiles, whether they lie in memory or are computed when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class KernelSource(Protocol):
    """Base kernels between `shape[0]` rows and `shape[1]` columns; for training both are the n samples."""

    @property
    def shape(self) -> tuple[int, int]: ...

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        """One array per leaf, float64, with contiguous rows. It must stay unchanged while the caller holds it."""
        ...

    def rows_per_tile(self, n_threads: int) -> int:
        """How many rows to ask for at a time."""
        ...


class MatrixSource:
    """Kernel matrices held in memory, used where they lie."""

    def __init__(self, matrices: Mapping[str, Floats]) -> None:
        self.matrices = {leaf: np.ascontiguousarray(K, dtype=np.float64) for leaf, K in matrices.items()}

    @property
    def shape(self) -> tuple[int, int]:
        n_rows, n_columns = next(iter(self.matrices.values())).shape
        return n_rows, n_columns

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        return [self.matrices[leaf][rows, columns] for leaf in leaves]

    def rows_per_tile(self, n_threads: int) -> int:
        return self.shape[0] if n_threads == 1 else max(16, self.shape[0] // (12 * n_threads))
