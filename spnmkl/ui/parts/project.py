"""A whole project as one file: saved, and opened in the place of all that the tab has."""

from __future__ import annotations

from contextlib import suppress

import streamlit as st

from spnmkl.data import SAMPLES, Dataset, load_sample
from spnmkl.errors import DataError
from spnmkl.project.project_file import Pages, Project, load_project, save_project
from spnmkl.project.stored_contest import Compared
from spnmkl.project.stored_data import DataUse
from spnmkl.project.stored_finding import SUGGESTED
from spnmkl.reporting.runs_beside import was_trained_on
from spnmkl.study.contest import Contest
from spnmkl.ui.parts.session import boundary, close_dialog, dialog, tabs
from spnmkl.ui.parts.words import plain, slug
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.apart import apart
from spnmkl.ui.state.drawing import check_size, placed
from spnmkl.ui.state.kept_forms import as_found, compared, searches, take_choice, take_search
from spnmkl.ui.state.predicting import Predicting
from spnmkl.ui.state.run_book import RunBook
from spnmkl.ui.state.task import Finding, Task
from spnmkl.ui.state.uploaded_files import UploadedFiles
from spnmkl.ui.state.workspace import CompareChoices, Workspace
from spnmkl.wording import counted, quoted
from spnmkl.workspace.exchange import named_apart

FILE = "project_file"


@dialog("The whole project")
def project_dialog(work: Workspace) -> None:
    tabs("project", {"Save": lambda: save(work), "Open": lambda: open_file(work)})


def save(work: Workspace) -> None:
    dataset, runs = work.dataset, work.trainer.book.runs
    absent = not_here(work)
    name = (absent or dataset).name
    compared = "" if work.trainer.contest is None else ", the comparison with other methods"
    found = searches(work.trainer)
    suggested = ", what Suggest found" if SUGGESTED in found and found[SUGGESTED].task.dataset is dataset else ""
    said = f"The drawing, what the columns are for, all choices{suggested}{compared}"
    st.markdown(f"{said} and {counted(len(runs), 'run')} in one file.")
    with_data = st.checkbox(
        f"With the data: {plain(name[:60])}, " + ("not loaded" if absent else counted(len(dataset.frame), "row")),
        value=absent is None,
        disabled=absent is not None,
        help="Without them the file is small, and opens where the same data are loaded again. Models hold their "
        "support vectors, which are rows of the training data, either way.",
    )
    others = sorted({run.dataset_name for run in runs if run.dataset_name != name})
    if others:
        st.caption(f"Runs of other data ({plain(', '.join(others)[:200])}) are kept without these data.")
    with st.spinner("Packing the project"):
        data = packed(work, with_data)
    st.download_button(
        f"Save the project ({len(data) / 2**20:.1f} MB)",
        data,
        f"{slug(name)}.project.zip",
        "application/zip",
        icon=":material/download:",
        type="primary",
        on_click="ignore",
    )


def not_here(work: Workspace) -> DataUse | None:
    """The data that the drawing and the runs are about, where they were never loaded."""
    return None if work.loaded else work.missing


def packed(work: Workspace, with_data: bool) -> bytes:
    data, settings = not_here(work) or work.dataset, work.trainer.settings
    known, runs = work.trainer.contest, work.trainer.book.runs
    contest = None if known is None else compared(known)
    found = {kind: as_found(each) for kind, each in searches(work.trainer).items() if each.task.dataset is work.dataset}
    given = work.drawing.spn, data, work.choices, work.split, settings, runs, with_data, contest, found
    return save_project(*given, pages_of(work))


def pages_of(work: Workspace) -> Pages:
    chosen, shown = work.comparing, work.trainer.book.run
    named = chosen.repeats, chosen.runs, chosen.measure, tuple(sorted(chosen.left_out))
    return Pages(work.by_hand, None if shown is None else shown.name, *named)


def compare_choices(pages: Pages) -> CompareChoices:
    left_out = CompareChoices().left_out if pages.left_out is None else frozenset(pages.left_out)
    return CompareChoices(pages.repeats, pages.runs, pages.measure, left_out)


def open_file(work: Workspace) -> None:
    file = st.file_uploader("A project file (.zip)", type=["zip"], key=FILE)
    if file is None:
        st.caption("It takes the place of what this tab has; you are asked before that happens.")
        return
    with boundary():
        with st.spinner("Opening the project"):
            project = apart(file.name, load_project, file.getvalue(), file.name)
        st.markdown(f"**{plain(file.name[:80])}** holds {contents(project)}.")
        ends = " It also ends the training that is going on." if work.trainer.busy else ""
        st.warning(f"Opening it replaces {replaced_words(work, project)}.{ends}", icon=":material/warning:")
        if st.button("Replace them", type="primary"):
            with st.spinner("Opening the project"):
                open_project(work, project)
            close_dialog()
            st.rerun()


def contents(project: Project) -> str:
    data = project.data
    without = "" if project.dataset is not None else ", but not the rows themselves"
    return (
        f"a drawing of {counted(len(project.spn.nodes), 'node')}, {counted(len(project.runs), 'run')}, "
        f"{'what Suggest found, ' if SUGGESTED in project.searches else ''}"
        f"{'' if project.compared is None else 'a comparison with other methods, '}and the use of "
        f"the data {plain(quoted(data.name))} with {counted(data.n_rows, 'row')}{without}"
    )


def replaced_words(work: Workspace, project: Project) -> str:
    """What opening a project takes away."""
    parts = [f"the drawing of {counted(len(work.drawing.spn.nodes), 'node')}"]
    if project.dataset is not None:
        parts.append(f"the data {plain(quoted(work.dataset.name))} with {counted(len(work.dataset.frame), 'row')}")
    if work.trainer.book.runs:
        parts.append(f"{counted(len(work.trainer.book.runs), 'run')} of this tab")
    if work.trainer.contest is not None:
        parts.append("the comparison with the baselines")
    return ", ".join(parts) + " and the choices on the pages Data and Train"


def open_project(work: Workspace, project: Project) -> None:
    """Put a project in the place of what the tab has; whatever can fail does so before anything is changed."""
    check_size(project.spn)
    dataset = project.dataset or same_data(work, project)
    pages, book = project.pages, RunBook(named_apart(project.runs))
    book.chosen = pages.shown
    trainer = Trainer(settings=project.settings, book=book)
    trainer.book.attach(dataset or work.dataset)
    if project.compared is not None:
        trainer.contest = comparison_of(project.compared, dataset or work.dataset)
    for kind, found in project.searches.items():
        take_search(trainer, kind, found, dataset or work.dataset)
    spn = placed(project.spn)
    if work.trainer.activity is not None:
        work.trainer.activity.job.stop()
    work.trainer, work.predicting, work.files = trainer, Predicting(), UploadedFiles()
    work.dataset = dataset or work.dataset
    work.missing, work.loaded = (project.data, False) if dataset is None else (None, True)
    work.choices, work.split, work.by_hand = project.choices, project.split, pages.by_hand
    work.path, work.expanded, work.comparing = None, False, compare_choices(pages)
    take_choice(work)
    work.drawing.push(spn, "Opened the project.", fit=True)


def comparison_of(compared: Compared, dataset: Dataset) -> Finding[Contest]:
    """A comparison that came with a project, as one of these data; of others, the page Compare says so."""
    contest = compared.contest
    for spn in (compared.spn, *contest.drawn.values(), *(p.spn for p in contest.portraits.values())):
        check_size(spn)
    return Finding(contest, Task.of(compared, dataset), compared.settings)


def same_data(work: Workspace, project: Project) -> Dataset | None:
    """The data of a project that came without them, where they are at hand."""
    use = project.data
    for dataset in (work.dataset, *([load_sample(use.name)] if use.name in SAMPLES else [])):
        with suppress(DataError):
            used = use.applied(dataset)
            if dataset.name == use.name or any(was_trained_on(run, used) for run in project.runs):
                return used
    return None


def missing_data(work: Workspace, here: bool = False) -> None:
    """Say which data an opened project lacks; `here` is where they can be loaded."""
    use = work.missing
    if use is None:
        return
    said = use.missing_sentence
    if work.loaded:
        try:
            use.applied(work.dataset)
        except DataError as error:
            said = f"{said} {error}"
    st.warning(plain(said), icon=":material/database_off:")
    if not here:
        st.page_link("pages/data.py", label="Load the data", icon=":material/arrow_forward:")
