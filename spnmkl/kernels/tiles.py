"""Kernels between training samples without their matrices: fitted, then computed tile by tile whenever asked for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.kernels import registry
from spnmkl.kernels.bases import (
    base_groups,
    base_key,
    check_sign,
    checked_specs,
    column_names,
    complete,
    copies,
    grouped,
    resolve,
    select,
)
from spnmkl.kernels.fitting import FittedKernel, finished_values, fit_kernels, restrict_kernels
from spnmkl.kernels.matrices import check_computed, not_finite, tested_rows
from spnmkl.kernels.normalization import NEED_MEANS, Statistics, learn, normalize_tile
from spnmkl.kernels.reuse import Memory
from spnmkl.kernels.validation import DataColumns, kernel_of
from spnmkl.structure import SPN, KernelSpec

# Per thread: every kernel's values, and what one starts from. Less, and Python's own time shows; more, and the circuit
# reads values that left the cache.
_TILE_BYTES = 32 * 2**20
_FEWEST_ROWS, _MOST_ROWS = 8, 256
_SINGLE_ERROR = 2e-4  # of the largest value: what single precision may cost a kernel
Tick = Callable[[int, int], object]


class _Meeting(NamedTuple):
    """Of a tile: its shape, the samples among both its rows and its columns, and where they meet themselves."""

    shape: tuple[int, int]
    samples: NDArray[np.intp]
    rows: NDArray[np.intp]
    columns: NDArray[np.intp]


class _Group(NamedTuple):
    """What kernels start from: the base between parts of the references, and its precision."""

    between: registry.Among
    dtype: type[np.floating]


def fit_source(
    spn: SPN,
    X: np.ndarray,
    feature_names: Sequence[str] | None = None,
    *,
    max_bytes: float,
    leaves: Iterable[str] | None = None,
    tick: Tick | None = None,
) -> tuple[KernelSource, dict[str, FittedKernel]]:
    """Kernels to train on: as matrices if these take at most `max_bytes`, else as tiles computed when they are needed.

    Parameters
    ----------
    spn : SPN
        The structure.
    X : ndarray of shape (n, n_features)
        The training rows.
    feature_names : sequence of str, default=None
        Names of the columns, for leaves that use them; None for those of a data frame.
    max_bytes : float
        For the matrices of the distinct leaves; what the solver needs comes on top.
    leaves : iterable of str, default=None
        Those to compute; None for all.
    tick : callable, default=None
        Called with how many kernels are done, and how many there will be; it may raise to stop.

    Returns
    -------
    source : KernelSource
        What `solve` takes in the place of matrices.
    fitted : dict from leaf id to FittedKernel
        What `cross_kernels` takes, for new samples.

    Raises
    ------
    KernelError
        A kernel, a parameter or a column does not exist, or the values are no kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import fit_source
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> type(fit_source(templates.flat([0, 1]), X, max_bytes=0)[0]).__name__
    'TileSource'
    """
    wanted = list(spn.kernels if leaves is None else leaves)
    if matrix_bytes(spn, wanted, np.shape(X)[0]) > max_bytes:
        return fit_tiles(spn, X, feature_names, leaves=wanted, tick=tick)
    matrices, fitted = fit_kernels(spn, X, feature_names, leaves=wanted, tick=tick)
    return MatrixSource(matrices), fitted


def matrix_bytes(spn: SPN, leaves: Iterable[str], n: int) -> int:
    """Of the matrices over n rows; leaves of equal specification share one."""
    return 8 * n**2 * len({spn.spec(leaf) for leaf in leaves})


def fit_tiles(
    spn: SPN,
    X: np.ndarray,
    feature_names: Sequence[str] | None = None,
    *,
    leaves: Iterable[str] | None = None,
    tick: Tick | None = None,
) -> tuple["TileSource", dict[str, FittedKernel]]:
    """`fit_kernels` in bounded memory: the same fitted kernels but for rounding, and a source in place of matrices.

    Normalisations by variance or centre take one pass over the kernel's values. That a kernel is symmetric and positive
    semidefinite is tested on at most 256 rows.

    Parameters
    ----------
    spn : SPN
        The structure.
    X : ndarray of shape (n, n_features)
        The training rows.
    feature_names : sequence of str, default=None
        Names of the columns, for leaves that use them; None for those of a data frame.
    leaves : iterable of str, default=None
        Those to compute; None for all.
    tick : callable, default=None
        Called with how many kernels are done, and how many there will be; it may raise to stop.

    Returns
    -------
    source : TileSource
        What `solve` takes in the place of matrices.
    fitted : dict from leaf id to FittedKernel
        What `cross_kernels` takes, for new samples.

    Raises
    ------
    KernelError
        A kernel, a parameter or a column does not exist, or the values are no kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.kernels import fit_tiles
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> source, fitted = fit_tiles(spn, X / X.std(axis=0))
    >>> solve(spn, source, y).status
    'optimal'
    """
    feature_names = column_names(X, feature_names)
    X, specs, names = checked_specs(spn, X, feature_names, leaves)
    say = tick or (lambda done, total: None)
    raw: dict[KernelSpec, FittedKernel] = {}
    for columns, group in base_groups(names, DataColumns.of(feature_names, X.shape[1])):
        seen = select(X, columns)
        check_sign(group[0], seen, names[group[0]])
        for spec, params in zip(group, _fitted_params(group, names, seen), strict=True):
            raw[spec] = FittedKernel(spec, params, columns, X, Statistics())
            say(len(raw), len(names))
    source = TileSource({leaf: raw[spec] for leaf, spec in specs.items()})
    for spec, kernel in raw.items():
        if not np.isfinite(source.diagonal(kernel)).all():
            raise not_finite(_matrix_of(names[spec]))
    centred = {spec: leaf for leaf, spec in specs.items() if spec.normalize in NEED_MEANS}
    means = _row_means(source, centred, lambda: say(len(names), len(names)))
    done = {
        spec: replace(kernel, statistics=learn(spec.normalize, source.diagonal(kernel), means.get(spec)))
        for spec, kernel in raw.items()
    }
    fitted = {leaf: done[spec] for leaf, spec in specs.items()}
    return TileSource(fitted), fitted


class TileSource:
    """A `KernelSource` between the references of fitted kernels, which are training rows: all of them, or the same few.

    Leaves that were fitted in one object are computed once per tile, and so is what different leaves start from. Each
    thread's tile takes about 32 MB, or 8 rows where that is more.

    Parameters
    ----------
    fitted : mapping from leaf id to FittedKernel
        As `fit_tiles` gives them.
    single : bool, default=False
        As `in_single` has it.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import fit_tiles
    >>> source, fitted = fit_tiles(templates.flat([0, 1]), np.random.default_rng(0).normal(size=(50, 2)))
    >>> [tile.shape for tile in source.tiles(["k1", "k2"], slice(0, 10), slice(None))]
    [(10, 50), (10, 50)]
    """

    def __init__(self, fitted: Mapping[str, FittedKernel], *, single: bool = False) -> None:
        self.fitted, self.single = fitted, single
        distinct = {id(kernel): kernel for kernel in fitted.values()}
        by_base = grouped(distinct.values(), lambda k: base_key(k.spec.kernel, k.params, k.columns))
        self._diagonals: dict[int, Floats] = {}
        self._groups: dict[int, _Group] = {}  # by kernel
        for kernels in by_base:
            X = _references(kernels[0])
            self._diagonals |= {id(kernel): _diagonal(kernel, X) for kernel in kernels}
            for dtype, alike in _by_precision(kernels, X, single).items():
                self._groups |= dict.fromkeys(map(id, alike), _base(alike[0], X, dtype))
        self._as_it_is = {i for i, kernel in distinct.items() if kernel.statistics.is_identity}
        self._memory = Memory(min(self.rows_per_tile(), self.shape[0]) * self.shape[1])

    def __getstate__(self) -> tuple[Mapping[str, FittedKernel], bool]:
        """For another process: what all else is made of there, which is found by the addresses of objects."""
        return self.fitted, self.single

    def __setstate__(self, state: tuple[Mapping[str, FittedKernel], bool]) -> None:
        self.__init__(state[0], single=state[1])  # type: ignore[misc]

    @property
    def shape(self) -> tuple[int, int]:
        """(n, n) for n references."""
        n = next(iter(self.fitted.values())).n_reference
        return n, n

    def among(self, rows: NDArray[np.intp]) -> "TileSource":
        """The source between some of the references.

        Parameters
        ----------
        rows : ndarray of int
            Which of them.

        Returns
        -------
        TileSource
            Of the same kernels.
        """
        return TileSource(restrict_kernels(self.fitted, rows), single=self.single)

    def in_single(self) -> "TileSource":
        """The same kernels, computed in single precision where that costs them about 2·10⁻⁴ of their size at most.

        Their values are given as doubles. They serve a solver on its way; no proof can be made of them.

        Returns
        -------
        TileSource
            About twice as fast.
        """
        return TileSource(self.fitted, single=True)

    def together(self, leaves: Sequence[str]) -> list[list[str]]:
        """The leaves in groups that share what is computed.

        Parameters
        ----------
        leaves : sequence of str
            Which kernels.

        Returns
        -------
        list of list of str
            What is computed once for a group would be computed again for each leaf alone.
        """
        return list(grouped(leaves, lambda leaf: self._groups[id(self.fitted[leaf])]))

    def diagonal(self, kernel: FittedKernel) -> Floats:
        """k(x, x) of every reference, not normalised.

        Parameters
        ----------
        kernel : FittedKernel
            One of those fitted.

        Returns
        -------
        ndarray of shape (n,)
            The diagonal.
        """
        return self._diagonals[id(kernel)]

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
        asked = {id(self.fitted[leaf]): self.fitted[leaf] for leaf in leaves}
        here = _meeting(rows.indices(self.shape[0]), columns.indices(self.shape[0]))
        values: dict[int, Floats] = {}
        for kernels in grouped(asked.values(), lambda kernel: self._groups[id(kernel)]):
            group = self._groups[id(kernels[0])]
            base = group.between(rows, columns, self._memory.lend(here.shape, group.dtype))
            values |= zip(map(id, kernels), finished_values(kernels, base, self._memory.lend), strict=True)
        for kernel in asked.values():
            self._check(kernel, values[id(kernel)])
            self._normalise(kernel, values[id(kernel)], rows, columns, here)
        return [values[id(self.fitted[leaf])] for leaf in leaves]

    def _check(self, kernel: FittedKernel, values: Floats) -> None:
        # What is finished from a base is ours, and bounded by its diagonal, which is finite.
        if registry.get(kernel.spec.kernel).finish is None and not np.isfinite(values.sum()):
            raise not_finite(_matrix_of(kernel_of(kernel.spec)))

    def _normalise(self, kernel: FittedKernel, values: Floats, rows: slice, columns: slice, here: _Meeting) -> None:
        # Distances from a matrix product leave rounding where a sample meets itself.
        values[here.rows, here.columns] = self.diagonal(kernel)[here.samples]
        if id(kernel) not in self._as_it_is:
            normalize_tile(values, kernel.statistics, rows, columns)

    def rows_per_tile(self) -> int:
        """How many whole rows to ask for at a time.

        Returns
        -------
        int
            So many that a tile stays small.
        """
        within_memory = _TILE_BYTES // (8 * self.shape[0] * (len(self._diagonals) + 2))
        return max(_FEWEST_ROWS, min(within_memory, _MOST_ROWS))


def _references(kernel: FittedKernel) -> Floats:
    X = kernel.X_ref if kernel.rows is None else kernel.X_ref[kernel.rows]
    X = select(X, kernel.columns)
    return X if issparse(X) else np.ascontiguousarray(X)


def _base(kernel: FittedKernel, X: Floats, dtype: type[np.floating]) -> _Group:
    return _Group(registry.get(kernel.spec.kernel).between(X, kernel.params, dtype), dtype)


def _by_precision(
    kernels: Iterable[FittedKernel], X: Floats, single: bool
) -> dict[type[np.floating], list[FittedKernel]]:
    """In single precision those that allow it, if that is asked for."""
    found: dict[type[np.floating], list[FittedKernel]] = {}
    for kernel in kernels:
        allowed = single and registry.get(kernel.spec.kernel).single_error(X, kernel.params) <= _SINGLE_ERROR
        found.setdefault(np.float32 if allowed else np.float64, []).append(kernel)
    return found


@lru_cache(maxsize=16)
def _meeting(rows: tuple[int, int, int], columns: tuple[int, int, int]) -> _Meeting:
    """The samples among both, and where they meet themselves."""
    samples, (start, stop, step) = np.arange(*rows), columns
    column, rest = np.divmod(samples - start, step)
    width = len(range(start, stop, step))
    row = np.flatnonzero((rest == 0) & (column >= 0) & (column < width))
    return _Meeting((len(samples), width), samples[row], row, column[row])


def _fitted_params(specs: Sequence[KernelSpec], names: Mapping[KernelSpec, str], X: np.ndarray) -> list[dict[str, Any]]:
    """The parameters of kernels that start from one base, each kernel tested on some rows."""
    found, first, given = [], registry.get(specs[0].kernel), complete(specs[0])

    def base(rows: np.ndarray) -> np.ndarray:
        return first.base(X[rows], X[rows], given)

    for spec, own in copies(specs, base(tested_rows(X.shape[0]))):
        kernel = registry.get(spec.kernel)
        params = resolve(kernel, complete(spec), X, base)
        check_computed(kernel.finished(own, params), _matrix_of(names[spec]))
        found.append(params)
    return found


def _matrix_of(who: str) -> str:
    return f"{who} gives a matrix that"


def _diagonal(kernel: FittedKernel, X: np.ndarray) -> Floats:
    with np.errstate(over="ignore", invalid="ignore"):
        return registry.get(kernel.spec.kernel).self_similarity(X, kernel.params)


def _row_means(
    source: TileSource, leaves: Mapping[KernelSpec, str], pause: Callable[[], object]
) -> dict[KernelSpec, Floats]:
    """Of every specification's leaf; the values right of the diagonal count for their row and for their column."""
    n, step = source.shape[0], source.rows_per_tile()
    totals = {spec: np.zeros(n) for spec in leaves}
    for first in range(0, n, step) if leaves else ():
        pause()
        last = min(first + step, n)
        tiles = source.tiles(list(leaves.values()), slice(first, last), slice(first, None))
        for total, tile in zip(totals.values(), tiles, strict=True):
            total[first:last] += tile.sum(axis=1)
            total[last:] += tile[:, last - first :].sum(axis=0)
    return {spec: total / n for spec, total in totals.items()}
