"""Probabilities against scikit-learn's calibration, and on rows that no training has seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from spnmkl import Kernel, SPNMKLClassifier, templates
from spnmkl.calibration import platt, probabilities, scaling
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.training.calibrate import with_probabilities
from spnmkl.training.predict import Predictor
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights

RBF = templates.flat([Kernel("rbf", gamma=0.3), Kernel("rbf", gamma=1.0, features=[0])])


def noisy(n: int, columns: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns))
    return X, np.where(X[:, 0] + X[:, 1] ** 2 + 0.8 * rng.normal(size=n) > 1, "ill", "healthy")


def test_two_classes_are_calibrated_as_by_scikit_learn() -> None:
    """The same folds, the same trainings, one sigmoid over all that was held out."""
    X, y = noisy(150)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    plain = SPNMKLClassifier(RBF, C=2.0, tol=1e-6)
    theirs = CalibratedClassifierCV(plain, method="sigmoid", cv=folds, ensemble=False).fit(X, y)
    ours = SPNMKLClassifier(RBF, C=2.0, tol=1e-6, probability=True, random_state=3).fit(X, y)
    new = noisy(100, seed=1)[0]
    np.testing.assert_allclose(ours.predict_proba(new), theirs.predict_proba(new), atol=1e-3)


def test_the_scaling_is_a_logistic_regression_on_smoothed_targets() -> None:
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.3
    f = rng.normal(np.where(positive, 1.0, -0.5))
    n, m = positive.sum(), (~positive).sum()
    target = np.where(positive, (n + 1) / (n + 2), 1 / (m + 2))
    twice, either = np.concatenate([f, f])[:, None], np.repeat([True, False], 200)
    expected = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000).fit(
        twice, either, sample_weight=np.concatenate([target, 1 - target])
    )
    slope, offset = platt(f, positive, np.ones(200))
    assert (slope, offset) == pytest.approx((expected.coef_[0, 0], expected.intercept_[0]), abs=1e-4)


def test_several_classes_share_one_scaling_and_keep_their_order() -> None:
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 120)
    F = rng.normal(size=(3, 120)) + 2 * np.eye(3)[y].T
    P = probabilities(F, scaling(F, y, np.arange(3)))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    np.testing.assert_array_equal(P.argmax(axis=1), F.argmax(axis=0))


def test_answers_follow_the_decision_and_are_told_where_the_larger_probability_is_another() -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"])
    ill = frame["a"] + rng.normal(size=120) > 1.6
    frame["y"] = np.where(ill, "ill", "well")
    prepared = prepare(
        templates.flat([Kernel("linear", features=["a", "b"])]), Dataset("d", frame, "y"), Choices(), SplitSettings(0.0)
    )
    settings = Settings(class_weight="balanced")
    run = with_probabilities(learn_weights(prepared, settings), prepared, settings)
    assert run.model is not None
    found = Predictor.of_model("m", run.model)
    told = found.predict(found.match(frame))
    table = told.table
    larger = np.where(table["probability_ill"] > table["probability_well"], "ill", "well")
    n = int((larger != table["prediction"]).sum())
    assert n > 5 and told.against.startswith(
        f"In {n} of 120 rows the answer is not the class of the larger probability"
    )
    assert "for which classes were weighed" in told.against
    model = SPNMKLClassifier(RBF, class_weight="balanced", probability=True).fit(frame[["a", "b"]], ill)
    assert (model.predict(frame[["a", "b"]]) == (model.decision_function(frame[["a", "b"]]) > 0)).all()


def test_probabilities_of_pure_noise_are_those_of_the_classes() -> None:
    """Forty kernels on columns of noise: the weights that all rows chose would make held-out rows look predictable."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 40)), np.arange(60) % 2
    spn = templates.flat([Kernel("rbf", gamma=0.5, features=[k]) for k in range(40)])
    model = SPNMKLClassifier(spn, C=1.0, probability=True, random_state=0).fit(X, y)
    told = model.predict_proba(rng.normal(size=(400, 40)))[:, 1]
    assert roc_auc_score(y, model.decision_function(X)) > 0.9, "by heart"
    assert told.std() < 0.1, "and not believed"


def test_what_was_stopped_is_calibrated_with_the_weights_it_has() -> None:
    X, y = noisy(120)
    model = SPNMKLClassifier(RBF, C=5.0, probability=True, callback=lambda record: False, random_state=0).fit(X, y)
    assert model.status_ == "interrupted"
    assert np.ptp(model.predict_proba(X)[:, 0]) > 0.2
