"""A whole project as one file: saved, and opened in the place of all that the tab has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from spnmkl.data import SAMPLES, Dataset, load_sample
from spnmkl.data.words import counted, quoted
from spnmkl.errors import DataError
from spnmkl.runs.project_file import DataUse, Project, load_project, save_project
from spnmkl.runs.training import Run
from spnmkl.structure.text import one_line
from spnmkl.ui.activity import MOST_LETTERS, Trainer
from spnmkl.ui.drawing import placed
from spnmkl.ui.predict_page import slug
from spnmkl.ui.predicting import Predicting
from spnmkl.ui.session import boundary, close_dialog, dialog, tabs
from spnmkl.ui.store import Workspace
from spnmkl.ui.words import plain

FILE = "project_file"


@dialog("The whole project")
def project_dialog(work: Workspace) -> None:
    tabs("project", {"Save": lambda: save(work), "Open": lambda: open_file(work)})


def save(work: Workspace) -> None:
    dataset, runs = work.dataset, work.trainer.runs
    absent = work.missing is not None and not len(dataset.frame)
    st.markdown(f"The drawing, what the columns are for, all choices and {counted(len(runs), 'run')} in one file.")
    with_data = st.checkbox(
        f"With the data: {plain(dataset.name[:60])}, {counted(len(dataset.frame), 'row')}",
        value=not absent,
        disabled=absent,
        help="Without them the file is small, and opens where the same data are loaded again. Models hold their "
        "support vectors, which are rows of the training data, either way.",
    )
    others = sorted({run.dataset_name for run in runs if run.dataset_name != dataset.name})
    if others:
        st.caption(f"Runs of other data ({plain(', '.join(others)[:200])}) are kept without these data.")
    with st.spinner("Packing the project"):
        data = packed(work, with_data)
    st.download_button(
        f"Save the project ({len(data) / 2**20:.1f} MB)",
        data,
        f"{slug(dataset.name)}.project.zip",
        "application/zip",
        icon=":material/download:",
        type="primary",
        on_click="ignore",
    )


def packed(work: Workspace, with_data: bool) -> bytes:
    absent = work.missing if not len(work.dataset.frame) else None
    trainer = work.trainer
    return save_project(
        work.drawing.spn,
        absent or work.dataset,
        work.choices,
        work.split,
        trainer.settings,
        trainer.runs,
        with_data and absent is None,
    )


def open_file(work: Workspace) -> None:
    file = st.file_uploader("A project file (.zip)", type=["zip"], key=FILE)
    if file is None:
        st.caption("It takes the place of what this tab has; you are asked before that happens.")
        return
    with boundary():
        with st.spinner("Opening the project"):
            project = load_project(file.getvalue(), file.name)
        st.markdown(f"**{plain(file.name[:80])}** holds {contents(project)}.")
        st.warning(f"Opening it replaces {replaced_words(work)}.", icon=":material/warning:")
        if st.button("Replace them", type="primary"):
            open_project(work, project)
            close_dialog()
            st.rerun()


def contents(project: Project) -> str:
    data = project.data
    without = "" if project.dataset is not None else ", without the rows themselves"
    return (
        f"a drawing of {counted(len(project.spn.nodes), 'node')}, {counted(len(project.runs), 'run')}, and the data "
        f"{plain(quoted(data.name))} ({counted(data.n_rows, 'row')}{without})"
    )


def replaced_words(work: Workspace) -> str:
    """What opening a project takes away."""
    dataset, runs = work.dataset, len(work.trainer.runs)
    busy = ", ends the training that is going on," if work.trainer.busy else ""
    return (
        f"the drawing of {counted(len(work.drawing.spn.nodes), 'node')}, the data {plain(quoted(dataset.name))} with "
        f"{counted(len(dataset.frame), 'row')}, their choices{busy} and {counted(runs, 'run')} of this tab"
    )


def open_project(work: Workspace, project: Project) -> None:
    """Put a project in the place of what the tab has; whatever can fail does so before anything is changed."""
    dataset, missing = found_data(project, work)
    trainer = Trainer(settings=project.settings, runs=named_apart(project.runs))
    trainer.attach(dataset)
    spn = placed(project.spn)
    if work.trainer.activity is not None:
        work.trainer.activity.job.stop()
    work.trainer, work.predicting = trainer, Predicting()
    work.dataset, work.missing = dataset, missing
    work.choices, work.split = project.choices, project.split
    work.path, work.expanded = None, False
    work.drawing.push(spn, "Opened the project.", fit=True)


def found_data(project: Project, work: Workspace) -> tuple[Dataset, DataUse | None]:
    """The data of a project: its own, else the same data at hand, else the columns without a row."""
    if project.dataset is not None:
        return project.dataset, None
    use = project.data
    at_hand = [work.dataset, *([load_sample(use.name)] if use.name in SAMPLES else [])]
    for dataset in at_hand:
        try:
            if dataset.name == use.name:
                return use.applied(dataset), None
        except DataError:
            continue
    frame = pd.DataFrame(np.empty((0, len(use.columns))), columns=pd.Index(use.columns, dtype=object))
    matrices = {name: np.empty((0, 0)) for name in use.matrices}
    return Dataset(use.name, frame, use.label, use.ignored, use.views, use.group, matrices), use


def named_apart(runs: tuple[Run, ...]) -> list[Run]:
    """The runs of a file, which anyone may have written, under short names of which no two are the same."""
    taken: set[str] = set()
    kept = []
    for k, run in enumerate(runs, 1):
        name = one_line(run.name.encode("utf-8", "replace").decode())[:MOST_LETTERS] or f"Run {k}"
        name = name if name not in taken else f"{name[: MOST_LETTERS - 8]} ({k})"
        taken.add(name)
        kept.append(replace(run, name=name))
    return kept
