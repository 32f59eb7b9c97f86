"""What is sent to another process, and what comes back."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Protocol

from joblib import parallel_config

from spnmkl import __version__
from spnmkl.errors import SPNMKLError, Stopped
from spnmkl.parallel.place import Place
from spnmkl.threads import at_most, single_threaded

ASK_SECONDS = 0.5  # between two looks at a signal, which may be a message to another machine
NEEDED = ("numpy", "scipy", "scikit-learn", "numba")  # that results depend on


@cache
def versions() -> Mapping[str, str]:
    """Of what results depend on."""
    python = ".".join(platform.python_version_tuple()[:2])
    return {"Python": python, "spnmkl": __version__} | {name: _installed(name) for name in NEEDED}


def _installed(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


def differing(where: str, theirs: Mapping[str, str | None], ours: Mapping[str, str]) -> str | None:
    """What to say where a worker has other versions than who sends it work."""
    other = {name: theirs.get(name) for name, own in ours.items() if theirs.get(name) != own}
    if not other:
        return None
    found = ", ".join(f"{name} {has or 'missing'} (here {ours[name]})" for name, has in other.items())
    return f"{where} has {found}: results could differ; install the same versions on all machines."


class Signal(Protocol):
    """How a work elsewhere is asked to stop."""

    def given(self) -> bool: ...


@dataclass(frozen=True)
class FileSignal:
    """For processes of this machine; elsewhere there is no such file."""

    path: str

    def given(self) -> bool:
        return Path(self.path).exists()


@dataclass(frozen=True, eq=False)
class Bag:
    """What all tasks share, and who sent it."""

    work: Callable[..., Any]
    shared: Any
    versions: Mapping[str, str] = field(default_factory=versions)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a work gave, what it said meanwhile, and the error that ended it."""

    given: tuple[Any, ...]
    said: tuple[str, ...] = ()
    error: Exception | None = None


class WorkersLost(Exception):
    """Not all came back, and the reason is no fault of the work: it can be done again."""


Came = tuple[int, Outcome | WorkersLost] | Exception  # what came of an item, or why no more will come


class _Asked:
    """Whether the signal was given, looked up now and then; what is said is kept for who hears it later."""

    def __init__(self, signal: Signal) -> None:
        self._signal, self._next, self._stopped = signal, 0.0, False
        self.said: list[str] = []

    def __call__(self) -> bool:
        if not self._stopped and time.monotonic() >= self._next:
            self._stopped = self._signal.given()
            self._next = time.monotonic() + ASK_SECONDS
        return self._stopped

    def say(self, words: str) -> None:
        self.said.append(words)
        if self():
            raise Stopped


def carried_out(bag: Bag, k: int, item: Any, signal: Signal) -> tuple[int, Outcome]:
    """A task, where it was sent: one thread, nothing that would be sent on from here, and every error brought back."""
    if wrong := differing("A worker", versions(), bag.versions):
        return k, Outcome((), error=SPNMKLError(wrong))
    asked, given, ended = _Asked(signal), list[Any](), None
    try:
        if not asked():
            with parallel_config("sequential"), at_most(1), single_threaded():
                given.extend(bag.work(bag.shared, item, Place(asked, asked.say, 1)))
    except Stopped:
        pass
    except Exception as error:
        ended = error
    return k, Outcome(tuple(given), tuple(asked.said), ended)
