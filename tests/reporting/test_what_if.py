"""Weights set by hand."""

import numpy as np
import pytest
from oracles import Array
from sklearn.svm import SVC
from small_runs import Trained, trained
from tolerances import DECISION, OBJECTIVE

from spnmkl import ParameterError
from spnmkl.reporting.what_if import what_if


@pytest.fixture(params=[2, 3], ids=["binary", "multiclass"])
def case(request: pytest.FixtureRequest) -> Trained:
    return trained(request.param)


def test_at_the_learned_weights_it_is_the_run(case: Trained) -> None:
    for beta in ({}, case.run.solution.beta, {"p6": case.run.solution.beta["p6"]}):
        assert what_if(case.run, case.prepared, beta) == (
            case.run.solution,
            case.run.test_scores,
            case.run.train_scores,
        )


def test_close_to_the_learned_weights_scores_are_close() -> None:
    case = trained(C=3.0, n=120)
    joint = case.run.solution.beta["joint"]
    solution, test, train = what_if(case.run, case.prepared, {"joint": joint * (1 + 1e-9)})
    assert solution.status == "hand-set"
    assert solution.objective == pytest.approx(case.run.solution.objective, rel=case.run.solution.tol)
    np.testing.assert_allclose(test.decision, case.run.test_scores.decision, atol=0.05)
    np.testing.assert_allclose(train.decision, case.run.train_scores.decision, atol=0.05)


def kernel(case: Trained, beta: dict[str, float], part: str) -> Array:
    g = [np.prod([beta[v] ** float(e) for v, e in m.exponents.items()]) for m in case.paths]
    return sum(gm * K for gm, K in zip(g, case.path_kernels(part), strict=True))


def test_elsewhere_it_is_the_svm_on_that_kernel() -> None:
    case = trained()
    moved = {"joint": 0.3, "p6": 2.0, "p1": 0.0}
    solution, test, train = what_if(case.run, case.prepared, moved)
    beta = case.run.solution.beta | moved
    assert solution.beta == beta
    oracle = SVC(C=case.run.settings.C, kernel="precomputed", tol=1e-8).fit(
        kernel(case, beta, "train"), case.prepared.y_train
    )
    for scores, part, y in ((test, "test", case.prepared.y_test), (train, "train", case.prepared.y_train)):
        expected = oracle.decision_function(kernel(case, beta, part))
        np.testing.assert_allclose(scores.decision, expected, atol=10 * DECISION * np.abs(expected).max())
        np.testing.assert_array_equal(scores.y, y)
    alpha = np.zeros(len(case.prepared.y_train))
    alpha[oracle.support_] = np.abs(oracle.dual_coef_[0])
    signed = alpha * np.where(case.prepared.y_train == oracle.classes_[1], 1, -1)
    c = np.sum([[float(m.exponents.get(v, 0)) for v in beta] for m in case.paths], axis=0)
    objective = alpha.sum() - signed @ kernel(case, beta, "train") @ signed / 2 + c @ list(beta.values())
    assert solution.objective == pytest.approx(objective, rel=OBJECTIVE * 10)
    assert solution.objective >= case.run.solution.objective * (1 - case.run.solution.tol)
    assert case.run.solution.beta["joint"] != 0.3


def test_without_any_weight(case: Trained) -> None:
    solution, test, train = what_if(case.run, case.prepared, dict.fromkeys(case.run.spn.products, 0.0))
    assert not any(solution.beta.values())
    for scores in (test, train):
        assert len(set(scores.predicted)) == 1


def test_impossible_weights() -> None:
    case = trained()
    with pytest.raises(ParameterError, match=r"^The weight of 'p6' must be a finite number"):
        what_if(case.run, case.prepared, {"p6": -1.0})
    with pytest.raises(ParameterError, match="'nowhere'"):
        what_if(case.run, case.prepared, {"nowhere": 1.0})
