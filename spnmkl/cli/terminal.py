"""What the command line shows while it works, and how Ctrl-C ends it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from spnmkl.selection import PathPoint
from spnmkl.solution import Record

_NUMBER = re.compile(r"[\d.,]+\d|\d")
SELDOM = 5.0  # seconds between lines of a file that only say how far a work is


class Progress:
    """A line per iteration and per training of a choice of C; on a terminal each takes the place of the last."""

    def __init__(self, stream: TextIO, shown: bool, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream, self.shown, self.live = stream, shown, stream.isatty()
        self.end, self.unended = "" if self.live else "\n", False
        self.clock, self.told_at = clock, clock()
        self.works: set[str] = set()  # that were told of, without their numbers

    def __call__(self, record: Record) -> bool:
        active = len(record.beta) - len(record.pruned)
        if record.method == "evidence":
            reached = f"log evidence {-record.objective:<10.6g}"
        else:
            reached = f"objective {record.objective:<10.6g}  gap {record.gap:.1e}"
        self.tell(f"iteration {record.iteration:3}  {reached}  active weights {active} of {len(record.beta)}")
        return True

    def say(self, words: str) -> None:
        """What would be too many lines in a file: there, every work once, and then where nothing was told for long."""
        work = _NUMBER.sub("", words)
        if self.live or work not in self.works or self.clock() - self.told_at >= SELDOM:
            self.works.add(work)
            self.tell(words)

    def follow(self, point: PathPoint) -> None:
        """A value of C that was tried on a fold."""
        assert point.fold is not None and point.score is not None
        self.tell(
            f"choosing C  {point.done:3} of {point.total}  fold {point.fold + 1}  C {point.C:<9.3g}  "
            f"right on it {100 * point.score:.1f} %"
        )

    def tell(self, line: str) -> None:
        self.told_at = self.clock()
        if self.shown:
            self.unended = self.live
            width = shutil.get_terminal_size().columns - 1  # a line that wraps could not be written over
            print(f"\r{line[:width]:<{width}}" if self.live else line, end=self.end, file=self.stream, flush=True)

    def close(self) -> None:
        if self.unended:
            self.unended = False
            print(file=self.stream)


@contextmanager
def stop_on_interrupt(begun: Callable[[], bool]) -> Iterator[threading.Event]:
    """Once there is something to keep, the first Ctrl-C asks the training to stop; any other one ends the program."""
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def ask(*_: object) -> None:
        if not begun():
            raise KeyboardInterrupt
        stop.set()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.write(2, b"\nstopping; Ctrl-C again ends at once\n")

    before = signal.signal(signal.SIGINT, ask)
    try:
        yield stop
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def warnings_as_sentences() -> Iterator[None]:
    """What the training warns of, on stderr without file and line."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        tell(str(warning.message))


def tell(sentence: str) -> None:
    print(f"spnmkl: {sentence}", file=sys.stderr)
