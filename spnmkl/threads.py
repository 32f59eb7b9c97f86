"""Threads: ours are few and coarse; BLAS's own are switched off while we work.

OpenBLAS's threads wait by spinning. Beside our own threads, or on a machine that is busy otherwise, that made a
training ten times slower than one BLAS thread did.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ContextDecorator, contextmanager
from functools import cache
from queue import SimpleQueue
from typing import Any, TypeVar

import threadpoolctl

T = TypeVar("T")


_MOST = threading.local()


def default_threads() -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return allowed_threads(cores)


def allowed_threads(wanted: int) -> int:
    """So many, or as many as `at_most` leaves to this thread."""
    return min(wanted, getattr(_MOST, "threads", wanted))


@contextmanager
def at_most(n_threads: int) -> Generator[None, None, None]:
    """Whatever is asked for, no more threads than these work for this one: others have the rest of the machine."""
    before = getattr(_MOST, "threads", None)
    _MOST.threads = n_threads
    try:
        yield
    finally:
        if before is None:
            del _MOST.threads
        else:
            _MOST.threads = before


def as_they_come(
    works: Sequence[Callable[[], Iterable[T]]], at_once: int, halt: threading.Event
) -> Generator[T, None, None]:
    """What the works give, in the order in which they give it; so many of them run at a time, in threads of their own.

    Closed before its end, or where a work fails, it sets `halt`, at which the works look, and waits for them.
    """
    if at_once == 1:
        for work in works:
            yield from work()
        return
    given: SimpleQueue[T | Future[None]] = SimpleQueue()

    def follow(work: Callable[[], Iterable[T]]) -> None:
        for item in work():
            given.put(item)

    with ThreadPoolExecutor(at_once) as pool:
        running = [pool.submit(follow, work) for work in works]
        for future in running:
            future.add_done_callback(given.put)
        try:
            ended = 0
            while ended < len(running):
                item = given.get()
                if isinstance(item, Future):
                    item.result()
                    ended += 1
                else:
                    yield item
        finally:
            halt.set()
            pool.shutdown(cancel_futures=True)


@cache
def _controller() -> threadpoolctl.ThreadpoolController:
    return threadpoolctl.ThreadpoolController()


def _take_control() -> None:
    """Let this thread decide on OpenBLAS's threads: threadpoolctl (3.8) listens only to the first one that did."""
    release = getattr(getattr(threadpoolctl, "OpenBLASController", None), "clear_controlling_thread", None)
    if release is not None:
        release(force=True)


class single_threaded_blas(ContextDecorator):
    """BLAS on one thread until the last of all concurrent users has left, then as it was before."""

    _lock = threading.Lock()
    _users = 0
    _restore: Callable[[], Any] = staticmethod(lambda: None)

    def __enter__(self) -> None:
        cls = type(self)
        with cls._lock:
            if cls._users == 0:
                _take_control()
                cls._restore = _controller().limit(limits=1, user_api="blas").restore_original_limits
            cls._users += 1

    def __exit__(self, *error: object) -> None:
        cls = type(self)
        with cls._lock:
            cls._users -= 1
            if cls._users == 0:
                _take_control()
                cls._restore()
                _take_control()  # for whoever comes next


@contextmanager
def single_threaded() -> Generator[None, None, None]:
    """BLAS on one thread, and OpenMP in this thread: scikit-learn's trees have loops of their own."""
    with single_threaded_blas(), _controller().limit(limits=1, user_api="openmp"):
        yield
