"""A cluster that does not answer fails a test, which would else wait for it without end."""

import signal
from collections.abc import Generator

import pytest

MOST_SECONDS = 240  # far more than any test needs, also on a machine that does other things


def _bounded() -> Generator[None, object, object]:
    def give_up(number: int, frame: object) -> None:
        pytest.fail(
            f"nothing came of it within {MOST_SECONDS} s"
        )  # no Exception, which could be taken for a lost worker

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(MOST_SECONDS)
    try:
        return (yield)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


pytest_runtest_setup = pytest_runtest_call = pytest_runtest_teardown = pytest.hookimpl(wrapper=True)(_bounded)
