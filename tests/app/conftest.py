"""What several pages' tests need."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from app_pages import Downloads
from streamlit.elements.widgets import button

from spnmkl.ui.parts import estimating, session
from spnmkl.ui.state.keeping import Keeper
from spnmkl.ui.state.workspace import Workspace
from spnmkl.workspace.place import Place
from spnmkl.workspace.store import WorkspaceStore


@pytest.fixture(autouse=True)
def without_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores over folds begin in the tests about them alone: elsewhere they would take time and change words."""
    monkeypatch.setattr(estimating, "AUTOMATIC", False)


@pytest.fixture(autouse=True)
def set_by_hand(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings choose in the tests about that alone, marked so: elsewhere they are as set, which is much quicker."""
    if request.node.get_closest_marker("chooses") is None:
        monkeypatch.setattr(Workspace, "chooses", False)


@pytest.fixture(scope="session")
def empty_workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once: the migrations take longer than most tests."""
    folder = tmp_path_factory.mktemp("empty")
    WorkspaceStore(Place(folder)).close()
    return folder


@pytest.fixture(autouse=True)
def own_workspace(
    empty_workspace: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Path]:
    """An empty workspace on disk for each test, and nobody else's tabs."""
    folder = tmp_path_factory.mktemp("workspace")
    shutil.copytree(empty_workspace, folder, dirs_exist_ok=True)
    keeper = Keeper(lambda: WorkspaceStore(Place(folder)), session.STORE)
    monkeypatch.setattr(session, "KEEPER", keeper)
    yield folder
    keeper.close()


@pytest.fixture
def downloads(monkeypatch: pytest.MonkeyPatch) -> Downloads:
    """What the download buttons of the last run of the page would give, by file name."""
    kept: Downloads = {}
    marshall = button.marshall_file

    def keep(coordinates: str, data: object, *more: object, **named: object) -> object:
        content = data() if callable(data) else data
        kept[str(named.get("file_name", more[-1]))] = content.encode() if isinstance(content, str) else content
        return marshall(coordinates, data, *more, **named)

    monkeypatch.setattr(button, "marshall_file", keep)
    return kept
