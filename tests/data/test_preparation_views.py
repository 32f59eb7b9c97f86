"""Preparation view by view, adjusted for covariates, with rows that lack a view: against scikit-learn and by hand."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from scipy.stats import gmean, norm, rankdata
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer, StandardScaler

from spnmkl.data import Choices, Dataset, Preparation, kept_rows, lacking_rows, problems, step_notes, suggest
from spnmkl.errors import DataError

VIEWS = {"words": [f"w{k}" for k in range(40)], "counts": [f"c{k}" for k in range(6)], "lab": ["l0", "l1", "l2"]}
COLUMNS = [column for columns in VIEWS.values() for column in columns]
STEPS = ("standardize", "log1p", "log-ratio", "tf-idf", "ranks", "normal ranks", "as is")
AUTO = Choices("auto")


def table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    """Counts of words, counts, measurements, and two columns that all of them follow."""
    rng = np.random.default_rng(seed)
    age, batch = rng.uniform(20, 80, n), rng.choice(["x", "y", "z"], n)
    words = rng.poisson(rng.gamma(0.2, 0.8, (n, 40)))
    counts = rng.poisson(rng.gamma(0.6, 100, (n, 6)))
    lab = np.abs(
        rng.normal(size=(n, 3)) + age[:, None] / 10 + 3 * (batch == "y")[:, None]
    )  # of 0 or more: log1p may be asked for
    frame = pd.DataFrame(np.hstack([words, counts, lab]), columns=COLUMNS)
    return frame.assign(age=age, batch=batch)


def prepared(frame: pd.DataFrame, choices: Choices, rows: object = None, adjust: tuple[str, ...] = ()) -> Preparation:
    return Preparation.fit(frame[[*COLUMNS, *adjust]], choices, rows, views=VIEWS, adjust=adjust)  # type: ignore[arg-type]


def chosen(**views: str) -> Choices:
    return Choices(views=tuple(views.items()))  # type: ignore[arg-type]


def test_each_view_is_prepared_as_its_columns_are() -> None:
    train, new = table(), table(20, 1)
    preparation = prepared(train, AUTO)
    assert preparation.steps == {"words": "tf-idf", "counts": "log1p", "lab": "standardize"}
    X = preparation.transform(new)
    words = TfidfTransformer().fit(train[VIEWS["words"]]).transform(new[VIEWS["words"]]).toarray()
    np.testing.assert_allclose(X[VIEWS["words"]], words, atol=1e-14)
    logs = make_pipeline(FunctionTransformer(np.log1p), StandardScaler()).fit(train[VIEWS["counts"]])
    np.testing.assert_allclose(X[VIEWS["counts"]], logs.transform(new[VIEWS["counts"]]), atol=1e-12)
    lab = StandardScaler().fit(train[VIEWS["lab"]])
    np.testing.assert_allclose(X[VIEWS["lab"]], lab.transform(new[VIEWS["lab"]]), atol=1e-12)


def test_log_ratios_keep_aitchisons_distances_and_forget_the_size_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    drawn = (np.where(rng.random((n, 5)) < 0.1, 0, rng.dirichlet(np.ones(5), n)) for n in (40, 9))
    train, new = (pd.DataFrame(X, columns=[f"x{k}" for k in range(5)]) for X in drawn)
    preparation = Preparation.fit(train, Choices("log-ratio"))
    least = train.to_numpy()[train.to_numpy() > 0].min() / 2
    by_hand = gmean(np.maximum(new, least), axis=1)
    ratios = np.log(np.maximum(new.to_numpy(), least) / by_hand[:, None])
    X = preparation.transform(new).to_numpy()
    np.testing.assert_allclose(pdist(X), pdist(ratios))
    np.testing.assert_allclose(preparation.transform(train).mean(), 0, atol=1e-12)
    whole = new + least  # without what counts as the smallest
    np.testing.assert_allclose(preparation.transform(7.5 * whole), preparation.transform(whole))
    again = Preparation.from_dict(json.loads(json.dumps(preparation.to_dict())))
    np.testing.assert_array_equal(again.transform(new), X)
    assert preparation.among(["x0"]).names == preparation.names, "a ratio takes all columns of the view"
    for wrong, words in ((train - 1, "needs numbers of 0 or more"), (0 * train, "need a value above 0")):
        with pytest.raises(DataError, match=words):
            Preparation.fit(wrong, Choices("log-ratio"))
    with pytest.raises(DataError, match="'x0' is the only one of numbers"):
        Preparation.fit(train[["x0"]], Choices("log-ratio"))
    stored = preparation.to_dict()
    stored["columns"][0]["least"] = 0.0
    with pytest.raises(DataError, match="log-ratios without a smallest value"):
        Preparation.from_dict(stored)


def test_what_is_chosen_for_a_view_goes_before_what_is_chosen_for_all() -> None:
    steps = prepared(table(), Choices("as is", views=(("counts", "ranks"), ("lab", "auto")))).steps
    assert steps == {"words": "as is", "counts": "ranks", "lab": "standardize"}


def test_a_table_without_views_is_one_view() -> None:
    words = table()[VIEWS["words"]]
    assert Preparation.fit(words, AUTO).steps == {"": "tf-idf"}
    X = Preparation.fit(words, Choices("tf-idf")).transform(words)
    np.testing.assert_allclose(X, TfidfTransformer().fit_transform(words).toarray(), atol=1e-14)


def test_columns_in_no_view_are_prepared_together_and_a_column_has_one_view() -> None:
    frame = table()
    views = {"words": VIEWS["words"], "again": [*VIEWS["words"][:5], "c0"]}
    preparation = Preparation.fit(frame[COLUMNS], Choices("log1p", views=(("again", "as is"),)), views=views)
    assert preparation.steps == {"words": "log1p", "again": "as is", "": "log1p"}
    assert dict(preparation.views)["again"] == ("c0",)


@pytest.mark.parametrize("ties", [False, True])
def test_ranks_are_those_of_the_training_rows(ties: bool) -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=50) if not ties else rng.integers(0, 6, 50).astype(float)
    frame = pd.DataFrame({"x": x})
    even = (rankdata(x) - 1) / 49
    bell = norm.ppf(np.clip(even, 0.01, 0.99))
    for step, expected in (("ranks", even), ("normal ranks", bell)):
        X = Preparation.fit(frame, Choices(step)).transform(frame)["x"]  # type: ignore[arg-type]
        np.testing.assert_allclose(X, (expected - expected.mean()) / expected.std(), atol=1e-10)


def test_ranks_of_new_rows_lie_between_those_of_training_and_end_there() -> None:
    train, new = pd.DataFrame({"x": [0.0, 1.0, 4.0, 9.0]}), pd.DataFrame({"x": [-5.0, 0.5, 2.5, 100.0]})
    X = Preparation.fit(train, Choices("ranks")).transform(new)["x"].to_numpy()
    raw = np.array([0, 1 / 6, 1 / 2, 1])
    known = np.array([0, 1 / 3, 2 / 3, 1])
    np.testing.assert_allclose(X, (raw - known.mean()) / known.std(), atol=1e-12)


def test_ranks_of_many_rows_are_told_from_a_hundred_quantiles() -> None:
    x = np.random.default_rng(3).exponential(size=(1000, 2))
    frame = pd.DataFrame(x, columns=["a", "b"])
    preparation = Preparation.fit(frame, Choices("ranks"))
    assert {len(column.quantiles) for column in preparation.columns} == {100}  # type: ignore[union-attr]
    theirs = QuantileTransformer(n_quantiles=100).fit_transform(x)
    ours = preparation.transform(frame).to_numpy() * theirs.std(axis=0) + theirs.mean(axis=0)
    # Theirs may interpolate the quantiles in another way: by at most one of 1000 rows.
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


@pytest.mark.parametrize("step", ["log1p", "log-ratio", "tf-idf"])
def test_numbers_below_0_are_refused_by_name(step: str) -> None:
    frame = table().assign(c1=-2.0)
    with pytest.raises(DataError, match=f"Column 'c1' holds -2, but {step} needs numbers of 0 or more"):
        prepared(frame, chosen(counts=step))
    preparation = prepared(table(), chosen(counts=step))
    with pytest.raises(DataError, match="Column 'c1' holds -2"):
        preparation.transform(frame)


def test_a_view_that_is_not_there_is_refused() -> None:
    with pytest.raises(DataError, match="There is no view 'rna' to prepare; the views are 'words', 'counts', 'lab'"):
        prepared(table(), chosen(rna="log1p"))
    with pytest.raises(DataError, match="the table has no views"):
        Preparation.fit(table()[COLUMNS], chosen(rna="log1p"))


def test_missing_values_are_filled_with_the_mean_of_what_kernels_see() -> None:
    frame = table()
    frame.loc[3, "c0"] = frame.loc[4, "l0"] = None
    X = prepared(frame, Choices("auto", "mean")).transform(frame)
    assert X.loc[3, "c0"] == pytest.approx(0, abs=1e-12) and X.loc[4, "l0"] == pytest.approx(0, abs=1e-12)
    logs = np.log1p(frame["c0"].drop(3))
    half = prepared(frame, Choices("auto", "median")).transform(frame).loc[3, "c0"]
    assert half == pytest.approx((logs.median() - logs.mean()) / logs.std(ddof=0))


# What the test rows hold changes nothing that is learned.

CASES = [Choices(step, "mean", absent="mean") for step in (*STEPS, "auto")]  # type: ignore[arg-type]


@pytest.mark.parametrize("choices", CASES, ids=lambda choices: choices.numeric)
@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([0.0, 1.0, 1e4]))
def test_nothing_is_learned_from_other_rows(choices: Choices, seed: int, scale: float) -> None:
    frame, train = table(40), np.arange(25)
    other = frame.copy()
    rng = np.random.default_rng(seed)
    other.loc[25:, COLUMNS] = np.round(scale * rng.exponential(size=(15, len(COLUMNS))), int(rng.integers(0, 3)))
    other.loc[25:, "age"] = scale * rng.normal(size=15)
    other.loc[25:, "batch"] = rng.choice(["x", "new"], 15)
    other.loc[rng.choice(15, 4) + 25, VIEWS["lab"]] = None
    one, two = (prepared(f, choices, train, ("age", "batch")) for f in (frame, other))
    assert one == two and one.to_dict() == two.to_dict()
    pd.testing.assert_frame_equal(one.transform(frame.iloc[:25]), two.transform(other.iloc[:25]))


@settings(max_examples=40, deadline=None)
@given(
    choices=st.builds(
        Choices,
        st.sampled_from([*STEPS, "auto"]),
        st.sampled_from(["mean", "median"]),
        views=st.dictionaries(st.sampled_from(list(VIEWS)), st.sampled_from([*STEPS, "auto"])).map(
            lambda d: tuple(d.items())
        ),
        absent=st.sampled_from(["as missing", "mean"]),
    ),
    adjust=st.sampled_from([(), ("age",), ("age", "batch")]),
    seed=st.integers(0, 50),
)
def test_what_was_learned_survives_json_and_is_the_same_row_by_row(
    choices: Choices, adjust: tuple[str, ...], seed: int
) -> None:
    frame = table(30, seed)
    frame.loc[::6, VIEWS["counts"]] = None
    frame.loc[4, "l1"] = None
    preparation = prepared(frame, choices, None, adjust)
    again = Preparation.from_dict(json.loads(json.dumps(preparation.to_dict(), allow_nan=False)))
    assert again == preparation
    X = preparation.transform(frame)
    assert np.isfinite(X.to_numpy()).all()
    one = pd.concat([again.transform(frame.iloc[[k]]) for k in range(len(frame))])
    np.testing.assert_allclose(one, X, atol=1e-12)


def test_a_preparation_of_an_earlier_release_is_read_and_does_the_same() -> None:
    stored = {
        "version": 1,
        "choices": {"numeric": "as is", "missing": "median", "categorical": "codes"},
        "columns": [
            {"kind": "numeric", "name": "a", "shift": 0.0, "scale": 1.0, "fill": 2.0},
            {"kind": "codes", "name": "b", "categories": ["u", "v"]},
        ],
    }
    preparation = Preparation.from_dict(stored)
    frame = pd.DataFrame({"a": [1.0, 2.0, 9.0, None], "b": ["v", "u", None, "u"]})
    assert preparation.transform(frame).to_numpy().tolist() == [[1, 1], [2, 0], [9, -1], [2, 0]]
    assert preparation == Preparation.fit(frame, Choices("as is", "median"))
    assert Preparation.from_dict(preparation.to_dict()) == preparation


@pytest.mark.parametrize(
    "wrong",
    [
        {"step": "magic"},
        {"step": "ranks"},
        {"quantiles": [1.0, 2.0]},
        {"step": "ranks", "quantiles": [2.0, 1.0]},
        {"centre": float("inf")},
    ],
)
def test_a_damaged_preparation_is_refused(wrong: dict[str, object]) -> None:
    stored = Preparation.fit(pd.DataFrame({"a": [1.0, 2.0]})).to_dict()
    stored["columns"][0] |= wrong
    with pytest.raises(DataError, match="The stored preparation cannot be read"):
        Preparation.from_dict(stored)


# Columns to adjust for


def test_what_covariates_tell_is_taken_away_as_by_linear_regression() -> None:
    train, new = table(80), table(30, 5)
    plain, ours = (prepared(train, AUTO, None, adjust) for adjust in ((), ("age", "batch")))
    design = [pd.get_dummies(f[["age", "batch"]], drop_first=True).astype(float) for f in (train, new)]
    Y = plain.transform(train)
    line = LinearRegression().fit(design[0], Y)
    for frame, D in zip((train, new), design, strict=True):
        expected = plain.transform(frame) - line.predict(D) + Y.mean(axis=0).to_numpy()
        np.testing.assert_allclose(ours.transform(frame), expected, atol=1e-10)
    X = ours.transform(train)
    assert abs(np.corrcoef(X["l0"], train["age"])[0, 1]) < 1e-10
    assert X["l0"].groupby(train["batch"]).mean().abs().max() < 0.2 < Y["l0"].groupby(train["batch"]).mean().abs().max()


def test_whole_numbers_with_few_values_are_groups() -> None:
    train = table(80)
    numbers = train.assign(batch=train["batch"].map({"x": 7, "y": 1, "z": 3}))
    one, two = (prepared(frame, AUTO, None, ("batch",)).transform(frame) for frame in (train, numbers))
    np.testing.assert_allclose(one, two, atol=1e-10)


def test_a_value_that_training_did_not_have_is_the_average_and_so_is_a_missing_one() -> None:
    train = table(80)
    plain, ours = (prepared(train, Choices("auto", "mean"), None, adjust) for adjust in ((), ("age", "batch")))
    new = table(5, 8).assign(batch="new", age=train["age"].mean())
    np.testing.assert_allclose(ours.transform(new), plain.transform(new), atol=1e-10)
    new = new.assign(age=None, batch=None)
    np.testing.assert_allclose(ours.transform(new), plain.transform(new), atol=1e-10)
    with pytest.raises(DataError, match="'age' \\(5 rows\\)"):
        prepared(train, AUTO, None, ("age",)).transform(new)


def test_covariates_are_needed_and_no_output() -> None:
    preparation = prepared(table(), AUTO, None, ("age", "batch"))
    assert preparation.names[-2:] == ("age", "batch") and preparation.read_as_text == ("batch",)
    assert not {"age", "batch"} & set(preparation.outputs)
    some = preparation.among(["l1"])
    assert some.names == ("l1", "age", "batch")
    frame = table(10, 4)
    np.testing.assert_allclose(some.transform(frame)["l1"], preparation.transform(frame)["l1"], atol=1e-12)
    assert preparation.among(["w3"]).names == (*VIEWS["words"], "age", "batch")  # the length of a row takes all words


def test_one_hot_columns_are_adjusted_and_codes_are_not() -> None:
    frame = table(60).assign(site=lambda f: np.where(f["batch"] == "x", "A", "B"))[["l0", "site", "batch"]]
    hot = Preparation.fit(frame, Choices(categorical="one-hot"), adjust=["batch"]).transform(frame)
    np.testing.assert_allclose(hot["site=A"], (frame["batch"] == "x").mean(), atol=1e-12)  # nothing of its own is left
    coded = Preparation.fit(frame, adjust=["batch"]).transform(frame)
    assert coded["site"].tolist() == (frame["site"] == "B").astype(float).tolist()


@pytest.mark.parametrize(
    ("covariate", "sentence"),
    [
        (pd.Series(["only"] * 60), "Column 'z' to adjust for has one value only"),
        (
            pd.Series([f"p{k // 2}" for k in range(60)]),
            "takes 30 numbers for each column, too many for 60 training rows",
        ),
        (pd.Series([np.inf, *range(59)]), "Column 'z' to adjust for holds infinity"),
    ],
)
def test_covariates_that_cannot_be_adjusted_for(covariate: pd.Series, sentence: str) -> None:
    frame = table()[["l0"]].assign(z=covariate)
    if "30 numbers" in sentence:
        frame.loc[0, "z"] = "p40"
        sentence = "takes 31 numbers for each column, too many for 60 training rows"
    with pytest.raises(DataError, match=sentence):
        Preparation.fit(frame, adjust=["z"])


# Rows that lack a whole view


def lacking() -> pd.DataFrame:
    frame = table()
    frame.loc[:4, VIEWS["counts"]] = None
    frame.loc[4:6, VIEWS["words"]] = None
    return frame


def test_rows_that_lack_a_view_are_counted() -> None:
    found = {view: int(rows.sum()) for view, rows in lacking_rows(lacking(), VIEWS).items()}
    assert found == {"counts": 5, "words": 3}


def test_they_are_refused_until_something_is_said_with_their_number() -> None:
    with pytest.raises(DataError, match="rows lack a whole view: 'words' \\(3 rows\\), 'counts' \\(5 rows\\)"):
        prepared(lacking(), AUTO)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("adjust", [(), ("age", "batch")])
def test_the_average_of_the_rows_that_have_it_stands_for_a_view(step: str, adjust: tuple[str, ...]) -> None:
    frame = lacking()
    choices = Choices(step, absent="mean")  # type: ignore[arg-type]
    preparation = prepared(frame, choices, None, adjust)
    X = preparation.transform(frame)
    for view, rows in (("counts", slice(0, 5)), ("words", slice(4, 7))):
        lack = X[VIEWS[view]].iloc[rows]
        there = X[VIEWS[view]].drop(index=lack.index)
        np.testing.assert_allclose(lack, np.tile(there.mean(axis=0), (len(lack), 1)), atol=1e-10)
    # What is learned of a view comes from the rows that have it.
    alone = Preparation.fit(frame[[*VIEWS["counts"], *adjust]].iloc[5:], choices, views={"counts": VIEWS["counts"]},
                            adjust=adjust)  # fmt: skip
    if not adjust:
        np.testing.assert_allclose(X[VIEWS["counts"]].iloc[5:], alone.transform(frame.iloc[5:]), atol=1e-10)


def with_text() -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """Five people, of whom one is in no clinic, one has no scan, and one of the clinic's has no stage."""
    frame = pd.DataFrame(
        {
            "age": [50.0, 60.0, 70.0, None, 60.0],
            "stage": ["II", "I", "II", None, None],
            "scan": [1.0, None, 3.0, 4.0, 5.0],
            "site": ["a", None, "b", "b", "c"],
        }
    )
    return frame, {"clinic": ["age", "stage"], "scan": ["scan", "site"]}


def test_of_text_the_most_frequent_value_stands_for_a_view_that_is_lacking() -> None:
    frame, views = with_text()
    fitted = Preparation.fit(frame, Choices("as is", "mean", absent="mean"), views=views)
    X = Preparation.from_dict(json.loads(json.dumps(fitted.to_dict()))).transform(frame)
    # I, II → 0, 1 and a, b, c → 0, 1, 2; −1 is a value of its own, for somebody of the clinic whose stage is not known
    assert X["stage"].tolist() == [1, 0, 1, 1, -1] and X["site"].tolist() == [0, 1, 1, 1, 2]
    assert X["age"].tolist() == [50, 60, 70, 60, 60] and X["scan"].tolist() == [1, 3.25, 3, 4, 5]


def test_of_one_column_per_category_their_shares_stand_for_a_view_that_is_lacking() -> None:
    frame, views = with_text()
    X = Preparation.fit(frame, Choices("as is", "mean", "one-hot", absent="mean"), views=views).transform(frame)
    # Of site nothing is missing but where the whole view is, so that it has no column for that.
    assert list(X) == ["age", "stage=I", "stage=II", "stage=(missing)", "scan", "site=a", "site=b", "site=c"]
    assert X.loc[3, ["stage=I", "stage=II", "stage=(missing)"]].tolist() == [0.25, 0.5, 0.25]
    assert X.loc[1, ["site=a", "site=b", "site=c"]].tolist() == [0.25, 0.5, 0.25]


def test_rows_of_which_nothing_is_known_are_left_out_whatever_is_chosen() -> None:
    frame, views = with_text()
    more = pd.concat([frame, pd.DataFrame({"y": ["u"]})], ignore_index=True)  # somebody in the file of labels alone
    for choices in (Choices(missing="mean"), Choices(missing="median", absent="mean"), Choices(absent="drop rows")):
        kept = kept_rows(more[list(frame)], views, choices)
        assert kept.tolist() == [*kept_rows(frame, views, choices), False]
    told = problems(Dataset("d", more.assign(y=list("uvuvvu")), "y", views=views), Choices(missing="mean"))
    assert told[0] == "1 row has no value in any view: left out."
    assert told[1].startswith("2 of 5 rows lack a whole view ('clinic' in 1 row, 'scan' in 1 row): treated as other")
    alone = frame[["age", "stage"]]
    assert kept_rows(alone, {"clinic": list(alone)}, Choices(missing="mean")).all()  # one view is filled, as was asked


def test_what_a_view_is_is_told_by_the_rows_that_have_it() -> None:
    parts = pd.DataFrame(np.random.default_rng(0).multinomial(9, np.ones(6) / 6, 40) / 9)
    sparse = parts.mask(parts < 2 / 9, 0.0)
    sparse = sparse.div(sparse.sum(axis=1), axis=0).dropna()
    assert (sparse == 0).to_numpy().mean() > 0.5
    absent = pd.DataFrame(np.nan, index=range(60), columns=parts.columns)
    assert suggest(pd.concat([sparse, absent])) == suggest(sparse)


def test_other_holes_are_still_refused_or_filled() -> None:
    frame = lacking()
    frame.loc[20, "c0"] = None
    with pytest.raises(DataError, match="Values are missing in 1 column: 'c0' \\(1 row\\); "):
        prepared(frame, Choices("auto", absent="mean"))
    X = prepared(frame, Choices("auto", "mean", absent="mean")).transform(frame)
    assert X.loc[20, "c0"] == pytest.approx(0, abs=1e-12) and np.isfinite(X.to_numpy()).all()
    columns = prepared(frame, Choices("auto", "drop columns", absent="mean"))
    assert columns.dropped == ("c0",)


def test_rows_that_lack_a_view_can_be_left_out() -> None:
    frame = lacking()
    preparation = prepared(frame, Choices("auto", absent="drop rows"))
    assert preparation.usable(frame).tolist() == [False] * 7 + [True] * 53 == preparation.kept(frame).tolist()
    whole = prepared(frame.iloc[7:], Choices("auto"))
    np.testing.assert_allclose(preparation.transform(frame.iloc[7:]), whole.transform(frame.iloc[7:]))
    with pytest.raises(DataError, match="The view 'words' is missing in 2 rows, which training left out"):
        preparation.transform(frame.iloc[5:])


def test_as_other_missing_values_they_are_filled_column_by_column() -> None:
    frame = lacking()
    X = prepared(frame, Choices("as is", "median")).transform(frame)
    np.testing.assert_allclose(X.loc[0, VIEWS["counts"]], frame[VIEWS["counts"]].median())


# What the columns are


def numbers(X: object) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(X))


RNG = np.random.default_rng(4)
KINDS = {
    "measurements": (RNG.normal(5, 2, (50, 4)), "measurements", "standardize"),
    "positive and skewed, but no counts": (RNG.exponential(50, (50, 4)), "measurements", "standardize"),
    "ages": (RNG.integers(20, 80, (50, 1)), "measurements", "standardize"),
    "grades": (RNG.integers(1, 11, (50, 9)), "measurements", "standardize"),
    "pixels": (
        np.where(RNG.random((50, 99)) < 0.8, 0, RNG.integers(100, 256, (50, 99))),
        "measurements",
        "standardize",
    ),
    "counts": (RNG.poisson(RNG.gamma(0.5, 200, (50, 30))), "counts", "log1p"),
    "counts below 0": (RNG.poisson(RNG.gamma(0.5, 200, (50, 30))) - 1, "measurements", "standardize"),
    "counts and flags": (np.hstack([RNG.poisson(RNG.gamma(0.5, 200, (50, 9))), np.eye(50, 3)]), "counts", "log1p"),
    "words": (RNG.poisson(RNG.gamma(0.1, 1, (50, 200))), "word counts", "tf-idf"),
    "words, long texts": (RNG.poisson(300 * RNG.dirichlet(np.full(300, 0.1), 50)), "word counts", "tf-idf"),
    "few sparse columns": (RNG.poisson(RNG.gamma(0.1, 1, (50, 5))), "measurements", "standardize"),
    "fractions": (RNG.uniform(0, 1, (50, 4)), "fractions", "standardize"),
    "parts of a whole": (RNG.dirichlet(np.ones(5), 50), "composition", "log-ratio"),
    "mostly absent parts": (RNG.multinomial(3, np.ones(20) / 20, 50) / 3, "composition", "standardize"),
    "two values": (RNG.integers(0, 2, (50, 40)), "binary", "standardize"),
    "nothing": (np.full((5, 2), np.nan), "measurements", "standardize"),
}


@pytest.mark.parametrize("case", KINDS)
@pytest.mark.parametrize("holes", [False, True])
def test_what_columns_are_suggests_what_to_do(case: str, holes: bool) -> None:
    X, kind, step = KINDS[case]
    frame = numbers(X)
    if holes:
        frame = frame.mask(np.random.default_rng(5).random(frame.shape) < 0.1)
        if "parts" in case:
            frame.iloc[:40] = numbers(X).iloc[:40]
    found = suggest(frame.copy().assign(text="words"))
    assert (found.kind, found.step) == (kind, step)
    assert found.why.endswith(".") and found.why.count(". ") == 0  # one sentence


def test_text_has_nothing_to_prepare() -> None:
    assert suggest(pd.DataFrame({"a": ["x", "y"]})).kind == "categories"


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 12).flatmap(
        lambda d: st.lists(
            st.lists(st.one_of(st.none(), st.floats(-1e6, 1e6), st.integers(0, 1000)), min_size=d, max_size=d),
            min_size=1,
            max_size=12,
        )
    )
)
def test_every_suggestion_can_be_followed(rows: list[list[float | None]]) -> None:
    frame = pd.DataFrame(rows, dtype=float).rename(columns=str)
    frame = frame.loc[:, frame.notna().any()]
    if frame.shape[1]:
        X = Preparation.fit(frame, Choices("auto", "mean")).transform(frame)
        assert np.isfinite(X.to_numpy()).all()


def test_what_will_happen_is_said_view_by_view() -> None:
    dataset = Dataset("d", lacking(), views=VIEWS).with_adjust(["age", "batch"])
    notes = problems(dataset, Choices("auto", absent="mean"))
    assert notes[1].startswith(
        "7 of 60 rows lack a whole view ('words' in 3 rows, 'counts' in 5 rows): the average of the training rows"
    )
    assert notes[2].startswith("View 'words' (40 numeric columns): weighted by how rare each column is")
    assert notes[3].startswith("View 'counts' (6 numeric columns): log(1 + value), then scaled")
    assert notes[4].startswith("View 'lab' (3 numeric columns): scaled to mean 0")
    assert notes[5] == (
        "Adjusted for 'age' (a line), 'batch' (3 values): what they tell of 49 numeric columns is taken away, and no "
        "kernel sees them."
    )
    told = step_notes(dataset, AUTO)
    assert (
        len(told) == 3
        and told[0].endswith("of them 0, as counts of words are.")
        and step_notes(dataset, Choices("log1p")) == []
    )
    plain = Dataset("d", table()[VIEWS["lab"]])
    assert step_notes(plain, AUTO) == []
    assert problems(plain, AUTO) == problems(plain, Choices())
    left = problems(dataset, replace(AUTO, absent="drop rows"))
    assert any(note.endswith("'counts' in 5 rows): left out.") for note in left)


def test_a_column_whose_values_all_stand_in_rows_that_are_left_out_is_refused_in_words() -> None:
    """Rows that lack the view stay, those that lack c go: with them goes all that b has."""
    table = pd.DataFrame({"a": [1.0, None, None], "b": [5.0, None, None], "c": [None, 1.0, 2.0]})
    with pytest.raises(DataError, match="No value stands in 2 columns of the rows that are not left out"):
        Preparation.fit(table, Choices(missing="drop rows", absent="mean"), views={"v": ["a", "b"]})
