"""Work that a backend of joblib does in other processes or machines: sent, followed, done again where it is lost."""

from __future__ import annotations

import math
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from joblib import Parallel, delayed, effective_n_jobs

from spnmkl.errors import SPNMKLError
from spnmkl.parallel.task import Bag, Came, FileSignal, Outcome, WorkersLost, carried_out
from spnmkl.wording import counted

LOOK_SECONDS = 0.1  # between two looks at whether to stop
FIRST_SECONDS, AGAIN_SECONDS = 20.0, 300.0  # to wait for a worker, at first and where all were lost
PATIENCE = 10.0  # seconds in which works that were asked to stop may hand back what they have
PAUSE = 2.0  # seconds before another round, in which it becomes known who is lost
MOST_LOST = 3  # rounds in a row that give nothing before what kills workers is taken to be the work itself


class Round(Protocol):
    """Some items on their way, and what came of them."""

    arrived: SimpleQueue[Came]

    def look(self) -> None:
        """Called often while nothing arrives."""
        ...

    def ask_to_stop(self) -> None: ...
    def close(self) -> None:
        """Ask what still goes on to stop, without waiting for it."""
        ...


def done_elsewhere(
    backend: Any,
    work: Callable[..., Any],
    shared: object,
    items: Sequence[Any],
    stop: Callable[[], bool],
    say: Callable[[str], object],
) -> Generator[Any, None, None]:
    """What works give, item by item; a work's own error is raised as it is."""
    bag, left, lost = Bag(work, shared), dict(enumerate(items)), 0
    while left:
        before = len(left)
        try:
            with closing(_round(backend, bag, dict(left), stop, AGAIN_SECONDS if lost else FIRST_SECONDS)) as sent:
                for k, outcome in _followed(sent, len(left), stop):
                    del left[k]
                    yield from outcome.given
                    if outcome.error is not None:
                        raise outcome.error
                    for words in outcome.said:
                        say(words)
            return
        except WorkersLost as reason:
            lost = 1 if len(left) < before else lost + 1
            if stop():
                return
            if lost >= MOST_LOST:
                raise SPNMKLError(
                    f"The workers that {counted(len(left), 'training')} ran on were lost {MOST_LOST} times ({reason}); "
                    "give them more memory, or use fewer rows or kernels."
                ) from None
            time.sleep(lost * PAUSE)


def _followed(sent: Round, n: int, stop: Callable[[], bool]) -> Iterator[tuple[int, Outcome]]:
    """What arrives, until all did; once stopped, what arrives soon."""
    until, lost = math.inf, None
    while n and time.monotonic() < until:
        if until == math.inf and stop():
            sent.ask_to_stop()
            until = time.monotonic() + PATIENCE
        try:
            came = sent.arrived.get(timeout=LOOK_SECONDS)
        except Empty:
            sent.look()
            continue
        if isinstance(came, Exception):
            raise came
        k, outcome = came
        n -= 1
        if isinstance(outcome, WorkersLost):
            lost = outcome
        else:
            yield k, outcome
    if lost is not None and until == math.inf:
        raise lost


def _round(backend: Any, bag: Bag, items: Mapping[int, Any], stop: Callable[[], bool], wait: float) -> Round:
    # joblib's own way to Dask waits for ever for a task that Dask gave up, as it does where a worker was killed.
    if type(backend).__name__ == "DaskDistributedBackend":
        from spnmkl.parallel.dask import DaskRound

        return DaskRound(backend.client, bag, items, stop, wait)
    return _JoblibRound(backend, bag, items)


class _JoblibRound:
    """By `joblib.Parallel`, from a thread of its own, so that this one can look at whether to stop."""

    def __init__(self, backend: Any, bag: Bag, items: Mapping[int, Any]) -> None:
        self.arrived: SimpleQueue[Came] = SimpleQueue()
        self._folder = Path(tempfile.mkdtemp(prefix="spnmkl-"))
        self._signal = FileSignal(str(self._folder / "stop"))
        if getattr(backend, "supports_return_generator", False):
            run, at_once = Parallel(return_as="generator_unordered"), len(items)
        else:
            run, at_once = Parallel(), max(1, effective_n_jobs())
        threading.Thread(target=self._run, args=(run, at_once, bag, items), name="spnmkl-joblib", daemon=True).start()

    def _run(self, run: Parallel, at_once: int, bag: Bag, items: Mapping[int, Any]) -> None:
        left = list(items.items())
        try:
            while left:
                some, left = left[:at_once], left[at_once:]
                for came in run(delayed(carried_out)(bag, k, item, self._signal) for k, item in some):
                    self.arrived.put(came)
        except Exception as error:  # of the backend: a work's own comes back as an outcome
            self.arrived.put(WorkersLost(f"{type(error).__name__}: {error}"))
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)

    def look(self) -> None:
        """The backend looks after its workers."""

    def ask_to_stop(self) -> None:
        with suppress(OSError):  # all is done, and the folder removed
            Path(self._signal.path).touch()

    def close(self) -> None:
        self.ask_to_stop()
