"""Work that goes on, so that all servers of a workspace know of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    key = sa.String(32)
    op.create_table(
        "job",
        sa.Column("id", key, primary_key=True),
        sa.Column("server", key, sa.ForeignKey("server.id", ondelete="CASCADE"), nullable=False),
        sa.Column("person", sa.String(64), nullable=False),
        sa.Column("coming", sa.BigInteger(), nullable=False),
    )
    op.create_index("ix_job_server", "job", ["server"])
