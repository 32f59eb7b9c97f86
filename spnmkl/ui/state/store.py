"""What a tab owns, kept on the server so that a reload finds it again and no other tab sees it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import DataError
from spnmkl.project.project_file import DataUse
from spnmkl.structure import SPN, Issue, Path
from spnmkl.structure.layout import unplaced
from spnmkl.training.checks import all_issues
from spnmkl.training.settings import Settings
from spnmkl.training.train import Run
from spnmkl.ui.state.activity import Task, Trainer
from spnmkl.ui.state.brought import Brought
from spnmkl.ui.state.drawing import Drawing, check_size
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.predicting import Predicting

EXPIRY_SECONDS = 4 * 3600
MAX_WORKSPACES = 200


@dataclass(frozen=True, eq=False)
class Before:
    """What an upload, or the data of an earlier run, took the place of."""

    dataset: Dataset
    choices: Choices
    split: SplitSettings
    settings: Settings
    spn: SPN
    brought: bool
    source: tuple[object, object] | None
    arrived: Dataset | None


@dataclass
class Comparing:
    """What was chosen on the Compare page: how often the folds are drawn, and which runs take part."""

    repeats: int = 1
    runs: tuple[str, ...] = ()
    measure: str = "accuracy"


@dataclass
class Workspace:
    """Everything one tab works on.

    `missing` tells which data an opened project came without, `brought` whether data were loaded since. `files` are
    those that were uploaded last, `source` is which of them the data are from and how they were read, `arrived` what
    they gave, `before` what that took the place of.
    """

    drawing: Drawing
    dataset: Dataset
    choices: Choices = field(default_factory=Choices)
    split: SplitSettings = field(default_factory=SplitSettings)
    path: Path | None = None
    expanded: bool = False
    trainer: Trainer = field(default_factory=Trainer)
    predicting: Predicting = field(default_factory=Predicting)
    missing: DataUse | None = None
    brought: bool = True
    files: Brought = field(default_factory=Brought)
    source: tuple[object, object] | None = None
    arrived: Dataset | None = None
    before: Before | None = None
    comparing: Comparing = field(default_factory=Comparing)
    checked: tuple[SPN, Dataset, Choices, list[Issue]] | None = field(default=None, repr=False)

    @property
    def issues(self) -> list[Issue]:
        """What is wrong with the drawing on these data; looked for anew when one of them has changed."""
        now = self.drawing.spn, self.dataset, self.choices
        if self.checked is None or any(a is not b for a, b in zip(now, self.checked, strict=False)):
            self.checked = (*now, all_issues(*now))
        return self.checked[3]

    @property
    def task(self) -> Task:
        """What would be trained now."""
        return Task(self.drawing.spn, self.dataset, self.choices, self.split)

    def bring(self, dataset: Dataset) -> None:
        """Other data. What was chosen for the old ones is forgotten; a drawing stays if the person made it."""
        self.source = self.arrived = self.before = None
        dataset = self.trainer.known(dataset)
        if self.missing is not None:
            with suppress(DataError):  # these are other data
                dataset, self.missing = self.missing.applied(dataset), None
                self.dataset, self.brought = dataset, True
                self.trainer.attach(dataset)
                return
        untouched = unplaced(self.drawing.spn) == unplaced(opening_structure(self.dataset))
        self.dataset, self.brought = dataset, True
        self.choices, self.split, self.trainer.settings = Choices(), SplitSettings(), Settings()
        self.trainer.attach(dataset)
        if untouched:
            self.redraw()

    def upload(self, dataset: Dataset, source: tuple[object, object]) -> None:
        """Data from files, which `undo_upload` takes back; the same files read otherwise are still the one upload."""
        now = self._now
        again = self.uploaded and self.source is not None and self.source[0] == source[0]
        before = self.before if again and self.before is not None else now
        waiting = self.missing is not None
        alike = again and list(dataset.frame.columns) == list(self.dataset.frame.columns)
        self.bring(_used_alike(dataset, now) if alike else dataset)
        if alike:
            self.choices, self.split, self.trainer.settings = now.choices, now.split, now.settings
        self.source, self.arrived, self.before = source, self.dataset, None if waiting else before
        if self.dataset.frame is dataset.frame:
            self.arrived = dataset

    def forget_files(self) -> None:
        self.files = Brought()

    @property
    def _now(self) -> Before:
        trainer = self.trainer
        chosen = self.choices, self.split, trainer.settings
        return Before(self.dataset, *chosen, self.drawing.spn, self.brought, self.source, self.arrived)

    @property
    def uploaded(self) -> bool:
        """Whether the data are those of the upload; a project may have brought others."""
        return self.arrived is not None and self.arrived.frame is self.dataset.frame

    def undo_upload(self) -> None:
        """What was there before the upload, with what had been chosen for it."""
        before, self.source, self.arrived, self.before = self.before, None, None, None
        if before is not None:
            self.dataset, self.brought = before.dataset, before.brought
            self.source, self.arrived = before.source, before.arrived
            self.choices, self.split, self.trainer.settings = before.choices, before.split, before.settings
            self._take_drawing(before.spn, "The drawing before these data.")

    def take_drawing(self, run: Run) -> None:
        """The drawing of a run; undo brings back the one that it replaces."""
        self._take_drawing(run.spn, f"The drawing of {run.name}.")

    def return_to(self, run: Run) -> None:
        """All that a run was trained on and asked to do; what that replaces is kept as before an upload."""
        check_size(run.spn)
        task, now = self.trainer.tasks[run.name], self._now
        if task.dataset is not self.dataset:
            self.dataset, self.brought = task.dataset, True
            self.source, self.arrived, self.before = None, task.dataset, now
        self.choices, self.split = task.choices, task.split
        self.trainer.take_settings(run.settings)
        self.trainer.chosen = run.name
        self.take_drawing(run)

    def _take_drawing(self, spn: SPN, said: str) -> None:
        check_size(spn)
        if unplaced(self.drawing.spn) != unplaced(spn):
            self.path = None
            self.drawing.push(spn, said, fit=True)

    def redraw(self) -> None:
        """A drawing over the loaded data in the place of this one; undo brings it back."""
        self.path = None
        self.drawing.push(opening_structure(self.dataset), "A drawing for these data.", fit=True)

    @property
    def lacks_values(self) -> bool:
        """Whether values are missing, columns are used, and nobody has said what to do about it."""
        spn = self.drawing.spn
        if self.choices.missing != "refuse" or all(spn.spec(v).kernel == "precomputed" for v in spn.kernels):
            return False
        return self.dataset.has_holes

    def usable(self, rows: NDArray[np.intp]) -> int:
        """How many of these rows are left where those with missing values are not used."""
        if self.choices.missing != "drop rows":
            return len(rows)
        labelled = self.dataset.labelled_table
        return int(labelled.frame[list(labelled.features)].iloc[rows].notna().all(axis=1).sum())

    @property
    def foreign(self) -> bool:
        """Whether the drawing names columns and the data have none of them."""
        spn, known = self.drawing.spn, set(self.dataset.features)
        named = {f for v in spn.kernels for f in spn.spec(v).features or () if isinstance(f, str)}
        return bool(named) and not named & known


def _used_alike(dataset: Dataset, before: Before) -> Dataset:
    """Data that were read anew, with what the person had changed in the use of their columns."""
    used, guessed = before.dataset, before.arrived
    if guessed is None:
        return dataset
    if used.views != guessed.views:
        dataset = dataset.with_views(used.views)
    if used.label != guessed.label:
        dataset = dataset.with_label(used.label)
    if used.group != guessed.group and used.group != dataset.label:
        dataset = dataset.with_group(used.group)
    return dataset.with_ignored(used.ignored) if used.ignored != guessed.ignored else dataset


@dataclass
class _Entry:
    workspace: Workspace
    session: str
    used: float


class Store:
    """Workspaces by the token of their tab; forgotten when unused for long, the oldest first."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {}
        self._lock = threading.Lock()

    def find(self, token: str, session: str) -> Workspace | None:
        """The workspace of a tab, now used by this session."""
        with self._lock:
            entry = self._living(token)
            if entry is None:
                return None
            entry.session, entry.used = session, time.monotonic()
            return entry.workspace

    def touch(self, token: str) -> None:
        """Someone works here: do not forget it."""
        with self._lock:
            if entry := self._living(token):
                entry.used = time.monotonic()

    def owner(self, token: str) -> str | None:
        """The session that used the token last."""
        with self._lock:
            entry = self._living(token)
            return entry.session if entry else None

    def put(self, token: str, workspace: Workspace, session: str) -> None:
        with self._lock:
            self._entries[token] = _Entry(workspace, session, time.monotonic())
            self._forget()

    def remove(self, token: str) -> None:
        with self._lock:
            self._entries.pop(token, None)

    def _living(self, token: str) -> _Entry | None:
        entry = self._entries.get(token)
        return entry if entry and entry.used >= time.monotonic() - EXPIRY_SECONDS else None

    def _forget(self) -> None:
        oldest = sorted(self._entries, key=lambda token: self._entries[token].used)
        limit = time.monotonic() - EXPIRY_SECONDS
        for k, token in enumerate(oldest):
            if self._entries[token].used < limit or len(oldest) - k > MAX_WORKSPACES:
                del self._entries[token]


STORE = Store()
