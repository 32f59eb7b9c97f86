"""Who has logged in, by Streamlit's own login at a provider of OpenID Connect, where the secrets name one."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import NoReturn

import streamlit as st
from streamlit import config

from spnmkl.errors import SPNMKLError
from spnmkl.workspace.people import People, Person

ADMINISTRATORS = "SPNMKL_ADMINISTRATORS"
LOOK_SECONDS = 3.0  # between two looks at whether a login goes on
LOCAL = ("127.0.0.1", "localhost", "::1")
_SEEN = "spnmkl_login_seen"
_asked_for = False


def configured() -> bool:
    """Whether people log in here; where they did when the server started, also while the secrets cannot be read."""
    return _asked_for or (bool(st.secrets.load_if_toml_exists()) and "auth" in st.secrets)


def is_for_others() -> bool:
    """Whether the server answers to other names than those of the own machine: then it stands behind a proxy."""
    hosts = st.get_option("server.allowedHosts")
    return st.get_option("server.address") not in LOCAL or not hosts or any(host not in LOCAL for host in hosts)


def check_secrets() -> None:
    """Refuse to start where secrets are to say how people log in and do not: everybody would be let in."""
    global _asked_for
    files, named = list(st.get_option("secrets.files")), config.is_manually_set("secrets.files")
    missing = [file for file in files if not os.path.exists(file)]
    if named and missing:
        _refuse(f"{_paths(missing)} cannot be found")
    if len(missing) == len(files):
        return
    try:
        _asked_for = "auth" in st.secrets and bool(providers())
    except (OSError, ValueError, TypeError) as error:
        _refuse(f"they cannot be read ({error})")
    if not _asked_for and (named or is_for_others()):
        _refuse(f"{_paths([file for file in files if file not in missing])} has no section [auth] with a client_id")


def _paths(files: list[str]) -> str:
    return " and ".join(os.path.abspath(file) for file in files)


def _refuse(why: str) -> NoReturn:
    raise SPNMKLError(
        f"The secrets do not say how people log in: {why}. The server does not start, since it would let everybody in; "
        "repair the file, or leave it away where nobody is to log in."
    )


def person() -> Person | None:
    """Who has logged in; whether that login has not ended is asked by `goes_on`."""
    if not configured():
        return None
    claims = st.user.to_dict()
    return Person.of_claims(claims) if claims.get("is_logged_in") is True else None


def goes_on(people: People) -> bool:
    """Whether somebody has logged in, and nobody has ended that login; the first time, it is noted."""
    found = person()
    if found is None:
        return False
    login, at = st.session_state.get(_SEEN, ("", 0.0))
    if login != found.login or time.monotonic() - at > LOOK_SECONDS:
        if not people.arrive(found):
            return False
        st.session_state[_SEEN] = found.login, time.monotonic()
    return True


def administers() -> bool:
    """Whether who has logged in is one of those that the server's owner has named."""
    found = person()
    return found is not None and found.id in os.environ.get(ADMINISTRATORS, "").replace(",", " ").split()


def providers() -> list[str | None]:
    """Those that the secrets name; None stands for the one without a name."""
    section = st.secrets["auth"]
    if not isinstance(section, Mapping):
        return []
    named = [name for name, value in section.items() if isinstance(value, Mapping) and "client_id" in value]
    return [None] if "client_id" in section else list(named)


def login_page() -> None:
    """All that is shown to who has not logged in."""
    with st.container(border=True, horizontal_alignment="center", gap="small", key="login"):
        st.markdown("#### spnmkl", width="content")
        st.markdown("Log in to see and continue your work; nobody else sees it unless you share it.", width="content")
        for provider in _providers_now():
            name = "Log in" if provider is None else f"Log in with {provider}"
            st.button(
                name,
                type="primary",
                icon=":material/login:",
                key=f"login_{provider or ''}",
                on_click=_log_in,
                args=(provider,),
            )


def _providers_now() -> list[str | None]:
    try:
        return providers()
    except (KeyError, OSError, ValueError):  # they were changed since the server started
        raise SPNMKLError("The login is not set up any more: the secrets cannot be read. Repair the file.") from None


def _log_in(provider: str | None) -> None:
    try:
        st.login(provider)
    except Exception as error:  # what the secrets lack, in Streamlit's words
        raise SPNMKLError(f"The login is not set up: {error}") from error
