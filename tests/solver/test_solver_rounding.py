"""Where rounding is as large as what is computed: the proof knows, and says no more than it can."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cases import case_of, drawn, flat, product_of_sums
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Array
from tolerances import ROUNDING

from spnmkl import C_min, KernelError, SPNMKLError, solve
from spnmkl.certificate import Dual, dual, dual_value
from spnmkl.circuit.compensated import compensated_forms
from spnmkl.circuit.source import MatrixSource
from spnmkl.problem import build_problem
from spnmkl.rounding import lower_bound, rounding_of_flows


def of_few_values(n: int, seed: int) -> tuple[Array, Array]:
    """The rbf kernel of a binary column, of rank 2, and labels that it says little about."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 2, n).astype(float)
    y = np.where(rng.random(n) < 0.5 + 0.2 * x, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return np.exp(-((x[:, None] - x) ** 2)), y


def cancelling(n: int, seed: int) -> tuple[Array, Array]:
    """A kernel of rank 2 and weights of 10⁹ of which it leaves next to nothing."""
    K, _ = of_few_values(n, seed)
    v = np.random.default_rng(seed).uniform(-1e9, 1e9, n)
    for rows in (K[0] == K[0, 0], K[0] != K[0, 0]):
        v[rows] -= v[rows].mean() if rows.any() else 0.0
    v[0] += 1.0
    return K, v


@settings(max_examples=30, deadline=None, derandomize=True)
@given(st.integers(2, 30), st.integers(0, 1000))
def test_forms_in_twice_the_precision(n: int, seed: int) -> None:
    K, v = cancelling(n, seed)
    exact = sum(Fraction(K[i, j]) * Fraction(v[i]) * Fraction(v[j]) for i in range(n) for j in range(n))
    A = np.array([v, np.ones(n)])
    found = compensated_forms(MatrixSource({"K": K, "L": 2 * K}), ["K", "L"], A)
    assert found == pytest.approx([float(exact) + K.sum(), 2 * (float(exact) + K.sum())], rel=1e-9)


@pytest.mark.filterwarnings("ignore::spnmkl.TrivialSolutionWarning")
@pytest.mark.parametrize("solver", ["auto", "interior", "newton"])
@pytest.mark.parametrize("C", [1e5, 1e6, 1e7])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_called_optimal_is_certified_again(C: float, seed: int, solver: str) -> None:
    K, y = of_few_values(60, seed)
    spn, kernels = case_of(flat(1)).spn, {"K0": K}
    solution = solve(spn, kernels, y, C=C, solver=solver, max_time=60)
    again = solution.certify(kernels)
    assert again.gap == pytest.approx(solution.gap, abs=0.1 * solution.tol)
    assert solution.status in {"optimal", "precision", "time_limit"}
    if solution.status == "optimal":
        assert again.gap <= solution.tol * 1.1
    assert solution.gap >= -ROUNDING
    if solver == "auto":
        assert solution.status in {"optimal", "time_limit"} or C == 1e7


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("C", [1e6, 1e7, 1e8])
def test_sound_kernels_are_not_called_otherwise(C: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=30), np.where(rng.random(30) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    solution = solve(case_of(flat(1)).spn, {"K0": np.exp(-((x[:, None] - x) ** 2))}, y, C=C, tol=1e-6)
    assert solution.status in {"optimal", "precision"}
    assert -ROUNDING <= solution.gap <= 1


def test_products_of_sums_count_rounding_against_the_bound() -> None:
    case = case_of(product_of_sums(2, 2), n=20, C=3.0)
    problem, _ = build_problem(*case.posed, C=3e7)
    solution = solve(*case.posed, C=3.0)
    found = dual(problem, solution.alpha[None], problem.beta_array(solution.witness_beta))
    assert found.flows is not None
    usual = lower_bound(problem, found, solution.objective, 1e-3)
    assert found.value * (1 - 1e-9) < usual <= found.value
    # α a million times as large: rounding of its square is no longer small beside λc.
    alpha = 1e6 * found.alpha
    flows = 1e-3 * found.flows  # as if nearly all had cancelled
    value = dual_value(problem, alpha, found.witness, flows)
    assert lower_bound(problem, Dual(value, alpha, found.witness, flows), 1e300, 1e-3) < value


def test_rounding_of_products_is_seen_where_the_usual_one_would_hide_the_proof() -> None:
    case, twice = case_of(product_of_sums(2, 2), n=30), np.repeat(np.arange(30), 2)
    kernels = {leaf: K[np.ix_(twice, twice)] for leaf, K in case.kernels.items()}
    y = np.where(np.random.default_rng(0).random(60) < 0.5, 1.0, -1.0)  # equal rows differ: their α are at C
    solution = solve(case.spn, kernels, y, C=1e4, tol=1e-7)
    problem, _ = build_problem(case.spn, kernels, y, C=1e4)
    found = dual(problem, np.atleast_2d(solution.witness_alpha), problem.beta_array(solution.witness_beta))
    assert found.flows is not None
    usual = rounding_of_flows(problem, found.alpha, 4 * np.finfo(float).eps)(found.witness)
    hidden = dual_value(problem, found.alpha, found.witness, found.flows + usual)
    seen = lower_bound(problem, found, solution.objective, 1e-7)
    assert hidden < seen <= found.value
    # What is told again differs by rounding, of which the usual bound is a bound.
    assert solution.certify(kernels).gap == pytest.approx(solution.gap, abs=1 - hidden / found.value)


def changed_later(value: float) -> dict[str, Any]:
    """A problem whose matrix was changed after it was checked, where the check's mark does not see it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=700))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    spn = case_of(drawn("S0>P0, P0>K0")).spn
    solve(spn, {"K0": K}, y, C=0.1)
    K[100, 333] = K[333, 100] = value
    return {"spn": spn, "kernels": {"K0": K}, "y": y}


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_is_refused_whenever_it_was_written(value: float) -> None:
    given = changed_later(value)
    for solver in ("auto", "interior", "newton", "paper"):
        with pytest.raises(SPNMKLError):
            solve(**given, C=0.1, solver=solver)
    with pytest.raises(KernelError, match=r"'K0' holds NaN or infinity|so large"):
        C_min(**given)


def test_a_stopped_run_of_a_small_problem_says_what_is_recomputed() -> None:
    case = case_of(flat(4), C=3.0)
    solution = solve(*case.posed, C=3.0, callback=lambda record: False)
    assert solution.status == "interrupted"
    again = solution.certify(case.kernels)
    assert (solution.objective, solution.gap) == pytest.approx((again.objective, again.gap), rel=ROUNDING)


@pytest.mark.parametrize("matrix", [np.eye(30) * (1 + 0j), np.ma.masked_less(np.eye(30), 0.5)], ids=["complex", "mask"])
def test_matrices_of_other_numbers_are_refused(matrix: Any) -> None:
    case = case_of(flat(2))
    with pytest.raises(KernelError, match="must hold real numbers"):
        solve(case.spn, case.kernels | {"K1": matrix}, case.y)
