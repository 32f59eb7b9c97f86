"""What was computed from a dataset, kept as long as the dataset is and no longer."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

from spnmkl.data import Dataset

T = TypeVar("T")
Others = TypeVarTuple("Others")


def kept_with_dataset(compute: Callable[[Dataset, *Others], T]) -> Callable[[Dataset, *Others], T]:
    """Compute once for each dataset, the first argument, and each value of the others."""
    known: WeakKeyDictionary[Dataset, dict[tuple[object, ...], T]] = WeakKeyDictionary()

    @wraps(compute)
    def kept(dataset: Dataset, *others: *Others) -> T:
        found = known.setdefault(dataset, {})
        if others not in found:
            found[others] = compute(dataset, *others)
        return found[others]

    return kept
