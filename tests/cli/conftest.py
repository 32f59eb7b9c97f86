"""Commands are run in a folder of their own, which the tests of a command fill."""

from collections.abc import Callable
from pathlib import Path

import pytest

from spnmkl.cli import commands

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that a command is run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command: its exit code, and what it wrote to standard output and standard error."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = commands.main([str(argument) for argument in arguments])
        return code, *capsys.readouterr()

    return run
