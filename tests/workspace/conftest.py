"""A workspace for each test, on SQLite and on PostgreSQL."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from postgres import NOT_THERE, postgres, programs
from sqlalchemy import create_engine, inspect, text

from spnmkl.workspace.place import Place
from spnmkl.workspace.store import WorkspaceStore
from spnmkl.workspace.tables import HEAD, METADATA


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    pytest.importorskip("psycopg", reason="The driver of PostgreSQL is not installed: the half with it was not tested.")
    bin = programs()
    if bin is None:
        pytest.skip(NOT_THERE)
    with postgres(bin) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """Where nothing is yet."""
    if request.param == "sqlite":
        return Place(tmp_path / "workspace")
    url = request.getfixturevalue("server")
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.begin() as connection:
        known = inspect(connection).get_table_names()
        if "alembic_version" in known and connection.execute(text("SELECT * FROM alembic_version")).scalar() == HEAD:
            connection.execute(text(f"TRUNCATE {', '.join(METADATA.tables)} RESTART IDENTITY CASCADE"))
        else:
            connection.execute(text("DROP SCHEMA public CASCADE"))
            connection.execute(text("CREATE SCHEMA public"))
    engine.dispose()
    return Place(tmp_path / "workspace", url)


@pytest.fixture
def store(place: Place) -> Iterator[WorkspaceStore]:
    store = WorkspaceStore(place)
    yield store
    store.close()
