"""A drawing that was made for other columns."""

import numpy as np
import pandas as pd
import pytest

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Dataset
from spnmkl.data.remapping import ALIKE, choices, guessed, lacking, remapped, similar


def dataset(*columns: str, views: dict[str, tuple[str, ...]] | None = None) -> Dataset:
    return Dataset("new", pd.DataFrame(np.zeros((3, len(columns))), columns=list(columns)), views=views or {})


@pytest.fixture
def spn() -> SPN:
    return SPN(
        Sum(
            Product(Kernel("rbf", features=["age"], label="age")),
            Product(Kernel("rbf", features=["mean_a", "mean_b"], label="mean")),
            Product(Kernel("linear", features=["mean_a", "mean_b"], label="mean linear")),
            Product(Kernel("rbf", features=["kept"], label="kept")),
            Product(Kernel("rbf", features=[0])),
            Product(Kernel("rbf")),
        )
    )


def test_each_group_of_columns_is_asked_for_once(spn: SPN) -> None:
    parts = lacking(spn, ["kept", "other"])
    assert [(part.name, part.columns) for part in parts] == [("age", ("age",)), ("mean", ("mean_a", "mean_b"))]
    assert [spn.label(leaf) for leaf in parts[1].leaves] == ["mean", "mean linear"]
    assert lacking(spn, ["age", "kept", "mean_a", "mean_b"]) == []


def test_names_are_compared_without_signs_and_capitals_and_then_by_likeness() -> None:
    assert similar(["Mean-A", "ages", "zzz"], ["mean_a", "age", "width"]) == {"Mean-A": "mean_a", "ages": "age"}


def test_a_column_that_is_there_stays_and_of_two_alike_none_is_taken() -> None:
    known = ["ion-", "ion+", "ph_value"]
    assert similar(["ion+", "ph value", "ion"], known) == {"ion+": "ion+", "ph value": "ph_value"}
    spn = SPN(Sum(Product(Kernel("rbf", features=["ion+", "ph value"], label="chem"))))
    new = dataset(*known)
    parts = lacking(spn, known)
    found = remapped(spn, parts, guessed(parts, new), new)
    assert [found.spec(leaf).features for leaf in found.kernels] == [("ion+", "ph_value")]


def test_guesses(spn: SPN) -> None:
    new = dataset("Age", "Mean A", "Mean B", "kept", "x")
    assert guessed(lacking(spn, new.features), new) == ["Age", ALIKE]
    viewed = dataset("kept", "u", "v", views={"means": ("u", "v")})
    assert guessed(lacking(spn, viewed.features), viewed) == [None, "view means: 2 columns"]


def test_columns_of_like_names(spn: SPN) -> None:
    new = dataset("Age", "Mean A", "Mean B", "kept", "x")
    parts = lacking(spn, new.features)
    found = remapped(spn, parts, guessed(parts, new), new)
    assert lacking(found, new.features) == []
    seen = {found.label(leaf): found.spec(leaf).features for leaf in found.kernels}
    assert seen["Age"] == ("Age",) and seen["mean"] == seen["mean linear"] == ("Mean A", "Mean B")
    assert seen["kept"] == ("kept",)


def test_a_view_gives_its_name_to_what_was_called_after_the_old_one(spn: SPN) -> None:
    new = dataset("kept", "u", "v", views={"colour": ("u", "v")})
    parts = lacking(spn, new.features)
    found = remapped(spn, parts, [None, "view colour: 2 columns"], new)
    assert "view colour: 2 columns" in choices(new)
    assert {"colour", "colour linear"} <= {found.label(leaf) for leaf in found.kernels}
    assert [part.name for part in lacking(found, new.features)] == ["age"]


def test_nothing_chosen_changes_nothing(spn: SPN) -> None:
    new = dataset("q")
    parts = lacking(spn, new.features)
    assert remapped(spn, parts, [None] * len(parts), new) == spn
