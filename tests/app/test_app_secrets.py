"""A server whose secrets do not say how people log in does not start, and none becomes open while it runs."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config
from streamlit.runtime.secrets import Secrets
from streamlit.testing.v1 import AppTest

from spnmkl.errors import SPNMKLError
from spnmkl.ui.parts import login

GOOD = '[auth]\nredirect_uri = "http://a"\ncookie_secret = "c"\nclient_id = "i"\n'


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that `--secrets.files` names."""
    file = tmp_path / "secrets.toml"
    before = config.get_option("secrets.files")
    monkeypatch.setattr(st, "secrets", Secrets())
    monkeypatch.setattr(login, "_asked_for", False)
    config.set_option("secrets.files", [str(file)], "command-line argument or environment variable")
    yield file
    config.set_option("secrets.files", before, config.ConfigOption.DEFAULT_DEFINITION)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, r".*secrets\.toml cannot be found"),
        (GOOD.replace("[auth]", "[auth"), r"they cannot be read \(.*secrets\.toml.*\)"),
        (GOOD.replace("auth", "auht"), r".*secrets\.toml has no section \[auth\] with a client_id"),
        ('[auth]\ncookie_secret = "c"\n', r".*secrets\.toml has no section \[auth\] with a client_id"),
        ('auth = "yes"\n', r".*secrets\.toml has no section \[auth\] with a client_id"),
        ("", r".*secrets\.toml has no section \[auth\] with a client_id"),
        (b"\xff\xfe[auth]", r"they cannot be read \(.*\)"),
    ],
)
def test_secrets_that_let_everybody_in_are_refused(given: Path, text: str | bytes | None, why: str) -> None:
    if text is not None:
        given.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SPNMKLError, match=f"^The secrets do not say how people log in: {why}. The server does not"):
        login.check_secrets()


@pytest.mark.parametrize(
    "text", [GOOD, f'[auth]\n{GOOD.replace("auth", "auth.one").partition("cookie")[0]}client_id = "i"']
)
def test_secrets_that_name_a_provider_are_taken(given: Path, text: str) -> None:
    given.write_text(text)
    login.check_secrets()
    assert login.configured()


@pytest.mark.parametrize("local", [(), login.LOCAL])
def test_secrets_of_other_apps_are_no_mistake_on_the_own_machine(
    given: Path, local: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the option names none, Streamlit looks into its own folder, which all apps of a person share."""
    config.set_option("secrets.files", [str(given)], config.ConfigOption.DEFAULT_DEFINITION)
    monkeypatch.setattr(login, "is_for_others", lambda: not local)
    login.check_secrets()
    given.write_text('[database]\nuser = "u"\n')
    if local:
        login.check_secrets()
        assert not login.configured()
    else:
        with pytest.raises(SPNMKLError, match="has no section"):
            login.check_secrets()


def test_a_login_is_asked_for_also_when_the_secrets_were_spoiled_meanwhile(
    given: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given.write_text(GOOD)
    login.check_secrets()
    given.write_text("[auth")
    monkeypatch.setattr(st, "secrets", Secrets())  # which Streamlit reads anew when the file changes
    assert login.configured()

    def shown() -> None:
        from spnmkl.ui.parts.login import login_page
        from spnmkl.ui.parts.session import boundary

        with boundary():
            login_page()

    at = AppTest.from_function(shown).run()
    assert not at.exception and [error.value for error in at.error] == [
        "The login is not set up any more\\: the secrets cannot be read. Repair the file."
    ]


def test_the_server_does_not_start(tmp_path: Path) -> None:
    file = tmp_path / "secrets.toml"
    file.write_text("[auth\n")
    options = [f"--workspace={tmp_path / 'w'}", f"--secrets.files={file}", "--server.port=0"]
    command = [sys.executable, "-m", "spnmkl", "app", *options]
    said = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert said.returncode == 1 and "The secrets do not say how people log in: they cannot be read" in said.stderr
    assert "Traceback" not in said.stderr
