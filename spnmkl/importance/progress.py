"""How far a measurement has come, told to who asked for it, and ended where they want it to end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from spnmkl.errors import Stopped
from spnmkl.parameters import check_callback, question

SMALL_STEPS = "kernels", "preparing", "evidence weights, step"  # words of what comes before a training


@dataclass(frozen=True)
class ImportanceStep:
    """Progress of a measurement, as its callback gets it; returning False there stops it.

    Attributes
    ----------
    done, total : int
        How many trainings are done, of about how many.
    words : str
        What was done.
    folds : int
        How many folds are done.

    Examples
    --------
    >>> from spnmkl.importance import ImportanceStep
    >>> ImportanceStep(3, 40, "fold 1 of 5, choosing C", 0).done
    3
    """

    done: int
    total: int
    words: str
    folds: int


class Teller:
    """Called with words on what is done, it counts, tells the callback, and raises `Stopped` where it is to end."""

    def __init__(
        self,
        total: int,
        callback: Callable[[ImportanceStep], object] | None,
        stop: Callable[[], bool] | None,
        folds: int = 0,
    ) -> None:
        check_callback(callback)
        question(stop)
        self.done, self.total, self.folds = 0, total, folds
        self._callback, self._stop, self._over = callback, stop, False

    def __call__(self, words: str) -> None:
        if self._over or (self._stop is not None and self._stop()):
            raise Stopped
        self.done = min(self.done + all(small not in words for small in SMALL_STEPS), self.total)
        step = ImportanceStep(self.done, self.total, words, self.folds)
        if self._callback is not None and self._callback(step) is False:
            self._over = True  # a search for weights ends with the best so far, and would go on here
            raise Stopped
