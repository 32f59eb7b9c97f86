"""What views and columns are worth on rows not trained on: measured on request; a table, a figure and sentences."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from spnmkl.charts import to_svg
from spnmkl.errors import SPNMKLError
from spnmkl.importance import ColumnImportance, ViewImportance
from spnmkl.importance.words import shown_views
from spnmkl.measures import SCORINGS
from spnmkl.memory import available_memory
from spnmkl.training.room import refusal
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.inspected import Inspected, download, row, sentence, tell_missing_data
from spnmkl.ui.parts.following import REFRESHES, progress_bar, stop_button, words_of
from spnmkl.ui.parts.session import presence
from spnmkl.ui.parts.words import plain, slug
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.importance import Question, columns_of_run, going_on, question, views_of_run
from spnmkl.ui.state.kernel_shelf import kept_bytes
from spnmkl.wording import counted

TITLE = "What each view is worth, on rows not trained on"
MEASURE, GO_ON, AGAIN = "Measure what each view is worth", "Go on measuring", "Measure again"
ROUNDS, REPEATS, WANTED = (1, 2, 5), "importance_repeats", "importance_rounds_wanted"
COLUMNS_TITLE = "Which columns inside a view matter"
COLUMNS_START = "Measure its columns"
DROP_HELP = (
    "The score of all views together less that without this one. Where the interval holds 0, these folds do not show "
    "that the others miss it."
)
INTERVAL_HELP = (
    "95 % intervals over the folds that allow for training parts that overlap (corrected resampled t, Nadeau and "
    "Bengio 2003), or that of the number of rows where it is wider. Each holds for one view at a time."
)
SHARE_HELP = "Its part of the decision on the rows held out in these folds, all of them together."


def show_importance(seen: Inspected) -> None:
    """The first thing under What matters: views alone and without, then columns inside one of them."""
    run, trainer = seen.run, seen.trainer
    st.markdown(f"**{TITLE}**", help=INTERVAL_HELP)
    found = views_of_run(run)
    if not seen.has_data:
        if found is None:
            tell_missing_data(run, "What each view is worth")
        else:
            show_views(run, found)
        return
    try:
        asked = question(run, trainer.book.tasks[run.name], rounds_wanted())
    except SPNMKLError as error:  # too few rows for folds, say: then there is nothing to press
        st.caption(plain(str(error)))
        return
    offer_views(trainer, run, asked, found)
    if found is not None:
        show_views(run, found)
    show_columns(trainer, run, asked)
    st.divider()


def offer_views(trainer: Trainer, run: Run, asked: Question, found: ViewImportance | None) -> None:
    if len(asked.views) < 2:
        st.caption(
            "The drawing sees one set of columns only, so that there is nothing to leave out: make views on the page "
            "Data, or let kernels see different columns."
        )
        return
    if trainer.doing("importance"):
        wait_for_importance(trainer)
        return
    failed(trainer)
    held = asked.size(len(run.solution.classes))
    free = available_memory()
    refused = refusal(held, None if free is None else free + kept_bytes())
    partial = going_on(run, asked)
    title = MEASURE if found is None else GO_ON if partial is not None else AGAIN
    st.caption(what_it_does(asked, run))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        how_often(asked)
        begin_button(trainer, title, "measure_views", (run, None), primary=found is None, refused=refused)


def how_often(asked: Question) -> None:
    def take() -> None:
        st.session_state[WANTED] = st.session_state[REPEATS] or ROUNDS[0]

    st.session_state[REPEATS] = rounds_wanted()  # a control that was away while it was measured has forgotten it
    st.segmented_control(
        f"Rounds of {asked.work.folds.plan.folds} folds",
        list(ROUNDS),
        key=REPEATS,
        on_change=take,
        required=True,
        width="content",
        help="Each round draws other folds. More rounds take as many times as long, and make the intervals narrower; "
        "rounds that are done are kept.",
    )


def rounds_wanted() -> int:
    return int(st.session_state.get(WANTED, ROUNDS[0]))


def what_it_does(asked: Question, run: Run) -> str:
    work = asked.work
    measure = SCORINGS[work.scoring].title
    how = ", all with evidence weights, as this run" if work.by_evidence else ""
    how += "" if run.approximated is None else ", exactly and not by landmarks"
    unseen = ", so that the test rows stay unseen" if len(run.test) else ""
    return (
        f"Trains every view alone and all without it on {work.folds.plan.folds} folds of the {work.folds.rows}"
        f"{unseen}: {measure} on the rows held out, at a C chosen within each fold; about "
        f"{counted(asked.trainings, 'training')}{how}."
    )


def begin_button(
    trainer: Trainer,
    title: str,
    key: str,
    given: tuple[Run, str | None],
    *,
    primary: bool = False,
    refused: str | None = None,
) -> None:
    st.button(
        title,
        icon=":material/play_arrow:",
        type="primary" if primary else "secondary",
        key=key,
        on_click=begin,
        args=(trainer, *given, presence()),
        disabled=refused is not None or trainer.working is not None,
        help=refused
        or ("Something else is being trained; this can start once it has ended." if trainer.working else None),
    )


def begin(trainer: Trainer, run: Run, view: str | None, here: Callable[[], bool]) -> None:
    trainer.measure_importance(run, view, here, rounds_wanted())


@st.fragment(run_every=REFRESHES[0])
def wait_for_importance(trainer: Trainer) -> None:
    activity = trainer.doing("importance")
    if activity is None:
        st.rerun()
    with row():
        with st.container():
            progress_bar(activity.job, f"{words_of(activity.job)} · {activity.job.seconds:.0f} s")
        stop_button(activity.job, key="stop_importance")


def failed(trainer: Trainer) -> None:
    if trainer.failure is not None and trainer.failure.kind == "importance":
        st.error(plain(trainer.failure.message))


def show_views(run: Run, found: ViewImportance) -> None:
    st.markdown(sentence(found.headline))
    left, right = st.columns([9, 11], gap="medium")
    left.altair_chart(found.figure(), width="stretch")
    with right:
        st.dataframe(
            shown_views(found),
            hide_index=True,
            column_config={
                "alone": st.column_config.TextColumn(help="The view trained by itself."),
                "without it": st.column_config.TextColumn(help="All other views, trained without it."),
                "drop": st.column_config.TextColumn(help=DROP_HELP),
                "share on folds": st.column_config.TextColumn(help=SHARE_HELP),
            },
        )
    for said in found.findings:
        st.markdown(sentence(said))
    with st.expander("How it was measured", icon=":material/help:"):
        st.markdown(plain(" ".join([*found.remarks, found.about_intervals])))
        st.markdown("\n".join(f"- {plain(said)}" for said in found.view_sentences))
    downloads(run, found.table, found, "views")


def downloads(run: Run, table: pd.DataFrame, found: ViewImportance | ColumnImportance, what: str) -> None:
    with st.container(horizontal=True):
        download(table, run, f"importance_{what}")
        st.download_button(
            "SVG",
            lambda: to_svg(found.figure()),
            f"{slug(run.name)}_importance_{what}.svg",
            "image/svg+xml",
            key=f"figure_{what}",
            on_click="ignore",
            icon=":material/download:",
            help="Download the figure.",
            type="tertiary",
        )


def show_columns(trainer: Trainer, run: Run, asked: Question) -> None:
    views = [view for view, columns in asked.views.items() if any(isinstance(c, str) for c in columns)]
    known = columns_of_run(run)
    if not views:
        return
    with st.expander(COLUMNS_TITLE, icon=":material/view_column:", expanded=bool(known)):
        with st.container(horizontal=True, vertical_alignment="bottom"):
            view = st.selectbox("View", views, key="importance_view", width=260)
            begin_button(trainer, COLUMNS_START, "measure_columns", (run, view))
        st.caption(
            f"{counted(len(asked.views[view]), 'column')}: those that change the decision most are put into the wrong "
            "rows, of the rows held out in each fold; what is lost is what the drawing uses of them."
        )
        if view in known:
            found = known[view]
            *said, how = found.sentences
            for words in said:
                st.markdown(sentence(words))
            st.altair_chart(found.figure(), width="stretch")
            st.caption(sentence(how))
            downloads(run, found.table, found, f"columns_{slug(view)}")
