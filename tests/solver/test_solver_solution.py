"""What comes out: small, complete, and enough to predict and to prove."""

import pickle
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pytest
from cases import FIGURE_1, case_of, flat, random_case
from oracles import Array, combined_kernel, sign_rows
from random_structures import random_kernels
from tolerances import ROUNDING

from spnmkl import KernelError, Solution, TrivialSolutionWarning, solve


def arrays_within(thing: Any) -> Iterator[np.ndarray]:
    if isinstance(thing, np.ndarray):
        yield thing
    elif is_dataclass(thing):
        for field in fields(thing):
            yield from arrays_within(getattr(thing, field.name))
    elif isinstance(thing, dict):
        for value in thing.values():
            yield from arrays_within(value)
    elif isinstance(thing, list | tuple):
        for value in thing:
            yield from arrays_within(value)


@pytest.mark.parametrize("classes", [2, 3])
def test_it_holds_no_n_by_n_matrix(classes: int) -> None:
    n = 60
    case = case_of(FIGURE_1, n=n, classes=classes)
    solution = solve(*case.posed)
    found = list(arrays_within(solution))
    assert found
    assert max(array.size for array in found) <= classes * n
    assert all(array.base is None or array.base.size < n * n for array in found)
    assert len(pickle.dumps(solution)) < 8 * n * n * 4  # with its history; the matrices alone would be 7 times 8 n²


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_decision_function_equals_enumeration(seed: int) -> None:
    case = random_case(seed)
    solution = solve(*case.posed, **case.settings)
    rng = np.random.default_rng(seed)
    # Any matrices will do as cross-kernels: the decision function is linear in each path's kernel.
    cross = {leaf: rng.normal(size=(7, len(case.y))) for leaf in case.kernels}
    K = combined_kernel(case.structure, cross, solution.beta)
    expected = K @ (np.atleast_2d(solution.alpha) * sign_rows(case.y)).T + solution.intercept
    decision = solution.decision_function(cross)
    assert decision.shape == ((7,) if len(np.unique(case.y)) == 2 else (7, 3))
    expected = expected[:, 0] if decision.ndim == 1 else expected
    np.testing.assert_allclose(decision, expected, atol=ROUNDING * np.abs(expected).max())
    np.testing.assert_allclose(solution.decision_function(cross, n_threads=1), decision, rtol=ROUNDING)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_shapes(classes: int) -> None:
    case = case_of(FIGURE_1, classes=classes)
    solution = solve(*case.posed)
    rows = 1 if classes == 2 else classes
    assert np.atleast_2d(solution.alpha).shape == (rows, 30)
    assert solution.alpha.ndim == (1 if classes == 2 else 2)
    assert np.shape(solution.intercept) == (() if classes == 2 else (classes,))
    assert solution.signed_alpha.shape == (rows, 30)
    np.testing.assert_array_equal(solution.signed_alpha, np.atleast_2d(solution.alpha) * sign_rows(case.y))
    assert solution.decision_function(case.kernels).shape == ((30,) if classes == 2 else (30, classes))
    np.testing.assert_array_equal(solution.support, np.flatnonzero(np.atleast_2d(solution.alpha).any(axis=0)))
    assert set(solution.beta) == set(solution.p) == set(solution.kkt_residual) == set(case.spn.products)
    assert all(type(value) is float for value in solution.beta.values())
    np.testing.assert_array_equal(solution.classes, np.unique(case.y))


def test_alpha_is_feasible() -> None:
    case = random_case(1)
    solution = solve(*case.posed, **case.settings)
    C = case.C * case.weights
    assert (solution.alpha >= 0).all()
    assert (solution.alpha <= C * (1 + 1e-12)).all()
    np.testing.assert_allclose((solution.signed_alpha).sum(axis=1), 0, atol=ROUNDING * C.sum())


def test_pruned_leaves_need_no_cross_kernel() -> None:
    case = case_of(FIGURE_1, C=2.0)
    solution = solve(*case.posed, C=2.0)
    without = replace(solution, beta=solution.beta | {"P9": 0.0})
    some = {leaf: case.kernels[leaf] for leaf in ("K1", "K2")}
    np.testing.assert_array_equal(without.decision_function(some), without.decision_function(case.kernels))


def test_a_constant_classifier_decides_by_its_intercept() -> None:
    case = case_of(FIGURE_1)
    with pytest.warns(TrivialSolutionWarning):
        solution = solve(*case.posed, C=1e-6)
    cross = random_kernels(np.random.default_rng(0), FIGURE_1, 30)
    np.testing.assert_array_equal(solution.decision_function(cross), np.full(30, solution.intercept))
    np.testing.assert_array_equal(solution.decision_function({"K3": cross["K3"][:4]}), np.full(4, solution.intercept))
    with pytest.raises(KernelError):  # how many rows?
        solution.decision_function({})


def cross_kernel_error(solution: Solution, **changes: Array | None) -> str:
    cross = {leaf: np.ones((4, 30)) for leaf in solution.spn.kernels} | changes
    with pytest.raises(KernelError) as refused:
        solution.decision_function({leaf: K for leaf, K in cross.items() if K is not None})
    return str(refused.value)


def test_wrong_cross_kernels() -> None:
    solution = solve(*case_of(FIGURE_1, C=2.0).posed, C=2.0)
    assert cross_kernel_error(solution, K3=None) == (
        "Kernel 'K3' has no cross-kernel matrix; expected a (rows, 30) matrix for each leaf that is not pruned, found "
        "them for ['K1', 'K2', 'K4', 'K5', 'K6', 'K7']; add it."
    )
    assert cross_kernel_error(solution, K3=np.ones((4, 29))) == (
        "The cross-kernel matrix of 'K3' has shape (4, 29); expected (rows, 30), new samples by training samples, with "
        "the same rows for every leaf."
    )
    assert "with the same rows for every leaf." in cross_kernel_error(solution, K3=np.ones((5, 30)))
    assert cross_kernel_error(solution, K3=np.full((4, 30), np.nan)) == (
        "The cross-kernel matrix of 'K3' holds NaN or infinity; fill missing values first."
    )


def test_later_changes_of_the_input_do_not_reach_it() -> None:
    case = case_of(FIGURE_1)
    y = case.y.copy()
    solution = solve(case.spn, case.kernels, y)
    before = solution.certify(case.kernels)
    y[:] = 1
    assert solution.certify(case.kernels) == before


def test_a_solution_is_printed_in_one_line() -> None:
    case = case_of(flat(4), C=3.0)
    told = repr(solve(*case.posed, C=3.0))
    assert told.startswith("Solution(optimal, objective=") and "of 4 weights above 0" in told
    assert "\n" not in told and len(told) < 120
