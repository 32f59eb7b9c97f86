"""People, what they share, and what was done by whom."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
KEPT_SECONDS = 365 * 86_400  # as `spnmkl.workspace.audit` says; a later change of it is a migration of its own

_SQLITE = (
    "CREATE TRIGGER audit_update BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END",
    "CREATE TRIGGER audit_delete BEFORE DELETE ON audit WHEN OLD.at > CAST(strftime('%s', 'now') AS REAL) - {kept} "
    "BEGIN SELECT RAISE(ABORT, 'the audit log is append only'); END",
)
_POSTGRESQL = (
    "CREATE FUNCTION audit_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_OP = 'DELETE' AND OLD.at <= extract(epoch FROM now()) - {kept} THEN RETURN OLD; END IF; "
    "RAISE EXCEPTION 'the audit log is append only'; END $$",
    "CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON audit "
    "FOR EACH ROW EXECUTE FUNCTION audit_append_only()",
)


def upgrade() -> None:
    key, digest = sa.String(32), sa.String(64)

    def required(name: str, type: sa.types.TypeEngine) -> sa.Column:
        return sa.Column(name, type, nullable=False)

    op.add_column("visit", sa.Column("browser", digest, nullable=False, server_default=""))
    op.create_table(
        "person",
        sa.Column("id", digest, primary_key=True),
        required("name", sa.Text()),
        required("mail", sa.Text()),
        required("first", sa.Double()),
        required("last", sa.Double()),
    )
    op.create_table(
        "login",
        sa.Column("digest", digest, primary_key=True),
        sa.Column("person", digest, sa.ForeignKey("person.id", ondelete="CASCADE"), nullable=False),
        required("began", sa.Double()),
        sa.Column("ended", sa.Double()),
    )
    op.create_table(
        "share",
        sa.Column("project", key, sa.ForeignKey("project.id", ondelete="CASCADE"), nullable=False),
        required("person", digest),
        required("made", sa.Double()),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=True),
        required("at", sa.Double()),
        required("who", digest),
        required("what", sa.String(40)),
        required("about", sa.Text()),
    )
    op.create_index("ix_login_person", "login", ["person"])
    op.create_index("ix_share_person", "share", ["person"])
    op.create_index("ix_share_project_person", "share", ["project", "person"], unique=True)
    op.create_index("ix_audit_at", "audit", ["at"])
    op.create_index("ix_audit_who", "audit", ["who"])
    for statement in _SQLITE if op.get_bind().dialect.name == "sqlite" else _POSTGRESQL:
        op.execute(statement.format(kept=KEPT_SECONDS))
