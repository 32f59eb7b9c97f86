"""Around the smallest useful C (formulation, section 7)."""

import re
from dataclasses import replace

import numpy as np
import pytest
from cases import FIGURE_1, Case, case_of, drawn, flat, random_case
from oracles import Array, Structure, smallest_C
from tolerances import DECISION, OBJECTIVE, ROUNDING, SMALLEST_C

from spnmkl import SPN, C_min, Kernel, Product, TrivialSolutionWarning, solve
from spnmkl.problem import answers, build_problem
from spnmkl.selection import regularization_path
from spnmkl.solvers import smallest

SEEDS = range(5)
NO_C = (
    "The kernels tell no classes apart, so every weight is zero and the classifier is constant at any C; use other "
    "kernels, or look for samples that are alike but labelled differently."
)


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
        r"C = (\S+) is at or below C_min, so every weight is zero and the classifier is constant; "
        r"C must be above (\S+)\.",
        str(warned[0].message),
    )
    assert found
    assert float(found[1]) == pytest.approx(smallest / 2, rel=5e-3)  # as it is rounded
    assert float(found[1]) < float(found[2]) <= 1.005 * smallest


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
    assert str(warned[0].message) == NO_C
    assert solution.status == "optimal"
    assert not any(solution.beta.values())


def repeated(case: Case, rows: Array) -> dict[str, Array]:
    return {leaf: K[np.ix_(rows, rows)] for leaf, K in case.kernels.items()}


def contradictory(structure: Structure, seed: int, labels: list[int]) -> tuple[Case, dict[str, Array], Array]:
    """Every sample once with each of these labels."""
    case = case_of(structure, seed, n=20)
    return case, repeated(case, np.repeat(np.arange(20), len(labels))), np.tile(labels, 20)


STRUCTURES = {"flat": flat(3), "deep": FIGURE_1, "one product": drawn("S0>P0, P0>K0 K1")}


@pytest.mark.parametrize("labels", [[-1, 1], [-1, 1, 1], [0, 1, 2]], ids=str)
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_no_C_is_enough_for_contradictory_rows(structure: Structure, labels: list[int]) -> None:
    for seed in SEEDS:
        case, kernels, y = contradictory(structure, seed, labels)
        weights = np.random.default_rng(seed).uniform(0.5, 2, 20).repeat(len(labels))
        for scale in (1e-8, 1.0, 1e8):
            scaled = {leaf: scale * K for leaf, K in kernels.items()}
            assert C_min(case.spn, scaled, y) == np.inf
            assert C_min(case.spn, scaled, y, sample_weight=weights) == np.inf


def test_no_C_is_enough_where_the_light_class_lies_within_the_other() -> None:
    # Linear kernels on few columns: weights of the heavier class give both classes the same mean.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), np.arange(60) < 15
    X[y] *= 0.5
    kernels = {"K0": X[:, :2] @ X[:, :2].T, "K1": X[:, 2:] @ X[:, 2:].T}
    case = case_of(flat(2))
    assert C_min(case.spn, kernels, y) == np.inf
    with pytest.warns(TrivialSolutionWarning):
        solution = solve(case.spn, kernels, y, C=100.0)
    assert (solution.status, solution.objective) == ("optimal", pytest.approx(2 * 15 * 100.0))


@pytest.mark.parametrize("C", [1.0, 1e3])
def test_the_warning_promises_no_C_where_there_is_none(C: float) -> None:
    case, kernels, y = contradictory(FIGURE_1, 0, [-1, 1])
    with pytest.warns(TrivialSolutionWarning) as warned:
        solution = solve(case.spn, kernels, y, C=C)
    assert str(warned[0].message) == NO_C
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(40 * C)


def test_a_path_over_C_goes_on_where_no_C_is_enough() -> None:
    case, kernels, y = contradictory(flat(3), 0, [-1, 1])
    path = regularization_path(case.spn, kernels, y)
    assert not any(weights.any() for weights in path.beta.values())


@pytest.mark.parametrize("twice", [4, 12])
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_some_contradictory_rows_leave_one(structure: Structure, twice: int) -> None:
    case = case_of(structure, seed=1, n=16)
    kernels, y = repeated(case, np.r_[:16, :twice]), np.r_[case.y, -case.y[:twice]]
    found = C_min(case.spn, kernels, y, tol=SMALLEST_C)
    expected = smallest_C(structure, kernels, y, 1.0)
    assert expected * (1 - 1.1 * SMALLEST_C) <= found <= expected * (1 + OBJECTIVE)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 1e8, 1e100])
def test_it_goes_with_the_root_of_the_kernels_scale(scale: float) -> None:
    case = case_of(flat(4))
    one = C_min(*case.posed, tol=1e-6)
    scaled = {leaf: scale * K for leaf, K in case.kernels.items()}
    assert C_min(case.spn, scaled, case.y, tol=1e-6) * scale**0.5 == pytest.approx(one, rel=OBJECTIVE)


@pytest.mark.parametrize("level", [1.0, 1e14, 1e20])
def test_a_constant_kernel_of_any_size_does_not_hide_it(level: float) -> None:
    case = case_of(flat(3), seed=2)
    kernels = case.kernels | {"K0": np.full((30, 30), level)}
    without = {leaf: K if leaf != "K0" else np.zeros_like(K) for leaf, K in kernels.items()}
    assert C_min(case.spn, kernels, case.y) == pytest.approx(C_min(case.spn, without, case.y), rel=2 * SMALLEST_C)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_ends_of_every_bracket_hold(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the SVMs are hardly solved."""
    case = random_case(seed, p_choices=(1.0,))
    expected = smallest_C(case.structure, case.kernels, case.y, case.lam, case.weights)
    problem, _ = build_problem(*case.posed, lam=case.lam, sample_weight=case.weights)
    exact = smallest.least_norm
    monkeypatch.setattr(smallest, "least_norm", lambda *given: exact(*given[:5], 0.1, *given[6:]))
    for bracket in smallest.smallest_C(problem, max_rounds=20):
        assert bracket.low <= expected * (1 + OBJECTIVE)
        assert bracket.high >= expected * (1 - OBJECTIVE)


def test_looking_for_it_can_be_stopped() -> None:
    case = case_of(FIGURE_1)
    problem, _ = build_problem(*case.posed)
    assert sum(1 for _ in smallest.smallest_C(problem, max_rounds=7)) == 7
    asked: list[int] = []
    stopped = replace(problem, stop=lambda: asked.append(1) or len(asked) == 3)
    assert sum(1 for _ in smallest.smallest_C(stopped, max_rounds=7)) == 3


def test_a_constant_kernel_does_not_matter() -> None:
    """Its quadratic form is zero but for rounding, which may be to less than zero."""
    case = random_case(1, p_choices=(1.0,))
    flat = {leaf: np.ones_like(K) for leaf, K in case.kernels.items()}
    leaf = next(iter(case.kernels))
    for kernels in (case.kernels | {leaf: flat[leaf]}, flat):
        assert C_min(case.spn, kernels, case.y, lam=case.lam, tol=0.1) > 0


@pytest.mark.parametrize("labels", ["abc", "bca", "cab"])
def test_below_it_the_most_frequent_of_several_classes_is_answered(labels: str) -> None:
    rare, rarer, frequent = labels
    y = np.array([rare] * 9 + [rarer] * 8 + [frequent] * 10)
    X = np.random.default_rng(0).normal(size=(27, 2))
    spn = SPN(Product(Kernel("rbf")))
    with pytest.warns(TrivialSolutionWarning):
        solution = solve(spn, {leaf: np.exp(-((X[:, None] - X) ** 2).sum(2)) for leaf in spn.kernels}, y, C=1e-6)
    assert not any(solution.beta.values()) and solution.status == "optimal"
    decision = solution.decision_function({leaf: np.ones((3, 27)) for leaf in spn.kernels})
    assert set(answers(decision, solution.classes)) == {frequent}
