"""How much one person may keep on a server, and how much of it is used; asked where it is written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Any, Self
from zlib import crc32

from sqlalchemy import Connection, Table, func, select, text, union

from spnmkl.errors import ParameterError, WorkspaceError
from spnmkl.workspace.database import Database, rows
from spnmkl.workspace.files import FileStore
from spnmkl.workspace.tables import ATTEMPT, DATASET, DRAWING, FINDING, PROJECT, RUN, UPLOAD, VERSION

VARIABLE = "SPNMKL_QUOTA_"
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)b?", re.IGNORECASE)


@dataclass(frozen=True)
class Quotas:
    """What one person may have; 0 is no limit. They hold on servers for others, not on the own machine.

    Attributes
    ----------
    bytes : of files and drawings that are kept, those in the bin among them.
    rows : of all data sets that are kept, together.
    nodes : of one drawing.
    trainings : and other work that was asked for, at once on all servers together; further ones wait.
    """

    bytes: int = 5 * 10**9
    rows: int = 5_000_000
    nodes: int = 1_000
    trainings: int = 2

    @classmethod
    def chosen(cls, environment: Mapping[str, str] | None = None) -> Self:
        """Those that whoever started the server has set: SPNMKL_QUOTA_BYTES=2GB and the like."""
        environment = os.environ if environment is None else environment
        names = [field.name for field in fields(cls)]
        given = {name: environment.get(VARIABLE + name.upper(), "") for name in names}
        return cls(**{name: amount(word, VARIABLE + name.upper()) for name, word in given.items() if word})


def amount(word: str, what: str) -> int:
    """A number with or without a unit: 500, 20k, 2 GB."""
    found = _NUMBER.fullmatch(word.strip())
    if found is None:
        raise ParameterError(f"{what} is a number such as 500, 20k or 2GB, or 0 for no limit; found {word[:40]!r}.")
    return int(float(found[1]) * _UNITS[found[2].lower()])


@dataclass(frozen=True)
class Usage:
    """What one person keeps."""

    bytes: int = 0
    rows: int = 0


class QuotaError(WorkspaceError):
    """More would be kept than one person may."""


class Purse:
    """Holds what is written to the quotas of whom it is for."""

    def __init__(self, database: Database, files: FileStore, quotas: Quotas) -> None:
        self._database, self._files, self.quotas = database, files, quotas

    def usage(self, owner: str) -> Usage:
        with self._database.reading() as connection:
            return self._usage(connection, owner)

    @contextmanager
    def files_within(self, owner: str) -> Iterator[None]:
        """Files that are written in the block fit beside what is there, or are refused before they take room."""
        limit = self.quotas.bytes
        left = max(0, limit - self.usage(owner).bytes) if owner and limit else None
        with self._files.within(left, lambda over: too_many_bytes(limit + over, limit)):
            yield

    @contextmanager
    def watching(self, connection: Connection, owner: str) -> Iterator[None]:
        """A part of a transaction, after which no more may be kept than the quotas allow, unless it was less before."""
        if not owner:
            yield
            return
        if connection.dialect.name != "sqlite":  # where one alone writes
            connection.execute(text("SELECT pg_advisory_xact_lock(1, :key)"), {"key": crc32(owner.encode()) - 2**31})
        before = self._usage(connection, owner)
        yield
        after = self._usage(connection, owner)
        limits = self.quotas
        if limits.bytes and after.bytes > max(limits.bytes, before.bytes):
            raise too_many_bytes(after.bytes, limits.bytes)
        if limits.rows and after.rows > max(limits.rows, before.rows):
            raise QuotaError(
                f"Your data sets would have {after.rows:,} rows together, and one person may keep {limits.rows:,} on "
                "this server; delete a project for good, or load fewer rows."
            )

    def check_nodes(self, owner: str, n_nodes: int) -> None:
        if owner and self.quotas.nodes and n_nodes > self.quotas.nodes:
            raise QuotaError(
                f"The drawing has {n_nodes:,} nodes, and one person's may have {self.quotas.nodes:,} on this server; "
                "take some away."
            )

    def _usage(self, connection: Connection, owner: str) -> Usage:
        mine = select(PROJECT.c.id).where(PROJECT.c.owner == owner)
        known = _datasets(mine).subquery()
        datasets = rows(connection.execute(select(DATASET).join(known, known.c.dataset == DATASET.c.id)))
        by_values = {(row["table_file"], row["matrices_file"]): row["rows"] for row in datasets}
        named = {name for pair in by_values for name in pair if name}
        for table in (RUN, UPLOAD):
            named |= set(connection.execute(select(table.c.file).where(table.c.project.in_(mine))).scalars())
        drawings = select(VERSION.c.drawing).where(VERSION.c.project.in_(mine)).distinct()
        stored = [
            connection.execute(select(func.sum(func.length(body))).where(where)).scalar() or 0
            for body, where in (
                (DRAWING.c.body, DRAWING.c.digest.in_(drawings)),
                (ATTEMPT.c.body, ATTEMPT.c.project.in_(mine)),
                (FINDING.c.body, FINDING.c.project.in_(mine)),
            )
        ]
        return Usage(sum(map(self._files.size, named)) + sum(stored), sum(by_values.values()))


def too_many_bytes(needed: int, limit: int) -> QuotaError:
    return QuotaError(
        f"Your projects would take {needed / 1e9:.3g} GB, and one person may keep {limit / 1e9:.3g} GB on this server; "
        "delete a project and empty the bin, or load less."
    )


def _datasets(mine: Any) -> Any:
    """The data sets that projects name in any way."""
    tables: tuple[Table, ...] = (RUN, ATTEMPT, FINDING)
    of_project = select(PROJECT.c.dataset).where(PROJECT.c.id.in_(mine))
    return union(of_project, *(select(table.c.dataset).where(table.c.project.in_(mine)) for table in tables))
