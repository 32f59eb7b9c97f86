"""Who uses a workspace now, and what is thrown away by time."""

from __future__ import annotations

import hashlib
import os
import socket
import time
import uuid
from contextlib import suppress

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, insert, select, text, update

from spnmkl.errors import WorkspaceError
from spnmkl.workspace import audit
from spnmkl.workspace.database import Database
from spnmkl.workspace.files import ORPHAN_SECONDS, FileStore
from spnmkl.workspace.people import forget_logins
from spnmkl.workspace.tables import (
    ATTEMPT,
    AUDIT,
    DATASET,
    DRAWING,
    FINDING,
    PERSON,
    PROJECT,
    RUN,
    SERVER,
    UPLOAD,
    VERSION,
    VISIT,
)

SILENT_SECONDS = 90.0  # after which a server that does not report is taken for dead
BIN_SECONDS = 30 * 86_400.0
VISIT_SECONDS = 90 * 86_400.0


class Upkeep:
    """The servers of a workspace, the tabs, and the bin.

    Attributes
    ----------
    server : the key of this process among those that use the workspace.
    """

    def __init__(self, database: Database, files: FileStore) -> None:
        self._database, self._files = database, files
        self.server = uuid.uuid4().hex
        self._registered = False

    def beat(self) -> None:
        """Say that this server lives."""
        with self._database.writing() as connection:
            self.register(connection)

    def register(self, connection: Connection) -> None:
        """The same, in a transaction of others."""
        mine, seen = SERVER.c.id == self.server, now(connection)
        if not connection.execute(update(SERVER).where(mine).values(seen=seen)).rowcount:
            row = {"id": self.server, "host": socket.gethostname(), "process": os.getpid(), "seen": seen}
            connection.execute(insert(SERVER).values(**row))
        self._registered = True

    def leave(self) -> None:
        if self._registered:
            with self._database.writing() as connection:
                connection.execute(delete(SERVER).where(SERVER.c.id == self.server))

    def works(self, server: str) -> bool:
        """Whether another server is at work."""
        if server == self.server:
            return False
        with self._database.reading() as connection:
            row = connection.execute(select(SERVER).where(SERVER.c.id == server)).mappings().first()
            return row is not None and lives(row["host"], row["process"], now(connection) - row["seen"])

    def remember(self, connection: Connection, token: str, project: str, browser: str = "") -> None:
        """Which project a tab has open; with a secret of its browser, the token is not enough to be told."""
        digest, values = _digest(token), {"project": project, "used": time.time(), "browser": _bound(browser)}
        mine = VISIT.c.digest == digest
        if not connection.execute(update(VISIT).where(mine).values(**values)).rowcount:
            connection.execute(insert(VISIT).values(digest=digest, **values))

    def visited(self, token: str, browser: str = "") -> str | None:
        """The project that a tab had open; None also where that is in the bin, or the tab stood in another browser.

        Who asks is there: from now on counts how long nobody was.
        """
        mine = VISIT.c.digest == _digest(token)
        asked = select(VISIT.c.project).join(PROJECT, PROJECT.c.id == VISIT.c.project)
        asked = asked.where(mine & PROJECT.c.deleted.is_(None))
        asked = asked.where(VISIT.c.browser.in_(("", _bound(browser))))
        with self._database.reading() as connection:
            found = connection.execute(asked).scalar()
        if found is not None:
            with suppress(WorkspaceError), self._database.writing() as connection:  # a full disk can be read
                connection.execute(update(VISIT).where(mine).values(used=time.time()))
        return found

    def revision(self, project: str) -> int | None:
        """How often a project was saved."""
        with self._database.reading() as connection:
            return connection.execute(select(PROJECT.c.revision).where(PROJECT.c.id == project)).scalar()

    def open(self, token: str, project: str, browser: str = "") -> None:
        with self._database.writing() as connection:
            self.remember(connection, token, project, browser)

    def forget(self, token: str) -> None:
        """A tab begins anew."""
        with self._database.writing() as connection:
            connection.execute(delete(VISIT).where(VISIT.c.digest == _digest(token)))

    def tidy(self, grace: float = ORPHAN_SECONDS) -> int:
        """Empty the bin of what is old, forget old visits and dead servers, and remove files that nothing names.

        What visitors without a login made goes into the bin with their visits: nobody can come back to it. Returns how
        many files were removed.
        """
        today = time.time()
        with self._database.writing(alone=True) as connection:
            self.register(connection)
            for table in (PROJECT, RUN):
                connection.execute(delete(table).where(table.c.deleted < today - BIN_SECONDS))
            connection.execute(delete(VISIT).where(VISIT.c.used < today - VISIT_SECONDS))
            connection.execute(update(PROJECT).where(_abandoned(today)).values(deleted=today))
            connection.execute(delete(SERVER).where(SERVER.c.seen < now(connection) - SILENT_SECONDS))
            connection.execute(delete(AUDIT).where(AUDIT.c.at < today - audit.KEPT_SECONDS - 60))  # clocks differ
            forget_logins(connection, today)
            holders = [table.c.dataset for table in (PROJECT, RUN, ATTEMPT, FINDING)]
            unused = and_(*(~exists().where(holder == DATASET.c.id) for holder in holders))
            connection.execute(delete(DATASET).where(unused))
            drawn = select(VERSION.c.drawing)
            connection.execute(delete(DRAWING).where(DRAWING.c.digest.not_in(drawn)))
            columns = (DATASET.c.table_file, DATASET.c.matrices_file, RUN.c.file, UPLOAD.c.file)
            named = {name for column in columns for name in connection.execute(select(column)).scalars() if name}
            return self._files.collect(named, grace)


def _abandoned(today: float) -> ColumnElement[bool]:
    """Projects of tabs, whose owner is the digest of their token, that were not there for long."""
    owner = PROJECT.c.owner
    nobody = ~exists().where(VISIT.c.digest == owner) & ~exists().where(PERSON.c.id == owner) & (owner != "")
    return nobody & PROJECT.c.deleted.is_(None) & (PROJECT.c.changed < today - VISIT_SECONDS)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _bound(browser: str) -> str:
    return _digest(browser) if browser else ""


def now(connection: Connection) -> float:
    """The seconds by which servers are seen: clocks of machines differ, that of a database they share is one."""
    if connection.dialect.name == "sqlite":  # on one machine
        return time.time()
    return float(connection.execute(text("SELECT extract(epoch FROM clock_timestamp())")).scalar_one())


def lives(host: str, process: int, silent: float) -> bool:
    """A process of this machine can be asked; of another one, for how many seconds it was silent must do."""
    if abs(silent) > SILENT_SECONDS:  # below zero where a clock was set back
        return False
    if host != socket.gethostname() or os.name != "posix":
        return True
    if process == os.getpid():
        return False  # the number of one that is gone
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
