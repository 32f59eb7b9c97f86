"""What kernels start from: checked samples and specifications, and bases that several kernels share."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array, issparse

from spnmkl.errors import DataError, KernelError
from spnmkl.kernels import functions, registry
from spnmkl.kernels.validation import DataColumns, check_spec, kernel_of
from spnmkl.structure import SPN, KernelSpec
from spnmkl.structure.text import leaf_name

T = TypeVar("T")
Params = dict[str, Any]
Columns = tuple[int, ...] | None
Lend = Callable[[tuple[int, ...]], np.ndarray]
# Beyond this, squares and their sums come close to overflow.
_LARGEST = 1e100


def checked_specs(
    spn: SPN, X: np.ndarray, feature_names: Sequence[str] | None, leaves: Iterable[str] | None = None
) -> tuple[np.ndarray, dict[str, KernelSpec], dict[KernelSpec, str]]:
    """Samples and specifications, checked: X, every leaf's specification, and what messages call the distinct ones."""
    X = checked_rows(X, feature_names)
    specs = {leaf: spn.spec(leaf) for leaf in (spn.kernels if leaves is None else leaves)}
    names: dict[KernelSpec, str] = {}
    for leaf, spec in specs.items():
        names.setdefault(spec, kernel_of(spec, leaf_name(spn, leaf)))
    available = DataColumns.of(feature_names, X.shape[1])
    for spec, who in names.items():
        check_spec(spec, who, available)
        check_kind(spec, who, X)
    return X, specs, names


def check_kind(spec: KernelSpec, who: str, X: np.ndarray) -> None:
    """Refuse sparse samples that a kernel could only see densely."""
    if issparse(X) and not registry.get(spec.kernel).sparse:
        able = ", ".join(name for name in registry.kernel_names() if registry.get(name).sparse)
        raise KernelError(
            f"{who} cannot be computed from sparse rows, only {able} can; choose one of these, or pass X.toarray()."
        )


def base_groups(specs: Iterable[KernelSpec], available: DataColumns) -> list[tuple[Columns, list[KernelSpec]]]:
    """Specifications that start from one base, with the columns that they see."""
    columns = {spec: available.resolve(spec.features) for spec in specs}
    groups = grouped(columns, lambda spec: base_key(spec.kernel, dict(spec.params), columns[spec]))
    return [(columns[group[0]], group) for group in groups]


def copies(items: Sequence[T], base: np.ndarray) -> Iterator[tuple[T, np.ndarray]]:
    """Each item with an array of its own to overwrite; the last gets `base` itself."""
    for item in items[:-1]:
        yield item, base.copy()
    yield items[-1], base


def base_key(name: str, params: Params, columns: Columns) -> tuple[Hashable, ...]:
    """Equal for kernels that can start from one base."""
    kernel = registry.get(name)
    shared = () if kernel.finish is not None else tuple(sorted(params.items()))
    return kernel.function, shared, columns


def grouped(items: Iterable[T], key: Callable[[T], Hashable]) -> Iterable[list[T]]:
    groups: dict[Hashable, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()


def complete(spec: KernelSpec) -> Params:
    given = dict(spec.params)
    schema = registry.kernel_schema(spec.kernel)
    return {p.name: p.convert(given.get(p.name, p.default)) for p in schema}


def resolve(
    kernel: registry.RegisteredKernel, params: Params, X: np.ndarray, base: Callable[[np.ndarray], np.ndarray]
) -> Params:
    """Parameters as numbers; `base` gives the base between some of the training rows."""
    if kernel.finish is None or not isinstance(params.get("gamma"), str):
        return params
    return {**params, "gamma": functions.resolve_gamma(params["gamma"], X, base)}


def select(X: np.ndarray, columns: Columns) -> np.ndarray:
    if columns is None:
        return X
    return X[:, list(columns)] if issparse(X) else np.take(X, columns, axis=1)


def check_sign(spec: KernelSpec, X: np.ndarray, who: str) -> None:
    if not registry.get(spec.kernel).nonnegative or X.min() >= 0:
        return
    position = int(X.min(axis=0).argmin())
    column = position if spec.features is None else spec.features[position]
    raise KernelError(
        f"{who} needs values of 0 or more, but column {column!r} holds {X.min():g}; "
        "use another kernel, or scale the column with MinMaxScaler(clip=True)."
    )


def _first_wrong_column(X: Any) -> int:
    if issparse(X):
        return int(X.indices[~(np.abs(X.data) <= _LARGEST)].min())
    return int(np.argmin((np.abs(X) <= _LARGEST).all(axis=0)))


def as_reference(X: Any, reference: np.ndarray) -> np.ndarray:
    """Samples sparse or dense as those are that kernels compare them with."""
    if issparse(X) == issparse(reference):
        return X
    return X.toarray() if issparse(X) else csr_array(X)


def column_names(X: object, feature_names: Sequence[str] | None) -> Sequence[str] | None:
    """The names given or, without them, those of a data frame's columns."""
    columns = getattr(X, "columns", None)
    return feature_names if feature_names is not None or columns is None else list(columns)


def checked_rows(X: Any, feature_names: Sequence[str] | None = None) -> np.ndarray:
    """Rows of numbers that can be computed with, sparse ones in compressed rows."""
    X = X.tocsr().astype(np.float64, copy=False) if issparse(X) else np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or 0 in X.shape:
        raise DataError(f"X must have rows and columns, but its shape is {X.shape}; pass (n, n_features) numbers.")
    if not (X.max() <= _LARGEST and X.min() >= -_LARGEST):
        column = _first_wrong_column(X)
        raise DataError(
            f"X holds NaN, infinity or a value beyond {_LARGEST:g} in column {column}; "
            "remove, fill or rescale these values."
        )
    if feature_names is not None and len(feature_names) != X.shape[1]:
        raise DataError(
            f"X has {X.shape[1]} columns, but {len(feature_names)} names were given; name each column once."
        )
    return X
