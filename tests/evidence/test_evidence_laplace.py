"""The log evidence of one kernel: against scikit-learn, and its slope against differences."""

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from tolerances import COMPILED, DIFFERENCES

from spnmkl import SPN, Kernel, Product, Sum, fit_evidence
from spnmkl.circuit.program import compile_circuit
from spnmkl.circuit.source import MatrixSource
from spnmkl.evidence.laplace import laplace
from spnmkl.evidence.search import Search
from spnmkl.problem import one_vs_rest

SKLEARN = 1e-6  # its Newton steps end at gains below 1e-10, ours too, each from another side
ONE = SPN(Sum(Product(Kernel("rbf", label="K"))))


def labelled(n: int = 40, classes: int = 2, seed: int = 0) -> tuple[NDArray, NDArray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    score = X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=n)
    return X, np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)


def gram(X: NDArray, Z: NDArray) -> NDArray:
    return np.exp(-((X[:, None] - Z[None]) ** 2).sum(axis=2) / 2)


def theirs(X: NDArray, y: NDArray, amplitude: float, constant: float) -> GaussianProcessClassifier:
    kernel = ConstantKernel(amplitude) * RBF(1.0) + ConstantKernel(constant)
    return GaussianProcessClassifier(kernel, optimizer=None, max_iter_predict=100).fit(X, y)


@pytest.mark.parametrize(("amplitude", "constant"), [(1.0, 1.0), (30.0, 0.2), (0.01, 5.0)])
@pytest.mark.parametrize("classes", [2, 3])
def test_log_evidence_and_decision_are_those_of_scikit_learn(amplitude: float, constant: float, classes: int) -> None:
    X, y = labelled(classes=classes)
    Y = one_vs_rest(y, classes)
    found = laplace(amplitude * gram(X, X) + constant, Y, np.zeros_like(Y))
    for row, a in zip(Y, found.a, strict=True):
        their = theirs(X, row > 0, amplitude, constant).base_estimator_
        np.testing.assert_allclose(a, their.y_train_ - their.pi_, atol=SKLEARN)
    expected = sum(theirs(X, row > 0, amplitude, constant).log_marginal_likelihood_value_ for row in Y)
    assert found.log_evidence == pytest.approx(expected, rel=SKLEARN)


def test_weights_and_decision_are_where_scikit_learn_finds_its_own() -> None:
    X, y = labelled(60)
    ours = fit_evidence(ONE, {"k1": gram(X, X)}, y)
    kernel = ConstantKernel(4.0, (1e-3, np.exp(5))) * RBF(1.0, "fixed") + ConstantKernel(1.0, (np.exp(-12), np.exp(5)))
    their = GaussianProcessClassifier(kernel, n_restarts_optimizer=2, max_iter_predict=100, random_state=0).fit(X, y)
    assert ours.log_evidence == pytest.approx(their.log_marginal_likelihood_value_, abs=1e-4)
    grid = np.random.default_rng(3).normal(size=(20, 2))
    probability = their.predict_proba(grid)[:, 1]
    np.testing.assert_array_equal(ours.decision_function({"k1": gram(grid, X)}) > 0, probability > 0.5)


@pytest.mark.parametrize("classes", [2, 4])
def test_slope_in_any_direction_of_the_kernel(classes: int) -> None:
    X, y = labelled(classes=classes)
    Y, rng = one_vs_rest(y, classes), np.random.default_rng(1)
    K, direction = 3 * gram(X, X) + 1, (V := rng.normal(size=(len(y), 5)) / 10) @ V.T
    found = laplace(K, Y, np.zeros_like(Y))
    np.testing.assert_allclose(found.G, found.G.T, atol=COMPILED)
    up, down = (laplace(K + e * direction, Y, found.a).log_evidence for e in (1e-4, -1e-4))
    assert (found.G * direction).sum() == pytest.approx((up - down) / 2e-4, rel=DIFFERENCES)


def test_more_classes_are_the_sum_of_each_against_the_rest() -> None:
    X, y = labelled(classes=4)
    Y, K = one_vs_rest(y, 4), 5 * gram(X, X) + 1
    whole = laplace(K, Y, np.zeros_like(Y), n_threads=2)
    parts = [laplace(K, row[None], np.zeros((1, len(y)))) for row in Y]
    assert whole.log_evidence == pytest.approx(sum(part.log_evidence for part in parts), rel=1e-12)
    np.testing.assert_allclose(whole.G, sum(part.G for part in parts), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("rank", [1, 40])
def test_any_scale_and_rank_is_finite_and_the_mode_is_one(scale: float, rank: int) -> None:
    """At the mode a = (t+1)/2 − σ(Ka), of kernels of rank 1 as of full rank, from starts good or bad."""
    X, y = labelled()
    K = scale * (np.outer(X[:, 0], X[:, 0]) if rank == 1 else gram(X, X))
    Y = one_vs_rest(y, 2)
    for start in (np.zeros_like(Y), 100 * Y):
        found = laplace(K, Y, start)
        assert np.isfinite(found.log_evidence) and np.isfinite(found.G).all()
        p = 1 / (1 + np.exp(-np.clip(K @ found.a[0], -700, 700)))
        np.testing.assert_allclose(found.a[0], (Y[0] + 1) / 2 - p, atol=1e-5)


def test_no_kernel_is_as_good_as_coin_flips() -> None:
    _, y = labelled()
    Y = one_vs_rest(y, 2)
    assert laplace(np.zeros((40, 40)), Y, np.zeros_like(Y)).log_evidence == pytest.approx(-40 * np.log(2))


def test_slope_in_the_constant() -> None:
    X, y = labelled()
    Y = one_vs_rest(y, 2)
    search = Search(ONE, compile_circuit(ONE), MatrixSource({"k1": gram(X, X)}), Y)
    value = [
        search.evaluate(np.array([2.0]), c, np.zeros_like(Y)) for c in (0.5, 0.5 * np.exp(1e-4), 0.5 * np.exp(-1e-4))
    ]
    difference = (value[1][0].log_evidence - value[2][0].log_evidence) / 2e-4
    assert value[0][1][-1] == pytest.approx(difference, rel=DIFFERENCES)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_that_counts_twice_is_as_one_that_comes_twice(classes: int) -> None:
    X, y = labelled(classes=classes)
    counts = np.random.default_rng(2).integers(1, 4, len(y))
    Y, K, twice = one_vs_rest(y, classes), 3 * gram(X, X) + 1, np.repeat(np.arange(len(y)), counts)
    counted = laplace(K, Y, np.zeros_like(Y), counts.astype(float))
    repeated = laplace(K[np.ix_(twice, twice)], Y[:, twice], np.zeros((len(Y), len(twice))))
    assert counted.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-10)
    together = np.eye(len(y))[twice]
    np.testing.assert_allclose(counted.G, together.T @ repeated.G @ together, atol=1e-8)
    np.testing.assert_allclose(counted.a, repeated.a @ together, atol=1e-8)
