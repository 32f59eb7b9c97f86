"""What is known of an object while it lives, and whether it still is what it was."""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

import numpy as np
from numba import njit

T = TypeVar("T")
_LEFT, _RIGHT = np.uint64(27), np.uint64(64 - 27)
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class Known(Generic[T]):
    """One fact per object, forgotten with it. Any thread may ask and tell: single steps of a dict need no lock."""

    def __init__(self) -> None:
        self._facts: dict[int, tuple[weakref.ref[object], T]] = {}

    def __len__(self) -> int:
        return len(self._facts)

    def of(self, thing: object) -> T | None:
        reference, fact = self._facts.get(id(thing), (None, None))
        return fact if reference is not None and reference() is thing else None

    def keep(self, thing: object, fact: T) -> None:
        """Nothing is kept of what cannot be watched, such as a list."""
        key, facts = id(thing), self._facts

        def forget(reference: weakref.ref[object]) -> None:
            # By now another object may live at this address.
            if facts.get(key, (None,))[0] is reference:
                facts.pop(key, None)

        try:
            facts[key] = weakref.ref(thing, forget), fact
        except TypeError:
            return


def mark_of(K: np.ndarray, width: int) -> tuple[int, int]:
    """The number of rows of a C-contiguous float64 matrix, and a hash of `width` entries per row and of the diagonal.

    The entries are neighbours; from row to row they move on, so that they meet every column.
    """
    return len(K), int(_hash(K.view(np.uint64), width))


@njit(nogil=True, cache=True)
def _mixed(h, x):  # type: ignore[no-untyped-def]
    h ^= x
    return ((h << _LEFT) | (h >> _RIGHT)) * _FACTOR


@njit(nogil=True, cache=True)
def _hash(bits, width):  # type: ignore[no-untyped-def]
    """Four chains at once: one alone would wait for its multiplications."""
    n = len(bits)
    h0, h1, h2, h3 = _FACTOR, _FACTOR, _FACTOR, _FACTOR
    start = 0
    for i in range(n):
        row = bits[i]
        h0 = _mixed(h0, row[i])
        left = width
        while left > 0:
            stop = min(start + left, n)
            left -= stop - start
            j = start
            while j + 4 <= stop:
                h0, h1 = _mixed(h0, row[j]), _mixed(h1, row[j + 1])
                h2, h3 = _mixed(h2, row[j + 2]), _mixed(h3, row[j + 3])
                j += 4
            while j < stop:
                h0 = _mixed(h0, row[j])
                j += 1
            start = stop % n
    return _mixed(_mixed(_mixed(h0, h1), h2), h3)
