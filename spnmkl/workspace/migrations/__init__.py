"""The migrations of the workspace's tables, run by Alembic when a workspace is opened."""
