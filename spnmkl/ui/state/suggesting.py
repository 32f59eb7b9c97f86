"""A search for a drawing in the background, on the rows of a task (no Streamlit here)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from spnmkl.search import SearchStep, Suggestions
from spnmkl.search.entry import Settings
from spnmkl.search.table import suggest_in
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.task import Task

ALL_CORES = -1
BUDGETS = (30, 100, 300)
OUTER_FOLDS = 5


@dataclass(frozen=True)
class Asked:
    """How much to search, by what to score, and whether in outer folds too."""

    budget: int = 100
    scoring: str = "accuracy"
    outer: bool = False


def search(job: Job[Any], shelf: object, task: Task, asked: Asked) -> Suggestions:
    """Report the best drawing so far whenever it is another; Stop keeps it."""

    seen: list[SPN] = []

    def follow(step: SearchStep) -> bool:
        job.progress(min(step.refits, step.budget), step.budget)
        job.say(step.words)
        if step.spn is not None and step.spn not in seen[-1:]:
            seen.append(step.spn)
            job.report(step)
        return not job.stopping

    settings = Settings(
        asked.budget,
        asked.scoring,
        outer_folds=OUTER_FOLDS if asked.outer else None,
        random_state=task.split.seed,
        n_jobs=ALL_CORES,
    )
    deadline = Deadline(None, lambda: job.stopping)
    return suggest_in(task.dataset, task.choices, task.split, settings, deadline, follow)
