"""What a classifier is given, checked and read: labels, weights of samples, a structure in any form or none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from spnmkl.circuit.program import Floats
from spnmkl.errors import DataError, KernelError, StructureError
from spnmkl.kernels import fit_kernel
from spnmkl.kernels.matrices import spread_rows
from spnmkl.kernels.rows import distinct_rows
from spnmkl.problem import sample_weights
from spnmkl.structure import SPN, KernelSpec, templates
from spnmkl.structure.defaults import Part, default_drawing
from spnmkl.structure.nodes import describe
from spnmkl.wording import counted, listed, quoted

_MEDIAN_ROWS = 1000


@dataclass(frozen=True, eq=False)
class Rows:
    """Those that count: samples, labels and weights (None where all weigh alike), at `places` among the `n` given."""

    samples: Floats
    labels: NDArray
    weight: Floats | None
    places: NDArray[np.intp]
    n: int

    def counting(self, class_weight: Mapping[Any, float] | str | None) -> Floats:
        """What each of them counts, its class included."""
        classes, codes = np.unique(self.labels, return_inverse=True)
        return sample_weights(len(codes), codes, classes, self.weight, class_weight)


def counted_rows(model: BaseEstimator, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, reset: bool) -> Rows:
    """What a classifier is given to learn from, checked; rows of weight 0 are left out."""
    refuse_raw(X)
    # A copy, because the kernels keep the rows they refer to.
    samples, labels = validate_data(
        model, X, y, reset=reset, accept_sparse="csr", dtype=np.float64, order="C", copy=True, ensure_min_samples=2
    )
    check_labels(labels)
    if sample_weight is None:
        return Rows(samples, labels, None, np.arange(len(labels)), len(labels))
    weight = checked_weight(sample_weight, labels)
    rows = np.flatnonzero(weight)
    return Rows(samples[rows], labels[rows], weight[rows], rows, len(labels))


def check_labels(labels: NDArray) -> None:
    try:
        check_classification_targets(labels)
    except TypeError:
        raise DataError(
            "y mixes labels of different kinds, such as text and missing values; give every sample a label of one kind."
        ) from None


def refuse_raw(X: Any) -> None:
    """Raise where a data frame holds text or lacks values, and say what to put before a classifier."""
    if not (hasattr(X, "columns") and hasattr(X, "isna")):
        return
    before = "put the preparation of the app before it: make_pipeline(spnmkl.data.Preparer({}), SPNMKLClassifier(…))"
    for position, dtype in enumerate(X.dtypes):
        if dtype.kind not in "biuf" and (word := _first_word(X.iloc[:, position])) is not None:
            raise DataError(
                f"Column {quoted(X.columns[position])} holds text, such as {quoted(word)}, but a classifier needs "
                f"numbers; leave it out, or {before.format('')}, in which the hamming kernel sees text."
            )
    missing = X.isna().sum()
    missing = missing[missing > 0]
    if len(missing):
        counts = listed([f"{quoted(name)} ({counted(int(n), 'row')})" for name, n in missing.items()])
        columns, filling = counted(len(missing), "column"), before.format("missing='mean'")
        raise DataError(f"Values are missing (NaN) in {columns}: {counts}; fill them, or {filling}.")


def _first_word(values: Any) -> object | None:
    """The first value that is no number; None where all are."""
    for value in values.dropna().unique():
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return None


def checked_weight(sample_weight: ArrayLike, y: NDArray) -> Floats:
    if not np.asarray(sample_weight).any():
        raise DataError("Every sample weight is zero; give a positive weight to samples of two classes or more.")
    classes, codes = np.unique(y, return_inverse=True)
    return sample_weights(len(y), codes, classes, sample_weight, None)


def check_class_sizes(labels: NDArray) -> None:
    classes, counts = np.unique(labels, return_counts=True)
    if counts.min() < 2:
        raise DataError(
            f"probability=True needs two samples or more of every class, but {str(classes[counts.argmin()])!r} has "
            "one; add samples of it, or use probability=False."
        )


def read_structure(structure: SPN | Mapping[str, Any] | str) -> SPN:
    """In any of its forms, with kernels that columns are enough for."""
    spn = structure if isinstance(structure, SPN) else _from_format(structure)
    spn.check()
    for leaf in spn.kernels:
        if spn.spec(leaf).kernel == "precomputed":
            raise KernelError(
                f"Leaf {spn.label(leaf)!r} is precomputed, but SPNMKLClassifier computes kernels from columns; pass "
                "the matrices to spnmkl.solve and predict with Solution.decision_function on cross-kernels."
            )
    return spn


def _from_format(structure: Mapping[str, Any] | str) -> SPN:
    if isinstance(structure, Mapping):
        return SPN.from_dict(structure)
    if not isinstance(structure, str):
        raise StructureError(
            f"structure must be an SPN, a mapping or JSON text, or None, but it is {describe(structure)}; see SPN."
        )
    if structure in templates.TEMPLATES:
        raise StructureError(
            f"structure is {structure!r}, the name of a template, but templates are functions of your kernels or "
            f"columns; pass what templates.{structure}(...) returns."
        )
    return SPN.from_json(structure)


def structure_for(structure: SPN | Mapping[str, Any] | str | None, X: np.ndarray) -> SPN:
    return default_structure(X) if structure is None else read_structure(structure)


def default_structure(X: np.ndarray) -> SPN:
    """What `SPNMKLClassifier` uses when no structure is given, on columns that it has standardised.

    A weighted sum of six kernels on all columns: linear, and rbf with gamma from 1/64 to 4 times
    1 / (median squared distance between distinct rows).

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
        The training rows.

    Returns
    -------
    SPN
        The structure.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.given import default_structure
    >>> spn = default_structure(np.random.default_rng(0).normal(size=(30, 2)))
    >>> [spn.label(leaf) for leaf in spn.kernels]
    ['rbf 1/64', 'rbf 1/16', 'rbf 1/4', 'rbf', 'rbf 4', 'linear']
    """
    distinct = distinct_rows(X)
    median = KernelSpec("rbf", (("gamma", "median"),))
    gamma = fit_kernel(median, distinct[spread_rows(distinct.shape[0], _MEDIAN_ROWS)])[0].params["gamma"]
    return default_drawing([Part("")], float(gamma))
