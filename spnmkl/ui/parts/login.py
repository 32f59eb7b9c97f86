"""Who has logged in, by Streamlit's own login at a provider of OpenID Connect, where the secrets name one."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.workspace.people import People, Person

ADMINISTRATORS = "SPNMKL_ADMINISTRATORS"
LOOK_SECONDS = 3.0  # between two looks at whether a login goes on
_SEEN = "spnmkl_login_seen"


def configured() -> bool:
    """Whether people log in here."""
    return bool(st.secrets.load_if_toml_exists()) and "auth" in st.secrets


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
    named = [name for name, value in section.items() if isinstance(value, Mapping) and "client_id" in value]
    return [None] if "client_id" in section else list(named)


def login_page() -> None:
    """All that is shown to who has not logged in."""
    with st.container(border=True, horizontal_alignment="center", gap="small", key="login"):
        st.markdown("#### spnmkl", width="content")
        st.markdown("Log in to see and continue your work; nobody else sees it unless you share it.", width="content")
        for provider in providers():
            name = "Log in" if provider is None else f"Log in with {provider}"
            st.button(
                name,
                type="primary",
                icon=":material/login:",
                key=f"login_{provider or ''}",
                on_click=_log_in,
                args=(provider,),
            )


def _log_in(provider: str | None) -> None:
    try:
        st.login(provider)
    except Exception as error:  # what the secrets lack, in Streamlit's words
        raise SPNMKLError(f"The login is not set up: {error}") from error
