"""Ties a browser tab to its workspace, and keeps errors from becoming tracebacks."""

from __future__ import annotations

import hashlib
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
from spnmkl.errors import SPNMKLError, WorkspaceError
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.drawing import Drawing, placed
from spnmkl.ui.state.keeping import DEFAULT_SAMPLE, Keeper
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.store import STORE
from spnmkl.ui.state.workspace import Workspace
from spnmkl.workspace.store import WorkspaceStore

_KEY = "spnmkl_workspace"
_DIALOG = "spnmkl_dialog"
_TOKEN = "spnmkl_token"
_REFUSED = "spnmkl_token_of_another_tab"
_ASKED, _ANSWERED = "spnmkl_asked", "spnmkl_answered"
PATIENCE_SECONDS = 4.0
LOCAL = ("127.0.0.1", "localhost", "::1")
LEAVE_SECONDS = 5.0  # for which is waited until what a tab leaves is saved
SIGN_SECONDS = 1.0  # for which the end of a page waits until it can say that it is saved
_COOKIE = "_streamlit_xsrf"
_TOKENS = re.compile(r"[0-9a-f]{32}")
_LOG = logging.getLogger("spnmkl")
P = ParamSpec("P")


def _is_active(session: str) -> bool:
    """Whether a page is connected; without a server, as in tests, there is nobody else to look after it."""
    return not exists() or get_instance().is_active_session(session)


KEEPER = Keeper(WorkspaceStore.opened, STORE)
KEEPER.is_active = _is_active

FRONTEND = files("spnmkl.ui") / "frontend"
_tab = st.components.v2.component("spnmkl_tab", js=(FRONTEND / "tab.js").read_text("utf-8"))
_saved = st.components.v2.component("spnmkl_saved", js=(FRONTEND / "saved.js").read_text("utf-8"))


def workspace() -> Workspace:
    """The workspace of this tab."""
    if _KEY not in st.session_state:
        dataset = load_sample(DEFAULT_SAMPLE)
        st.session_state[_KEY] = Workspace(Drawing(placed(opening_structure(dataset))), dataset)
    token = st.session_state.get(_TOKEN)
    if token is not None and STORE.owner(token) is None:  # new, or forgotten while the tab stood open
        STORE.put(token, st.session_state[_KEY], _session(), _browser())
    STORE.touch(token or "")
    return st.session_state[_KEY]


def _session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _browser() -> str:
    """What this browser alone knows: the secret in its cookie against forged requests; nothing where it keeps none.

    The secret is the same from visit to visit, and is written differently each time: masked by four bytes beside it.
    """
    try:
        _, mask, masked, _ = st.context.cookies.get(_COOKIE, "").split("|")
        key, secret = bytes.fromhex(mask), bytes.fromhex(masked)
        return bytes(byte ^ key[k % len(key)] for k, byte in enumerate(secret)).hex()
    except (ValueError, ZeroDivisionError):
        return ""


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
        # The server may not have noticed yet that the old connection is gone; what was decided once stays so. That it
        # is the same tab is believed of the browser in which it stands; another may know the token, and say so too.
        refused = st.session_state.get(_REFUSED) == had
        same = kept.get("same") is True and STORE.same_browser(had, _browser())
        taken = refused or (not same and _stays_open(STORE.owner(had)))
        known = None if taken else _found(had)
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


def _found(token: str) -> Workspace | None:
    """What a tab had open, from memory or from disk; from disk too where another server went on with it."""
    known = STORE.find(token, _session())
    if known is None or KEEPER.stale(known):
        known = KEEPER.recall(token) or known
        if known is not None:
            STORE.put(token, known, _session(), _browser())
    return known


def owner() -> str:
    """Whose projects this tab sees: on the own machine all, on a server for others those that it made itself.

    A server that answers to other names than those of the own machine is one for others, behind a proxy.
    """
    hosts = st.get_option("server.allowedHosts")
    local = st.get_option("server.address") in LOCAL and bool(hosts) and all(host in LOCAL for host in hosts)
    return "" if local else hashlib.sha256(str(st.session_state.get(_TOKEN)).encode()).hexdigest()


def keeper() -> Keeper:
    """Who saves the work of all tabs of this server."""
    return KEEPER


def switch_project(project: str) -> None:
    """Open a project in this tab; what is open is saved already."""
    note()
    work = KEEPER.open(project)
    token = st.session_state[_TOKEN]
    _leave(token)
    KEEPER.disk().upkeep.open(token, project)
    st.session_state[_KEY] = work
    STORE.put(token, work, _session(), _browser())


def new_project() -> None:
    """Begin anew in this tab."""
    note()
    token = st.session_state[_TOKEN]
    _leave(token)
    st.session_state.pop(_KEY)
    STORE.remove(token)
    workspace()


def _leave(token: str) -> None:
    """What is going on ends, as it does when the tab is closed; what there is until then is kept."""
    work: Workspace = st.session_state[_KEY]
    if work.trainer.activity is not None:
        work.trainer.activity.job.stop()
        work.trainer.activity.job.join(LEAVE_SECONDS)
        work.trainer.collect()
    work.trainer.end_estimate()
    KEEPER.note(token, work, owner())
    if not KEEPER.wait(work.keeping, LEAVE_SECONDS):
        reason = work.keeping.failure or "It is still being written."
        raise WorkspaceError(f"What is open here is not saved, and stays open: {reason} Then try again.")
    KEEPER.disk().upkeep.forget(token)


def note() -> None:
    """Hand what this tab works on to whom saves it, where that has changed."""
    if _KEY in st.session_state and st.session_state.get(_TOKEN):
        KEEPER.note(st.session_state[_TOKEN], st.session_state[_KEY], owner())


@contextmanager
def kept(where: str) -> Iterator[None]:
    """What the block changes is saved, and then a sign on the page says so; also where the block draws anew."""
    try:
        yield
    finally:
        note()
    if _KEY in st.session_state:
        keeping = st.session_state[_KEY].keeping
        KEEPER.wait(keeping, SIGN_SECONDS)
        _saved(key=f"spnmkl_saved_{where}", data=keeping.told(), on_again_change=lambda: None, height=1)


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


def guarded(act: Callable[P, object]) -> Callable[P, None]:
    """What a click does, inside the error boundary: it is done before the page is drawn, and so outside of its own."""

    @wraps(act)
    def done(*args: P.args, **kwargs: P.kwargs) -> None:
        with boundary():
            act(*args, **kwargs)

    return done


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
        with kept(part.__name__), boundary():
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
