"""Preparation: learned from training rows, applied by name, kept as plain data."""

import json

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import Preparation
from spnmkl.errors import DataError
from spnmkl.structure import SPN, Kernel, Product

TRAIN = pd.DataFrame(
    {
        "height": [1.0, 2.0, 3.0, 6.0],
        "same": [0.1, 0.1, 0.1, 0.1],
        "smokes": [True, False, True, True],
        "colour": ["red", "blue", "red", "green"],
    }
)
WITH_HOLES = TRAIN.assign(height=[1.0, None, 3.0, 5.0], colour=["red", "blue", None, "red"])


def test_numbers_are_standardised_and_text_is_coded() -> None:
    X = Preparation.fit(TRAIN).transform(TRAIN)
    assert list(X) == list(TRAIN) and (X.dtypes == np.float64).all()
    assert X["height"].mean() == pytest.approx(0) and X["height"].std(ddof=0) == pytest.approx(1)
    assert X["same"].tolist() == pytest.approx([0, 0, 0, 0], abs=1e-12)
    assert X["smokes"].std(ddof=0) == pytest.approx(1)
    assert X["colour"].tolist() == [2, 0, 2, 1]


def test_numbers_can_be_left_as_they_are() -> None:
    X = Preparation.fit(TRAIN, standardize=False).transform(TRAIN)
    assert X["height"].tolist() == [1, 2, 3, 6]
    assert X["smokes"].tolist() == [1, 0, 1, 1]


def test_new_rows_use_the_training_statistics_and_columns_go_by_name() -> None:
    preparation = Preparation.fit(TRAIN[["height", "colour"]])
    new = pd.DataFrame({"colour": ["blue", "violet"], "extra": ["?", "?"], "height": [3.0, 30.0]}, index=[5, 7])
    X = preparation.transform(new)
    assert list(X) == ["height", "colour"] and X.index.tolist() == [5, 7]
    assert X["height"].tolist() == pytest.approx([0, 27 / TRAIN["height"].std(ddof=0)])
    assert X["colour"].tolist() == [0, 3]


def test_imputation() -> None:
    X = Preparation.fit(WITH_HOLES, standardize=False, impute="mean").transform(WITH_HOLES)
    assert X["height"].tolist() == [1, 3, 3, 5]
    assert X["colour"].tolist() == [1, 0, -1, 1]
    assert Preparation.fit(TRAIN, impute="mean").transform(WITH_HOLES).notna().all(axis=None)


def test_true_and_false_with_holes_are_numbers() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Series([True, None, False], dtype=object)})
    assert Preparation.fit(frame, standardize=False, impute="mean").transform(frame)["b"].tolist() == [1, 0.5, 0]


@pytest.mark.parametrize("frame", [TRAIN, WITH_HOLES])
def test_round_trip_through_json(frame: pd.DataFrame) -> None:
    preparation = Preparation.fit(frame, impute="mean")
    again = Preparation.from_dict(json.loads(json.dumps(preparation.to_dict())))
    assert again == preparation
    pd.testing.assert_frame_equal(again.transform(frame), preparation.transform(frame))


def test_unchanged() -> None:
    X = Preparation.unchanged(["height"]).transform(TRAIN)
    assert X["height"].tolist() == TRAIN["height"].tolist() and list(X) == ["height"]


def fit(**columns: list[object]) -> object:
    return Preparation.fit(pd.DataFrame(columns))


def transform(**columns: list[object]) -> object:
    return Preparation.fit(TRAIN[["height", "colour"]]).transform(pd.DataFrame(columns))


REFUSED = [
    (
        lambda: fit(a=[1, None, None], b=[1, 2, 3], c=["x", None, "y"]),
        "Values are missing in 2 columns: 'a' (2 rows), 'c' (1 row); fill them, drop them, or choose impute='mean' "
        "(--impute mean).",
    ),
    (
        lambda: fit(**{f"c{k}": [1, None] for k in range(10)}),
        "Values are missing in 10 columns: " + ", ".join(f"'c{k}' (1 row)" for k in range(8)) + ", and 2 more; "
        "fill them, drop them, or choose impute='mean' (--impute mean).",
    ),
    (lambda: fit(a=[1, 2], b=[None, None]), "No value stands in 1 column: 'b'; leave them out."),
    (
        lambda: fit(a=[1, np.inf]),
        "Column 'a' holds infinity or a value beyond 1e+100; correct these values.",
    ),
    (
        lambda: Preparation.fit(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        "The column name 'a' stands twice in the table; rename one of them.",
    ),
    (
        lambda: Preparation.fit(TRAIN, impute="median"),  # type: ignore[arg-type]
        "impute must be 'mean' or None, but it is 'median'.",
    ),
    (
        lambda: transform(heigth=[1]),
        "The table lacks 2 columns of training: 'height', 'colour'; the closest name is 'heigth'.",
    ),
    (
        lambda: transform(height=["tall"], colour=["red"]),
        "Column 'height' held numbers in training, but here it holds 'tall'.",
    ),
    (
        lambda: transform(height=[None], colour=["red"]),
        "Values are missing in 1 column: 'height' (1 row); fill them, or train with impute='mean' (--impute mean).",
    ),
    (
        lambda: Preparation.from_dict({"version": 2}),
        "The stored preparation cannot be read: version 2 is unknown.",
    ),
    (
        lambda: Preparation.fit(TRAIN).check_structure(SPN(Product(Kernel("rbf", label="all")))),
        "Kernel 'rbf' of leaf 'all' needs numbers, but it sees the text column 'colour'; use the hamming kernel for "
        "it, or list the columns without it.",
    ),
]


@pytest.mark.parametrize(("attempt", "sentence"), REFUSED)
def test_refused_with_a_sentence(attempt: object, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        attempt()  # type: ignore[operator]
    assert str(refused.value) == sentence


def test_structures_that_suit_the_columns_pass() -> None:
    preparation = Preparation.fit(TRAIN)
    for kernel in (
        Kernel("hamming"),
        Kernel("rbf", features=["height", "smokes"]),
        Kernel("linear", features=[0, 1, 2]),
    ):
        preparation.check_structure(SPN(Product(kernel)))
    with pytest.raises(DataError, match="sees the text column 'colour'"):
        preparation.check_structure(SPN(Product(Kernel("linear", features=[3]))))
