"""A project from its rows and files: what is damaged is told, and costs no more than what it is of."""

from __future__ import annotations

from typing import Any

from spnmkl.data import Dataset
from spnmkl.errors import SPNMKLError, WorkspaceError
from spnmkl.project.archive import Reader
from spnmkl.project.stored_attempt import read_attempt
from spnmkl.project.stored_contest import read_comparison
from spnmkl.project.stored_data import DataUse, read_use
from spnmkl.project.stored_finding import read_found
from spnmkl.project.stored_run import read_choices, read_split
from spnmkl.training.settings import Settings
from spnmkl.untrusted import parse_json
from spnmkl.wording import quoted
from spnmkl.workspace.files import FileStore
from spnmkl.workspace.forms import DataReader, Row, damaged, read_drawing, run_of
from spnmkl.workspace.state import (
    KeptAttempt,
    KeptComparison,
    KeptFinding,
    KeptRun,
    Loaded,
    ProjectState,
    Saved,
    Upload,
)
from spnmkl.workspace.tables import ATTEMPT, FINDING, RUN, UPLOAD

COMPARISON = "comparison"


class Reading:
    """One load, in which what is damaged is left out and told."""

    def __init__(self, files: FileStore, datasets: list[Row]) -> None:
        self._files, self._rows = files, {row["id"]: row for row in datasets}
        self._reader = DataReader(files)
        self._lost: list[str] = []
        self._unread: dict[str, str] = {}

    def loaded(self, project: Row, document: dict[str, Any], body: bytes | None, parts: dict[str, list[Row]]) -> Loaded:
        try:
            if body is None:
                raise ValueError("the drawing is not there")
            dataset = self._dataset(project["dataset"], project["id"])
            missing = document["missing"]
            state = ProjectState(
                spn=read_drawing(body),
                closed=frozenset(map(str, document["closed"])),
                dataset=dataset,
                choices=read_choices(document["choices"]),
                split=read_split(document["split"]),
                settings=Settings.from_dict(document["settings"]),
                missing=self._use(project) or (None if missing is None else read_use(missing)),
                runs=tuple(filter(None, map(self._run, self._kept(parts[RUN.name])))),
                chosen=document["chosen"],
                comparison=next(filter(None, map(self._comparison, parts[FINDING.name])), None),
                findings=tuple(filter(None, map(self._finding, parts[FINDING.name]))),
                attempts=tuple(filter(None, map(self._attempt, parts[ATTEMPT.name]))),
                uploads=self._uploads(parts[UPLOAD.name]),
                more=dict(document["more"]),
            )
        except (ValueError, KeyError, TypeError) as error:
            raise damaged(f"the project {quoted(project['name'])}", error) from None
        saved = Saved(project["id"], project["revision"], state, unread=self._unread)
        return Loaded(saved, project["name"], tuple(self._lost))

    def _kept(self, runs: list[Row]) -> list[Row]:
        return sorted((row for row in runs if row["deleted"] is None), key=lambda row: row["position"])

    def _dataset(self, key: str | None, whose: str | None = None) -> Dataset | None:
        if key is None:
            return None
        try:
            return self._reader.dataset(self._rows[key])
        except SPNMKLError as error:
            self._lost += [str(error)] * (str(error) not in self._lost)
            self._unread |= {} if whose is None else {whose: key}
            return None

    def _use(self, project: Row) -> DataUse | None:
        """Which data the project is about, where they cannot be read."""
        key = self._unread.get(project["id"])
        return None if key is None else read_use(parse_json(self._rows[key]["document"].encode()))

    def _run(self, row: Row) -> KeptRun | None:
        try:
            return KeptRun(
                row["id"], run_of(self._files.read(row["file"]), row["name"]), self._dataset(row["dataset"], row["id"])
            )
        except SPNMKLError as error:
            self._lost.append(f"{row['name']} could not be read: {error}")
            return None

    def _comparison(self, row: Row) -> KeptComparison | None:
        dataset = self._dataset(row["dataset"])
        if row["kind"] != COMPARISON or dataset is None:
            return None
        try:
            return KeptComparison(row["id"], read_comparison(Reader("a comparison", row["body"], own=True)), dataset)
        except SPNMKLError as error:
            self._lost.append(str(error))
            return None

    def _finding(self, row: Row) -> KeptFinding | None:
        dataset = self._dataset(row["dataset"])
        if row["kind"] == COMPARISON or dataset is None:
            return None
        try:
            return KeptFinding(row["kind"], read_found(row["body"], own=True), dataset)
        except SPNMKLError as error:
            self._lost.append(str(error))
            return None

    def _attempt(self, row: Row) -> KeptAttempt | None:
        try:
            return KeptAttempt(read_attempt(row["id"], row["body"]), self._dataset(row["dataset"]))
        except SPNMKLError as error:
            self._lost.append(str(error))
            return None

    def _uploads(self, found: list[Row]) -> tuple[Upload, ...]:
        return tuple(
            Upload(row["key"], row["name"], self._upload(row["file"]), row["file"])
            for row in sorted(found, key=lambda row: row["position"])
        )

    def _upload(self, name: str) -> bytes | None:
        try:
            return self._files.read(name)
        except WorkspaceError as error:
            self._lost.append(str(error))
            return None
