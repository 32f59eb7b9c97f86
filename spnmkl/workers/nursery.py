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
from multiprocessing.connection import Connection

from spnmkl.workers.limits import Meter

_LOG = logging.getLogger("spnmkl")
_NUMBER = struct.Struct("!q")


class Nursery:
    """Starts the process that forks, and asks it for children; `ready` once it has loaded what they need.

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
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self.ready = False

    def start(self) -> None:
        """Begin to load; returns at once."""
        if not hasattr(os, "fork") or not hasattr(socket, "send_fds") or self._process is not None:
            return
        self._begin()
        threading.Thread(target=self._wait, name="spnmkl-nursery", daemon=True).start()

    def _begin(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-m", "spnmkl.workers.forking", str(theirs.fileno()), *self._modules]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        self._socket = ours

    def _wait(self) -> None:
        try:
            self._number()
            self.ready = True
        except OSError:
            _LOG.warning("The process that forks did not start; work is done in the server itself.")

    def child(self) -> tuple[Connection, Meter]:
        """A new child: the connection to it, and what it takes."""
        ours, theirs = socket.socketpair()
        try:
            with self._lock, theirs:
                try:
                    pid = self._forked(theirs)
                except OSError:
                    self._replace()
                    pid = self._forked(theirs)
            return Connection(ours.detach()), Meter.of(pid)
        except OSError:
            ours.close()
            self.ready = False
            raise

    def _forked(self, end: socket.socket) -> int:
        assert self._socket is not None
        socket.send_fds(self._socket, [b"f"], [end.fileno()])
        return self._number()

    def _replace(self) -> None:
        """Another process in the place of one that is gone, as where memory ran out; what its children do goes on."""
        if self._process is None or self._socket is None:
            raise OSError("The process that forks is gone.")
        _LOG.warning("The process that forks is gone; another one takes its place.")
        self._socket.close()
        self._process.kill()
        self._process.wait()
        self._begin()
        self._number()

    def _number(self) -> int:
        assert self._socket is not None
        found = b""
        while len(found) < _NUMBER.size:
            piece = self._socket.recv(_NUMBER.size - len(found))
            if not piece:
                raise OSError("The process that forks is gone.")
            found += piece
        return _NUMBER.unpack(found)[0]

    def stop(self) -> None:
        """End the process that forks; its children end when their connections are closed."""
        self.ready = False
        if self._socket is not None:
            self._socket.close()
        if self._process is not None:
            self._process.wait(10)
        self._process = self._socket = None
