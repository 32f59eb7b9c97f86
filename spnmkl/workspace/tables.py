"""The tables of the workspace. Times are seconds since 1970; documents are JSON; files are named by their content.

What stands here is what the migrations make of an empty database; a test compares them.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

HEAD = "0003"  # the newest migration
_KEY, _DIGEST, _FILE = String(32), String(64), String(80)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _has(name: str, kind: Any, *more: Any, **options: Any) -> Column[Any]:
    """A column in which every row has something."""
    return Column(name, kind, *more, nullable=False, **options)


def _project() -> Column[str]:
    return _has("project", _KEY, ForeignKey("project.id", ondelete="CASCADE"))


def _dataset() -> Column[str]:
    return Column("dataset", _DIGEST, ForeignKey("dataset.id"))


# One data set in one use of its columns: `document` is what a project file says of it.
DATASET = Table(
    "dataset",
    METADATA,
    Column("id", _DIGEST, primary_key=True),
    _has("name", Text),
    _has("rows", Integer),
    _has("columns", Integer),
    _has("document", Text),
    Column("table_file", _FILE),
    Column("matrices_file", _FILE),
)

# `revision` counts what was saved, so that two who save one project notice each other. `owner` is empty on a machine
# of one person.
PROJECT = Table(
    "project",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _has("owner", String(64), index=True),
    _has("name", Text),
    _has("created", Double),
    _has("changed", Double),
    Column("deleted", Double),
    _has("revision", Integer),
    _has("document", Text),
    _dataset(),
)

TAG = Table("tag", METADATA, _project(), _has("name", String(80)))
Index("ix_tag_project_name", TAG.c.project, TAG.c.name, unique=True)

# A drawing is kept once, however often somebody returns to it.
DRAWING = Table("drawing", METADATA, Column("digest", _DIGEST, primary_key=True), _has("body", LargeBinary))

VERSION = Table(
    "version",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _project(),
    _has("number", Integer),
    _has("made", Double),
    _has("drawing", _DIGEST, ForeignKey("drawing.digest")),
)
Index("ix_version_project_number", VERSION.c.project, VERSION.c.number, unique=True)

RUN = Table(
    "run",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _project(),
    _has("position", Integer),
    _has("name", Text),
    _has("made", Double),
    Column("deleted", Double),
    _has("file", _FILE),
    _dataset(),
    _has("document", Text),
)
Index("ix_run_project", RUN.c.project)

# A training that is going on, or was when its server ended.
ATTEMPT = Table(
    "attempt",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _project(),
    _has("server", _KEY),
    _dataset(),
    _has("seen", Double),
    _has("body", LargeBinary),
)
Index("ix_attempt_project", ATTEMPT.c.project)

# What is known beside runs, one of a `kind`: a comparison, searches for C, what an upload took the place of.
FINDING = Table(
    "finding",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _project(),
    _has("kind", String(20)),
    _has("made", Double),
    _dataset(),
    _has("body", LargeBinary),
)
Index("ix_finding_project", FINDING.c.project)

UPLOAD = Table(
    "upload",
    METADATA,
    _project(),
    _has("position", Integer),
    _has("key", Text),
    _has("name", Text),
    _has("file", _FILE),
)
Index("ix_upload_project_position", UPLOAD.c.project, UPLOAD.c.position, unique=True)

# Which project a tab has open; the tab's token itself is not kept. `browser` is a digest of what its browser alone
# knows; empty where a token is enough.
VISIT = Table(
    "visit",
    METADATA,
    Column("digest", _DIGEST, primary_key=True),
    _project(),
    _has("used", Double, index=True),
    _has("browser", _DIGEST, server_default=""),
)

SERVER = Table(
    "server",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _has("host", Text),
    _has("process", Integer),
    _has("seen", Double),
)

# Work that a server has let in: whose it is, empty where it does not count, and the bytes that it has yet to take.
JOB = Table(
    "job",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _has("server", _KEY, ForeignKey("server.id", ondelete="CASCADE"), index=True),
    _has("person", _DIGEST),
    _has("coming", BigInteger),
)

# Who has logged in: `id` is a digest of the provider and of its subject, which stays when name and mail change.
PERSON = Table(
    "person",
    METADATA,
    Column("id", _DIGEST, primary_key=True),
    _has("name", Text),
    _has("mail", Text),
    _has("first", Double),
    _has("last", Double),
)

# One login, by a digest of its claims; one that has ended opens nothing, whoever still has its cookie.
LOGIN = Table(
    "login",
    METADATA,
    Column("digest", _DIGEST, primary_key=True),
    _has("person", _DIGEST, ForeignKey("person.id", ondelete="CASCADE"), index=True),
    _has("began", Double),
    Column("ended", Double),
)

# Who may read a project beside its owner: a person, or "*" for everybody who is logged in.
SHARE = Table(
    "share",
    METADATA,
    _project(),
    _has("person", _DIGEST, index=True),
    _has("made", Double),
)
Index("ix_share_project_person", SHARE.c.project, SHARE.c.person, unique=True)

# What was done, by whom; the database refuses to change a row, or to remove one before its time.
AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _has("at", Double, index=True),
    _has("who", _DIGEST, index=True),
    _has("what", String(40)),
    _has("about", Text),
)
