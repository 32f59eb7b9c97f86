"""Parts of a search side by side, told in their order: what comes of them does not depend on how many at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import Any, TypeVar

from joblib import effective_n_jobs

from spnmkl.parallel import Place, in_order, side_by_side

S = TypeVar("S")
I = TypeVar("I")
T = TypeVar("T")


def each(
    work: Callable[[S, I, Place], T], given: S, items: Sequence[I], n_jobs: int | None, stop: Callable[[], bool]
) -> Iterator[tuple[int, T]]:
    """The number of each item, and what the work makes of it; those that a stop leaves undone do not come.

    `n_jobs` is as joblib has it: None for what its configuration says.
    """
    at_once = effective_n_jobs(n_jobs)
    with closing(side_by_side(_numbered, (work, given), list(enumerate(items)), at_once=at_once, stop=stop)) as found:
        yield from in_order((k, (k, one)) for k, one in found)


def _numbered(given: tuple[Any, Any], item: tuple[int, Any], place: Place) -> Iterator[tuple[int, Any]]:
    (work, shared), (k, one) = given, item
    yield k, work(shared, one, place)
