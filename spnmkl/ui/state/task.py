"""What is to be trained, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.training.settings import Settings

T = TypeVar("T")


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


@dataclass(frozen=True, eq=False)
class Finding(Generic[T]):
    """Something that was found out about a task with some settings."""

    value: T
    task: Task
    settings: Settings

    def fits(self, task: Task, settings: Settings) -> bool:
        """Whether it holds of this task with these settings, whatever the C."""
        return self.task.same(task) and replace(self.settings, C=settings.C) == settings


def found_for(known: Finding[T] | None, task: Task, settings: Settings) -> T | None:
    """What is known about a task with settings; None where it is of others."""
    return known.value if known is not None and known.fits(task, settings) else None
