"""`solve` against the conic optimum on random structures; the conic solver knows nothing of how we get there."""

import numpy as np
import pytest
from cases import Case, beta_of, random_case
from oracles import ConicResult, gradient_J, node_p, objective_J, smallest_C, solve_conic
from tolerances import BOUND, DIFFERENCES_OF_J, OBJECTIVE, ROUNDING, SMALLEST_C, SOLVED, WEIGHTS

from spnmkl import C_min, Solution, solve
from spnmkl.inspection import refit

P_CHOICES = {"1": (1.0,), "1.5": (1.5,), "2": (2.0,), "mixed": (1.0, 1.5, 2.0)}
SEEDS = range(10)


def solved(seed: int, p: str) -> tuple[Case, Solution, ConicResult]:
    case = random_case(seed, p_choices=P_CHOICES[p])
    return case, solve(*case.posed, **case.settings, tol=SOLVED), solve_conic(*case.oracle)


@pytest.mark.filterwarnings("ignore::spnmkl.TrivialSolutionWarning")
@pytest.mark.parametrize("p", P_CHOICES)
@pytest.mark.parametrize("seed", SEEDS)
def test_solve_equals_the_conic_optimum(seed: int, p: str) -> None:
    case, solution, conic = solved(seed, p)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(conic.objective, rel=OBJECTIVE)
    assert solution.dual_bound <= conic.objective * (1 + BOUND)
    assert -ROUNDING <= solution.gap <= SOLVED
    again = solution.certify(case.kernels)
    assert (again.objective, again.dual_bound) == pytest.approx((solution.objective, solution.dual_bound), rel=ROUNDING)
    assert again.gap == pytest.approx(solution.gap, abs=ROUNDING)
    # P is attained: the primal at the weights found, with their SVM solved by someone else, is no higher.
    assert objective_J(*case.oracle, None, solution.beta) <= solution.objective * (1 + BOUND)
    if p != "1":  # strictly convex in β
        largest = max(conic.beta.values())
        assert solution.beta == pytest.approx(conic.beta, abs=WEIGHTS * largest)


@pytest.mark.filterwarnings("ignore::spnmkl.TrivialSolutionWarning")
@pytest.mark.parametrize("seed", range(20, 24))
def test_every_bound_on_the_way_is_true(seed: int) -> None:
    case = random_case(seed)
    solution, optimum = solve(*case.posed, **case.settings, tol=SOLVED), solve_conic(*case.oracle).objective
    assert all(record.dual_bound <= optimum * (1 + BOUND) for record in solution.history)
    assert all(record.objective >= optimum * (1 - BOUND) for record in solution.history)


@pytest.mark.parametrize("seed", range(4))
def test_kkt_residual_is_the_gradient(seed: int) -> None:
    # The envelope theorem: β_v ∂J/∂β_v over the objective, away from the optimum.
    case = random_case(seed)
    beta = beta_of(case.structure, np.random.default_rng(seed))
    solution = solve(*case.posed, **case.settings, max_iter=1, start=beta)
    at_beta = refit(solution, case.kernels, beta, tol=1e-11)
    gradient = gradient_J(*case.oracle, None, beta)
    expected = {v: abs(beta[v] * g) / at_beta.objective for v, g in gradient.items()}
    assert at_beta.kkt_residual == pytest.approx(expected, abs=DIFFERENCES_OF_J)
    assert at_beta.objective == pytest.approx(objective_J(*case.oracle, None, beta), rel=BOUND)


@pytest.mark.parametrize("seed", range(6))
def test_smallest_C_equals_the_conic_one(seed: int) -> None:
    case = random_case(seed, p_choices=(1.0,))
    expected = smallest_C(case.structure, case.kernels, case.y, case.lam, case.weights)
    found = C_min(*case.posed, lam=case.lam, sample_weight=case.weights, tol=SMALLEST_C)
    assert expected * (1 - 2 * SMALLEST_C) <= found <= expected * (1 + BOUND * 10)


def test_p_of_the_structure_a_number_and_a_mapping_agree() -> None:
    case = random_case(2, p_choices=(1.0, 1.5, 2.0))
    own = solve(*case.posed, **case.settings, tol=SOLVED)
    given = solve(*case.posed, **case.settings, tol=SOLVED, p=node_p(case.structure))
    assert given.beta == own.beta
    one = solve(*case.posed, **case.settings, tol=SOLVED, p=2)
    assert one.beta == solve(case.spn.with_p(2), *case.posed[1:], **case.settings, tol=SOLVED).beta
    assert one.objective == pytest.approx(solve_conic(*case.oracle, 2.0).objective, rel=OBJECTIVE)
