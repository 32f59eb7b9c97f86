"""Several runs side by side: structures, settings, weights, shares, convergence, scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import cast
from xml.etree import ElementTree as ET

import streamlit as st

from spnmkl.charts import compare_convergence_chart
from spnmkl.charts.comparison import intervals_chart
from spnmkl.charts.training import Along
from spnmkl.export.closing import fitting
from spnmkl.export.picture import to_svg
from spnmkl.reporting.explain import shares_sentence
from spnmkl.reporting.glossary import explained
from spnmkl.reporting.runs_beside import (
    agreement,
    only_here,
    same_test,
    scores_table,
    settings_table,
    shares_beside,
    weights_beside,
)
from spnmkl.structure import SPN
from spnmkl.training.run import Run
from spnmkl.ui.parts.session import tabs, theme
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.computed_once import kept_with_drawing

BESIDE = 3  # pictures in a row
MOST_DRAWN = 9
PICTURE = (1000.0, 600.0)  # in px: what must be closed for the texts to be read
MOST_MARKED = 2 / 3  # of the nodes; with more in violet, nothing stands out
WIDEST = 3.0  # width by height of a picture that has room beside others


def runs_beside(runs: Sequence[Run]) -> None:
    tabs(
        "compared",
        {
            "Structures": lambda: structures(runs),
            "Settings": lambda: settings(runs),
            "Weights β": lambda: weights(runs),
            "Shares": lambda: shares(runs),
            "Convergence": lambda: convergence(runs),
            "Scores": lambda: scores(runs),
        },
    )


def structures(runs: Sequence[Run]) -> None:
    drawn = runs[:MOST_DRAWN]
    marks = {run.name: only_here(run.spn, [other.spn for other in drawn if other is not run]) for run in drawn}
    said = "All have the same structure. "
    if any(marks.values()):
        said = "Violet: what is not in all of them. "
        if all(len(marks[run.name]) > MOST_MARKED * len(run.spn.nodes) for run in drawn):
            marks = dict.fromkeys(marks, frozenset())
            said = "They have hardly a node in common. "
    more = f" The first {MOST_DRAWN} of {len(runs)} runs." if len(runs) > MOST_DRAWN else ""
    lines = "more of the decision on held-out rows, or of the path weights where that was not measured"
    st.caption(f"{said}Larger and darker: heavier. Thicker lines: {lines}. Dashed: pruned.{more}")
    pictures = [run_picture(run, marks[run.name], theme()) for run in drawn]
    beside = BESIDE if max(map(shape, pictures)) < WIDEST else 1
    gallery({run.name: (svg, "") for run, svg in zip(drawn, pictures, strict=True)}, "compared", beside)


def gallery(pictures: Mapping[str, tuple[str, str]], key: str, beside: int) -> None:
    """Drawings, so many in a row, each under its name with a word on it."""
    in_row = min(beside, len(pictures))
    places = [place for _ in range(0, len(pictures), in_row) for place in st.columns(in_row)]
    for k, (place, (name, (svg, words))) in enumerate(zip(places, pictures.items(), strict=False)):
        with place.container(border=True, height="stretch", key=f"{key}_{k}", gap="xsmall"):
            st.markdown(f"**{plain(name)}**" + (f" · {plain(words)}" if words else ""))
            st.image(svg, width="content")


@kept_with_drawing
def picture(spn: SPN, beta: tuple[tuple[str, float], ...], marked: frozenset[str], theme: str) -> str:
    return to_svg(spn, beta=dict(beta), highlight=marked, closed=fitting(spn, *PICTURE), theme=theme)


@lru_cache(maxsize=4 * MOST_DRAWN)
def run_picture(run: Run, marked: frozenset[str], theme: str) -> str:
    """As `picture`, its lines as wide as the held-out shares are large where these are known."""
    spn, shares = run.spn, run.held_out.nodes if run.held_out else None
    closed = fitting(spn, *PICTURE)
    return to_svg(spn, beta=run.solution.beta, highlight=marked, closed=closed, theme=theme, shares=shares)


def shape(svg: str) -> float:
    """Width by height."""
    width, height = size(svg)
    return width / height


def size(svg: str) -> tuple[float, float]:
    root = ET.fromstring(svg)
    return float(root.attrib["width"]), float(root.attrib["height"])


def settings(runs: Sequence[Run]) -> None:
    everything = st.toggle("Also what is the same", key="all_settings")
    table = settings_table(runs, everything)
    if not len(table):
        st.info("They were asked to do exactly the same.")
        return
    st.dataframe(table, height="content")
    st.caption("Of the settings these have signs: C, λ and p.", help=explained("C", "λ", "p"))


def weights(runs: Sequence[Run]) -> None:
    table = weights_beside(runs)
    columns = {name: st.column_config.NumberColumn(format="%.4g") for name in table.columns[2:]}
    columns["weight"] = st.column_config.TextColumn(width="small")
    columns["multiplies"] = st.column_config.TextColumn(help="What the product with this weight multiplies.")
    st.dataframe(table, hide_index=True, height=min(38 + 35 * len(table), 420), placeholder="", column_config=columns)
    st.caption(
        "Weights β. 0: pruned. Empty: the run has no such weight. Sort by a click on the name of a column.",
        help=explained("β", "pruned"),
    )


def shares(runs: Sequence[Run]) -> None:
    table = shares_beside(runs)
    if len(table):
        st.dataframe(table, hide_index=True, height=min(38 + 35 * len(table), 420), placeholder="")
    st.caption(explained("held-out"))
    for run in runs:
        st.caption(plain(f"{run.name}: {shares_sentence(run.held_out)}"))


def convergence(runs: Sequence[Run]) -> None:
    by = st.segmented_control("Along", ["seconds", "iteration"], default="seconds", key="along", required=True)
    tolerances = {run.settings.tol for run in runs}
    tol = tolerances.pop() if len(tolerances) == 1 else None
    chart = compare_convergence_chart({run.name: run.solution.history for run in runs}, tol, cast(Along, by))
    st.altair_chart(chart, width="stretch")
    st.caption(
        "The relative gap (P − D)/P bounds how far each is from its optimum; unlike objectives, gaps compare across "
        "settings."
    )


def scores(runs: Sequence[Run]) -> None:
    table = scores_table(runs)
    left, right = st.columns([2, 3], gap="medium")
    left.altair_chart(intervals_chart(table), width="stretch")
    shares = {"test": "test accuracy", "majority": "majority class", "training": "training"}
    table[list(shares)] *= 100
    columns = {name: st.column_config.NumberColumn(title, format="%.1f %%") for name, title in shares.items()}
    columns["rows"] = st.column_config.NumberColumn("test rows", format="localized")
    columns["AUC"] = st.column_config.NumberColumn(
        format="%.3f", help="Area under the ROC curve; with several classes the mean of each against the rest."
    )
    right.dataframe(table.drop(columns=["low", "high"]), hide_index=True, height="content", column_config=columns)
    if not all(same_test(runs[0], run) for run in runs[1:]):
        right.warning("They were tested on different rows, so that their accuracies are not quite comparable.")
    elif len(runs) == 2:
        right.caption(plain(agreement(*runs)))
    right.caption(
        "The intervals are Wilson's, for each run by itself. Runs on the same rows share their luck: where intervals "
        "overlap, the rows that only one of them answers rightly tell more."
    )
