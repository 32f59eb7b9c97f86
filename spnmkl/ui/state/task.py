"""What is to be trained, and what is known about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.training.settings import Settings

T = TypeVar("T")


class Asked(Protocol):
    """A run, an attempt at one, or a comparison: what was trained, and how."""

    @property
    def spn(self) -> SPN: ...
    @property
    def choices(self) -> Choices: ...
    @property
    def split(self) -> SplitSettings: ...
    @property
    def settings(self) -> Settings: ...


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be trained: the drawing, the data and what is done to them."""

    spn: SPN
    dataset: Dataset
    choices: Choices
    split: SplitSettings
    sampled_rows: int | None = None  # of a training by landmarks: how many weights are learned on, at most

    @classmethod
    def of(cls, asked: Asked, dataset: Dataset) -> Task:
        """What something was trained on."""
        return cls(asked.spn, dataset, asked.choices, asked.split, asked.settings.sampled_rows)

    def same(self, other: Task | None) -> bool:
        return (
            other is not None
            and self.dataset is other.dataset
            and self.sampled_rows == other.sampled_rows
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
