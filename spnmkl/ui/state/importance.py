"""What views and columns are worth, measured in the background for a run and kept with it (no Streamlit here)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from spnmkl.importance import ColumnImportance, ImportanceStep, ViewImportance
from spnmkl.importance.columns import ColumnWork, measured_columns
from spnmkl.importance.folds import TableFolds, table_views
from spnmkl.importance.kept import columns_of, view_of, with_columns, with_views
from spnmkl.importance.measuring import Measuring
from spnmkl.importance.restriction import FULL, Removals, removals
from spnmkl.importance.views import measured_views, taken_over
from spnmkl.solution import Solution
from spnmkl.study.contest import Plan
from spnmkl.study.entrants import with_powers
from spnmkl.training.room import Size, size_of
from spnmkl.training.run import Run
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.task import Task

MOST_KEPT = 12
PLAN = Plan()


@dataclass(frozen=True, eq=False)
class Question:
    """What can be asked of a run on its data: which views it has, and the folds of its training rows."""

    views: Mapping[str, list[Any]]
    work: Measuring
    columns: Measuring

    @property
    def trainings(self) -> int:
        return len(self.work.folds.splits) * self.work.steps()

    def size(self, n_classes: int) -> Size:
        """What it holds at a time: all kernels of a fold, and the parts on which C is chosen."""
        first = self.work.folds.splits[0][2]
        return size_of(self.work.who.pool, len(first.train), n_classes, self.work.folds.plan.inner)


@lru_cache(maxsize=MOST_KEPT)
def question(run: Run, task: Task, rounds: int = 1) -> Question:
    """Of the training rows alone, so that the test rows stay unseen; C is chosen anew in every fold."""
    spn, views = with_powers(run.spn, run.settings.p), table_views(run.spn, task.dataset)
    folds = TableFolds.of(
        spn, task.dataset, run.choices, run.split, replace(PLAN, repeats=rounds, scoring=run.settings.scoring)
    )
    settings = {"lam": run.settings.lam, "class_weight": run.settings.class_weight}
    weights = run.settings.weights
    whole = Removals({FULL: spn}, {}, {}, {})
    left = removals(spn, views, folds.known) if views else whole
    work, columns = (Measuring(of, folds, settings=settings, weights=weights) for of in (left, whole))
    return Question(views, work, columns)


@dataclass(frozen=True, eq=False)
class Measured:
    """What a job found out about a run: about its views, or about the columns of one of them."""

    solution: Solution = field(repr=False)
    found: ViewImportance | ColumnImportance
    view: str | None = None

    def put_into(self, run: Run) -> Run:
        """The run with what was measured of it; it may have got another name since. Nothing is no finding."""
        if run.solution is not self.solution or not self.found.folds:
            return run
        if isinstance(self.found, ViewImportance):
            return with_views(run, self.found)
        assert self.view is not None
        return with_columns(run, self.view, self.found)


def measure(job: Job[Any], shelf: object, run: Run, task: Task, view: str | None, rounds: int = 1) -> Measured:
    """The views, from where an earlier measurement ended, or the columns of one of them."""

    def follow(step: ImportanceStep) -> bool:
        job.progress(step.done, step.total)
        job.say(step.words)
        return not job.stopping

    asked = question(run, task, rounds if view is None else 1)
    if view is None:
        found = measured_views(asked.work, follow, lambda: job.stopping, going_on(run, asked))
        return Measured(run.solution, found)
    columns = ColumnWork(asked.columns, [column for column in asked.views[view] if isinstance(column, str)])
    return Measured(run.solution, measured_columns(columns, follow, lambda: job.stopping), view)


def going_on(run: Run, asked: Question) -> ViewImportance | None:
    """What was measured before, where it is of the same question and has fewer folds than are asked for."""
    before = views_of_run(run)
    if before is None or len(before.folds) >= len(asked.work.folds.splits):
        return None
    return before if before.key == taken_over(asked.work).key else None


@lru_cache(maxsize=MOST_KEPT)
def views_of_run(run: Run) -> ViewImportance | None:
    return view_of(run)


@lru_cache(maxsize=MOST_KEPT)
def columns_of_run(run: Run) -> Mapping[str, ColumnImportance]:
    return columns_of(run)
