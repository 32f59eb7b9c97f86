"""What stands in deploy/: nginx runs its configuration in front of a server, and the other files name what there is."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from nginx_front import NGINX, NOT_THERE, nginx

from spnmkl.cli.arguments import parsed
from spnmkl.workspace.place import FOLDER

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
from serving import serving

ROOT = Path(__file__).parents[1]


class Behind(BaseHTTPRequestHandler):
    """Stands for the app: tells what reached it."""

    go_on = threading.Event()

    def do_GET(self) -> None:
        if self.path == "/wait":
            self.go_on.wait(60)
        names = ("Host", "Upgrade", "Connection")
        said = "\n".join([self.path, *(f"{name}: {self.headers.get(name)}" for name in names)]).encode()
        self.send_response(200)
        self.send_header("X-Frame-Options", "ALLOWALL")
        self.send_header("Content-Length", str(len(said)))
        self.send_header("X-Port", str(self.server.server_address[1]))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def behind() -> Iterator[list[int]]:
    """The ports of two servers."""
    if NGINX is None:
        pytest.skip(NOT_THERE)
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), Behind) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield [server.server_port for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def front(behind: list[int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of nginx before two servers."""
    with nginx(tmp_path_factory.mktemp("nginx"), *behind) as address:
        yield address


def test_headers_and_what_reaches_the_app(front: str) -> None:
    asked = urllib.request.Request(f"{front}/_stcore/stream", headers={"Upgrade": "websocket", "Host": "app.example"})
    with urllib.request.urlopen(asked, timeout=20) as answer:
        said, headers = answer.read().decode(), answer.headers
    assert said.splitlines() == ["/_stcore/stream", "Host: app.example", "Upgrade: websocket", "Connection: upgrade"]
    policy = dict(part.strip().split(" ", 1) for part in headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'self'" and policy["frame-ancestors"] == "'none'"
    assert policy["connect-src"] == "'self' ws://app.example wss://app.example"
    assert policy["object-src"] == "'none'" and not re.search(r"https?:|\*", headers["Content-Security-Policy"])
    assert headers.get_all("X-Frame-Options") == ["DENY"]
    assert headers.get_all("X-Content-Type-Options") == ["nosniff"]
    assert headers["Server"] == "nginx"  # and not which


def test_a_browser_stays_with_one_of_two_servers(front: str) -> None:
    def visit(cookie: str) -> tuple[str, str | None]:
        asked = urllib.request.Request(front, headers={"Cookie": cookie} if cookie else {})
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return answer.headers["X-Port"], answer.headers["Set-Cookie"]

    reached = {}
    for _ in range(12):
        port, given = visit("")
        assert given is not None and "HttpOnly" in given and "SameSite=Lax" in given
        cookie = given.partition(";")[0]
        assert [visit(cookie) for _ in range(4)] == 4 * [(port, None)]
        reached[cookie] = port
    assert len(reached) == 12 and len(set(reached.values())) == 2


@pytest.mark.parametrize(
    "path", ["/_stcore/metrics", "/_stcore/metrics?families=x", "/%5fstcore/metrics", "//_stcore/metrics"]
)
def test_the_numbers_of_the_server_are_closed(front: str, path: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as closed:
        urllib.request.urlopen(f"{front}{path}", timeout=20)
    assert closed.value.code == 404
    assert closed.value.headers["X-Content-Type-Options"] == "nosniff"
    closed.value.close()


def status(address: str) -> int:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        refused.close()
        return refused.code


def test_one_address_has_so_many_pages_open(behind: list[int], tmp_path: Path) -> None:
    Behind.go_on.clear()
    with nginx(tmp_path, *behind, {"limit_conn connections 100": "limit_conn connections 3"}) as address:
        with ThreadPoolExecutor(3) as waiting:
            open_pages = [waiting.submit(status, f"{address}/wait") for _ in range(3)]
            found = 200
            while found == 200 and not any(page.done() for page in open_pages):
                found = status(address)
            Behind.go_on.set()
            assert sorted(page.result() for page in open_pages) == [200] * 3 and found == 429
        assert status(address) == 200


def test_one_address_asks_so_often(behind: list[int], tmp_path: Path) -> None:
    limits = {"rate=50r/s": "rate=1r/m", "burst=500": "burst=2"}
    with nginx(tmp_path, *behind, limits) as address:
        assert [status(address) for _ in range(4)] == [200, 200, 200, 429]


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


def container(instruction: str) -> list[str]:
    """The command of a line of the container file that is written as a list."""
    text = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    (found,) = re.findall(rf"^{instruction} (\[.*\])$", text, re.MULTILINE)
    return json.loads(found)


def run_by_container(folder: Path, **environment: str) -> list[str]:
    """What the container would run as `spnmkl`."""
    stand_in = folder / "spnmkl"
    stand_in.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    stand_in.chmod(0o755)
    text = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    known = dict(re.findall(r'^ENV (\w+)="?(.*?)"?$', text, re.MULTILINE)) | environment
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    said = subprocess.run(container("CMD"), env=known | {"PATH": path}, capture_output=True, text=True, check=True)
    return said.stdout.splitlines()


def check_app_takes(arguments: list[str]) -> None:
    """Those that are not the app's own are Streamlit's."""
    config = pytest.importorskip("streamlit.config")
    found, others = parsed(arguments)
    assert found.command == "app"
    for option in others:
        name, _, value = option.removeprefix("--").partition("=")
        assert name in config.get_config_options() and value, option


def test_the_app_takes_the_options_of_the_container(tmp_path: Path) -> None:
    plain = run_by_container(tmp_path)
    hosts = ["--server.allowedHosts=localhost", "--server.allowedHosts=127.0.0.1"]
    assert plain == ["app", "--server.address=0.0.0.0", *hosts]
    more = "--quota-bytes 2GB --secrets.files=/run/secrets/streamlit.toml"
    chosen = run_by_container(tmp_path, SPNMKL_HOSTS="app.example.com", SPNMKL_OPTIONS=more)
    assert chosen == ["app", "--server.address=0.0.0.0", *more.split(), "--server.allowedHosts=app.example.com"]
    for arguments in (plain, chosen):
        check_app_takes(arguments)
    with pytest.raises(AssertionError):
        check_app_takes(["app", "--server.nothing=1"])


def test_the_app_takes_the_options_of_the_unit() -> None:
    (line,) = re.findall(r"^ExecStart=(.*)$", (ROOT / "deploy" / "spnmkl.service").read_text("utf-8"), re.MULTILINE)
    check_app_takes(shlex.split(line)[1:])


def test_the_container_knows_whether_the_app_answers() -> None:
    pytest.importorskip("streamlit")
    python, *rest = container("HEALTHCHECK CMD")
    assert python == "python"

    def healthy(port: str) -> bool:
        asked = [part.replace(":8501", f":{port}") for part in rest]
        return subprocess.run([sys.executable, *asked], capture_output=True, check=False).returncode == 0

    with serving(options=["--server.address=0.0.0.0", "--server.allowedHosts=app.example.com"]) as address:
        port = address.rpartition(":")[2]
        assert healthy(port)
    assert not healthy(port)


def test_the_unit_is_one_that_systemd_reads() -> None:
    unit = ROOT / "deploy" / "spnmkl.service"
    text = unit.read_text("utf-8")
    assert re.findall(r"^\[(\w+)\]$", text, re.MULTILINE) == ["Unit", "Service", "Install"]
    lines = [line for line in text.splitlines() if line and line[0] not in "#["]
    assert all(re.fullmatch(r"[A-Z]\w+=\S.*", line) for line in lines)
    assert "KillMode=mixed" in lines, "children that end before the server look as if they had failed by themselves"
    assert os.path.basename(re.search(r"ExecStart=(\S+)", text)[1]) == "spnmkl"  # type: ignore[index]


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed, so that the unit was not verified")
    text = (ROOT / "deploy" / "spnmkl.service").read_text("utf-8")
    (command,) = re.findall(r"^ExecStart=(\S+)", text, re.MULTILINE)
    (tmp_path / "spnmkl.service").write_text(text.replace(command, "/bin/true"), "utf-8")
    told = subprocess.run([program, "verify", tmp_path / "spnmkl.service"], capture_output=True, text=True, check=False)
    assert told.returncode == 0 and "spnmkl.service" not in told.stderr, told.stderr


def test_the_container_keeps_what_people_make_outside_of_itself() -> None:
    text = (ROOT / "deploy" / "Containerfile").read_text("utf-8")
    (volume,) = re.findall(r"^VOLUME (\S+)$", text, re.MULTILINE)
    (place,) = re.findall(rf"^ENV {FOLDER}=(\S+)$", text, re.MULTILINE)
    assert place.startswith(f"{volume}/") and f"-v spnmkl-workspace:{volume} " in text
    assert f"chown spnmkl:spnmkl {volume}" in text, "a volume takes over who may write"


def test_the_unit_keeps_what_people_make_where_it_may_write() -> None:
    text = (ROOT / "deploy" / "spnmkl.service").read_text("utf-8")
    (state,) = re.findall(r"^StateDirectory=(\S+)$", text, re.MULTILINE)
    places = dict(re.findall(r"^Environment=(\w+)=(\S+)$", text, re.MULTILINE))
    assert "ProtectHome=read-only" in text and "ProtectSystem=strict" in text
    assert all(places[name].startswith(f"/var/lib/{state}/") for name in (FOLDER, "NUMBA_CACHE_DIR"))


def test_the_app_goes_on_where_a_process_of_the_unit_is_ended_for_memory() -> None:
    """By itself systemd stops the whole service then."""
    text = (ROOT / "deploy" / "spnmkl.service").read_text("utf-8")
    assert "MemoryMax=" in text and "\nOOMPolicy=continue\n" in text
