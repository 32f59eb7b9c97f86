"""What a tab works on as a project of the workspace on disk, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from spnmkl.data import Dataset, Joining, ReadOptions
from spnmkl.project.stored_contest import Compared
from spnmkl.project.stored_data import DataUse
from spnmkl.study.contest import Contest
from spnmkl.training.settings import Settings
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.drawing import Drawing, Push, placed
from spnmkl.ui.state.kept import Keys
from spnmkl.ui.state.run_book import RunBook
from spnmkl.ui.state.task import Finding, Task
from spnmkl.ui.state.uploaded_files import KeptFile, UploadedFiles
from spnmkl.ui.state.workspace import CompareChoices, Workspace
from spnmkl.workspace.state import KeptAttempt, KeptComparison, KeptRun, ProjectState, Upload

BACK = 1000  # pushes that a server may have made and not saved when it ended
RESTARTED = "Back as it was saved; what you drew since is kept."


def state_of(work: Workspace, keys: Keys, cut: tuple[KeptAttempt, ...], refresh: bool = False) -> ProjectState:
    """What is to be kept of a tab's work; only references, so that it takes no time."""
    drawing, trainer, book = work.drawing, work.trainer, work.trainer.book
    training = trainer.doing("train")
    going_on = () if training is None else (KeptAttempt(keys.of_training(training, refresh), training.task.dataset),)
    here = work.loaded or work.missing is None
    return ProjectState(
        spn=drawing.spn,
        closed=drawing.closed,
        dataset=work.dataset if here else None,
        missing=work.missing,
        choices=work.choices,
        split=work.split,
        settings=trainer.settings,
        runs=tuple(
            KeptRun(keys.of_run(run.solution), run, task.dataset if (task := book.task_of(run)) else None)
            for run in book.runs
        ),
        chosen=book.chosen,
        comparison=_comparison(trainer, keys),
        attempts=(*cut, *going_on),
        uploads=tuple(Upload(file.file_id, file.name, file.data) for file in work.files.kept),
        more={
            "canvas": [drawing.epoch, drawing.pushes, drawing.acknowledged, drawing.granted, drawing.version],
            "loaded": work.loaded,
            "expanded": work.expanded,
            "by_hand": work.by_hand,
            "comparing": {
                "repeats": work.comparing.repeats,
                "runs": list(work.comparing.runs),
                "measure": work.comparing.measure,
                "left_out": sorted(work.comparing.left_out),
            },
            "gone": sorted(book.gone),
            "files": list(work.files.ids),
            "readings": {id: _reading(options) for id, options in work.files.readings.items()},
            "joining": asdict(work.files.joining),
        },
    )


def work_of(state: ProjectState, keys: Keys, dataset_for_none: Dataset, same_tab: bool) -> Workspace:
    """A tab's work from what was kept; `same_tab` had it open when the server ended, and may know more."""
    more = state.more
    dataset = state.dataset or dataset_for_none
    book = RunBook([kept.run for kept in state.runs], chosen=state.chosen, gone=set(more.get("gone", ())))
    for kept in state.runs:
        keys.runs[id(kept.run.solution)] = kept.run.solution, kept.key
        if kept.dataset is not None:
            book.tasks[kept.run.name] = Task(kept.run.spn, kept.dataset, kept.run.choices, kept.run.split)
    trainer = Trainer(settings=state.settings, book=book)
    if state.comparison is not None:
        trainer.contest = as_finding(state.comparison.compared, state.comparison.dataset)
        keys.contest = trainer.contest.task, state.comparison.key
    work = Workspace(_drawing(state, same_tab), dataset, state.choices, state.split, trainer=trainer)
    work.missing = state.missing
    work.by_hand = more.get("by_hand", state.settings != Settings()) is True
    work.loaded = state.dataset is not None and more.get("loaded") is not False
    if state.dataset is None and work.missing is None:
        work.missing = DataUse.of(dataset)
    work.expanded = more.get("expanded") is True
    work.comparing = _comparing(more.get("comparing"))
    work.files = _files(state, more)
    return work


def _drawing(state: ProjectState, same_tab: bool) -> Drawing:
    drawing = Drawing(placed(state.spn), state.closed)
    known = state.more.get("canvas")
    if same_tab and isinstance(known, list) and len(known) == 5:
        drawing.epoch, pushes, drawing.acknowledged, drawing.granted, drawing.version = known
        # A push tells the canvas how far it was saved, and is merged there with what was drawn since.
        drawing.recalled, drawing.pushes = pushes, pushes + BACK
        push = Push(drawing.pushes, drawing.spn, drawing.closed, RESTARTED, after=drawing.acknowledged)
        drawing.pending = (push,)
    return drawing


def _comparison(trainer: Trainer, keys: Keys) -> KeptComparison | None:
    """The last one, or what there is so far of the one that is going on."""
    going_on, found = trainer.doing("compare"), trainer.contest
    if going_on is not None and isinstance(so_far := going_on.so_far, Contest) and so_far.results:
        found = Finding(so_far, going_on.task, going_on.settings)
    if found is None:
        return None
    return KeptComparison(keys.of_contest(found.task), compared(found), found.task.dataset)


def compared(found: Finding[Contest]) -> Compared:
    """A comparison as it is kept."""
    task = found.task
    return Compared(found.value, task.spn, task.choices, task.split, found.settings)


def as_finding(kept: Compared, dataset: Dataset) -> Finding[Contest]:
    """A comparison that was kept, as the page Compare shows it."""
    task = Task(kept.spn, dataset, kept.choices, kept.split)
    return Finding(kept.contest, task, kept.settings)


def _comparing(stored: object) -> CompareChoices:
    if not isinstance(stored, dict):
        return CompareChoices()
    runs, left_out = tuple(map(str, stored["runs"])), frozenset(map(str, stored["left_out"]))
    return CompareChoices(int(stored["repeats"]), runs, stored["measure"], left_out)


def _files(state: ProjectState, more: Mapping[str, Any]) -> UploadedFiles:
    kept = tuple(KeptFile(upload.key, upload.name, upload.data) for upload in state.uploads)
    readings = {id: _read_reading(stored) for id, stored in more.get("readings", {}).items()}
    files = UploadedFiles(tuple(more.get("files", ())), kept, readings, Joining(**more.get("joining", {})))
    files.dropped = bool(files.ids) and not kept
    return files


def _reading(options: ReadOptions | int) -> Any:
    return options if isinstance(options, int) else asdict(options)


def _read_reading(stored: Any) -> ReadOptions | int:
    if isinstance(stored, int):
        return stored
    known: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    return ReadOptions(**known)
