"""Tables of weights and paths beside the drawing, and what carries the decision."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import streamlit as st

from spnmkl.charts import MOST_RANKED, ranking_chart
from spnmkl.charts.look import unique_names
from spnmkl.charts.shapes import FEWEST, find_shape, shape_chart
from spnmkl.reporting.explain import column_shares
from spnmkl.reporting.glossary import explained, worked_g, worked_share
from spnmkl.reporting.sentences import count_text
from spnmkl.reporting.worked import worked_price, worked_product
from spnmkl.structure import Path
from spnmkl.training.prepared import Prepared
from spnmkl.training.train import Run
from spnmkl.ui.pages.inspect.importance import show_importance
from spnmkl.ui.pages.inspect.inspected import (
    MOST_PATHS,
    RESIDUAL_HELP,
    SHARE_HELP,
    WEIGHT_HELP,
    Inspected,
    LearnedTables,
    download,
    row,
    share_column,
    tell_missing_data,
)
from spnmkl.ui.parts.pyvis_view import offer_pyvis, show_drawing
from spnmkl.ui.parts.words import plain
from spnmkl.wording import listed

KINDS = {"view": "Views", "kernel": "Kernels"}
TABLES = "Paths", "Weights"
CANVAS = "inspect_paths"
HEIGHT = 330
OVERLAP = (
    "Shares add up to more than 100 %, because a path that multiplies several kernels counts for each of them and for "
    "each of their views."
)


def weights_tab(seen: Inspected) -> None:
    run, learned = seen.run, seen.learned()
    left, right = st.columns([13, 9], gap="medium")
    with left:
        which = st.segmented_control(
            "Table", TABLES, default=TABLES[0], required=True, key="inspect_table", label_visibility="collapsed"
        )
        path = None
        if which == "Weights":
            show_weights(seen, learned)
        else:
            path = choose_path(seen, learned)
    with right:
        show_drawing(CANVAS, run.spn, run.solution.beta, path)
        offer_pyvis(CANVAS, run.spn, run.solution.beta, path)
        if not seen.has_data:
            tell_missing_data(run, "Shares of the decision")


def choose_path(seen: Inspected, learned: LearnedTables) -> Path | None:
    """The table of the heaviest paths; the chosen one is drawn in violet."""
    table = st.dataframe(
        known(learned.paths),
        hide_index=True,
        height=min(HEIGHT, 38 + 35 * len(learned.paths)),
        on_select="rerun",
        selection_mode="single-row",
        key=f"inspect_paths_of_{seen.run.name}",
        column_config={
            "kernels": st.column_config.TextColumn(width=165, help=explained("∘")),
            "g": st.column_config.NumberColumn(format="%.4g", help=explained("g")),
            "share of Σg": share_column(WEIGHT_HELP, label="of Σg", width=100),
            "share of the decision": share_column(label="of the decision", width=110),
        },
    )
    number, left = count_text(seen.run.spn.n_paths), len(learned.paths)
    which = (
        f"The {left} heaviest of {number} paths."
        if left == MOST_PATHS
        else f"{left} of {number} paths weigh more than 0."
    )
    with row():
        st.caption(
            f"{which} Choose a row to see the path in violet.",
            help=explained("path", "g", "Σg", "decision"),
            width="content",
        )
        download(learned.paths, seen.run, "paths")
    rows = [k for k in table.selection.rows if k < left]
    if left:
        mixed = [k for k, path in enumerate(learned.path_list) if len(path.path.exponents) > 1]
        worked_out(seen, learned, [*rows, *mixed, 0][0])
    return learned.path_list[rows[0]].path if rows else None


def worked_out(seen: Inspected, learned: LearnedTables, at: int) -> None:
    """The numbers of one path, as they are made of the weights."""
    path, run, kernels = learned.path_list[at], seen.run, learned.paths["kernels"].iloc[at]
    share = learned.paths["share of the decision"].iloc[at]
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**Path {at + 1} worked out**: {plain(kernels)}")
        st.markdown(plain(worked_g(run.spn, path, run.solution.beta)), help=explained("g", "β"))
        st.markdown(plain(worked_share(path)), help=explained("Σg"))
        if not math.isnan(share):
            st.markdown(f"of the decision: {100 * share:.3g} %", help=explained("decision"))
        if seen.has_data and len(path.path.leaves) > 1:
            st.markdown(plain(worked_pair(seen, path.path, kernels)), help=explained("∘", "kernel"))
        product = max(path.path.exponents, key=lambda v: path.path.exponents[v])
        st.markdown(plain(worked_price(run.solution, product)), help=explained("p", "λ", "c"))


def worked_pair(seen: Inspected, path: Path, kernels: str) -> str:
    """The first two training rows, by each kernel of a path and by their product."""

    def entries(prepared: Prepared) -> list[float]:
        tiles = prepared.source.tiles(list(path.leaves), slice(0, 1), slice(1, 2))
        return [float(tile[0, 0]) for tile in tiles]

    first, second = (int(row) + 1 for row in seen.run.train[:2])
    return worked_product(kernels, seen.once(("pair", path.leaves), entries), (first, second))


def show_weights(seen: Inspected, learned: LearnedTables) -> None:
    st.dataframe(
        known(learned.weights),
        hide_index=True,
        height=min(HEIGHT, 38 + 35 * len(learned.weights)),
        placeholder="",
        column_order=["weight", "multiplies", "β", "share of the decision", "p", "pruned at iteration", "KKT residual"],
        column_config={
            "β": st.column_config.NumberColumn(format="%.4g", help=explained("β")),
            "p": st.column_config.NumberColumn(format="%g", help=explained("p")),
            "share of the decision": share_column(label="of the decision", width=110),
            "pruned at iteration": st.column_config.NumberColumn("pruned", help="At which iteration it became zero."),
            "KKT residual": st.column_config.NumberColumn(format="%.1e", help=RESIDUAL_HELP),
        },
    )
    with row():
        st.caption("One weight for every product; a weight of zero takes all paths through it out.", width="content")
        download(learned.weights, seen.run, "weights")


def known(table: pd.DataFrame) -> pd.DataFrame:
    """Without the columns that nothing is known of."""
    return table.dropna(axis="columns", how="all") if len(table) else table


def matters_tab(seen: Inspected) -> None:
    """Views and kernels by what they carry, with how stable that is."""
    show_importance(seen)
    run, ranking = seen.run, seen.learned().ranking
    if not seen.has_data:
        tell_missing_data(run, "Shares of the decision")
    with row():
        st.markdown("How much of the decision passes through each, and how much of the path weights.", width="content")
        download(ranking, run, "ranking")
    if run.cross_validation is None:
        hint_of_folds()
    show_shape(seen, ranking)
    for kind, title in KINDS.items():
        if (ranking["kind"] == kind).any():
            st.markdown(f"**{title}**")
            if ranking.loc[ranking["kind"] == kind, "share of the decision"].sum() > 1.005:
                st.caption(OVERLAP)
            if kind == "view":
                tell_of_no_view(run, ranking)
            left, right = st.columns([11, 9], gap="large")
            left.altair_chart(ranking_chart(ranking, kind), width="stretch")
            if (ranking["kind"] == kind).sum() > MOST_RANKED:
                left.caption(f"The first {MOST_RANKED}; all of them are in the table.")
            with right:
                show_ranking(ranking[ranking["kind"] == kind])


def show_shape(seen: Inspected, ranking: pd.DataFrame) -> None:
    """An image or a profile of what every column carries, where kernels see single columns that lie in one."""
    task = seen.trainer.book.tasks.get(seen.run.name)
    values, by = column_shares(seen.run, ranking)
    shape = find_shape(task.dataset.features if task else list(values)) if values else None
    if shape is None or len(values.keys() & shape.places.keys()) < FEWEST:
        return
    where = "image" if shape.is_image else "profile"
    st.markdown(f"**The columns as {'an' if shape.is_image else 'a'} {where}**", help=explained("decision", "Σg"))
    st.altair_chart(shape_chart(values, shape, by), width="content" if shape.is_image else "stretch")
    st.caption(f"The {by} of the kernels that see one column alone, where the names of the columns place them.")


def tell_of_no_view(run: Run, ranking: pd.DataFrame) -> None:
    """Kernels that see columns of several views, or of none, stand in no view's share."""
    within = {leaf for leaves in run.views.values() for leaf in leaves}
    others = ranking[(ranking["kind"] == "kernel") & ~ranking["id"].isin(within) & (ranking["share of Σg"] > 0)]
    if len(others):
        shares = others["share of the decision"].map(lambda share: "" if math.isnan(share) else f" ({share:.0%})")
        named = list(others["name"] + shares)
        st.caption(f"In no view's share, because they do not see columns of one view alone: {plain(listed(named, 3))}.")


def hint_of_folds() -> None:
    with row():
        st.caption(
            "How much this varies from sample to sample is not known yet: choose C by cross-validation, and the spread "
            "over the folds and how often each one survives stand here too.",
            width="content",
        )
        st.page_link("pages/train.py", label="Choose C", icon=":material/arrow_forward:")


def show_ranking(table: pd.DataFrame) -> None:
    def share(title: str, help: str) -> Any:
        return st.column_config.NumberColumn(title, format="percent", help=help)

    names = unique_names(table["id"], dict(zip(table["id"], table["name"], strict=True)))
    st.dataframe(
        known(table).assign(name=list(names.values())).drop(columns=["kind", "id"]),
        hide_index=True,
        height=min(520, 38 + 35 * len(table)),
        column_config={
            "share of the decision": share("of the decision", SHARE_HELP),
            "share of Σg": share("of Σg", WEIGHT_HELP),
            "spread over folds": share("± over folds", "Standard deviation of the share of Σg over the folds."),
            "survival": share("survives", "In how many of the folds the weights left a path through it."),
        },
    )
