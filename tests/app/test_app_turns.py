"""Files that many bring at once are read a few at a time, as far as memory goes; who waits is told so."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from spnmkl.ui.parts import notices
from spnmkl.ui.state import apart, jobs, turns
from spnmkl.ui.state.turns import Say, Turns
from spnmkl.workers import Nursery

GB = 1_000_000_000


class Reader:
    """Reads in a thread of its own until it is let go, and keeps what it is told meanwhile."""

    def __init__(self, taking: Turns, need: int = GB, taken: int = 0) -> None:
        self.told: list[str] = []
        self.reads, self.done = threading.Event(), threading.Event()
        self.gone = False
        self.taken = taken
        self._taking, self._need = taking, need
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self) -> None:
        HERE.reader = self
        try:
            with self._taking.turn(self._need, lambda: self.taken):
                self.reads.set()
                self.done.wait(60)
        except ConnectionError:
            pass

    def say(self, words: str) -> None:
        if self.gone:
            raise ConnectionError
        self.told.append(words)

    def end(self) -> None:
        self.done.set()
        self.thread.join(60)
        assert not self.thread.is_alive()


HERE = threading.local()


@contextmanager
def shown() -> Iterator[Say]:
    yield HERE.reader.say


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def free(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of memory."""
    found = [100 * GB]
    monkeypatch.setattr(turns, "available_memory", lambda: found[0])
    monkeypatch.setattr(turns, "LOOK_SECONDS", 0.02)
    monkeypatch.setattr(jobs, "MOST_AT_ONCE", 2)
    return found


def test_so_many_files_are_read_at_once(free: list[int]) -> None:
    taking = Turns()
    taking.shown = shown
    readers = [Reader(taking) for _ in range(2)]
    until(lambda: all(reader.reads.is_set() for reader in readers))
    for k in range(3):
        readers.append(Reader(taking))
        until(lambda: readers[-1].told)
        assert readers[-1].told[0] == f"This file waits until {2 + k} others are read."
    readers[3].gone = True  # somebody closes the page
    readers[3].thread.join(60)
    until(lambda: readers[4].told[-1] == "This file waits until 3 others are read.")
    readers[0].end()
    until(readers[2].reads.is_set)
    assert not readers[4].reads.is_set()
    for reader in (readers[1], readers[2], readers[4]):
        until(reader.reads.is_set)
        reader.end()
    assert taking.coming() == 0


def test_a_file_waits_for_memory_that_was_promised(free: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    taking = Turns()
    taking.shown = shown
    free[0] = GB // 2
    first = Reader(taking, need=2 * GB, taken=GB)
    until(first.reads.is_set)  # one alone may always
    assert taking.coming() == GB
    free[0] = 3 * GB
    training = SimpleNamespace(state="running", coming=2 * GB)
    monkeypatch.setattr(jobs, "going_on", lambda: [training])
    second = Reader(taking)
    until(lambda: second.told)
    assert second.told[0] == "This file waits until there is memory to read it." and not second.reads.is_set()
    training.coming = 0
    until(second.reads.is_set)
    for reader in (first, second):
        reader.end()


def test_a_training_waits_for_memory_that_files_were_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    assert jobs.promised == apart.TURNS.coming
    monkeypatch.setattr(jobs, "available_memory", lambda: 10 * GB)
    promised = [9 * GB]
    monkeypatch.setattr(jobs, "promised", lambda: promised[0])
    go_on = threading.Event()
    first = jobs.Job(lambda job: go_on.wait(60), need=1).start()
    second = jobs.Job(lambda job: None, need=GB).start()
    until(lambda: first.state == "running")
    time.sleep(0.1)
    assert second.state == "waiting"
    promised[0] = 0
    assert second.join(60)
    go_on.set()
    assert first.join(60)


def test_the_page_says_that_a_file_waits() -> None:
    assert apart.TURNS.shown is notices._waiting

    def page() -> None:
        import streamlit as st

        from spnmkl.ui.state.apart import TURNS

        with TURNS.shown() as say:
            say("This file waits.")
            st.stop()

    (said,) = AppTest.from_function(page).run().caption
    assert "This file waits." in said.value


def test_files_wait_for_the_processes_that_read_them(monkeypatch: pytest.MonkeyPatch) -> None:
    nursery = Nursery()
    monkeypatch.setattr(apart, "NURSERY", nursery)
    monkeypatch.setattr(apart, "_began", None)
    assert not apart.is_ready(), "in tests and scripts nobody begins"
    monkeypatch.setattr(apart, "_began", time.monotonic())
    threading.Timer(0.2, lambda: setattr(nursery, "ready", True)).start()
    assert apart.is_ready()
    nursery.ready = False
    monkeypatch.setattr(apart, "START_SECONDS", 0.3)
    assert not apart.is_ready(), "and none stays away for ever"
