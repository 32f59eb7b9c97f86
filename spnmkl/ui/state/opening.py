"""The drawing that data open on."""

from __future__ import annotations

from collections.abc import Iterator

from spnmkl.data import Dataset
from spnmkl.errors import SPNMKLError
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure.templates import RBF
from spnmkl.ui.state.drawing import check_size

MOST_VIEWS = 8  # with kernels of their own; the columns of further ones are put together


def opening_structure(dataset: Dataset) -> SPN:
    """A flat sum: an rbf and a linear kernel of the numbers of each view, and what else there is.

    Every column takes part, and no view is multiplied with another: a path counts in full for each of its views, so
    that noise which happened to be multiplied with the signal would seem to matter as much. Views in another order
    give the same sum in that order. Without views, the flat template.
    """
    views = dict(list(dataset.feature_views.items())[:MOST_VIEWS])
    if not views:
        return _flat(dataset)
    singles = dataset.with_views(_with_others(dataset, views)).kernels()
    return SPN(Sum(*(Product(kernel) for single in singles for kernel in _with_linear(single))))


def _with_linear(kernel: Kernel) -> Iterator[Kernel]:
    """What is linear in a view needs no width, and is learned from fewer rows."""
    yield kernel
    if kernel.spec.kernel == "rbf":
        yield Kernel("linear", features=kernel.spec.features, label=f"{kernel.node.label} linear")


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
