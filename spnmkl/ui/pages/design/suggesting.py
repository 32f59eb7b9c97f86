"""A drawing found in the data: how far the search is, and what it suggests, each a click away from the canvas."""

from __future__ import annotations

import math
from collections.abc import Callable

import streamlit as st

from spnmkl.measures import SCORINGS
from spnmkl.search import Score, Suggestion, Suggestions
from spnmkl.search.scores import errors_words
from spnmkl.structure.layout import unplaced
from spnmkl.ui.parts.cards import thumbnail
from spnmkl.ui.parts.following import REFRESHES, progress_bar, stop_button, words_of
from spnmkl.ui.parts.session import close_dialog, dialog, presence, theme
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.suggesting import BUDGETS, OUTER_FOLDS, Asked
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted, number_text

WANTED = "suggest_budget_wanted"
BEGIN, AGAIN = "Search", "Search again"
BUDGET_HELP = "How many drawings are fitted at most. More find longer products; 100 are enough for most tables."
OUTER_HELP = (
    f"Also does the whole search in {OUTER_FOLDS} outer folds and scores what it recommends there: how good searching "
    "is on data like these. Takes about as many times as long."
)
RECURS_HELP = "In how many of the searches on parts of the rows its branches came out again; the least of them."
EVIDENCE_HELP = (
    "Log evidence less that of the flat sum of all kernels, on the rows that were searched. It compares drawings, and "
    "is no accuracy. After prices: the same less a price for every weight that can be learned, by which drawings are "
    "ordered."
)


@dialog("Suggest a structure")
def suggest_structure(work: Workspace) -> None:
    trainer = work.trainer
    work.collect()
    if trainer.doing("suggest"):
        wait_for_search(trainer)
        return
    found = trainer.suggested_for(work.task)
    offer(work, found)
    if trainer.failure is not None and trainer.failure.kind == "suggest":
        st.error(plain(trainer.failure.message))
    if found is not None:
        show_suggestions(work, found)


def offer(work: Workspace, found: Suggestions | None) -> None:
    trainer = work.trainer
    st.caption(
        "Goes from the flat sum over your columns or views to drawings with products in them, as long as the evidence "
        f"for them grows, and says so where there is none. {scored_on(work)} Your drawing stays until you open another."
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        budget = how_many()
        outer = st.checkbox("Outer folds too", key="suggest_outer", help=OUTER_HELP)
        asked = Asked(budget, trainer.settings.scoring, outer)
        st.button(
            BEGIN if found is None else AGAIN,
            icon=":material/search:",
            type="primary" if found is None else "secondary",
            key="suggest_begin",
            on_click=begin,
            args=(work, asked, presence()),
            disabled=trainer.working is not None,
            help="Something else is being done; this can start once it has ended." if trainer.working else None,
        )


def how_many() -> int:
    def take() -> None:
        st.session_state[WANTED] = st.session_state["suggest_budget"]

    wanted = int(st.session_state.get(WANTED, BUDGETS[1]))
    st.session_state["suggest_budget"] = wanted  # a control that was away while it was searched has forgotten it
    st.segmented_control(
        "Drawings to fit", BUDGETS, key="suggest_budget", on_change=take, required=True, help=BUDGET_HELP
    )
    return wanted


def begin(work: Workspace, asked: Asked, here: Callable[[], bool]) -> None:
    work.trainer.suggest(work.task, work.trainer.settings, asked, here)


def scored_on(work: Workspace) -> str:
    if work.split.test_share:
        return "It sees the training rows alone; scores are from the test rows."
    return "A quarter of the rows is kept away from it; scores are from these."


@st.fragment(run_every=REFRESHES[0])
def wait_for_search(trainer: Trainer) -> None:
    activity = trainer.doing("suggest")
    if activity is None:
        st.rerun()
    job = activity.job
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container():
            fitted = f" · {job.done} of {job.total} fitted" if job.total else ""
            progress_bar(job, f"{words_of(job) or 'preparing'}{fitted} · {job.seconds:.0f} s")
        stop_button(job, key="stop_suggest", help="Keeps the best so far.")
    if job.records:
        step = job.records[-1]
        st.markdown(f"**Best so far:** {plain(step.formula)}")
        st.caption(f"{number_text(step.over_flat, '+.1f')} of log evidence over the flat sum", help=EVIDENCE_HELP)
        with st.container(key="suggest_so_far"):
            st.image(thumbnail(unplaced(step.spn), (), theme()), width=460)


def show_suggestions(work: Workspace, found: Suggestions) -> None:
    (st.warning if found.ended == "stopped" else st.success if found.found else st.info)(plain(found.sentence))
    columns = [c for _ in range(0, len(found), 2) for c in st.columns(2, gap="small")]
    for k, (column, one) in enumerate(zip(columns, found, strict=False)):
        with column.container(border=True, height="stretch", key=f"suggestion_{k}"):
            card(work, found, one, k)
    where = (
        f"Searched in {counted(found.rows, 'row')}; {counted(found.refits, 'drawing')} fitted in {found.seconds:.0f} s."
    )
    where += f" {order_words(found)}"
    shown = [score for one in found for score in (one.score, one.evidence_score)]
    if found.outer is not None:
        outer = found.outer
        folds = f"{outer.search.folds} outer folds, the whole search in each"
        where += f" {folds}: {outer.search}; flat: {outer.flat}{outer.search.beside_guessing}."
        shown += [outer.search, outer.flat]
    st.caption(plain(f"{where} {errors_words(shown)}"))


def order_words(found: Suggestions) -> str:
    """By what drawings are ordered, and with what each number compares."""
    if len(found) < 2:
        return ""
    first = "" if found.found else ", those without products first"
    return (
        f"In the order of log evidence after the price of weights{first}. Cards compare with the flat sum of all "
        "kernels; the sentence above names what it compares with, and where there are more than two classes, it counts "
        "what their evidences have in common once, so that its numbers are smaller."
    )


def card(work: Workspace, found: Suggestions, one: Suggestion, place: int) -> None:
    """Its picture with evidence weights, what speaks for it, and the button that puts it on the canvas."""
    title = "The flat sum of all kernels" if one.is_flat else one.formula
    st.markdown(f"**{plain(title)}**")
    st.image(thumbnail(unplaced(one.spn), tuple(sorted(one.weights.items())), theme()), width="stretch")
    st.markdown(scores_line(found, one))
    with st.container(horizontal=True, vertical_alignment="center"):
        if st.button(
            "Open", key=f"open_suggestion_{place}", type="primary" if one is found.recommended else "secondary"
        ):
            work.take_suggested(one, f"Suggested: {title}.")
            close_dialog()
            st.rerun()
        over, after = (number_text(value, "+.1f") for value in (one.over_flat, one.criterion - found.flat.criterion))
        st.caption(f"{over} log evidence, {after} after prices", help=EVIDENCE_HELP)
        if one.recurs:
            least = round(min(one.recurs.values()) * found.subsamples)
            st.caption(f"recurs in {least} of {found.subsamples}", help=RECURS_HELP)


def scores_line(found: Suggestions, one: Suggestion) -> str:
    if not one.score.folds:
        return f":small[{unscored_words(found)}]"
    measure = SCORINGS[one.score.scoring].title
    rows = counted(found.held_out, "row")
    both = f"{value(one.score)} certified, {value(one.evidence_score)} by evidence"
    return f":small[{measure.capitalize()} on {rows} not searched: {both}{one.score.beside_guessing}]"


def unscored_words(found: Suggestions) -> str:
    if found.ended == "stopped":
        return "Not scored: it was stopped before. Search again for scores."
    if not found.held_out:
        return "Not scored: no rows were kept away from the search."
    return "Not scored: on the rows searched no C could be chosen for it."


def value(score: Score) -> str:
    return "–" if math.isnan(score.mean) else str(score).removeprefix(SCORINGS[score.scoring].title).strip()
