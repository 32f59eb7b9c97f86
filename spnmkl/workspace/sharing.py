"""Projects that their owners let others read: these see them, and may take a copy, and nothing else."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, delete, or_, select

from spnmkl.errors import WorkspaceError
from spnmkl.workspace.audit import note
from spnmkl.workspace.catalog import copied, gone
from spnmkl.workspace.database import Database, rows
from spnmkl.workspace.forms import add
from spnmkl.workspace.quotas import Purse
from spnmkl.workspace.tables import DATASET, PERSON, PROJECT, SHARE

EVERYBODY = "*"


@dataclass(frozen=True)
class SharedProject:
    """What is told of a project to whom it is shared with."""

    id: str
    name: str
    owner_name: str
    changed: float
    dataset_name: str
    n_rows: int


class Sharing:
    """Who may read which project beside its owner."""

    def __init__(self, database: Database, purse: Purse) -> None:
        self._database, self._purse = database, purse

    def share(self, id: str, owner: str, person: str) -> None:
        """Let a person who has logged in, or everybody who has (`EVERYBODY`), read a project of this owner."""
        with self._database.writing() as connection:
            _check_owner(connection, id, owner)
            if person != EVERYBODY and not _has_logged_in(connection, person):
                raise WorkspaceError("This person has never logged in here; a project can be shared after that.")
            add(connection, SHARE, {"project": id, "person": person, "made": time.time()})
            note(connection, owner, "shared", project=id, whom=person)

    def take_back(self, id: str, owner: str, person: str) -> None:
        """No longer; copies that were taken meanwhile stay with those who took them."""
        with self._database.writing() as connection:
            _check_owner(connection, id, owner)
            mine = (SHARE.c.project == id) & (SHARE.c.person == person)
            if connection.execute(delete(SHARE).where(mine)).rowcount:
                note(connection, owner, "no longer shared", project=id, whom=person)

    def readers(self, id: str, owner: str) -> dict[str, str]:
        """With whom a project is shared: ids, `EVERYBODY` among them, and names."""
        asked = select(SHARE.c.person, PERSON.c.name).join(PERSON, PERSON.c.id == SHARE.c.person, isouter=True)
        with self._database.reading() as connection:
            _check_owner(connection, id, owner)
            found = connection.execute(asked.where(SHARE.c.project == id).order_by(SHARE.c.made))
            return {row[0]: row[1] or "everybody who is logged in" for row in found}

    def for_person(self, person: str) -> list[SharedProject]:
        """What others share with a person, the last changed first."""
        asked = (
            select(
                PROJECT.c.id,
                PROJECT.c.name,
                PROJECT.c.changed,
                PERSON.c.name.label("owner_name"),
                DATASET.c.name.label("dataset_name"),
                DATASET.c.rows.label("n_rows"),
            )
            .join(PERSON, PERSON.c.id == PROJECT.c.owner)
            .join(DATASET, DATASET.c.id == PROJECT.c.dataset, isouter=True)
            .where(_readable(person))
            .order_by(PROJECT.c.changed.desc())
        )
        with self._database.reading() as connection:
            if not _has_logged_in(connection, person):
                return []
            found = rows(connection.execute(asked))
        return [
            SharedProject(**{**row, "dataset_name": row["dataset_name"] or "", "n_rows": row["n_rows"] or 0})
            for row in found
        ]

    def copy(self, id: str, person: str) -> str:
        """A copy for a person with whom a project is shared; returns its key. Any other id is not known."""
        with self._database.writing() as connection:
            allowed = select(PROJECT.c.id).where((PROJECT.c.id == id) & _readable(person))
            if not _has_logged_in(connection, person) or connection.execute(allowed).first() is None:
                raise gone()
            with self._purse.watching(connection, person):
                new = copied(connection, id, person)
            note(connection, person, "copied", project=id, copy=new)
        return new


def _readable(person: str) -> ColumnElement[bool]:
    with_them = select(SHARE.c.project).where(or_(SHARE.c.person == person, SHARE.c.person == EVERYBODY))
    return PROJECT.c.id.in_(with_them) & PROJECT.c.deleted.is_(None) & (PROJECT.c.owner != person)


def _check_owner(connection: Connection, id: str, owner: str) -> None:
    mine = (PROJECT.c.id == id) & (PROJECT.c.owner == owner)
    if connection.execute(select(PROJECT.c.id).where(mine)).first() is None:
        raise gone()


def _has_logged_in(connection: Connection, person: str) -> bool:
    return connection.execute(select(PERSON.c.id).where(PERSON.c.id == person)).first() is not None
