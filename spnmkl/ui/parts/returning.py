"""The way back to what an earlier run was trained on: its drawing, its data, its settings."""

from __future__ import annotations

import streamlit as st

from spnmkl.reporting.runs_beside import was_trained_on
from spnmkl.structure.layout import unplaced
from spnmkl.training.run import Run
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.workspace import Workspace

DRAWING, DATA, PREPARATION, SETTINGS = "drawing", "data", "preparation", "settings"
OTHER = {
    DRAWING: "another drawing",
    DATA: "other data",
    PREPARATION: "another use of the columns",
    SETTINGS: "other settings",
}


def differences(work: Workspace, run: Run) -> list[str]:
    """In what a run differs from what would be trained now."""
    task, dataset = work.trainer.book.tasks.get(run.name), work.dataset
    found = [] if unplaced(run.spn) == unplaced(work.drawing.spn) else [DRAWING]
    if task is None:
        found += [] if was_trained_on(run, dataset) else [DATA]
    elif task.dataset.frame is not dataset.frame:
        found.append(DATA)
    elif task.dataset is not dataset or (task.choices, task.split) != (work.choices, work.split):
        found.append(PREPARATION)
    return found if run.settings == work.trainer.settings else [*found, SETTINGS]


def offer_return(work: Workspace, run: Run | None, *, here: bool = False) -> None:
    """Say in one line in what a run differs from what is open, with the ways back; `here` is the page Train."""
    if run is None or work.trainer.training:
        return
    found = differences(work, run)
    if not set(found) - {SETTINGS}:
        return
    named = [f"{OTHER[DATA]} ({plain(run.dataset_name[:40])})" if part == DATA else OTHER[part] for part in found]
    known = run.name in work.trainer.book.tasks
    lost = "" if known or DATA not in found else " Its data are not loaded."
    shown = "and is not shown here" if here else "than what is open now"
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="way_back"):
        st.markdown(f":small[**{plain(run.name)}** has {_listed(named)} {shown}.{lost}]")
        if DRAWING in found:
            drawing = st.button(
                "Take this drawing into Design",
                icon=":material/account_tree:",
                help="In the place of the one there; undo brings that back.",
            )
            if drawing:
                work.take_drawing(run)
                st.switch_page("pages/design.py")
        if known and found != [DRAWING]:
            back = st.button(
                f"Go back to its {_listed(found)}",
                icon=":material/history:",
                help="All as it was trained. Undo, in Data and in Design, brings back what is there now.",
            )
            if back:
                work.return_to(run)
                st.switch_page("pages/train.py")


def _listed(words: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
