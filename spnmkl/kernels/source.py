"""Kernels between new samples and the references, computed tile by tile when the circuit asks for them."""

from collections.abc import Mapping, Sequence

import numpy as np

from spnmkl.circuit.evaluate import apply_kernel
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.kernels.fitting import FittedKernel, cross_kernels
from spnmkl.kernels.reuse import Memory
from spnmkl.threads import single_threaded_blas

# Per thread. Less, and the threads wait for Python's lock; more, and the circuit reads values that left the cache.
TILE_BYTES = 24 * 2**20
_FEWEST_ROWS, MOST_ROWS = 8, 256


class CrossSource:
    """A `KernelSource` between the rows of X and the reference rows of fitted kernels.

    Leaves that were fitted in one object are computed once per tile. Each thread's tile takes about 24 MB, or 8 rows
    where that is more, however many rows X has.

    Parameters
    ----------
    fitted : mapping from leaf id to FittedKernel
        As `fit_kernels` gives them.
    X : ndarray of shape (m, n_features)
        New samples.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import CrossSource, fit_kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> matrices, fitted = fit_kernels(templates.flat([0, 1]), X)
    >>> CrossSource(fitted, X[:4]).shape
    (4, 50)
    """

    def __init__(self, fitted: Mapping[str, FittedKernel], X: np.ndarray) -> None:
        self.fitted, self.X = fitted, X
        self._memory = Memory(min(self.rows_per_tile(), self.shape[0]) * self.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(rows of X, references)."""
        return self.X.shape[0], next(iter(self.fitted.values())).n_reference

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
            One per leaf.
        """
        values = cross_kernels({leaf: self.fitted[leaf] for leaf in leaves}, self.X[rows], self._memory.lend)
        return [values[leaf][:, columns] for leaf in leaves]

    def rows_per_tile(self) -> int:
        """How many whole rows to ask for at a time.

        Returns
        -------
        int
            So many that a tile stays small.
        """
        kernels = {id(kernel): kernel for kernel in self.fitted.values()}.values()
        compared = max(k.X_ref.shape[0] if k.needs_all_rows else k.n_reference for k in kernels)
        # Every kernel's values, and while one is computed its distances and their temporary.
        row_bytes = 8 * (len(kernels) * self.shape[1] + 2 * compared)
        return max(_FEWEST_ROWS, min(TILE_BYTES // row_bytes, MOST_ROWS))


def apply_cross(
    circuit: Circuit, W: Floats, fitted: Mapping[str, FittedKernel], X: np.ndarray, A: Floats, n_threads: int
) -> Floats:
    """(classes, rows of X): Σ_j K(x_i, x_j) A[c, j] over the reference rows j, in bounded memory."""
    if not (circuit.leaves and A.any()):
        return np.zeros((len(A), X.shape[0]))
    with single_threaded_blas():
        return apply_kernel(circuit, W, CrossSource(fitted, X), A, n_threads)
