"""Scores over folds, made aside while a person looks at a run (no Streamlit here)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from spnmkl.data import Dataset
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.study.contest import Plan
from spnmkl.study.nested import resample
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.run import Run
from spnmkl.ui.state import apart
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.kernel_shelf import KernelShelf
from spnmkl.ui.state.processes import job_apart, task_size
from spnmkl.ui.state.task import Task
from spnmkl.workers import Worker

PLAN = Plan(repeats=5)
SECONDS = 60.0  # after which no further round begins
LONG = 300.0  # seconds for the first round beyond which it begins only when asked for
TRAININGS = 0.5  # of one at the C of the run: what one in the search for C takes, since it starts from the one before


@dataclass(frozen=True, eq=False)
class Estimate:
    """The scores of a run that are being made."""

    run: Run
    job: Job[Any]

    @classmethod
    def begun(
        cls, run: Run, task: Task, wanted: Callable[[], bool], alive: Callable[[], bool], seconds: float = SECONDS
    ) -> Estimate:
        """Where a run has some folds already, it goes on from them."""
        worker = Worker(apart.NURSERY, shared=(Dataset, Solution))
        size = task_size(replace(task, spn=spn_of_folds(run)), PLAN.inner)
        given = make_scores, run, task, seconds
        job = job_apart(worker, KernelShelf(), alive, size, *given, aside=True, wanted=wanted)
        return cls(run, job.start())

    @property
    def so_far(self) -> FoldScores | None:
        records = self.job.records
        return records[-1] if records else None


def spn_of_folds(run: Run) -> SPN:
    """What is trained in every fold: the drawing, or all that it was chosen from."""
    return run.spn if run.choosing is None else run.choosing.spn


def expected_seconds(run: Run) -> float:
    """About what the first round takes, by how long the run itself took; without its kernels."""
    if run.choosing is not None:
        return (run.choosing.seconds + run.seconds) * PLAN.folds
    each = PLAN.inner * PLAN.points * TRAININGS + 1 if run.chose_C else 1.0
    return run.seconds * PLAN.folds * each


def make_scores(job: Job[Any], shelf: object, run: Run, task: Task, seconds: float) -> None:
    """Report the scores of a run after every fold."""
    known = run.fold_scores
    making = resample(
        *(task.spn, task.dataset, task.choices, task.split, run.settings),
        chosen=run.chose_C if known is None else known.chosen,
        plan=PLAN,
        seconds=seconds + (known.seconds if known is not None else 0.0),
        known=known,
        afresh=run.choosing if run.choosing is not None and (known is None or known.afresh) else bool(run.reasons),
        tick=job.tick,
        stop=job.resting,
    )
    for found in making:
        job.report(found)
        job.progress(found.n_done, found.C.size)
