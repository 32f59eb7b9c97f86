"""The Runs page: every training of the visit, what to do with one, and several side by side."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from spnmkl.errors import DataError
from spnmkl.project.stored_run import model_bytes
from spnmkl.reporting.doubts import found_by_search
from spnmkl.reporting.glossary import explained
from spnmkl.reporting.page import html_report
from spnmkl.reporting.runs_beside import runs_table
from spnmkl.selection.results import UNFINISHED
from spnmkl.training.run import Run
from spnmkl.ui.parts.project import missing_data, project_dialog
from spnmkl.ui.parts.returning import offer_return
from spnmkl.ui.parts.runs_beside import runs_beside
from spnmkl.ui.parts.session import boundary, fragment, heading, open_dialog, opened_dialog, rerun, workspace
from spnmkl.ui.parts.words import plain, slug
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.run_book import MOST_LETTERS
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import listed, quoted

TABLE = "runs_table"
PROJECT = "Project"
HIGHEST = 8  # rows of the table before it scrolls
MEASURE_HELP = "By the measure of the run: the share answered rightly where no other is named."
FOLDS_HELP = (
    "The mean over cross-validated folds of the training rows, with its 95 % interval: a score of no one "
    "split. It is made on the pages Train and Inspect."
)


def runs_page() -> None:
    work = workspace()
    heading("Runs — compare and keep what was trained").button(
        "Save or open a project",
        icon=":material/folder_zip:",
        key="open_project",
        on_click=open_dialog,
        args=(PROJECT,),
        help="The drawing, the data that are loaded now, the choices and all runs in one file. Runs on other data are "
        "kept without theirs.",
    )
    if opened_dialog() == PROJECT:
        project_dialog(work)
    all_runs()


@fragment
def all_runs() -> None:
    work = workspace()
    trainer = work.trainer
    work.collect()
    missing_data(work)
    if trainer.training:
        wait()
    run = trainer.book.run
    offer_undo(trainer)
    if run is None:
        nothing_yet(trainer)
        return
    ticked = table_of_runs(trainer, run)
    for said in about_folds(trainer):
        st.caption(plain(said))
    if len(ticked) >= 2:
        st.caption("Side by side. Tick a single run to show it on all pages, rename it, take it along or remove it.")
        runs_beside(ticked)
        return
    if ticked:
        trainer.book.chosen = trainer.book.chosen if ticked[0] is run else ticked[0].name
        one_run(work, ticked[0])
        offer_return(work, ticked[0])
    if len(trainer.book.runs) >= 2:
        st.info("Tick two runs or more to see them side by side, or one to show it on all pages.")
    else:
        st.info("Train again with another drawing or other settings, and the two can be compared here.")
        st.page_link("pages/train.py", label="Train again", icon=":material/arrow_forward:")


def offer_undo(trainer: Trainer) -> None:
    """Until another one is removed, or the tab is closed."""
    if (removed := trainer.book.removed) is not None:
        with st.container(horizontal=True, vertical_alignment="center", key="undo_remove"):
            st.info(f"**{plain(removed[1].name)}** is removed.")
            st.button("Undo", key="undo_run", on_click=trainer.book.bring_back)


@st.fragment(run_every=1.0)
def wait() -> None:
    """List a training once it has ended."""
    if workspace().trainer.training:
        st.info("A training is going on; it is listed here once it has ended.", icon=":material/progress_activity:")
    else:
        st.rerun()


def nothing_yet(trainer: Trainer) -> None:
    with st.container(border=True, horizontal_alignment="center", gap="small"):
        said = "**Nothing is trained yet.** Every training of this visit is kept and listed here."
        st.markdown(said, width="content")
        label = "Watch the training" if trainer.training else "Train the drawing"
        st.page_link("pages/train.py", label=label, icon=":material/arrow_forward:")
        st.page_link("pages/projects.py", label="Open what was trained before", icon=":material/folder:")


def table_of_runs(trainer: Trainer, shown: Run) -> list[Run]:
    """All runs, newest first; returns those that are ticked, at first the one that the pages show."""
    runs = trainer.book.runs[::-1]
    names = [run.name for run in runs]
    table = runs_table(runs)
    state = st.dataframe(
        table,
        hide_index=True,
        height=38 + 35 * min(len(runs), HIGHEST),
        on_select="rerun",
        selection_mode="multi-row",
        selection_default={"selection": {"rows": [runs.index(shown)]}},
        key=f"{TABLE}_{hash(tuple(names))}",
        column_config={
            **{name: st.column_config.TextColumn(width=_width(table[name])) for name in ("run", "data")},
            "C": st.column_config.NumberColumn(format="%.4g", help=explained("C")),
            "p": st.column_config.TextColumn(help=explained("p")),
            "gap": st.column_config.NumberColumn(format="%.1e", help=explained("gap")),
            "training": st.column_config.TextColumn(help=f"Of the training rows. {MEASURE_HELP}"),
            "test": st.column_config.TextColumn(help=f"Of the rows held out. {MEASURE_HELP}"),
            "over folds": st.column_config.TextColumn(help=FOLDS_HELP),
            "pruned": st.column_config.TextColumn(help=f"Weights that became zero, of all.\n\n{explained('pruned')}"),
            "seconds": st.column_config.NumberColumn(format="%.2f", help="Of solving, without the kernels."),
        },
    )
    return [runs[k] for k in state["selection"]["rows"] if k < len(runs)]


def about_folds(trainer: Trainer) -> list[str]:
    """Which scores over folds are flattered, and which there could be and are not, in sentences."""
    runs, making = trainer.book.runs, trainer.estimate
    found = [f"the drawing of {run.name}" for run in runs if run.measured and run.searched and run.searched.drew]
    blank = [
        run.name
        for run in runs
        if run.measured is None
        and run.approximated is None
        and run.solution.status not in UNFINISHED
        and any(run.solution.beta.values())
        and not (making is not None and making.run.solution is run.solution)
    ]
    return [
        *([found_by_search(found)] if found else []),
        *([f"Scores of {making.run.name} over folds are being made."] if making is not None else []),
        *(
            [
                f"No scores over folds: {listed(blank)}. They are made on Train while the drawing and the data of a "
                "run are open there, and make way for the next training; go back to the run to have them made."
            ]
            if blank
            else []
        ),
    ]


def _width(names: pd.Series) -> int | None:
    """Long names must not push the numbers off the page."""
    return 150 if names.str.len().max() > 18 else None


def one_run(work: Workspace, run: Run) -> None:
    """What can be done with the run that is ticked, which all pages show."""
    trainer = work.trainer
    name, inspect, rename, report, model, remove = st.columns([4, 3, 2, 3, 3, 2], vertical_alignment="center")
    name.markdown(f"**{plain(run.name)}**, shown on all pages")
    with inspect:
        if st.button("Look into it", icon=":material/insights:", width="stretch"):
            st.switch_page("pages/inspect.py")
    with rename.popover("Rename", width="stretch"):
        rename_run(trainer, run)
    with report:
        offer_report(work, run)
    with model:
        st.download_button(
            "Model",
            lambda: model_bytes(run.model) if run.model else b"",
            f"{slug(run.name)}.spnmkl",
            "application/octet-stream",
            icon=":material/download:",
            disabled=run.model is None,
            on_click="ignore",
            width="stretch",
            help="To predict new rows, here or elsewhere."
            if run.model
            else "A run over given kernel matrices has no model for new rows.",
        )
    # A key of its own for each run: with the run, its open popover is gone, and is not armed for the next one.
    with remove.popover("Remove", width="stretch", key=f"remove_{run.name}"):
        st.markdown(f"**{plain(run.name)}** will be removed.")
        st.button("Remove it", type="primary", key="remove_run", on_click=trainer.book.remove, args=(run.name,))


def rename_run(trainer: Trainer, run: Run) -> None:
    with st.form("rename", border=False), boundary():
        new = st.text_input("New name", run.name, max_chars=MOST_LETTERS)
        if st.form_submit_button("Rename it", type="primary") and new != run.name:
            trainer.book.rename(run.name, new)
            rerun()


def offer_report(work: Workspace, run: Run) -> None:
    trainer, task = work.trainer, work.trainer.book.tasks.get(run.name)

    def written() -> str:
        if task is None:
            raise DataError(f"The data of {run.name!r} are not loaded.")
        return html_report(run, trainer.prepared(task), task.dataset)

    st.download_button(
        "Report (HTML)",
        written,
        f"{slug(run.name)}.html",
        "text/html",
        icon=":material/description:",
        disabled=task is None,
        on_click="ignore",
        width="stretch",
        help="One page to send to a colleague, which opens offline: the structure, the proof, the weights, plots, and "
        "code to reproduce it. It takes some seconds."
        if task
        else f"Load the data {plain(quoted(run.dataset_name))} on the page Data first.",
    )
