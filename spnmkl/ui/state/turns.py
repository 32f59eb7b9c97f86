"""Files that are read at once: a few, as far as memory goes; the others wait, in the order in which they came."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from spnmkl.memory import available_memory
from spnmkl.ui.state import jobs

LOOK_SECONDS = 1.0  # between two looks at whether there is room; of these, each is said
Say = Callable[[str], object]


@contextmanager
def _unseen() -> Iterator[Say]:
    yield lambda words: None


class Turns:
    """Who does something now, with the bytes that it may take, and who waits.

    Attributes
    ----------
    shown : gives whom to tell why one waits; what it raises, such as that the page is gone, ends the waiting.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[object] = []
        self._running: dict[object, tuple[int, Callable[[], int]]] = {}
        self.shown: Callable[[], AbstractContextManager[Say]] = _unseen

    @contextmanager
    def turn(self, need: int, taken: Callable[[], int]) -> Iterator[None]:
        """Wait until there is room for so many bytes, of which some are taken already."""
        me = object()
        with self._changed:
            self._waiting.append(me)
        try:
            self._wait(me, need, taken)
            yield
        finally:
            with self._changed:
                self._waiting = [other for other in self._waiting if other is not me]
                self._running.pop(me, None)
                self._changed.notify_all()

    def coming(self) -> int:
        """Bytes that are yet to be taken."""
        return sum(max(0, need - taken()) for need, taken in list(self._running.values()))

    def _wait(self, me: object, need: int, taken: Callable[[], int]) -> None:
        if self._begun(me, need, taken):
            return
        with self.shown() as say:
            say(self._why(me))
            while not self._begun(me, need, taken, LOOK_SECONDS):
                say(self._why(me))

    def _begun(self, me: object, need: int, taken: Callable[[], int], patience: float = 0.0) -> bool:
        with self._changed:
            if not self._changed.wait_for(lambda: self._may(me, need), patience):
                return False
            self._waiting.remove(me)
            self._running[me] = need, taken
            self._changed.notify_all()
            return True

    def _may(self, me: object, need: int) -> bool:
        """One alone may always, as among the jobs: else it could wait for the memory of a training of hours."""
        if self._waiting[0] is not me or len(self._running) >= jobs.MOST_AT_ONCE:
            return False
        free = available_memory()
        if not self._running or free is None:
            return True
        promised = self.coming() + sum(job.coming for job in jobs.going_on() if job.state == "running")
        return need <= jobs.ROOM * free - promised

    def _why(self, me: object) -> str:
        with self._changed:
            ahead, running = self._waiting.index(me), len(self._running)
        if ahead == 0 and running < jobs.MOST_AT_ONCE:
            return "This file waits until there is memory to read it."
        others = ahead + running
        return f"This file waits until {'another one is' if others == 1 else f'{others} others are'} read."
