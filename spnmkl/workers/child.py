"""In a forked process: does works as they are asked for, each in a thread, until the server hangs up."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any, Protocol

from spnmkl.errors import SPNMKLError, Stopped
from spnmkl.workers.messages import Line, packed, unpacked

_LOG = logging.getLogger("spnmkl")
_PATIENCE = 0.5  # seconds between two looks at whether to rest


class Kept(Protocol):
    """What a child keeps from one work to the next."""

    @property
    def nbytes(self) -> int: ...
    def clear(self) -> None: ...


class RemoteJob:
    """What a work in a child sees of its job: the same methods, whose calls the server hears of."""

    def __init__(self, say: Callable[[tuple[Any, ...]], None], aside: bool) -> None:
        self.aside = aside
        self._send = say
        self._stop, self._given_up, self._go_on = threading.Event(), threading.Event(), threading.Event()
        self._go_on.set()
        self.records: list[Any] = []

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    @property
    def given_up(self) -> bool:
        return self._given_up.is_set()

    def resting(self) -> bool:
        """Wait while other jobs go on; whether it was asked to stop meanwhile."""
        while not self.stopping and not self._go_on.wait(_PATIENCE):
            pass
        return self.stopping

    def say(self, words: str) -> None:
        self._send(("say", words))

    def tick(self, words: str) -> None:
        self.say(words)
        if self.resting() if self.aside else self.stopping:
            raise Stopped

    def progress(self, done: int, total: int) -> None:
        self._send(("progress", done, total))

    def report(self, record: object) -> None:
        self.records.append(record)
        self._send(("report", record))

    def hear(self, word: str) -> None:
        """What the server has to say to this work."""
        if word == "stop":
            self._stop.set()
        elif word == "give up":
            self._given_up.set()
        elif word == "rest":
            self._go_on.clear()
        elif word == "go on":
            self._go_on.set()


class Child:
    """Works by number, what they were given, and what is kept between them."""

    def __init__(self, connection: Connection) -> None:
        self._line = Line(connection)
        self._jobs: dict[int, RemoteJob] = {}
        self._given: dict[int, Any] = {}
        self._names: dict[int, int] = {}
        self._kept: Kept | None = None

    def serve(self) -> None:
        """Until the other end is gone: then there is nobody left to work for."""
        while True:
            try:
                number, content = self._line.receive()
            except (EOFError, OSError):
                os._exit(0)
            kind, *given = unpacked(content, self._given)
            if kind == "keep":
                token, thing = given
                self._given[token], self._names[id(thing)] = thing, token
            elif kind == "only":
                self._given = {token: thing for token, thing in self._given.items() if token in given[0]}
                self._names = {id(thing): token for token, thing in self._given.items()}
            elif kind == "clear":
                if self._kept is not None:
                    self._kept.clear()
                    self._tell(number, ("kept", self._kept.nbytes))
            elif kind == "do":
                self._begin(number, *given)
            elif number in self._jobs:
                self._jobs[number].hear(kind)

    def _begin(self, number: int, keeping: Callable[[], Kept] | None, aside: bool, work: Any, given: Any) -> None:
        if self._kept is None and keeping is not None:
            self._kept = keeping()
        job = self._jobs[number] = RemoteJob(lambda said: self._tell(number, said), aside)
        threading.Thread(target=self._do, args=(number, job, work, given), daemon=True).start()

    def _do(self, number: int, job: RemoteJob, work: Any, given: tuple[Any, ...]) -> None:
        try:
            said: tuple[Any, ...] = ("done", work(job, self._kept, *given))
        except Stopped:
            said = ("stopped",)
        except SPNMKLError as error:
            said = ("wrong", str(error), type(error))
        except MemoryError:
            said = ("no memory",)
        except BaseException:
            _LOG.exception("A work failed")
            said = ("failed",)
        self._jobs.pop(number, None)
        if self._kept is not None:
            self._tell(number, ("kept", self._kept.nbytes))
        try:
            self._tell(number, said)
        except MemoryError:
            self._tell(number, ("no memory",))
        except Exception:  # whoever waits must hear of it
            _LOG.exception("What a work gives cannot be sent")
            self._tell(number, ("failed",))

    def _tell(self, number: int, said: tuple[Any, ...]) -> None:
        names = self._names
        content = packed(said, (lambda thing: names.get(id(thing))) if names else None)
        try:
            self._line.send(number, content)
        except OSError:
            os._exit(0)
