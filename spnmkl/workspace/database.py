"""The database of a workspace: SQLite in the folder, or PostgreSQL for several servers; migrated when it is opened."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, exc, inspect, make_url, text

from spnmkl.errors import WorkspaceError
from spnmkl.workspace.place import Place
from spnmkl.workspace.tables import HEAD

BUSY_SECONDS = 30.0
_LOCK = 0x73706E6D  # of this program among the advisory locks of a PostgreSQL
_WRITES, _PATIENCE = "spnmkl_writes", "spnmkl_patience"


class Database:
    """Connections to one database.

    Parameters
    ----------
    place : Place
    """

    def __init__(self, place: Place) -> None:
        self.place = place
        self.engine = _engine(place)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._file: tuple[int, int] | None = None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        with told(self.place), self._connected() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self, *, alone: bool = False, patience: float | None = None) -> Iterator[Connection]:
        """One transaction: committed when the block ends, else as if it had never been.

        Files that it names cannot be collected meanwhile; who collects them is `alone`. `patience` is for how many
        seconds others who write are waited for, where that should not be long.
        """
        with told(self.place), self._connected() as connection:
            connection = connection.execution_options(**{_WRITES: True, _PATIENCE: patience})
            with connection.begin():
                if patience is not None and not self.is_sqlite:
                    connection.execute(text(f"SET LOCAL lock_timeout = {1000 * patience:.0f}"))
                if not self.is_sqlite:
                    shared = "" if alone else "_shared"
                    connection.execute(text(f"SELECT pg_advisory_xact_lock{shared}({_LOCK})"))
                yield connection

    def migrate(self) -> None:
        """Bring the tables to the form of this release; those of a newer one are refused."""
        with self.reading() as connection:
            if _revision(connection) == HEAD:
                return
        with self.writing(alone=True) as connection:
            found = _revision(connection)  # another server may have done it meanwhile
            if found != HEAD:
                upgrade(connection, found, self.place)

    def hold(self) -> None:
        """From now on refuse any other file in the place of the database, also none.

        SQLite goes on writing to one that was removed, and what it calls written then is lost.

        The number of a file tells it from others as long as it is open, and a connection stays open from here on; only
        folders on a network may number files anew meanwhile, and SQLite needs a local disk.
        """
        if self.is_sqlite and not self.place.url:
            self._file = _identity(self.place)

    def check(self) -> None:
        """Refuse to go on where the database is no longer there."""
        if self._file is not None and _identity(self.place) != self._file:
            raise WorkspaceError(
                f"The workspace in {self.place.shown} was moved or removed while the app had it open; put it back, or "
                "stop the app and start it again."
            )

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        self.check()
        with self.engine.connect() as connection:
            yield connection

    def close(self) -> None:
        self.engine.dispose()


def _identity(place: Place) -> tuple[int, int] | None:
    """Which file the database is, whatever it is called."""
    try:
        found = place.database.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def upgrade(connection: Connection, found: str | None, place: Place) -> None:
    """Run the migrations after `found`."""
    from alembic import command  # rarely needed, and slow to import
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    with as_file(files("spnmkl.workspace") / "migrations") as folder:
        config = Config()
        config.set_main_option("script_location", str(folder).replace("%", "%%"))
        known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
        if found is not None and found not in known:
            raise WorkspaceError(
                f"The workspace in {place.shown} was written by a newer release of spnmkl (its form is {found[:20]!r}, "
                f"this release knows {HEAD!r}); open it with that release, or choose another folder with --workspace."
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def _revision(connection: Connection) -> str | None:
    """The last migration that was run; None in an empty database."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _engine(place: Place) -> Engine:
    try:
        # Not as text: a folder's name may hold what means something in an address.
        url = make_url(place.url) if place.url else URL.create("sqlite", database=str(place.database))
        if url.drivername in ("postgres", "postgresql"):
            url = url.set(drivername="postgresql+psycopg")
        if url.get_backend_name() == "sqlite":
            engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS, "check_same_thread": False})
            event.listen(engine, "connect", _prepare_sqlite)
            event.listen(engine, "begin", _begin_sqlite)
            return engine
        return create_engine(url, pool_pre_ping=True)
    except ImportError as error:
        raise WorkspaceError(
            f"The database of SPNMKL_DATABASE_URL needs the package {error.name}; run: pip install 'spnmkl[server]'."
        ) from None
    except exc.ArgumentError:
        raise WorkspaceError(
            "SPNMKL_DATABASE_URL is no address of a database; write postgresql://user:password@host/name."
        ) from None


def _prepare_sqlite(connection: sqlite3.Connection, record: object) -> None:
    connection.isolation_level = None  # transactions are begun here, also around changes of the tables
    for setting in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    # Who will write says so at once: a reader that begins to write while another does would be refused, not wait.
    options = connection.get_execution_options()
    patience = options.get(_PATIENCE) or BUSY_SECONDS  # a connection is used again, so that it is set each time
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {1000 * patience:.0f}")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if options.get(_WRITES) else "BEGIN")


@contextmanager
def told(place: Place) -> Iterator[None]:
    """What the disk or the database refuses, in one sentence."""
    try:
        yield
    except exc.DBAPIError as error:
        raise WorkspaceError(_sentence(place, " ".join(str(error.orig).split()))) from error
    except OSError as error:
        if isinstance(error, WorkspaceError):
            raise
        raise WorkspaceError(_sentence(place, error.strerror or str(error))) from error


def _sentence(place: Place, reason: str) -> str:
    low = reason.casefold()
    advice = "look at the folder, or choose another with --workspace"
    if "full" in low or "no space" in low:
        advice = "make room on the disk; what was saved before is safe"
    elif "readonly" in low or "read-only" in low or "permission" in low or "unable to open" in low:
        advice = "allow writing there, or choose another folder with --workspace"
    elif "locked" in low:
        advice = "another program holds it; try again in a moment"
    elif place.url:
        advice = "look at the database of SPNMKL_DATABASE_URL"
    return f"The workspace in {place.shown} cannot be used ({reason[:200].rstrip('.')}); {advice}."


def rows(found: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in found.mappings()]
