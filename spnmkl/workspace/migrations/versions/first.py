"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    key, digest, file = sa.String(32), sa.String(64), sa.String(80)

    def project() -> sa.Column[str]:
        return sa.Column("project", key, sa.ForeignKey("project.id", ondelete="CASCADE"), nullable=False)

    def dataset() -> sa.Column[str]:
        return sa.Column("dataset", digest, sa.ForeignKey("dataset.id"))

    def required(name: str, type: sa.types.TypeEngine) -> sa.Column:
        return sa.Column(name, type, nullable=False)

    def table(name: str, *columns: sa.Column) -> None:
        op.create_table(name, *columns)

    table(
        "dataset",
        sa.Column("id", digest, primary_key=True),
        required("name", sa.Text()),
        required("rows", sa.Integer()),
        required("columns", sa.Integer()),
        required("document", sa.Text()),
        sa.Column("table_file", file),
        sa.Column("matrices_file", file),
    )
    table(
        "project",
        sa.Column("id", key, primary_key=True),
        required("owner", sa.String(64)),
        required("name", sa.Text()),
        required("created", sa.Double()),
        required("changed", sa.Double()),
        sa.Column("deleted", sa.Double()),
        required("revision", sa.Integer()),
        required("document", sa.Text()),
        dataset(),
    )
    table("tag", project(), required("name", sa.String(80)))
    table("drawing", sa.Column("digest", digest, primary_key=True), required("body", sa.LargeBinary()))
    table(
        "version",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        project(),
        required("number", sa.Integer()),
        required("made", sa.Double()),
        sa.Column("drawing", digest, sa.ForeignKey("drawing.digest"), nullable=False),
    )
    table(
        "run",
        sa.Column("id", key, primary_key=True),
        project(),
        required("position", sa.Integer()),
        required("name", sa.Text()),
        required("made", sa.Double()),
        sa.Column("deleted", sa.Double()),
        required("file", file),
        dataset(),
        required("document", sa.Text()),
    )
    table(
        "attempt",
        sa.Column("id", key, primary_key=True),
        project(),
        required("server", key),
        dataset(),
        required("seen", sa.Double()),
        required("body", sa.LargeBinary()),
    )
    table(
        "finding",
        sa.Column("id", key, primary_key=True),
        project(),
        required("kind", sa.String(20)),
        required("made", sa.Double()),
        dataset(),
        required("body", sa.LargeBinary()),
    )
    table(
        "upload",
        project(),
        required("position", sa.Integer()),
        required("key", sa.Text()),
        required("name", sa.Text()),
        required("file", file),
    )
    table("visit", sa.Column("digest", digest, primary_key=True), project(), required("used", sa.Double()))
    table(
        "server",
        sa.Column("id", key, primary_key=True),
        required("host", sa.Text()),
        required("process", sa.Integer()),
        required("seen", sa.Double()),
    )
    for name, columns, unique in (
        ("project", ["owner"], False),
        ("tag", ["project", "name"], True),
        ("version", ["project", "number"], True),
        ("run", ["project"], False),
        ("attempt", ["project"], False),
        ("finding", ["project"], False),
        ("upload", ["project", "position"], True),
        ("visit", ["used"], False),
    ):
        op.create_index(f"ix_{name}_{'_'.join(columns)}", name, columns, unique=unique)
