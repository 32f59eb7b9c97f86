"""Work sent to a Dask scheduler: one copy of the data for every worker, and futures that tell how they ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from distributed import Client, Event, Future, KilledWorker

from spnmkl.errors import SPNMKLError
from spnmkl.parallel.task import Bag, Came, WorkersLost, carried_out

LOOK_SECONDS = 0.2


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
    """Items as futures. Dask itself does again what was lost with a worker, as long as another one has the data."""

    def __init__(
        self, client: Client, bag: Bag, items: Mapping[int, Any], stop: Callable[[], bool], wait: float
    ) -> None:
        self.arrived: SimpleQueue[Came] = SimpleQueue()
        self._event = Event(f"spnmkl-stop-{uuid4().hex}", client)
        try:
            _wait_for_a_worker(client, stop, wait)
            data = _given_to_all(client, bag, stop)
            signal = DaskSignal(self._event.name)
            self._futures = [client.submit(carried_out, data, k, item, signal, pure=False) for k, item in items.items()]
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
        except Exception as error:
            if future.status == "error":
                self.arrived.put(
                    SPNMKLError(
                        f"A worker could not take its part ({_words(error)}); install the same version of spnmkl, with "
                        "all that it needs, on all machines."
                    )
                )
            else:
                self.arrived.put((k, WorkersLost(_words(error))))

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


def _wait_for_a_worker(client: Client, stop: Callable[[], bool], seconds: float) -> None:
    """Those that were lost may be started again, which takes seconds."""
    until = time.monotonic() + seconds
    while not client.nthreads():
        if stop():
            raise WorkersLost("stopped")
        if time.monotonic() > until:
            raise SPNMKLError(f"The Dask scheduler had no worker for {seconds:g} s; start some: dask worker ADDRESS.")
        time.sleep(LOOK_SECONDS)


def _given_to_all(client: Client, bag: Bag, stop: Callable[[], bool]) -> Future:
    """A copy for every worker, by tasks: Dask does these elsewhere where a worker is lost.

    Its own broadcast tries to reach a worker that is gone without end, and no other one begins meanwhile.
    """
    data = _sent(client, bag, stop)
    for copy in [
        client.submit(_held, data, workers=[address], allow_other_workers=True, pure=False)
        for address in client.nthreads()
    ]:
        while not copy.done():
            if stop():
                raise WorkersLost("stopped")
            time.sleep(LOOK_SECONDS / 10)
        if copy.status != "finished":
            raise WorkersLost("the worker that had the data ended")
    return data


def _sent(client: Client, bag: Bag, stop: Callable[[], bool]) -> Future:
    """To one worker; Dask knows at once where one ends meanwhile, yet tries to send it the data for half a minute."""
    sent: SimpleQueue[Future | BaseException] = SimpleQueue()
    workers = client.nthreads().keys()

    def send() -> None:
        try:
            sent.put(client.scatter(bag, hash=False))
        except BaseException as error:  # also that the client was closed
            sent.put(error)

    threading.Thread(target=send, name="spnmkl-dask", daemon=True).start()
    while True:
        try:
            found = sent.get(timeout=LOOK_SECONDS)
        except Empty:
            if stop():
                raise WorkersLost("stopped") from None
            if workers - client.nthreads().keys():
                raise WorkersLost("a worker ended while it was sent the data") from None
            continue
        if isinstance(found, BaseException):
            raise WorkersLost(_words(found)) from found
        return found


def _held(bag: Bag) -> None:
    """Whoever does this keeps its copy as long as somebody needs the data."""


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
