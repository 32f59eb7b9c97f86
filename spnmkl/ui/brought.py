"""The files that a tab uploaded last, kept so that they can be read otherwise later (no Streamlit here)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from spnmkl.data import Joining, ReadOptions

MOST_KEPT_BYTES = 50_000_000
Readings = dict[str, ReadOptions | int]  # a number: guess how the file is written below so many lines


class File(Protocol):
    """As Streamlit's uploader gives it."""

    @property
    def file_id(self) -> str: ...
    @property
    def name(self) -> str: ...
    def getvalue(self) -> bytes: ...


@dataclass(frozen=True)
class KeptFile:
    file_id: str
    name: str
    data: bytes = field(repr=False)

    def getvalue(self) -> bytes:
        return self.data


@dataclass
class Brought:
    """Files, and how the person said that they are to be read.

    Attributes
    ----------
    ids : which files these are.
    kept : the files themselves; none where they are too large together.
    readings : file → how it is read, where that is not as it was guessed.
    joining : how several belong together.
    taken : which files, read in which way, were made the data last.
    """

    ids: tuple[str, ...] = ()
    kept: tuple[KeptFile, ...] = ()
    readings: Readings = field(default_factory=dict)
    joining: Joining = field(default_factory=Joining)
    taken: tuple[object, object] | None = None

    def keep(self, files: Sequence[File]) -> None:
        """These files from now on."""
        ids = tuple(file.file_id for file in files)
        if ids == self.ids:
            return
        if len(ids) != len(self.ids):
            self.joining = Joining()
        self.ids, self.taken = ids, None
        self.readings = {id: options for id, options in self.readings.items() if id in ids}
        kept = tuple(KeptFile(file.file_id, file.name, file.getvalue()) for file in files)
        self.kept = kept if sum(len(file.data) for file in kept) <= MOST_KEPT_BYTES else ()
