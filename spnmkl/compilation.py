"""A word to who waits: loops are compiled on first use, for this processor, and kept for the next process."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import numba
from numba.core import event

from spnmkl import __version__

_UNNOTICED = 1.0  # seconds: one function for an unusual argument is not worth a word
_SENTENCE = "spnmkl: compiling its loops for this processor, once; that takes about 15 seconds."


class _Announcer(event.Listener):
    """Hears of every function that is compiled, not of those that are loaded; speaks once, of ours alone.

    Other settings may need other loops in another process, a few seconds each: "once" is not said again for these.
    """

    def __init__(self, one_of_ours: Any) -> None:
        self.one_of_ours = one_of_ours
        self.spent, self.depth, self.since, self.done = 0.0, 0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        if not _is_ours(event):
            return
        if self.depth == 0:
            self.since = time.perf_counter()
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        if not _is_ours(event):
            return
        self.depth -= 1
        spent = self.spent + time.perf_counter() - self.since
        if self.depth == 0:
            self.spent = spent
        if spent > _UNNOTICED and not self.done:
            self.done = True
            if _was_said(self.one_of_ours):
                return
            # Without any configuration a warning goes to stderr, as it is.
            logging.getLogger("spnmkl").warning(_SENTENCE)


def _is_ours(event: event.Event) -> bool:
    return str(event.data["dispatcher"].py_func.__module__).startswith("spnmkl.")


def _was_said(one_of_ours: Any) -> bool:
    """Whether another process has said it, of what is kept where our compiled loops are; if not, it has been now."""
    kept_in = one_of_ours.stats.cache_path
    if kept_in is None:
        return False
    folder = Path(kept_in)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"said-{__version__}-numba-{numba.__version__}").touch(exist_ok=False)
    except FileExistsError:
        return True
    except OSError:  # nothing can be kept there
        pass
    return False


def announce_compilation(one_of_ours: Any) -> None:
    """Say so, once, when compiling takes longer than a second; that it was said is kept with this compiled function."""
    event.register("numba:compile", _Announcer(one_of_ours))
