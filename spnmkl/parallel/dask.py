"""Work sent to a Dask scheduler: the data to one worker, and futures that tell how they ended."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

import numpy as np
from distributed import Client, Event, Future, KilledWorker
from distributed.protocol.pickle import dumps, loads
from numpy.typing import NDArray

from spnmkl.errors import SPNMKLError
from spnmkl.parallel.task import Bag, Came, Outcome, Signal, WorkersLost, carried_out

LOOK_SECONDS = 0.2
STUCK_SECONDS = 10.0  # for which tasks may lie at a worker that has no memory to begin them
MOST_SENT = 3  # workers that are sent the data in a round, until one has them
Parts = tuple[bytes, list[NDArray[np.uint8]]]


@dataclass(frozen=True)
class DaskSignal:
    """An event that the scheduler keeps."""

    name: str

    def given(self) -> bool:
        try:
            return bool(Event(self.name).is_set())
        except Exception:  # a worker that cannot ask goes on
            return False


class DaskRound:
    """Items as futures; workers that are free take them, and fetch the data from one that has them.

    Dask itself does again what was lost with a worker, as long as another one has the data; else it cancels what is
    left.
    """

    def __init__(
        self, client: Client, bag: Bag, items: Mapping[int, Any], stop: Callable[[], bool], wait: float
    ) -> None:
        self.arrived: SimpleQueue[Came] = SimpleQueue()
        self._client, self._next_look, self._stuck = client, time.monotonic() + STUCK_SECONDS, set[Any]()
        name, parts = f"spnmkl-{uuid4().hex}", _packed(bag)
        self._event = Event(f"{name}-stop", client)
        try:
            _wait_for_a_worker(client, stop, wait)
            data, signal = _sent(client, name, parts, stop), DaskSignal(self._event.name)
            self._futures = [
                client.submit(
                    _done, data, k, item, signal, key=(name, k), workers=at, allow_other_workers=at is not None
                )
                for (k, item), at in zip(items.items(), _places(client, len(items)), strict=True)
            ]
        except (SPNMKLError, WorkersLost):
            raise
        except Exception as error:  # such as a scheduler that is gone
            raise WorkersLost(_words(error)) from error
        for k, future in zip(items, self._futures, strict=True):
            future.add_done_callback(partial(self._arrive, k))

    def _arrive(self, k: int, future: Future) -> None:
        try:
            self.arrived.put(future.result())
        except KilledWorker as error:
            self.arrived.put(
                SPNMKLError(
                    f"A training killed worker after worker ({error}); give them more memory, or use fewer rows."
                )
            )
        except BaseException as error:  # also that the client was closed
            if future.status == "error":
                self.arrived.put(
                    SPNMKLError(
                        f"A worker could not take its part ({_words(error)}); install the same version of spnmkl, with "
                        "all that it needs, on all machines."
                    )
                )
            else:
                self.arrived.put((k, WorkersLost(_words(error))))

    def look(self) -> None:
        """Give up what lies at workers without memory to begin it: Dask leaves it there, also where others are idle."""
        if time.monotonic() < self._next_look:
            return
        with suppress(Exception):  # a scheduler that is gone is told by the futures
            before, self._stuck = self._stuck, _stuck(self._client)
            for future in self._futures:
                if future.key in before & self._stuck:
                    future.cancel(reason="the worker had no memory left to begin it")
        self._next_look = time.monotonic() + STUCK_SECONDS

    def ask_to_stop(self) -> None:
        with suppress(Exception):  # a scheduler that is gone has nothing to stop
            self._event.set()

    def close(self) -> None:
        """The futures are forgotten; those still at work see the event, which must stay for them."""
        if any(not future.done() for future in self._futures):
            self.ask_to_stop()
        for future in self._futures:
            with suppress(Exception):
                future.cancel()


def _packed(bag: Bag) -> Parts:
    """What every worker can take, its arrays apart and not copied; a task opens it, and tells where it cannot.

    Dask itself waits for ever where a worker cannot open what it fetched from another one (dask/distributed#6705).
    """
    buffers: list[pickle.PickleBuffer] = []
    content = dumps(bag, buffer_callback=buffers.append)
    return content, [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]


def _done(parts: Parts, k: int, item: Any, signal: Signal) -> tuple[int, Outcome]:
    content, buffers = parts
    return carried_out(loads(content, buffers=buffers), k, item, signal)


def _stuck(client: Client) -> set[Any]:
    """Keys of tasks at workers that are paused, and do nothing that would give memory back."""
    known = client.scheduler_info(n_workers=-1)["workers"]
    paused = {address for address, one in known.items() if one["status"] == "paused"}
    idle = {address for address in paused if not known[address]["metrics"]["task_counts"].get("executing")}
    return {key for address, keys in client.processing().items() if address in idle for key in keys}


def _takers(client: Client) -> dict[str, int]:
    """Workers that take tasks, and how many more threads than tasks they have; the most idle first."""
    # Not by `scheduler_info`, which the client itself overwrites now and then with one that names no workers.
    scheduler: Any = client.scheduler
    tasks, running = client.processing(), client.sync(scheduler.ncores_running, workers=None)
    idle = {address: threads - len(tasks.get(address, ())) for address, threads in running.items()}
    return dict(sorted(idle.items(), key=lambda one: -one[1]))


def _wait_for_a_worker(client: Client, stop: Callable[[], bool], seconds: float) -> None:
    """Those that were lost may be started again, which takes seconds; those without memory may have some again."""
    until = time.monotonic() + seconds
    while not _takers(client):
        if stop():
            raise WorkersLost("stopped")
        if time.monotonic() > until:
            raise SPNMKLError(
                f"The Dask scheduler had no worker for {seconds:g} s, or none with memory left; start some: "
                "dask worker ADDRESS."
            )
        time.sleep(LOOK_SECONDS)


def _places(client: Client, n: int) -> list[str | None]:
    """Where each of n tasks goes first: to an idle thread; to any worker where there is none.

    Dask would give them to the one worker that has the data, until they are more than two for each thread; those wait
    at the scheduler for whoever is free.
    """
    takers, most = _takers(client), 2 * sum(client.nthreads().values())
    free = [at for k in range(max(takers.values(), default=0)) for at, idle in takers.items() if idle > k]
    free = free or list(takers)
    return [free[k % len(free)] if free and k < most else None for k in range(n)]


def _sent(client: Client, name: str, parts: Parts, stop: Callable[[], bool]) -> Future:
    """To one worker, or to the next where that is lost meanwhile; not to all, which large data could end one by one."""
    reason = "no worker takes tasks"
    for k, address in enumerate([*_takers(client)][:MOST_SENT]):
        try:
            return _sent_to(address, client, (f"{name}-data", k), parts, stop)
        except WorkersLost as lost:
            if stop() or not client.nthreads():
                raise
            reason = str(lost)
    raise WorkersLost(reason)


def _sent_to(address: str, client: Client, key: tuple[str, int], parts: Parts, stop: Callable[[], bool]) -> Future:
    """Dask knows at once where the worker ends meanwhile, yet tries to send it the data for half a minute."""
    sent: SimpleQueue[Future | BaseException] = SimpleQueue()

    def send() -> None:
        try:
            sent.put(client.scatter({key: parts}, workers=[address], timeout=LOOK_SECONDS)[key])
        except BaseException as error:  # also that the client was closed
            sent.put(error)

    threading.Thread(target=send, name="spnmkl-dask", daemon=True).start()
    while True:
        try:
            found = sent.get(timeout=LOOK_SECONDS)
        except Empty:
            if stop():
                raise WorkersLost("stopped") from None
            if address not in client.nthreads():
                raise WorkersLost("a worker ended while it was sent the data") from None
            continue
        if isinstance(found, BaseException):
            raise WorkersLost(_words(found)) from found
        return found


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
