"""Kernels over the training rows: from these rows alone, and from the right ones."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import StandardScaler

from spnmkl import SPN, DataError, Kernel, KernelError, Product, StructureError, Sum
from spnmkl.data import Choices, Dataset, SplitSettings, load_sample, split_rows
from spnmkl.training.prepared import Prepared, leaves_by_view, prepare

SPLIT = SplitSettings(0.3, 5)


def table(n: int = 40, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "a": rng.normal(5, 3, n),
            "b": rng.normal(size=n),
            "colour": rng.choice(["red", "green", "blue"], n),
            "y": np.where(np.arange(n) % 2, "yes", "no"),
        }
    )


def sum_of(*kernels: Kernel) -> SPN:
    return SPN(Sum(*(Product(kernel) for kernel in kernels)))


NUMBERS = sum_of(Kernel("rbf", features=["a", "b"], gamma=0.5, label="both"), Kernel("rbf", features=["a"], gamma=0.5))


def prepared(
    spn: SPN = NUMBERS, frame: pd.DataFrame | None = None, choices: Choices | None = None, **more: Any
) -> Prepared:
    dataset = Dataset("table", table() if frame is None else frame, "y", **more)
    return prepare(spn, dataset, choices or Choices(), SPLIT)


def test_the_kernels_are_what_scikit_learn_computes_from_the_training_rows() -> None:
    frame = table()
    found = prepared(frame=frame)
    split = split_rows(Dataset("table", frame, "y"), SPLIT.test_share, SPLIT.seed)
    np.testing.assert_array_equal(found.train, split.train)
    np.testing.assert_array_equal(found.test, split.test)
    scaler = StandardScaler().fit(frame[["a", "b"]].iloc[split.train])
    train, test = (scaler.transform(frame[["a", "b"]].iloc[rows]) for rows in (split.train, split.test))
    both, one = NUMBERS.kernels
    np.testing.assert_allclose(found.kernels[both], rbf_kernel(train, gamma=0.5), atol=1e-12)
    np.testing.assert_allclose(found.kernels[one], rbf_kernel(train[:, :1], gamma=0.5), atol=1e-12)
    np.testing.assert_allclose(found.cross_test[both], rbf_kernel(test, train, gamma=0.5), atol=1e-12)
    np.testing.assert_array_equal(found.y_test, frame["y"].iloc[split.test])
    assert found.features == ("a", "b", "colour")
    assert found.n == len(split.train)


def test_test_rows_have_no_influence_on_the_kernels() -> None:
    frame = table()
    before = prepared(frame=frame)
    frame.loc[before.test, ["a", "b"]] *= 1000
    after = prepared(frame=frame)
    for leaf, K in before.kernels.items():
        np.testing.assert_array_equal(K, after.kernels[leaf])


def test_rows_without_a_label_take_part_nowhere() -> None:
    frame = table()
    frame.loc[[0, 7, 20], "y"] = None
    found = prepared(frame=frame)
    rows = np.sort(np.concatenate([found.train, found.test]))
    np.testing.assert_array_equal(rows, np.setdiff1d(np.arange(40), [0, 7, 20]))
    np.testing.assert_array_equal(found.y_train, frame["y"].iloc[found.train])
    np.testing.assert_array_equal(found.y_test, frame["y"].iloc[found.test])
    np.testing.assert_array_equal(found.X_train.index, found.train)


def test_rows_with_gaps_are_left_out_of_both_parts_where_that_is_chosen() -> None:
    frame = table()
    whole = prepared(frame=frame)
    gaps = [whole.train[2], whole.train[9], whole.test[1]]
    frame.loc[gaps, "b"] = np.nan
    with pytest.raises(DataError, match="Values are missing in 1 column: 'b'"):
        prepared(frame=frame)
    found = prepared(frame=frame, choices=Choices(missing="drop rows"))
    np.testing.assert_array_equal(found.train, np.setdiff1d(whole.train, gaps))
    np.testing.assert_array_equal(found.test, np.setdiff1d(whole.test, gaps))
    assert found.kernels[NUMBERS.kernels[0]].shape == (found.n, found.n)


def test_a_class_that_only_has_rows_with_gaps_is_named() -> None:
    frame = table()
    frame.loc[frame["y"] == "yes", "b"] = np.nan
    with pytest.raises(DataError) as refused:
        prepared(frame=frame, choices=Choices(missing="drop rows"))
    assert str(refused.value) == (
        "No training row of class 'yes' is without a missing value; fill missing values instead of leaving out rows."
    )


def test_text_becomes_columns_of_its_own_and_the_drawing_stays() -> None:
    spn = sum_of(Kernel("linear", features=["colour"]), Kernel("rbf", features=["b"]))
    found = prepared(spn, choices=Choices(categorical="one-hot"))
    assert found.spn is spn
    assert found.mapped.spec(spn.kernels[0]).features == ("colour=blue", "colour=green", "colour=red")
    same = found.X_train.iloc[:, 2:].to_numpy() @ found.X_train.iloc[:, 2:].to_numpy().T
    np.testing.assert_allclose(found.kernels[spn.kernels[0]], same)


def test_codes_of_text_are_no_numbers() -> None:
    with pytest.raises(DataError, match="needs numbers, but it sees the text column 'colour'"):
        prepared(sum_of(Kernel("rbf")))


def matrices(n: int = 40) -> dict[str, np.ndarray]:
    X = np.random.default_rng(3).normal(size=(n, 3))
    return {"first": X @ X.T, "second": rbf_kernel(X)}


GIVEN = sum_of(Kernel("precomputed", label="first"), Kernel("precomputed", label="second"))


def test_blocks_of_given_matrices() -> None:
    given = matrices()
    found = prepared(GIVEN, matrices=given)
    for leaf, K in zip(GIVEN.kernels, given.values(), strict=True):
        np.testing.assert_allclose(found.kernels[leaf], K[np.ix_(found.train, found.train)], atol=1e-15)
        np.testing.assert_array_equal(found.cross_test[leaf], K[np.ix_(found.test, found.train)])
    assert found.X_train.shape == (found.n, 0)
    assert found.features == ()
    assert not found.fitted


def test_given_matrices_need_no_columns_and_no_filling() -> None:
    alone = prepared(GIVEN, table()[["y"]], matrices=matrices())
    frame = table()
    frame.loc[3, "a"] = np.nan
    beside = prepared(GIVEN, frame, matrices=matrices())
    for leaf in GIVEN.kernels:
        np.testing.assert_array_equal(alone.kernels[leaf], beside.kernels[leaf])


def test_given_matrices_follow_their_rows_when_some_have_no_label() -> None:
    frame, given = table(), matrices()
    frame.loc[[0, 1], "y"] = None
    found = prepared(GIVEN, frame, matrices=given)
    leaf = GIVEN.kernels[1]
    np.testing.assert_allclose(found.kernels[leaf], given["second"][np.ix_(found.train, found.train)], atol=1e-15)


def test_columns_and_given_matrices_side_by_side() -> None:
    spn = sum_of(Kernel("precomputed", label="second"), Kernel("rbf", features=["a"], gamma=0.5))
    found = prepared(spn, matrices=matrices())
    assert list(found.kernels) == list(spn.kernels)
    assert list(found.fitted) == [spn.kernels[1]]
    assert {leaf: K.shape for leaf, K in found.cross_test.items()} == dict.fromkeys(
        spn.kernels, (len(found.test), found.n)
    )
    with pytest.raises(KernelError) as refused:
        found.cross(table())
    assert str(refused.value) == (
        "New rows have no kernel values for the given matrices 'second'; use kernels over columns to predict new rows."
    )


@pytest.mark.parametrize(
    ("given", "there"), [({}, "there is none"), (matrices(), "there is only 'first', 'second'")], ids=["none", "others"]
)
def test_a_matrix_that_is_not_there_is_named(given: dict[str, np.ndarray], there: str) -> None:
    with pytest.raises(KernelError) as refused:
        prepared(sum_of(Kernel("precomputed", label="third")), matrices=given)
    assert str(refused.value) == (
        f"Leaf 'third' needs a kernel matrix of that name in the data, but {there}; load the matrix, or name the leaf "
        "after it."
    )


def test_a_matrix_that_is_no_kernel_is_refused() -> None:
    with pytest.raises(KernelError, match="'first' is not positive semidefinite"):
        prepared(GIVEN, matrices=matrices() | {"first": -np.eye(40)})


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_never_shared(seed: int) -> None:
    dataset = load_sample("clinic")
    assert dataset.group is not None
    found = prepare(dataset.template("flat"), dataset, Choices(missing="median"), SplitSettings(0.25, seed))
    patients = dataset.frame[dataset.group]
    assert not set(patients.iloc[found.train]) & set(patients.iloc[found.test])
    assert found.groups is not None
    pairs = set(zip(found.groups.tolist(), patients.iloc[found.train], strict=True))
    assert len(pairs) == len(set(found.groups.tolist())) == patients.iloc[found.train].nunique()


def test_new_rows_are_compared_as_the_test_rows_are() -> None:
    frame = table()
    found = prepared(frame=frame)
    rows = frame.iloc[found.test].sample(frac=1, random_state=0, axis=1)  # columns are found by name
    for leaf, K in found.cross(rows).items():
        np.testing.assert_array_equal(K, found.cross_test[leaf])


def test_views_hold_the_leaves_that_see_nothing_else() -> None:
    spn = sum_of(
        Kernel("rbf", features=["a"]),
        Kernel("rbf", features=[0, 1]),
        Kernel("hamming"),
        Kernel("precomputed", label="first"),
    )
    views = {"numbers": ("a", "b"), "words": ("colour",), "all": ("a", "b", "colour")}
    found = prepared(spn, views=views, matrices=matrices())
    one, two, every, _ = spn.kernels
    assert found.views == {"numbers": (one, two), "all": (one, two, every)}


def test_equal_leaves_are_held_once() -> None:
    found = prepared(sum_of(Kernel("rbf", features=["a"]), Kernel("rbf", features=["a"])))
    assert len(found.kernels) == 2
    before = found.nbytes
    assert before == 8 * found.n**2
    assert found.cross_test
    assert found.nbytes == before + 8 * found.n * len(found.test)


def test_life_is_shown_and_a_tick_can_stop() -> None:
    said: list[str] = []
    dataset = Dataset("table", table(), "y")
    prepare(NUMBERS, dataset, Choices(), SPLIT, said.append)
    assert said == ["preparing the columns", "kernels 1 of 2", "kernels 2 of 2"]

    def stop(words: str) -> None:
        said.append(words)
        if words == "kernels 1 of 2":
            raise InterruptedError

    said.clear()
    with pytest.raises(InterruptedError):
        prepare(NUMBERS, dataset, Choices(), SPLIT, stop)
    assert said[-1] == "kernels 1 of 2"


def test_an_invalid_drawing_is_refused() -> None:
    with pytest.raises(StructureError, match="every child of a sum must be a product"):
        prepared(SPN(Sum(Kernel("rbf", features=["a"]))))


def test_columns_in_no_view_are_together() -> None:
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 4)), columns=list("abcd"))
    frame["label"] = ["x", "y"] * 20
    kernels = [Kernel("rbf", features=[*names], id=names) for names in ("a", "b", "c", "cd", "bc")]
    spn = SPN(Sum(*(Product(kernel) for kernel in kernels)))
    found = leaves_by_view(spn, Dataset("t", frame, "label", views={"first": ("a", "b")}))
    assert found == {"first": ("a", "b"), "in no view": ("c", "cd")}
    assert leaves_by_view(spn, Dataset("t", frame, "label")) == {}, "without views there is nothing to compare"
