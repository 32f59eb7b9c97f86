"""A project of the workspace as one zip, and back."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count

from spnmkl.data import SAMPLES, Dataset, load_sample
from spnmkl.errors import DataError, WorkspaceError
from spnmkl.project.project_file import Project, load_project, save_project
from spnmkl.project.stored_contest import Compared
from spnmkl.project.stored_finding import SEARCHES
from spnmkl.reporting.runs_beside import was_trained_on
from spnmkl.structure.text import one_line
from spnmkl.training.run import Run
from spnmkl.workspace.state import KeptComparison, KeptFinding, KeptRun, ProjectState

MOST_LETTERS = 60  # of a run's name


def exported(state: ProjectState, with_data: bool = True) -> bytes:
    """What `imported` and the page Runs open; runs on other data are kept without these."""
    data = state.dataset or state.missing
    if data is None:
        raise WorkspaceError("The project has no data, and says of none that it is about; it cannot be exported.")
    runs = [kept.run for kept in state.runs]
    kept = state.comparison
    compared = kept.compared if kept is not None and kept.dataset is state.dataset else None
    searches = {
        each.kind: each.found for each in state.findings if each.kind in SEARCHES and each.dataset is state.dataset
    }
    chosen = (state.choices, state.split, state.settings)
    return save_project(state.spn, data, *chosen, runs, with_data and state.dataset is not None, compared, searches)


def left_out(state: ProjectState) -> list[str]:
    """What `exported` does not take along, in sentences."""
    of_others = [
        *(["The comparison"] if state.comparison is not None and state.comparison.dataset is not state.dataset else []),
        *(
            f"What was found ({kept.kind})"
            for kept in state.findings
            if kept.kind in SEARCHES and kept.dataset is not state.dataset
        ),
    ]
    return [f"{what} is of other data than those that are open, and not in the file." for what in of_others]


def imported(data: bytes, name: str) -> ProjectState:
    """A project of a zip that anybody may have written."""
    project = load_project(data, name)
    dataset = project.dataset or _sample(project)
    return ProjectState(
        spn=project.spn,
        closed=frozenset(),
        dataset=dataset,
        choices=project.choices,
        split=project.split,
        settings=project.settings,
        missing=None if dataset is not None else project.data,
        runs=tuple(
            KeptRun(uuid.uuid4().hex, run, dataset if dataset is not None and was_trained_on(run, dataset) else None)
            for run in named_apart(project.runs)
        ),
        comparison=_kept(project.compared, dataset),
        findings=()
        if dataset is None
        else tuple(KeptFinding(kind, found, dataset) for kind, found in project.searches.items()),
    )


def named_apart(runs: Sequence[Run]) -> list[Run]:
    """The runs of a file, which anyone may have written, under short names of which no two are the same."""
    taken: set[str] = set()
    kept = []
    for k, run in enumerate(runs, 1):
        name = one_line(run.name.encode("utf-8", "replace").decode())[:MOST_LETTERS] or f"Run {k}"
        numbered = (f"{name[: MOST_LETTERS - 8]} ({number})" for number in count(k))
        name = next(free for free in chain([name], numbered) if free not in taken)
        taken.add(name)
        kept.append(replace(run, name=name))
    return kept


def _kept(compared: Compared | None, dataset: Dataset | None) -> KeptComparison | None:
    if compared is None or dataset is None:
        return None
    return KeptComparison(uuid.uuid4().hex, compared, dataset)


def _sample(project: Project) -> Dataset | None:
    """The data of a project that came without them, where they are those of a sample."""
    if project.data.name not in SAMPLES:
        return None
    try:
        return project.data.applied(load_sample(project.data.name))
    except DataError:
        return None
