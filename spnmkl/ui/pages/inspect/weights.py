"""Tables of weights and paths beside the drawing, and what carries the decision."""

from __future__ import annotations

import math
from functools import lru_cache

import pandas as pd
import streamlit as st

from spnmkl.charts import MOST_RANKED, ranking_chart
from spnmkl.charts.look import unique_names
from spnmkl.charts.shapes import FEWEST, find_shape, shape_chart
from spnmkl.data import Dataset
from spnmkl.importance.folds import table_views
from spnmkl.reporting.explain import (
    HELD_OUT,
    NOT_KNOWN,
    column_shares,
    copies_sentence,
    overlap,
    ranked_by,
    shares_sentence,
    why_they_differ,
)
from spnmkl.reporting.glossary import explained, worked_g, worked_share
from spnmkl.reporting.sentences import count_text
from spnmkl.reporting.worked import worked_price, worked_product
from spnmkl.structure import Path
from spnmkl.training.held_out import MOST_PATHS
from spnmkl.training.prepared import Prepared
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.folds import offer_folds
from spnmkl.ui.pages.inspect.importance import MEASURE, show_importance
from spnmkl.ui.pages.inspect.inspected import (
    MOST_RUNS,
    RESIDUAL_HELP,
    SHARE_COLUMNS,
    SHARE_HELP,
    WEIGHT_HELP,
    Inspected,
    LearnedTables,
    download,
    known,
    row,
    sentence,
)
from spnmkl.ui.parts.pyvis_view import offer_pyvis, show_drawing
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.importance import views_of_run
from spnmkl.wording import listed

KINDS = {"view": "Views", "kernel": "Kernels"}
TABLES = "Paths", "Weights"
CANVAS = "inspect_paths"
HEIGHT = 330


def weights_tab(seen: Inspected) -> None:
    seen = seen.measured()
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
        show_drawing(CANVAS, run, path)
        offer_pyvis(CANVAS, run, path)
        st.caption(plain(shares_sentence(run.held_out)))
        tell_copies(seen)


def tell_copies(seen: Inspected) -> None:
    """Where numbers of single kernels would be read for what they are not."""
    task = seen.trainer.book.tasks.get(seen.run.name)
    if task is not None and (said := copies_told(seen.run, task.dataset)):
        st.caption(f":material/content_copy: {plain(said)}")


@lru_cache(maxsize=MOST_RUNS)
def copies_told(run: Run, dataset: Dataset) -> str:
    return copies_sentence(run, dataset)


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
            "part of Σg": st.column_config.NumberColumn("of Σg", format="percent", help=WEIGHT_HELP),
            **SHARE_COLUMNS,
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
            help=explained("path", "g", "Σg", "held-out"),
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
    share = run.held_out.paths.get(path.path, NOT_KNOWN) if run.held_out else NOT_KNOWN
    with st.container(border=True, gap="xsmall"):
        st.markdown(f"**Path {at + 1} worked out**: {plain(kernels)}")
        st.markdown(plain(worked_g(run.spn, path, run.solution.beta)), help=explained("g", "β"))
        st.markdown(plain(worked_share(path)), help=explained("Σg"))
        if not math.isnan(share.share):
            st.markdown(f"held-out share: {share}", help=SHARE_HELP)
        if seen.has_data and len(path.path.leaves) > 1:
            st.markdown(plain(worked_pair(seen, path.path, kernels)), help=explained("∘", "kernel"))
        if not run.solution.by_evidence:
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
        column_order=["weight", "multiplies", "β", *SHARE_COLUMNS, "p", "pruned at iteration", "KKT residual"],
        column_config={
            "β": st.column_config.NumberColumn(format="%.4g", help=explained("β")),
            "p": st.column_config.NumberColumn(format="%g", help=explained("p")),
            **SHARE_COLUMNS,
            "pruned at iteration": st.column_config.NumberColumn("pruned", help="At which iteration it became zero."),
            "KKT residual": st.column_config.NumberColumn(format="%.1e", help=RESIDUAL_HELP),
        },
    )
    with row():
        st.caption("One weight for every product; a weight of zero takes all paths through it out.", width="content")
        download(learned.weights, seen.run, "weights")


def matters_tab(seen: Inspected) -> None:
    """Views and kernels by what they carry, with how stable that is."""
    show_importance(seen)
    seen = seen.measured()
    run, ranking = seen.run, seen.learned().ranking
    if said := why_they_differ(run, views_of_run(run)):
        st.info(sentence(said), icon=":material/compare_arrows:")
    words, taken = st.columns([12, 1])
    words.markdown(plain(shares_sentence(run.held_out)), help=explained("held-out"))
    with taken:
        download(ranking, run, "ranking")
    tell_copies(seen)
    offer_folds(seen)
    show_shape(seen, ranking)
    if len(run.spn.kernels) == 1:
        st.info(plain(one_kernel_words(seen)))
    for kind, title in KINDS.items():
        if (ranking["kind"] == kind).any():
            st.markdown(f"**{title}**" + ", by weight alone" * (ranked_by(ranking) != HELD_OUT))
            if said := overlap(ranking.loc[ranking["kind"] == kind, ranked_by(ranking)]):
                st.caption(said)
            if kind == "view":
                tell_of_no_view(run, ranking)
            left, right = st.columns([11, 9], gap="large")
            left.altair_chart(ranking_chart(ranking, kind), width="stretch")
            if (ranking["kind"] == kind).sum() > MOST_RANKED:
                left.caption(f"The first {MOST_RANKED}; all of them are in the table.")
            with right:
                show_ranking(ranking[ranking["kind"] == kind])


def one_kernel_words(seen: Inspected) -> str:
    """What the share of the only kernel does not tell, and what does."""
    task = seen.trainer.book.tasks.get(seen.run.name)
    several = task is not None and seen.has_data and len(table_views(seen.run.spn, task.dataset)) > 1
    instead = f" “{MEASURE}”, above, trains on views apart." if several else ""
    return (
        "The drawing has a single kernel, which decides alone: that its share is all of the decision tells nothing "
        f"about the columns or views in it.{instead}"
    )


def show_shape(seen: Inspected, ranking: pd.DataFrame) -> None:
    """An image or a profile of what every column carries, where kernels see single columns that lie in one."""
    task = seen.trainer.book.tasks.get(seen.run.name)
    values, by = column_shares(seen.run, ranking)
    shape = find_shape(task.dataset.features if task else list(values)) if values else None
    if shape is None or len(values.keys() & shape.places.keys()) < FEWEST:
        return
    where = "image" if shape.is_image else "profile"
    st.markdown(f"**The columns as {'an' if shape.is_image else 'a'} {where}**", help=explained("held-out", "Σg"))
    st.altair_chart(shape_chart(values, shape, by), width="content" if shape.is_image else "stretch")
    st.caption(f"The {by} of the kernels that see one column alone, where the names of the columns place them.")


def tell_of_no_view(run: Run, ranking: pd.DataFrame) -> None:
    """Kernels that see columns of several views, or of none, stand in no view's share."""
    within = {leaf for leaves in run.views.values() for leaf in leaves}
    others = ranking[(ranking["kind"] == "kernel") & ~ranking["id"].isin(within) & (ranking["part of Σg"] > 0)]
    if len(others):
        shares = run.held_out.nodes if run.held_out and run.held_out.known else {}
        found = zip(others["id"], others["name"], strict=True)
        named = [f"{name} ({shares[v]})" if v in shares else name for v, name in found]
        st.caption(f"In no view's share, because they do not see columns of one view alone: {plain(listed(named, 3))}.")


def show_ranking(table: pd.DataFrame) -> None:
    names = unique_names(table["id"], dict(zip(table["id"], table["name"], strict=True)))
    measured = ranked_by(table) == HELD_OUT
    st.dataframe(
        known(table).assign(name=list(names.values())),
        hide_index=True,
        height=min(520, 38 + 35 * len(table)),
        # Weights beside importance would be read as importance.
        column_order=["name", *(SHARE_COLUMNS if measured else ["part of Σg", "Σg ± over folds", "survival"])],
        column_config={
            **SHARE_COLUMNS,
            **{
                name: st.column_config.NumberColumn(title, format="percent", help=help)
                for name, title, help in (
                    ("part of Σg", "of Σg", WEIGHT_HELP),
                    ("Σg ± over folds", "± over folds", "Standard deviation of the part of Σg over the folds."),
                    ("survival", "survives", "In how many of the folds the weights left a path through it."),
                )
            },
        },
    )
