"""Kernels that tabs keep at hand: the last ones of each, and of all together not more than a bound."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable

from spnmkl.training.prepared import Prepared, prepare
from spnmkl.ui.state.task import Task
from spnmkl.workers import Worker

KEPT_BYTES = 2_000_000_000  # of all tabs together
MOST_IDLE = 8  # processes of tabs that have nothing to do


class KernelShelf:
    """The kernels that a tab computed last."""

    def __init__(self) -> None:
        self.kept: tuple[Task, Prepared] | None = None
        self._lock = threading.Lock()

    def prepared(self, task: Task, tick: Callable[[str], object] | None = None) -> Prepared:
        """Kernels of a task; computed where they are not those that are kept."""
        with self._lock:
            kept = self.kept
            if kept is None or not kept[0].same(task):
                self.clear()  # free before others are computed
                given = task.spn, task.dataset, task.choices, task.split, tick
                kept = self.kept = task, prepare(*given, sampled_rows=task.sampled_rows)
                _make_room(self)
            return kept[1]

    def put(self, task: Task, prepared: Prepared) -> None:
        """Keep kernels that were computed elsewhere."""
        with self._lock:
            self.kept = task, prepared
            _make_room(self)

    def holds(self, task: Task) -> bool:
        kept = self.kept
        return kept is not None and kept[0].same(task)

    def clear(self) -> None:
        self.kept = None

    @property
    def nbytes(self) -> int:
        kept = self.kept
        return 0 if kept is None else kept[1].nbytes


_shelves: list[weakref.ref[KernelShelf]] = []  # of all tabs, that filled last at the end
_lock = threading.Lock()


def _filled() -> list[KernelShelf]:
    return [shelf for ref in _shelves if (shelf := ref()) is not None and shelf.kept is not None]


def _make_room(newest: KernelShelf) -> None:
    """Clear the shelves of others, those filled longest ago first, until all are within the bound."""
    with _lock:
        others = [shelf for shelf in _filled() if shelf is not newest]
        held = sum(shelf.nbytes for shelf in (*others, newest))
        while others and held > KEPT_BYTES:
            oldest = others.pop(0)
            held -= oldest.nbytes
            oldest.clear()
        _shelves[:] = [weakref.ref(shelf) for shelf in (*others, newest)]


def kept_bytes() -> int:
    """Of kernels that tabs keep at hand, here and in their processes, and that can be had back."""
    return sum(shelf.nbytes for shelf in _filled()) + sum(worker.kept_bytes for worker in Worker.living())


def free_kernels() -> None:
    """Forget the kernels that tabs keep at hand."""
    with _lock:
        for shelf in _filled():
            shelf.clear()
        _shelves.clear()
    for worker in Worker.living():
        worker.close_if_idle()


def keep_within() -> None:
    """End the processes of tabs that idle longest, until the others keep no more than the bound and are few."""
    idle = [worker for worker in Worker.living() if worker.idle]
    while idle and (len(idle) > MOST_IDLE or sum(worker.kept_bytes for worker in idle) > KEPT_BYTES):
        idle.pop(0).close_if_idle()
