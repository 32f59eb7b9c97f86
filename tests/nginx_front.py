"""nginx with the configuration of deploy/, on a free port, before servers of these tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

CONFIGURATION = Path(__file__).parents[1] / "deploy" / "nginx.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
NOT_THERE = "nginx is not installed (package nginx), so that deploy/nginx.conf was not run."


@contextmanager
def nginx(folder: Path, first: int, second: int, limits: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of nginx before the servers on two ports, which may be the same; with other limits than its own."""
    assert NGINX is not None, NOT_THERE
    port = free_port()
    text = CONFIGURATION.read_text("utf-8")
    changes = {"127.0.0.1:8080": port, "server 127.0.0.1:8501": first, "server 127.0.0.1:8502": second}
    for ours, theirs in changes.items():
        assert text.count(ours) == 1, ours
        text = text.replace(ours, f"{ours.rpartition(':')[0]}:{theirs}")
    for ours, theirs in (limits or {}).items():
        assert text.count(ours) == 1, ours
        text = text.replace(ours, theirs)
    (folder / "nginx.conf").write_text(text, "utf-8")
    command = [NGINX, "-p", str(folder), "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off;"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            with socket.socket() as found:
                if found.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, "nginx does not take the configuration"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
