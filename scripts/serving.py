"""The app, of this checkout or of another Python, on a free port, and the Chromium to look at it with."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_SECONDS = 60


def browser_path() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise FileNotFoundError(f"The app is looked at in Chromium, and none of {', '.join(BROWSERS)} is installed.")
    return found


@contextmanager
def serving(
    folder: Path = Path(__file__).parents[1],
    log: IO[str] | int = subprocess.DEVNULL,
    python: str = sys.executable,
    port: int = 0,
    workspace: Path | None = None,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The address of a server that ends with the block; on a free port and an empty workspace, unless one is given."""
    port = port or free_port()
    with TemporaryDirectory(ignore_cleanup_errors=True) as own:
        server = started(workspace or Path(own), port, folder, log, python, options, environment)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(20)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def started(
    workspace: Path,
    port: int,
    folder: Path = Path(__file__).parents[1],
    log: IO[str] | int = subprocess.DEVNULL,
    python: str = sys.executable,
    options: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """A server that answers, with further options of `spnmkl app`; who starts it ends it."""
    command = [python, "-m", "spnmkl", "app", f"--server.port={port}", *options]
    known = os.environ | {"SPNMKL_WORKSPACE": str(workspace)} | dict(environment or {})
    server = subprocess.Popen(command, cwd=folder, stdout=log, stderr=subprocess.STDOUT, env=known)
    try:
        _wait(server, port)
    except BaseException:
        server.kill()
        server.wait()
        raise
    return server


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError(f"The server ended with code {server.returncode}.")
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2).close()
            return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(f"The server did not answer within {PATIENCE_SECONDS} s.")
