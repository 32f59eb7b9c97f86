"""A PostgreSQL of Debian's packages for the tests, run by a user without rights, reached by a socket alone."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NOT_THERE = "The server of PostgreSQL is not installed (package postgresql): the half with it was not tested."


def programs() -> Path | None:
    """The folder of initdb and pg_ctl; Debian does not put it on the path."""
    found = shutil.which("initdb")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@contextmanager
def postgres(bin: Path) -> Iterator[str]:
    """The address of a server that ends with the block."""
    folder = Path(tempfile.mkdtemp(prefix="spnmkl-pg-"))
    user = _unprivileged()
    if user is not None:
        os.chown(folder, *user)

    def call(*command: str) -> None:
        as_user = {} if user is None else {"user": user[0], "group": user[1], "extra_groups": []}
        done = subprocess.run(
            [str(bin / command[0]), *command[1:]],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **as_user,
        )
        assert done.returncode == 0, done.stdout.decode()

    data, log = str(folder / "data"), str(folder / "log")
    call("initdb", "-D", data, "-A", "trust", "-U", "spnmkl", "--no-sync", "-E", "UTF8", "--locale=C")
    options = f"-c listen_addresses= -c unix_socket_directories={folder}"
    # Its own output goes to the log: a pipe that it holds open would be waited for.
    call("pg_ctl", "-D", data, "-l", log, "-o", options, "-w", "start")
    try:
        yield f"postgresql://spnmkl@/postgres?host={folder}"
    finally:
        call("pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)


def _unprivileged() -> tuple[int, int] | None:
    """PostgreSQL refuses to be run by root."""
    if os.getuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return entry.pw_uid, entry.pw_gid
