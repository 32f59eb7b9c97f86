"""Several runs side by side: structures, settings, weights, convergence, scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import cast

import streamlit as st

from spnmkl.charts import compare_convergence_chart
from spnmkl.charts.comparison import intervals_chart
from spnmkl.charts.training import Along
from spnmkl.export.picture import to_svg
from spnmkl.runs.comparison import agreement, only_here, same_test, scores_table, settings_table, weights_beside
from spnmkl.runs.training import Run
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.ui.session import tabs
from spnmkl.ui.words import plain

BESIDE = 3  # pictures in a row
MOST_DRAWN = 9


def side_by_side(runs: Sequence[Run]) -> None:
    tabs(
        "compared",
        {
            "Structures": lambda: structures(runs),
            "Settings": lambda: settings(runs),
            "Weights β": lambda: weights(runs),
            "Convergence": lambda: convergence(runs),
            "Scores": lambda: scores(runs),
        },
    )


def structures(runs: Sequence[Run]) -> None:
    same = len({unplaced(run.spn) for run in runs}) == 1
    said = "All have the same structure. " if same else "Red: what is not in all of them. "
    st.caption(said + "Larger and darker: heavier. Thicker lines: more of the path weights. Grey: pruned.")
    if len(runs) > MOST_DRAWN:
        st.caption(f"The first {MOST_DRAWN} of {len(runs)}.")
    drawn = runs[:MOST_DRAWN]
    wide = min(BESIDE, len(drawn))
    places = [place for _ in range(0, len(drawn), wide) for place in st.columns(wide)]
    theme = "dark" if st.context.theme.type == "dark" else "light"
    for place, run in zip(places, drawn, strict=False):
        with place.container(border=True, height="stretch", key=f"compared_{runs.index(run)}"):
            st.markdown(f"**{plain(run.name)}**")
            marked = only_here(run.spn, [other.spn for other in runs if other is not run])
            st.image(picture(run.spn, tuple(run.solution.beta.items()), marked, theme), width="stretch")


@lru_cache(maxsize=64)
def picture(spn: SPN, beta: tuple[tuple[str, float], ...], marked: frozenset[str], theme: str) -> str:
    return to_svg(spn, beta=dict(beta), highlight=marked, theme=theme)


def settings(runs: Sequence[Run]) -> None:
    everything = st.toggle("Also what is the same", key="all_settings")
    table = settings_table(runs, everything)
    if not len(table):
        st.info("They were asked to do exactly the same.")
        return
    st.dataframe(table, height="content")


def weights(runs: Sequence[Run]) -> None:
    table = weights_beside(runs)
    columns = {name: st.column_config.NumberColumn(format="%.4g") for name in table.columns[2:]}
    columns["weight"] = st.column_config.TextColumn(width="small")
    columns["multiplies"] = st.column_config.TextColumn(help="What the product with this weight multiplies.")
    st.dataframe(table, hide_index=True, height=min(38 + 35 * len(table), 420), column_config=columns)
    st.caption("0: pruned. Empty: the run has no such weight. Sort by a click on the name of a column.")


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
    left, right = st.columns([1, 1], gap="medium")
    left.altair_chart(intervals_chart(table), width="stretch")
    shares = ("test", "low", "high", "majority", "training")
    titles = {"test": "test accuracy", "low": "95 % from", "high": "to", "majority": "majority class"}
    columns = {name: st.column_config.NumberColumn(titles.get(name), format="percent") for name in shares}
    columns["rows"] = st.column_config.NumberColumn("test rows", format="localized")
    columns["AUC"] = st.column_config.NumberColumn(
        format="%.3f", help="Area under the ROC curve; with several classes the mean of each against the rest."
    )
    right.dataframe(table, hide_index=True, height="content", column_config=columns)
    if not all(same_test(runs[0], run) for run in runs[1:]):
        right.warning("They were tested on different rows, so that their accuracies are not quite comparable.")
    elif len(runs) == 2:
        right.caption(plain(agreement(*runs)))
    right.caption(
        "The intervals are Wilson's, for each run by itself. Runs on the same rows share their luck: where intervals "
        "overlap, the rows that only one of them answers rightly tell more."
    )
