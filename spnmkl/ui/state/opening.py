"""The drawing that data open on."""

from __future__ import annotations

from spnmkl.data import Dataset
from spnmkl.errors import SPNMKLError
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure.templates import RBF
from spnmkl.ui.state.drawing import check_size

MOST_VIEWS = 8  # with a kernel of their own; the columns of further ones are put together


def opening_structure(dataset: Dataset) -> SPN:
    """Each view alone, and the product of the first and the last one of numbers: something to keep, something to prune.

    Every column takes part. Without two views of numbers, a flat sum of what there is.
    """
    numeric = set(dataset.numeric)
    views = dict(list(dataset.feature_views.items())[:MOST_VIEWS])
    numbers = {view: [c for c in columns if c in numeric] for view, columns in views.items()}
    pair = [(view, columns) for view, columns in numbers.items() if columns]
    if len(pair) < 2:
        return _flat(dataset)
    first, second = (
        Sum(
            Product(RBF.on(columns, view)),
            Product(Kernel("linear", features=columns, label=f"{view} linear")),
        )
        for view, columns in (pair[0], pair[-1])
    )
    singles = dataset.with_views(_with_others(dataset, views)).kernels()
    return SPN(Sum(*map(Product, singles), Product(first, second)))


def _with_others(dataset: Dataset, views: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The views, and one more of the columns that are in none of them."""
    known = {c for columns in views.values() for c in columns}
    others = tuple(c for c in dataset.features if c not in known)
    name = "others"
    while name in views:
        name = f"all {name}"
    return {**views, name: others} if others else views


def _flat(dataset: Dataset) -> SPN:
    try:
        spn = dataset.template("flat")
        check_size(spn)
    except SPNMKLError:
        return SPN(Product(RBF))
    return spn
