"""Leave to begin, asked of a ledger of all servers of the workspace; one that fails gives it (no Streamlit here)."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Callable, Sequence
from typing import Protocol

SMALL_BYTES = 100_000_000  # that a job may take without other servers knowing of it
_LOG = logging.getLogger("spnmkl")


class Ledger(Protocol):
    """As `spnmkl.workspace.admission.Admission`."""

    def enter(self, key: str, work: tuple[str, int], most: int, fits: Callable[[Sequence[int]], bool]) -> str: ...
    def leave(self, key: str) -> None: ...


ledger: Callable[[], Ledger] | None = None


class Leave:
    """That of one job.

    Attributes
    ----------
    key : of the job in the ledger.
    entered : whether it stands there, or will.
    """

    def __init__(self) -> None:
        self.key, self.entered = uuid.uuid4().hex, False
        self._refused, self._until = "", 0.0

    def ask(self, person: str, need: int, most: int, fits: Callable[[Sequence[int]], bool]) -> bool:
        """Whether the servers together allow a job to begin; asked where it counts for a person, or is not small."""
        self._refused = ""
        if ledger is not None and (person or need > SMALL_BYTES):
            try:
                self._refused = ledger().enter(self.key, (person, need), most, fits)
                self.entered = not self._refused
            except Exception as error:
                _LOG.warning("A job was let in by this server alone: %s", error)
                self.entered = True  # the next beat that can write puts it there
        return not self._refused

    @property
    def refused(self) -> str:
        """What it was just refused for: "limit", "memory", or nothing."""
        return self._refused if time.monotonic() < self._until else ""

    def hold(self, seconds: float) -> None:
        """Do not ask again before so many seconds; 0 where something has changed."""
        self._until = time.monotonic() + seconds

    def give_back(self) -> None:
        if self.entered and ledger is not None:
            self.entered = False
            try:
                ledger().leave(self.key)
            except Exception as error:  # the next beat of the server does it
                _LOG.warning("The end of a job was not written: %s", error)
