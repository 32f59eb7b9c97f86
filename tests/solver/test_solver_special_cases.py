"""Structures that are other methods in disguise (formulation, section 9), and the scale of C and λ (section 7)."""

import numpy as np
import pytest
from cases import case_of, drawn, flat, random_case
from oracles import Array, block_norm_mkl, group_lasso_mkl, lq_norm_mkl
from sklearn.svm import SVC
from tolerances import DECISION, OBJECTIVE, ROUNDING, SOLVED, TIGHT, WEIGHTS

from spnmkl import Solution, solve

ONE_PATH = drawn("P0>S1 K0, S1>P1, P1>K1")


def block_norms(solution: Solution, kernels: dict[str, Array]) -> Array:
    """‖w_m‖ of a flat structure: β_m √q_m."""
    A = solution.signed_alpha
    return np.array([b * np.sqrt(np.sum((A @ kernels["K" + v[1:]]) * A)) for v, b in solution.beta.items()])


@pytest.mark.parametrize("p", [1, 1.5, 2])
@pytest.mark.parametrize("lam", [1.0, 0.3])
def test_one_path_is_an_svm(p: float, lam: float) -> None:
    case = case_of(ONE_PATH, n=40)
    K, C_svm = case.kernels["K0"] * case.kernels["K1"], 2.0
    svm = SVC(C=C_svm, kernel="precomputed", tol=1e-10).fit(K, case.y)
    w2 = svm.dual_coef_[0] @ K[np.ix_(svm.support_, svm.support_)] @ svm.dual_coef_[0]
    beta = (w2 / (2 * lam * p)) ** (1 / (p + 1))
    if p == 1:
        assert C_svm / beta == pytest.approx(C_svm * np.sqrt(2 * lam) / np.sqrt(w2))
    solution = solve(*case.posed, C=C_svm / beta, lam=lam, p=p, tol=SOLVED)
    assert solution.beta == pytest.approx({"P0": beta, "P1": beta}, rel=WEIGHTS)
    np.testing.assert_allclose(solution.decision_function(case.kernels), svm.decision_function(K), atol=DECISION)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_layer_with_p_1_is_the_group_lasso(classes: int) -> None:
    case = case_of(flat(6), seed=classes, n=30, classes=classes)
    weights = np.random.default_rng(classes).uniform(0.4, 1.6, 30)
    solution = solve(*case.posed, C=1.0, lam=0.7, sample_weight=weights, tol=SOLVED)
    lasso = group_lasso_mkl(case.kernels, case.y, weights, 0.7)
    assert solution.objective == pytest.approx(lasso.objective, rel=OBJECTIVE)
    norms = np.array(list(lasso.norms.values()))
    np.testing.assert_allclose(list(solution.beta.values()), norms / np.sqrt(1.4), atol=WEIGHTS * norms.max())
    assert {v for v, b in solution.beta.items() if b == 0} == {f"P{i}" for i in np.flatnonzero(norms < 1e-6)}
    assert solution.pruned


def test_a_group_weight_is_a_scaled_kernel() -> None:
    case = case_of(flat(4), n=30)
    d = np.array([1.0, 2.0, 0.5, 1.5])
    scaled = {leaf: K / d_m**2 for (leaf, K), d_m in zip(case.kernels.items(), d, strict=True)}
    solution = solve(case.spn, scaled, case.y, tol=SOLVED)
    # The same objective, written with the unscaled kernels: √2 Σ d_m ‖w_m‖ + loss.
    norms = block_norms(solution, scaled)
    f = sum(b * scaled[f"K{v[1:]}"] @ solution.signed_alpha[0] for v, b in solution.beta.items()) + solution.intercept
    loss = np.maximum(0, 1 - np.sign(case.y) * f).sum()
    assert np.sqrt(2) * norms.sum() + loss == pytest.approx(solution.objective, rel=TIGHT)


@pytest.mark.parametrize("p", [2, 3])
def test_one_layer_is_lq_norm_mkl(p: int) -> None:
    case = case_of(flat(5), seed=3, n=30)
    solution = solve(*case.posed, C=1.5, lam=0.7, p=p, tol=SOLVED)
    block = block_norm_mkl(case.kernels, case.y, 1.5, 0.7, p=p)
    assert solution.objective == pytest.approx(block.objective, rel=OBJECTIVE)
    beta, norms = np.array(list(solution.beta.values())), np.array(list(block.norms.values()))
    np.testing.assert_allclose(beta, (norms**2 / (2 * 0.7 * p)) ** (1 / (p + 1)), atol=WEIGHTS * beta.max())
    kloft = lq_norm_mkl(case.kernels, case.y, np.linalg.norm(beta, p) * 1.5, q=p)
    expected = np.array(list(kloft.norms.values()))
    np.testing.assert_allclose(block_norms(solution, case.kernels), expected, atol=WEIGHTS * expected.max())


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_lambda_only_rescales(p: float) -> None:
    case, lam = random_case(3), 7.0
    kappa = lam ** (-1 / (p + 1))
    left = solve(*case.posed, C=20.0, lam=lam, p=p, tol=SOLVED)
    right = solve(*case.posed, C=20.0 * kappa, lam=1.0, p=p, tol=SOLVED)
    assert left.objective == pytest.approx(right.objective / kappa, rel=OBJECTIVE)
    largest = max(left.beta.values())
    assert left.beta == pytest.approx({v: kappa * b for v, b in right.beta.items()}, abs=WEIGHTS * largest)
    np.testing.assert_allclose(
        left.decision_function(case.kernels), right.decision_function(case.kernels), atol=DECISION
    )


def test_labels_may_be_of_any_kind() -> None:
    case = case_of(flat(3))
    expected = solve(*case.posed, tol=SOLVED)
    for names in (np.array(["no", "yes"]), np.array([0.5, 2.5]), np.array([False, True])):
        solution = solve(case.spn, case.kernels, names[(case.y > 0).astype(int)], tol=SOLVED)
        assert solution.objective == pytest.approx(expected.objective, rel=ROUNDING)
        assert list(solution.classes) == list(names)
    listed = solve(case.spn, case.kernels, case.y.tolist(), tol=SOLVED)
    assert listed.beta == expected.beta


def test_class_weight_scales_C() -> None:
    case = case_of(flat(3), classes=3)
    by_class = solve(*case.posed, class_weight={0: 2.0, 2: 0.5}, tol=SOLVED)
    weights = np.array([2.0, 1.0, 0.5])[case.y]
    assert by_class.beta == solve(*case.posed, sample_weight=weights, tol=SOLVED).beta
    balanced = solve(*case.posed, class_weight="balanced", tol=SOLVED)
    weights = len(case.y) / (3 * np.bincount(case.y))[case.y]
    assert balanced.beta == solve(*case.posed, sample_weight=weights, tol=SOLVED).beta
    np.testing.assert_allclose(balanced.C, weights)
