"""The files that a tab uploaded last, kept so that they can be read otherwise later (no Streamlit here)."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from spnmkl.data import Joining, ReadOptions

MOST_KEPT_BYTES = 50_000_000
ALL_KEPT_BYTES = 500_000_000  # of all visits together
Readings = dict[str, ReadOptions | int]  # a number: guess how the file is written below so many lines


class File(Protocol):
    """As Streamlit's uploader gives it."""

    @property
    def file_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    def getvalue(self) -> bytes: ...


@dataclass(frozen=True)
class KeptFile:
    file_id: str
    name: str
    data: bytes = field(repr=False)

    @property
    def size(self) -> int:
        return len(self.data)

    def getvalue(self) -> bytes:
        return self.data


@dataclass
class UploadedFiles:
    """Files, and how the person said that they are to be read.

    Attributes
    ----------
    ids : which files these are.
    kept : the files themselves; none where they are too large together, or `dropped` from memory because others were
        uploaded.
    readings : file → how it is read, where that is not as it was guessed.
    joining : how several belong together.
    read_last : which files, read in which way, were made the data last.
    """

    ids: tuple[str, ...] = ()
    kept: tuple[KeptFile, ...] = ()
    readings: Readings = field(default_factory=dict)
    joining: Joining = field(default_factory=Joining)
    read_last: tuple[object, object] | None = None
    dropped: bool = False

    def keep(self, files: Sequence[File]) -> None:
        """These files from now on."""
        ids = tuple(file.file_id for file in files)
        if ids == self.ids:
            return
        if len(ids) != len(self.ids) or not set(ids) & set(self.ids):
            self.joining = Joining()
        self.ids, self.read_last, self.dropped = ids, None, False
        self.readings = {id: options for id, options in self.readings.items() if id in ids}
        small = sum(file.size for file in files) <= MOST_KEPT_BYTES
        self.kept = tuple(KeptFile(file.file_id, file.name, file.getvalue()) for file in files) if small else ()
        _make_room(self)

    def take_back(self, kept: tuple[KeptFile, ...]) -> None:
        """The same files, from where they were kept; none where they cannot be had."""
        self.kept, self.dropped = kept, bool(self.ids) and not kept
        _make_room(self)


_keeping: list[weakref.ref[UploadedFiles]] = []
_lock = threading.Lock()


def _make_room(newest: UploadedFiles) -> None:
    """Take the files of other visits from memory, those used longest ago first, until all are within the bound."""
    with _lock:
        found = [ref() for ref in _keeping]
        others = [files for files in found if files is not None and files is not newest and files.kept]
        held = sum(file.size for files in (*others, newest) for file in files.kept)
        while others and held > ALL_KEPT_BYTES:
            oldest = others.pop(0)
            held -= sum(file.size for file in oldest.kept)
            oldest.kept, oldest.dropped = (), True
        _keeping[:] = [weakref.ref(files) for files in (*others, newest)]
