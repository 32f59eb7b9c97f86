"""Visitors who speak the websocket protocol, as `make load` sends many of: nobody is sent what another draws."""

import asyncio
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from google.protobuf.message import DecodeError

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
import load
from load import Wave, quantile, visit
from visitor import Visitor

SECONDS = 3.0


def test_visitors_do_not_meet(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(load, "PAUSE_SECONDS", 0.3)
    monkeypatch.setattr(load, "ARRIVAL_SECONDS", 0.3)
    wave = Wave(1, 3, SECONDS / 60)

    async def crowd() -> None:
        until = time.monotonic() + SECONDS
        await asyncio.gather(*(visit(url, wave, until, Random(k)) for k in range(wave.visitors)))

    with ThreadPoolExecutor(1) as apart:  # this thread has the loop of the browser's driver
        apart.submit(lambda: asyncio.run(crowd())).result()
    assert not wave.wrong and not wave.foreign
    assert len(wave.opened) == wave.visitors and wave.seconds


def test_what_another_drew_would_be_seen() -> None:
    one, other = Visitor("http://127.0.0.1:1"), Visitor("http://127.0.0.1:1")
    for seen in (one, other):
        message = f"\x00{one.mark}7\x00".encode()
        with suppress(DecodeError):  # no message of Streamlit's; its marks are looked for first
            seen._take(message)
    assert not one.foreign and other.foreign == {one.mark.encode()}


def test_quantiles() -> None:
    assert quantile([float(k) for k in range(1, 101)], 0.95) == 95.0 and quantile([3.0], 0.95) == 3.0
