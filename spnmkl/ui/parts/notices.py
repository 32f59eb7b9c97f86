"""What a person must know of the workspace on disk: what is not saved, what was lost, what was cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from spnmkl.charts import convergence_chart
from spnmkl.structure.layout import unplaced
from spnmkl.ui.parts.session import boundary, kept, presence, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.apart import TURNS
from spnmkl.ui.state.clustered import cluster_words
from spnmkl.ui.state.task import Task
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import quoted
from spnmkl.workspace.state import KeptAttempt


@contextmanager
def kept_page() -> Iterator[None]:
    """A page whose work is saved, above which is said why it is not: as its sign tells it at the end."""
    place = st.empty()
    _tell_failure(place)
    with kept("page"):
        yield
    _tell_failure(place)


@contextmanager
def _waiting() -> Iterator[Callable[[str], object]]:
    """Where a page says what it waits for; whatever is shown ends the waiting where the page is gone."""
    place = st.empty()
    yield lambda words: place.caption(f":material/hourglass_top: {words}")
    place.empty()


TURNS.shown = _waiting


def _tell_failure(place: DeltaGenerator) -> None:
    if failure := workspace().keeping.failure:
        said = f"Your work is not saved now: {failure} It is tried again."
        place.warning(plain(said), icon=":material/save_as:")
    else:
        place.empty()


def notices() -> None:
    """Above every page, and nothing where there is nothing to say."""
    work = workspace()
    keeping = work.keeping
    with boundary():
        if where := cluster_words():
            st.caption(plain(where))
        for said in keeping.remarks:
            st.warning(plain(said), icon=":material/save_as:")
        if keeping.lost:
            told(work)
        for kept in keeping.cut:
            cut_off(work, kept)


def told(work: Workspace) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key="lost"):
        st.warning("\n\n".join(map(plain, work.keeping.lost)), icon=":material/history:")
        st.button("Understood", on_click=_forget_lost, args=(work,), key="understood")


def cut_off(work: Workspace, kept: KeptAttempt) -> None:
    """A training whose server ended, with how far it came."""
    attempt = kept.attempt
    begun = datetime.fromtimestamp(attempt.begun).strftime("%d %B %H:%M")
    with st.container(border=True, horizontal=True, vertical_alignment="center", key=f"cut_{attempt.key}"):
        st.markdown(
            f"**A training was interrupted**: that of {plain(quoted(attempt.dataset_name))}, begun {begun}, ended with "
            f"the server {attempt.sentence}.",
            width="content",
        )
        if attempt.records:
            with st.popover("Its history", icon=":material/show_chart:"):
                st.altair_chart(convergence_chart(attempt.records, attempt.settings.tol), width="stretch")
        if kept.dataset is not None:
            st.button("Train it again", type="primary", key=f"again_{attempt.key}", on_click=_again, args=(work, kept))
        st.button("Dismiss", key=f"dismiss_{attempt.key}", on_click=_dismiss, args=(work, kept))


def _again(work: Workspace, kept: KeptAttempt) -> None:
    """The same training from its beginning; the drawing that is open stays where it is another one."""
    attempt = kept.attempt
    assert kept.dataset is not None
    same = unplaced(work.drawing.spn) == unplaced(attempt.spn) and work.dataset is kept.dataset
    if same and work.chooses:
        work.begin_training(presence())
    else:
        task = Task.of(attempt, kept.dataset)
        work.trainer.start("train", work.task if same else task, attempt.settings, presence())
    _dismiss(work, kept)


def _dismiss(work: Workspace, kept: KeptAttempt) -> None:
    work.keeping.cut = tuple(other for other in work.keeping.cut if other is not kept)


def _forget_lost(work: Workspace) -> None:
    work.keeping.lost = ()
