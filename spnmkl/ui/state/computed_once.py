"""A cache: what is computed from a dataset or a drawing is computed once, and kept for the next page that asks."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar, TypeVarTuple
from weakref import WeakKeyDictionary

from spnmkl.data import Dataset
from spnmkl.structure import SPN

T = TypeVar("T")
MOST_DRAWINGS = 64
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


def kept_with_drawing(compute: Callable[[SPN, *Others], T]) -> Callable[[SPN, *Others], T]:
    """Compute once for a drawing and its order, which numbers the weights: drawings in another order are equal too."""

    @lru_cache(maxsize=MOST_DRAWINGS)
    def found(spn: SPN, order: tuple[str, ...], others: tuple[*Others]) -> T:
        return compute(spn, *others)

    @wraps(compute)
    def kept(spn: SPN, *others: *Others) -> T:
        return found(spn, tuple(spn.nodes), others)

    return kept
