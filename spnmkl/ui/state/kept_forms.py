"""What a tab works on as a project of the workspace on disk, and back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from spnmkl.data import Dataset, Joining, ReadOptions
from spnmkl.project.stored_contest import Compared
from spnmkl.project.stored_data import DataUse
from spnmkl.project.stored_finding import FOLDS, PATH, SEARCHES, SUGGESTED, Found
from spnmkl.study.contest import Contest
from spnmkl.training.settings import Settings
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.drawing import Drawing, Push, placed
from spnmkl.ui.state.kept import Keys
from spnmkl.ui.state.run_book import RunBook
from spnmkl.ui.state.task import Finding, Task
from spnmkl.ui.state.uploaded_files import KeptFile, UploadedFiles
from spnmkl.ui.state.works import Chosen
from spnmkl.ui.state.workspace import Arrival, Before, CompareChoices, Workspace
from spnmkl.workspace.state import KeptAttempt, KeptComparison, KeptFinding, KeptRun, ProjectState, Upload

BACK = 1000  # pushes that a server may have made and not saved when it ended
ARRIVAL, BEFORE = "arrival", "before"  # kinds of findings, beside searches
RESTARTED = "Back as it was saved; what you drew since is kept."


def state_of(work: Workspace, keys: Keys, cut: tuple[KeptAttempt, ...], refresh: bool = False) -> ProjectState:
    """What is to be kept of a tab's work; only references, so that it takes no time."""
    drawing, trainer, book = work.drawing, work.trainer, work.trainer.book
    training = trainer.doing("train")
    going_on = () if training is None else (KeptAttempt(keys.of_training(training, refresh), training.task.dataset),)
    here = work.loaded or work.missing is None
    findings = (*_searches(trainer, keys), *_arrival(work, keys))
    keys.forget_findings({found.kind for found in findings})
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
        findings=findings,
        attempts=(*cut, *going_on),
        uploads=_uploads(work),
        more={
            "canvas": [drawing.epoch, drawing.pushes, drawing.acknowledged, drawing.granted, drawing.version],
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
            "read_last": _reads(work.files.read_last),
            "arrived": _reads(work.arrival.read) if work.arrival else None,
            "loaded_before": work.before is None or work.before.loaded,
            "by_hand_before": work.before is not None and work.before.by_hand,
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
            book.tasks[kept.run.name] = Task.of(kept.run, kept.dataset)
    trainer = Trainer(settings=state.settings, book=book)
    if state.comparison is not None:
        trainer.contest = as_finding(state.comparison.compared, state.comparison.dataset)
        keys.contest = trainer.contest.task, state.comparison.key
    work = Workspace(_drawing(state, same_tab), dataset, state.choices, state.split, trainer=trainer)
    work.missing = state.missing
    work.by_hand = more.get("by_hand", state.settings != Settings()) is True
    work.loaded = state.dataset is not None
    if state.dataset is None and work.missing is None:
        work.missing = DataUse.of(dataset)
    work.expanded = more.get("expanded") is True
    work.comparing = _comparing(more.get("comparing"))
    work.files = _files(state, more)
    _take_findings(work, state, keys)
    take_choice(work)
    return work


def take_choice(work: Workspace) -> None:
    """What was chosen for these data, with the reasons: as the run that is open has it, or the last one that does."""
    book = work.trainer.book
    runs = [run for run in [*book.runs, book.run] if run is not None and run.reasons]
    tasks = [(run, task) for run in runs if (task := book.task_of(run)) is not None and task.dataset is work.dataset]
    if tasks:
        run, task = tasks[-1]
        chosen = Chosen(run.spn, run.choices, run.settings, run.reasons, trained=True, asked=run.choosing)
        work.trainer.default = work.followed = Finding(chosen, task, run.settings)


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


def searches(trainer: Trainer) -> dict[str, Finding[Any]]:
    """The last choice of C, the last weights over C, and the last search for a drawing, where there were such."""
    known = {FOLDS: trainer.cross_validation, PATH: trainer.path, SUGGESTED: trainer.suggested}
    return {kind: found for kind, found in known.items() if found is not None}


def as_found(finding: Finding[Any]) -> Found:
    """What was found, as it is kept."""
    task = finding.task
    return Found(task.spn, task.choices, task.split, finding.settings, finding.value)


def take_search(trainer: Trainer, kind: str, kept: Found, dataset: Dataset) -> Finding[Any]:
    """What was kept of a search, for the pages that show it."""
    finding = Finding[Any](kept.value, Task.of(kept, dataset), kept.settings)
    if kind == FOLDS:
        trainer.cross_validation = finding
    elif kind == PATH:
        trainer.path = finding
    else:
        trainer.suggested = finding
    return finding


def _searches(trainer: Trainer, keys: Keys) -> Iterator[KeptFinding]:
    for kind, found in searches(trainer).items():
        yield keys.of_finding(kind, found, partial(KeptFinding, kind, as_found(found), found.task.dataset))


def _arrival(work: Workspace, keys: Keys) -> Iterator[KeptFinding]:
    """The data as they came, and what they took the place of."""
    arrival = work.arrival
    if arrival is None:
        return
    now = Found(work.drawing.spn, work.choices, work.split, work.trainer.settings)
    yield keys.of_finding(ARRIVAL, arrival.dataset, partial(KeptFinding, ARRIVAL, now, arrival.dataset))
    if (before := arrival.before) is not None:
        of = Found(before.spn, before.choices, before.split, before.settings)
        yield keys.of_finding(BEFORE, before, partial(KeptFinding, BEFORE, of, before.dataset))


def _take_findings(work: Workspace, state: ProjectState, keys: Keys) -> None:
    kept = {each.kind: each for each in state.findings}
    sources: dict[str, object] = {}
    for kind in kept.keys() & set(SEARCHES):
        sources[kind] = take_search(work.trainer, kind, kept[kind].found, kept[kind].dataset)
    if ARRIVAL in kept:
        before = None
        if BEFORE in kept:
            of, loaded = kept[BEFORE].found, state.more.get("loaded_before") is not False
            by_hand = state.more.get("by_hand_before") is True
            before = Before(kept[BEFORE].dataset, of.choices, of.split, of.settings, by_hand, of.spn, loaded, None)
            sources[BEFORE] = before
        sources[ARRIVAL] = kept[ARRIVAL].dataset
        work.arrival = Arrival(_read_reads(state.more.get("arrived")), kept[ARRIVAL].dataset, before)
    keys.findings |= {kind: (source, kept[kind]) for kind, source in sources.items()}


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
    return Finding(kept.contest, Task.of(kept, dataset), kept.settings)


def _uploads(work: Workspace) -> tuple[Upload, ...]:
    """Those that made room for others in memory stay on disk."""
    files, seen = work.files, work.keeping.seen
    if files.dropped and seen is not None:
        return tuple(upload for upload in seen.uploads if upload.key in files.ids)
    return tuple(Upload(file.file_id, file.name, file.data) for file in files.kept)


def _comparing(stored: object) -> CompareChoices:
    if not isinstance(stored, dict):
        return CompareChoices()
    runs, left_out = tuple(map(str, stored["runs"])), frozenset(map(str, stored["left_out"]))
    return CompareChoices(int(stored["repeats"]), runs, stored["measure"], left_out)


def _files(state: ProjectState, more: Mapping[str, Any]) -> UploadedFiles:
    readings = {id: _read_reading(stored) for id, stored in more.get("readings", {}).items()}
    files = UploadedFiles(tuple(more.get("files", ())), (), readings, Joining(**more.get("joining", {})))
    take_back(files, state.uploads)
    files.read_last = _read_reads(more.get("read_last"))
    return files


def take_back(files: UploadedFiles, uploads: Sequence[Upload]) -> None:
    """Files from disk, all of them or none."""
    kept = tuple(KeptFile(each.key, each.name, each.data) for each in uploads if each.data is not None)
    files.take_back(kept if len(kept) == len(uploads) else ())


def _reads(read: tuple[Any, Any] | None) -> Any:
    """Which files were read, and how, as the page Data tells it; None where that is of another form."""
    match read:
        case (tuple() as ids, (tuple() as options, Joining() as joining)):
            return [list(ids), list(map(asdict, options)), asdict(joining)]
    return None


def _read_reads(stored: Any) -> tuple[object, object] | None:
    if not isinstance(stored, list):
        return None
    ids, options, joining = stored
    return tuple(ids), (tuple(map(_read_reading, options)), Joining(**joining))


def _reading(options: ReadOptions | int) -> Any:
    return options if isinstance(options, int) else asdict(options)


def _read_reading(stored: Any) -> ReadOptions | int:
    if isinstance(stored, int):
        return stored
    known: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in stored.items()}
    return ReadOptions(**known)
