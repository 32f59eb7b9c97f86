"""What of a tab's work is on disk, and under which keys."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from spnmkl.project.stored_attempt import Attempt
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.ui.state.activity import Activity
from spnmkl.ui.state.task import Task
from spnmkl.workspace.state import KeptAttempt, KeptFinding, ProjectState, Saved


@dataclass
class Keys:
    """The keys under which parts of a tab's work are kept; they stay when a run is renamed or gets scores."""

    runs: dict[int, tuple[Solution, str]] = field(default_factory=dict)
    contest: tuple[object, str] = (None, "")
    attempt: tuple[object, Attempt | None] = (None, None)
    findings: dict[str, tuple[object, KeptFinding]] = field(default_factory=dict)

    def of_run(self, solution: Solution) -> str:
        return self.runs.setdefault(id(solution), (solution, uuid.uuid4().hex))[1]

    def of_contest(self, task: Task) -> str:
        if self.contest[0] is not task:
            self.contest = task, uuid.uuid4().hex
        return self.contest[1]

    def of_finding(self, kind: str, source: object, kept: Callable[[], KeptFinding]) -> KeptFinding:
        """What is kept of something: the same as long as that is the same."""
        if self.findings.get(kind, (None,))[0] is not source:
            self.findings[kind] = source, kept()
        return self.findings[kind][1]

    def forget_findings(self, kinds: set[str]) -> None:
        """All but these, so that data that nothing is kept of any more can go."""
        for kind in self.findings.keys() - kinds:
            del self.findings[kind]

    def of_training(self, activity: Activity, refresh: bool) -> Attempt:
        """The training as it was when it was looked at last, or is now."""
        job, attempt = activity.job, self.attempt[1]
        if self.attempt[0] is not job or attempt is None:
            task = activity.task
            asked = (task.dataset.name, task.spn, task.choices, task.split, activity.settings)
            attempt = Attempt(uuid.uuid4().hex, time.time(), *asked)
        if refresh and len(job.records) > len(attempt.records):
            attempt = replace(attempt, records=tuple(job.records))
        self.attempt = job, attempt
        return attempt


@dataclass
class Keeping:
    """What of a tab's work is on disk.

    Attributes
    ----------
    saved : the project as it was written last; None before there is anything to keep.
    name : of the project, and the data that it was `named_after`, where nobody chose it.
    drawn : drawings that were noted and are not on disk yet, oldest first.
    noted, done : numbers of what was noted last, and of what was saved last.
    failure : why the last save failed; empty where it did not.
    remarks : what could not be kept, and `lost` what could not be brought back.
    cut : trainings that were cut off.
    owner : whose it is; `browser` a secret of theirs, without which their tab's token tells nothing.
    """

    saved: Saved | None = None
    name: str = ""
    named_after: str = ""
    drawn: list[SPN] = field(default_factory=list, repr=False)
    noted: int = 0
    done: int = 0
    at: float = 0.0
    failure: str = ""
    remarks: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    cut: tuple[KeptAttempt, ...] = ()
    keys: Keys = field(default_factory=Keys)
    seen: ProjectState | None = None
    owner: str = ""
    browser: str = field(default="", repr=False)
    canvas: tuple[str, int, str] = ("", 0, "/0")  # epoch, pushes and edit that are on disk

    @property
    def pending(self) -> bool:
        return self.done < self.noted

    def told(self) -> dict[str, Any]:
        """What the sign on the page tells; it tells it anew wherever something was noted, and maybe by another part."""
        epoch, pushes, acknowledged = self.canvas
        page, _, number = acknowledged.partition("/")
        state = "failed" if self.failure else "saving" if self.pending else "saved" if self.saved else "nothing"
        version = 0 if self.saved is None else self.saved.version
        told = {"epoch": epoch, "pushes": pushes, "page": page, "number": int(number), "version": version}
        return {**told, "noted": self.noted, "state": state, "words": self.failure, "name": self.name}
