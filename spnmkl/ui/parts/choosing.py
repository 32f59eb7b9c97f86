"""A choice for somebody who would rather not decide: what it is, and the button that takes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import streamlit as st

from spnmkl.measures import SCORINGS
from spnmkl.reporting.doubts import found_by_search
from spnmkl.reporting.endings import score_text as score_of_run
from spnmkl.structure.layout import unplaced
from spnmkl.study.contest_words import score_text
from spnmkl.ui.parts.session import presence
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Kind
from spnmkl.ui.state.works import Chosen
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted, listed

CHOICE = (
    "cross-validation on the training rows chooses C, the preparation, and whether the weights are certified, by "
    "evidence, or one kernel alone does"
)
LET_HELP = (
    "For somebody who would rather not decide: a sum over every view and every column, with kernels of several widths, "
    f"in place of the drawing; {CHOICE}. It says what was chosen and why, and changes nothing until you take it."
)
FIRST_HELP = (
    f"As long as the drawing is the one that the data opened on, {CHOICE}: between several widths certified weights at "
    "some C cannot decide. What was chosen and why is said below. A drawing that you change is trained as you set it."
)

LEFT_NOTHING: dict[Kind, str] = {
    "train": "Stopped before anything was trained: nothing is kept.",
    "choose": "Stopped before any C had been tried: nothing is kept.",
    "trace": "Stopped before the first C was done: nothing is kept.",
    "default": "Stopped before anything was chosen: nothing is kept.",
}
STOPPED_CHOOSING = (
    "Stopped while choosing: nothing was trained. What did best until then stands below *Choose C and weights for me*; "
    "it can be taken."
)


def choose_or_set(work: Workspace) -> bool:
    """On the drawing that data open on: whether a training chooses, which can be turned off; whether it does.

    Where choosing was stopped, the best so far can be taken.
    """
    if not work.as_opened or (work.chosen is not None and not work.chooses):
        return work.chooses
    version = work.trainer.settings_version
    key = f"chooses {version}"

    def take() -> None:
        if version == work.trainer.settings_version:  # not from a toggle that was there before settings came
            work.by_hand = not st.session_state[key]

    st.toggle(
        "Choose C and weights for me",
        not work.by_hand,
        key=key,
        disabled=work.trainer.working is not None,
        on_change=take,
        help=FIRST_HELP,
    )
    if work.chooses:
        st.caption("By cross-validation on the training rows, with the reasons; it takes longer than one training.")
        show_chosen(work)
    return work.chooses


def offer_choice(work: Workspace) -> None:
    st.button(
        "Let it choose",
        icon=":material/auto_awesome:",
        width="stretch",
        disabled=work.trainer.working is not None,
        help=LET_HELP,
        on_click=_begin_choosing,
        args=(work, presence()),
    )
    show_chosen(work)


def _begin_choosing(work: Workspace, here: Any) -> None:
    work.trainer.choose_default(work.task, work.trainer.settings, here)


def show_chosen(work: Workspace) -> None:
    """What was chosen and why; and the button that takes it and trains."""
    chosen = work.chosen
    if chosen is None:
        return
    with st.container(border=True, key="chosen"):
        for sentence in chosen.sentences:
            st.caption(plain(sentence))
        if not work.takes(chosen):
            if words := replacement(work, chosen):
                st.markdown(plain(words))
            st.button(
                "Take it and train",
                icon=":material/check:",
                width="stretch",
                disabled=work.trainer.working is not None,
                on_click=_take_chosen,
                args=(work, chosen, presence()),
            )


def replacement(work: Workspace, chosen: Chosen) -> str:
    """What becomes of a drawing of the person's own, which was not tried, and how good that is known to be."""
    if work.as_opened or unplaced(work.drawing.spn) == unplaced(chosen.spn):
        return ""
    own, n = counted(len(work.drawing.spn.products), "weight"), len(chosen.spn.products)
    other = f"the default sum over every column ({n} weights)" if n > 1 else "one kernel of the default sum (1 weight)"
    known = list(_scores_of_drawing(work, chosen.settings.scoring))
    beside = f"Of your drawing is known: {listed(known)}." if known else "No score of it is known: Compare makes one."
    searched = work.trainer.searched(work.drawing.spn, work.dataset)
    if known and searched is not None and searched.drew:
        beside += f" {found_by_search(['your drawing'])}"
    return (
        f"That is the score of {other}, not of your drawing ({own}), which was not tried. {beside} Taking it replaces "
        "your drawing; undo on Design brings it back."
    )


def _scores_of_drawing(work: Workspace, scoring: str) -> Iterator[str]:
    """By Compare, and of runs, on the same rows."""
    trainer, task = work.trainer, work.task
    if trainer.contest is not None and trainer.contest.task.same(task):
        contest = trainer.contest.value
        summary = contest.summary(scoring)
        for _, row in summary[summary["method"] == contest.reference].iterrows():
            folds = f"{counted(int(row['folds']), 'fold')} of {counted(contest.n_rows, 'training row')}"
            yield f"{SCORINGS[scoring].title} {score_text(row, scoring)} on {folds} (Compare)"
    for run in trainer.book.runs:
        known = trainer.book.tasks.get(run.name)
        if known is not None and known.same(task):
            yield f"{score_of_run(run)} ({run.name})"


def _take_chosen(work: Workspace, chosen: Chosen, here: Any) -> None:
    work.take_chosen(chosen)
    work.trainer.start("train", work.task, work.trainer.settings, here)


def left_by_stop(work: Workspace) -> str | None:
    """What is there after a Stop that left no training, as long as what would be trained now is the same."""
    kind, task = work.trainer.stopped or (None, None)
    if kind not in LEFT_NOTHING or task is None or not task.same(work.task):
        return None
    return STOPPED_CHOOSING if kind == "train" and work.chosen is not None else LEFT_NOTHING[kind]
