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
from typing import Any, NoReturn, ParamSpec

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import get_script_run_ctx

from spnmkl.data import load_sample
from spnmkl.errors import SPNMKLError, WorkspaceError
from spnmkl.ui.parts import login
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state import jobs, leave
from spnmkl.ui.state.doors import DOORS, browser_secret, digest, holder
from spnmkl.ui.state.drawing import Drawing, placed
from spnmkl.ui.state.keeping import DEFAULT_SAMPLE, Keeper
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.store import STORE
from spnmkl.ui.state.workspace import Workspace
from spnmkl.workspace.quotas import Quotas
from spnmkl.workspace.store import WorkspaceStore

_KEY = "spnmkl_workspace"
_DIALOG = "spnmkl_dialog"
_TOKEN = "spnmkl_token"
_REFUSED = "spnmkl_token_of_another_tab"
_ASKED, _ANSWERED = "spnmkl_asked", "spnmkl_answered"
_WHOSE = "spnmkl_whose"
PATIENCE_SECONDS = 4.0
LEAVE_SECONDS = 5.0  # for which is waited until what a tab leaves is saved
SIGN_SECONDS = 1.0  # for which the end of a page waits until it can say that it is saved
_TOKENS = re.compile(r"[0-9a-f]{32}")
_LOG = logging.getLogger("spnmkl")
P = ParamSpec("P")


def _is_active(session: str) -> bool:
    """Whether a page is connected; without a server, as in tests, there is nobody else to look after it."""
    return not exists() or get_instance().is_active_session(session)


KEEPER = Keeper(WorkspaceStore.opened, STORE)
KEEPER.is_active = _is_active


def _note_job(job: jobs.Job[Any], state: str) -> None:
    """Into the log: what was asked for, when it began and how it ended; not what the server does by itself."""
    if job.person and not job.aside and job.kind != "look":
        what = "training" if job.kind == "train" else "work"
        about = {"kind": job.kind} | ({} if state == "started" else {"state": state, "seconds": round(job.seconds, 1)})
        KEEPER.disk().audit.note(job.person, f"{what} {'started' if state == 'started' else 'ended'}", **about)


jobs.AT_ONCE_EACH, jobs.listener = Quotas.chosen().trainings, _note_job
leave.ledger = lambda: KEEPER.disk().admission

FRONTEND = files("spnmkl.ui") / "frontend"
_tab = st.components.v2.component("spnmkl_tab", js=(FRONTEND / "tab.js").read_text("utf-8"))
_saved = st.components.v2.component("spnmkl_saved", js=(FRONTEND / "saved.js").read_text("utf-8"))


def workspace() -> Workspace:
    """The workspace of this tab."""
    if _KEY not in st.session_state:
        dataset = load_sample(DEFAULT_SAMPLE)
        st.session_state[_KEY] = Workspace(Drawing(placed(opening_structure(dataset))), dataset)
    work: Workspace = st.session_state[_KEY]
    work.trainer.person = owner()
    if _TOKEN in st.session_state:
        place = _place(st.session_state[_TOKEN])
        if STORE.owner(place) is None:  # new, or forgotten while the tab stood open
            STORE.put(place, work, _session(), _browser())
        STORE.touch(place)
    return work


def _place(token: str) -> str:
    """Under which the work of a tab is kept; who logs in later in the same tab has another place."""
    person = login.person()
    return token if person is None else digest(person.id, token)[:32]


def _session() -> str:
    context = get_script_run_ctx()
    return context.session_id if context else ""


def _browser() -> str:
    """What this browser alone knows."""
    return browser_secret(st.context.cookies)


def admit() -> bool:
    """Whether the person may work here: where a login is asked for, who has not logged in sees how to, and no more.

    That a login has ended meanwhile is seen by the guard before the server (`ui/guard.py`), for every message.
    """
    with boundary():
        if login.configured() and not login.goes_on(KEEPER.disk().people):
            return False
        person = login.person()
        whose = "" if person is None else person.id
        if st.session_state.setdefault(_WHOSE, whose) != whose:  # a connection that was taken up again by another
            st.session_state.clear()
            st.session_state[_WHOSE] = whose
        DOORS.admit(holder(st.context.cookies), owner(), person, _session())
        return True
    return False


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
        place = _place(had)
        same = kept.get("same") is True and STORE.same_browser(place, _browser())
        taken = refused or (not same and _stays_open(STORE.owner(place)))
        known = None if taken else _found(had)
        if known is None:
            renew = st.session_state[_REFUSED] = had
        else:
            STORE.remove(_place(st.session_state[_TOKEN]))
            st.session_state[_TOKEN], st.session_state[_KEY] = had, known
            workspace()
    _tab(
        key="spnmkl_tab",
        data={"token": st.session_state[_TOKEN], "renew": renew, "browser": _browser()},
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
    place = _place(token)
    known = STORE.find(place, _session(), _browser() if _is_visitor() else None)
    if known is None or KEEPER.stale(known):
        known = KEEPER.recall(place, owner(token), _browser()) or known
        if known is not None:
            STORE.put(place, known, _session(), _browser())
    return known


def owner(token: str | None = None) -> str:
    """Whose projects this tab, or that of a token, sees: those of who has logged in; on the own machine all; on a
    server for others without a login those that the tab made itself.
    """
    if (person := login.person()) is not None:
        return person.id
    return DOORS.visitor(token or str(st.session_state.get(_TOKEN))) if login.is_for_others() else ""


def _bound() -> str:
    """The secret that a visitor's tab is bound to; on the own machine, and where people log in, nothing needs it."""
    return _browser() if _is_visitor() else ""


def _is_visitor() -> bool:
    """Whether this is a tab of a server for others that nobody has logged in with."""
    return bool(owner()) and login.person() is None


def keeper() -> Keeper:
    """Who saves the work of all tabs of this server."""
    return KEEPER


def switch_project(project: str) -> None:
    """Open a project in this tab; what is open is saved already."""
    note()
    work = KEEPER.open(project, owner())
    place = _place(st.session_state[_TOKEN])
    _leave(place)
    KEEPER.disk().upkeep.open(place, project, _bound())
    st.session_state[_KEY] = work
    STORE.put(place, work, _session(), _browser())


def new_project() -> None:
    """Begin anew in this tab."""
    note()
    place = _place(st.session_state[_TOKEN])
    _leave(place)
    st.session_state.pop(_KEY)
    STORE.remove(place)
    workspace()


def log_out() -> None:
    """Save what is open, and end the login for every tab."""
    note()
    person = login.person()
    if person is not None:
        KEEPER.wait(st.session_state[_KEY].keeping, LEAVE_SECONDS)
        KEEPER.disk().people.leave(person)
    st.logout()


def _leave(place: str) -> None:
    """What is going on ends, as it does when the tab is closed; what there is until then is kept."""
    work: Workspace = st.session_state[_KEY]
    if work.trainer.activity is not None:
        work.trainer.activity.job.stop()
        work.trainer.activity.job.join(LEAVE_SECONDS)
        work.collect()
    work.trainer.end_estimate()
    KEEPER.note(place, work, owner(), _bound())
    if not KEEPER.wait(work.keeping, LEAVE_SECONDS):
        reason = work.keeping.failure or "It is still being written."
        raise WorkspaceError(f"What is open here is not saved, and stays open: {reason} Then try again.")
    KEEPER.disk().upkeep.forget(place)


def note() -> None:
    """Hand what this tab works on to whom saves it, where that has changed."""
    if _KEY in st.session_state and st.session_state.get(_TOKEN):
        KEEPER.note(_place(st.session_state[_TOKEN]), st.session_state[_KEY], owner(), _bound())


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
    place = _place(str(st.session_state.get(_TOKEN)))

    def here() -> bool:
        owner = STORE.owner(place)
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


def heading(words: str, page: str | None = None, label: str = "", *, done: bool = True) -> DeltaGenerator:
    """The title of a page and, at its right end, the way to the next one, in blue once the page is done.

    Returns the place between them.
    """
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        st.markdown(f"#### {words}", width="content")
        between = st.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center")
        # A button and not a link: what was edited just before it comes with the click.
        if page is not None and st.button(
            label,
            type="primary" if done else "secondary",
            icon=":material/arrow_forward:",
            icon_position="right",
            key="next",
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
