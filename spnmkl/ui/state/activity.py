"""What a tab does in the background, one activity at a time, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import Any, Literal
from weakref import ReferenceType, ref

from spnmkl.data import Dataset
from spnmkl.search import Suggestions
from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.study.contest import Contest, Plan
from spnmkl.study.entrants import Entrants
from spnmkl.study.lesson import Lesson
from spnmkl.training.branches import BranchEvidence
from spnmkl.training.choose import FOLDS
from spnmkl.training.choose_width import WidthChoice
from spnmkl.training.prepared import Prepared
from spnmkl.training.room import Size
from spnmkl.training.run import Run, Searched
from spnmkl.training.settings import Settings
from spnmkl.ui.state import importance, suggesting, works
from spnmkl.ui.state.apart import Nobody
from spnmkl.ui.state.estimate import Estimate
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.kernel_shelf import KernelShelf
from spnmkl.ui.state.processes import job_apart, tab_worker, task_size
from spnmkl.ui.state.run_book import RunBook
from spnmkl.ui.state.task import Finding, Task, found_for
from spnmkl.ui.state.works import Chosen, ChosenRun, SmallestC
from spnmkl.workers import Limits, Worker, WorkerError

Kind = Literal[
    "train",
    "score",
    "shares",
    "choose",
    "trace",
    "look",
    "compare",
    "lesson",
    "width",
    "default",
    "importance",
    "estimate",
    "evidence",
    "suggest",
]
HANDED_BYTES = 500_000_000  # of kernels that the process of a tab hands to the server; larger ones are computed again


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


@dataclass(frozen=True)
class Failure:
    """What went wrong, in which activity and on what."""

    message: str
    kind: Kind
    task: Task


@dataclass
class Trainer:
    """Begins activities and takes in what they end with.

    Attributes
    ----------
    settings : of the next training.
    settings_version : how often settings came from elsewhere than from the widgets, which then start anew.
    book : the runs that trainings left.
    kernels : those that the server itself computed last.
    worker : the process of the tab, where trainings are done and their kernels kept.
    activity : what runs now, or ran last and was not collected.
    failure : of the last activity.
    stopped : what was asked for last, where a Stop left nothing of it, or no more than a choice of what to train.
    cross_validation, path, smallest_C : the last ones, with what they are of.
    contest : the last comparison with baselines.
    width : the last choice of a width.
    default : what was chosen last for somebody who asked for it.
    suggested : what the last search for a drawing found.
    lesson : the guided experiment.
    estimate : the scores over folds that are being made, beside any activity.
    estimated : by id the solutions for which these were begun, as long as there are such, and what went wrong.
    evidence : what evidence said of the branches below a sum, by run and sum.
    person : who works here, on a server for others.
    """

    settings: Settings = field(default_factory=Settings)
    settings_version: int = 0
    book: RunBook = field(default_factory=RunBook)
    kernels: KernelShelf = field(default_factory=KernelShelf)
    worker: Worker = field(default_factory=tab_worker)
    activity: Activity | None = None
    failure: Failure | None = None
    stopped: tuple[Kind, Task] | None = None
    cross_validation: Finding[CrossValidation] | None = None
    path: Finding[RegularizationPath] | None = None
    smallest_C: Finding[SmallestC] | None = None
    contest: Finding[Contest] | None = None
    width: Finding[WidthChoice] | None = None
    default: Finding[Chosen] | None = None
    suggested: Finding[Suggestions] | None = None
    lesson: Lesson | None = None
    estimate: Estimate | None = None
    estimated: dict[int, tuple[ReferenceType[Solution], str]] = field(default_factory=dict)
    person: str = ""
    _collecting: Any = field(default_factory=RLock, repr=False)  # a page, or who looks after tabs that are gone

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

    def take_settings(self, settings: Settings) -> None:
        self.settings, self.settings_version = settings, self.settings_version + 1

    def start(self, kind: Kind, task: Task, settings: Settings, alive: Callable[[], bool]) -> Activity:
        """Begin; an activity that still runs is asked to stop, unless it computes the kernels that are needed."""
        if task.sampled_rows != settings.sampled_rows:
            task = replace(task, sampled_rows=settings.sampled_rows)
        size = task_size(task, FOLDS if kind == "choose" else 0, settings)
        job = self._job(alive, size, works.on_kernels, kind, task, settings)
        return self._begin(Activity(kind, job, task, settings))

    def score(self, run: Run, alive: Callable[[], bool]) -> Activity:
        """Begin to make the scores that a run lacks."""
        task = self.book.tasks[run.name]
        job = self._job(alive, task_size(task, 0, run.settings), works.score, run, task)
        return self._begin(Activity("score", job, task, run.settings))

    def choose_width(
        self, task: Task, settings: Settings, leaves: Sequence[str], alive: Callable[[], bool]
    ) -> Activity:
        """Begin to compare widths of one kernel on folds of the training rows of a task."""
        job = self._job(alive, task_size(task, FOLDS), works.width, task, settings, leaves)
        return self._begin(Activity("width", job, task, settings))

    def choose_default(self, task: Task, settings: Settings, alive: Callable[[], bool]) -> Activity:
        """Begin to choose a drawing over every column of the data, C, weights and preparation."""
        job = self._job(alive, task_size(task, FOLDS, settings), works.default, task, settings)
        return self._begin(Activity("default", job, task, settings))

    def train_default(self, task: Task, settings: Settings, alive: Callable[[], bool]) -> Activity:
        """Begin to choose as `choose_default` does, and to train what is chosen."""
        job = self._job(alive, task_size(task, FOLDS, settings), works.train_default, task, settings)
        return self._begin(Activity("train", job, task, settings))

    def suggest(self, task: Task, settings: Settings, asked: suggesting.Asked, alive: Callable[[], bool]) -> Activity:
        """Begin to search for a drawing for the data of a task; the drawing that is there does not count."""
        job = self._job(alive, task_size(task, FOLDS), suggesting.search, task, asked)
        return self._begin(Activity("suggest", job, task, settings))

    def suggested_for(self, task: Task) -> Suggestions | None:
        """What was found for these data, prepared and split as they are; None where it was for others."""
        found = self.suggested
        if found is None or found.task.dataset is not task.dataset:
            return None
        same = (found.task.choices, found.task.split) == (task.choices, task.split)
        return found.value if same else None

    def searched(self, spn: SPN, dataset: Dataset) -> Searched | None:
        """The search in these data that suggested a drawing; where another came after it, as runs of it know."""
        found, drawn = self.suggested, unplaced(spn)
        if found is not None and found.task.dataset is dataset:
            for one in found.value:
                if unplaced(one.spn) == drawn:
                    return Searched(found.task.split, one.C, not one.is_flat)
        tasks = [(run, self.book.task_of(run)) for run in self.book.runs if run.searched]
        same = [run for run, task in tasks if task and task.dataset is dataset and unplaced(run.spn) == drawn]
        return same[-1].searched if same else None

    def measure(self, run: Run, alive: Callable[[], bool]) -> Activity:
        """Begin to measure the shares of a run on folds of its training rows."""
        task = self.book.tasks[run.name]
        job = self._job(alive, task_size(task), works.shares, run, task)
        return self._begin(Activity("shares", job, task, run.settings))

    def compare(self, task: Task, settings: Settings, who: Entrants, plan: Plan, alive: Callable[[], bool]) -> Activity:
        """Begin to compare methods on the training rows of a task."""
        outcome = Contest.of(who, plan, task.dataset, task.choices, task.split)
        job = self._job(alive, task_size(task, FOLDS), works.compare, who, task, plan, outcome.total)
        return self._begin(Activity("compare", job, task, settings, outcome))

    def teach(self, task: Task, settings: Settings, alive: Callable[[], bool]) -> Activity:
        """Begin the guided experiment, which has data of its own."""
        job = self._job(alive, None, works.teach)
        return self._begin(Activity("lesson", job, task, settings, Lesson()))

    def measure_importance(self, run: Run, view: str | None, alive: Callable[[], bool], rounds: int = 1) -> Activity:
        """Begin to measure what the views of a run are worth, or the columns of one of them."""
        task = self.book.tasks[run.name]
        job = self._job(alive, task_size(task, FOLDS), importance.measure, run, task, view, rounds)
        return self._begin(Activity("importance", job, task, run.settings))

    def begin_estimate(self, run: Run, wanted: Callable[[], bool], alive: Callable[[], bool], seconds: float) -> None:
        """Begin to score a run over folds, aside; it ends when it is no longer `wanted`, and keeps what it has."""
        self.end_estimate()
        self.estimate = Estimate.begun(run, self.book.tasks[run.name], wanted, alive, seconds)
        self._note_estimate(run.solution)

    def estimate_failure(self, run: Run) -> str | None:
        """What went wrong with the scores of a run; empty where nothing did, None where they were never begun."""
        of, wrong = self.estimated.get(id(run.solution), (None, None))
        return wrong if of is not None and of() is run.solution else None  # an id may be that of one that is gone

    def _note_estimate(self, of: Solution, wrong: str | None = None) -> None:
        self.estimated = {key: known for key, known in self.estimated.items() if known[0]() is not None}
        self.estimated[id(of)] = ref(of), wrong or ""

    def attach(self, dataset: Dataset) -> None:
        """The data of an opened project, which came without them: its runs and its comparison are of these."""
        self.book.attach(dataset)
        if self.contest is not None:
            self.contest = replace(self.contest, task=replace(self.contest.task, dataset=dataset))

    def end_estimate(self) -> None:
        if self.estimate is not None:
            estimate, asked = self.estimate, self.estimate.job.stopping
            estimate.job.stop()
            self._collect_estimate(wait=True)
            if not asked and not estimate.job.error:
                self.estimated.pop(id(estimate.run.solution), None)  # it made way, and begins by itself again

    def _collect_estimate(self, wait: bool = False) -> None:
        """Give the run the scores that were made of it; those that came before an error or a Stop are kept."""
        estimate = self.estimate
        if estimate is None or not (wait or estimate.job.finished):
            return
        self.estimate, found, of = None, estimate.so_far, estimate.run.solution
        self._note_estimate(of, estimate.job.error)
        if found is not None:
            self.book.revise(lambda run: run.with_fold_scores(found) if run.solution is of else run)

    def weigh(self, run: Run, node: str, alive: Callable[[], bool]) -> Activity:
        """Begin to weigh the branches below a sum by evidence."""
        task = self.book.tasks[run.name]
        job = self._job(alive, task_size(task, 0, run.settings), works.weigh, run, task, node)
        return self._begin(Activity("evidence", job, task, run.settings))

    def prepared(self, task: Task) -> Prepared:
        """The kernels of a task for the server itself: those at hand, of the tab's process, or computed."""
        if not self.kernels.holds(task) and 0 < self.worker.kept_bytes <= HANDED_BYTES:
            with suppress(WorkerError):
                found = self.worker.do(Nobody(), Limits(), works.hand_over, task)
                if found is not None:
                    self.kernels.put(task, found)
        return self.kernels.prepared(task)

    def _job(self, alive: Callable[[], bool], size: Size | None, work: Callable[..., Any], *given: Any) -> Job[Any]:
        return job_apart(self.worker, self.kernels, alive, size, work, *given)

    def _begin(self, activity: Activity) -> Activity:
        self.collect()
        if activity.kind == "train":
            self.end_estimate()
        if self.activity is not None and not (self.activity.kind == "look" and self.activity.task.same(activity.task)):
            self.activity.job.stop()
        self.failure, self.stopped, self.activity = None, None, activity
        activity.job.person, activity.job.kind = self.person, activity.kind
        activity.job.start()
        return activity

    def collect(self) -> Activity | None:
        """Take the result of an activity that has ended; returns it once."""
        with self._collecting:
            return self._collect()

    def _collect(self) -> Activity | None:
        self._collect_estimate()
        activity = self.activity
        if activity is None or not activity.job.finished:
            return None
        self.activity, error = None, activity.job.error
        self.failure = None if error is None else Failure(error, activity.kind, activity.task)
        result = activity.job.result
        untrained = result is None or (activity.kind == "train" and isinstance(result, Chosen))
        if untrained and error is None and activity.job.stopping:
            self.stopped = activity.kind, activity.task
        if isinstance(result, ChosenRun):
            chosen, task = result.chosen, activity.task
            self.default = Finding(chosen, task, activity.settings)
            self.book.enter(result.run, replace(task, spn=chosen.spn, choices=chosen.choices))
        elif isinstance(result, Run) and activity.kind in ("score", "shares"):
            self.book.revise(lambda run: _with_findings(run, result))
        elif isinstance(result, BranchEvidence):
            self.book.revise(lambda run: run.with_branches(result))
        elif isinstance(result, Run):
            task = activity.task
            found_before = self._with_choice(self._with_search(result, task), task)
            self.book.enter(replace(found_before, searched=self.searched(task.spn, task.dataset)), task)
        elif isinstance(result, importance.Measured):
            self.book.revise(result.put_into)
        elif result is not None:
            self._keep(Finding(result, activity.task, activity.settings))
        elif isinstance(found := activity.so_far, Contest) and found.results:
            self.contest = Finding(found, activity.task, activity.settings)
        elif isinstance(found, Lesson) and found.results and (found.complete or not (self.lesson or found).complete):
            self.lesson = found  # one that was stopped does not take the place of a whole one
        return activity

    def _keep(self, found: Finding[Any]) -> None:
        if isinstance(found.value, SmallestC):
            self.smallest_C = found
            return
        if isinstance(found.value, WidthChoice):
            self.width = found
            return
        if isinstance(found.value, Chosen):
            self.default = found
            return
        if isinstance(found.value, Suggestions):
            self.suggested = found
            return
        if isinstance(found.value, CrossValidation):
            self.cross_validation = found
        else:
            self.path = found
        self.book.revise(lambda run: self._with_search(run, self.book.task_of(run)))

    def _with_search(self, run: Run, task: Task | None) -> Run:
        """A run with the choice of C and the path over C that belong to it."""
        if task is None:
            return run
        folds = found_for(self.cross_validation, task, run.settings) or run.cross_validation
        return replace(run, cross_validation=folds, path=found_for(self.path, task, run.settings) or run.path)

    def _with_choice(self, run: Run, task: Task) -> Run:
        """A run of what was chosen for its data, with the reasons."""
        found = self.default
        if found is None or found.value.asked is None:
            return run
        chosen, of = found.value, found.task
        same = task.same(replace(task, dataset=of.dataset, split=of.split, spn=chosen.spn, choices=chosen.choices))
        return works.with_choice(run, found.value.asked) if same and run.settings == chosen.settings else run


def _with_findings(run: Run, found: Run) -> Run:
    """A run with the scores and shares that were made of it; it may have got another name since."""
    if run.solution is not found.solution:
        return run
    scored = replace(run, test_scores=found.test_scores, train_scores=found.train_scores)
    return scored.with_held_out(found.held_out)
