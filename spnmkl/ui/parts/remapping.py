"""A drawing that was made for other data: another one, or this one over the columns that there are."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from spnmkl.data import Dataset
from spnmkl.data.remapping import ALIKE, Lacking, choices, guessed, lacking, remapped
from spnmkl.structure.text import node_text
from spnmkl.ui.parts.session import close_dialog, dialog, open_dialog, opened_dialog
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.computed_once import kept_with_dataset
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted, listed, name_some

REMAP = "Columns of the drawing"
INSTEAD = "take instead"
MOST_CHOICES = 1000


def offer_redraw(work: Workspace) -> bool:
    """Ways out where the drawing sees columns that the data do not have; whether it does."""
    parts = lacking(work.drawing.spn, work.dataset.features)
    if not parts:
        return False
    known = set(work.dataset.features)
    absent = [c for c in dict.fromkeys(c for part in parts for c in part.columns) if c not in known]
    said = f"{counted(len(absent), 'column')} of this drawing not in the loaded data: {plain(name_some(absent, 3))}."
    if work.foreign:
        such = plain(name_some(absent[:1]))
        said = f"This drawing was made for other data: the loaded ones have none of its columns, such as {such}."
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="other_columns"):
        st.markdown(f":small[:red-badge[Not trainable yet] {said}]")
        if st.button("Choose columns for it", type="primary", icon=":material/swap_horiz:"):
            open_dialog(REMAP)
            st.rerun()
        st.button("Take a drawing for these data", on_click=work.redraw)
    if opened_dialog() == REMAP:
        choose_columns(work)
    return True


@kept_with_dataset
def _guesses(dataset: Dataset, parts: tuple[Lacking, ...]) -> list[str | None]:
    return guessed(parts, dataset)


@dialog("Columns for the drawing")
def choose_columns(work: Workspace) -> None:
    """What the drawing sees beside what it is to see; applied as one edit."""
    spn, dataset = work.drawing.spn, work.dataset
    parts = lacking(spn, dataset.features)
    guesses = _guesses(dataset, tuple(parts))
    st.caption(
        f"What the drawing was made for, and what of **{plain(dataset.name[:60])}** it shall see instead, guessed from "
        "the names. Undo brings the drawing back."
    )
    known = list(choices(dataset))
    offered = [*known[:MOST_CHOICES], *filter(None, guesses)]
    edited = st.data_editor(
        pd.DataFrame(
            {
                "drawn for": [part.name for part in parts],
                "columns": [listed(part.columns, 3) for part in parts],
                INSTEAD: pd.Series(guesses, dtype=object),
            }
        ),
        hide_index=True,
        disabled=["drawn for", "columns"],
        height=min(38 + 35 * len(parts), 390),
        key=f"remap_{work.drawing.revision}",
        column_config={
            INSTEAD: st.column_config.SelectboxColumn(options=list(dict.fromkeys([ALIKE, *offered])), width="large")
        },
    )
    if len(known) > MOST_CHOICES:
        st.caption(f"The first {MOST_CHOICES:,} of {len(known):,} views and columns are offered.")
    taken = [None if pd.isna(choice) else str(choice) for choice in edited[INSTEAD]]
    changed = remapped(spn, parts, taken, dataset)
    say_what_is_left(work, lacking(changed, dataset.features))
    if st.button("Use these columns", type="primary", disabled=changed == spn):
        work.path = None
        work.drawing.push(changed, "Over the columns of these data.")
        close_dialog()
        st.rerun()


def say_what_is_left(work: Workspace, parts: list[Lacking]) -> None:
    left = [leaf for part in parts for leaf in part.leaves]
    if left:
        names = listed([plain(node_text(work.drawing.spn, leaf)) for leaf in left])
        st.warning(f"{counted(len(left), 'kernel')} without columns: {names}. Choose some, or remove the kernels.")
