"""A tab's jobs in a process of the tab, which keeps its kernels; admitted when they start (no Streamlit here)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from spnmkl.data import Dataset
from spnmkl.errors import KernelError, SPNMKLError
from spnmkl.memory import available_memory, kernel_share
from spnmkl.solution import Solution
from spnmkl.training.room import Size, refusal, size_of
from spnmkl.training.settings import Settings
from spnmkl.ui.state import apart
from spnmkl.ui.state.clustered import clustered
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.kernel_shelf import KernelShelf, keep_within, kept_bytes
from spnmkl.ui.state.task import Task
from spnmkl.workers import Limits, Worker

FREE_BYTES = 1_000_000_000  # that every job may take, however little it was thought to need
ROOM_FOR_ERROR = 2.0  # times what a job was thought to need
SECONDS = 48 * 3600.0  # of processor


def tab_worker() -> Worker:
    """A process for a tab, which keeps the kernels it computed last; data and solutions are sent once."""
    return Worker(apart.NURSERY, KernelShelf, (Dataset, Solution))


def job_apart(
    worker: Worker,
    shelf: KernelShelf,
    alive: Callable[[], bool],
    size: Size | None,
    work: Callable[..., Any],
    *given: Any,
    aside: bool = False,
    wanted: Callable[[], bool] = lambda: True,
) -> Job[Any]:
    """A job that does a work in a process or, where the server has none, here.

    Parameters
    ----------
    worker : Worker
    shelf : KernelShelf
        Of the server itself.
    alive : callable
    size : Size or None
        What it is thought to need; None where that is little.
    work : callable
        Called with the job, the kernels that are kept where it is done, and what is given.
    aside, wanted : as for `Job`
    """

    def do(job: Job[Any]) -> Any:
        held = needed(size)
        if held is not None and (refused := refusal(held, _room())) is not None:
            raise KernelError(refused)
        if not apart.is_ready():
            return clustered(job, shelf, work, *given)
        try:
            return worker.do(job, _limits(held, aside), clustered, work, *given)
        finally:
            keep_within()

    held = needed(size)
    need = 0 if held is None else held.memory
    return Job(do, alive, aside=aside, owner=worker, need=need, taken=lambda: worker.taken, wanted=wanted)


def task_size(task: Task, folds: int = 0, settings: Settings | None = None) -> Size | None:
    """What a training on a task holds at most, by its settings or exactly; None where that cannot be told."""
    try:
        return size_of(task.spn, len(task.dataset.frame), len(task.dataset.labelled_table.classes), folds, settings)
    except SPNMKLError:
        return None  # said where it is trained


def needed(size: Size | None) -> Size | None:
    """The same in tiles, where matrices would not fit now."""
    room = _room()
    return size.in_tiles if size is not None and room is not None and size.kernels > kernel_share(room) else size


def _room() -> int | None:
    free = available_memory()
    return None if free is None else free + kept_bytes()


def _limits(size: Size | None, aside: bool) -> Limits:
    memory = None if size is None else int(FREE_BYTES + ROOM_FOR_ERROR * size.in_double.memory)
    return Limits("Scoring over folds" if aside else "This training", memory=memory, seconds=SECONDS)
