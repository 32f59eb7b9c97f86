"""A process with the package loaded that does nothing but fork: ``python -m spnmkl.workers.forking FD MODULE …``."""

from __future__ import annotations

import gc
import os
import signal
import socket
import struct
import sys
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import Connection

from spnmkl.workers.child import Child

NUMBER = struct.Struct("!q")


def main(server: socket.socket, modules: list[str]) -> None:
    """Load, say so, and fork a child for every connection that is handed over, until the server is gone."""
    for asked_to_end in (signal.SIGINT, signal.SIGTERM):
        # Sent to a whole group, they are meant for the server: it saves what goes on, and then hangs up.
        signal.signal(asked_to_end, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # so that children leave nothing behind
    for module in modules:
        loaded = import_module(module)
        if module == "spnmkl.precompile":
            loaded.prepare()
    gc.collect()
    gc.freeze()  # pages that no collection touches stay shared
    server.sendall(NUMBER.pack(os.getpid()))
    while True:
        asked, handed, *_ = socket.recv_fds(server, 1, 1)
        if not asked:
            return
        child = os.fork()
        if child == 0:
            server.close()
            _live(handed[0])
        os.close(handed[0])
        server.sendall(NUMBER.pack(child))


def _live(handed: int) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        Child(Connection(handed)).serve()
    finally:
        os._exit(1)


if __name__ == "__main__":
    with suppress(BrokenPipeError, ConnectionResetError):  # the server ended before all was loaded
        main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
