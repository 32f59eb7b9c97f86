"""What a comparison of methods gave: the table, the chart, the structures, and all of it to take along."""

from __future__ import annotations

from collections.abc import Collection

import pandas as pd
import streamlit as st

from spnmkl.charts import to_svg
from spnmkl.charts.comparison import methods_chart
from spnmkl.data.guarded import guarded_csv
from spnmkl.export.picture import side_by_side
from spnmkl.export.picture import to_svg as to_picture
from spnmkl.measures import SCORINGS
from spnmkl.reporting.glossary import explained
from spnmkl.study.contest import Contest
from spnmkl.study.contest_words import ERROR_HELP, TEST_HELP, against, errors_words, ranking_words, verdict
from spnmkl.study.entrants import titled
from spnmkl.ui.parts.runs_beside import gallery, picture, size
from spnmkl.ui.parts.session import theme
from spnmkl.ui.parts.words import plain, slug
from spnmkl.ui.state.workspace import Workspace

MEASURE_WORDS = {"accuracy": "Accuracy", "balanced_accuracy": "Balanced accuracy", "roc_auc": "AUC"}
WIDE, NARROW = 1100, 620  # of a picture that needs a row for itself, and of one that has room beside two others


def scores(work: Workspace, contest: Contest) -> None:
    measure = choose_measure(work)
    summary = contest.summary(measure)
    st.markdown(plain(f"{ranking_words(contest, measure)} {verdict(contest, measure)}"))
    st.dataframe(
        shown_table(summary, measure, contest.over_columns),
        hide_index=True,
        height="content",
        placeholder="–",
        column_config={
            "method": st.column_config.TextColumn(width=130),
            "accuracy": st.column_config.NumberColumn(format="%.1f %%", help="Mean over the folds."),
            "balanced": st.column_config.NumberColumn(
                format="%.1f %%", help="Balanced accuracy: the mean over classes of the share answered rightly."
            ),
            "AUC": st.column_config.NumberColumn(
                format="%.3f", help="Mean area under the ROC curve; with several classes of each against the rest."
            ),
            "± s.e.": st.column_config.NumberColumn(
                format="%.1f" if SCORINGS[measure].percent else "%.3f",
                help=ERROR_HELP,
            ),
            "against your drawing": st.column_config.TextColumn(width=225, help=TEST_HELP),
            "used": st.column_config.TextColumn(
                width=125,
                help="Base kernels with a weight above zero, mean over the folds; one that stands several times in a "
                "structure counts once. For methods over columns, the columns: of the lasso those with a weight.",
            ),
            "seconds": st.column_config.NumberColumn(format="%.2f", help="To choose settings and train, per fold."),
        },
    )
    if said := errors_words(contest, measure):
        st.caption(said)
    st.altair_chart(methods_chart(with_titles(summary), contest.reference, measure), width="stretch")
    downloads(contest, measure)


def with_titles(summary: pd.DataFrame) -> pd.DataFrame:
    return summary.assign(method=list(map(titled, summary["method"])))


def choose_measure(work: Workspace) -> str:
    def take() -> None:
        work.comparing.measure = st.session_state["compare_measure"]

    measure = work.comparing.measure or work.trainer.settings.scoring
    st.session_state["compare_measure"] = measure
    st.segmented_control(
        "Measure",
        list(MEASURE_WORDS),
        key="compare_measure",
        on_change=take,
        required=True,
        format_func=MEASURE_WORDS.__getitem__,
        label_visibility="collapsed",
    )
    return measure


def shown_table(summary: pd.DataFrame, measure: str, over_columns: Collection[str] = ()) -> pd.DataFrame:
    """The measure chosen with its error first, then the others."""
    percent = SCORINGS[measure].percent
    columns = {
        "accuracy": ("accuracy", 100 * summary["accuracy"]),
        "balanced_accuracy": ("balanced", 100 * summary["balanced_accuracy"]),
        "roc_auc": ("AUC", summary["roc_auc"]),
    }
    first, mean = columns.pop(measure)
    used = zip(summary["method"], summary["active"], summary["kernels"], strict=True)
    return pd.DataFrame(
        {
            "method": list(map(titled, summary["method"])),
            first: mean,
            "± s.e.": summary["error"] * (100 if percent else 1),
            **dict(columns.values()),
            "against your drawing": [against(row) for row in summary.to_dict("records")],
            "used": [
                f"{active:.1f}".removesuffix(".0") + f" of {n:.0f} {'columns' if name in over_columns else 'kernels'}"
                for name, active, n in used
            ],
            "seconds": summary["seconds"],
        }
    )


def downloads(contest: Contest, measure: str) -> None:
    name = slug(contest.dataset_name)

    def figure() -> str:
        return to_svg(methods_chart(with_titles(contest.summary(measure)), contest.reference, measure, grey=True))

    offers = (
        ("Every fold (CSV)", guarded_csv(with_titles(contest.table)), f"{name}_folds.csv", "text/csv"),
        ("Summary (CSV)", guarded_csv(with_titles(contest.summary(measure))), f"{name}_{measure}.csv", "text/csv"),
        ("Figure (SVG)", figure, f"{name}_comparison.svg", "image/svg+xml"),
    )
    with st.container(horizontal=True):
        for title, content, file, kind in offers:
            st.download_button(
                title, content, file, kind, icon=":material/download:", on_click="ignore", key=f"take_{title}"
            )


def structures(contest: Contest | None, running: bool) -> None:
    """The drawing and the baselines after training on all training rows; wide ones have a row for themselves."""
    drawn = contest.portraits if contest is not None else {}
    if contest is None or not drawn:
        st.info(
            "After the folds, every method is trained on all training rows; its structure and weights appear here."
            if running
            else "It was stopped before the methods were trained on all training rows."
        )
        return
    words, file = st.columns([3, 1], vertical_alignment="center")
    words.caption(
        "Trained on all training rows. Larger and darker: heavier. Thicker lines: more of the path weights. "
        "Dashed: pruned.",
        help=explained("β", "C", "pruned"),
    )
    file.container(horizontal=True, horizontal_alignment="right").download_button(
        "All structures (SVG)",
        lambda: side_by_side({titled(name): to_picture(p.spn, beta=p.beta) for name, p in drawn.items()}),
        f"{slug(contest.dataset_name)}_structures.svg",
        "image/svg+xml",
        icon=":material/download:",
        on_click="ignore",
    )
    pictures = {
        titled(name): (picture(p.spn, tuple(p.beta.items()), frozenset(), theme()), f"C = {p.C:.3g}")
        for name, p in drawn.items()
    }
    narrow = {name: shown for name, shown in pictures.items() if size(shown[0])[0] <= WIDE}
    wide = [name for name in pictures if name not in narrow]
    first = [name for name in wide if name == contest.reference]  # nobody should have to look for their own
    for name in first:
        gallery({name: pictures[name]}, "own", 1)
    if narrow:
        gallery(narrow, "method", 3 if max(size(svg)[0] for svg, _ in narrow.values()) < NARROW else 2)
    for k, name in enumerate(name for name in wide if name not in first):
        gallery({name: pictures[name]}, f"wide_{k}", 1)
