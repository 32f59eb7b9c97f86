"""The tables of the workspace. Times are seconds since 1970; documents are JSON; files are named by their content.

What stands here is what the migrations make of an empty database; a test compares them.
"""

from __future__ import annotations

from sqlalchemy import Column, Double, ForeignKey, Index, Integer, LargeBinary, MetaData, String, Table, Text

HEAD = "0002"  # the newest migration
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

# Which project a tab has open; the tab's token itself is not kept. `browser` is a digest of what its browser alone
# knows; empty where a token is enough.
VISIT = Table(
    "visit",
    METADATA,
    Column("digest", _DIGEST, primary_key=True),
    _project(),
    Column("used", Double, nullable=False, index=True),
    Column("browser", _DIGEST, nullable=False, server_default=""),
)

SERVER = Table(
    "server",
    METADATA,
    Column("id", _KEY, primary_key=True),
    Column("host", Text, nullable=False),
    Column("process", Integer, nullable=False),
    Column("seen", Double, nullable=False),
)

# Who has logged in: `id` is a digest of the provider and of its subject, which stays when name and mail change.
PERSON = Table(
    "person",
    METADATA,
    Column("id", _DIGEST, primary_key=True),
    Column("name", Text, nullable=False),
    Column("mail", Text, nullable=False),
    Column("first", Double, nullable=False),
    Column("last", Double, nullable=False),
)

# One login, by a digest of its claims; one that has ended opens nothing, whoever still has its cookie.
LOGIN = Table(
    "login",
    METADATA,
    Column("digest", _DIGEST, primary_key=True),
    Column("person", _DIGEST, ForeignKey("person.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("began", Double, nullable=False),
    Column("ended", Double),
)

# Who may read a project beside its owner: a person, or "*" for everybody who is logged in.
SHARE = Table(
    "share",
    METADATA,
    _project(),
    Column("person", _DIGEST, nullable=False, index=True),
    Column("made", Double, nullable=False),
)
Index("ix_share_project_person", SHARE.c.project, SHARE.c.person, unique=True)

# What was done, by whom; the database refuses to change a row, or to remove one before its time.
AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False, index=True),
    Column("who", _DIGEST, nullable=False, index=True),
    Column("what", String(40), nullable=False),
    Column("about", Text, nullable=False),
)
