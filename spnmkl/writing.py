"""Files that are written whole or not at all; a link leads to its file, and what is open or a device stays."""

from __future__ import annotations

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp
from typing import BinaryIO

_MOST_LINKS = 40


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name to write to: what it holds takes the place of `path` only when everything was written.

    Of a symbolic link it is the file behind it that is replaced. A device or a pipe is written to, and stays. A name
    of something open, such as /dev/stdout, is written to where it stands: others go on in the same file.
    """
    given = Path(path)
    # Whether it is a file is asked of what was given: /dev/stdout leads to no name that exists.
    if open_descriptor(given) is not None or (given.exists() and not given.is_file()):
        with TemporaryDirectory() as folder:
            temporary = Path(folder) / "whole"
            yield temporary
            _pour(temporary, given)
        return
    target = Path(os.path.realpath(given))
    try:
        handle, name = mkstemp(dir=target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(given)) from None
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def open_descriptor(path: str | os.PathLike[str]) -> int | None:
    """What a name such as /dev/stdout or /dev/fd/3, or a link to it, stands for; None for any other name."""
    name, folder = Path(path), Path("/dev/fd").resolve()
    for _ in range(_MOST_LINKS):
        if name.parent.resolve() == folder:
            return int(name.name) if name.name.isdecimal() else None
        if not name.is_symlink():
            return None
        name = name.parent / name.readlink()
    return None


def _umask() -> int:
    """What new files must not be allowed; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _pour(source: Path, device: Path) -> None:
    try:
        with source.open("rb") as whole, _opened(device) as out:
            shutil.copyfileobj(whole, out)
    except BrokenPipeError:
        raise OSError(f"{device} was closed by its reader before everything was written.") from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(device)) from None


def _opened(device: Path) -> BinaryIO:
    descriptor = open_descriptor(device)
    if descriptor is None:
        return device.open("wb")
    for stream in (sys.stdout, sys.stderr):
        stream.flush()  # what was printed before comes before
    return os.fdopen(os.dup(descriptor), "wb")
