"""Preparation: learned from training rows, applied by name, kept as plain data."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnmkl.data import Choices, Dataset, Preparation, contradictions, misread_text, problems, sees_text
from spnmkl.errors import DataError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.kernels import kernel_names, register_kernel, registry
from spnmkl.model_file import load_model, save_model
from spnmkl.structure import SPN, Kernel, Product, Sum

TRAIN = pd.DataFrame(
    {
        "height": [1.0, 2.0, 3.0, 6.0],
        "same": [0.1, 0.1, 0.1, 0.1],
        "smokes": [True, False, True, True],
        "colour": ["red", "blue", "red", "green"],
    }
)
WITH_HOLES = TRAIN.assign(height=[1.0, None, 3.0, 5.0], colour=["red", "blue", None, "red"])
FILLED, AS_IS = Choices(missing="mean"), Choices("as is", "mean")


def test_numbers_are_standardised_and_text_is_coded() -> None:
    X = Preparation.fit(TRAIN).transform(TRAIN)
    assert list(X) == list(TRAIN) and (X.dtypes == np.float64).all()
    assert X["height"].mean() == pytest.approx(0) and X["height"].std(ddof=0) == pytest.approx(1)
    assert X["same"].tolist() == pytest.approx([0, 0, 0, 0], abs=1e-12)
    assert X["smokes"].std(ddof=0) == pytest.approx(1)
    assert X["colour"].tolist() == [2, 0, 2, 1]


def test_numbers_can_be_left_as_they_are() -> None:
    X = Preparation.fit(TRAIN, Choices(numeric="as is")).transform(TRAIN)
    assert X["height"].tolist() == [1, 2, 3, 6]
    assert X["smokes"].tolist() == [1, 0, 1, 1]


def test_only_training_rows_are_learned_from() -> None:
    preparation = Preparation.fit(TRAIN, rows=np.array([0, 1]))
    alone = Preparation.fit(TRAIN.iloc[:2])
    assert preparation == alone == Preparation.fit(TRAIN, rows=np.array([True, True, False, False]))
    assert preparation.transform(TRAIN)["colour"].tolist() == [1, 0, 1, 2]


def test_new_rows_use_the_training_statistics_and_columns_go_by_name() -> None:
    preparation = Preparation.fit(TRAIN[["height", "colour"]])
    new = pd.DataFrame({"colour": ["blue", "violet"], "extra": ["?", "?"], "height": [3.0, 30.0]}, index=[5, 7])
    X = preparation.transform(new)
    assert list(X) == ["height", "colour"] and X.index.tolist() == [5, 7]
    assert X["height"].tolist() == pytest.approx([0, 27 / TRAIN["height"].std(ddof=0)])
    assert X["colour"].tolist() == [0, 3]


def test_codes_read_as_numbers_are_the_same_text() -> None:
    preparation = Preparation.fit(pd.DataFrame({"c": ["1", "2", "x"]}))
    assert preparation.transform(pd.DataFrame({"c": [2, 1]}))["c"].tolist() == [1, 0]
    assert Preparation.fit(pd.DataFrame({"c": ["1", "x"]}), FILLED).transform(pd.DataFrame({"c": [1, None]}))[
        "c"
    ].tolist() == [0, -1]


def test_imputation() -> None:
    X = Preparation.fit(WITH_HOLES, AS_IS).transform(WITH_HOLES)
    assert X["height"].tolist() == [1, 3, 3, 5]
    assert X["colour"].tolist() == [1, 0, -1, 1]
    assert Preparation.fit(TRAIN, FILLED).transform(WITH_HOLES).notna().all(axis=None)
    skewed = pd.DataFrame({"a": [1, 2, 9, None]})
    assert Preparation.fit(skewed, Choices("as is", "median")).transform(skewed)["a"].tolist() == [1, 2, 9, 2]


def test_true_and_false_with_holes_are_numbers() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": pd.Series([True, None, False], dtype=object)})
    assert Preparation.fit(frame, AS_IS).transform(frame)["b"].tolist() == [1, 0.5, 0]


def test_rows_can_be_left_out() -> None:
    preparation = Preparation.fit(WITH_HOLES, Choices("as is", "drop rows"))
    usable = preparation.usable(WITH_HOLES)
    assert usable.tolist() == [True, False, False, True]
    assert preparation.transform(WITH_HOLES[usable]).index.tolist() == [0, 3]
    assert preparation.text == ("colour",) and preparation.columns[3].categories == ("red",)  # type: ignore[union-attr]
    assert Preparation.fit(WITH_HOLES, FILLED).usable(WITH_HOLES).all()


def test_columns_can_be_left_out() -> None:
    preparation = Preparation.fit(WITH_HOLES, Choices(missing="drop columns"))
    assert preparation.dropped == ("height", "colour") and preparation.outputs == ("same", "smokes")
    assert preparation.usable(WITH_HOLES).all()
    assert Preparation.fit(TRAIN, Choices(categorical="drop")).outputs == ("height", "same", "smokes")


def test_one_hot() -> None:
    preparation = Preparation.fit(WITH_HOLES, Choices("as is", "mean", "one-hot"))
    assert preparation.outputs == ("height", "same", "smokes", "colour=blue", "colour=red", "colour=(missing)")
    X = preparation.transform(WITH_HOLES.assign(colour=["red", "violet", None, "blue"]))
    assert X.iloc[:, 3:].to_numpy().tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]


LEAVES = SPN(
    Sum(
        Product(Kernel("rbf", features=["height", "colour"], label="both")),
        Product(Kernel("hamming", features=[3], label="by position")),
        Product(Kernel("linear", features=["height"], label="number")),
        Product(Kernel("linear", label="all")),
        Product(Kernel("precomputed", label="matrix")),
    )
)


def features(spn: SPN) -> dict[str, object]:
    return {spn.label(leaf): spn.spec(leaf).features for leaf in spn.kernels}


def test_leaves_name_original_columns() -> None:
    hot = Preparation.fit(TRAIN, Choices(categorical="one-hot"))
    colours = ("colour=blue", "colour=green", "colour=red")
    assert features(hot.mapped(LEAVES)) == {
        "both": ("height", *colours),
        "by position": colours,
        "number": ("height",),
        "all": None,
        "matrix": None,
    }
    hot.check_structure(LEAVES)
    assert Preparation.fit(TRAIN).mapped(LEAVES) is LEAVES
    numbers = SPN(Product(Kernel("rbf", features=["height", "colour"])))
    assert features(Preparation.fit(TRAIN, Choices(categorical="drop")).mapped(numbers)) == {"k1": ("height",)}


def test_it_travels_with_a_model(tmp_path: object) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=40), "c": rng.choice(["u", "v", "w"], 40)})
    frame.loc[3, "x"] = None
    y = np.where(frame["c"] == "u", "yes", "no")
    preparation = Preparation.fit(frame, Choices(missing="median", categorical="one-hot"))
    spn = preparation.mapped(SPN(Product(Kernel("rbf", features=["x", "c"]))))
    model = SPNMKLClassifier(spn, C=10.0).fit(preparation.transform(frame), y)
    path = f"{tmp_path}/m.spnmkl"
    save_model(model, path, {"preparation": preparation.to_dict()})
    loaded = load_model(path)
    again = Preparation.from_dict(loaded.extra_["preparation"])
    assert again == preparation
    assert loaded.predict(again.transform(frame)).tolist() == model.predict(preparation.transform(frame)).tolist()


cells = {
    "x": st.one_of(st.none(), st.floats(-1e6, 1e6)),
    "b": st.booleans(),
    "c": st.one_of(st.none(), st.sampled_from(["u", "v", "w"]), st.text("αβ=<>'\"\\ \n", min_size=1, max_size=4)),
    "z": st.floats(-1, 1),
}
choices = st.builds(
    Choices,
    numeric=st.sampled_from(["standardize", "as is"]),
    missing=st.sampled_from(["refuse", "mean", "median", "drop rows", "drop columns"]),
    categorical=st.sampled_from(["codes", "one-hot", "drop"]),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.fixed_dictionaries(cells), min_size=2, max_size=12), choices)
def test_round_trip_through_json(rows: list[dict[str, object]], chosen: Choices) -> None:
    frame = pd.DataFrame(rows).astype({"x": float})
    try:
        preparation = Preparation.fit(frame, chosen)
    except DataError:
        # Only holes can be refused here.
        assert frame.isna().any(axis=None)
        return
    again = Preparation.from_dict(json.loads(json.dumps(preparation.to_dict(), allow_nan=False)))
    assert again == preparation
    usable = frame[preparation.usable(frame)]
    X = again.transform(usable)
    pd.testing.assert_frame_equal(X, preparation.transform(usable))
    assert len(X) == len(usable) and np.isfinite(X.to_numpy()).all() and tuple(X) == preparation.outputs
    assert chosen.missing in ("refuse", "drop rows", "drop columns") or len(X) == len(frame)
    # A row is transformed alike alone and in company.
    np.testing.assert_array_equal(again.transform(usable.iloc[:1]), X.iloc[:1])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.fixed_dictionaries(cells), min_size=4, max_size=12), st.sampled_from(["mean", "median"]))
def test_other_rows_change_nothing(rows: list[dict[str, object]], missing: str) -> None:
    frame = pd.DataFrame(rows).astype({"x": float})
    chosen = Choices(missing=missing)  # type: ignore[arg-type]
    if not frame.iloc[:2].isna().all().any():
        assert Preparation.fit(frame, chosen, rows=[0, 1]) == Preparation.fit(frame.iloc[:2], chosen)


def test_unchanged() -> None:
    X = Preparation.unchanged(["height"]).transform(TRAIN)
    assert X["height"].tolist() == TRAIN["height"].tolist() and list(X) == ["height"]


def fit(chosen: Choices | None = None, **columns: list[object]) -> object:
    return Preparation.fit(pd.DataFrame(columns), chosen)


def transform(**columns: list[object]) -> object:
    return Preparation.fit(TRAIN[["height", "colour"]]).transform(pd.DataFrame(columns))


REFUSED = [
    (
        lambda: fit(a=[1, None, None], b=[1, 2, 3], c=["x", None, "y"]),
        "Values are missing in 2 columns: 'a' (2 rows), 'c' (1 row); fill them, or choose what to do with them: mean, "
        "median, drop rows or drop columns.",
    ),
    (
        lambda: fit(**{f"c{k}": [1, None] for k in range(10)}),
        "Values are missing in 10 columns: " + ", ".join(f"'c{k}' (1 row)" for k in range(8)) + " and 2 more; "
        "fill them, or choose what to do with them: mean, median, drop rows or drop columns.",
    ),
    (lambda: fit(a=[1, 2], b=[None, None]), "No value stands in 1 column: 'b'; leave them out."),
    (
        lambda: fit(Choices(missing="drop rows"), a=[1, None], b=[None, 1]),
        "No row without a missing value is left to learn from; fill missing values instead.",
    ),
    (
        lambda: fit(Choices(categorical="drop"), a=["x", "y"]),
        "No column is left to learn from without 'a'; choose otherwise.",
    ),
    (lambda: Preparation.fit(pd.DataFrame(index=[0, 1])), "No column is left to learn from; add columns."),
    (
        lambda: fit(Choices(categorical="one-hot"), **{"a": ["x", "y"], "a=x": [1, 2]}),
        "One-hot columns need the name 'a=x', which stands in the table; rename it.",
    ),
    (
        lambda: fit(a=[1, np.inf]),
        "Column 'a' holds infinity or a value beyond 1e+100; correct these values.",
    ),
    (
        lambda: Preparation.fit(pd.DataFrame([[1, 2]], columns=["a", "a"])),
        "The column name 'a' stands twice in the table; rename one of them.",
    ),
    (
        lambda: Choices(missing="guess"),  # type: ignore[arg-type]
        "The choice for missing must be 'refuse', 'mean', 'median', 'drop rows' or 'drop columns', but it is 'guess'.",
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
        "Values are missing in 1 column: 'height' (1 row); fill them, or train with a choice that fills them: mean or "
        "median.",
    ),
    (
        lambda: Preparation.from_dict({"version": 3}),
        "The stored preparation cannot be read: version 3 is unknown.",
    ),
    (lambda: Preparation.from_dict({}), "The stored preparation cannot be read: 'version' is missing."),
    (
        lambda: Preparation.from_dict({"version": 1, "choices": {}, "columns": [{"kind": "magic", "name": "a"}]}),
        "The stored preparation cannot be read: a column of kind 'magic' is unknown.",
    ),
    (
        lambda: Preparation.from_dict(
            {
                "version": 1,
                "choices": {},
                "columns": [{"kind": "numeric", "name": "a", "shift": 0, "scale": 0, "fill": None}],
            }
        ),
        "The stored preparation cannot be read: column 'a' has no finite scale and shift.",
    ),
    (
        lambda: Preparation.fit(TRAIN).check_structure(SPN(Product(Kernel("rbf", label="all")))),
        "Kernel 'rbf' of leaf 'all' needs numbers, but it sees the text column 'colour'; use the hamming kernel for "
        "it, or list the columns without it.",
    ),
    (
        lambda: Preparation.fit(TRAIN, Choices(categorical="drop")).mapped(LEAVES),
        "Leaf 'by position' sees only columns that are left out: 'colour'; choose others, or remove the leaf.",
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


@pytest.mark.parametrize("kernel", kernel_names())
def test_a_kernel_sees_text_only_where_it_is_made_for_categories(kernel: str) -> None:
    spn = SPN(Product(Kernel(kernel)))
    refused = [message for _, message in sees_text(spn, ["colour"], list(TRAIN))]
    assert bool(refused) == (kernel not in {"hamming", "precomputed"})


@pytest.mark.parametrize("categories", [None, False, True])
def test_a_kernel_of_ones_own_says_whether_it_takes_categories(
    categories: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))
    register_kernel("own", np.inner, **({} if categories is None else {"categories": categories}))
    assert bool(list(sees_text(SPN(Product(Kernel("own"))), ["colour"], list(TRAIN)))) == (not categories)


def test_an_unknown_kernel_is_refused_elsewhere() -> None:
    spn = SPN.from_json(SPN(Product(Kernel("rbf"))).to_json().replace("rbf", "no such"))
    assert not list(sees_text(spn, ["colour"], list(TRAIN)))


MIXED = WITH_HOLES.assign(
    lab=["1", "2", "<5", "4"], name=["a", "b", "c", "d"], big=[1, 2, 3, np.inf], y=["u", "v", "v", "u"]
)
MIXED = pd.concat([MIXED, pd.DataFrame({"big": [-np.inf]})], ignore_index=True)  # nothing is told of who has no label
STANDARD = "4 numeric columns: scaled to mean 0 and spread 1 over the training rows."
BIG = "Infinity or a value beyond 1e+100, which training refuses: 'big'; correct it."
SAME = "1 column with one value only, which tell nothing: 'same'."
NAMED = "Text column 'name' is different in every row and tells nothing of new ones: ignore it."
LAB = "Text column 'lab' is different in every row and tells nothing of new ones: ignore it."
TEXTS = "3 text columns ('colour', 'lab', 'name')"
NOTES = [
    (
        Choices(),
        [
            "2 values missing in 2 columns ('height', 'colour'): training refuses them until you choose to fill them, "
            "or to leave out these rows or columns.",
            BIG,
            STANDARD,
            SAME,
            f"{TEXTS}: compared value by value by the hamming kernel; kernels for numbers cannot use them.",
            LAB,
            NAMED,
        ],
    ),
    (
        Choices("as is", "median", "one-hot"),
        [
            "1 number missing in 1 column ('height'): filled with the median of the training rows.",
            "1 text missing in 1 column ('colour'): a value of its own.",
            BIG,
            SAME,
            f"{TEXTS}: become 11 columns of 0 and 1, one for each value.",
            LAB,
            NAMED,
        ],
    ),
    (
        Choices("as is", "drop rows", "drop"),
        ["1 of 4 rows with missing values: left out.", BIG, SAME, f"{TEXTS}: left out."],
    ),
    (
        Choices(missing="drop columns"),
        [
            "2 of 7 columns with missing values: left out ('height', 'colour').",
            BIG,
            STANDARD.replace("4", "3"),
            SAME,
            "2 text columns ('lab', 'name'): compared value by value by the hamming kernel; kernels for numbers cannot "
            "use them.",
            LAB,
            NAMED,
        ],
    ),
    (
        Choices("as is", "drop columns", "drop"),
        [
            "1 of 4 columns with missing values: left out ('height').",
            BIG,
            SAME,
            f"{TEXTS}: left out.",
        ],
    ),
]


@pytest.mark.parametrize(("chosen", "notes"), NOTES)
def test_what_will_happen_is_said_before(chosen: Choices, notes: list[str]) -> None:
    assert problems(Dataset("d", MIXED, "y"), chosen) == ["1 row without a label: left out.", *notes]


def test_problems_of_text_and_labels() -> None:
    frame = pd.DataFrame({"lab": ["1", "2", "3", "2", "<5", "1"], "none": [None] * 6})
    assert problems(Dataset("d", frame), Choices(missing="mean")) == [
        "No label is chosen yet; choose the column that holds the classes.",
        "No value in 1 column, which training refuses: 'none'; ignore them.",
        "2 text columns ('lab', 'none'): compared value by value by the hamming kernel; kernels for numbers cannot use "
        "them.",
        "Text column 'lab' holds numbers but for 1 row, such as '<5'; correct these values, or count them as missing.",
    ]
    assert problems(Dataset("d", TRAIN.assign(y=list("uvuv")), "y"), rows=[0, 1])[0] == STANDARD.replace("4", "3")


SAID = "{} in {} are equal in all columns but differ in their label; no method can get all of them right."


def test_equal_rows_with_different_labels_are_told() -> None:
    frame = pd.DataFrame(
        {
            "a": [1.0, 1.0, 1.0, -0.0, 0.0, 2.0, 2.0, None, None, 9.0],
            "word": ["u", "u", "u", "v", "v", "w", "x", "y", "y", "z"],
            "id": list("abcdefghij"),
            "label": ["p", "q", "p", "p", "q", "p", "q", "q", "p", None],
        }
    )
    data = Dataset("d", frame, "label", ignored=("id",))
    told = {
        Choices(missing="mean"): [SAID.format("7 rows", "3 groups")],
        Choices(missing="drop rows"): [SAID.format("5 rows", "2 groups")],
        Choices(missing="drop columns"): [SAID.format("7 rows", "3 groups")],
        Choices(missing="mean", categorical="drop"): [SAID.format("9 rows", "4 groups")],
    }
    for choices, notes in told.items():
        assert contradictions(data, choices) == notes == problems(data, choices)[-1:]
    without = (
        data.with_ignored([]),
        data.with_label(None),
        data.with_label("word"),
        data.with_ignored(["a", "word", "id"]),
    )
    matrices = Dataset("d", frame, "label", ("id",), matrices={"K": np.eye(10)})
    for other in (*without, matrices):
        assert contradictions(other, Choices(missing="mean")) == []


def test_equal_rows_are_found_in_a_large_table() -> None:
    X = np.random.default_rng(0).normal(size=(20_000, 100))
    X[1::2] = X[::2]
    frame = pd.DataFrame(X).rename(columns=str).assign(y=np.arange(20_000) % 4 // 3)
    (said,) = contradictions(Dataset("d", frame, "y"), Choices())
    assert said == SAID.format("10,000 rows", "5,000 groups")


@pytest.mark.parametrize("dates", [["2020-01-31", "2021-2-1 10:00"], ["31.1.2020", "1/2/2021"]])
def test_dates_are_told_to_be_text(dates: list[str]) -> None:
    frame = pd.DataFrame({"when": [*dates, None] * 5, "x": np.arange(15.0), "y": ["u", "v", "u"] * 5})
    dataset = Dataset("visits", frame, "y")
    said = (
        f"Column 'when' holds dates, such as '{dates[0]}', which are text here: two of them are the same or not, and "
        "neither their order nor the days between them count. Turn them into numbers, such as days since a first date, "
        "or leave the column out."
    )
    assert said in problems(dataset, Choices())
    assert misread_text(frame) == [said] and not misread_text(frame.assign(when="1-2-3"))
    stamps = frame.assign(when=pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"] * 5))
    assert "such as '2020-01-01'" in misread_text(stamps)[0]
