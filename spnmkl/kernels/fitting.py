"""From specifications and samples to training matrices, and to kernel values of new samples."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from spnmkl.errors import DataError, KernelError
from spnmkl.kernels import registry
from spnmkl.kernels.bases import (
    Columns,
    Lend,
    Params,
    as_reference,
    base_groups,
    base_key,
    check_kind,
    check_sign,
    checked_rows,
    checked_specs,
    column_names,
    complete,
    copies,
    grouped,
    resolve,
    select,
)
from spnmkl.kernels.matrices import check_computed
from spnmkl.kernels.normalization import Statistics, inverse_root, normalize, normalize_cross
from spnmkl.kernels.validation import DataColumns, check_spec, kernel_of
from spnmkl.structure import SPN, KernelSpec

T = TypeVar("T")
_MEANS_ROWS = 256  # at a time


@dataclass(frozen=True, eq=False)
class FittedKernel:
    """A kernel with everything that its training samples decided.

    Attributes
    ----------
    spec : KernelSpec
        What the leaf asked for.
    params : dict
        All parameters as numbers: defaults filled in, "scale" and "median" resolved.
    columns : tuple of int or None
        The columns it sees, None for all.
    X_ref : ndarray of shape (n_train, n_features)
        Training rows, all columns: one array that the kernels of a structure share.
    statistics : Statistics
        What the normalisation learned.
    rows : ndarray of int or None
        The rows of `X_ref` that are references, None for all.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.kernels import fit_kernel
    >>> from spnmkl.structure import KernelSpec
    >>> fitted, K = fit_kernel(KernelSpec("rbf"), np.array([[0.0], [1.0], [2.0]]))
    >>> fitted.params
    {'gamma': 1.5}
    >>> fitted.cross(np.array([[1.0]])).round(3)
    array([[0.223, 1.   , 0.223]])
    """

    spec: KernelSpec
    params: Params
    columns: Columns
    X_ref: np.ndarray
    statistics: Statistics
    rows: np.ndarray | None = None

    @property
    def n_reference(self) -> int:
        """The number of reference rows."""
        return self.X_ref.shape[0] if self.rows is None else len(self.rows)

    @property
    def needs_all_rows(self) -> bool:
        """Whether new samples are compared with every training row, to centre them."""
        return self.statistics.means is not None

    def cross(self, X: np.ndarray) -> np.ndarray:
        """Kernel between samples and the reference rows, normalised as in training.

        Parameters
        ----------
        X : ndarray of shape (m, n_features)
            All columns of training, in the same order.

        Returns
        -------
        K : ndarray of shape (m, n_reference)
            The kernel values.
        """
        return cross_kernels({"": self}, X)[""]

    def restrict(self, rows: np.ndarray) -> "FittedKernel":
        """Keep only some references, such as support vectors.

        Parameters
        ----------
        rows : ndarray of int
            Which of the references to keep.

        Returns
        -------
        FittedKernel
            The columns of its `cross` follow the order of `rows`.
        """
        rows = np.asarray(rows)
        kept = np.arange(self.n_reference)[rows] if self.rows is None else self.rows[rows]
        return replace(self, rows=kept, statistics=self.statistics.restrict(rows))

    def state(self) -> dict[str, Any]:
        """All but `X_ref` as values that JSON can hold and float64 arrays.

        Returns
        -------
        dict
            What `from_state` reads.
        """
        return {
            "kernel": self.spec.kernel,
            "given": dict(self.spec.params),
            "features": None if self.spec.features is None else list(self.spec.features),
            "normalize": self.spec.normalize,
            "params": dict(self.params),
            "columns": None if self.columns is None else list(self.columns),
            "rows": None if self.rows is None else self.rows.tolist(),
            **vars(self.statistics),
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], X_ref: np.ndarray) -> "FittedKernel":
        """The kernel that `state` described, on the same reference rows.

        Parameters
        ----------
        state : mapping
            As `state` gave it.
        X_ref : ndarray of shape (n_train, n_features)
            The training rows.

        Returns
        -------
        FittedKernel
            The kernel as it was.
        """
        registry.get(state["kernel"])
        features, columns, rows = state["features"], state["columns"], state["rows"]
        spec = KernelSpec(
            kernel=state["kernel"],
            params=tuple(sorted(state["given"].items())),
            features=None if features is None else tuple(features),
            normalize=state["normalize"],
        )
        return cls(
            spec,
            dict(state["params"]),
            None if columns is None else tuple(columns),
            X_ref,
            Statistics(**{field.name: state[field.name] for field in fields(Statistics)}),
            None if rows is None else np.asarray(rows, dtype=np.intp),
        )

    def _compared_rows(self) -> np.ndarray | None:
        return None if self.needs_all_rows else self.rows

    def _normalised(self, values: np.ndarray, X: np.ndarray) -> np.ndarray:
        """Kernel values against the compared rows made into what `cross` returns; X has its columns only."""
        with np.errstate(over="ignore", invalid="ignore"):
            total = values.sum()  # NaN or infinite if a value is, without a temporary as large as the values
        if not np.isfinite(total):
            raise KernelError(
                f"{kernel_of(self.spec)} gives NaN or infinity for new samples; "
                "compare their values with the training samples."
            )
        diagonal = means = None
        if self.statistics.scale is not None:
            diagonal = registry.get(self.spec.kernel).self_similarity(X, self.params)
        if self.needs_all_rows:
            means = values.mean(axis=1)
            values = values if self.rows is None else np.take(values, self.rows, axis=1)
        normalize_cross(values, self.statistics, diagonal, means)
        return values


def fit_kernel(
    spec: KernelSpec, X: np.ndarray, feature_names: Sequence[str] | None = None
) -> tuple[FittedKernel, np.ndarray]:
    """Compute the training matrix of one kernel.

    Parameters
    ----------
    spec : KernelSpec
        Which kernel, its parameters, columns and normalisation.
    X : ndarray of shape (n, n_features)
        float64; referred to by the result, not copied.
    feature_names : sequence of str, default=None
        Names of the columns, for specifications that use them; None for those of a data frame.

    Returns
    -------
    fitted : FittedKernel
        For kernel values of new samples.
    K : ndarray of shape (n, n)
        float64, C-contiguous, exactly symmetric, normalised.

    Raises
    ------
    KernelError
        The kernel, a parameter or a column does not exist, or its values are no kernel.
    DataError
        X is no table of finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.kernels import fit_kernel
    >>> from spnmkl.structure import KernelSpec
    >>> fitted, K = fit_kernel(KernelSpec("linear"), np.array([[1.0, 0.0], [1.0, 1.0]]))
    >>> K.round(3)
    array([[1.   , 0.707],
           [0.707, 1.   ]])
    """
    feature_names = column_names(X, feature_names)
    X = checked_rows(X, feature_names)
    available = DataColumns.of(feature_names, X.shape[1])
    check_spec(spec, kernel_of(spec), available)
    check_kind(spec, kernel_of(spec), X)
    return next(_fit_group([spec], {spec: kernel_of(spec)}, available.resolve(spec.features), X))


def fit_kernels(
    spn: SPN,
    X: np.ndarray,
    feature_names: Sequence[str] | None = None,
    *,
    leaves: Iterable[str] | None = None,
    tick: Callable[[int, int], object] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, FittedKernel]]:
    """Compute the training matrices of a structure.

    Leaves with equal specifications get the same array object, and leaves that differ in parameters only
    share the distances or inner products that they start from.

    Parameters
    ----------
    spn : SPN
        The structure.
    X : ndarray of shape (n, n_features)
        The training rows; referred to by the result, not copied.
    feature_names : sequence of str, default=None
        Names of the columns, for leaves that use them; None for those of a data frame.
    leaves : iterable of str, default=None
        The leaves to compute; None for all.
    tick : callable, default=None
        Called with how many matrices are done, and how many there will be, after each; it may raise to stop.

    Returns
    -------
    matrices : dict from leaf id to ndarray of shape (n, n)
        What `solve` takes.
    fitted : dict from leaf id to FittedKernel
        What `cross_kernels` takes, for new samples.

    Raises
    ------
    KernelError
        A kernel, a parameter or a column does not exist, or the values are no kernel.
    DataError
        X is no table of finite numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import cross_kernels, fit_kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> spn = templates.flat(["a", "b", "c"])
    >>> matrices, fitted = fit_kernels(spn, X, feature_names=["a", "b", "c"])
    >>> {leaf: K.shape for leaf, K in matrices.items()}
    {'k1': (50, 50), 'k2': (50, 50), 'k3': (50, 50)}
    >>> cross_kernels(fitted, X[:4])["k1"].shape
    (4, 50)
    """
    feature_names = column_names(X, feature_names)
    X, specs, names = checked_specs(spn, X, feature_names, leaves)
    done: dict[KernelSpec, tuple[FittedKernel, np.ndarray]] = {}
    for columns, group in base_groups(names, DataColumns.of(feature_names, X.shape[1])):
        for spec, result in zip(group, _fit_group(group, names, columns, X), strict=True):
            done[spec] = result
            if tick is not None:
                tick(len(done), len(names))
    fitted = {leaf: done[spec][0] for leaf, spec in specs.items()}
    return {leaf: done[spec][1] for leaf, spec in specs.items()}, fitted


def cross_kernels(fitted: Mapping[T, FittedKernel], X: np.ndarray, lend: Lend = np.empty) -> dict[T, np.ndarray]:
    """`FittedKernel.cross` for all leaves at once, with what they share computed once.

    Call it on tiles of rows: it holds len(fitted) arrays of shape (len(X), n_reference).

    Parameters
    ----------
    fitted : mapping from leaf to FittedKernel
        As `fit_kernels` gives them.
    X : ndarray of shape (m, n_features)
        New samples, all columns of training in the same order.
    lend : callable, default=np.empty
        From a shape to an array to write to, for who wants to use memory again.

    Returns
    -------
    dict from leaf to ndarray of shape (m, n_reference)
        A leaf fitted with another in one object gets the same array.

    Raises
    ------
    DataError
        X has other columns than in training.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import cross_kernels, fit_kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> matrices, fitted = fit_kernels(templates.flat([0, 1]), X)
    >>> bool(np.allclose(cross_kernels(fitted, X)["k2"], matrices["k2"]))
    True
    """
    X = checked_rows(X)
    unique = {id(kernel): kernel for kernel in fitted.values()}
    values: dict[int, np.ndarray] = {}
    for group in grouped(unique.values(), _cross_key):
        values.update(zip(map(id, group), _cross_group(group, X, lend), strict=True))
    return {leaf: values[id(kernel)] for leaf, kernel in fitted.items()}


def restrict_kernels(fitted: Mapping[T, FittedKernel], rows: np.ndarray) -> dict[T, FittedKernel]:
    """Restrict the kernels of `fit_kernels` to some references and drop the training rows none of them needs.

    Parameters
    ----------
    fitted : mapping from leaf to FittedKernel
        As `fit_kernels` gives them.
    rows : ndarray of int
        Which references to keep, such as `Solution.support`.

    Returns
    -------
    dict from leaf to FittedKernel
        They still share one `X_ref`: the references alone, or all training rows if a kernel is centred.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import fit_kernels, restrict_kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> matrices, fitted = fit_kernels(templates.flat([0, 1]), X)
    >>> restrict_kernels(fitted, np.array([3, 4]))["k1"].n_reference
    2
    """
    restricted = {id(kernel): kernel.restrict(rows) for kernel in fitted.values()}
    if restricted and not any(kernel.needs_all_rows for kernel in restricted.values()):
        first = next(iter(restricted.values()))
        X_ref = first.X_ref[first.rows]
        restricted = {i: replace(kernel, X_ref=X_ref, rows=None) for i, kernel in restricted.items()}
    return {leaf: restricted[id(kernel)] for leaf, kernel in fitted.items()}


def kernels_between(fitted: Mapping[T, FittedKernel], X: np.ndarray) -> dict[T, FittedKernel]:
    """The kernels of `fit_kernels` with other rows as references, normalised by the rows that they were fitted on.

    Between two of these rows they are what both would have as new samples.

    Parameters
    ----------
    fitted : mapping from leaf to FittedKernel
        As `fit_kernels` gives them.
    X : ndarray of shape (n, n_features)
        The rows, with all columns of training in the same order.

    Returns
    -------
    dict from leaf to FittedKernel
        They share X as their `X_ref`; for `TileSource`, since their matrices may be large.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import TileSource, fit_kernels, kernels_between
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> matrices, fitted = fit_kernels(templates.flat([0, 1]), X)
    >>> TileSource(kernels_between(fitted, np.vstack([X, X]))).shape
    (100, 100)
    """
    moved = {
        id(kernel): replace(kernel, X_ref=X, rows=None, statistics=_statistics_of(kernel, X))
        for kernel in fitted.values()
    }
    return {leaf: moved[id(kernel)] for leaf, kernel in fitted.items()}


def _statistics_of(kernel: FittedKernel, X: np.ndarray) -> Statistics:
    """Those of other rows, with what all of them share as it was."""
    scale = means = None
    if kernel.statistics.scale is not None:
        scale = inverse_root(registry.get(kernel.spec.kernel).self_similarity(select(X, kernel.columns), kernel.params))
    if kernel.needs_all_rows:
        plain = replace(kernel, rows=None, statistics=Statistics())
        means = np.concatenate(
            [plain.cross(X[k : k + _MEANS_ROWS]).mean(axis=1) for k in range(0, X.shape[0], _MEANS_ROWS)]
        )
    return replace(kernel.statistics, scale=scale, means=means)


def _fit_group(
    specs: Sequence[KernelSpec], names: Mapping[KernelSpec, str], columns: Columns, X_ref: np.ndarray
) -> Iterator[tuple[FittedKernel, np.ndarray]]:
    """Fit kernels that start from one base."""
    X, first = select(X_ref, columns), specs[0]
    check_sign(first, X, names[first])
    base = registry.get(first.kernel).base(X, X, complete(first))
    for spec, own in copies(specs, base):
        kernel = registry.get(spec.kernel)
        params = resolve(kernel, complete(spec), X, partial(_block, own))
        K = check_computed(kernel.finished(own, params), f"{names[spec]} gives a matrix that")
        yield FittedKernel(spec, params, columns, X_ref, normalize(K, spec.normalize)), K


def _cross_group(kernels: Sequence[FittedKernel], X: np.ndarray, lend: Lend) -> Iterator[np.ndarray]:
    """`cross` of kernels that start from one base."""
    first = kernels[0]
    if X.shape[1] != first.X_ref.shape[1]:
        raise DataError(
            f"X has {X.shape[1]} columns, but the kernels were fitted on {first.X_ref.shape[1]}; "
            "pass the columns of training in the same order."
        )
    rows = first._compared_rows()
    Z = select(first.X_ref if rows is None else first.X_ref[rows], first.columns)
    X = select(as_reference(X, first.X_ref), first.columns)
    check_sign(first.spec, X, kernel_of(first.spec))
    base = registry.get(first.spec.kernel).base(X, Z, first.params, lend((X.shape[0], Z.shape[0])))
    for fitted, values in zip(kernels, finished_values(kernels, base, lend), strict=True):
        yield fitted._normalised(values, X)


def finished_values(kernels: Sequence[FittedKernel], base: np.ndarray, lend: Lend) -> Iterator[np.ndarray]:
    """Kernels that start from one base, in double precision; the last overwrites the base where it can."""
    last = kernels[-1] if base.dtype == np.float64 else None
    for kernel in kernels:
        own = base if kernel is last else lend(base.shape)
        yield registry.get(kernel.spec.kernel).finished(base, kernel.params, own)


def _block(matrix: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return matrix[np.ix_(rows, rows)]


def _cross_key(fitted: FittedKernel) -> tuple[Hashable, ...]:
    rows = fitted._compared_rows()
    compared = None if rows is None else rows.tobytes()
    return base_key(fitted.spec.kernel, fitted.params, fitted.columns), id(fitted.X_ref), compared
