"""What stands in deploy/: nginx runs its configuration in front of a server, and the other files name what there is."""

import os
import re
import shutil
import socket
import subprocess
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from spnmkl.workspace.place import FOLDER

ROOT = Path(__file__).parents[1]
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")


class Behind(BaseHTTPRequestHandler):
    """Stands for the app: tells what reached it."""

    def do_GET(self) -> None:
        names = ("Host", "Upgrade", "Connection")
        said = "\n".join([self.path, *(f"{name}: {self.headers.get(name)}" for name in names)]).encode()
        self.send_response(200)
        self.send_header("X-Frame-Options", "ALLOWALL")
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None: ...


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of nginx before a server."""
    if NGINX is None:
        pytest.skip("nginx is not installed, so that its configuration was not run")
    folder = tmp_path_factory.mktemp("nginx")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Behind)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = free_port()
    text = (ROOT / "deploy" / "nginx.conf").read_text("utf-8")
    for ours, theirs in (("127.0.0.1:8080", f"127.0.0.1:{port}"), (":8501", f":{server.server_port}")):
        assert ours in text
        text = text.replace(ours, theirs)
    (folder / "nginx.conf").write_text(text, "utf-8")
    command = [NGINX, "-p", str(folder), "-c", "nginx.conf", "-e", "stderr", "-g", "daemon off;"]
    nginx = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            with socket.socket() as found:
                if found.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert nginx.poll() is None, "nginx does not take the configuration"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        nginx.terminate()
        nginx.wait(20)
        server.shutdown()
        server.server_close()


def test_headers_and_what_reaches_the_app(front: str) -> None:
    asked = urllib.request.Request(f"{front}/_stcore/stream", headers={"Upgrade": "websocket", "Host": "app.example"})
    with urllib.request.urlopen(asked, timeout=20) as answer:
        said, headers = answer.read().decode(), answer.headers
    assert said.splitlines() == ["/_stcore/stream", "Host: app.example", "Upgrade: websocket", "Connection: upgrade"]
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
    assert policy["object-src"] == "'none'" and not re.search(r"https?:|\*", headers["Content-Security-Policy"])
    assert headers.get_all("X-Frame-Options") == ["DENY"]
    assert headers.get_all("X-Content-Type-Options") == ["nosniff"]
    assert headers["Server"] == "nginx"  # and not which


@pytest.mark.parametrize(
    "path", ["/_stcore/metrics", "/_stcore/metrics?families=x", "/%5fstcore/metrics", "//_stcore/metrics"]
)
def test_the_numbers_of_the_server_are_closed(front: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as closed:
        urllib.request.urlopen(f"{front}{path}", timeout=20)
    assert closed.value.code == 404
    assert closed.value.headers["X-Content-Type-Options"] == "nosniff"
    closed.value.close()


def test_hosts_are_those_of_this_machine() -> None:
    server = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text("utf-8"))["server"]
    assert server["allowedHosts"] == ["localhost", "127.0.0.1", "::1"]
    assert server["address"] == "127.0.0.1"
    assert server.get("enableXsrfProtection", True) and server.get("enableCORS", True)


def test_the_container_copies_what_there_is() -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE):
        for name in line.split()[:-1]:
            assert (ROOT / name).exists(), name


def test_the_unit_is_one_that_systemd_reads() -> None:
    unit = ROOT / "deploy" / "spnmkl.service"
    text = unit.read_text("utf-8")
    assert re.findall(r"^\[(\w+)\]$", text, re.MULTILINE) == ["Unit", "Service", "Install"]
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    assert all(re.fullmatch(r"[A-Z]\w+=\S.*", line) for line in lines)
    assert os.path.basename(re.search(r"ExecStart=(\S+)", text)[1]) == "spnmkl"  # type: ignore[index]


def test_the_unit_keeps_what_people_make_where_it_may_write() -> None:
    text = (ROOT / "deploy" / "spnmkl.service").read_text("utf-8")
    (state,) = re.findall(r"^StateDirectory=(\S+)$", text, re.MULTILINE)
    places = dict(re.findall(r"^Environment=(\w+)=(\S+)$", text, re.MULTILINE))
    assert "ProtectHome=read-only" in text and "ProtectSystem=strict" in text
    assert all(places[name].startswith(f"/var/lib/{state}/") for name in (FOLDER, "NUMBA_CACHE_DIR"))
