"""When to end early: a limit of time, together with the caller's own wish to stop."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from spnmkl.parameters import seconds

Stop = Callable[[], bool]
_SOON = 1e-9  # seconds: a limit that is over at once


class Deadline:
    """Runs from its making. Called, as a solver's `stop`, it is true once time is over or the caller wants to end."""

    def __init__(self, max_time: float | None, stop: Stop | None = None) -> None:
        limit = seconds(max_time)
        self.end = np.inf if limit is None else time.monotonic() + limit
        self.stop = stop

    def __call__(self) -> bool:
        return self.over or self.wanted

    @property
    def over(self) -> bool:
        return self.end < np.inf and time.monotonic() >= self.end

    @property
    def left(self) -> float | None:
        """Seconds for what begins now, as its own `max_time`: None without a limit, and never quite 0."""
        return None if self.end == np.inf else max(self.end - time.monotonic(), _SOON)

    def early(self, share: float) -> Deadline:
        """For what comes first: the same, with this share of the time that is left."""
        return Deadline(None if self.left is None else share * self.left, self.stop)

    @property
    def wanted(self) -> bool:
        """Whether the caller wants to end."""
        return self.stop is not None and self.stop()

    @property
    def status(self) -> str | None:
        """How a solution ends that is not asked to go on."""
        return "interrupted" if self.wanted else "time_limit" if self.over else None
