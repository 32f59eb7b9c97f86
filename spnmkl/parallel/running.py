"""The one door through which many trainings go."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from typing import Any, TypeVar

from joblib.parallel import BACKENDS, get_active_backend

from spnmkl.parallel.place import Place
from spnmkl.threads import as_they_come

S = TypeVar("S")
I = TypeVar("I")
T = TypeVar("T")
Work = Callable[[S, I, Place], Iterable[T]]


def side_by_side(
    work: Work[S, I, T],
    shared: S,
    items: Sequence[I],
    *,
    at_once: int = 1,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    say: Callable[[str], object] | None = None,
) -> Generator[T, None, None]:
    """What ``work(shared, item, place)`` gives of every item, as it comes; which comes first is left to chance.

    Without a backend chosen by ``joblib.parallel_config`` so many items are worked on `at_once`, in threads, and what
    they give comes one by one. A backend that was chosen takes the items: `shared` is sent once, an item comes back
    whole, one thread works on each, and what is lost with a worker is done again. There, `work` must be a function of
    a module. What a work gives must not depend on where it is done.

    Closed before its end, or where a work fails, the works are asked to stop; those of this process are waited for.

    Parameters
    ----------
    work : callable
        Ends early, or raises `Stopped`, once ``place.stop()`` is true.
    shared : object
        What all items need, which may be large.
    items : sequence
        What to work on.
    at_once : int
        How many in this process.
    n_threads : int, optional
        Of a work in this process; None: all cores.
    stop : callable, optional
        Once it is true all works are asked to end; asked in several threads.
    say : callable, optional
        What `place.say` calls in this process.
    """
    asked = stop or _never
    chosen = _chosen_backend()
    if chosen is not None and items:
        from spnmkl.parallel.elsewhere import done_elsewhere  # needed by few

        yield from done_elsewhere(chosen, work, shared, items, asked, say or _nothing)
        return
    halt = threading.Event()
    place = Place(lambda: halt.is_set() or asked(), say or _nothing, n_threads)
    works = [partial(work, shared, item, place) for item in items]
    with closing(as_they_come(works, at_once, halt)) as found:
        yield from found


def goes_elsewhere() -> bool:
    """Whether a backend was chosen that takes work away from the threads of this process."""
    return _chosen_backend() is not None


def in_order(found: Iterable[tuple[int, T]]) -> Iterator[T]:
    """The second of each pair, by the first, which counts from 0; after a gap, such as a stop leaves, the rest."""
    early: dict[int, T] = {}
    due = 0
    for k, one in found:
        early[k] = one
        while due in early:
            yield early.pop(due)
            due += 1
    for k in sorted(early):
        yield early[k]


def _chosen_backend() -> Any | None:
    """joblib's backend; None where that would be threads, of which ours give what they have as it comes."""
    backend, _ = get_active_backend(prefer="threads")
    return None if type(backend) in (BACKENDS["threading"], BACKENDS["sequential"]) else backend


def _never() -> bool:
    return False


def _nothing(words: str) -> None:
    """For who is not told."""
