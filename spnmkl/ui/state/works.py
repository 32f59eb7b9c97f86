"""What is done in the background for a task: training, choosing C, following the weights over C, comparing, measuring.

Each work gets its job and the kernels that are kept, and is found by its name: it may be done in another process.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from spnmkl.circuit.program import compile_circuit
from spnmkl.data import Choices
from spnmkl.errors import Stopped
from spnmkl.problem import powers
from spnmkl.selection import CrossValidation, PathPoint, RegularizationPath
from spnmkl.selection.results import UNFINISHED
from spnmkl.solution import Record
from spnmkl.solvers import C_min
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.study.contest import Plan, compete
from spnmkl.study.entrants import Entrants
from spnmkl.study.lesson import TOTAL as LESSON_TOTAL
from spnmkl.study.lesson import lesson
from spnmkl.training.branches import BranchEvidence, branch_evidence
from spnmkl.training.choose import choose_C, nothing_done, trace_C
from spnmkl.training.choose_width import WidthChoice, choose_width
from spnmkl.training.choosing import Choosing
from spnmkl.training.default import Default, chosen_in_time, suited_drawing, time_to_choose
from spnmkl.training.prepared import Prepared
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import closed, measured_on_folds, score_run
from spnmkl.training.train import train as trained
from spnmkl.training.whole import learning_part
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.kernel_shelf import KernelShelf
from spnmkl.ui.state.task import Task

_STEPS = 1000  # of the bar of a training
_ROUGH = 1e-2  # tolerance of the smallest useful C, which is shown with two digits


class Work(Protocol):
    """What a job does with the kernels of its task; None where it was stopped before there was anything to keep."""

    def __call__(self, job: Job[Any], prepared: Prepared, settings: Settings, /) -> Any: ...


def train(job: Job[Any], prepared: Prepared, settings: Settings) -> Run:
    job.tick("training")

    def callback(record: Record) -> bool:
        job.report(record)
        evidence = f", log evidence {-record.objective:.5g}" if record.method == "evidence" else ""
        job.say(f"iteration {record.iteration}{evidence}")
        if math.isfinite(record.gap):  # without a bound nobody knows how far it is
            job.progress(round(_STEPS * closed(job.records, settings.tol)), _STEPS)
        return not job.stopping

    def scoring(words: str) -> None:
        """One Stop keeps the best so far, with its scores where they take a moment; another does without it."""
        if settings.approximation is not None:  # how far the weights were says nothing of the SVM on all rows
            job.progress(0, 0)
        job.say(words)
        if job.given_up:
            raise Stopped

    return trained(prepared, settings, callback, stop=lambda: job.stopping, tick=scoring)


def choose(job: Job[Any], prepared: Prepared, settings: Settings) -> CrossValidation | None:
    found = choose_C(prepared, settings, callback=_following(job), stop=lambda: job.stopping)
    if np.isfinite(found.scores).any():
        return found
    _check_time(job, settings)
    return None


def trace(job: Job[Any], prepared: Prepared, settings: Settings) -> RegularizationPath | None:
    path = trace_C(prepared, settings, _following(job), stop=lambda: job.stopping)
    if path.solutions[0].status not in UNFINISHED:
        return path
    _check_time(job, settings)
    return None


@dataclass(frozen=True)
class SmallestC:
    """Below which every weight is zero; None where some p is not 1 or weights are by evidence: then any C is useful."""

    C: float | None


def has_C_min(spn: SPN, settings: Settings) -> bool:
    return settings.weights != "evidence" and bool((powers(spn, compile_circuit(spn), settings.p) == 1).all())


def look_ahead(job: Job[Any], prepared: Prepared, settings: Settings) -> SmallestC:
    """The smallest useful C; the kernels have been computed for it ahead of a training."""
    job.tick("finding the smallest useful C")
    if not has_C_min(prepared.mapped, settings):
        return SmallestC(None)
    part = learning_part(prepared, settings)
    smallest = C_min(
        prepared.mapped,
        prepared.source,
        prepared.y_train,
        lam=part.settings.lam,
        p=settings.p,
        sample_weight=part.weight,
        class_weight=part.settings.class_weight,
        tol=_ROUGH,
    )
    return SmallestC(smallest)


WORKS: Mapping[str, Work] = {"train": train, "choose": choose, "trace": trace, "look": look_ahead}


def on_kernels(job: Job[Any], shelf: KernelShelf, kind: str, task: Task, settings: Settings) -> Any:
    """What `WORKS` has for a kind."""
    return WORKS[kind](job, shelf.prepared(task, job.tick), settings)


def hand_over(job: Job[Any], shelf: KernelShelf, task: Task) -> Prepared | None:
    """The kernels of a task, where they are the ones that are kept."""
    return shelf.prepared(task) if shelf.holds(task) else None


def score(job: Job[Any], shelf: KernelShelf, run: Run, task: Task) -> Run:
    return score_run(run, shelf.prepared(task, job.tick), tick=job.tick, stop=lambda: job.stopping)


@dataclass(frozen=True)
class Chosen:
    """A drawing, preparation and settings that cross-validation chose, and why, in sentences; whether it is trained.

    `asked` is what these were chosen from, which a run of them keeps.
    """

    spn: SPN
    choices: Choices
    settings: Settings
    sentences: tuple[str, ...]
    trained: bool = False
    asked: Choosing | None = None


def default(job: Job[Any], shelf: KernelShelf, task: Task, settings: Settings) -> Chosen | None:
    """A drawing over every column of the data, C, weights and preparation, chosen on the training rows."""
    began = time.monotonic()
    found = _by_default(job, task, settings)
    drawn = replace(task, spn=suited_drawing(task.dataset, task.choices, task.split))
    return _chosen(job, found, drawn, settings, time.monotonic() - began)


def _chosen(job: Job[Any], found: Default, task: Task, settings: Settings, seconds: float) -> Chosen | None:
    """What was chosen; of what a Stop cut short the best so far, where there is any."""
    if found.choice is None and job.stopping:
        return None
    asked = Choosing(task.spn, task.choices, settings, found.sentences, seconds, time_to_choose(settings.max_time))
    return Chosen(found.prepared.spn, found.prepared.choices, found.settings, found.sentences, asked=asked)


def with_choice(run: Run, asked: Choosing) -> Run:
    """A run with what its settings were chosen from, which its model tells too."""
    if run.model is not None:
        run.model.extra_["chosen"] = list(asked.sentences)
    return replace(run, choosing=asked)


@dataclass(frozen=True, eq=False)
class ChosenRun:
    """A training of what was chosen for it."""

    chosen: Chosen
    run: Run


def train_default(job: Job[Any], shelf: KernelShelf, task: Task, settings: Settings) -> ChosenRun | Chosen | None:
    """As `default`, and the training of that within the time that is left; a Stop before it leaves what was chosen."""
    deadline, began = Deadline(settings.max_time), time.monotonic()
    found = _by_default(job, task, settings)
    seconds = time.monotonic() - began
    chosen = _chosen(job, found, task, settings, seconds)
    if chosen is None or chosen.asked is None or job.stopping:
        return chosen
    prepared = found.prepared
    shelf.put(replace(task, spn=prepared.spn, choices=prepared.choices), prepared)
    run = train(job, prepared, replace(found.settings, max_time=deadline.left))
    run = with_choice(replace(run, settings=found.settings), chosen.asked)
    if run.model is not None:
        run.model.set_params(max_time=found.settings.max_time)
    return ChosenRun(replace(chosen, trained=True), run)


def _by_default(job: Job[Any], task: Task, settings: Settings) -> Default:
    how: dict[str, Any] = {"max_time": settings.max_time, "stop": lambda: job.stopping, "tick": job.tick}
    return chosen_in_time(task.dataset, task.choices, task.split, settings, **how)


def width(
    job: Job[Any], shelf: KernelShelf, task: Task, settings: Settings, leaves: Sequence[str]
) -> WidthChoice | None:
    def follow(done: int, total: int, words: str) -> None:
        job.progress(done, total)
        job.say(words)

    return choose_width(
        task.spn, task.dataset, task.choices, task.split, leaves, settings, follow, lambda: job.stopping
    )


def shares(job: Job[Any], shelf: KernelShelf, run: Run, task: Task) -> Run:
    def tick(words: str, done: int, total: int) -> None:
        job.progress(done, total)
        job.tick(words)

    return measured_on_folds(run, task.dataset, tick, lambda: job.stopping)


def compare(job: Job[Any], shelf: KernelShelf, who: Entrants, task: Task, plan: Plan, total: int) -> None:
    gather(job, compete(who, task.dataset, task.choices, task.split, plan, job.tick, lambda: job.stopping), total)


def teach(job: Job[Any], shelf: KernelShelf) -> None:
    gather(job, lesson(job.tick, lambda: job.stopping), LESSON_TOTAL)


def weigh(job: Job[Any], shelf: KernelShelf, run: Run, task: Task, node: str) -> BranchEvidence | None:
    prepared = shelf.prepared(task, job.tick)
    return branch_evidence(prepared, run.solution, node, job.say, job.progress, stop=lambda: job.stopping)


def gather(job: Job[Any], results: Iterable[object], total: int) -> None:
    """Report results one by one."""
    job.progress(0, total)
    for done, result in enumerate(results, 1):
        job.report(result)
        job.progress(done, total)


def _check_time(job: Job[Any], settings: Settings) -> None:
    """Where a search ended before its first C was done although nobody stopped it."""
    if not job.stopping:
        raise nothing_done(settings, "allow more time under 'All settings'")


def _following(job: Job[Any]) -> Callable[[PathPoint], bool]:
    def callback(point: PathPoint) -> bool:
        job.progress(point.done, point.total)
        fold = "" if point.fold is None else f"fold {point.fold + 1}, "
        job.say(f"{fold}C = {point.C:.3g}")
        job.report(point)
        return not job.stopping

    return callback
