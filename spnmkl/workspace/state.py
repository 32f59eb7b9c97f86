"""What a project of the workspace holds, as the rest of the package knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.project.stored_attempt import Attempt
from spnmkl.project.stored_contest import Compared
from spnmkl.project.stored_data import DataUse
from spnmkl.project.stored_finding import Found
from spnmkl.structure import SPN
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings


@dataclass(frozen=True, eq=False)
class KeptRun:
    """A run with a key that stays when it is renamed, and the data that it was trained on where they are known."""

    key: str
    run: Run
    dataset: Dataset | None = None


@dataclass(frozen=True, eq=False)
class KeptComparison:
    key: str
    compared: Compared
    dataset: Dataset


@dataclass(frozen=True, eq=False)
class KeptAttempt:
    attempt: Attempt
    dataset: Dataset | None = None


@dataclass(frozen=True, eq=False)
class KeptFinding:
    """What is known beside runs; a project has one of a kind. The same object stands for what is on disk already."""

    kind: str
    found: Found
    dataset: Dataset


@dataclass(frozen=True)
class Upload:
    """A file that was uploaded, as it came; without its data where these are on disk, in the `file` of that name."""

    key: str
    name: str
    data: bytes | None = field(default=None, repr=False, compare=False)
    file: str = field(default="", compare=False)


@dataclass(frozen=True, eq=False)
class ProjectState:
    """All that one works on.

    Attributes
    ----------
    spn : the drawing; `closed` are its groups that are drawn as one box.
    dataset : the data, or None where there are none; `missing` tells which data it is about where they are not there.
    runs : oldest first, and `chosen` the name of the one that the pages show.
    comparison : the last one.
    findings : what else is known, such as searches for C, or what an upload took the place of.
    attempts : trainings that are going on, or were cut off.
    uploads : the files that the data came from.
    more : whatever else the app wants to find again; plain values that JSON can hold.
    """

    spn: SPN
    closed: frozenset[str]
    dataset: Dataset | None
    choices: Choices
    split: SplitSettings
    settings: Settings
    missing: DataUse | None = None
    runs: tuple[KeptRun, ...] = ()
    chosen: str | None = None
    comparison: KeptComparison | None = None
    findings: tuple[KeptFinding, ...] = ()
    attempts: tuple[KeptAttempt, ...] = ()
    uploads: tuple[Upload, ...] = ()
    more: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ProjectInfo:
    """What a list of projects tells."""

    id: str
    name: str
    tags: tuple[str, ...]
    created: float
    changed: float
    deleted: float | None
    dataset_name: str
    n_rows: int
    n_runs: int
    n_versions: int


@dataclass(frozen=True)
class VersionInfo:
    """One state of a project's drawing."""

    number: int
    made: float
    drawing: str


@dataclass(frozen=True, eq=False)
class Saved:
    """A project as it is on disk: what the next save starts from.

    The uploads of its state are without their data. `remarks` are sentences about what was left out, `version` is the
    number of the newest version of its drawing. `unread` are the keys of data sets that could not be read, by the key
    of the run, or of the project, whose they are: their rows go on naming them, since they may be there again later.
    """

    id: str
    revision: int
    state: ProjectState
    remarks: tuple[str, ...] = ()
    version: int = 0
    unread: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Loaded:
    """A project that was read; `lost` are sentences about what could not be."""

    saved: Saved
    name: str
    lost: tuple[str, ...] = ()
