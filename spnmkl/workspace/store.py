"""The workspace: projects are saved whole in one transaction, after the files that they name, and read again."""

from __future__ import annotations

import time
import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, replace
from typing import Self

from sqlalchemy import Connection, Table, delete, func, insert, select, update

from spnmkl.data import Dataset
from spnmkl.errors import DataError, WorkspaceError
from spnmkl.project.archive import Writer
from spnmkl.project.stored_attempt import write_attempt
from spnmkl.project.stored_contest import Compared, write_comparison
from spnmkl.project.stored_data import DataUse
from spnmkl.project.stored_finding import write_found
from spnmkl.structure import SPN
from spnmkl.untrusted import parse_json
from spnmkl.wording import quoted
from spnmkl.workspace.admission import Admission
from spnmkl.workspace.audit import Audit, note
from spnmkl.workspace.catalog import Catalog, owned
from spnmkl.workspace.database import Database, rows, told
from spnmkl.workspace.files import FileStore
from spnmkl.workspace.forms import (
    DataForms,
    Row,
    add,
    drawing_row,
    dumped,
    named,
    read_drawing,
    run_bytes,
    run_summary,
)
from spnmkl.workspace.people import People
from spnmkl.workspace.place import Place, workspace_place
from spnmkl.workspace.quotas import Purse, Quotas
from spnmkl.workspace.reading import COMPARISON, Reading
from spnmkl.workspace.sharing import Sharing
from spnmkl.workspace.state import (
    KeptRun,
    Loaded,
    ProjectState,
    Saved,
    Upload,
)
from spnmkl.workspace.tables import ATTEMPT, DATASET, DRAWING, FINDING, PROJECT, RUN, UPLOAD, VERSION
from spnmkl.workspace.upkeep import Upkeep

FILES = "files"


class Overtaken(Exception):
    """Somebody else saved the project meanwhile."""


class WorkspaceStore:
    """A workspace on disk.

    Attributes
    ----------
    place : where it is.
    catalog : lists of projects and versions; names, tags, copies, the bin.
    upkeep : the servers that use it, the tabs that have a project open, and what is thrown away by time.
    people, sharing : who has logged in, and what they let others read.
    purse : what each owner keeps, held to the quotas; those of a machine of one person have none.
    audit : what was done, by whom.
    admission : the work that goes on on all its servers.
    """

    def __init__(self, place: Place, quotas: Quotas | None = None) -> None:
        self.place = place
        with told(place):
            place.folder.mkdir(parents=True, exist_ok=True)
            (place.folder / FILES).mkdir(exist_ok=True)
        self._database = Database(place)
        self._files = FileStore(place.folder / FILES)
        self._forms = DataForms(self._files)
        try:
            self._database.migrate()
            self._database.hold()
        except BaseException:
            self._database.close()
            raise
        self.upkeep = Upkeep(self._database, self._files)
        self.admission = Admission(self._database, self.upkeep)
        self.purse = Purse(self._database, self._files, quotas or Quotas())
        self.catalog = Catalog(self._database, self.purse)
        self.people, self.audit = People(self._database, self.purse), Audit(self._database)
        self.sharing = Sharing(self._database, self.purse)

    @classmethod
    def opened(cls, folder: str | None = None) -> Self:
        """The workspace in that folder, or in that of the environment or of the user; quotas as these are set."""
        return cls(workspace_place(folder), Quotas.chosen())

    def close(self) -> None:
        try:
            self.upkeep.leave()
        finally:
            self._database.close()

    def save(
        self,
        saved: Saved | None,
        state: ProjectState,
        *,
        name: str = "",
        owner: str = "",
        versions: Sequence[SPN] = (),
        visit: str | None = None,
        browser: str = "",
    ) -> Saved:
        """Write what differs from what was saved before; it is on disk when this returns.

        Parameters
        ----------
        saved : Saved or None
            None for a project that is not there yet.
        state : ProjectState
        name : str
            Of a new project.
        owner : str
            Whose project it is, and to whose quotas it is held; empty on a machine of one person.
        versions : sequence of SPN
            Drawings since the last save, oldest first; that of the state is the last in any case.
        visit : str, optional
            The token of the tab that has it open.
        browser : str
            A secret of the browser of that tab, without which the token tells nothing.

        Raises
        ------
        Overtaken
            When somebody else saved it after `saved`.
        QuotaError
            When it would be more than the owner may keep; nothing of it is written then.
        WorkspaceError
        """
        self.purse.check_nodes(owner, len(state.spn.nodes))
        self._database.check()
        with told(self.place):
            with self.purse.files_within(owner):
                work = _Writing(self, saved, state)
            with self._database.writing() as connection, self.purse.watching(connection, owner):
                if not all(map(self._files.has, work.files)):  # collected in the meantime
                    raise WorkspaceError(f"Files of the workspace in {self.place.shown} are missing; save again.")
                done = work.run(connection, name, owner, versions)
                if visit is not None:
                    self.upkeep.remember(connection, visit, done.id, browser)
        return done

    def load(self, id: str, *, owner: str | None = None, going_on: Collection[str] = ()) -> Loaded:
        """A project, of this owner where one is given, as it was saved last; what is damaged is told and left out.

        Trainings that another server is at, or this one (`going_on`, by their keys), were not cut off.
        """
        with self._database.reading() as connection:
            project = connection.execute(select(PROJECT).where(owned(id, owner))).mappings().first()
            if project is None:
                raise WorkspaceError(f"The workspace in {self.place.shown} has no project {quoted(id)}.")
            parts = {
                table.name: rows(connection.execute(select(table).where(table.c.project == id)))
                for table in (RUN, ATTEMPT, FINDING, UPLOAD)
            }
            names = {row["dataset"] for part in parts.values() for row in part if row.get("dataset")}
            names |= {project["dataset"]} if project["dataset"] else set()
            datasets = rows(connection.execute(select(DATASET).where(DATASET.c.id.in_(names))))
            document = parse_json(project["document"].encode())
            body = connection.execute(select(DRAWING.c.body).where(DRAWING.c.digest == document["drawing"])).scalar()
            newest = connection.execute(select(func.max(VERSION.c.number)).where(VERSION.c.project == id)).scalar()
        parts[ATTEMPT.name] = [
            row for row in parts[ATTEMPT.name] if row["id"] not in going_on and not self.upkeep.works(row["server"])
        ]
        with told(self.place):
            found = Reading(self._files, datasets).loaded(dict(project), document, body, parts)
        return replace(found, saved=replace(found.saved, version=int(newest or 0)))

    def uploaded(self, upload: Upload) -> Upload:
        """The same file with its data."""
        with told(self.place):
            return replace(upload, data=self._files.read(upload.file))

    def drawing(self, digest: str) -> SPN:
        """A version of a drawing."""
        with self._database.reading() as connection:
            body = connection.execute(select(DRAWING.c.body).where(DRAWING.c.digest == digest)).scalar()
        if body is None:
            raise WorkspaceError(f"The workspace in {self.place.shown} has no such version of a drawing.")
        return read_drawing(body)


class _Writing:
    """One save: first the files, then the rows."""

    def __init__(self, store: WorkspaceStore, saved: Saved | None, state: ProjectState) -> None:
        self._store, self._saved, self._state = store, saved, state
        self._before = saved.state if saved else None
        self._unread = dict(saved.unread) if saved else {}
        self._datasets: dict[Dataset, Row] = {}
        self._remarks: list[str] = []
        self._runs = {run.key: run for run in (self._before.runs if self._before else ())}
        self._changed = [kept for kept in state.runs if not _same_run(self._runs.get(kept.key), kept)]
        self._rows = {kept.key: self._run_row(kept) for kept in self._changed}
        self._same_uploads = self._before is not None and self._before.uploads == state.uploads
        self._uploads = self._before.uploads if self._before and self._same_uploads else self._put(state.uploads)
        self._comparison = state.comparison
        compared = state.comparison.dataset if state.comparison else None
        others = (*(kept.dataset for kept in state.attempts), *(kept.dataset for kept in state.findings))
        for dataset in (state.dataset, compared, *others):
            self._dataset(dataset)

    @property
    def files(self) -> Iterable[str]:
        """Those that the rows will name."""
        yield from (name for row in self._datasets.values() for name in named(row))
        yield from (row["file"] for row in self._rows.values())
        yield from (upload.file for upload in self._uploads if upload.data is not None)

    def run(self, connection: Connection, name: str, owner: str, versions: Sequence[SPN]) -> Saved:
        now, state = time.time(), self._state
        for row in self._datasets.values():
            add(connection, DATASET, row)
        drawings = [drawing_row(spn) for spn in self._new_versions(versions)]
        digest = drawings[-1]["digest"] if drawings else drawing_row(state.spn)["digest"]
        values = {
            "changed": now,
            "document": self._document(digest),
            "dataset": self._waits or self._dataset(state.dataset),
        }
        for drawing in drawings:
            add(connection, DRAWING, drawing)
        if self._saved is None:
            id, revision = uuid.uuid4().hex, 1
            known = {"owner": owner, "name": name or "Untitled", "created": now, "revision": revision}
            connection.execute(insert(PROJECT).values(id=id, **known, **values))
        else:
            id, revision = self._saved.id, self._saved.revision + 1
            mine = owned(id, owner or None) & (PROJECT.c.revision == self._saved.revision)
            if not connection.execute(update(PROJECT).where(mine).values(revision=revision, **values)).rowcount:
                raise Overtaken
        version = _add_versions(connection, id, [drawing["digest"] for drawing in drawings], now)
        self._sync_runs(connection, id, now)
        self._sync_attempts(connection, id, now)
        self._sync_comparison(connection, id, now)
        self._sync_findings(connection, id, now)
        if not self._same_uploads:
            connection.execute(delete(UPLOAD).where(UPLOAD.c.project == id))
            _insert(connection, UPLOAD, [_upload_row(id, k, upload) for k, upload in enumerate(self._uploads)])
        self._note_uploads(connection, id, owner)
        filed = replace(state, uploads=tuple(replace(upload, data=None) for upload in self._uploads))
        return Saved(id, revision, filed, tuple(self._remarks), version, self._unread)

    def _note_uploads(self, connection: Connection, id: str, owner: str) -> None:
        """Those too large to be kept have a key all the same."""
        fresh = _upload_keys(self._state) - (_upload_keys(self._before) if self._before else set())
        if fresh:
            size = sum(len(upload.data or b"") for upload in self._uploads if upload.key in fresh)
            note(connection, owner, "upload", project=id, files=len(fresh), kept_bytes=size)

    def _new_versions(self, versions: Sequence[SPN]) -> list[SPN]:
        last = self._before.spn if self._before else None
        found = []
        for spn in (*versions, self._state.spn):
            if spn is not last:
                found.append(spn)
                last = spn
        return found

    def _document(self, drawing: str) -> str:
        state = self._state
        missing = None if self._waits else state.missing
        if state.dataset is not None and self._dataset(state.dataset) is None:
            missing = DataUse.of(state.dataset)
        return dumped(
            {
                "drawing": drawing,
                "closed": sorted(state.closed),
                "choices": state.choices.to_dict(),
                "split": asdict(state.split),
                "settings": state.settings.to_dict(),
                "missing": None if missing is None else asdict(missing),
                "chosen": state.chosen,
                "more": dict(state.more),
            }
        )

    def _dataset(self, dataset: Dataset | None) -> str | None:
        """The key of a data set, whose files are written the first time; None where it has no form."""
        if dataset is None:
            return None
        if dataset not in self._datasets:
            try:
                self._datasets[dataset] = self._store._forms.row(dataset)
            except DataError as error:
                self._remarks += [str(error)] * (str(error) not in self._remarks)
                return None
        return str(self._datasets[dataset]["id"])

    @property
    def _waits(self) -> str | None:
        """The key of the project's data where they could not be read, as long as no others are in their place."""
        before, state = self._saved, self._state
        same = before is not None and state.dataset is None and state.missing == before.state.missing
        return self._unread.get(before.id) if before is not None and same else None

    def _run_row(self, kept: KeptRun) -> Row:
        before = self._runs.get(kept.key)
        row = {
            "id": kept.key,
            "name": kept.run.name,
            "dataset": self._dataset(kept.dataset) if kept.dataset else self._unread.get(kept.key),
            "document": dumped(run_summary(kept.run)),
            "file": self._store._files.put(run_bytes(kept.run), ".zip"),
        }
        return row if before is None else {**row, "deleted": None}

    def _put(self, uploads: Iterable[Upload]) -> tuple[Upload, ...]:
        """With the files that they are in; those that are on disk already came without their data."""
        put = self._store._files.put
        filed = (replace(each, file=put(each.data, ".bin")) if each.data is not None else each for each in uploads)
        return tuple(upload for upload in filed if upload.file)

    def _sync_runs(self, connection: Connection, id: str, now: float) -> None:
        before = self._before.runs if self._before else ()
        if [kept.key for kept in before] != [kept.key for kept in self._state.runs] or self._changed:
            gone = {kept.key for kept in before} - {kept.key for kept in self._state.runs}
            connection.execute(update(RUN).where(RUN.c.id.in_(gone)).values(deleted=now))
            there = set(connection.execute(select(RUN.c.id).where(RUN.c.project == id)).scalars())
            for k, kept in enumerate(self._state.runs):
                row = {**self._rows.get(kept.key, {}), "position": k, "deleted": None}
                if kept.key in there:
                    connection.execute(update(RUN).where(RUN.c.id == kept.key).values(**row))
                else:
                    connection.execute(insert(RUN).values(**(row or self._run_row(kept)), project=id, made=now))

    def _sync_attempts(self, connection: Connection, id: str, now: float) -> None:
        before = {kept.attempt.key: kept.attempt for kept in (self._before.attempts if self._before else ())}
        now_there = {kept.attempt.key for kept in self._state.attempts}
        for key in before.keys() - now_there:
            connection.execute(delete(ATTEMPT).where(ATTEMPT.c.id == key))
        for kept in self._state.attempts:
            key, attempt = kept.attempt.key, kept.attempt
            if attempt is before.get(key):
                continue
            values = {"body": write_attempt(attempt), "seen": now}
            if not connection.execute(update(ATTEMPT).where(ATTEMPT.c.id == key).values(**values)).rowcount:
                server, dataset = self._store.upkeep.server, self._dataset(kept.dataset)
                row = {"id": key, "project": id, "server": server, "dataset": dataset}
                connection.execute(insert(ATTEMPT).values(**row, **values))

    def _sync_comparison(self, connection: Connection, id: str, now: float) -> None:
        before, kept = self._before.comparison if self._before else None, self._comparison
        if kept is before or (kept and before and kept.compared is before.compared):
            return
        mine = (FINDING.c.project == id) & (FINDING.c.kind == COMPARISON)
        if kept is None or before is None or before.key != kept.key:
            connection.execute(delete(FINDING).where(mine))
        if kept is not None:
            body, dataset = _packed(kept.compared), self._dataset(kept.dataset)
            found = update(FINDING).where(FINDING.c.id == kept.key).values(body=body)
            if not connection.execute(found).rowcount:
                row = {"id": kept.key, "project": id, "kind": COMPARISON, "made": now, "dataset": dataset}
                connection.execute(insert(FINDING).values(**row, body=body))

    def _sync_findings(self, connection: Connection, id: str, now: float) -> None:
        before = {kept.kind: kept for kept in (self._before.findings if self._before else ())}
        after = {kept.kind: kept for kept in self._state.findings}
        for kind in before.keys() | after.keys():
            kept = after.get(kind)
            if kept is before.get(kind):
                continue
            connection.execute(delete(FINDING).where((FINDING.c.project == id) & (FINDING.c.kind == kind)))
            if kept is not None and (dataset := self._dataset(kept.dataset)) is not None:
                row = {"id": uuid.uuid4().hex, "project": id, "kind": kind, "made": now, "dataset": dataset}
                connection.execute(insert(FINDING).values(**row, body=write_found(kept.found)))


def _upload_row(project: str, position: int, upload: Upload) -> Row:
    return {"project": project, "position": position, "key": upload.key, "name": upload.name, "file": upload.file}


def _upload_keys(state: ProjectState) -> set[str]:
    return {upload.key for upload in state.uploads} | set(map(str, state.more.get("files", ())))


def _same_run(one: KeptRun | None, other: KeptRun) -> bool:
    return one is not None and one.run is other.run and one.dataset is other.dataset


def _packed(compared: Compared) -> bytes:
    writer = Writer()
    write_comparison(writer, compared)
    return writer.finished()


def _insert(connection: Connection, table: Table, found: list[Row]) -> None:
    if found:
        connection.execute(insert(table), found)


def _add_versions(connection: Connection, id: str, digests: list[str], now: float) -> int:
    """The number of the newest."""
    mine = VERSION.c.project == id
    last = connection.execute(select(func.max(VERSION.c.number)).where(mine)).scalar() or 0
    newest = select(VERSION.c.drawing).where(mine & (VERSION.c.number == last))
    before = connection.execute(newest).scalar() if digests else None
    fresh = [digest for k, digest in enumerate(digests) if digest != (digests[k - 1] if k else before)]
    _insert(
        connection,
        VERSION,
        [{"project": id, "number": last + k, "made": now, "drawing": digest} for k, digest in enumerate(fresh, 1)],
    )
    return int(last) + len(fresh)
