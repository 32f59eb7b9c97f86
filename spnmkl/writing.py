"""Files that are written whole or not at all; a link leads to its file, and a device stays one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name to write to: what it holds takes the place of `path` only when everything was written.

    Of a symbolic link it is the file behind it that is replaced. A device or a pipe is written to, and stays.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with TemporaryDirectory() as folder:
            temporary = Path(folder) / target.name
            yield temporary
            _pour(temporary, target, path)
        return
    temporary = target.with_name(f".{os.getpid()}.{target.name}")
    try:
        yield temporary
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _pour(source: Path, device: Path, given: str | os.PathLike[str]) -> None:
    try:
        with source.open("rb") as whole, device.open("wb") as out:
            shutil.copyfileobj(whole, out)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(given)) from None
