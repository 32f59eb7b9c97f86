"""What is in a workspace: lists and versions; names, tags, copies, and a bin from which things come back."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable
from contextlib import nullcontext

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from spnmkl.errors import ParameterError, WorkspaceError
from spnmkl.structure.text import one_line
from spnmkl.wording import quoted
from spnmkl.workspace.audit import note
from spnmkl.workspace.database import Database, rows
from spnmkl.workspace.quotas import Purse
from spnmkl.workspace.state import ProjectInfo, VersionInfo
from spnmkl.workspace.tables import DATASET, FINDING, PROJECT, RUN, TAG, UPLOAD, VERSION

MOST_LETTERS, MOST_TAGS = 80, 20
COPIED: tuple[Table, ...] = (RUN, FINDING, UPLOAD)  # with a project; versions are its own


class Catalog:
    """The projects of a workspace.

    Where an `owner` is given, a project of anybody else is one that is not there, and what is done is noted.
    """

    def __init__(self, database: Database, purse: Purse) -> None:
        self._database, self._purse = database, purse

    def projects(self, search: str = "", *, owner: str | None = None, deleted: bool = False) -> list[ProjectInfo]:
        """Those whose name, tags or data have every word of the search, the last changed first.

        Parameters
        ----------
        search : str
        owner : str, optional
            None for those of everybody.
        deleted : bool
            Those in the bin in the place of the others.
        """
        asked = select(PROJECT, DATASET.c.name.label("dataset_name"), DATASET.c.rows.label("n_rows"))
        asked = asked.join(DATASET, DATASET.c.id == PROJECT.c.dataset, isouter=True).order_by(PROJECT.c.changed.desc())
        asked = asked.where(PROJECT.c.deleted.is_not(None) if deleted else PROJECT.c.deleted.is_(None))
        if owner is not None:
            asked = asked.where(PROJECT.c.owner == owner)
        with self._database.reading() as connection:
            found = rows(connection.execute(asked))
            tags: dict[str, list[str]] = {}
            for project, name in connection.execute(select(TAG.c.project, TAG.c.name).order_by(TAG.c.name)):
                tags.setdefault(project, []).append(name)
            runs = select(RUN.c.project, func.count()).where(RUN.c.deleted.is_(None)).group_by(RUN.c.project)
            n_runs = {row[0]: row[1] for row in connection.execute(runs)}
            versions = select(VERSION.c.project, func.count()).group_by(VERSION.c.project)
            n_versions = {row[0]: row[1] for row in connection.execute(versions)}
        listed = [
            ProjectInfo(
                row["id"],
                row["name"],
                tuple(tags.get(row["id"], ())),
                row["created"],
                row["changed"],
                row["deleted"],
                row["dataset_name"] or "",
                row["n_rows"] or 0,
                n_runs.get(row["id"], 0),
                n_versions.get(row["id"], 0),
            )
            for row in found
        ]
        words = search.casefold().split()
        return [info for info in listed if all(word in _searched(info) for word in words)]

    def named(self, given: str, *, deleted: bool = False) -> ProjectInfo:
        """The project of that key, or of that name where one alone has it; those in the bin are looked at if asked."""
        found = [*self.projects(), *(self.projects(deleted=True) if deleted else ())]
        by_key = [info for info in found if len(given) >= 4 and info.id.startswith(given)]
        matching = by_key if len(by_key) == 1 else [info for info in found if info.name == given]
        if len(matching) == 1:
            return matching[0]
        several = f"there are {len(matching)} of that name; give one of {', '.join(info.id[:8] for info in matching)}"
        raise ParameterError(
            f"The project {quoted(given)} is not known: "
            + (several if matching else "see `spnmkl workspace list` for those that are there.")
        )

    def rename(self, id: str, name: str, *, owner: str | None = None) -> str:
        """Call a project otherwise; returns its name, in one line and not too long."""
        name = one_line(name).strip()[:MOST_LETTERS]
        if not name:
            raise ParameterError("A project's name has one letter or more; choose another name.")
        self._update(id, owner, name=name)
        return name

    def tag(self, id: str, names: Iterable[str], *, owner: str | None = None) -> tuple[str, ...]:
        """These tags and no others."""
        tags = tuple(sorted({tag for name in names if (tag := one_line(name).strip()[:MOST_LETTERS])}))[:MOST_TAGS]
        with self._database.writing() as connection:
            _check(connection, id, owner)
            connection.execute(delete(TAG).where(TAG.c.project == id))
            for name in tags:
                connection.execute(insert(TAG).values(project=id, name=name))
        return tags

    def delete(self, id: str, *, owner: str | None = None) -> None:
        """Into the bin, from which `restore` brings it back."""
        self._update(id, owner, "deleted", deleted=time.time())

    def remove(self, id: str) -> None:
        """For good, also from the bin."""
        with self._database.writing() as connection:
            found = connection.execute(select(PROJECT.c.owner).where(PROJECT.c.id == id)).first()
            if found is None:
                raise gone()
            connection.execute(delete(PROJECT).where(PROJECT.c.id == id))
            note(connection, found[0], "removed on the command line", project=id)

    def restore(self, id: str, *, owner: str | None = None) -> None:
        self._update(id, owner, "restored", deleted=None)

    def empty_bin(self, *, owner: str) -> int:
        """Let go of everything that this owner has deleted, for good, runs too; returns how many projects."""
        mine = PROJECT.c.owner == owner
        with self._database.writing() as connection:
            found = connection.execute(delete(PROJECT).where(mine & PROJECT.c.deleted.is_not(None))).rowcount
            removed = RUN.c.deleted.is_not(None) & RUN.c.project.in_(select(PROJECT.c.id).where(mine))
            runs = connection.execute(delete(RUN).where(removed)).rowcount
            if found or runs:
                note(connection, owner, "emptied the bin", projects=found, runs=runs)
        return found

    def duplicate(self, id: str, *, owner: str | None = None) -> str:
        """A copy with the drawing as it is now, the data, runs and comparisons; returns its key."""
        with self._database.writing() as connection:
            _check(connection, id, owner)
            with nullcontext() if owner is None else self._purse.watching(connection, owner):
                return copied(connection, id, owner)

    def versions(self, id: str) -> list[VersionInfo]:
        """Every drawing that the project had, the newest first."""
        asked = select(VERSION).where(VERSION.c.project == id).order_by(VERSION.c.number.desc())
        with self._database.reading() as connection:
            return [VersionInfo(row["number"], row["made"], row["drawing"]) for row in rows(connection.execute(asked))]

    def info(self, id: str) -> ProjectInfo | None:
        found = [info for deleted in (False, True) for info in self.projects(deleted=deleted) if info.id == id]
        return found[0] if found else None

    def _update(self, id: str, owner: str | None, what: str = "", **values: object) -> None:
        with self._database.writing() as connection:
            if not connection.execute(update(PROJECT).where(owned(id, owner)).values(**values)).rowcount:
                raise gone()
            if what:
                note(connection, owner or "", what, project=id)


def copied(connection: Connection, id: str, owner: str | None) -> str:
    """A copy of a project for an owner, or for that of the project; runs that were removed are not in it."""
    new, now = uuid.uuid4().hex, time.time()
    row = connection.execute(select(PROJECT).where(PROJECT.c.id == id)).mappings().first()
    if row is None:
        raise gone()
    name = f"{row['name'][: MOST_LETTERS - 7]} (copy)"
    own = {"id": new, "name": name, "created": now, "changed": now, "revision": 1, "deleted": None}
    own |= {} if owner is None else {"owner": owner}
    connection.execute(insert(PROJECT).values(**{**row, **own}))
    newest = select(VERSION.c.drawing).where(VERSION.c.project == id).order_by(VERSION.c.number.desc()).limit(1)
    drawing = connection.execute(newest).scalar()
    if drawing is not None:
        connection.execute(insert(VERSION).values(project=new, number=1, made=now, drawing=drawing))
    for name in connection.execute(select(TAG.c.name).where(TAG.c.project == id)).scalars().all():
        connection.execute(insert(TAG).values(project=new, name=name))
    for table in COPIED:
        for part in rows(connection.execute(select(table).where(table.c.project == id))):
            if part.get("deleted") is None:
                fresh = {"id": uuid.uuid4().hex} if "id" in part else {}
                connection.execute(insert(table).values(**{**part, **fresh, "project": new}))
    return new


def owned(id: str, owner: str | None) -> ColumnElement[bool]:
    """That project, of this owner where one is given."""
    return PROJECT.c.id == id if owner is None else (PROJECT.c.id == id) & (PROJECT.c.owner == owner)


def _check(connection: Connection, id: str, owner: str | None) -> None:
    if connection.execute(select(PROJECT.c.id).where(owned(id, owner))).first() is None:
        raise gone()


def gone() -> WorkspaceError:
    return WorkspaceError("This project is no longer in the workspace; look at the list again.")


def _searched(info: ProjectInfo) -> str:
    return " ".join((info.name, *info.tags, info.dataset_name)).casefold()
