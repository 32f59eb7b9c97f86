"""Many visitors at once, and how long an edit takes beside the work of others: ``python scripts/load.py``.

Waves of visitors draw on one server, one wave after the other, and then on two servers that share a workspace behind
one proxy; two of the visitors are real browsers. A wave is written SERVERSxVISITORSxMINUTES, with xSECONDS for which
the server is then left alone: 660 where its memory is to be that of nobody, since who has left is let go after ten
minutes, or after as many seconds as --left says and two minutes of Streamlit's own.
Then one visitor draws while another has a file read, trains, has a hostile file refused, or has a training killed.
Everything ends by itself. The exit code is 1 where a visitor was sent what another drew, or was not answered.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import os
import random
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from reliability import circumstances, put, table
from serving import browser_path, free_port, started
from visitor import MARK, Visitor

PAUSE_SECONDS = 5.0  # between two edits of a visitor, in the mean
ARRIVAL_SECONDS = 10.0  # within which all visitors come
MOST_BROWSERS = 2
OFTEN_SECONDS = 0.5  # between two edits beside the work of others
LEAST_EDITS = 100  # beside each kind of such work, which is done again until there are so many
WAVES = ("1x10x10x660", "1x25x10x660", "1x50x10x660", "2x25x10x60", "2x50x10x60")
AIM_SECONDS = 1.0
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
# One more kernel on the canvas of a browser; resolves when Python has taken it and the page that answers is painted.
EDIT = """frame => new Promise((done, failed) => {
    const canvas = frame.spnCanvas, start = performance.now();
    canvas.add("kernel", { x: 30, y: 900 });
    const look = () => {
        if (performance.now() - start > 60000) failed(new Error("an edit was not taken"));
        else if (Number(frame.dataset.saved) < canvas.sequence) setTimeout(look, 5);
        else requestAnimationFrame(() => done((performance.now() - start) / 1000));
    };
    look();
})"""
READY = "f => f.spnCanvas?.revision && f.spnCanvas.items.size > 0"
# A visitor stays with the server that the first answer came from: the cookie names it.
PROXY = """
worker_processes 1;
pid nginx.pid;
error_log stderr crit;
daemon off;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
    map $http_upgrade $connection_upgrade { default upgrade; "" close; }
    map $cookie_spnmkl_server $visitor { default $cookie_spnmkl_server; "" $request_id; }
    upstream servers { hash $visitor consistent; SERVERS }
    server {
        listen 127.0.0.1:PORT;
        location / {
            proxy_pass http://servers;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Upgrade $http_upgrade;
            proxy_set_header Connection $connection_upgrade;
            proxy_read_timeout 1d;
            add_header Set-Cookie "spnmkl_server=$visitor; Path=/; HttpOnly; SameSite=Lax";
        }
    }
}
"""


@dataclass
class Wave:
    """What a wave of visitors met."""

    servers: int
    visitors: int
    minutes: float
    settle: float = 60.0
    load: float = 0.0
    seconds: list[float] = field(default_factory=list)
    opened: list[float] = field(default_factory=list)
    foreign: set[bytes] = field(default_factory=set)
    wrong: list[str] = field(default_factory=list)
    processor: float = 0.0
    before: int = 0
    after: int = 0

    @classmethod
    def read(cls, asked: str) -> Wave:
        servers, visitors, *times = asked.split("x")
        return cls(int(servers), int(visitors), *map(float, times))


class Servers:
    """Servers on one workspace, and what they and their processes take."""

    def __init__(self, url: str, processes: list[subprocess.Popen[bytes]]) -> None:
        self.url, self.processes = url, processes

    def _all(self) -> Iterator[psutil.Process]:
        for process in self.processes:
            top = psutil.Process(process.pid)
            yield top
            yield from top.children(recursive=True)

    def processor(self) -> float:
        spent = [process.cpu_times() for process in self._all()]
        return sum(t.user + t.system + t.children_user + t.children_system for t in spent)

    def memory(self) -> int:
        """Bytes that are not shared with others, of the servers alone."""
        return sum(psutil.Process(process.pid).memory_full_info().uss for process in self.processes)

    def kill_largest_child(self) -> bool:
        """What the system does to a training for which there is no memory; whether there was one."""
        children = [process for process in self._all() if process.ppid() not in {p.pid for p in self.processes}]
        children = [process for process in children if process.pid not in {p.pid for p in self.processes}]
        if not children:
            return False
        max(children, key=lambda process: process.memory_info().rss).kill()
        return True


@contextmanager
def served(n: int, log: Path, left: int = 600) -> Iterator[Servers]:
    """So many servers on one new workspace, which let go of whom has left so many seconds ago; two behind a proxy."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        ports = [free_port() for _ in range(n)]
        out = stack.enter_context(log.open("a"))
        known = {"SPNMKL_LEFT_SECONDS": str(left)}
        processes = [
            stack.enter_context(ended(started(folder / "workspace", port, log=out, environment=known)))
            for port in ports
        ]
        port = ports[0]
        if n > 1:
            port = free_port()
            stack.enter_context(ended(proxy(folder / "nginx", port, ports)))
        yield Servers(f"http://127.0.0.1:{port}", processes)


@contextmanager
def ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def proxy(folder: Path, port: int, behind: list[int]) -> subprocess.Popen[bytes]:
    """nginx before servers, each visitor with one of them by a cookie."""
    assert NGINX is not None
    folder.mkdir()
    servers = " ".join(f"server 127.0.0.1:{each};" for each in behind)
    (folder / "nginx.conf").write_text(PROXY.replace("SERVERS", servers).replace("PORT", str(port)), "utf-8")
    command = [NGINX, "-p", str(folder), "-c", "nginx.conf", "-e", "stderr"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(500):
        with socket.socket() as found:
            if found.connect_ex(("127.0.0.1", port)) == 0:
                return process
        time.sleep(0.02)
    process.kill()
    raise TimeoutError("nginx does not answer")


async def visit(url: str, wave: Wave, until: float, chance: random.Random) -> None:
    """One visitor: draws, rests, draws, and leaves."""
    try:
        await asyncio.sleep(chance.random() * min(ARRIVAL_SECONDS, until - time.monotonic()))
        async with Visitor(url) as visitor:
            began = time.monotonic()
            await visitor.open("design")
            wave.opened.append(time.monotonic() - began)
            await visitor.edit()  # after which there is a project on disk
            while not wave.seconds or time.monotonic() < until:
                await asyncio.sleep(chance.expovariate(1 / PAUSE_SECONDS))
                wave.seconds.append(await visitor.edit())
            wave.foreign |= visitor.foreign
    except Exception as error:
        wave.wrong.append(f"{type(error).__name__}: {error}")


@asynccontextmanager
async def browsers(n: int) -> AsyncIterator[list]:
    """Pages of real browsers, each with a profile of its own."""
    if n == 0:
        yield []
        return
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        options = {"executable_path": browser_path(), "args": ["--no-sandbox", "--disable-dev-shm-usage"]}
        browser = await playwright.chromium.launch(**options)
        yield [await (await browser.new_context()).new_page() for _ in range(n)]
        await browser.close()


async def browse(page, url: str, wave: Wave, until: float, chance: random.Random) -> None:
    """One visitor with a browser."""
    try:
        page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: _look(frame, wave)))
        await page.goto(f"{url}/design")
        frame = page.locator(".frame")
        await frame.wait_for(timeout=120_000)
        handle = await frame.element_handle()
        await page.wait_for_function(READY, arg=handle, timeout=120_000)
        while time.monotonic() < until:
            await asyncio.sleep(chance.expovariate(1 / PAUSE_SECONDS))
            wave.seconds.append(await frame.evaluate(EDIT))
    except Exception as error:
        wave.wrong.append(f"browser: {type(error).__name__}: {error}")


def _look(frame: object, wave: Wave) -> None:
    content = frame if isinstance(frame, bytes) else str(frame).encode()
    wave.foreign |= set(MARK.findall(content))  # a browser draws none


async def come(wave: Wave, servers: Servers, n_browsers: int = 0, seed: int = 0) -> None:
    """Let the visitors of a wave draw for its time."""
    n, wave.before = wave.visitors, servers.memory()
    spent, until = servers.processor(), time.monotonic() + 60 * wave.minutes
    async with browsers(min(n_browsers, n)) as pages:
        chances = [random.Random(f"{seed}/{n}/{k}") for k in range(n)]
        works = [browse(page, servers.url, wave, until, chances[k]) for k, page in enumerate(pages)]
        works += [visit(servers.url, wave, until, chances[k]) for k in range(len(pages), n)]
        await asyncio.gather(*works)
    wave.processor, wave.load = servers.processor() - spent, os.getloadavg()[1]


def row(wave: Wave) -> list[str]:
    times = sorted(wave.seconds) or [float("nan")]
    return [
        str(wave.servers),
        str(wave.visitors),
        f"{wave.minutes:g} min",
        f"{wave.load:.1f}",
        f"{len(wave.seconds):,}",
        f"{statistics.median(times):.2f} s",
        f"{quantile(times, 0.95):.2f} s",
        f"{statistics.median(wave.opened or [float('nan')]):.1f} s",
        f"{wave.processor:,.0f} s",
        f"{1000 * wave.processor / max(1, len(wave.seconds)):.0f} ms",
        f"{wave.before / 1e6:.0f} MB",
        f"{wave.after / 1e6:.0f} MB, {wave.settle:.0f} s later",
        str(len(wave.foreign)),
        str(len(wave.wrong)),
    ]


HEAD = [
    *("servers", "visitors", "for", "load", "edits", "edit, median", "edit, 95 %", "opening, median"),
    *("processor", "per edit", "memory before", "after all left", "foreign marks", "errors"),
]


def quantile(times: list[float], share: float) -> float:
    """The smallest time that is not below this share of all."""
    return sorted(times)[min(len(times) - 1, int(np.ceil(share * len(times))) - 1)]


async def crowds(servers: Servers, waves: list[Wave], asked: argparse.Namespace) -> None:
    """One wave after the other on the same servers."""
    await come(Wave(len(servers.processes), 2, 0.25), servers)  # so that all is loaded that a visit needs
    for wave in waves:
        await come(wave, servers, asked.browsers, asked.seed)
        await asyncio.sleep(wave.settle)
        wave.after = servers.memory()
        print(" | ".join(row(wave)), *wave.wrong[:3], sep="\n  ", flush=True)


def wide_table(rows: int) -> bytes:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 20))
    frame = pd.DataFrame(X.round(4), columns=[f"c{k}" for k in range(20)])
    noisy = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=rows) > 0
    return frame.assign(y=np.where(noisy, "yes", "no")).to_csv(index=False).encode()


async def reading(other: Visitor, servers: Servers) -> None:
    await other.open("data")
    await other.upload("large.csv", wide_table(150_000))


async def refusing(other: Visitor, servers: Servers) -> None:
    hostile = gzip.compress(b"a,b\n") + gzip.compress(b"1," * 5_000_000, 9) * 49
    for _ in range(5):
        await other.open("data")
        await other.upload("hostile.csv.gz", hostile)


async def prepare_training(other: Visitor) -> None:
    await other.open("data")
    await other.upload("small.csv", wide_table(3000))
    await other.open("train")


async def training(other: Visitor, servers: Servers) -> None:
    await other.click("Train")
    await other.listen(15.0)


async def killed(other: Visitor, servers: Servers) -> None:
    await other.click("Train")
    for _ in range(5):
        await other.listen(1.0)
        if servers.kill_largest_child():
            break
    await other.listen(4.0)


async def nothing(other: Visitor, servers: Servers) -> None:
    await asyncio.sleep(8.0)


Disturbance = Callable[[Visitor, Servers], Awaitable[None]]
DISTURBANCES: dict[str, Disturbance] = {
    "nothing else": nothing,
    "a file of 25 MB is read": reading,
    "a training of 3,000 rows is watched": training,
    "a hostile file is refused": refusing,
    "a training is killed": killed,
}


async def beside(servers: Servers) -> dict[str, list[float]]:
    """How long the edits of one visitor take while another works."""
    found: dict[str, list[float]] = {}
    async with Visitor(servers.url) as visitor:
        await visitor.open("design")
        await visitor.edit()
        for name, disturb in DISTURBANCES.items():
            found[name] = []
            while len(found[name]) < LEAST_EDITS:
                found[name] += await edits_during(disturb, visitor, servers)
            times = found[name]
            print(f"{name}: {len(times)} edits, 95 % {quantile(times, 0.95):.2f} s", flush=True)
    return found


async def edits_during(disturb: Disturbance, visitor: Visitor, servers: Servers) -> list[float]:
    """Seconds of the edits of one visitor while another has something done once."""
    times = []
    async with Visitor(servers.url) as other:
        await other.open("data")
        if disturb in (training, killed):
            await prepare_training(other)
        work = asyncio.ensure_future(disturb(other, servers))
        while not work.done():
            times.append(await visitor.edit())
            await asyncio.sleep(OFTEN_SECONDS)
        await work
    return times


def beside_table(found: dict[str, list[float]]) -> str:
    head = ["meanwhile", "edits", "median", "95 %", "longest", f"95 % within {AIM_SECONDS:.0f} s"]
    rows = []
    for name, times in found.items():
        most = quantile(times, 0.95)
        measured = [f"{value:.2f} s" for value in (statistics.median(times), most, max(times))]
        rows.append([name, str(len(times)), *measured, "yes" if most <= AIM_SECONDS else "no"])
    return table(head, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--waves", nargs="*", default=WAVES, help=f"default {' '.join(WAVES)}")
    parser.add_argument("--browsers", type=int, default=2, choices=range(MOST_BROWSERS + 1))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--left", type=int, default=600, help="seconds after which who has left is let go; default 600")
    parser.add_argument("--only", choices=("crowds", "beside"))
    parser.add_argument("--log", type=Path, default=Path(tempfile.gettempdir()) / "spnmkl-load.log")
    parser.add_argument("--page", action="store_true", help="write the tables into docs/reliability.md")
    asked = parser.parse_args()
    waves = [Wave.read(each) for each in asked.waves] if asked.only != "beside" else []
    if waves:
        print(" | ".join(HEAD))
        for n_servers, some in groupby(waves, lambda wave: wave.servers):
            if n_servers > 1 and NGINX is None:
                print("nginx is not installed: two servers behind a proxy were not measured.")
                continue
            with served(n_servers, asked.log, asked.left) as servers:
                asyncio.run(crowds(servers, list(some), asked))
        if asked.page:
            left = f" --left {asked.left}" if asked.left != parser.get_default("left") else ""
            command = f"`python scripts/load.py --waves {' '.join(asked.waves)}{left}`"
            put("load", f"{command} {circumstances()}:\n\n{table(HEAD, list(map(row, waves)))}")
    if asked.only != "crowds":
        with served(1, asked.log) as servers:
            found = asyncio.run(beside(servers))
        print(beside_table(found))
        if asked.page:
            put("responsive", f"`python scripts/load.py --only beside` {circumstances()}:\n\n{beside_table(found)}")
    return 1 if any(wave.foreign or wave.wrong for wave in waves) else 0


if __name__ == "__main__":
    sys.exit(main())
