"""Scores over folds while they are made: when they begin by themselves, how far they are, and their Stop."""

from __future__ import annotations

import streamlit as st

from spnmkl.memory import available_memory
from spnmkl.selection.results import UNFINISHED
from spnmkl.study.contest_words import about
from spnmkl.training.room import refusal, size_of
from spnmkl.training.run import Run
from spnmkl.ui.parts.following import progress_bar, words_of
from spnmkl.ui.parts.session import presence
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.estimate import LONG, PLAN, SECONDS, expected_seconds, spn_of_folds
from spnmkl.ui.state.kernel_shelf import kept_bytes
from spnmkl.ui.state.workspace import Workspace

AUTOMATIC = True  # whether they begin by themselves
REFRESH = 2.0  # seconds
MORE_HELP = (
    "Repeated cross-validation on the training rows, whole groups held out together; the test rows stay unseen. What "
    "was chosen for the run is chosen anew in every fold, in as much time as the run had for it. It makes way for "
    "whatever you train next, and ends when the drawing or the data change; what is done by then is kept."
)


def show_estimate(work: Workspace, run: Run) -> None:
    """How the scores over folds of a run come along, or the button that begins or goes on with them."""
    begin_by_itself(work, run)
    estimate = work.trainer.estimate
    if estimate is not None and estimate.run.solution is run.solution:
        st.fragment(follow, run_every=REFRESH)(work)
        return
    offer(work, run)


def follow(work: Workspace) -> None:
    estimate = work.trainer.estimate
    if estimate is None or estimate.job.finished:
        st.rerun()
    job = estimate.job
    with st.container(horizontal=True, vertical_alignment="center", key="estimating"):
        said = "Scoring over folds" + (f": {words}" if (words := words_of(job)) else "")
        with st.container():
            progress_bar(job, f"{said} · {job.seconds:.0f} s")
        st.button("Stop", icon=":material/stop_circle:", key="stop_estimate", on_click=job.stop, help=MORE_HELP)


def begin_by_itself(work: Workspace, run: Run) -> None:
    """Once per run, where nothing else goes on and it is not long."""
    if not AUTOMATIC or work.trainer.working or work.trainer.estimate_failure(run) is not None:
        return
    if run.fold_scores is not None or run.solution.status in UNFINISHED or not possible(work, run):
        return
    if expected_seconds(run) <= LONG:
        begin(work, run)


def possible(work: Workspace, run: Run) -> bool:
    """Whether the run is of what is drawn and loaded now, learned something, and its folds fit in the memory."""
    task = work.trainer.book.tasks.get(run.name)
    if task is None or not task.same(work.task) or not any(run.solution.beta.values()):
        return False
    if run.approximated is not None:
        return False  # folds would train without landmarks
    free = available_memory()
    held = size_of(spn_of_folds(run), run.n_train, len(run.solution.classes), PLAN.inner)
    return refusal(held, None if free is None else free + kept_bytes()) is None


def begin(work: Workspace, run: Run) -> None:
    task = work.trainer.book.tasks[run.name]
    work.trainer.begin_estimate(run, lambda: task.same(work.task), presence(), SECONDS)


def offer(work: Workspace, run: Run) -> None:
    """Begin, or go on with what was stopped or ended with its time."""
    trainer, found = work.trainer, run.fold_scores
    if wrong := trainer.estimate_failure(run):
        st.caption(f"No scores over folds: {plain(wrong)}")
        return
    if (found is not None and found.complete) or not possible(work, run):
        return
    took = about(expected_seconds(run))
    title = f"Score it over folds ({took})" if found is None else f"More folds: {found.n_done} of {found.C.size} done"
    st.button(
        title,
        icon=":material/rule:",
        key="begin_estimate",
        disabled=trainer.working is not None,
        on_click=begin,
        args=(work, run),
        help=MORE_HELP,
        type="tertiary",
    )
