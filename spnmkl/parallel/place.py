"""Where a piece of work is done, as the work sees it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """What a piece of work may ask, and how much of the machine is its own.

    Attributes
    ----------
    stop : callable
        Whether to end; asked often.
    say : callable
        Told what is done now; it may raise to stop. What is said in another process is heard when the work is done.
    n_threads : int or None
        For the work itself; None: all cores.
    """

    stop: Callable[[], bool]
    say: Callable[[str], object]
    n_threads: int | None
