"""Work in the background: a few jobs at once, as far as memory goes, the others wait; whose owner is gone is stopped.

People take turns, and tabs where nobody knows whose they are: next comes who has the fewest jobs running and was served
longest ago. What nobody asked for is done `aside`: it takes no place from other jobs, and rests while any of them goes
on. Where servers share a workspace, a job that has its turn asks all of them for leave, from its own thread (leave.py);
while that is refused, it waits again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

from spnmkl.errors import SPNMKLError, Stopped
from spnmkl.memory import available_memory
from spnmkl.threads import default_threads
from spnmkl.ui.state.leave import Leave

T = TypeVar("T")

GRACE_SECONDS = 60.0  # how long an owner may be away
WATCH_SECONDS = 1.0  # between two looks at the owners
MOST_AT_ONCE = max(2, default_threads())
ASIDE_AT_ONCE = 1  # of those that nobody asked for
AT_ONCE_EACH = 0  # of one person who shares the server with others; 0 for as many as there is room for
ROOM = 0.9  # of the free memory may be used
_LOG = logging.getLogger("spnmkl")
SECOND_THOUGHT = 2.0  # seconds after which another Stop is meant
_APOLOGY = "Something went wrong in this training. Your drawing and your data are kept; try again."
_NO_MEMORY = "There is not enough memory; use fewer rows or kernels."


def _unheard(job: Job[Any], state: str) -> None: ...


listener: Callable[[Job[Any], str], None] = _unheard  # told from a job's own thread when it has "started" and ended


def _always() -> bool:
    return True


def _nothing() -> int:
    return 0


promised: Callable[[], int] = _nothing  # bytes that what is done beside the jobs has yet to take


class Job(Generic[T]):
    """Work done in a thread of its own.

    Parameters
    ----------
    work : callable
        Gets the job: it should ask `stopping` now and then and hand back what it has, or call `tick`.
    alive : callable
        Whether somebody still wants the result; it is asked from another thread.
    aside : bool
        Whether it makes way for other jobs: its work should ask `resting` in the place of `stopping`.
    owner : object
        Whose job it is; owners take turns. None stands for itself.
    need : int
        Bytes that it is thought to take; it waits while the others leave less.
    taken : callable
        Bytes of these that it takes already.
    wanted : callable
        Asked now and then from its own thread; it ends where that is false.

    Attributes
    ----------
    state : str
        "waiting", "running", "done", "failed", or "stopped" (asked to stop; there may be a result nevertheless).
    result :
        What the work returned, or None.
    error : str or None
        One sentence.
    words : str
        What is being done.
    done, total : int
        Progress; `total` is 0 where nothing is known.
    records : list
        What the work reported; it only grows, so that readers may copy it at any time.
    person, kind : str
        Who asked for it, on a server for others, and for what.
    """

    person = kind = ""

    def __init__(
        self,
        work: Callable[[Job[T]], T],
        alive: Callable[[], bool] = _always,
        *,
        aside: bool = False,
        owner: object = None,
        need: int = 0,
        taken: Callable[[], int] = _nothing,
        wanted: Callable[[], bool] = _always,
    ) -> None:
        self.aside, self.need, self.taken = aside, need, taken
        self.owner = id(self) if owner is None else id(owner)
        self._wanted = wanted
        self._work: Callable[[Job[T]], T] | None = work
        self._alive = alive
        self._stop, self._given_up = threading.Event(), threading.Event()
        self._finished = threading.Event()
        self.leave = Leave()
        self._seen = self._asked = time.monotonic()
        self._began: float | None = None
        self._ended: float | None = None
        self.state = "waiting"
        self.result: T | None = None
        self.error: str | None = None
        self.words = ""
        self.done = self.total = 0
        self.records: list[Any] = []

    def start(self) -> Self:
        self._seen = time.monotonic()
        if self.stopping:
            self._finish("stopped")
        else:
            _QUEUE.put(self)
        return self

    def stop(self) -> None:
        """Ask the work to end; a job that waits ends at once.

        Asked again later, and not by a double click, the work need not hand back anything.
        """
        if not self.stopping:
            self._asked = time.monotonic()
        elif time.monotonic() - self._asked > SECOND_THOUGHT:
            self._given_up.set()
        self._stop.set()
        if _QUEUE.remove(self):
            self._finish("stopped")

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def resting(self) -> bool:
        """Wait while other jobs go on; whether it was asked to stop meanwhile."""
        while not self.stopping and not _QUEUE.wait_for_calm(WATCH_SECONDS):
            pass
        return self.stopping

    def calm(self) -> bool:
        """Whether no other job that was asked for goes on."""
        return _QUEUE.wait_for_calm(0)

    def attend(self) -> None:
        """Stop it where it is no longer wanted."""
        if not self.stopping and not self._wanted():
            self._stop.set()

    @property
    def waits_for(self) -> str:
        """Why it has not begun, in words."""
        return _QUEUE.why(self)

    @property
    def given_up(self) -> bool:
        """Whether it was asked to stop twice: what it has is not wanted."""
        return self._given_up.is_set()

    @property
    def finished(self) -> bool:
        return self._finished.is_set()

    @property
    def seconds(self) -> float:
        """For how long it has been running, or did."""
        if self._began is None:
            return 0.0
        return (time.monotonic() if self._ended is None else self._ended) - self._began

    def join(self, timeout: float | None = None) -> bool:
        """Wait until it is finished; returns whether it is."""
        return self._finished.wait(timeout)

    def say(self, words: str) -> None:
        self.words = words

    def tick(self, words: str) -> None:
        """Say what is done now, and end the work here if it was asked to stop."""
        self.say(words)
        self.attend()
        if self.resting() if self.aside else self.stopping:
            raise Stopped

    def progress(self, done: int, total: int) -> None:
        self.done, self.total = done, total

    def report(self, record: object) -> None:
        self.records.append(record)

    @property
    def counts_for(self) -> str:
        """Of whom it is one of the jobs of which only so many go on at once; nobody's where that has no limit."""
        return self.person if AT_ONCE_EACH and not self.aside else ""

    @property
    def whose(self) -> int | str:
        """Who takes turns with others: a person with all tabs together, where it is known who that is."""
        return self.person or self.owner

    @property
    def coming(self) -> int:
        """Bytes that it has yet to take."""
        return max(0, self.need - self.taken())

    def _wait_again(self) -> None:
        self._began, self.state = None, "waiting"
        self.leave.hold(WATCH_SECONDS)
        _QUEUE.put_back(self)
        if self.stopping and _QUEUE.remove(self):
            self._finish("stopped")

    def _run(self) -> None:
        assert self._work is not None
        if not self.leave.ask(self.counts_for, self.need, AT_ONCE_EACH, lambda others: _QUEUE.fits(self, others)):
            return self._wait_again()
        state = "failed"
        _tell(self, "started")
        try:
            self.result = self._work(self)
            state = "stopped" if self.stopping else "done"
        except Stopped:
            state = "stopped"
        except SPNMKLError as error:
            self.error = str(error)
        except MemoryError:
            self.error = _NO_MEMORY
        except BaseException:
            _LOG.exception("A job failed")
            self.error = _APOLOGY
        finally:
            self._finish(state)
            self.leave.give_back()
            _QUEUE.release(self)
            _tell(self, state)

    def _finish(self, state: str) -> None:
        self._ended = time.monotonic()
        self.state = state
        self._work, self._alive, self._wanted = None, _always, _always  # they may hold matrices, or a page
        self.taken = _nothing
        self._finished.set()

    def _begin(self) -> None:
        self._began = time.monotonic()
        self.state = "running"
        threading.Thread(target=self._run, name="spnmkl-job", daemon=True).start()

    def _abandoned(self, now: float) -> bool:
        if self._is_wanted():
            self._seen = now
        return now - self._seen > GRACE_SECONDS

    def _is_wanted(self) -> bool:
        try:
            return self._alive()
        except Exception:
            _LOG.exception("Cannot tell whether a job is still wanted")
            return False


class _Queue:
    """The jobs of this process: those that run, and those that wait for their turn."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Job[Any]] = []
        self._running: set[Job[Any]] = set()
        self._calm = threading.Event()
        self._calm.set()
        self._watched = False
        self._turns = 0
        self._served: dict[int | str, int] = {}

    def put(self, job: Job[Any]) -> None:
        with self._lock:
            self._waiting.append(job)
            self._fill()
            if not self._watched:
                self._watched = True
                threading.Thread(target=self._watch, name="spnmkl-watch", daemon=True).start()

    def remove(self, job: Job[Any]) -> bool:
        """Take out a job that waits; whether it did."""
        with self._lock:
            if job not in self._waiting:
                return False
            self._waiting.remove(job)
            return True

    def release(self, job: Job[Any]) -> None:
        with self._lock:
            self._running.discard(job)
            for other in self._waiting:
                other.leave.hold(0)  # it may be let in now
            self._fill()

    def put_back(self, job: Job[Any]) -> None:
        """A job that had its turn and no leave."""
        with self._lock:
            self._running.discard(job)
            self._waiting.insert(0, job)
            self._fill()

    def fits(self, job: Job[Any], others: Sequence[int]) -> bool:
        """Whether a job that has its turn fits beside what other servers' jobs have yet to take, too."""
        with self._lock:
            return self._fits(job, self._running - {job}, others)

    def wait_for_calm(self, seconds: float) -> bool:
        """Whether no job that was asked for goes on, now or within these seconds."""
        return self._calm.wait(seconds)

    def why(self, job: Job[Any]) -> str:
        """What a job that waits waits for."""
        with self._lock:
            ahead = self._in_turn(job.aside)
            place = ahead.index(job) if job in ahead else 0
            running = sum(other.aside == job.aside for other in self._running)
            if _is_at_limit(job, self._running) or job.leave.refused == "limit":
                return f"waiting for another training of yours to end; {AT_ONCE_EACH} of one person go on at once"
            if place == 0 and running < _most(job.aside) and (running or job.leave.refused):
                return f"waiting until {job.need / 1e9:.1f} GB of memory are free"
        others = "another training" if place == 0 else f"{place + 1} other trainings"
        return f"waiting for {others} to end"

    def all(self) -> list[Job[Any]]:
        with self._lock:
            return [*self._running, *self._waiting]

    def _in_turn(self, aside: bool) -> list[Job[Any]]:
        """Those that wait, in the order in which they will begin: owners take turns."""
        waiting = [job for job in self._waiting if job.aside == aside]
        running = Counter(job.whose for job in self._running if job.aside == aside)
        found: list[Job[Any]] = []
        served = dict(self._served)
        while waiting:
            job = min(waiting, key=lambda job: (running[job.whose], served.get(job.whose, 0)))
            running[job.whose] += 1
            served[job.whose] = len(found) + 1 + self._turns
            waiting.remove(job)
            found.append(job)
        return found

    def _fits(self, job: Job[Any], running: set[Job[Any]], others: Sequence[int] = ()) -> bool:
        """Whether there is memory for it beside those that run, which may not have taken all of theirs yet."""
        if job.need == 0 or not (running or others):
            return True
        free = available_memory()
        coming = sum(other.coming for other in running) + sum(others) + promised()
        return free is None or job.need <= ROOM * free - coming

    def _fill(self) -> None:
        for aside in (False, True):
            for job in self._in_turn(aside):
                if _is_at_limit(job, self._running) or job.leave.refused == "limit":
                    continue
                full = sum(running.aside == aside for running in self._running) >= _most(aside)
                if full or job.leave.refused or not self._fits(job, self._running):
                    break
                self._waiting.remove(job)
                self._running.add(job)
                self._turns += 1
                self._served[job.whose] = self._turns
                job._begin()
        self._forget_owners()
        if all(job.aside for job in self._running):
            self._calm.set()
        else:
            self._calm.clear()

    def _forget_owners(self) -> None:
        """Whoever has nothing here has no turn to remember."""
        here = {job.whose for job in (*self._running, *self._waiting)}
        self._served = {owner: turn for owner, turn in self._served.items() if owner in here}

    def _watch(self) -> None:
        while self._look():
            time.sleep(WATCH_SECONDS)

    def _look(self) -> bool:
        """Stop the jobs whose owner stays away; whether there is any job."""
        with self._lock:
            self._fill()  # memory may have become free
            jobs = [*self._running, *self._waiting]
            self._watched = bool(jobs)
        now = time.monotonic()
        for job in jobs:
            if not job.stopping and job._abandoned(now):
                job.stop()
        return bool(jobs)


def _most(aside: bool) -> int:
    return ASIDE_AT_ONCE if aside else MOST_AT_ONCE


def _is_at_limit(job: Job[Any], running: set[Job[Any]]) -> bool:
    mine = sum(not other.aside and other.person == job.person for other in running)
    return bool(job.counts_for) and mine >= AT_ONCE_EACH


def _tell(job: Job[Any], state: str) -> None:
    try:
        listener(job, state)
    except Exception:
        _LOG.exception("A job was not noted")


def going_on() -> list[Job[Any]]:
    """All jobs of this server, of everybody, those that wait last."""
    return _QUEUE.all()


def entered() -> dict[str, tuple[str, int] | None]:
    """By key, whose the jobs are that go on here and what they have yet to take; None for what has no leave so far."""
    running = [job for job in going_on() if job.state == "running"]
    return {job.leave.key: (job.counts_for, job.coming) if job.leave.entered else None for job in running}


_QUEUE = _Queue()
