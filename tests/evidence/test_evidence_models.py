"""Classifiers at evidence weights: saved, inspected, chosen and scored as others are, and never called certified."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from spnmkl import Kernel, ParameterError, SPNMKLClassifier, cross_validate_C, fit_evidence, templates
from spnmkl.evidence.machine import solve_by_evidence
from spnmkl.inspection import decision_shares, refit
from spnmkl.kernels import fit_kernels
from spnmkl.problem import answers
from spnmkl.reporting.sentences import certificate_sentence
from spnmkl.selection.folds import blocks, fold_splits

SPN = templates.product_of_sums({"a": [0, 1], "b": [1, 2]})


def rows(classes: int = 2, n: int = 90) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=n)
    return X, np.array(["no", "so", "yes"])[np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)]


@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_machine_of_scikit_learn_at_the_weights_of_largest_evidence(classes: int) -> None:
    X, y = rows(classes)
    model = SPNMKLClassifier(SPN, weights="evidence", C=2.0, tol=1e-7).fit(X, y)
    kernels, _ = fit_kernels(SPN, X)
    found = fit_evidence(SPN, kernels, y)
    assert model.beta_ == pytest.approx(found.beta, rel=1e-9)
    assert (model.status_, model.solution_.solver) == ("evidence", "evidence")
    assert (model.dual_bound_, model.gap_) == (-np.inf, np.inf)
    K = np.zeros((len(y), len(y)))
    for path in SPN.paths():
        g = np.prod([found.beta[v] ** float(e) for v, e in path.exponents.items()])
        K += g * np.prod([kernels[leaf] for leaf in path.leaves], axis=0)
    for k in range(1 if classes == 2 else 3):
        label = model.classes_[-1] if classes == 2 else model.classes_[k]
        theirs = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K, y == label).decision_function(K)
        ours = model.decision_function(X)
        np.testing.assert_allclose(ours if classes == 2 else ours[:, k], theirs, atol=2e-2)


def test_no_certificate_and_no_word_of_one() -> None:
    X, y = rows()
    model = SPNMKLClassifier(SPN, weights="evidence").fit(X, y)
    kernels, _ = fit_kernels(SPN, X)
    certificate = model.solution_.certify(kernels)
    assert certificate.objective == pytest.approx(model.objective_) and certificate.gap == np.inf
    said = certificate_sentence(model.solution_)
    assert "evidence weights, not certified" in said and "optimal" not in said


def test_it_is_saved_and_loaded_inspected_and_changed_by_hand(tmp_path: Path) -> None:
    X, y = rows(3)
    model = SPNMKLClassifier(SPN, weights="evidence", probability=True, random_state=0).fit(X, y)
    model.save(tmp_path / "m.spnmkl")
    again = SPNMKLClassifier.load(tmp_path / "m.spnmkl")
    assert again.get_params()["weights"] == "evidence" and again.status_ == "evidence"
    assert again.history_ == model.history_ and again.beta_ == model.beta_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    kernels, _ = fit_kernels(SPN, X)
    shares = decision_shares(again.solution_, kernels)
    assert max(shares.products.values()) == pytest.approx(1)
    changed = refit(again.solution_, kernels, {"p2": 0.0})
    assert changed.status == "hand-set" and changed.gap == np.inf


@pytest.mark.parametrize("classes", [2, 3])
def test_C_is_chosen_at_the_evidence_weights_of_every_fold(classes: int) -> None:
    X, y = rows(classes)
    kernels, _ = fit_kernels(SPN, X)
    grid = [0.1, 10.0]
    found = cross_validate_C(SPN, kernels, y, grid, folds=3, weights="evidence", tol=1e-6)
    start = fit_evidence(SPN, kernels, y).beta
    for fold, (train, test) in enumerate(fold_splits(y, 3, None, 0)):
        inside, across = blocks(kernels, train, train), blocks(kernels, test, train)
        model = solve_by_evidence(SPN, inside, y[train], C=10.0, tol=1e-6)
        begun = fit_evidence(SPN, inside, y[train], starts=1, start=start, max_iter=20)
        assert begun.log_evidence == pytest.approx(fit_evidence(SPN, inside, y[train]).log_evidence, abs=0.01)
        for v, beta in found.beta.items():
            np.testing.assert_allclose(beta[:, fold], begun.beta[v], rtol=1e-9)
        right = answers(model.decision_function(across), model.classes) == y[test]
        assert found.scores[1, fold] == pytest.approx(right.mean())
    assert cross_validate_C(SPN, kernels, y, folds=2, weights="evidence").C[[0, -1]].tolist() == [0.01, 1000.0]


def test_stopped_before_the_end_it_says_so() -> None:
    X, y = rows()
    with pytest.warns(match="max_time"):
        late = SPNMKLClassifier(SPN, weights="evidence", max_time=1e-9).fit(X, y)
    assert late.status_ == "time_limit"
    stopped = SPNMKLClassifier(SPN, weights="evidence", callback=lambda record: record.iteration < 3).fit(X, y)
    assert stopped.status_ == "interrupted" and len(stopped.history_) == 3
    assert (stopped.predict(X) == y).mean() > 0.6
    assert "evidence weights, not certified" in certificate_sentence(stopped.solution_)


def test_another_name_of_weights_is_refused() -> None:
    X, y = rows()
    with pytest.raises(ParameterError, match="weights must be one of"):
        SPNMKLClassifier(weights="best").fit(X, y)


@pytest.mark.filterwarnings("ignore")
def test_every_check_of_scikit_learn_passes() -> None:
    model = SPNMKLClassifier(templates.flat([Kernel("rbf", gamma=0.5), Kernel("linear")]), weights="evidence", tol=1e-9)
    for result in check_estimator(model, on_fail=None):
        assert result["status"] in ("passed", "skipped"), (result["check_name"], result["exception"])
