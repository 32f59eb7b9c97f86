"""Around the smallest useful C (formulation, section 7)."""

import re

import numpy as np
import pytest
from cases import FIGURE_1, case_of, random_case
from oracles import smallest_C
from tolerances import DECISION, OBJECTIVE, ROUNDING

from spnmkl import C_min, TrivialSolutionWarning, solve

SEEDS = range(5)


@pytest.mark.parametrize("solver", ["newton", "paper"])
@pytest.mark.parametrize("seed", SEEDS)
def test_below_it_every_weight_is_zero(seed: int, solver: str) -> None:
    case = random_case(seed, p_choices=(1.0,))
    C = 0.9 * smallest_C(case.structure, case.kernels, case.y, case.lam, case.weights)
    with pytest.warns(TrivialSolutionWarning) as warned:
        solution = solve(*case.posed, C=C, lam=case.lam, sample_weight=case.weights, solver=solver)
    assert len(warned) == 1
    assert warned[0].filename == __file__
    assert not any(solution.beta.values())
    assert (solution.status, solution.solver) == ("optimal", solver)
    assert -ROUNDING <= solution.gap <= solution.tol
    assert solution.certify(case.kernels).gap == pytest.approx(solution.gap, abs=ROUNDING)
    assert set(solution.pruned) == set(solution.beta)
    assert max(solution.kkt_residual.values()) <= solution.tol
    decision = solution.decision_function(case.kernels)
    np.testing.assert_allclose(decision, np.broadcast_to(solution.intercept, decision.shape), atol=DECISION)


@pytest.mark.parametrize("seed", SEEDS)
def test_above_it_not(seed: int) -> None:
    case = random_case(seed, p_choices=(1.0,))
    C = 1.2 * smallest_C(case.structure, case.kernels, case.y, case.lam, case.weights)
    solution = solve(*case.posed, C=C, lam=case.lam, sample_weight=case.weights)
    assert solution.status == "optimal"
    assert any(solution.beta.values())


def test_the_warning_says_how_much_more_is_needed() -> None:
    case = case_of(FIGURE_1)
    smallest = C_min(*case.posed, tol=1e-4)
    with pytest.warns(TrivialSolutionWarning) as warned:
        solve(*case.posed, C=smallest / 2)
    found = re.fullmatch(
        r"C is at or below C_min, (\S+) times the given C, so every weight is zero and the classifier is constant; "
        r"choose a C more than (\S+) times as large\.",
        str(warned[0].message),
    )
    assert found
    assert found[1] == found[2]
    assert 1 < float(found[1]) <= 2.01


def test_a_start_does_not_hide_it() -> None:
    # Going down a path of C from weights that are positive.
    case = case_of(FIGURE_1)
    C = 0.5 * C_min(*case.posed)
    start = solve(*case.posed, C=4 * C).beta
    with pytest.warns(TrivialSolutionWarning):
        solution = solve(*case.posed, C=C, start=start)
    assert solution.status == "optimal"
    assert not any(solution.beta.values())


def test_it_scales_with_lambda_and_weights() -> None:
    case = case_of(FIGURE_1)
    one = C_min(*case.posed, tol=1e-6)
    assert C_min(*case.posed, lam=9.0, tol=1e-6) == pytest.approx(3 * one, rel=OBJECTIVE)
    assert C_min(*case.posed, sample_weight=np.full(30, 2.0), tol=1e-6) == pytest.approx(one / 2, rel=OBJECTIVE)


def test_above_p_1_there_is_none() -> None:
    case = case_of(FIGURE_1)
    C = 0.5 * C_min(*case.posed)
    solution = solve(*case.posed, C=C, p=1.5)
    assert solution.status == "optimal"
    assert all(b > 0 for b in solution.beta.values())


@pytest.mark.parametrize("K", [np.zeros((30, 30)), np.ones((30, 30))], ids=["zero", "constant"])
def test_kernels_that_tell_nothing_apart(K: np.ndarray) -> None:
    case = case_of(FIGURE_1)
    kernels = dict.fromkeys(case.kernels, K)
    with pytest.warns(TrivialSolutionWarning) as warned:
        solution = solve(case.spn, kernels, case.y)
    assert [warning.category for warning in warned] == [TrivialSolutionWarning]
    assert "inf times" not in str(warned[0].message)
    assert solution.status == "optimal"
    assert not any(solution.beta.values())


def test_a_constant_kernel_does_not_matter() -> None:
    """Its quadratic form is zero but for rounding, which may be to less than zero."""
    case = random_case(1, p_choices=(1.0,))
    flat = {leaf: np.ones_like(K) for leaf, K in case.kernels.items()}
    leaf = next(iter(case.kernels))
    for kernels in (case.kernels | {leaf: flat[leaf]}, flat):
        assert C_min(case.spn, kernels, case.y, lam=case.lam, tol=0.1) > 0
