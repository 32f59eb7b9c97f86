"""How good the answers are, which are wrong, where the samples lie, and what pushed one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
import streamlit as st

from spnmkl.charts import confusion_chart, projection_chart, pushes_chart, reliability_chart, roc_chart
from spnmkl.charts.look import GREY, MANY, shown
from spnmkl.charts.results import confusion_height, map_note
from spnmkl.data import Dataset
from spnmkl.reporting.explain import Part, sample_paths, wrong_samples
from spnmkl.reporting.kernel_views import projection
from spnmkl.training.prepared import id_column
from spnmkl.training.reliability import run_reliability
from spnmkl.training.run import Run
from spnmkl.training.scores import Measured, Scores, range_text
from spnmkl.ui.pages.inspect.inspected import Inspected, download, row, sentence, tell_missing_data
from spnmkl.ui.parts.following import offer_scores
from spnmkl.ui.parts.words import plain
from spnmkl.wording import number_text

PARTS: dict[Part, str] = {"test": "Test rows", "train": "Training rows"}
MOST_PUSHES = 12
CHART_HEIGHT, MAP_HEIGHT = 360, 600


def samples_tab(seen: Inspected) -> None:
    run = seen.run
    if offer_scores(seen.trainer, run):
        return
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
        st.markdown(sentence(scores.sentence(called(run, part))) + ".", width="content")
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown("**Answers by true class**")
        height = max(CHART_HEIGHT, confusion_height(len(scores.classes)) if len(scores.classes) > MANY else 0)
        st.altair_chart(confusion_chart(scores.confusion).properties(height=height), width="stretch")
    with right:
        show_report(seen, part)
    left, right = st.columns(2, gap="large")
    with right:
        task = seen.trainer.book.tasks.get(run.name)
        show_wrong(run, part, task.dataset if task else None)
    if not seen.has_data:
        with left:
            tell_missing_data(run, "The map of the samples, and what pushed one of them,")
        return
    with right:
        show_sample(seen)
    with left:
        show_map(seen)


def called(run: Run, part: Part) -> str:
    """What rows of a part are called: of a run by landmarks, the training rows here are its sample."""
    return "test" if part == "test" else run.train_kind


def scores_of(run: Run, part: Part) -> Scores:
    return run.test_scores if part == "test" else run.train_scores


def show_report(seen: Inspected, part: Part) -> None:
    """All measures, ROC curves, precision and recall per class, or whether probabilities can be believed."""
    scores = scores_of(seen.run, part)
    binary = scores.decision.ndim == 1
    how = st.segmented_control(
        "Report",
        ["Scores", "ROC curve", "Per class", "Probabilities"],
        default="Scores",
        required=True,
        key=f"inspect_report_{binary}",
        label_visibility="collapsed",
    )
    if how == "Scores":
        show_measures(seen, part)
        return
    if how == "Probabilities":
        show_reliability(seen.run)
        return
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


def show_measures(seen: Inspected, part: Part) -> None:
    """Every measure on the rows chosen and, beside the test rows, over folds."""
    run, scores = seen.run, scores_of(seen.run, part)
    where = "test rows" if part == "test" else "training rows"
    found = scores.measures(run.positive, run.test_probabilities if part == "test" else None)
    table = pd.DataFrame({"measure": [m.title for m in found], where: list(map(with_interval, found))})
    if part == "test" and run.measured is not None:
        folds = {m.title: with_interval(m) for m in run.measured.measures(run.positive)}
        table.insert(1, "over folds", table["measure"].map(folds).fillna(""))
    table["guessing"] = [m.guess_text for m in found]
    st.table(table, hide_index=True, border="horizontal")  # whose words go on in a second line
    if len(scores.classes) == 2:
        positive(seen)
    over = f"Over {run.measured.how}. " if part == "test" and run.measured is not None else ""
    st.caption(f"{over or MEASURED_ALONE[part]} In brackets: 95 % intervals.".replace("  ", " "))


def with_interval(found: Measured) -> str:
    """97.4 % (95.6–99.3 %)"""
    interval = range_text(found.interval, found.percent)
    return found.text + (f" ({interval})" if interval else "")


MEASURED_ALONE: dict[Part, str] = {
    "test": "On the test rows of one split; scores over folds stand beside them once they are made.",
    "train": "Rows that were trained on: they are answered better than new ones.",
}


def positive(seen: Inspected) -> None:
    """Which of two classes is to be found: sensitivity is the share of its rows that are."""
    run, classes = seen.run, list(seen.run.solution.classes)
    key = f"inspect_positive_{run.name}"

    def take() -> None:
        chosen = st.session_state[key]
        seen.trainer.book.revise(lambda other: replace(other, positive=chosen) if other.name == run.name else other)

    at = classes.index(run.positive) if run.positive in classes else 1
    st.selectbox("Positive class, which sensitivity is about", classes, at, format_func=shown, key=key, on_change=take)


def show_reliability(run: Run) -> None:
    found = run_reliability(run)
    if found is None:
        st.caption("Probabilities are calibrated on the decisions over folds: they come with these scores.")
        return
    table, rows, of = found
    st.altair_chart(reliability_chart(table, of), width="stretch")
    st.caption(f"{rows}, in groups of similar probability. On the diagonal, what is said comes true; bars: 95 %.")


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


def show_wrong(run: Run, part: Part, dataset: Dataset | None) -> None:
    """The wrong answers, with what identifies them; choosing one explains it."""
    table = wrong_samples(run)
    table = table[table["part"] == part].drop(columns=["part", "position"])
    if dataset is not None:
        for name in filter(None, [id_column(dataset)]):
            table.insert(1, f"{name} ", dataset.frame[name].iloc[table["row"] - 1].astype(str).to_numpy())
    key = f"inspect_wrong_{part}_{run.name}"

    def explain() -> None:
        rows = st.session_state[key].selection.rows
        if rows:
            st.session_state[row_key(run)] = int(table["row"].iloc[rows[0]])

    st.markdown(f"**Wrong answers: {len(table):,} of {scores_of(run, part).n:,}**")
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
    with row():
        st.caption("Choose a row to explain it.", width="content")
        download(table, run, f"wrong_{part}")


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
    chart = projection_chart(table, seen.run.solution.classes).properties(height=MAP_HEIGHT)
    chart = chart.configure_legend(symbolBaseFillColor=GREY)
    clicked = alt.selection_point(name="sample", fields=["row"], toggle=False)
    st.altair_chart(chart.add_params(clicked), width="stretch", on_select=explain, key=key)
    if note := map_note(table):
        st.caption(note)


def row_key(run: Run) -> str:
    return f"inspect_row_{run.name}"


def show_sample(seen: Inspected) -> None:
    """Which paths pushed one sample which way."""
    run = seen.run
    st.markdown(
        "**One sample: what pushed it**",
        help="Choose a wrong answer above, click a point of the map, or type the number of a row.",
    )
    st.session_state[row_key(run)] = st.session_state.get(row_key(run), first_row(run))  # told anew at every drawing
    number, towards = st.columns(2)
    chosen = int(number.number_input("Row of the table", 1, step=1, key=row_key(run)))
    place = placed_in(run, chosen)
    if place is None:
        st.caption(f"Row {chosen:,} took no part in this run, neither to train nor to test; choose another.")
        return
    scores, position = scores_of(run, place[0]), place[1]
    true, answer = scores.y[position], scores.predicted[position]
    used, right = called(run, place[0]), "right" if true == answer else "wrong"
    if scores.decision.ndim == 1:
        of, decision = scores.classes[1], scores.decision[position]
    else:
        at = int(np.flatnonzero(scores.classes == answer)[0])
        key = f"inspect_class_{run.name}_{chosen}"
        of = towards.selectbox("Pushes towards", list(scores.classes), at, format_func=shown, key=key)
        decision = scores.decision[position][scores.classes == of][0]
    told = f"A {used} row of class **{plain(shown(true))}**, answered **{plain(shown(answer))}**: {right}."
    st.markdown(identity(seen, chosen) + told)
    show_pushes(seen, *place, of)
    st.caption(f"The bars add up to the decision, {number_text(decision, '+.3f')}. {answer_rule(scores)}")


def identity(seen: Inspected, row: int) -> str:
    """What the data call a row, where they have a column for that."""
    task = seen.trainer.book.tasks.get(seen.run.name)
    name = id_column(task.dataset) if task else None
    if task is None or name is None:
        return ""
    return f"{plain(name)} **{plain(shown(task.dataset.frame[name].iloc[row - 1]))}**. "


def show_pushes(seen: Inspected, part: Part, position: int, of: Any) -> None:
    pushes = seen.once(
        ("pushes", part, position), lambda prepared: sample_paths(seen.run, prepared, part, position, MOST_PUSHES)
    )
    bars = pushes[pushes["class"] == of].sort_values("push", key=abs, ascending=False, kind="stable")
    bars = bars.sort_values("kind", key=lambda kinds: kinds != "path", kind="stable")
    chart = pushes_chart(bars, seen.run.solution.classes, of).properties(height=30 * len(bars) + 110)
    st.altair_chart(chart, width="stretch")


def answer_rule(scores: Scores) -> str:
    if scores.decision.ndim == 2:
        return "The class of the largest decision is the answer."
    low, high = (plain(shown(c)) for c in scores.classes)
    return f"Above 0 the answer is {high}, below it {low}."


def first_row(run: Run) -> int:
    """The most confident wrong answer, or the first test row."""
    wrong = wrong_samples(run)
    return int(wrong["row"].iloc[0]) if len(wrong) else int(run.test[0]) + 1


def placed_in(run: Run, row: int) -> tuple[Part, int] | None:
    """The part of a row of the user's table, and its position there."""
    parts: tuple[tuple[Part, Any], ...] = (("test", run.test), ("train", run.train))
    found = [(part, int(at)) for part, rows in parts for at in np.flatnonzero(rows == row - 1)]
    return found[0] if found else None
