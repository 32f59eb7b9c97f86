"""What the app opens on, and the templates filled from the data at hand."""

from __future__ import annotations

from spnmkl.data import Dataset
from spnmkl.structure import SPN, Kernel, Product, Sum, templates

MOST_COLUMNS = 12  # a template over single columns takes the first of them


def opening_structure(dataset: Dataset) -> SPN:
    """Per view a kernel alone, and the product of the first two: something to keep, something to prune."""
    views = list(dataset.views.items())[:3]
    if len(views) < 2:
        return templates.flat(list(dataset.numeric)[:MOST_COLUMNS])
    singles = [Product(Kernel("rbf", features=list(columns), label=view)) for view, columns in views]
    first, second = (
        Sum(
            Product(Kernel("rbf", features=list(columns), label=view)),
            Product(Kernel("linear", features=list(columns), label=f"{view} linear")),
        )
        for view, columns in (views[0], views[-1])
    )
    return SPN(Sum(*singles, Product(first, second)))
