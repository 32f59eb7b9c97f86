"""Ties a browser tab to its workspace, and keeps errors from becoming tracebacks."""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from importlib.resources import files
from typing import NoReturn, ParamSpec

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from spnmkl.data import load_sample
from spnmkl.errors import SPNMKLError
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.drawing import Drawing, placed
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.store import STORE
from spnmkl.ui.state.workspace import Workspace

_KEY = "spnmkl_workspace"
_DIALOG = "spnmkl_dialog"
_TOKEN = "spnmkl_token"
_REFUSED = "spnmkl_token_of_another_tab"
_ASKED, _ANSWERED = "spnmkl_asked", "spnmkl_answered"
PATIENCE_SECONDS = 4.0
_TOKENS = re.compile(r"[0-9a-f]{32}")
_LOG = logging.getLogger("spnmkl")
P = ParamSpec("P")

FRONTEND = files("spnmkl.ui") / "frontend"
_tab = st.components.v2.component("spnmkl_tab", js=(FRONTEND / "tab.js").read_text("utf-8"))


def workspace() -> Workspace:
    """The workspace of this tab."""
    if _KEY not in st.session_state:
        dataset = load_sample("breast_cancer")
        st.session_state[_KEY] = Workspace(Drawing(placed(opening_structure(dataset))), dataset)
    token = st.session_state.get(_TOKEN)
    if token is not None and STORE.owner(token) is None:  # new, or forgotten while the tab stood open
        STORE.put(token, st.session_state[_KEY], _session())
    STORE.touch(token or "")
    return st.session_state[_KEY]


def _session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def attach() -> None:
    """Give a new tab its token, and one that was reloaded, or given another address, the workspace it had.

    A tab keeps its token in sessionStorage, which stays with the tab and which a duplicated tab copies; the copy is
    renewed. The tabs settle among themselves which of them is the copy (tab.js).
    """
    if _TOKEN not in st.session_state:
        st.session_state[_TOKEN] = uuid.uuid4().hex
        workspace()
    kept, renew = (st.session_state.get("spnmkl_tab") or {}).get("kept"), None
    kept = kept if isinstance(kept, Mapping) else {}
    if kept:
        st.session_state[_ANSWERED] = True
    had = kept.get("token")
    if isinstance(had, str) and _TOKENS.fullmatch(had) and had != st.session_state[_TOKEN]:
        # The server may not have noticed yet that the old connection is gone; what was decided once stays so.
        refused = st.session_state.get(_REFUSED) == had
        taken = refused or (kept.get("same") is not True and _stays_open(STORE.owner(had)))
        known = None if taken else STORE.find(had, _session())
        if known is None:
            renew = st.session_state[_REFUSED] = had
        else:
            STORE.remove(st.session_state[_TOKEN])
            st.session_state[_TOKEN], st.session_state[_KEY] = had, known
    _tab(
        key="spnmkl_tab",
        data={"token": st.session_state[_TOKEN], "renew": renew},
        on_kept_change=lambda: None,
        on_theme_change=lambda: None,
        height=1,
    )
    if "User-Agent" in st.context.headers and not st.session_state.get(_ANSWERED):  # there is a browser to answer
        # What is clicked before it is known whose tab this is would be done to a workspace that is thrown away.
        _wait_for_answer()
        st.stop()


@st.fragment(run_every=1.0)
def _wait_for_answer() -> None:
    """A page that cannot run our scripts never answers: it is shown all the same."""
    asked = st.session_state.setdefault(_ASKED, time.monotonic())
    if time.monotonic() - asked > PATIENCE_SECONDS:
        st.session_state[_ANSWERED] = True
        st.rerun()


def presence() -> Callable[[], bool]:
    """Whether this tab is still open, to be asked from any thread; a reload keeps it open."""
    token = str(st.session_state.get(_TOKEN))

    def here() -> bool:
        owner = STORE.owner(token)
        return not exists() or (owner is not None and get_instance().is_active_session(owner))

    return here


def _stays_open(session: str | None) -> bool:
    """Whether another tab is using a token; a session takes a moment to close."""
    for _ in range(10):
        if session is None or not (exists() and get_instance().is_active_session(session)):
            return False
        time.sleep(0.1)
    return True


def theme() -> str:
    """The one that the page is shown in, "light" or "dark"."""
    return "dark" if st.context.theme.type == "dark" else "light"


def heading(words: str, page: str | None = None, label: str = "") -> DeltaGenerator:
    """The title of a page and, at its right end, the way to the next one; returns the place between them."""
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        st.markdown(f"#### {words}", width="content")
        between = st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center")
        # A button and not a link: what was edited just before it comes with the click.
        if page is not None and st.button(
            label, type="primary", icon=":material/arrow_forward:", icon_position="right", key="next"
        ):
            st.switch_page(page)
    return between


def rerun() -> NoReturn:
    """Draw the fragment anew, or the page where all of it is being drawn."""
    try:
        st.rerun(scope="fragment")
    except StreamlitAPIException:
        st.rerun()


@contextmanager
def boundary() -> Iterator[None]:
    """Our errors are one sentence; anything else is an apology, with the details in the server's log only."""
    try:
        yield
    except SPNMKLError as error:
        st.error(plain(error))
    except Exception:
        _LOG.exception("A page failed")
        st.error("Something went wrong here. Your drawing and your data are kept; try again, or reload the page.")


def tabs(key: str, parts: Mapping[str, Callable[[], None]]) -> None:
    """Tabs of which the open one alone is computed."""
    for tab, part in zip(st.tabs(list(parts), key=key, on_change="rerun"), parts.values(), strict=True):
        if tab.open:
            with tab, boundary():
                part()


def fragment(part: Callable[P, None]) -> Callable[P, None]:
    """A Streamlit fragment inside the error boundary."""

    @st.fragment
    @wraps(part)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        with boundary():
            part(*args, **kwargs)

    return guarded


def dialog(title: str) -> Callable[[Callable[P, None]], Callable[P, None]]:
    """A wide Streamlit dialog inside the error boundary; `close_dialog` or the person closes it."""

    def decorate(part: Callable[P, None]) -> Callable[P, None]:
        @st.dialog(title, width="large", on_dismiss=close_dialog)
        @wraps(part)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
            with boundary():
                part(*args, **kwargs)

        return guarded

    return decorate


def open_dialog(name: str) -> None:
    st.session_state[_DIALOG] = name


def close_dialog() -> None:
    st.session_state.pop(_DIALOG, None)


def opened_dialog() -> str:
    """Which dialog is open: it stays so while the page is drawn anew for other reasons."""
    return str(st.session_state.get(_DIALOG))
