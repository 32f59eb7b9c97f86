"""Measures against scikit-learn, and intervals against scipy, simulation and the definitions."""

import math

import numpy as np
import pytest
from cases import case_of, flat
from scipy import stats
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, log_loss, recall_score, roc_auc_score
from tolerances import ROUNDING

from spnmkl import ParameterError, cross_validate_C, solve
from spnmkl.baselines import Method
from spnmkl.measures import (
    SCORINGS,
    are_uneven,
    area,
    error_by_rows,
    interval_of_area,
    interval_of_losses,
    interval_of_mean,
    interval_of_mean_area,
    interval_over_folds,
    one_round,
    row_losses,
    scoring_name,
)
from spnmkl.problem import answers
from spnmkl.training.scores import Measured, Scores, measures_table, score

TWO, THREE = np.array(["ill", "well"]), np.array([2, 5, 9])


def scored(classes: np.ndarray, seed: int = 0, n: int = 150, rare: float = 0.2) -> Scores:
    """Decisions with ties, better than chance, of classes that are uneven."""
    rng = np.random.default_rng(seed)
    shares = np.array([rare, *[(1 - rare) / (len(classes) - 1)] * (len(classes) - 1)])
    codes = rng.choice(len(classes), n, p=shares)
    if len(classes) == 2:
        return score(classes[codes], np.round(rng.normal(2 * codes - 1, 1.5), 1), classes)
    return score(classes[codes], np.round(rng.normal(size=(n, len(classes))) + np.eye(len(classes))[codes], 1), classes)


def by_title(found: list[Measured]) -> dict[str, Measured]:
    return {m.title.split(",")[0]: m for m in found}


@pytest.mark.parametrize("seed", range(3))
def test_two_classes_are_measured_as_by_scikit_learn(seed: int) -> None:
    found = scored(TWO, seed)
    y, said = found.y, found.predicted
    measured = by_title(found.measures("ill"))
    assert measured["accuracy"].value == pytest.approx(accuracy_score(y, said))
    assert measured["balanced accuracy"].value == pytest.approx(balanced_accuracy_score(y, said))
    assert measured["area under the ROC curve"].value == pytest.approx(roc_auc_score(y, found.decision), abs=ROUNDING)
    assert measured["sensitivity"].value == pytest.approx(recall_score(y, said, pos_label="ill"))
    assert measured["specificity"].value == pytest.approx(recall_score(y, said, pos_label="well"))
    swapped = by_title(found.measures())
    assert swapped["sensitivity"].value == measured["specificity"].value, "by default the second class is positive"
    assert "'well'" in swapped["sensitivity"].title
    for name in ("sensitivity", "specificity"):
        of = y == ("ill" if name == "sensitivity" else "well")
        expected = binomtest(int((said == y)[of].sum()), int(of.sum())).proportion_ci(method="wilson")
        assert measured[name].interval == pytest.approx((expected.low, expected.high), abs=ROUNDING)


@pytest.mark.parametrize("seed", range(3))
def test_several_classes_are_measured_by_the_usual_averages(seed: int) -> None:
    found = scored(THREE, seed)
    measured = by_title(found.measures())
    probability = np.exp(found.decision) / np.exp(found.decision).sum(axis=1, keepdims=True)
    expected = np.mean([roc_auc_score(found.y == c, found.decision[:, k]) for k, c in enumerate(THREE)])
    assert measured["area under the ROC curve"].value == pytest.approx(expected, abs=ROUNDING)
    assert measured["balanced accuracy"].value == pytest.approx(balanced_accuracy_score(found.y, found.predicted))
    others = np.mean([recall_score(found.y != c, found.predicted != c) for c in THREE])
    assert measured["specificity"].value == pytest.approx(others)
    loss = by_title(found.measures(probability=probability))["log loss"]
    assert loss.value == pytest.approx(log_loss(found.y, probability, labels=THREE))


def test_log_loss_of_two_classes_and_of_certainty() -> None:
    found = scored(TWO)
    P = np.column_stack([1 / (1 + np.exp(found.decision)), 1 / (1 + np.exp(-found.decision))])
    losses = row_losses(found.y, P, TWO)
    assert losses.mean() == pytest.approx(log_loss(found.y, P, labels=TWO))
    low, high = interval_of_losses(losses)
    assert (low, high) == pytest.approx(stats.t.interval(0.95, len(losses) - 1, losses.mean(), stats.sem(losses)))
    certain = np.eye(2)[(found.y == "ill").astype(int)]  # wrong throughout
    assert np.isfinite(row_losses(found.y, certain, TWO)).all()


def test_a_class_without_rows_counts_neither_for_nor_against() -> None:
    decision = np.eye(3)[[0, 0, 1, 2]]
    y = np.array([2, 2, 5, 5])
    assert SCORINGS["balanced_accuracy"].of(y, decision, THREE) == pytest.approx(0.75)
    assert np.isfinite(SCORINGS["roc_auc"].of(y, decision, THREE))
    assert math.isnan(SCORINGS["roc_auc"].of(y[:2], decision[:2, 0], TWO))


@pytest.mark.parametrize(("n", "m", "true"), [(20, 60, 0.86), (8, 30, 0.7), (15, 15, 0.95)])
def test_the_interval_of_an_area_holds_it_as_often_as_it_says(n: int, m: int, true: float) -> None:
    """Normal scores whose area is known; the share of intervals that hold it is within 3 errors of 95 %."""
    rng, shift, times = np.random.default_rng(0), math.sqrt(2) * stats.norm.ppf(true), 600
    y = np.repeat([True, False], [n, m])
    held = 0
    for _ in range(times):
        values = rng.normal(size=n + m) + shift * y
        low, high = interval_of_area(area(y, values), n, m)
        held += low <= true <= high
    assert abs(held / times - 0.95) < 3 * math.sqrt(0.95 * 0.05 / times) + 0.01


def test_the_interval_of_an_area_at_its_ends() -> None:
    low, high = interval_of_area(1.0, 10, 12)
    assert 0.7 < low < 0.95, "a perfect order of few rows is not certain"
    assert high == 1.0
    assert interval_of_area(0.0, 10, 12) == pytest.approx((0.0, 1 - low))
    assert all(map(math.isnan, interval_of_area(math.nan, 0, 12)))


def test_an_area_of_several_classes_holds_the_true_one_as_often_as_it_says() -> None:
    rng, classes, tries = np.random.default_rng(0), np.arange(4), 300

    def drawn(n: int) -> tuple[np.ndarray, np.ndarray]:
        y = rng.permutation(np.arange(n) % 4)
        return y, rng.normal(size=(n, 4)) + (y[:, None] == classes)

    true, held = SCORINGS["roc_auc"].of(*drawn(40_000), classes), 0
    for _ in range(tries):
        low, high = interval_of_mean_area(*drawn(60), classes)
        held += low <= true <= high
    assert binomtest(held, tries, 0.95).pvalue > 1e-3


def test_the_area_of_two_classes_written_as_several_is_that_of_two() -> None:
    two = scored(TWO)
    n, m = ((two.y == c).sum() for c in TWO)
    expected = interval_of_area(area(two.y == TWO[1], two.decision), int(n), int(m))
    columns = np.column_stack([-two.decision, two.decision])
    assert interval_of_mean_area(two.y, columns, TWO) == pytest.approx(expected)
    low, high = interval_of_mean_area(np.repeat(THREE, 5), np.eye(3)[np.repeat(np.arange(3), 5)], THREE)
    assert 0.5 < low < 0.95 and high == 1, "a perfect order of few rows is not certain"
    assert scored(THREE).measured("roc_auc").interval == interval_of_mean_area(
        scored(THREE).y, scored(THREE).decision, THREE
    )
    assert all(map(math.isnan, interval_of_mean_area(np.full(3, 2), np.ones((3, 3)), THREE)))


def test_the_interval_of_a_mean_of_shares() -> None:
    """Of one share it is Wilson's; of several it holds the true mean as often as it says."""
    one = binomtest(7, 20).proportion_ci(method="wilson")
    assert interval_of_mean(np.array([0.35]), np.array([20])) == pytest.approx((one.low, one.high))
    rng, true, n = np.random.default_rng(1), np.array([0.9, 0.6]), np.array([120, 30])
    held = 0
    for _ in range(2000):
        low, high = interval_of_mean(rng.binomial(n, true) / n, n)
        held += low <= true.mean() <= high
    assert 0.93 < held / 2000 < 0.97


def test_the_interval_over_folds_is_the_corrected_resampled_t() -> None:
    values, ratio = np.array([0.8, 0.85, 0.7, 0.9, 0.75]), 0.25
    error = values.std(ddof=1) * math.sqrt(1 / 5 + ratio)
    expected = stats.t.interval(0.95, 4, values.mean(), error)
    found = interval_over_folds(values, ratio, 0.01)
    assert found == pytest.approx((max(expected[0], 0), min(expected[1], 1)))
    assert interval_over_folds(np.append(values, np.nan), ratio, 0.01) == found
    assert all(map(math.isnan, interval_over_folds(values[:2], ratio, 0.01)))
    low, high = interval_over_folds(np.ones(5), ratio, 0.05)
    assert low < 1 == high, "as if one row had been wrong"


def test_rows_count_once_however_many_rounds_have_begun() -> None:
    assert one_round([]) == one_round([1, 1, 1]) == 1.0
    assert one_round([1, 1, 1, 2]) == 0.75 and one_round(["a", "b"]) == 0.5
    assert error_by_rows([0.1] * 4, [1, 1, 1, 1]) == pytest.approx(0.1 / 4**0.5)
    assert error_by_rows([0.1] * 6, [1, 1, 1, 1, 2, 2]) == pytest.approx(0.1 / 4**0.5)
    assert math.isnan(error_by_rows([], [])) and math.isnan(error_by_rows([0.1, math.nan], [1, 1]))


def test_whether_guessing_is_beaten() -> None:
    assert Measured("accuracy", 0.8, (0.7, 0.9), 0.6).beats_guessing
    assert not Measured("accuracy", 0.8, (0.7, 0.9), 0.75).beats_guessing
    assert Measured("log loss", 0.4, (0.3, 0.5), 0.6, smaller=True).beats_guessing
    assert not Measured("log loss", 0.4, (0.3, 0.65), 0.6, smaller=True).beats_guessing
    assert are_uneven([123, 32])
    assert not are_uneven([90, 53])


def test_a_table_of_measures() -> None:
    table = measures_table(scored(TWO).measures("ill"))
    assert table["measure"].tolist()[:3] == ["accuracy", "balanced accuracy", "area under the ROC curve"]
    assert table["guessing"].tolist()[1:3] == ["50.0 %", "0.500"]
    assert all("–" in words for words in table["95 % interval"])


@pytest.mark.parametrize("scoring", SCORINGS)
def test_C_is_chosen_by_the_measure_that_was_asked_for(scoring: str) -> None:
    """Score by score what training and scikit-learn give; and the choice of a method is the same."""
    case = case_of(flat(3), n=60)
    names = np.where(np.arange(60) % 5 == 0, "rare", "often")
    grid = [0.3, 3.0]
    found = cross_validate_C(case.spn, case.kernels, names, grid, folds=3, scoring=scoring)
    assert found.scoring == scoring
    from sklearn.model_selection import StratifiedKFold

    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(names, names)
    for fold, (train, test) in enumerate(splits):
        for k, C in enumerate(grid):
            inside = {leaf: K[np.ix_(train, train)] for leaf, K in case.kernels.items()}
            solution = solve(case.spn, inside, names[train], C=C, warn=False)
            f = solution.decision_function({leaf: K[np.ix_(test, train)] for leaf, K in case.kernels.items()})
            said = answers(f, solution.classes)
            expected = {
                "accuracy": accuracy_score(names[test], said),
                "balanced_accuracy": balanced_accuracy_score(names[test], said),
                "roc_auc": roc_auc_score(names[test] == "rare", f),
            }[scoring]
            assert found.scores[k, fold] == pytest.approx(expected, abs=0.06)  # each is solved to a gap of 0.1 %
    assert found.best_C == grid[int(found.mean.argmax())]
    by_label = {case.spn.label(leaf): K for leaf, K in case.kernels.items()}
    chosen = Method("own", (case.spn,)).fit(by_label, names, grid, folds=3, scoring=scoring)
    assert found.best_C == chosen.C


def test_a_measure_that_is_not_known_is_refused() -> None:
    with pytest.raises(ParameterError, match="scoring must be one of 'accuracy', 'balanced_accuracy', 'roc_auc'"):
        scoring_name("f1")
    with pytest.raises(ParameterError, match="needs probabilities"):
        scoring_name("log_loss")
