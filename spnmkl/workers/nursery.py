"""The one process that forks, and the children it has brought forth."""

from __future__ import annotations

import logging
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Self

import psutil

from spnmkl.workers.limits import Meter, WorkerError

ANSWER_SECONDS = 20.0  # in which a process is forked, which takes milliseconds
LOAD_SECONDS = 30.0  # for which is waited until another process that forks has loaded, which takes a few
_LOG = logging.getLogger("spnmkl")
_NUMBER = struct.Struct("!q")


class Forker:
    """One process that forks, and our end of the line to it; `process` is None where others end it."""

    def __init__(self, line: socket.socket, process: subprocess.Popen[bytes] | None = None) -> None:
        self.loaded, self.settled = False, threading.Event()
        self._socket, self.process = line, process

    @classmethod
    def started(cls, modules: Sequence[str]) -> Self:
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                command = [sys.executable, "-m", "spnmkl.workers.forking", str(theirs.fileno()), *modules]
                return cls(ours, subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL))
        except BaseException:
            ours.close()
            raise

    def wait(self) -> None:
        """Until it has loaded, however long that takes; an OSError where it ends before."""
        try:
            self._number()
            self._socket.settimeout(ANSWER_SECONDS)
            self.loaded = True
        finally:
            self.settled.set()

    def fork(self, end: socket.socket) -> int:
        """The number of a new process; an OSError where it is not there in time."""
        if not self.loaded:
            raise OSError("The process that forks has not loaded yet.")
        socket.send_fds(self._socket, [b"f"], [end.fileno()])
        return self._number()

    def _number(self) -> int:
        found = b""
        while len(found) < _NUMBER.size:
            piece = self._socket.recv(_NUMBER.size - len(found))
            if not piece:
                raise OSError("The process that forks is gone.")
            found += piece
        return _NUMBER.unpack(found)[0]

    def end(self) -> None:
        """What its children do goes on."""
        if self.process is not None:
            self.process.kill()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(ANSWER_SECONDS)
        self._socket.close()


class Nursery:
    """Starts the process that forks, and asks it for children; `ready` while there is one to be asked.

    Parameters
    ----------
    modules : sequence of str
        What children are to have loaded.
    trained : bool
        Whether they are to have every compiled function loaded too, which takes a few seconds.
    """

    def __init__(self, modules: Sequence[str] = (), trained: bool = True) -> None:
        self._modules = [*modules, *(["spnmkl.precompile"] * trained)]
        self._lock = threading.Lock()
        self._forker: Forker | None = None
        self.ready = False

    def start(self) -> None:
        """Begin to load; returns at once."""
        with self._lock:
            if hasattr(os, "fork") and hasattr(socket, "send_fds") and self._forker is None:
                self._begin()

    def _begin(self) -> Forker:
        forker = self._forker = Forker.started(self._modules)
        threading.Thread(target=self._wait, args=(forker,), name="spnmkl-nursery", daemon=True).start()
        return forker

    def _wait(self, forker: Forker) -> None:
        try:
            forker.wait()
        except OSError:
            if forker is self._forker:
                _LOG.warning("The process that forks did not start; work is done in the server itself.")
            return
        with self._lock:
            self.ready = self.ready or forker is self._forker

    def child(self) -> tuple[Connection, Meter]:
        """A new child: the connection to it, and what it takes."""
        ours, theirs = socket.socketpair()
        try:
            with self._lock, theirs:
                meter = Meter.of(self._forked(theirs))
            return Connection(ours.detach()), meter
        except (OSError, RuntimeError, psutil.Error) as error:  # also where no thread can be started
            ours.close()
            _LOG.warning("No process could be started: %s", error)
            raise WorkerError("No process could be started for this work; try again in a moment.") from error

    def _forked(self, end: socket.socket) -> int:
        if self._forker is None or not self.ready:
            raise OSError("There is no process that forks.")
        try:
            return self._forker.fork(end)
        except OSError:
            return self._replaced(self._forker).fork(end)

    def _replaced(self, gone: Forker) -> Forker:
        """Another process in the place of one that is gone or stuck, as where memory ran out.

        While it loads all who ask wait, since work in the server itself would have no limits; but not for ever.
        """
        _LOG.warning("The process that forks is gone; another one takes its place.")
        gone.end()
        forker = self._begin()
        forker.settled.wait(LOAD_SECONDS)
        self.ready = forker.loaded
        return forker

    def stop(self) -> None:
        """End the process that forks; its children end when their connections are closed."""
        with self._lock:
            forker, self._forker, self.ready = self._forker, None, False
            if forker is not None:
                forker.end()
