"""What a tab owns: its drawing, its data and what it makes of them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from spnmkl.data import Choices, Dataset, SplitSettings, Suggestion, apart, holes, kept_rows
from spnmkl.data.choices import AUTO
from spnmkl.errors import DataError
from spnmkl.kernels import KernelIssue
from spnmkl.project.stored_data import DataUse
from spnmkl.search import Suggestion as Suggested
from spnmkl.structure import SPN, Issue, Path
from spnmkl.structure.layout import unplaced
from spnmkl.structure.text import one_line
from spnmkl.training.bring import training_suggestions
from spnmkl.training.checks import all_issues
from spnmkl.training.prepared import rows_used
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.ui.state.activity import Activity, Trainer
from spnmkl.ui.state.computed_once import kept_with_dataset
from spnmkl.ui.state.drawing import Drawing, check_size
from spnmkl.ui.state.kept import Keeping
from spnmkl.ui.state.kernel_checks import KernelChecks, about_widths
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.predicting import Predicting
from spnmkl.ui.state.task import Finding, Task
from spnmkl.ui.state.uploaded_files import UploadedFiles
from spnmkl.ui.state.works import Chosen

SUGGESTED = Choices(AUTO)  # until somebody chooses


@dataclass(frozen=True, eq=False)
class Before:
    """What an upload, or the data of an earlier run, took the place of."""

    dataset: Dataset
    choices: Choices
    split: SplitSettings
    settings: Settings
    by_hand: bool
    spn: SPN
    loaded: bool
    arrival: Arrival | None


@dataclass(frozen=True, eq=False)
class Arrival:
    """Data that came from files or with an earlier run, and can be sent back.

    `read` is which files they are from and how these were read, `dataset` what that gave before the person changed the
    use of its columns, `before` what it took the place of.
    """

    read: tuple[object, object] | None
    dataset: Dataset
    before: Before | None


@dataclass
class CompareChoices:
    """What was chosen on the Compare page: how often the folds are drawn, which runs and methods take part, and by
    which measure they are shown, if not by that of the page Train."""

    repeats: int = 1
    runs: tuple[str, ...] = ()
    measure: str | None = None
    left_out: frozenset[str] = frozenset({"ℓ_4/3-MKL", "ℓ_4-MKL"})  # near others that take part


@dataclass
class Workspace:
    """Everything one tab works on.

    `missing` tells which data an opened project came without, `loaded` whether there are data all the same. `files`
    are those that were uploaded last, `arrival` tells of data that came from them, `keeping` what is on disk. `by_hand`
    says that C and the kind of weights are to be as set, on the drawing that data open on too; `followed` is the last
    choice whose drawing was taken.
    """

    drawing: Drawing
    dataset: Dataset
    choices: Choices = SUGGESTED
    split: SplitSettings = field(default_factory=SplitSettings)
    path: Path | None = None
    expanded: bool = False
    trainer: Trainer = field(default_factory=Trainer)
    predicting: Predicting = field(default_factory=Predicting)
    missing: DataUse | None = None
    loaded: bool = True
    by_hand: bool = False
    followed: Finding[Chosen] | None = field(default=None, repr=False)
    files: UploadedFiles = field(default_factory=UploadedFiles)
    arrival: Arrival | None = None
    comparing: CompareChoices = field(default_factory=CompareChoices)
    checked: tuple[SPN, Dataset, Choices, list[Issue]] | None = field(default=None, repr=False)
    kernel_checks: KernelChecks = field(default_factory=KernelChecks, repr=False)
    keeping: Keeping = field(default_factory=Keeping, repr=False)

    @property
    def kernel_issues(self) -> list[KernelIssue]:
        """Kernels that cannot work on the training rows; widths may compete where rows held out or evidence decide."""
        found, chosen = self.kernel_checks.of(self.task), self.chosen
        if self.chooses or (chosen is not None and self.takes(chosen)):
            return [issue for issue in found if not about_widths(self.drawing.spn, issue)]
        by_evidence = self.trainer.settings.weights == "evidence"
        return [issue for issue in found if not (by_evidence and issue.widths)]

    @property
    def as_opened(self) -> bool:
        """Whether the drawing is the one that the data open on."""
        return unplaced(self.drawing.spn) == unplaced(opening_structure(self.dataset))

    @property
    def as_chosen(self) -> bool:
        """Whether the drawing is one that was chosen for the data by cross-validation."""
        book, drawn = self.trainer.book, unplaced(self.drawing.spn)
        chosen = [(run.spn, book.task_of(run)) for run in book.runs if run.reasons]
        if (found := self.trainer.default) is not None:
            chosen.append((found.value.spn, found.task))
        return any(task and task.dataset is self.dataset and unplaced(spn) == drawn for spn, task in chosen)

    @property
    def chooses(self) -> bool:
        """Whether a training is to choose C, the kind of weights and the preparation: nobody has drawn or set any."""
        return not self.by_hand and self.as_opened

    def begin_training(self, alive: Callable[[], bool]) -> Activity:
        """Train what is drawn as it is set; or, where nobody drew and set anything, what is best on rows held out."""
        if self.chooses:
            return self.trainer.train_default(self.task, self.trainer.settings, alive)
        return self.trainer.start("train", self.task, self.trainer.settings, alive)

    def collect(self) -> None:
        """Take in what has ended; the drawing follows a training that chose, unless it was changed meanwhile."""
        self.trainer.collect()
        found = self.trainer.default
        if found is None or found is self.followed:
            return
        self.followed = found
        if found.value.trained and found.task.same(self.task):
            self.take_chosen(found.value)

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
        sampled = self.trainer.settings.sampled_rows
        return Task(self.drawing.spn, self.dataset, self.choices, self.split, sampled)

    def bring(self, dataset: Dataset) -> None:
        """Other data. What was chosen for the old ones is forgotten; a drawing stays if the person made it."""
        self.arrival = None
        dataset = self.trainer.book.known(dataset)
        if self.missing is not None:
            with suppress(DataError):  # these are other data
                dataset, self.missing = self.missing.applied(dataset), None
                self.dataset, self.loaded = dataset, True
                self.trainer.attach(dataset)
                return
        untouched = self.as_opened or self.as_chosen
        self.dataset, self.loaded, self.by_hand = dataset, True, False
        self.choices, self.split, self.trainer.settings = SUGGESTED, SplitSettings(), Settings()
        self.trainer.book.attach(dataset)
        if untouched:
            self.redraw()

    def use(self, dataset: Dataset) -> None:
        """The same data, their columns used otherwise; the drawing follows if it is still the one they opened on."""
        untouched = self.as_opened
        self.dataset, self.choices = dataset, self.choices.among(dataset.views)
        if untouched and not self.as_opened:
            self.redraw()

    def rename_data(self, name: str) -> None:
        """Call the data otherwise; they stay the same to runs that were trained on them, which keep the old name."""
        name = one_line(name).strip()
        if not name or name == self.dataset.name:
            return
        before, self.dataset = self.dataset, replace(self.dataset, name=name)
        self.trainer.book.renamed(before, self.dataset)
        if self.arrival is not None and self.arrival.dataset is before:
            self.arrival = replace(self.arrival, dataset=self.dataset)

    def upload(self, dataset: Dataset, read: tuple[object, object]) -> None:
        """Data from files, which `undo_upload` takes back; the same files read otherwise are still the one upload."""
        now, last = self._now, self.arrival
        again = self.uploaded and last is not None and last.read is not None and last.read[0] == read[0]
        before = last.before if again and last is not None and last.before is not None else now
        waiting = self.missing is not None
        alike = again and list(dataset.frame.columns) == list(self.dataset.frame.columns)
        self.bring(_used_alike(dataset, now) if alike else dataset)
        if alike:
            self._take_settings(now)
        arrived = dataset if self.dataset.frame is dataset.frame else self.dataset
        self.arrival = Arrival(read, arrived, None if waiting else before)

    def forget_files(self) -> None:
        self.files = UploadedFiles()

    @property
    def _now(self) -> Before:
        trainer = self.trainer
        chosen = self.choices, self.split, trainer.settings, self.by_hand
        arrival = self.arrival and replace(self.arrival, before=None)  # one step back, not all data that ever were
        return Before(self.dataset, *chosen, self.drawing.spn, self.loaded, arrival)

    @property
    def uploaded(self) -> bool:
        """Whether the data are those of the upload; a project may have brought others."""
        return self.arrival is not None and self.arrival.dataset.frame is self.dataset.frame

    @property
    def before(self) -> Before | None:
        """What the data took the place of, where that can be had back."""
        return self.arrival.before if self.arrival else None

    def undo_upload(self) -> None:
        """What was there before the upload, with what had been chosen for it."""
        before, self.arrival = self.before, None
        if before is not None:
            self.dataset, self.loaded = before.dataset, before.loaded
            self.arrival = before.arrival
            self._take_settings(before)
            self._take_drawing(before.spn, "The drawing before these data.")

    def _take_settings(self, before: Before) -> None:
        self.choices, self.split, self.by_hand = before.choices, before.split, before.by_hand
        self.trainer.settings = before.settings

    def take_drawing(self, run: Run) -> None:
        """The drawing of a run; undo brings back the one that it replaces."""
        self._take_drawing(run.spn, f"The drawing of {run.name}.")

    def take_chosen(self, chosen: Chosen) -> None:
        """What was chosen for these data; undo brings back the drawing that it replaces."""
        self.choices, self.by_hand = chosen.choices, True
        self.trainer.take_settings(chosen.settings)
        self._take_drawing(chosen.spn, "The drawing that was chosen.")

    def take_suggested(self, one: Suggested, said: str) -> None:
        """A drawing that was found, with certified weights and the C that its scores are at; undo brings back
        the drawing that it replaces.
        """
        if one.C > 0:
            self.by_hand = True
            self.trainer.take_settings(replace(self.trainer.settings, C=one.C, weights="certified"))
        self._take_drawing(unplaced(one.spn), said)

    @property
    def chosen(self) -> Chosen | None:
        """What was chosen for these data, until what it stood for is another."""
        found = self.trainer.default
        if found is None or found.task.dataset is not self.dataset or found.task.split != self.split:
            return None
        return found.value if found.task.same(self.task) or self.takes(found.value) else None

    def takes(self, chosen: Chosen) -> bool:
        """Whether it is what would be trained now."""
        same = unplaced(self.drawing.spn) == unplaced(chosen.spn)
        return same and (self.choices, self.trainer.settings) == (chosen.choices, chosen.settings)

    def return_to(self, run: Run) -> None:
        """All that a run was trained on and asked to do; what that replaces is kept as before an upload."""
        check_size(run.spn)
        task, now = self.trainer.book.tasks[run.name], self._now
        if task.dataset is not self.dataset:
            self.dataset, self.loaded = task.dataset, True
            self.arrival = Arrival(None, task.dataset, now)
        self.choices, self.split, self.by_hand = task.choices, task.split, True
        self.trainer.take_settings(run.settings)
        self.trainer.book.chosen = run.name
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
        return self.dataset.has_holes and _has_refused(self.dataset, self.choices)

    @property
    def lacks_views_alone(self) -> bool:
        """Whether that is only for rows that lack a whole view."""
        return self.lacks_values and not _has_refused(self.dataset, replace(self.choices, absent="mean"))

    @property
    def suggested(self) -> dict[str, Suggestion]:
        """What the training rows say is to be done to the numbers of each view."""
        return _suggested(self.dataset, self.split, replace(self.choices, numeric=AUTO, views=()))

    def usable(self, rows: NDArray[np.intp], spn: SPN | None = None) -> int:
        """How many of these rows are left where those with missing values are not used, for the drawing or another."""
        return int(rows_used(spn or self.drawing.spn, self.dataset.labelled_table, self.choices)[rows].sum())

    @property
    def foreign(self) -> bool:
        """Whether the drawing names columns and the data have none of them."""
        spn, known = self.drawing.spn, set(self.dataset.features)
        named = {f for v in spn.kernels for f in spn.spec(v).features or () if isinstance(f, str)}
        return bool(named) and not named & known


@kept_with_dataset
def _has_refused(dataset: Dataset, choices: Choices) -> bool:
    """Whether a value is missing that no choice accounts for."""
    frame, views = dataset.labelled_table.frame, apart(dataset.views, dataset.features)
    frame = frame[[*dataset.features, *dataset.adjust]]
    return bool(holes(frame[kept_rows(frame, views, choices)], views, choices).to_numpy().any())


@kept_with_dataset
def _suggested(dataset: Dataset, split: SplitSettings, choices: Choices) -> dict[str, Suggestion]:
    return training_suggestions(dataset, choices, split)


def _used_alike(dataset: Dataset, before: Before) -> Dataset:
    """Data that were read anew, with what the person had changed in the use of their columns."""
    if before.arrival is None:
        return dataset
    used, guessed = before.dataset, before.arrival.dataset
    if used.views != guessed.views:
        dataset = dataset.with_views(used.views)
    if used.label != guessed.label:
        dataset = dataset.with_label(used.label)
    if used.group != guessed.group and used.group != dataset.label:
        dataset = dataset.with_group(used.group)
    if used.adjust != guessed.adjust:
        dataset = dataset.with_adjust([name for name in used.adjust if name != dataset.label])
    return dataset.with_ignored(used.ignored) if used.ignored != guessed.ignored else dataset
