"""What several pages' tests need."""

import pytest
from app_pages import Downloads
from streamlit.elements.widgets import button

from spnmkl.ui.parts import estimating


@pytest.fixture(autouse=True)
def without_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scores over folds begin in the tests about them alone: elsewhere they would take time and change words."""
    monkeypatch.setattr(estimating, "AUTOMATIC", False)


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
