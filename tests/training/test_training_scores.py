"""Scores against scikit-learn and scipy."""

import numpy as np
import pytest
from oracles import Array
from scipy.stats import binomtest
from sklearn.metrics import (
    accuracy_score,
    auc,
    confusion_matrix,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)
from tolerances import ROUNDING

from spnmkl.errors import DataError
from spnmkl.training.scores import Scores, score, share_right, unscored

BINARY = np.array(["benign", "malignant"])
THREE = np.array([2, 5, 9])


def answers(classes: np.ndarray, n: int = 200, seed: int = 0) -> tuple[np.ndarray, Array]:
    """Decisions with ties that are better than chance."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, len(classes), n)
    if len(classes) == 2:
        return classes[codes], np.round(rng.normal(2 * codes - 1, 1.5), 1)
    return classes[codes], np.round(rng.normal(size=(n, len(classes))) + np.eye(len(classes))[codes], 1)


def scored(classes: np.ndarray, n: int = 200, seed: int = 0) -> Scores:
    return score(*answers(classes, n, seed), classes)


@pytest.mark.parametrize("classes", [BINARY, THREE])
def test_counts_are_those_of_scikit_learn(classes: np.ndarray) -> None:
    found = scored(classes)
    y, predicted = found.y, found.predicted
    assert found.n == 200
    assert found.accuracy == accuracy_score(y, predicted)
    np.testing.assert_array_equal(found.confusion, confusion_matrix(y, predicted, labels=classes))
    assert found.confusion.index.tolist() == found.confusion.columns.tolist() == classes.tolist()
    expected = precision_recall_fscore_support(y, predicted, labels=classes)
    np.testing.assert_allclose(found.per_class.to_numpy().T, expected, rtol=ROUNDING)
    assert found.per_class.columns.tolist() == ["precision", "recall", "f1", "rows"]


def test_a_class_that_is_never_answered_or_never_there() -> None:
    y, decision = answers(THREE)
    decision[:, 1] = -9
    y = np.where(y == 9, 2, y)
    found = score(y, decision, THREE)
    expected = precision_recall_fscore_support(y, found.predicted, labels=THREE, zero_division=np.nan)
    np.testing.assert_allclose(found.per_class.to_numpy().T, expected, rtol=ROUNDING)
    assert np.isnan(found.auc[9])
    assert set(found.roc()["class"]) == {2, 5}


@pytest.mark.parametrize("seed", range(5))
def test_roc_and_its_area_for_two_classes(seed: int) -> None:
    found = scored(BINARY, seed=seed)
    assert found.auc == pytest.approx(roc_auc_score(found.y, found.decision), abs=ROUNDING)
    every, corners = (
        np.transpose(roc_curve(found.y, found.decision, pos_label="malignant", drop_intermediate=drop)[:2]).tolist()
        for drop in (False, True)
    )
    roc = found.roc()
    points = roc[["false positive rate", "true positive rate"]].to_numpy().tolist()
    assert set(roc["class"]) == {"malignant"}
    assert [point for point in every if point in points] == points
    assert {tuple(point) for point in corners[2:]} <= {tuple(point) for point in points}  # it drops before (0, 0)


def test_roc_and_its_area_for_each_of_more_classes() -> None:
    found = scored(THREE)
    for c, (label, curve) in enumerate(found.roc().groupby("class")):
        expected = roc_auc_score(found.y == label, found.decision[:, c])
        assert found.auc[label] == pytest.approx(expected, abs=ROUNDING)
        assert auc(curve["false positive rate"], curve["true positive rate"]) == pytest.approx(expected, abs=ROUNDING)
    assert list(found.auc) == THREE.tolist()


def test_without_one_of_two_classes_there_is_no_roc() -> None:
    found = score(np.repeat("benign", 4), np.array([-1.0, 0.0, 1.0, -2.0]), BINARY)
    assert np.isnan(found.auc)
    assert found.roc().empty
    assert found.roc().columns.tolist() == ["false positive rate", "true positive rate", "class"]


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 1), (0, 20), (20, 20), (7, 20), (135, 143), (1999, 2000)])
def test_the_interval_is_wilsons(right: int, n: int) -> None:
    decision = np.where(np.arange(n) < right, 1.0, -1.0)
    found = score(np.repeat("malignant", n), decision, BINARY)
    expected = binomtest(right, n).proportion_ci(method="wilson")
    assert found.interval == pytest.approx((expected.low, expected.high), abs=ROUNDING)
    assert 0 <= found.interval[0] <= found.accuracy <= found.interval[1] <= 1


@pytest.mark.parametrize("classes", [BINARY, THREE])
def test_the_majority_is_what_one_answer_would_reach(classes: np.ndarray) -> None:
    found = scored(classes)
    label, share = found.majority
    assert share == max(np.mean(found.y == c) for c in classes) == np.mean(found.y == label)


def test_in_words() -> None:
    y = np.repeat(BINARY, [90, 53])
    wrong = np.arange(143) < 8
    decision = np.where((y == "malignant") ^ wrong, 1.0, -1.0)
    assert score(y, decision, BINARY).sentence() == (
        "94.4 % of 143 test rows right (95 % interval 89–97 %); always answering 'benign' gives 62.9 %"
    )
    assert score(y[:1], decision[:1], BINARY).sentence("training").startswith("0.0 % of 1 training row right")


def test_all_but_one_is_not_all() -> None:
    y = np.repeat("malignant", 5000)
    decision = np.append(np.ones(4999), -1.0)
    assert score(y, decision, BINARY).sentence().startswith("99.9 % of 5,000 test rows right")
    assert score(y, np.ones(5000), BINARY).sentence().startswith("100.0 % of 5,000 test rows right")


@pytest.mark.parametrize(
    ("y", "decision", "message"),
    [
        (
            ["benign"] * 3,
            np.zeros(2),
            "Scores need one row or more and decisions of shape (3,), but there are 3 rows and decisions of shape "
            "(2,); pass what decision_function gives for the same rows.",
        ),
        (
            [],
            np.zeros(0),
            "Scores need one row or more and decisions of shape (0,), but there are 0 rows and decisions of shape "
            "(0,); pass what decision_function gives for the same rows.",
        ),
        (
            ["benign", "odd", "odd"],
            np.zeros(3),
            "Class 'odd' does not occur in training, so that no answer can be right; leave its 2 rows out.",
        ),
    ],
)
def test_what_cannot_be_scored(y: list[str], decision: Array, message: str) -> None:
    with pytest.raises(DataError) as refused:
        score(y, decision, BINARY)
    assert str(refused.value) == message


@pytest.mark.parametrize("classes", [BINARY, THREE])
def test_what_was_not_scored_gives_no_number(classes: np.ndarray) -> None:
    whole = scored(classes)
    found = unscored(whole.y, classes)
    assert whole.scored and not found.scored and found.n == whole.n
    assert np.isnan([found.accuracy, *found.interval]).all() and share_right(found.accuracy) == "not scored"
    assert not found.right.any() and found.majority == whole.majority and not found.confusion.to_numpy().any()
    assert found.per_class.drop(columns="rows").isna().all(axis=None)
    assert found.per_class["rows"].tolist() == whole.per_class["rows"].tolist()
    assert np.isnan(found.auc if isinstance(found.auc, float) else [*found.auc.values()]).all() and not len(found.roc())
    assert found.sentence() == "200 test rows not scored: stopped"
