"""What a process may take, and what is said when it takes more."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import psutil

from spnmkl.errors import SPNMKLError

LOW_BYTES = 200_000_000  # free on the machine, below which the largest process is ended before the system ends others
LOST = "ended without a word, perhaps for want of memory. Your drawing and your data are kept; try again"


class WorkerError(SPNMKLError):
    """A process was ended, or ended itself, before its work was done."""


@dataclass(frozen=True)
class Limits:
    """What a work may take.

    Attributes
    ----------
    doing : how a sentence about it begins, such as "Reading 'a.csv'".
    advice : how it ends, such as "leave out rows or columns".
    memory : bytes that the process may take for itself, resident; None for what the machine has.
    seconds : of processor; None without end.
    """

    doing: str = "This work"
    advice: str = "use fewer rows or kernels"
    memory: int | None = None
    seconds: float | None = None

    def exceeded(self, taken: int, seconds: float) -> str | None:
        """Why a process that takes this is to be ended, in a sentence; None where it may go on."""
        if self.memory is not None and taken > self.memory:
            return f"{self.doing} took more than {_gigabytes(self.memory)} of memory and was ended; {self.advice}."
        if self.seconds is not None and seconds > self.seconds:
            return f"{self.doing} took more than {self.seconds:,.0f} s of processor and was ended; {self.advice}."
        return None

    def crowded(self) -> str:
        return f"{self.doing} was ended because the machine had no more memory; {self.advice}."

    def lost(self) -> str:
        return f"{self.doing} {LOST}."


@dataclass
class Meter:
    """What a process takes beyond what it was forked with."""

    process: psutil.Process
    inherited: int

    @classmethod
    def of(cls, pid: int) -> Meter:
        process = psutil.Process(pid)
        return cls(process, process.memory_info().rss)

    def taken(self) -> int:
        """Bytes, resident; 0 where the process has ended."""
        try:
            return max(0, self.process.memory_info().rss - self.inherited)
        except psutil.Error:
            return 0

    def seconds(self) -> float:
        """Of processor since it was forked."""
        try:
            spent = self.process.cpu_times()
        except psutil.Error:
            return 0.0
        return spent.user + spent.system

    def kill(self) -> None:
        """End it now; a process that took over its number is left alone."""
        with suppress(psutil.Error):
            self.process.kill()


def _gigabytes(n_bytes: int) -> str:
    return f"{n_bytes / 1e9:,.1f} GB" if n_bytes >= 1e9 else f"{n_bytes / 1e6:,.0f} MB"
