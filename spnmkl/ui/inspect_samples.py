"""How good the answers are, which are wrong, where the samples lie, and what pushed one of them."""

from __future__ import annotations

from typing import Any, get_args

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from spnmkl.charts import confusion_chart, projection_chart, pushes_chart, roc_chart
from spnmkl.charts.look import shown
from spnmkl.runs.explain import Part, sample_paths, wrong_samples
from spnmkl.runs.kernel_views import projection
from spnmkl.runs.scores import Scores
from spnmkl.runs.training import Run
from spnmkl.ui.inspected import Inspected, download, missing_data, row, sentence
from spnmkl.ui.words import plain

PARTS: dict[Part, str] = {"test": "Test rows", "train": "Training rows"}
MOST_PUSHES = 12


def samples_tab(seen: Inspected) -> None:
    run = seen.run
    with row():
        part: Part = st.segmented_control(
            "Rows",
            list(PARTS),
            default="test",
            format_func=PARTS.__getitem__,
            required=True,
            key="inspect_part",
            label_visibility="collapsed",
        )
        scores = scores_of(run, part)
        st.markdown(sentence(scores.sentence("test" if part == "test" else "training")) + ".", width="content")
    left, right = st.columns(2, gap="large")
    with left:
        st.altair_chart(confusion_chart(scores.confusion), width="stretch")
        show_wrong(run, part)
    with right:
        show_report(scores)
    if not seen.has_data:
        missing_data(run, "The map of the samples, and what pushed one of them,")
        return
    left, right = st.columns(2, gap="large")
    with left:
        show_map(seen)
    with right:
        show_sample(seen)


def scores_of(run: Run, part: Part) -> Scores:
    return run.test_scores if part == "test" else run.train_scores


def show_report(scores: Scores) -> None:
    """ROC curves, or precision and recall per class."""
    binary = scores.decision.ndim == 1
    how = st.segmented_control(
        "Report",
        ["ROC curve", "Per class"],
        default="ROC curve" if binary else "Per class",
        key=f"inspect_report_{binary}",
        label_visibility="collapsed",
    )
    if how == "ROC curve":
        roc = scores.roc()
        if not len(roc):
            st.caption("These rows are all of one class: there is no curve.")
            return
        st.altair_chart(roc_chart(roc, scores.classes), width="stretch")
        if isinstance(scores.auc, float):
            st.caption(f"Area under the curve {scores.auc:.3f}: 1 is perfect, 0.5 is guessing.")
        return
    st.dataframe(
        per_class(scores),
        hide_index=True,
        height="content" if len(scores.classes) <= 12 else 420,
        column_config=_REPORT,
    )


_REPORT: dict[str, Any] = {
    "precision": st.column_config.NumberColumn(format="percent", help="How many answers of this class are right."),
    "recall": st.column_config.NumberColumn(format="percent", help="How many rows of this class are found."),
    "f1": st.column_config.NumberColumn("F1", format="percent", help="The harmonic mean of both."),
    "area under ROC": st.column_config.NumberColumn(format="%.3f", help="This class against the rest."),
}


def per_class(scores: Scores) -> pd.DataFrame:
    table = scores.per_class.rename_axis("class").reset_index()
    if isinstance(auc := scores.auc, dict):
        table["area under ROC"] = [auc[c] for c in scores.classes]
    return table.astype({"class": str})


def show_wrong(run: Run, part: Part) -> None:
    """The wrong answers; choosing one explains it."""
    table = wrong_samples(run)
    table = table[table["part"] == part].drop(columns=["part", "position"])
    key = f"inspect_wrong_{part}_{run.name}"

    def explain() -> None:
        rows = st.session_state[key].selection.rows
        if rows:
            st.session_state[row_key(run)] = int(table["row"].iloc[rows[0]])

    with row():
        st.markdown(f"**Wrong answers: {len(table):,} of {scores_of(run, part).n:,}**", width="content")
        download(table, run, f"wrong_{part}")
    if not len(table):
        return
    st.dataframe(
        table.astype({"true": str, "predicted": str}),
        hide_index=True,
        height=min(220, 38 + 35 * len(table)),
        on_select=explain,
        selection_mode="single-row",
        key=key,
        column_config={
            "row": st.column_config.NumberColumn("row of the table", format="%d"),
            "predicted": "answer",
            "margin": st.column_config.NumberColumn(
                format="%.3f", help="Below 0: by how much the answer exceeds the true class. Near 0: a close call."
            ),
        },
    )


def show_map(seen: Inspected) -> None:
    """The samples in the plane of the learned kernel; a click explains one."""
    key = f"inspect_map_{seen.run.name}"

    def explain() -> None:
        if points := st.session_state[key].selection.get("sample"):
            st.session_state[row_key(seen.run)] = int(points[0]["row"])

    st.markdown(
        "**Map of the samples**",
        help="The two leading principal components of the learned kernel, found on the training rows. Click a point "
        "to explain it.",
    )
    table = seen.once("projection", lambda prepared: projection(seen.run, prepared))
    chart = projection_chart(table, seen.run.solution.classes)
    clicked = alt.selection_point(name="sample", fields=["row"], toggle=False)
    st.altair_chart(chart.add_params(clicked), width="stretch", on_select=explain, key=key)


def row_key(run: Run) -> str:
    return f"inspect_row_{run.name}"


def show_sample(seen: Inspected) -> None:
    """Which paths pushed one sample which way."""
    run = seen.run
    st.markdown("**One sample: what pushed it**")
    if row_key(run) not in st.session_state:
        st.session_state[row_key(run)] = int(first_row(run))
    number = int(
        st.number_input(
            "Row of the table",
            1,
            step=1,
            key=row_key(run),
            help="Choose a wrong answer, click a point of the map, or type.",
        )
    )
    place = placed_in(run, number)
    if place is None:
        st.caption(f"Row {number:,} took no part in this run, neither to train nor to test; choose another.")
        return
    part, position = place
    scores = scores_of(run, part)
    true, answer = scores.y[position], scores.predicted[position]
    of = answer
    if scores.decision.ndim == 2:
        of = st.selectbox(
            "Pushes towards",
            list(scores.classes),
            int(np.flatnonzero(scores.classes == answer)[0]),
            format_func=shown,
            key=f"inspect_class_{run.name}_{number}",
        )
    pushes = seen.once(
        ("pushes", part, position), lambda prepared: sample_paths(run, prepared, part, position, MOST_PUSHES)
    )
    decision = (
        scores.decision[position] if scores.decision.ndim == 1 else scores.decision[position][scores.classes == of][0]
    )
    right = "right" if true == answer else "wrong"
    used = "test" if part == "test" else "training"
    st.markdown(f"A {used} row of class **{plain(true)}**, answered **{plain(answer)}**: {right}.")
    if scores.decision.ndim == 1:
        of = scores.classes[1]
    bars = int((pushes["class"] == of).sum())
    st.altair_chart(pushes_chart(pushes, scores.classes, of).properties(height=30 * bars + 110), width="stretch")
    st.caption(f"The bars add up to the decision, {decision:+.3f}: {sign_words(scores, of)}.")


def sign_words(scores: Scores, of: object) -> str:
    if scores.decision.ndim == 2:
        return "the class of the largest decision is the answer"
    return f"above 0 the answer is {plain(scores.classes[1])}, below it {plain(scores.classes[0])}"


def first_row(run: Run) -> int:
    """The most confident wrong answer, or the first test row."""
    wrong = wrong_samples(run)
    return int(wrong["row"].iloc[0]) if len(wrong) else int(run.test[0]) + 1


def placed_in(run: Run, row: int) -> tuple[Part, int] | None:
    for part in get_args(Part):
        found = np.flatnonzero((run.test if part == "test" else run.train) == row - 1)
        if len(found):
            return part, int(found[0])
    return None
