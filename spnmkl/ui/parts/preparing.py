"""What is done to the columns before training: chosen, suggested with a reason, and said in sentences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import streamlit as st

from spnmkl.data import Suggestion, apart, empty_rows, lacking_rows, problems, split_rows
from spnmkl.data.choices import AUTO, STEPS, Numeric
from spnmkl.errors import DataError, SPNMKLError
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.computed_once import kept_with_dataset
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted, listed

STEP_NAMES = {
    "standardize": "standardise",
    "log1p": "log(1 + x), then standardise",
    "log-ratio": "log-ratios (parts of a whole)",
    "tf-idf": "TF-IDF (counts of words)",
    "ranks": "ranks, evenly spaced",
    "normal ranks": "ranks, along a bell curve",
    "as is": "leave as they are",
}
MISSING_WORDS = {
    "refuse": "none are expected: refuse to train",
    "mean": "fill with the column's mean",
    "median": "fill with the column's median",
    "drop rows": "leave out the rows",
    "drop columns": "leave out the columns",
}
ABSENT_WORDS = {
    "as missing": "the same as for other missing values",
    "mean": "the average of the training rows stands for it",
    "drop rows": "keep only the rows that have every view",
}
CATEGORICAL_WORDS = {
    "codes": "compare as they are (Hamming kernel)",
    "one-hot": "one column per category",
    "drop": "leave them out",
}
NO_VIEW = "columns in no view"
VIEWS_HEIGHT = 330  # beyond this many pixels, views scroll


def choose_preparation(work: Workspace) -> None:
    """Choices about numbers, holes and categories, said before training; everything is fitted on training rows only."""
    work.choices = work.choices.among(work.dataset.views)
    numbers(work)
    left, right = st.columns(2, gap="large")
    with left:
        lacking_views(work)
        choose("Missing values", MISSING_WORDS, **kept(work, "choices", "missing"))
    with right:
        rows = held_out(work)
        choose("Categorical columns", CATEGORICAL_WORDS, **kept(work, "choices", "categorical"))
    st.markdown("**What will happen before training**")
    try:
        notes = problems(work.dataset, work.choices, rows, work.suggested)
    except DataError as error:
        st.error(plain(error))
        return
    for note in notes:
        st.markdown(f"- {plain(note)}")
    st.caption(
        "Means, scales, ranks, fill values, categories and what is adjusted for are taken from the training rows only "
        "and travel with the model."
    )


def numbers(work: Workspace) -> None:
    """One choice for all numbers and, where there are views, one for each, with what the columns suggest and why."""
    suggested, several = work.suggested, len(work.suggested) > 1 or any(work.suggested)
    shown = st.columns([2, 3, 5], vertical_alignment="center")

    def for_all() -> None:
        work.choices = replace(work.choices, numeric=st.session_state["choices_numeric"], views=())

    shown[0].markdown("**Numbers**" + (", all views" if several else ""))
    alone = None if several else next(iter(suggested.values()), None)
    with shown[1]:
        select(work.choices.numeric, alone, "Numeric columns", "choices_numeric", for_all)
    shown[2].caption("Suggested from what the training rows hold; labels are not looked at." if several else why(alone))
    if several:
        with st.container(
            height=VIEWS_HEIGHT if len(suggested) > 6 else "content", gap="xsmall", key="preparing_views"
        ):
            for view, suggestion in suggested.items():
                of_view(work, view, suggestion)


def of_view(work: Workspace, view: str, suggestion: Suggestion) -> None:
    name, choice, reason = st.columns([2, 3, 5], vertical_alignment="center")
    columns = counted(sizes_of(work.dataset).get(view, 0), "column")
    name.markdown(f"{plain((view or NO_VIEW)[:40])} :small[{columns}]")
    key = f"choices_view_{view}"

    def take() -> None:
        step = st.session_state[key]
        work.choices = work.choices.with_view(view, None if step == work.choices.numeric else step)

    with choice:
        if view:
            select(work.choices.step_of(view), suggestion, f"Numbers of {view[:40]}", key, take)
        else:
            st.markdown(f":small[as for all: {named(work.choices.numeric, suggestion)}]")
    reason.caption(why(suggestion))


def select(value: Numeric, suggestion: Suggestion | None, label: str, key: str, take: Any) -> None:
    st.session_state[key] = value
    st.selectbox(
        label,
        [AUTO, *STEPS],
        format_func=lambda step: named(step, suggestion),
        key=key,
        on_change=take,
        label_visibility="collapsed",
    )


def named(step: str, suggestion: Suggestion | None) -> str:
    if step != AUTO:
        return STEP_NAMES[step]
    return f"suggested: {STEP_NAMES[suggestion.step]}" if suggestion else "as suggested for each"


def why(suggestion: Suggestion | None) -> str:
    return plain(suggestion.why) if suggestion else "No column of numbers."


@kept_with_dataset
def sizes_of(dataset: Any) -> dict[str, int]:
    """View → how many columns of numbers are prepared with it."""
    numeric = set(dataset.numeric)
    parts = apart(dataset.views, [name for name in dataset.features if name in numeric])
    return {view: len(columns) for view, columns in parts.items()}


@kept_with_dataset
def lacking_of(dataset: Any) -> dict[str, int]:
    """View → how many labelled rows lack all of it and have another; "" → how many rows these are of."""
    frame, views = dataset.labelled_table.frame, apart(dataset.views, dataset.features)
    frame = frame[~empty_rows(frame, views)]
    rows = lacking_rows(frame, views)
    return {view: int(lack.sum()) for view, lack in rows.items()} | ({"": len(frame)} if rows else {})


def lacking_views(work: Workspace) -> None:
    """What becomes of rows that lack a whole view, where there are any, with how many lack which."""
    counts = lacking_of(work.dataset)
    if counts:
        choose("Rows that lack a whole view", ABSENT_WORDS, **kept(work, "choices", "absent"))
        lack = listed([f"{rows:,} lack {plain(view[:40])}" for view, rows in counts.items() if view], 12)
        st.caption(f"Of {counts['']:,} rows with a label, {lack}.")


def held_out(work: Workspace) -> np.ndarray | None:
    """The split; the training rows where what is left out depends on them."""
    share = kept(work, "split", "test_share")
    st.slider("Rows held out for the test", 0.1, 0.5, step=0.05, format="percent", **share)
    st.number_input("Seed of the split", 0, 10**6, **kept(work, "split", "seed"))
    try:
        parts = split_rows(work.dataset.labelled_table, work.split.test_share, work.split.seed)
    except SPNMKLError as error:
        st.warning(plain(error))
        return None
    how = f", whole groups of {plain(work.dataset.group)}" if work.dataset.group else ", stratified by class"
    train, test = (work.usable(rows) for rows in (parts.train, parts.test))
    st.caption(f"{train:,} rows to train on, {test:,} to test{how}.")
    if work.choices.missing == "drop columns":  # those that lack a value in a training row
        return np.flatnonzero(work.dataset.frame[work.dataset.label].notna())[parts.train]
    return None


def kept(work: Workspace, part: str, field: str) -> dict[str, Any]:
    """Ties a widget to a field of the choices or the split, which other data may change too."""
    key = f"{part}_{field}"

    def take() -> None:
        setattr(work, part, replace(getattr(work, part), **{field: st.session_state[key]}))

    st.session_state[key] = getattr(getattr(work, part), field)
    return {"key": key, "on_change": take}


def choose(title: str, words: dict[str, str], **tied: Any) -> None:
    st.radio(title, list(words), format_func=words.__getitem__, **tied)


def preparation_words(work: Workspace) -> str:
    """What is not simply standardised, in a few words; nothing where all is."""
    steps = {view: work.choices.step_of(view) for view in work.suggested}
    found = {view: work.suggested[view].step if step == AUTO else step for view, step in steps.items()}
    parts = [f"{view[:40]} " * bool(view) + STEP_SHORT[step] for view, step in found.items() if step != "standardize"]
    parts += [f"adjusted for {', '.join(name[:40] for name in work.dataset.adjust)}"] * bool(work.dataset.adjust)
    return ", ".join(parts)


STEP_SHORT = {
    "log1p": "as log(1 + x)",
    "log-ratio": "by log-ratios",
    "tf-idf": "by TF-IDF",
    "ranks": "by ranks",
    "normal ranks": "by ranks on a bell curve",
    "as is": "as they are",
}
