"""Probabilities beside what came true, against scikit-learn; and probabilities of new rows."""

import numpy as np
import pytest
from scipy.stats import binomtest
from sklearn.calibration import calibration_curve
from small_runs import small_dataset, trained

from spnmkl.calibration import probabilities
from spnmkl.study.contest import Plan
from spnmkl.study.nested import resample
from spnmkl.training.calibrate import with_probabilities
from spnmkl.training.predict import Predictor
from spnmkl.training.reliability import reliability, run_reliability
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights

CLASSES = np.array(["no", "yes"])


def scored_run(classes: int = 2) -> Run:
    found = trained(classes)
    run = found.run
    given = run.spn, found.dataset, run.choices, run.split, run.settings
    return run.with_fold_scores(list(resample(*given, chosen=False, plan=Plan(folds=3, repeats=2)))[-1])


def test_groups_are_the_quantiles_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = CLASSES[(rng.random(200) < p).astype(int)]
    table = reliability(y, np.column_stack([1 - p, p]), CLASSES)
    observed, predicted = calibration_curve(y == "yes", p, n_bins=10, strategy="quantile")
    np.testing.assert_allclose(table["observed"], observed)
    np.testing.assert_allclose(table["predicted"], predicted)
    for row in table.itertuples():
        expected = binomtest(round(row.observed * row.rows), row.rows).proportion_ci(method="wilson")
        assert (row.low, row.high) == pytest.approx((expected.low, expected.high))


def test_of_several_classes_it_is_about_the_answer() -> None:
    P = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    table = reliability(np.array(["a", "b"]), P, np.array(["a", "b", "c"]))
    assert table[["predicted", "observed", "rows"]].to_numpy().ravel().tolist() == pytest.approx([0.65, 0.5, 2])


def test_a_run_says_of_which_rows_it_is() -> None:
    assert run_reliability(trained().run) is None
    run = scored_run()
    table, rows, of = run_reliability(run)
    assert table["rows"].sum() == run.n_train and "each held out once" in rows and of == "probability of 'dull'"
    test = Run(**{**run.__dict__, "fold_scores": None})
    table, rows, _ = run_reliability(test)
    assert table["rows"].sum() == run.n_test and rows == f"{run.n_test} test rows"


@pytest.mark.parametrize("classes", [2, 3])
def test_new_rows_get_the_probabilities_of_the_model(classes: int) -> None:
    run = scored_run(classes)
    frame = small_dataset(classes).frame.drop(columns="class")
    predictor = Predictor.of_run(run)
    table = predictor.predict(predictor.match(frame)).table
    P = table[predictor.probability_names].to_numpy()
    assert predictor.probability_names == [f"probability_{c}" for c in run.solution.classes]
    np.testing.assert_allclose(P, run.model.predict_proba(predictor.transform(frame)))
    scores = np.atleast_2d(table[predictor.score_names].to_numpy().T)
    np.testing.assert_allclose(P, probabilities(scores, run.model.calibration_))
    plain = Predictor.of_run(trained(classes).run)
    assert not plain.probability_names
    assert not [name for name in plain.predict(plain.match(frame)).table if name.startswith("probability")]


def test_probabilities_without_scores_over_folds() -> None:
    found = trained()
    settings = Settings()
    learned = learn_weights(found.prepared, settings)
    told = with_probabilities(learned, found.prepared, settings, n_threads=1)
    assert told.model.calibration_[0, 0] > 0 and learned.model.calibration_ is None
    assert with_probabilities(learned, found.prepared, settings, stop=lambda: True) is learned
