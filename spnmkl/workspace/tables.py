"""The tables of the workspace. Times are seconds since 1970; documents are JSON; files are named by their content.

What stands here is what the migrations make of an empty database; a test compares them.
"""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Table, Text

HEAD = "0001"  # the newest migration
_KEY, _DIGEST, _FILE = String(32), String(64), String(80)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _project() -> Column[str]:
    return Column("project", _KEY, ForeignKey("project.id", ondelete="CASCADE"), nullable=False)


# One data set in one use of its columns: `document` is what a project file says of it.
DATASET = Table(
    "dataset",
    METADATA,
    Column("id", _DIGEST, primary_key=True),
    Column("name", Text, nullable=False),
    Column("rows", Integer, nullable=False),
    Column("columns", Integer, nullable=False),
    Column("document", Text, nullable=False),
    Column("table_file", _FILE),
    Column("matrices_file", _FILE),
)

# `revision` counts what was saved, so that two who save one project notice each other. `owner` is empty on a machine
# of one person.
PROJECT = Table(
    "project",
    METADATA,
    Column("id", _KEY, primary_key=True),
    Column("owner", String(64), nullable=False, index=True),
    Column("name", Text, nullable=False),
    Column("created", Double, nullable=False),
    Column("changed", Double, nullable=False),
    Column("deleted", Double),
    Column("revision", Integer, nullable=False),
    Column("document", Text, nullable=False),
    Column("dataset", _DIGEST, ForeignKey("dataset.id")),
)

TAG = Table("tag", METADATA, _project(), Column("name", String(80), nullable=False))
Index("ix_tag_project_name", TAG.c.project, TAG.c.name, unique=True)

# A drawing is kept once, however often somebody returns to it.
DRAWING = Table(
    "drawing", METADATA, Column("digest", _DIGEST, primary_key=True), Column("body", LargeBinary, nullable=False)
)

VERSION = Table(
    "version",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    _project(),
    Column("number", Integer, nullable=False),
    Column("made", Double, nullable=False),
    Column("drawing", _DIGEST, ForeignKey("drawing.digest"), nullable=False),
)
Index("ix_version_project_number", VERSION.c.project, VERSION.c.number, unique=True)

RUN = Table(
    "run",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _project(),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("made", Double, nullable=False),
    Column("deleted", Double),
    Column("file", _FILE, nullable=False),
    Column("dataset", _DIGEST, ForeignKey("dataset.id")),
    Column("document", Text, nullable=False),
)
Index("ix_run_project", RUN.c.project)

# A training that is going on, or was when its server ended.
ATTEMPT = Table(
    "attempt",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _project(),
    Column("server", _KEY, nullable=False),
    Column("dataset", _DIGEST, ForeignKey("dataset.id")),
    Column("seen", Double, nullable=False),
    Column("body", LargeBinary, nullable=False),
)
Index("ix_attempt_project", ATTEMPT.c.project)

# What is known beside runs, one of a `kind`: a comparison, searches for C, what an upload took the place of.
FINDING = Table(
    "finding",
    METADATA,
    Column("id", _KEY, primary_key=True),
    _project(),
    Column("kind", String(20), nullable=False),
    Column("made", Double, nullable=False),
    Column("dataset", _DIGEST, ForeignKey("dataset.id")),
    Column("body", LargeBinary, nullable=False),
)
Index("ix_finding_project", FINDING.c.project)

UPLOAD = Table(
    "upload",
    METADATA,
    _project(),
    Column("position", Integer, nullable=False),
    Column("key", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("file", _FILE, nullable=False),
)
Index("ix_upload_project_position", UPLOAD.c.project, UPLOAD.c.position, unique=True)

# Which project a tab has open; the tab's token itself is not kept.
VISIT = Table(
    "visit",
    METADATA,
    Column("digest", _DIGEST, primary_key=True),
    _project(),
    Column("used", Double, nullable=False, index=True),
)

SERVER = Table(
    "server",
    METADATA,
    Column("id", _KEY, primary_key=True),
    Column("host", Text, nullable=False),
    Column("process", Integer, nullable=False),
    Column("seen", Double, nullable=False),
)
