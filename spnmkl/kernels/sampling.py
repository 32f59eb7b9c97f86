"""What a kernel does on a sample of the rows, by which it is judged before training."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.errors import KernelError
from spnmkl.kernels import registry
from spnmkl.kernels.bases import complete, resolve, select
from spnmkl.kernels.fitting import FittedKernel, fit_kernel
from spnmkl.kernels.matrices import spread_rows
from spnmkl.kernels.normalization import Statistics
from spnmkl.kernels.validation import DataColumns
from spnmkl.structure import SPN, KernelSpec

SAMPLE_ROWS = 200
_COMPARED = 4000  # entries by which kernels are compared with each other
MOST_EXAMINED = 400  # different kernels, the first of a drawing: about a second
_SAME_SHAPE = {"centred": "none", "unit_variance": "none"}  # judged as it is before the mean is taken out


@dataclass(frozen=True, eq=False)
class Look:
    """One kernel on the sample.

    Attributes
    ----------
    likeness : float
        Mean of |k(x, z)| / √(k(x, x) k(z, z)) over pairs of rows: 0 for the identity, 1 for a constant kernel.
    variance : float
        Of the rows in feature space, as a share of the mean self-similarity: 0 for a constant kernel.
    zeros : int
        Rows of self-similarity 0, such as the cosine of rows that are all zero.
    gamma, typical : float or None
        The width as a number, and what "median" would be, of kernels that have one.
    entries : ndarray
        Of the centred matrix, without its diagonal, of length 1 (0 where it is constant): cosines between these tell
        how much two kernels are alike.
    """

    likeness: float
    variance: float
    zeros: int
    gamma: float | None
    typical: float | None
    entries: NDArray[np.float32]


@dataclass(eq=False)
class KernelSample:
    """Some rows as kernels see them, and what was found of kernels on them already.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        Columns as kernels see them.
    names : sequence of str or None
        Of the columns.
    matrices : mapping from str to ndarray of shape (n, n)
        Given kernel matrices over the same rows.
    mapped : callable
        From a structure over the columns of a table to the same nodes over these.
    """

    X: NDArray[np.float64]
    names: Sequence[str] | None = None
    matrices: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    mapped: Callable[[SPN], SPN] = field(default=lambda spn: spn)
    _known: dict[KernelSpec | str, Look | str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, X: Any, names: Sequence[str] | None = None) -> KernelSample:
        """At most `SAMPLE_ROWS` of some rows, evenly spread."""
        names = list(X.columns) if names is None and hasattr(X, "columns") else names
        rows = np.asarray(X, dtype=np.float64)
        return cls(rows[spread_rows(len(rows), SAMPLE_ROWS)] if rows.ndim else rows, names)

    @property
    def n(self) -> int:
        return len(next(iter(self.matrices.values()), self.X))

    def looks(self, spn: SPN) -> dict[str, Look | str]:
        """Leaf → what it does on the sample, or why it cannot be computed; empty where its matrix is not known."""
        mapped = self.mapped(spn)
        keys = {leaf: _key(mapped.spec(leaf), spn.label(leaf)) for leaf in spn.kernels}
        examined = list(dict.fromkeys(keys.values()))[:MOST_EXAMINED]
        self._known = {key: self._known.get(key) or self._look(key) for key in examined}
        return {leaf: self._known.get(key, "") for leaf, key in keys.items()}

    def _look(self, key: KernelSpec | str) -> Look | str:
        try:
            return self._given(key) if isinstance(key, str) else self._computed(key)
        except KernelError as error:
            return str(error)

    def _given(self, name: str) -> Look | str:
        K = self.matrices.get(name)
        return "" if K is None else _looked(np.array(K, dtype=np.float64))

    def _computed(self, spec: KernelSpec) -> Look:
        judged = replace(spec, normalize=_SAME_SHAPE.get(spec.normalize, spec.normalize))
        fitted, K = fit_kernel(judged, self.X, self.names)
        if not has_width(spec):
            return _looked(K)
        return _looked(K, fitted.params["gamma"], self._typical(spec))

    def _typical(self, spec: KernelSpec) -> float:
        kernel = registry.get(spec.kernel)
        X = select(self.X, DataColumns.of(self.names, self.X.shape[1]).resolve(spec.features))
        params = {**complete(spec), "gamma": "median"}
        return float(resolve(kernel, params, X, partial(_base, kernel, X, params))["gamma"])


def _key(spec: KernelSpec, label: str) -> KernelSpec | str:
    """A given matrix is known by the label of its leaf."""
    return label if spec.kernel == "precomputed" else spec


def _base(kernel: registry.RegisteredKernel, X: np.ndarray, params: dict[str, Any], rows: np.ndarray) -> np.ndarray:
    return kernel.base(X[rows], X[rows], params)


def has_width(spec: KernelSpec) -> bool:
    """Whether a kernel decays with a distance, and its width can be taken from the data."""
    kernel = registry.find(spec.kernel)
    return kernel is not None and kernel.finish is not None and any("median" in q.choices for q in kernel.schema)


def likeness(kernel: FittedKernel) -> float:
    """The mean value between two of its references, by that of one with itself, before it is normalised; of some."""
    known = np.arange(kernel.n_reference) if kernel.rows is None else kernel.rows
    rows = known[spread_rows(len(known), SAMPLE_ROWS)]
    K = replace(kernel, rows=rows, statistics=Statistics()).cross(kernel.X_ref[rows])
    itself, pairs = float(np.trace(K)), len(rows) * (len(rows) - 1)
    return (float(K.sum()) - itself) / pairs / (itself / len(rows)) if pairs and itself > 0 else 0.0


def _looked(K: np.ndarray, gamma: float | None = None, typical: float | None = None) -> Look:
    """`K` is overwritten."""
    n, diagonal = len(K), np.diagonal(K).copy()
    mean, total = float(diagonal.mean()), float(K.mean())
    root = np.sqrt(np.maximum(diagonal, 0))
    pairs = np.outer(root, root)
    off = (pairs > 0) & ~np.eye(n, dtype=bool)
    likeness = float((np.abs(K[off]) / pairs[off]).mean()) if off.any() else 0.0
    variance = (mean - total) / mean if mean > 0 else 0.0
    means = K.mean(axis=1)
    K -= means[:, None] + means - total
    i, j = np.triu_indices(n, k=1)
    some = spread_rows(len(i), _COMPARED)
    entries = K[i[some], j[some]]
    length = float(np.linalg.norm(entries))
    flat = length <= 1e-12 * mean * math.sqrt(max(len(some), 1))
    unit = np.zeros_like(entries) if flat else entries / length
    return Look(likeness, variance, int((diagonal <= 0).sum()), gamma, typical, unit.astype(np.float32))
