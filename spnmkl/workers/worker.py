"""A child as the server sees it: works are sent to it, watched, and ended where they take too much."""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, Protocol

from spnmkl.errors import Stopped
from spnmkl.workers.child import Kept
from spnmkl.workers.limits import Limits, WorkerError
from spnmkl.workers.messages import Line, packed, unpacked
from spnmkl.workers.nursery import Nursery

LOOK_SECONDS = 0.1  # between two looks at whether to stop
WATCH_SECONDS = 0.25  # between two looks at memory and time
DEAF_SECONDS = 10.0  # after which a work that was given up and does not end is ended with its process
_TOKENS = itertools.count(1)


class Following(Protocol):
    """Who asked for a work: hears of it, and may ask it to stop."""

    aside: bool

    @property
    def stopping(self) -> bool: ...
    @property
    def given_up(self) -> bool: ...
    def calm(self) -> bool: ...
    def attend(self) -> None: ...
    def say(self, words: str) -> None: ...
    def progress(self, done: int, total: int) -> None: ...
    def report(self, record: object) -> None: ...


class _Process:
    """A living child, the works in it, and the things that it holds a copy of."""

    def __init__(self, nursery: Nursery) -> None:
        connection, self.meter = nursery.child()
        self.line = Line(connection)
        self.lock = threading.Lock()
        self.inboxes: dict[int, SimpleQueue[bytes | None]] = {}
        self.used: dict[int, set[int]] = {}
        self.held: dict[int, Any] = {}
        self.kept = 0
        self.idle_since = time.monotonic()
        self.why = ""
        self.gone = False
        threading.Thread(target=self._listen, name="spnmkl-child", daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                number, content = self.line.receive()
            except (EOFError, OSError):
                break
            inbox = self.inboxes.get(number)
            if inbox is not None:
                inbox.put(content)
        self.line.close()
        with self.lock:
            self.gone = True
            inboxes = list(self.inboxes.values())
        for inbox in inboxes:
            inbox.put(None)

    def end(self, why: str = "") -> None:
        """Kill it, upon which the listening thread closes the connection; `why` is said to whoever waits for it."""
        self.why = self.why or why
        self.gone = True
        self.meter.kill()


def _nothing() -> None: ...


class Worker:
    """A process of one's own, brought forth when there is work, which keeps what it has computed for the next.

    Parameters
    ----------
    nursery : Nursery
    keeping : callable, optional
        Makes, in the child, what is kept there between works.
    shared : tuple of types
        What is sent once, and is the same thing when it comes back.
    """

    _all: ClassVar[weakref.WeakSet[Worker]] = weakref.WeakSet()
    _looking: ClassVar[threading.Lock] = threading.Lock()  # a set that grows cannot be looked through

    def __init__(
        self, nursery: Nursery, keeping: Callable[[], Kept] | None = None, shared: tuple[type, ...] = ()
    ) -> None:
        self._nursery, self._keeping, self._shared = nursery, keeping, shared
        self._process: _Process | None = None
        self._ending: Callable[[], object] = _nothing
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self._tokens: dict[int, tuple[weakref.ref[Any], int]] = {}

    @property
    def kept_bytes(self) -> int:
        """Of what the child keeps while it has nothing to do."""
        process = self._process
        return 0 if process is None or process.gone or process.inboxes else process.kept

    @property
    def taken(self) -> int:
        """Bytes that the child takes now."""
        process = self._process
        return 0 if process is None or process.gone else process.meter.taken()

    @classmethod
    def living(cls) -> list[Worker]:
        """Those with a child, that idle longest first."""
        with cls._looking:
            known = list(cls._all)
        found = [worker for worker in known if (process := worker._process) is not None and not process.gone]
        return sorted(found, key=lambda worker: worker._process.idle_since if worker._process is not None else 0.0)

    @property
    def idle(self) -> bool:
        process = self._process
        return process is not None and not process.inboxes

    def close_if_idle(self) -> None:
        """End the child where it has nothing to do."""
        with self._lock:
            process = self._process
            if process is not None and not process.inboxes:
                self._process = None
                self._ending()

    def close(self) -> None:
        """End the child, and what it does."""
        with self._lock:
            self._process = None
            self._ending()

    def do(self, job: Following, limits: Limits, work: Callable[..., Any], *given: Any) -> Any:
        """What `work(job, kept, *given)` gives in the child; its calls of the job's methods happen here."""
        while (sent := self._send(process := self._living(), job.aside, work, given)) is None:
            pass  # it was ended for having nothing to do
        number, inbox = sent
        try:
            return self._follow(process, number, inbox, job, limits)
        finally:
            with process.lock:
                process.inboxes.pop(number, None)
                process.used.pop(number, None)
            process.idle_since = time.monotonic()

    def _living(self) -> _Process:
        with self._lock:
            if self._process is None or self._process.gone:
                self._ending()  # of the one before, with all that it held
                self._process = _Process(self._nursery)
                self._ending = weakref.finalize(self, self._process.end)
                with Worker._looking:
                    Worker._all.add(self)
            return self._process

    def _send(
        self, process: _Process, aside: bool, work: Any, given: tuple[Any, ...]
    ) -> tuple[int, SimpleQueue[bytes | None]] | None:
        used: dict[int, Any] = {}

        def name_of(thing: Any) -> int | None:
            if not isinstance(thing, self._shared):
                return None
            token = self._token(thing)
            used[token] = thing
            return token

        content = packed(("do", self._keeping, aside, work, given), name_of if self._shared else None)
        number, inbox = next(self._numbers), SimpleQueue[bytes | None]()
        try:
            with self._lock:  # what is sent belongs together
                if self._process is not process:
                    return None
                with process.lock:
                    process.inboxes[number], process.used[number] = inbox, set(used)
                    wanted = set().union(*process.used.values())
                    process.held = {token: thing for token, thing in process.held.items() if token in wanted}
                    new = {token: thing for token, thing in used.items() if token not in process.held}
                    process.held |= new
                process.line.send(0, packed(("only", wanted)))
                for token, thing in new.items():
                    process.line.send(0, packed(("keep", token, thing)))
                process.line.send(number, content)
        except OSError:
            inbox.put(None)
        if process.gone:
            inbox.put(None)
        return number, inbox

    def _token(self, thing: Any) -> int:
        """The number of a thing: the same as long as it lives, however equal to others it is."""
        known, token = self._tokens.get(id(thing), (None, 0))
        if known is None or known() is not thing:
            self._tokens = {key: found for key, found in self._tokens.items() if found[0]() is not None}
            token = next(_TOKENS)
            self._tokens[id(thing)] = weakref.ref(thing), token
        return token

    def _follow(
        self, process: _Process, number: int, inbox: SimpleQueue[bytes | None], job: Following, limits: Limits
    ) -> Any:
        told: set[str] = set()
        began, looked = process.meter.seconds(), time.monotonic()
        given_up: float | None = None
        while True:
            try:
                content = inbox.get(timeout=LOOK_SECONDS)
            except Empty:
                content = b""
            if content is None:
                raise WorkerError(process.why or limits.lost())
            if content:
                said = unpacked(content, process.held)
                if said[0] == "done":
                    return said[1]
                self._hear(process, job, said, limits)
            self._tell(process, number, job, told)
            if job.given_up:
                given_up = given_up or time.monotonic()
                if time.monotonic() - given_up > DEAF_SECONDS:
                    process.end("This work was ended with another one, which did not stop when asked; try again.")
                    raise Stopped
            if time.monotonic() - looked > WATCH_SECONDS:
                looked = time.monotonic()
                if why := limits.exceeded(process.meter.taken(), process.meter.seconds() - began):
                    process.end(why)
                    raise WorkerError(why)

    def _hear(self, process: _Process, job: Following, said: tuple[Any, ...], limits: Limits) -> None:
        match said:
            case ("say", words):
                job.say(words)
            case ("progress", done, total):
                job.progress(done, total)
            case ("report", record):
                job.report(record)
            case ("kept", n_bytes):
                process.kept = n_bytes
            case ("stopped",):
                raise Stopped
            case ("wrong", sentence, kind):
                raise kind(sentence)
            case ("no memory",):
                raise MemoryError
            case _:
                raise RuntimeError("A work failed in its process, which has written why to the log.")

    def _tell(self, process: _Process, number: int, job: Following, told: set[str]) -> None:
        """Pass on what the one who asked wants, once."""
        job.attend()
        wishes = {"stop": job.stopping, "give up": job.given_up, "rest": job.aside and not job.calm()}
        for wish, wanted in wishes.items():
            word = wish if wanted else "go on" if wish == "rest" and wish in told else ""
            if not word or (wanted and wish in told):
                continue
            (told.add if wanted else told.discard)(wish)
            try:
                process.line.send(number, packed((word,)))
            except OSError:
                return  # the listening thread says that it is gone
