"""Files that are written whole or not at all; a link leads to its file, and a device stays one."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory, mkstemp


@contextmanager
def replaced(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary name to write to: what it holds takes the place of `path` only when everything was written.

    Of a symbolic link it is the file behind it that is replaced. A device or a pipe is written to, and stays.
    """
    given = Path(path)
    if given.exists() and not given.is_file():  # asked of what was given: /dev/stdout leads to no name that exists
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


def _umask() -> int:
    """What new files must not be allowed; it can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _pour(source: Path, device: Path) -> None:
    try:
        with source.open("rb") as whole, device.open("wb") as out:
            shutil.copyfileobj(whole, out)
    except BrokenPipeError:
        raise OSError(f"{device} was closed by its reader before everything was written.") from None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(device)) from None
