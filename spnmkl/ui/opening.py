"""The drawing that data open on."""

from __future__ import annotations

from spnmkl.data import Dataset
from spnmkl.errors import SPNMKLError
from spnmkl.structure import SPN, Kernel, Product, Sum


def opening_structure(dataset: Dataset) -> SPN:
    """Per view a kernel alone, and the product of the first and the last: something to keep, something to prune.

    Without two views of numbers, a flat sum of what there is.
    """
    numeric = set(dataset.numeric)
    views = [(view, [c for c in columns if c in numeric]) for view, columns in dataset.feature_views.items()]
    views = [(view, columns) for view, columns in views if columns][:3]
    if len(views) < 2:
        return _flat(dataset)
    singles = [Product(Kernel("rbf", features=columns, label=view)) for view, columns in views]
    first, second = (
        Sum(
            Product(Kernel("rbf", features=columns, label=view)),
            Product(Kernel("linear", features=columns, label=f"{view} linear")),
        )
        for view, columns in (views[0], views[-1])
    )
    return SPN(Sum(*singles, Product(first, second)))


def _flat(dataset: Dataset) -> SPN:
    try:
        return dataset.template("flat")
    except SPNMKLError:
        return SPN(Product(Kernel("rbf")))
