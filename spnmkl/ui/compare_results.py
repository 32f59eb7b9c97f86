"""What a comparison of methods gave: the table, the chart, the structures, and all of it to take along."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from spnmkl.charts import to_svg
from spnmkl.charts.comparison import methods_chart
from spnmkl.runs.contest import Contest
from spnmkl.runs.contest_words import TEST_HELP, against, verdict
from spnmkl.ui.comparing import gallery, picture
from spnmkl.ui.session import theme
from spnmkl.ui.store import Workspace
from spnmkl.ui.words import plain, slug

MEASURE_WORDS = {"accuracy": "Accuracy", "auc": "AUC"}


def scores(work: Workspace, contest: Contest) -> None:
    measure = choose_measure(work)
    summary = contest.summary(measure)
    st.dataframe(
        shown_table(summary, contest),
        hide_index=True,
        height="content",
        column_config={
            "method": st.column_config.TextColumn(width=135),
            "accuracy": st.column_config.NumberColumn(format="%.1f %%", help="Mean over the folds."),
            "AUC": st.column_config.NumberColumn(
                format="%.3f", help="Mean area under the ROC curve; with several classes of each against the rest."
            ),
            "± s.e.": st.column_config.NumberColumn(
                format="%.1f" if measure == "accuracy" else "%.3f",
                help="One standard error of the mean over the folds.",
            ),
            "against your drawing": st.column_config.TextColumn(width=205, help=TEST_HELP),
            "kernels used": st.column_config.TextColumn(
                help="Base kernels with a weight above zero, mean over the folds."
            ),
            "seconds": st.column_config.NumberColumn(format="%.2f", help="To choose C and train, per fold."),
        },
    )
    st.caption(plain(verdict(contest, measure)))
    st.altair_chart(methods_chart(summary, contest.reference, measure), width="stretch")
    downloads(contest, measure)


def choose_measure(work: Workspace) -> str:
    def take() -> None:
        work.comparing.measure = st.session_state["compare_measure"] or "accuracy"

    st.session_state["compare_measure"] = work.comparing.measure
    st.segmented_control(
        "Measure",
        list(MEASURE_WORDS),
        key="compare_measure",
        on_change=take,
        required=True,
        format_func=MEASURE_WORDS.__getitem__,
        label_visibility="collapsed",
    )
    return work.comparing.measure


def shown_table(summary: pd.DataFrame, contest: Contest) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "method": summary["method"],
            "accuracy": 100 * summary["accuracy"],
            "AUC": summary["auc"],
            "± s.e.": summary["error"] * (100 if summary["mean"].equals(summary["accuracy"]) else 1),
            "against your drawing": [against(row) for row in summary.to_dict("records")],
            "kernels used": [
                f"{a:.1f}".removesuffix(".0") + f" of {k:.0f}"
                for a, k in zip(summary["active"], summary["kernels"], strict=True)
            ],
            "seconds": summary["seconds"],
        }
    )


def downloads(contest: Contest, measure: str) -> None:
    name = slug(contest.dataset_name)

    def figure() -> str:
        return to_svg(methods_chart(contest.summary(measure), contest.reference, measure, grey=True))

    offers = (
        ("Every fold (CSV)", contest.table.to_csv(index=False), f"{name}_folds.csv", "text/csv"),
        ("Summary (CSV)", contest.summary(measure).to_csv(index=False), f"{name}_summary.csv", "text/csv"),
        ("Figure (SVG)", figure, f"{name}_comparison.svg", "image/svg+xml"),
    )
    with st.container(horizontal=True):
        for title, content, file, kind in offers:
            st.download_button(
                title, content, file, kind, icon=":material/download:", on_click="ignore", key=f"take_{title}"
            )


def structures(contest: Contest, running: bool) -> None:
    drawn = contest.portraits
    if not drawn:
        st.caption(
            "After the folds, every method is trained on all training rows; its structure and weights appear here."
            if running
            else "It was stopped before the methods were trained on all training rows."
        )
        return
    st.caption(
        "Trained on all training rows. Larger and darker: heavier. Thicker lines: more of the path weights. "
        "Grey: pruned."
    )
    gallery(
        {
            name: (picture(p.spn, tuple(p.beta.items()), frozenset(), theme()), f"C = {p.C:.3g}")
            for name, p in drawn.items()
        },
        "method",
    )
