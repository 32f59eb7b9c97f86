"""Arrays and tables as files that are named by what they hold: each is there once, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from spnmkl.errors import WorkspaceError
from spnmkl.wording import quoted

ORPHAN_SECONDS = 3600.0  # how long a file may be there before the row that names it
_NAME = re.compile(r"[0-9a-f]{2}/[0-9a-f]{64}\.[a-z]{2,10}")
_TEMPORARY = ".part"


class FileStore:
    """The files of a workspace.

    Parameters
    ----------
    folder : Path
        It is made where it is not there yet.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._bound = threading.local()

    @contextmanager
    def within(self, left: int | None, refusal: Callable[[int], Exception]) -> Iterator[None]:
        """What this thread puts in the block takes at most so many bytes, or is refused before it is written."""
        self._bound.left, self._bound.refusal = left, refusal
        try:
            yield
        finally:
            self._bound.left = None

    def size(self, name: str) -> int:
        """Bytes of a file; none where it is missing, which is told where it is read."""
        try:
            return (self.folder / name).stat().st_size
        except OSError:
            return 0

    def put(self, data: bytes, suffix: str) -> str:
        """Keep these bytes and return their name; what is there already is not written again."""
        digest = hashlib.sha256(data).hexdigest()
        name = f"{digest[:2]}/{digest}{suffix}"
        path = self.folder / name
        if path.exists() and path.stat().st_size == len(data):
            os.utime(path)  # it is no orphan until its row is there
        else:
            self._spend(len(data))
            self._write(path, data)
        return name

    def _spend(self, size: int) -> None:
        left = getattr(self._bound, "left", None)
        if left is not None:
            if size > left:
                raise self._bound.refusal(size - left)
            self._bound.left = left - size

    def has(self, name: str) -> bool:
        return bool(_NAME.fullmatch(name)) and (self.folder / name).is_file()

    def read(self, name: str) -> bytes:
        """What was put; anything else in its place is refused."""
        try:
            data = (self.folder / name).read_bytes() if self.has(name) else None
        except OSError as error:  # a disk that fails costs what it is of, and no more
            raise WorkspaceError(
                f"The file {quoted(name)} of the workspace in {self.folder.parent} cannot be read "
                f"({error.strerror or error}); look at the disk."
            ) from None
        if data is None:
            raise WorkspaceError(f"The file {quoted(name)} is missing from the workspace in {self.folder.parent}.")
        if hashlib.sha256(data).hexdigest() != Path(name).stem:
            raise WorkspaceError(
                f"The file {quoted(name)} of the workspace in {self.folder.parent} is damaged: it does not hold what "
                "was written; bring it back from a copy."
            )
        return data

    def collect(self, named: Collection[str], grace: float = ORPHAN_SECONDS) -> int:
        """Remove files that nothing names and that are older than the grace; returns how many."""
        known, before, gone = set(named), time.time() - grace, 0
        for path in self.folder.glob("??/*"):
            name = path.relative_to(self.folder).as_posix()
            ours = _NAME.fullmatch(name) or path.name.endswith(_TEMPORARY)
            if ours and name not in known and path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
                gone += 1
        return gone

    def _write(self, path: Path, data: bytes) -> None:
        """To a temporary name in the same folder, to the disk, and only then under its name."""
        if not path.parent.is_dir():
            path.parent.mkdir(exist_ok=True)  # where the workspace itself is gone, none is begun in its place
            _to_disk(path.parent.parent)
        handle, temporary = tempfile.mkstemp(suffix=_TEMPORARY, dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        _to_disk(path.parent)


def _to_disk(folder: Path) -> None:
    """A new name is safe when its folder is; Windows does not open folders, and needs no such thing."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
