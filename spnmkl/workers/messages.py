"""What server and child say to each other: pickles in which large things that both hold are named, not copied."""

from __future__ import annotations

import io
import pickle
import struct
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

_NUMBER = struct.Struct("!q")


class Line:
    """One end of the connection; each message belongs to a work by its number."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = Lock()

    def send(self, number: int, content: bytes) -> None:
        with self._lock:
            self._connection.send_bytes(_NUMBER.pack(number) + content)

    def receive(self) -> tuple[int, bytes]:
        """Raises EOFError or OSError where the other end is gone."""
        message = self._connection.recv_bytes()
        return _NUMBER.unpack_from(message)[0], message[_NUMBER.size :]

    def close(self) -> None:
        self._connection.close()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, name_of: Callable[[Any], int | None]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._name_of = name_of

    def persistent_id(self, obj: Any) -> int | None:
        return self._name_of(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, known: Mapping[int, Any]) -> None:
        super().__init__(file)
        self._known = known

    def persistent_load(self, pid: Any) -> Any:
        return self._known[pid]


def packed(content: object, name_of: Callable[[Any], int | None] | None = None) -> bytes:
    """A pickle; things that `name_of` gives a number are left out of it."""
    if name_of is None:
        return pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    file = io.BytesIO()
    _Pickler(file, name_of).dump(content)
    return file.getvalue()


def unpacked(content: bytes, known: Mapping[int, Any]) -> Any:
    return _Unpickler(io.BytesIO(content), known).load()
