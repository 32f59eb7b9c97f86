"""Kernel matrices to look at, and how well each one agrees with the labels."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from spnmkl.charts import heatmap_chart
from spnmkl.kernels.matrices import alignment
from spnmkl.reporting.explain import HELD_OUT
from spnmkl.reporting.glossary import GLOSSARY, explained
from spnmkl.reporting.kernel_views import KernelImage, kernel_image
from spnmkl.structure import SPN
from spnmkl.training.prepared import Prepared
from spnmkl.training.run import Run
from spnmkl.ui.pages.inspect.inspected import SHARE_COLUMNS, Inspected, known, node_names, tell_missing_data

CELLS = 250
LEARNED = "the learned kernel K(β)"
ALIGNMENT_HELP = explained("alignment")


def kernels_tab(seen: Inspected) -> None:
    if not seen.has_data:
        tell_missing_data(seen.run, "Kernel matrices")
        return
    run, names = seen.run, kernel_titles(seen)
    left, right = st.columns([9, 11], gap="large")
    with left:
        node = st.selectbox("Kernel", names, format_func=names.__getitem__, key=kernel_key(run))
        image = picture_of(seen, node)
        st.markdown(f"Alignment with the labels **{image.alignment:.3f}**", help=ALIGNMENT_HELP)
        alike = f"Rows of one class are {image.within:.3g} alike on average, of different classes {image.between:.3g}."
        st.caption(f"{alike} {meaning(run.spn, node)}", help=explained("kernel", "path", "g"))
        show_alignments(seen)
        st.caption("Choose a row to see its kernel.")
    with right:
        st.altair_chart(heatmap_chart(image.cells, image.boundaries, image.classes), width="content")
        st.caption(
            f"{run.train_words}, sorted by class. Bright blocks on the diagonal and dark ones "
            "beside it: the kernel tells the classes apart. Hover over a block for its mean. Every row with itself, "
            "the diagonal, is left out of the scale."
        )


def kernel_key(run: Run) -> str:
    return f"inspect_kernel_{run.name}"


def kernel_titles(seen: Inspected) -> dict[str, str]:
    """The learned kernel, then leaves by their held-out share, then what lies between."""
    spn, ranking = seen.run.spn, seen.learned().ranking
    names = node_names(spn)
    leaves = {v: f"kernel · {names[v]}" for v in ranking.loc[ranking["kind"] == "kernel", "id"]}
    inner = {v: f"{spn.kind(v)} · {names[v]}" for v in spn.nodes if v != spn.root and spn.kind(v) != "kernel"}
    return {spn.root: LEARNED} | leaves | inner


def meaning(spn: SPN, node: str) -> str:
    if node == spn.root:
        return GLOSSARY["K(β)"].sentence
    if spn.kind(node) == "kernel":
        return "The kernel as it is, without a weight."
    return "Σ g K over the paths through this node: what it adds to the learned kernel."


def picture_of(seen: Inspected, node: str) -> KernelImage:
    cells = max(CELLS, len(seen.run.solution.classes))
    return seen.once(("image", node), lambda prepared: kernel_image(seen.run, prepared, node, cells))


def show_alignments(seen: Inspected) -> None:
    """All kernels as they are, beside the one that was made of them; a click shows one."""
    table = seen.once("alignments", lambda prepared: alignments(seen, prepared))
    key = f"inspect_alignments_{seen.run.name}"

    def show() -> None:
        if rows := st.session_state[key].selection.rows:
            st.session_state[kernel_key(seen.run)] = table["id"].iloc[rows[0]]

    st.dataframe(
        table,
        hide_index=True,
        height=min(330, 38 + 35 * len(table)),
        on_select=show,
        selection_mode="single-row",
        key=key,
        column_order=["kernel", "alignment", HELD_OUT],
        column_config={
            "alignment": st.column_config.NumberColumn(format="%.3f", help=ALIGNMENT_HELP),
            HELD_OUT: SHARE_COLUMNS[HELD_OUT],
        },
    )


def alignments(seen: Inspected, prepared: Prepared) -> pd.DataFrame:
    spn, names = seen.run.spn, node_names(seen.run.spn)
    ranking = seen.learned().ranking
    share = ranking[ranking["kind"] == "kernel"].set_index("id")[HELD_OUT]
    rows = [(v, names[v], _alignment(seen, prepared, v), share[v]) for v in spn.kernels]
    rows.sort(key=lambda found: -found[2])
    whole = 1.0 if share.notna().any() else float("nan")
    learned = (spn.root, LEARNED, picture_of(seen, spn.root).alignment, whole)
    return known(pd.DataFrame([learned, *rows], columns=["id", "kernel", "alignment", HELD_OUT]))


def _alignment(seen: Inspected, prepared: Prepared, leaf: str) -> float:
    """From the matrix, where there is one; else from the rows of the picture."""
    if prepared.trained_on.in_memory:
        return alignment(prepared.kernels[leaf], prepared.y_train)
    return picture_of(seen, leaf).alignment
