"""Pruning: it saves work, it is recorded, and a wrong one cannot pass as optimal."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from cases import Case, case_of, drawn, flat
from oracles import enumerate_paths, solve_conic
from tolerances import ROUNDING, SOLVED, TIGHT

from spnmkl import SPN, Solution, solve
from spnmkl.circuit import compile_circuit
from spnmkl.solvers.qp import bounded_qp

# Two branches that share nothing: at p = 1 each vanishes as a whole (formulation, section 6).
BRANCHES = drawn(
    "S>P0 P1 P2, P0>S0 S0', S0>Pa Pb, S0'>Pc Pd, P1>S1, S1>Pe Pf, P2>S2 K6, S2>Pg Ph, "
    "Pa>K0, Pb>K1, Pc>K2, Pd>K3, Pe>K4, Pf>K5, Pg>K4, Ph>K5"
)


def separable(n: int = 40) -> Case:
    """Labels that the product of K0 and K2 explains; the other branches see noise, and little of it."""
    X = np.random.default_rng(0).normal(size=(n, 5))
    features = {"K0": 0, "K1": 0, "K2": 1, "K3": 1, "K4": 2, "K5": 3, "K6": 4}
    kernels = {leaf: np.exp(-((X[:, [i]] - X[:, i]) ** 2)) * (1 if i < 2 else 0.2) for leaf, i in features.items()}
    kernels["K1"] **= 2
    kernels["K3"] **= 2
    return Case(BRANCHES, kernels, np.where(np.sin(X[:, 0]) * X[:, 1] > 0, 1, -1), 2.0, 1.0, np.ones(n))


CASES = {"one layer": case_of(flat(12), n=40, C=2.0), "branches": separable()}


@pytest.fixture(params=CASES, scope="module")
def solved(request: pytest.FixtureRequest) -> tuple[Case, Solution]:
    case = CASES[request.param]
    return case, solve(*case.posed, C=case.C, tol=TIGHT)


def test_something_is_pruned(solved: tuple[Case, Solution]) -> None:
    case, solution = solved
    assert solution.status == "optimal"
    assert 0 < len(solution.pruned) < len(solution.beta)
    assert solution.objective == pytest.approx(solve_conic(*case.oracle).objective, rel=TIGHT)


def test_operations_per_evaluation_fall(solved: tuple[Case, Solution]) -> None:
    case, solution = solved
    first, full = solution.history[0], compile_circuit(case.spn)
    assert (first.circuit_size, first.pruned) == (full.size, ())
    assert min(record.circuit_size for record in solution.history) < full.size
    active, _ = solution.active_circuit()
    assert active.size < full.size
    assert {leaf for path in alive_paths(case, solution) for leaf in path} == set(active.leaves)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("solver", ["newton", "paper"])
def test_records_hold_the_size_of_the_active_circuit(name: str, solver: str) -> None:
    case = CASES[name]
    full = compile_circuit(case.spn)
    for record in solve(*case.posed, C=case.C, solver=solver).history:
        alive = np.array([record.beta[v] > 0 for v in full.products])
        assert record.circuit_size == full.restricted(alive).size


def alive_paths(case: Case, solution: Solution) -> list[tuple[str, ...]]:
    zero = {v for v, b in solution.beta.items() if b == 0}
    return [path.leaves for path in enumerate_paths(case.structure) if zero.isdisjoint(path.exponents)]


def test_pruned_matches_the_weights_and_the_history(solved: tuple[Case, Solution]) -> None:
    _, solution = solved
    assert set(solution.pruned) == {v for v, b in solution.beta.items() if b == 0}
    for v, iteration in solution.pruned.items():
        assert 1 <= iteration <= len(solution.history)
        assert all(record.beta[v] == 0 for record in solution.history[iteration - 1 :])


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("solver", ["newton", "paper"])
def test_history_is_consistent(name: str, solver: str) -> None:
    case = CASES[name]
    solution = solve(*case.posed, C=case.C, solver=solver)
    history = solution.history
    assert [record.iteration for record in history] == list(range(1, len(history) + 1))
    for record in history:
        assert set(record.pruned) == {v for v, b in record.beta.items() if b == 0}
        assert record.gap >= 0
        assert record.dual_bound <= record.objective
    for before, after in pairwise(history):
        assert after.gap <= before.gap
        assert after.dual_bound >= before.dual_bound
        assert after.seconds >= before.seconds
        assert after.evaluations >= before.evaluations
    assert history[-1].gap == pytest.approx(solution.gap, abs=SOLVED)
    assert min(record.objective for record in history) == pytest.approx(solution.objective, rel=ROUNDING)


def test_evaluations_are_counted_over_all_starts() -> None:
    case = case_of(BRANCHES, n=40)
    history = solve(*case.posed, p=0.5).history
    counts = [record.evaluations for record in history]
    assert counts == sorted(counts)


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_pruning_cannot_pass_as_optimal(name: str) -> None:
    case = CASES[name]
    solution = solve(*case.posed, C=case.C, tol=TIGHT)
    heaviest = max(solution.beta, key=lambda v: solution.beta[v])
    wrong = replace(solution, beta=solution.beta | {heaviest: 0.0})
    certificate = wrong.certify(case.kernels)
    assert certificate.gap > 0.01
    assert certificate.dual_bound == pytest.approx(solution.dual_bound, rel=ROUNDING)


def test_a_proof_on_other_kernels_is_none_here() -> None:
    case = CASES["branches"]
    poor = {leaf: np.eye(40) if leaf in {"K0", "K1"} else K for leaf, K in case.kernels.items()}
    solution = solve(case.spn, poor, case.y, C=case.C, tol=TIGHT)
    assert solution.status == "optimal"
    assert solution.certify(case.kernels).gap > 0.01


def test_the_paper_prunes_what_is_negligible() -> None:
    case = CASES["one layer"]
    solution = solve(*case.posed, C=case.C, solver="paper", tol=TIGHT)
    assert solution.status == "optimal"
    assert solution.pruned
    assert solution.history[-1].circuit_size < solution.history[0].circuit_size


def test_weights_that_only_cost_go_down() -> None:
    """Of a constant kernel yᵀα = 0 leaves rounding alone, and of its curvature a number that may be below zero."""
    H, g = np.array([[1.0, 0.0, 0.0], [0.0, -1e-17, 0.0], [0.0, 0.0, 0.0]]), np.array([-0.5, 0.3, 0.0])
    z = bounded_qp(H, g, np.full(3, -0.8), np.full(3, 4.0), 50)
    np.testing.assert_allclose(z, [0.5, -0.8, 0.0])
    case = case_of(flat(6), n=60, C=3.0)
    constant = np.full((60, 60), 0.7)
    groups = drawn("S0>P6 P7, P6>S1, S1>P0 P1 P2, P7>S2, S2>P3 P4 P5, P0>K0, P1>K1, P2>K2, P3>K3, P4>K4, P5>K5")
    kernels = case.kernels | {"K1": constant, "K4": constant}
    solution = solve(SPN.from_dict(groups), kernels, case.y, C=3.0, solver="newton")
    assert solution.status == "optimal"
    assert max(solution.beta[v] for v in ("P1", "P4")) < 0.05 * max(solution.beta.values())
