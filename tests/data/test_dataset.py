"""What columns are for, what stands in them, and how rows are split."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnmkl.data import Dataset, class_balance, guess_label, split_rows, summarize, summarize_views
from spnmkl.errors import DataError


def clinic(n: int = 40) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sample_id": np.arange(n) + 100,
            "patient": np.repeat([f"P{k}" for k in range(n // 4)], 4),
            "blood__crp": rng.normal(size=n),
            "blood__hb": rng.normal(size=n),
            "body__bmi": rng.normal(size=n),
            "sex": rng.choice(["f", "m"], n),
            "empty": np.nan,
            "note": [f"note {k}" for k in range(n)],
            "outcome": np.arange(n) % 2,
        }
    )


def test_everything_is_guessed() -> None:
    dataset = Dataset.guess("clinic", clinic())
    assert (dataset.label, dataset.group) == ("outcome", "patient")
    assert dataset.ignored == ("sample_id", "empty", "note")
    assert dataset.features == ("blood__crp", "blood__hb", "body__bmi", "sex")
    assert dataset.numeric == ("blood__crp", "blood__hb", "body__bmi") and dataset.categorical == ("sex",)
    assert dataset.views == {"blood": ("blood__crp", "blood__hb"), "body": ("body__bmi",)}


@pytest.mark.parametrize(
    ("columns", "label"),
    [
        ({"Class": "ab", "y": "ab"}, "Class"),
        ({"x": [0.5, 1.5], "z": "ab"}, "z"),
        ({"z": "ab", "x": [0.5, 1.5]}, "z"),
        ({"x": [0.5, 1.5], "z": "ab", "w": [0.1, 0.2]}, "z"),
        ({"x": [0.5, 1.5], "w": [1, 2]}, "w"),
        ({"x": [0.5, 1.5], "w": [0.1, 0.2]}, None),
        ({"label": "aa", "x": [0.5, 1.5]}, None),
        ({}, None),
    ],
)
def test_guessed_labels(columns: dict[str, object], label: str | None) -> None:
    frame = pd.DataFrame({name: list(values) * 3 for name, values in columns.items()})  # type: ignore[call-overload]
    assert guess_label(frame) == label


def test_roles_can_be_changed() -> None:
    dataset = Dataset.guess("clinic", clinic())
    assert dataset.with_label("note").ignored == ("sample_id", "empty")
    assert dataset.with_label("patient").group is None
    assert dataset.with_group("sample_id").ignored == ("empty", "note")
    changed = dataset.with_ignored(["blood__hb", "outcome"])
    assert changed.ignored == ("blood__hb",) and changed.feature_views["blood"] == ("blood__crp",)
    assert dataset.with_views({"all": ["sex", "outcome"]}).feature_views == {"all": ("sex",)}
    assert dataset.with_views({}).views_by_prefix("_").views.keys() == {"blood", "body"}
    assert dataset.with_views({}).template("flat").formula(latex=False).count("β") == 4


def test_rows_without_a_label_can_be_left_out() -> None:
    frame = clinic().assign(outcome=["yes", "no", None, "no"] * 10)
    dataset = Dataset("clinic", frame, "outcome", matrices={"K": np.eye(40)})
    assert dataset.n_unlabelled == 10 and len(dataset.labelled().y) == 30
    assert dataset.labelled().matrices["K"].shape == (30, 30)
    assert class_balance(dataset).to_dict("list") == {"class": ["no", "yes"], "rows": [20, 10], "share": [2 / 3, 1 / 3]}


def test_a_summary_without_columns_or_labels() -> None:
    matrices = Dataset("k", pd.DataFrame(index=range(3)), matrices={"K": np.eye(3)})
    assert len(summarize(matrices)) == 0
    assert list(summarize(matrices)) == list(summarize(Dataset("clinic", clinic())))
    assert len(class_balance(Dataset("d", pd.DataFrame({"y": [np.nan, np.nan]}), "y"))) == 0


REFUSED = [
    (lambda: Dataset("d", clinic(), "outcom"), "There is no column 'outcom'; the closest name is 'outcome'."),
    (
        lambda: Dataset("d", clinic(), "sex", group="sex"),
        "Column 'sex' cannot be the label and the group; choose another for one.",
    ),
    (
        lambda: Dataset("d", clinic(), matrices={"K": np.eye(3)}),
        "Matrix 'K' is 3 × 3, but the table has 40 rows; give matrices over the same samples.",
    ),
    (lambda: Dataset("d", clinic()).y, "No label is chosen; choose the column that holds the classes."),
    (
        lambda: Dataset("d", clinic(), "body__bmi").with_views({"v": ["nothing"]}),
        "There is no column 'nothing'; the columns are 'sample_id', 'patient', 'blood__crp', 'blood__hb', 'body__bmi', "
        "'sex', 'empty', 'note' and 1 more.",
    ),
]


@pytest.mark.parametrize(("attempt", "sentence"), REFUSED)
def test_refused_with_a_sentence(attempt: object, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        attempt()  # type: ignore[operator]
    assert str(refused.value) == sentence


def test_views_count_the_columns_that_are_used() -> None:
    frame = pd.DataFrame(0, index=range(3), columns=list("abcdy"))
    views = {"one": ("a", "b", "y"), "two": ("c",), "none": ("d",)}
    assert summarize_views(Dataset("t", frame, "y", ("b", "d"), views)).to_dict("list") == {
        "view": ["one", "two", "none"],
        "columns": [1, 1, 0],
        "ignored": [2, 0, 1],
        "such as": ["a", "c", ""],
    }
    all_used = Dataset("t", frame, None, (), {"one": tuple("abcd")})
    assert summarize_views(all_used).to_dict("list") == {"view": ["one"], "columns": [4], "such as": ["a, b, c, d"]}


def test_summary() -> None:
    frame = pd.DataFrame(
        {
            "x": [0.0, 1, 2, 9, 10, np.nan],
            "c": ["u", "v", "u", None, "u", "w"],
            "same": [3] * 6,
            "b": [True, False] * 3,
            "empty": [np.nan] * 6,
            "y": list("aabbab"),
        }
    )
    summary = summarize(Dataset("d", frame, "y", ("same",), {"v": ("x", "c")})).set_index("column")
    assert summary["role"].tolist() == ["feature", "feature", "ignored", "feature", "feature", "label"]
    assert summary["view"].tolist() == ["v", "v", "", "", "", ""]
    assert summary["kind"].tolist() == ["number", "text", "number", "number", "empty", "text"]
    assert summary["missing"].tolist() == [1, 1, 0, 0, 6, 0]
    assert summary["distinct"].tolist() == [5, 3, 1, 2, 0, 2]
    assert summary.loc["x", ["min", "mean", "max"]].tolist() == [0, pytest.approx(4.4), 10]
    assert summary.loc["x", "histogram"] == [1, 1, 1, 0, 0, 0, 0, 0, 0, 2]
    assert summary.loc["c", "histogram"] == [3, 1, 1, 0, 0, 0, 0, 0, 0, 0]
    assert summary.loc["same", "histogram"] == [6, *[0] * 9] and summary.loc["empty", "histogram"] == [0] * 10


numbers = st.one_of(st.none(), st.floats(allow_nan=False, width=64), st.integers(-5, 5).map(float))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, st.sampled_from(["u", "v", None])), min_size=1, max_size=30))
def test_summary_agrees_with_pandas(rows: list[tuple[object, ...]]) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b", "c"]).astype({"a": float, "b": float})
    summary = summarize(Dataset("d", frame)).set_index("column")
    assert summary["missing"].tolist() == frame.isna().sum().tolist()
    assert summary["distinct"].tolist() == frame.nunique().tolist()
    np.testing.assert_array_equal(summary.loc[["a", "b"], "min"].astype(float), frame[["a", "b"]].min())
    np.testing.assert_array_equal(summary.loc[["a", "b"], "max"].astype(float), frame[["a", "b"]].max())
    counted = [np.isfinite(frame[c]).sum() for c in "ab"] + [frame["c"].count()]
    assert [sum(bars) for bars in summary["histogram"]] == counted


def test_splits_keep_the_shares_of_classes() -> None:
    frame = pd.DataFrame({"x": range(100), "y": ["a"] * 80 + ["b"] * 20})
    split = split_rows(Dataset("d", frame, "y"), 0.25, seed=1)
    assert np.array_equal(np.sort(np.r_[split.train, split.test]), np.arange(100))
    assert (np.diff(split.train) > 0).all() and (split.test >= 80).sum() == 5 and len(split.test) == 25
    again, other = (split_rows(Dataset("d", frame, "y"), 0.25, seed=seed) for seed in (1, 2))
    assert np.array_equal(again.test, split.test) and not np.array_equal(other.test, split.test)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.2, 0.25, 0.5]))
def test_groups_stay_together(seed: int, share: float) -> None:
    dataset = Dataset.guess("clinic", clinic(80).assign(outcome=lambda f: f["patient"].str[1:].astype(int) % 3 == 0))
    split = split_rows(dataset, share, seed)
    patients = dataset.frame["patient"].to_numpy()
    assert not set(patients[split.train]) & set(patients[split.test])
    assert set(dataset.y[split.test]) == set(dataset.y[split.train]) == {True, False}
    assert abs(len(split.test) / 80 - share) < 0.06


def split_of(y: list[object], share: float = 0.25, **more: list[object]) -> object:
    frame = pd.DataFrame({"y": y, **more})
    return split_rows(Dataset("d", frame, "y"), share, group="g" if more else None)


UNSPLITTABLE = [
    (lambda: split_of(list("aabb"), 1.5), "The share of test rows must be between 0 and 1, but it is 1.5."),
    (
        lambda: split_of(list("aaab")),
        "Class 'b' has 1 row, but two are needed, to train on and to test on; add rows of it, or leave it out.",
    ),
    (
        lambda: split_of(list("aabbcc"), 0.2),
        "A test share of 0.2 gives 1 test row, but each of 3 classes needs one; choose another share.",
    ),
    (
        lambda: split_of(list("aabbcc"), 0.8),
        "A test share of 0.8 gives 1 training row, but each of 3 classes needs one; choose another share.",
    ),
    (
        lambda: split_of(list("aabb"), g=[1, 2, 3, None]),
        "The group 'g' is missing in 1 row; fill these rows.",
    ),
    (
        lambda: split_of(list("aabb"), g=[1, 2, 3, 3]),
        "Class 'b' stands in one group of 'g' only, but two are needed, to train on and to test on; choose another "
        "group, or none.",
    ),
    (
        lambda: split_of(list("aabb"), 0.25, g=[1, 2, 3, 4]),
        "No split by 'g' has every class in both parts at a test share of 0.25; choose another share, another group, "
        "or none.",
    ),
]


@pytest.mark.parametrize(("attempt", "sentence"), UNSPLITTABLE)
def test_splits_that_cannot_be(attempt: object, sentence: str) -> None:
    with pytest.raises(DataError) as refused:
        attempt()  # type: ignore[operator]
    assert str(refused.value) == sentence


def test_a_column_that_numbers_the_rows_is_no_feature() -> None:
    rng = np.random.default_rng(0)

    def ignored(n: int, **more: object) -> tuple[str, ...]:
        visit = rng.permutation(n) + 1
        y = np.where(rng.random(n) > 0.5, "a", "b")
        return Dataset.guess("t", pd.DataFrame({"visit_no": visit, **more, "y": y})).ignored

    values = rng.normal(size=40)
    assert ignored(40, x=values) == ("visit_no",)
    assert ignored(40, x=np.repeat(np.arange(20), 2)) == ("visit_no",), "a count in which values repeat tells something"
    assert ignored(19, x=values[:19]) == (), "few rows may follow one another by chance"
    assert ignored(40) == (), "there is nothing else to learn from"
    ranks = {f"r{k}": rng.permutation(40) + 1 for k in range(3)}
    assert ignored(40, **ranks, x=values) == (), "of ranks all columns are like this"
    gaps = np.arange(40) + (np.arange(40) > 20)
    assert "x" not in ignored(40, x=gaps, z=values)
