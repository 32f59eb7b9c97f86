"""What was done, by whom and when: it is appended to and read, and thrown away after a year; never what data hold."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, insert, select

from spnmkl.workspace.database import Database, rows
from spnmkl.workspace.tables import AUDIT, PERSON

KEPT_SECONDS = 365 * 86_400.0  # triggers in the database know it too
MOST_READ = 10_000


@dataclass(frozen=True)
class Event:
    """One line of the log; `about` has keys of projects, kinds and numbers, no names that people gave."""

    at: float
    who: str
    name: str
    what: str
    about: dict[str, Any]


class Audit:
    """The log of a workspace; it has no way to change what stands in it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def note(self, who: str, what: str, **about: Any) -> None:
        with self._database.writing() as connection:
            note(connection, who, what, **about)

    def read(self, *, who: str = "", what: str = "", since: float = 0.0, most: int = MOST_READ) -> list[Event]:
        """The newest first, of one person, of one kind, since then, where that is asked for."""
        asked = select(AUDIT, PERSON.c.name).join(PERSON, PERSON.c.id == AUDIT.c.who, isouter=True)
        asked = asked.where(AUDIT.c.at >= since).order_by(AUDIT.c.id.desc()).limit(most)
        if who:
            asked = asked.where(AUDIT.c.who == who)
        if what:
            asked = asked.where(AUDIT.c.what == what)
        with self._database.reading() as connection:
            return [
                Event(row["at"], row["who"], row["name"] or "", row["what"], json.loads(row["about"]))
                for row in rows(connection.execute(asked))
            ]


def note(connection: Connection, who: str, what: str, **about: Any) -> None:
    """One line, in the transaction of what it tells of; on a machine of one person nothing is noted."""
    if who:
        told = json.dumps(about, ensure_ascii=False, allow_nan=False, sort_keys=True)
        connection.execute(insert(AUDIT).values(at=time.time(), who=who, what=what, about=told))
