"""The runs of a tab: what each was trained on, and which of them the pages show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count

from spnmkl.data import Dataset
from spnmkl.errors import ParameterError
from spnmkl.reporting.runs_beside import was_trained_on
from spnmkl.structure.text import one_line
from spnmkl.training.run import Run
from spnmkl.ui.state.task import Task
from spnmkl.workspace.exchange import MOST_LETTERS


@dataclass
class RunBook:
    """Every training of the visit.

    Attributes
    ----------
    runs : oldest first.
    tasks : run's name → what it was trained on; missing for a run that was loaded without its data.
    chosen : name of the run that the pages show; None for the last.
    gone : names of runs that were there once.
    removed : where the run that was removed last stood, itself, and what it was trained on.
    """

    runs: list[Run] = field(default_factory=list)
    tasks: dict[str, Task] = field(default_factory=dict)
    chosen: str | None = None
    gone: set[str] = field(default_factory=set)
    removed: tuple[int, Run, Task | None] | None = None

    @property
    def run(self) -> Run | None:
        """The run that the pages show."""
        named = {run.name: run for run in self.runs}
        return named.get(self.chosen or "") or (self.runs[-1] if self.runs else None)

    def task_of(self, run: Run | None) -> Task | None:
        return None if run is None else self.tasks.get(run.name)

    def enter(self, run: Run, task: Task) -> None:
        """A run that has just ended, under a name of its own; it is shown."""
        name = self.fresh_name()
        self.tasks[name], self.chosen = task, None
        self.runs.append(replace(run, name=name, spn=task.spn))

    def revise(self, changed: Callable[[Run], Run]) -> None:
        """Put another run in the place of each, of the same name."""
        self.runs = [changed(run) for run in self.runs]

    def fresh_name(self) -> str:
        """Of no run that is or was there, since pages remember by name what was done with a run."""
        taken = {run.name for run in self.runs} | self.gone
        return next(name for k in count(1) if (name := f"Run {k}") not in taken)

    def rename(self, name: str, new: str) -> None:
        """Call a run otherwise."""
        new = one_line(new)[:MOST_LETTERS]
        if not new or any(run.name == new for run in self.runs if run.name != name):
            reason = f"another run is called {new!r}" if new else "a name has one letter or more"
            raise ParameterError(f"{name!r} cannot be renamed: {reason}; choose another name.")
        self.revise(lambda run: replace(run, name=new) if run.name == name else run)
        self.gone.add(name)
        if name in self.tasks:
            self.tasks[new] = self.tasks.pop(name)
        self.chosen = new if self.chosen == name else self.chosen

    def remove(self, name: str) -> None:
        """Take a run away; where it was shown, the last one is."""
        self.removed = next(((k, run, self.task_of(run)) for k, run in enumerate(self.runs) if run.name == name), None)
        self.runs = [run for run in self.runs if run.name != name]
        self.tasks.pop(name, None)
        self.gone.add(name)
        self.chosen = None if self.chosen == name else self.chosen

    def bring_back(self) -> None:
        """The run that was removed last, where it stood and as it was called."""
        if self.removed is None:
            return
        (position, run, task), self.removed = self.removed, None
        if any(other.name == run.name for other in self.runs):
            run = replace(run, name=self.fresh_name())
        self.runs.insert(position, run)
        self.gone.discard(run.name)
        if task is not None:
            self.tasks[run.name] = task
        self.chosen = run.name

    def attach(self, dataset: Dataset) -> None:
        """Give runs that came without their data these, where they are the ones."""
        for run in self.runs:
            if run.name not in self.tasks and was_trained_on(run, dataset):
                self.tasks[run.name] = Task.of(run, dataset)

    def renamed(self, before: Dataset, dataset: Dataset) -> None:
        """The same data under another name."""
        for name, task in self.tasks.items():
            if task.dataset is before:
                self.tasks[name] = replace(task, dataset=dataset)

    def known(self, dataset: Dataset) -> Dataset:
        """These data as a run has them already: loaded again, they are no other data."""
        return next((task.dataset for task in self.tasks.values() if task.dataset.same(dataset)), dataset)
