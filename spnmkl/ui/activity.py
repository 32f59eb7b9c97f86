"""What a tab trains: one activity at a time in the background, and the runs it left (no Streamlit here)."""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal

import numpy as np

from spnmkl.circuit.program import compile_circuit
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import ParameterError
from spnmkl.problem import powers
from spnmkl.runs.comparison import was_trained_on
from spnmkl.runs.contest import Contest, Plan, compete, planned, training_rows
from spnmkl.runs.entrants import Entrants
from spnmkl.runs.jobs import Job, Stopped
from spnmkl.runs.lesson import TOTAL as LESSON_TOTAL
from spnmkl.runs.lesson import Lesson, lesson
from spnmkl.selection import UNFINISHED, CrossValidation, PathPoint, RegularizationPath
from spnmkl.solution import Record
from spnmkl.solvers import C_min
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.structure.text import one_line
from spnmkl.training.choose import choose_C, nothing_done, trace_C
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import Run, closed, score_run, train

Kind = Literal["train", "score", "choose", "trace", "look", "compare", "lesson"]
KEPT_BYTES = 2_000_000_000  # of kernels that tabs keep at hand
MOST_LETTERS = 60  # of a run's name
_STEPS = 1000  # of the bar of a training


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be trained: the drawing, the data and what is done to them."""

    spn: SPN
    dataset: Dataset
    choices: Choices
    split: SplitSettings

    def same(self, other: Task | None) -> bool:
        return (
            other is not None
            and self.dataset is other.dataset
            and (unplaced(self.spn), self.choices, self.split) == (unplaced(other.spn), other.choices, other.split)
        )


@dataclass
class Activity:
    """A job with what it was started on; `outcome` is what its records are put into, where it gives many."""

    kind: Kind
    job: Job[Any]
    task: Task
    settings: Settings
    outcome: Contest | Lesson | None = None

    @property
    def so_far(self) -> Contest | Lesson | None:
        return None if self.outcome is None else replace(self.outcome, results=tuple(self.job.records))


@dataclass
class Trainer:
    """The activity of a tab and what came of earlier ones.

    Attributes
    ----------
    taken : how often settings came from elsewhere than from the widgets, which then start anew.
    activity : what runs now, or ran last and was not collected.
    runs : every training of the visit, oldest first.
    tasks : run's name → what it was trained on; missing for a run that was loaded without its data.
    chosen : name of the run that the pages show; None for the last.
    cross_validation, path : of `searched`, the task and settings they belong to.
    smallest_C : of `smallest_C_of`.
    contest : the last comparison with baselines, of `contest_of`.
    lesson : the guided experiment.
    """

    settings: Settings = field(default_factory=Settings)
    taken: int = 0
    activity: Activity | None = None
    runs: list[Run] = field(default_factory=list)
    tasks: dict[str, Task] = field(default_factory=dict)
    chosen: str | None = None
    error: str | None = None
    error_of: Task | None = None
    error_in: Kind | None = None
    cross_validation: CrossValidation | None = None
    path: RegularizationPath | None = None
    searched: tuple[Task, Settings] | None = None
    smallest_C: float | None = None
    smallest_C_of: tuple[Task, Settings] | None = None
    contest: Contest | None = None
    contest_of: Task | None = None
    lesson: Lesson | None = None
    _gone: set[str] = field(default_factory=set)
    _prepared: tuple[Task, Prepared] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def run(self) -> Run | None:
        """The run that the pages show."""
        named = {run.name: run for run in self.runs}
        return named.get(self.chosen or "") or (self.runs[-1] if self.runs else None)

    @property
    def busy(self) -> bool:
        return self.activity is not None and not self.activity.job.finished

    @property
    def working(self) -> Activity | None:
        """What the person asked for, while it runs; a look ahead is not asked for."""
        return self.activity if self.activity is not None and self.busy and self.activity.kind != "look" else None

    def doing(self, kind: Kind) -> Activity | None:
        """What is being worked on, if it is of this kind."""
        working = self.working  # asked once: it may end at any moment
        return working if working is not None and working.kind == kind else None

    @property
    def training(self) -> bool:
        return self.doing("train") is not None

    def fresh_name(self) -> str:
        """Of no run that is or was there, since pages remember by name what was done with a run."""
        taken = {run.name for run in self.runs} | self._gone
        return next(name for k in count(1) if (name := f"Run {k}") not in taken)

    def rename(self, name: str, new: str) -> None:
        """Call a run otherwise."""
        new = one_line(new)[:MOST_LETTERS]
        if not new or any(run.name == new for run in self.runs if run.name != name):
            reason = f"another run is called {new!r}" if new else "a name has one letter or more"
            raise ParameterError(f"{name!r} cannot be renamed: {reason}; choose another name.")
        self.runs = [replace(run, name=new) if run.name == name else run for run in self.runs]
        self._gone.add(name)
        if name in self.tasks:
            self.tasks[new] = self.tasks.pop(name)
        self.chosen = new if self.chosen == name else self.chosen

    def remove(self, name: str) -> None:
        """Forget a run; where it was shown, the last one is."""
        self.runs = [run for run in self.runs if run.name != name]
        self.tasks.pop(name, None)
        self._gone.add(name)
        self.chosen = None if self.chosen == name else self.chosen

    def attach(self, dataset: Dataset) -> None:
        """Give runs that came without their data these, where they are the ones."""
        for run in self.runs:
            if run.name not in self.tasks and was_trained_on(run, dataset):
                self.tasks[run.name] = Task(run.spn, dataset, run.choices, run.split)

    def known(self, dataset: Dataset) -> Dataset:
        """These data as a run has them already: loaded again, they are no other data."""
        return next((task.dataset for task in self.tasks.values() if task.dataset.same(dataset)), dataset)

    def take_settings(self, settings: Settings) -> None:
        self.settings, self.taken = settings, self.taken + 1

    def prepared(self, task: Task, tick: Callable[[str], object] | None = None) -> Prepared:
        """Kernels of a task; the last ones are kept."""
        with self._lock:
            kept = self._prepared
            if kept is None or not kept[0].same(task):
                self._prepared = None  # free before others are computed
                kept = task, prepare(task.spn, task.dataset, task.choices, task.split, tick)
                self._prepared = kept
                _SHELF.put(self)
            return kept[1]

    def holds(self, task: Task) -> bool:
        kept = self._prepared
        return kept is not None and kept[0].same(task)

    def start(self, kind: Kind, task: Task, settings: Settings, alive: Callable[[], bool]) -> Activity:
        """Begin; an activity that still runs is asked to stop, unless it computes the kernels that are needed."""
        works: dict[Kind, Callable[[Job[Any]], Any]] = {
            "train": lambda job: self._train(job, task, settings),
            "choose": lambda job: self._choose(job, task, settings),
            "trace": lambda job: self._trace(job, task, settings),
            "look": lambda job: self._look(job, task, settings),
        }
        return self._begin(Activity(kind, Job(works[kind], alive), task, settings))

    def score(self, run: Run, alive: Callable[[], bool]) -> Activity:
        """Begin to make the scores that a run lacks."""
        task = self.tasks[run.name]

        def work(job: Job[Any]) -> Run:
            return score_run(run, self.prepared(task, job.tick), tick=job.tick, stop=lambda: job.stopping)

        return self._begin(Activity("score", Job(work, alive), task, run.settings))

    def compare(self, task: Task, settings: Settings, who: Entrants, plan: Plan, alive: Callable[[], bool]) -> Activity:
        """Begin to compare methods on the training rows of a task."""
        n = len(training_rows(task.dataset, task.split)[0])
        methods, total = tuple(who.methods), planned(who, plan)
        outcome = Contest(plan, methods, (), total, task.dataset.name, n, who.remarks, drawn=who.drawn)

        def work(job: Job[Any]) -> None:
            found = compete(who, task.dataset, task.choices, task.split, plan, job.tick, lambda: job.stopping)
            _gather(job, found, outcome.total)

        return self._begin(Activity("compare", Job(work, alive), task, settings, outcome))

    def teach(self, task: Task, settings: Settings, alive: Callable[[], bool]) -> Activity:
        """Begin the guided experiment, which has data of its own."""

        def work(job: Job[Any]) -> None:
            _gather(job, lesson(job.tick, lambda: job.stopping), LESSON_TOTAL)

        return self._begin(Activity("lesson", Job(work, alive), task, settings, Lesson()))

    def _begin(self, activity: Activity) -> Activity:
        self.collect()
        if self.activity is not None and not (self.activity.kind == "look" and self.activity.task.same(activity.task)):
            self.activity.job.stop()
        self.error, self.activity = None, activity
        activity.job.start()
        return activity

    def collect(self) -> Activity | None:
        """Take the result of an activity that has ended; returns it once."""
        activity = self.activity
        if activity is None or not activity.job.finished:
            return None
        self.activity = None
        self.error, self.error_of, self.error_in = activity.job.error, activity.task, activity.kind
        result = activity.job.result
        if isinstance(result, Run) and activity.kind == "score":
            self.runs = [_with_scores(run, result) for run in self.runs]
        elif isinstance(result, Run):
            name = self.fresh_name()
            self.tasks[name], self.chosen = activity.task, None
            self.runs.append(self._with_search(replace(result, name=name, spn=activity.task.spn), activity))
        elif isinstance(result, CrossValidation | RegularizationPath):
            self._keep(result, activity)
        elif isinstance(found := activity.so_far, Contest) and found.results:
            self.contest, self.contest_of = found, activity.task
        elif isinstance(found, Lesson) and found.results and (found.complete or not (self.lesson or found).complete):
            self.lesson = found  # one that was stopped does not take the place of a whole one
        return activity

    def search_fits(self, task: Task, settings: Settings) -> bool:
        """Whether the cross-validation and the path belong to this task, whatever the C."""
        if self.searched is None:
            return False
        searched_task, searched_settings = self.searched
        return searched_task.same(task) and replace(searched_settings, C=settings.C) == settings

    def _keep(self, result: CrossValidation | RegularizationPath, activity: Activity) -> None:
        if not self.search_fits(activity.task, activity.settings):
            self.cross_validation = self.path = None
        self.searched = activity.task, activity.settings
        if isinstance(result, CrossValidation):
            self.cross_validation = result
        else:
            self.path = result
        fits = [run for run in self.runs if self._belongs(run, activity)]
        self.runs = [self._with_search(run, activity) if run in fits else run for run in self.runs]

    def _belongs(self, run: Run, activity: Activity) -> bool:
        task = self.tasks.get(run.name)
        same = task is not None and task.same(activity.task)
        return same and replace(activity.settings, C=run.settings.C) == run.settings

    def _with_search(self, run: Run, activity: Activity) -> Run:
        if not self.search_fits(activity.task, activity.settings):
            return run
        return replace(run, cross_validation=self.cross_validation, path=self.path)

    def _look(self, job: Job[Any], task: Task, settings: Settings) -> None:
        """Compute the kernels and C_min ahead of a training."""
        self._find_smallest_C(job, self.prepared(task, job.tick), task, settings)

    def _train(self, job: Job[Any], task: Task, settings: Settings) -> Run:
        prepared = self.prepared(task, job.tick)
        job.tick("training")

        def callback(record: Record) -> bool:
            job.report(record)
            job.say(f"iteration {record.iteration}")
            if math.isfinite(record.gap):  # without a bound nobody knows how far it is
                job.progress(round(_STEPS * closed(job.records, settings.tol)), _STEPS)
            return not job.stopping

        def scoring(words: str) -> None:
            """One Stop keeps the best so far, with its scores where they take a moment; another does without it."""
            job.say(words)
            if job.given_up:
                raise Stopped

        return train(prepared, settings, callback, stop=lambda: job.stopping, tick=scoring)

    def _choose(self, job: Job[Any], task: Task, settings: Settings) -> CrossValidation | None:
        prepared = self.prepared(task, job.tick)
        found = choose_C(prepared, settings, callback=_following(job), stop=lambda: job.stopping)
        if np.isfinite(found.scores).any():
            return found
        _check_time(job, settings)
        return None

    def _trace(self, job: Job[Any], task: Task, settings: Settings) -> RegularizationPath | None:
        path = trace_C(self.prepared(task, job.tick), settings, _following(job), stop=lambda: job.stopping)
        if path.solutions[0].status not in UNFINISHED:
            return path
        _check_time(job, settings)
        return None

    def _find_smallest_C(self, job: Job[Any], prepared: Prepared, task: Task, settings: Settings) -> None:
        job.tick("finding the smallest useful C")
        if (powers(prepared.mapped, compile_circuit(prepared.mapped), settings.p) == 1).all():
            self.smallest_C = C_min(
                prepared.mapped,
                prepared.source,
                prepared.y_train,
                lam=settings.lam,
                p=settings.p,
                class_weight=settings.class_weight,
                tol=1e-2,
            )
        else:
            self.smallest_C = None
        self.smallest_C_of = task, settings


def _with_scores(run: Run, scored: Run) -> Run:
    """A run with the scores that were made of it; it may have got another name since."""
    if run.solution is not scored.solution:
        return run
    return replace(run, test_scores=scored.test_scores, train_scores=scored.train_scores)


def _check_time(job: Job[Any], settings: Settings) -> None:
    """Where a search ended before its first C was done although nobody stopped it."""
    if not job.stopping:
        raise nothing_done(settings, "allow more time under 'All settings'")


def _gather(job: Job[Any], results: Iterable[object], total: int) -> None:
    job.progress(0, total)
    for done, result in enumerate(results, 1):
        job.report(result)
        job.progress(done, total)


def kept_bytes() -> int:
    """Of kernels that tabs keep at hand, and that can be had back."""
    return _SHELF.held()


def free_kernels() -> None:
    """Forget the kernels that tabs keep at hand."""
    _SHELF.clear()


class _Shelf:
    """Which trainers keep kernels: those of all tabs together stay within a bound, the oldest go first."""

    def __init__(self) -> None:
        self._trainers: list[weakref.ref[Trainer]] = []
        self._lock = threading.Lock()

    def put(self, newest: Trainer) -> None:
        with self._lock:
            others = [trainer for ref in self._trainers if (trainer := ref()) is not None and trainer is not newest]
            held = sum(_held(trainer) for trainer in (*others, newest))
            while others and held > KEPT_BYTES:
                oldest = others.pop(0)
                held -= _held(oldest)
                oldest._prepared = None
            self._trainers = [weakref.ref(trainer) for trainer in (*others, newest)]

    def held(self) -> int:
        return sum(_held(trainer) for ref in self._trainers if (trainer := ref()) is not None)

    def clear(self) -> None:
        with self._lock:
            for ref in self._trainers:
                if (trainer := ref()) is not None:
                    trainer._prepared = None
            self._trainers = []


def _held(trainer: Trainer) -> int:
    kept = trainer._prepared
    return 0 if kept is None else kept[1].nbytes


_SHELF = _Shelf()


def _following(job: Job[Any]) -> Callable[[PathPoint], bool]:
    def callback(point: PathPoint) -> bool:
        job.progress(point.done, point.total)
        fold = "" if point.fold is None else f"fold {point.fold + 1}, "
        job.say(f"{fold}C = {point.C:.3g}")
        job.report(point)
        return not job.stopping

    return callback
