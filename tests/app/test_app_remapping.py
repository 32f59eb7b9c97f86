"""A drawing under which other data were loaded."""

import pandas as pd
import pytest
from app_pages import bring, fine, labelled, opened, spn, texts, undo
from streamlit.testing.v1 import AppTest

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Dataset, load_sample

DRAWN = SPN(
    Sum(
        Product(Kernel("rbf", features=["Alcohol %"], label="strength")),
        Product(Kernel("linear", features=["HUE", "ASH"], label="look")),
        Product(Kernel("rbf", features=["qqq"], label="<b>odd</b>")),
    )
)
CHOOSE, USE = "Choose columns for it", "Use these columns"


@pytest.fixture
def at() -> AppTest:
    return bring(opened(), load_sample("wine"), DRAWN)


@pytest.mark.parametrize("page", ["design", "train"])
def test_columns_are_guessed_and_taken_as_one_edit(at: AppTest, page: str) -> None:
    at.switch_page(f"pages/{page}.py").run()
    assert "made for other data" in texts(at)
    labelled(at.button, CHOOSE).click().run()
    assert "1 kernel without columns: rbf · \\<b\\>odd\\</b\\>." in texts(at)
    fine(labelled(at.button, USE).click().run())
    seen = {spn(at).label(leaf): spn(at).spec(leaf).features for leaf in spn(at).kernels}
    assert seen["strength"] == ("alcohol",) and seen["look"] == ("hue", "ash")
    assert "1 column of this drawing not in the loaded data: 'qqq'." in texts(at)
    undo(at.switch_page("pages/design.py").run(), DRAWN)
    assert {spn(at).spec(leaf).features for leaf in spn(at).kernels} == {("Alcohol %",), ("HUE", "ASH"), ("qqq",)}


def test_without_a_similar_name_nothing_is_guessed(at: AppTest) -> None:
    bring(at, Dataset("t", pd.DataFrame({"y": ["u", "v"] * 3, "zz": range(6)}), "y"), DRAWN)
    labelled(at.button, CHOOSE).click().run()
    assert "3 kernels without columns" in texts(at)
    assert labelled(at.button, USE).disabled
