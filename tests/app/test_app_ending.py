"""A server that is asked to end."""

import asyncio
import os
import signal
import sqlite3
import sys
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from serving import free_port, started
from visitor import Visitor

from spnmkl.ui import serve

PATIENCE_SECONDS = 60


@pytest.mark.skipif(sys.platform == "win32", reason="there nobody can be asked to end")
def test_what_waits_is_written_before_a_server_ends(tmp_path: Path) -> None:
    """Also what could not be written yet, as while another program holds the database."""
    port = free_port()
    server = started(tmp_path, port)

    async def drawn() -> None:
        async with Visitor(f"http://127.0.0.1:{port}") as visitor:
            await visitor.open("design")
            await visitor.edit()
            held.execute("BEGIN IMMEDIATE")
            await visitor.edit()

    try:
        with closing(sqlite3.connect(tmp_path / "workspace.db", isolation_level=None)) as held:
            asyncio.run(drawn())
            server.terminate()
            held.execute("ROLLBACK")
            assert server.wait(PATIENCE_SECONDS) == 0
            assert held.execute("SELECT revision FROM project").fetchall() == [(2,)]
            assert held.execute("SELECT count(*) FROM server").fetchall() == [(0,)], "the others know that it is gone"
    finally:
        server.kill()
        server.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="there nobody can be asked to end")
@pytest.mark.parametrize("again", [signal.SIGTERM, signal.SIGINT])
def test_who_asks_again_does_not_end_the_writing(again: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    written = []

    def close() -> None:
        os.kill(os.getpid(), again)
        written.append(True)

    known = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    session = SimpleNamespace(keeper=lambda: SimpleNamespace(close=close))
    monkeypatch.setitem(sys.modules, "spnmkl.ui.parts.session", session)
    try:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit())
        serve._end()
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)
    assert written
