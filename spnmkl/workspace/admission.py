"""Work that goes on on all servers of a workspace: what one has let in, the others count."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from sqlalchemy import Connection, delete, insert, select, text, update

from spnmkl.workspace.database import Database
from spnmkl.workspace.tables import JOB, SERVER
from spnmkl.workspace.upkeep import Upkeep, lives, now

PATIENCE_SECONDS = 2.0  # for others who write; work does not wait longer for leave to begin
Answer = Literal["", "limit", "memory"]
Entered = tuple[str, int]  # whose work, and the bytes that it has yet to take


class Admission:
    """Lets work in where that of all servers allows it.

    Work of a server that is gone does not count: on the same machine at once, of others once it was silent for long.
    """

    def __init__(self, database: Database, upkeep: Upkeep) -> None:
        self._database, self._upkeep = database, upkeep

    def enter(self, key: str, work: Entered, most: int, fits: Callable[[Sequence[int]], bool]) -> Answer:
        """Let a work in, or say what it waits for.

        Parameters
        ----------
        key : str
        work : whose it is, or nobody's where it does not count, and the bytes that it will take.
        most : int
            Works of one person at once; 0 for no limit.
        fits : callable
            Whether there is room beside what works of other servers of this machine have yet to take.
        """
        person, coming = work
        with self._database.writing(patience=PATIENCE_SECONDS) as connection:
            _alone(connection)
            self._upkeep.register(connection)
            rows = self._living(connection)
            if person and 0 < most <= sum(row["person"] == person for row in rows):
                return "limit"
            host, own = socket.gethostname(), self._upkeep.server
            if not fits([row["coming"] for row in rows if row["host"] == host and row["server"] != own]):
                return "memory"
            self._insert(connection, key, person, coming)
        return ""

    def leave(self, key: str) -> None:
        """A work has ended."""
        with self._database.writing(patience=PATIENCE_SECONDS) as connection:
            connection.execute(delete(JOB).where(JOB.c.id == key))

    def beat(self, going_on: Callable[[], Mapping[str, Entered | None]]) -> None:
        """Say that this server lives, and what goes on here by its keys; None for what asks for leave just now."""
        own = JOB.c.server == self._upkeep.server
        with self._database.writing() as connection:
            _alone(connection)
            self._upkeep.register(connection)
            found = going_on()
            connection.execute(delete(JOB).where(own & JOB.c.id.not_in(found)))
            for key, work in found.items():
                if work is not None:
                    person, coming = work
                    known = update(JOB).where(own & (JOB.c.id == key)).values(coming=coming)
                    if not connection.execute(known).rowcount:
                        self._insert(connection, key, person, coming)

    def elsewhere(self) -> Counter[str]:
        """How many works of each person go on on other servers."""
        with self._database.reading() as connection:
            rows = self._living(connection)
        return Counter(row["person"] for row in rows if row["server"] != self._upkeep.server)

    def _living(self, connection: Connection) -> list[dict]:
        asked = select(JOB, SERVER.c.host, SERVER.c.process, SERVER.c.seen).join(SERVER, SERVER.c.id == JOB.c.server)
        rows = [dict(row) for row in connection.execute(asked).mappings()]
        own, clock = self._upkeep.server, now(connection)
        return [row for row in rows if row["server"] == own or lives(row["host"], row["process"], clock - row["seen"])]

    def _insert(self, connection: Connection, key: str, person: str, coming: int) -> None:
        row = {"id": key, "server": self._upkeep.server, "person": person, "coming": coming}
        connection.execute(insert(JOB).values(**row))


def _alone(connection: Connection) -> None:
    """One server at a time counts and lets in."""
    if connection.dialect.name != "sqlite":  # where one alone writes
        connection.execute(text("SELECT pg_advisory_xact_lock(2, 0)"))
