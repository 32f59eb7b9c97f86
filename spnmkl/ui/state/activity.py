"""What a tab does in the background, one activity at a time, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from weakref import ReferenceType, ref

from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.solution import Solution
from spnmkl.study.contest import Contest, Plan, compete, planned, training_rows
from spnmkl.study.entrants import Entrants
from spnmkl.study.lesson import TOTAL as LESSON_TOTAL
from spnmkl.study.lesson import Lesson, lesson
from spnmkl.training.branches import BranchEvidence, branch_evidence
from spnmkl.training.choose_width import WidthChoice, choose_width
from spnmkl.training.settings import Settings
from spnmkl.training.train import Run, measured_on_folds, score_run
from spnmkl.ui.state import importance, works
from spnmkl.ui.state.estimate import Estimate
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.kernel_shelf import KernelShelf
from spnmkl.ui.state.run_book import RunBook
from spnmkl.ui.state.task import Finding, Task, found_for
from spnmkl.ui.state.works import SmallestC, Work

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
    "importance",
    "estimate",
    "evidence",
]
WORKS: Mapping[Kind, Work] = {
    "train": works.train,
    "choose": works.choose,
    "trace": works.trace,
    "look": works.look_ahead,
}


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
    kernels : those computed last.
    activity : what runs now, or ran last and was not collected.
    failure : of the last activity.
    cross_validation, path, smallest_C : the last ones, with what they are of.
    contest : the last comparison with baselines.
    width : the last choice of a width.
    lesson : the guided experiment.
    estimate : the scores over folds that are being made, beside any activity.
    estimated : by id the solutions for which these were begun, as long as there are such, and what went wrong.
    evidence : what evidence said of the branches below a sum, by run and sum.
    """

    settings: Settings = field(default_factory=Settings)
    settings_version: int = 0
    book: RunBook = field(default_factory=RunBook)
    kernels: KernelShelf = field(default_factory=KernelShelf)
    activity: Activity | None = None
    failure: Failure | None = None
    cross_validation: Finding[CrossValidation] | None = None
    path: Finding[RegularizationPath] | None = None
    smallest_C: Finding[SmallestC] | None = None
    contest: Finding[Contest] | None = None
    width: Finding[WidthChoice] | None = None
    lesson: Lesson | None = None
    estimate: Estimate | None = None
    estimated: dict[int, tuple[ReferenceType[Solution], str]] = field(default_factory=dict)
    evidence: dict[tuple[str, str], BranchEvidence] = field(default_factory=dict)

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

        def work(job: Job[Any]) -> Any:
            return WORKS[kind](job, self.kernels.prepared(task, job.tick), settings)

        return self._begin(Activity(kind, Job(work, alive), task, settings))

    def score(self, run: Run, alive: Callable[[], bool]) -> Activity:
        """Begin to make the scores that a run lacks."""
        task = self.book.tasks[run.name]

        def work(job: Job[Any]) -> Run:
            return score_run(run, self.kernels.prepared(task, job.tick), tick=job.tick, stop=lambda: job.stopping)

        return self._begin(Activity("score", Job(work, alive), task, run.settings))

    def choose_width(
        self, task: Task, settings: Settings, leaves: Sequence[str], alive: Callable[[], bool]
    ) -> Activity:
        """Begin to compare widths of one kernel on folds of the training rows of a task."""

        def work(job: Job[Any]) -> WidthChoice | None:
            def follow(done: int, total: int, words: str) -> None:
                job.progress(done, total)
                job.say(words)

            return choose_width(
                task.spn, task.dataset, task.choices, task.split, leaves, settings, follow, lambda: job.stopping
            )

        return self._begin(Activity("width", Job(work, alive), task, settings))

    def measure(self, run: Run, alive: Callable[[], bool]) -> Activity:
        """Begin to measure the shares of a run on folds of its training rows."""
        task = self.book.tasks[run.name]

        def work(job: Job[Any]) -> Run:
            def tick(words: str, done: int, total: int) -> None:
                job.progress(done, total)
                job.tick(words)

            return measured_on_folds(run, task.dataset, tick, lambda: job.stopping)

        return self._begin(Activity("shares", Job(work, alive), task, run.settings))

    def compare(self, task: Task, settings: Settings, who: Entrants, plan: Plan, alive: Callable[[], bool]) -> Activity:
        """Begin to compare methods on the training rows of a task."""
        n = len(training_rows(task.dataset, task.split)[0])
        methods, total = tuple(who.methods), planned(who, plan)
        outcome = Contest(plan, methods, (), total, task.dataset.name, n, who.remarks, drawn=who.drawn)

        def work(job: Job[Any]) -> None:
            found = compete(who, task.dataset, task.choices, task.split, plan, job.tick, lambda: job.stopping)
            works.gather(job, found, outcome.total)

        return self._begin(Activity("compare", Job(work, alive), task, settings, outcome))

    def teach(self, task: Task, settings: Settings, alive: Callable[[], bool]) -> Activity:
        """Begin the guided experiment, which has data of its own."""

        def work(job: Job[Any]) -> None:
            works.gather(job, lesson(job.tick, lambda: job.stopping), LESSON_TOTAL)

        return self._begin(Activity("lesson", Job(work, alive), task, settings, Lesson()))

    def measure_importance(self, run: Run, view: str | None, alive: Callable[[], bool]) -> Activity:
        """Begin to measure what the views of a run are worth, or the columns of one of them."""
        task = self.book.tasks[run.name]
        job: Job[Any] = Job(lambda job: importance.measure(job, run, task, view), alive)
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

    def end_estimate(self) -> None:
        if self.estimate is not None:
            self.estimate.job.stop()
            self._collect_estimate(wait=True)

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

        def work(job: Job[Any]) -> BranchEvidence | None:
            prepared = self.kernels.prepared(task, job.tick)
            return branch_evidence(prepared, run.solution, node, job.say, job.progress, stop=lambda: job.stopping)

        return self._begin(Activity("evidence", Job(work, alive), task, run.settings))

    def evidence_of(self, run: Run, node: str) -> BranchEvidence | None:
        """What evidence said of the branches of a run, whatever it is called now."""
        found = (said for said in self.evidence.values() if said.solution is run.solution and said.node == node)
        return next(found, None)

    def _begin(self, activity: Activity) -> Activity:
        self.collect()
        if activity.kind == "train":
            self.end_estimate()
        if self.activity is not None and not (self.activity.kind == "look" and self.activity.task.same(activity.task)):
            self.activity.job.stop()
        self.failure, self.activity = None, activity
        activity.job.start()
        return activity

    def collect(self) -> Activity | None:
        """Take the result of an activity that has ended; returns it once."""
        self._collect_estimate()
        activity = self.activity
        if activity is None or not activity.job.finished:
            return None
        self.activity, error = None, activity.job.error
        self.failure = None if error is None else Failure(error, activity.kind, activity.task)
        result = activity.job.result
        if isinstance(result, Run) and activity.kind in ("score", "shares"):
            self.book.revise(lambda run: _with_findings(run, result))
        elif isinstance(result, BranchEvidence):
            self.evidence[str(id(result.solution)), result.node] = result
        elif isinstance(result, Run):
            self.book.enter(self._with_search(result, activity.task), activity.task)
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


def _with_findings(run: Run, found: Run) -> Run:
    """A run with the scores and shares that were made of it; it may have got another name since."""
    if run.solution is not found.solution:
        return run
    scored = replace(run, test_scores=found.test_scores, train_scores=found.train_scores)
    return scored.with_held_out(found.held_out)
