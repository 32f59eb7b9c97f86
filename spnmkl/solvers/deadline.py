"""When to end early: a limit of time, together with the caller's own wish to stop."""

from __future__ import annotations

import time
from collections.abc import Callable
from numbers import Real

import numpy as np

from spnmkl.errors import ParameterError
from spnmkl.structure.nodes import describe

Stop = Callable[[], bool]


def check_max_time(max_time: object) -> float | None:
    """The limit as a number of seconds, None for none; anything else is refused in one sentence."""
    if max_time is None:
        return None
    number = isinstance(max_time, Real) and not isinstance(max_time, bool)
    if not number or not 0 < float(max_time) < np.inf:  # type: ignore[arg-type]
        raise ParameterError(
            f"max_time must be a finite number of seconds above 0, or None, but it is {describe(max_time)}."
        )
    return float(max_time)  # type: ignore[arg-type]


class Deadline:
    """Runs from its making. Called, as a solver's `stop`, it is true once time is over or the caller wants to end."""

    def __init__(self, max_time: float | None, stop: Stop | None = None) -> None:
        seconds = check_max_time(max_time)
        self.end = np.inf if seconds is None else time.monotonic() + seconds
        self.stop = stop

    def __call__(self) -> bool:
        return self.over or self.wanted

    @property
    def over(self) -> bool:
        return self.end < np.inf and time.monotonic() >= self.end

    @property
    def left(self) -> float | None:
        """Seconds for what begins now, as its own `max_time`: None without a limit, and never quite 0."""
        return None if self.end == np.inf else max(self.end - time.monotonic(), 1e-9)

    @property
    def wanted(self) -> bool:
        """Whether the caller wants to end."""
        return self.stop is not None and self.stop()

    @property
    def status(self) -> str | None:
        """How a solution ends that is not asked to go on."""
        return "interrupted" if self.wanted else "time_limit" if self.over else None
