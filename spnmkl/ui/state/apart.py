"""Work in processes of its own where the server has such: reading files, and whatever a tab asks for (no Streamlit).

Without the process that forks, which `serve` starts, the same work is done here, as in tests and scripts; while it is
loading, work waits for it. Files take turns, beside the memory that trainings were promised.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from spnmkl.data import ReadOptions, Table, guess_options, read_file
from spnmkl.data.unpacking import allowed_bytes
from spnmkl.errors import DataError
from spnmkl.ui.state import jobs
from spnmkl.ui.state.turns import Turns
from spnmkl.wording import quoted
from spnmkl.workers import Limits, Nursery, Worker

T = TypeVar("T")
Read = Callable[[str, bytes, ReadOptions | None], Table]
LOADED = ("spnmkl.ui.state.activity", "spnmkl.project.project_file", "pyarrow.parquet", "openpyxl", "scipy.io")
NURSERY = Nursery(LOADED)
READ_BYTES = 2_000_000_000  # beyond those of the largest table that is read
READ_SECONDS = 120.0
VISITOR_BYTES = 1_000_000_000  # of the tables that a visitor has open
START_SECONDS = 120.0  # for which work waits at most until the process that forks has loaded
LOOK_SECONDS = 0.1
TURNS = Turns()
jobs.promised = TURNS.coming
_began: float | None = None


def begin() -> None:
    """Load what works need in the process that forks."""
    global _began
    _began = time.monotonic()
    NURSERY.start()


def is_ready() -> bool:
    """Whether there are processes for works; soon after the server has begun, it is waited for them."""
    while not NURSERY.ready and hasattr(os, "fork") and _is_loading():
        time.sleep(LOOK_SECONDS)
    return NURSERY.ready


def _is_loading() -> bool:
    return _began is not None and time.monotonic() - _began < START_SECONDS


class Nobody:
    """Who waits for an answer and says nothing meanwhile."""

    aside = stopping = given_up = False

    def calm(self) -> bool:
        return True

    def attend(self) -> None: ...
    def say(self, words: str) -> None: ...
    def progress(self, done: int, total: int) -> None: ...
    def report(self, record: object) -> None: ...


def apart(name: str, work: Callable[..., T], *given: Any) -> T:
    """What a function makes of a file, in a process that is ended where it takes too much.

    Parameters
    ----------
    name : str
        The file's, for the sentence that is said then.
    work : callable
        Found by its name in its module; what it is given and gives is pickled.
    """
    limits = Limits(f"Reading {quoted(name)}", "leave out rows or columns", memory=READ_BYTES, seconds=READ_SECONDS)
    size = sum(len(part) for part in given if isinstance(part, bytes))
    worker = Worker(NURSERY)
    with TURNS.turn(min(READ_BYTES, allowed_bytes(size)), lambda: worker.taken):
        if not is_ready():
            return work(*given)
        try:
            return worker.do(Nobody(), limits, _called, work, given)
        finally:
            worker.close()


def _called(job: object, kept: object, work: Callable[..., T], given: tuple[Any, ...]) -> T:
    return work(*given)


def read_apart(name: str, data: bytes, options: ReadOptions | None = None) -> Table:
    """As `read_file`."""
    return apart(name, read_file, name, data, options)


def reading_by(read: Read) -> Read:
    """The same reader, in a process of its own."""
    return lambda name, data, options: apart(name, read, name, data, options)


def check_room(name: str, tables: Sequence[Table]) -> None:
    """Refuse another file of a visitor whose open tables take too much already."""
    held = sum(
        int(table.frame.memory_usage(index=False).sum()) + sum(K.nbytes for K in table.matrices.values())
        for table in tables
    )
    if held > VISITOR_BYTES:
        raise DataError(
            f"The tables that are open take {held / 1e9:.1f} GB, so that {quoted(name)} is not read; leave out files, "
            "rows or columns."
        )


def guess_apart(name: str, data: bytes, skip: int | None = None) -> ReadOptions:
    """As `guess_options`."""
    return apart(name, guess_options, name, data, skip)
