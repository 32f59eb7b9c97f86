"""Runs migrations on the connection that `spnmkl.workspace.database` holds, in its transaction."""

from __future__ import annotations

from alembic import context

from spnmkl.workspace.tables import METADATA


def run() -> None:
    connection = context.config.attributes["connection"]
    context.configure(connection=connection, target_metadata=METADATA, transactional_ddl=False)
    with context.begin_transaction():
        context.run_migrations()


if __name__ == "env_py":  # as Alembic calls it
    run()
