"""What every solver promises, run on all that are registered."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from cases import FIGURE_1, Case, case_of, random_case
from oracles import solve_conic
from tolerances import BOUND, PAPER, ROUGH_WEIGHTS, ROUNDING, TIGHT

from spnmkl import Record, Solution, solve
from spnmkl.certificate import Dual
from spnmkl.errors import ParameterError
from spnmkl.problem import Problem
from spnmkl.solution import METHODS
from spnmkl.solvers import SOLVERS
from spnmkl.solvers.entry import DEFAULT_ITERATIONS
from spnmkl.solvers.iterate import Iterate
from spnmkl.solvers.strategy import Begin
from spnmkl.solvers.svm import solve_svm

TOL = 1e-3
solvers = pytest.mark.parametrize("solver", SOLVERS)


def solvers_with(*powers: float) -> pytest.MarkDecorator:
    """Every solver with every p that it takes."""
    pairs = [(solver, p) for solver in SOLVERS for p in powers if p >= 1 or solver != "interior"]
    return pytest.mark.parametrize(("solver", "p"), pairs)


def test_path_following_says_that_it_needs_a_convex_problem() -> None:
    case = case_of(FIGURE_1)
    with pytest.raises(ParameterError, match=r"solver='interior' needs every p to be at least 1; choose 'auto'"):
        solve(*case.posed, p=0.5, solver="interior")


def test_the_solvers_are_registered() -> None:
    assert list(SOLVERS) == ["auto", "interior", "newton", "paper"]
    assert set(DEFAULT_ITERATIONS) >= set(SOLVERS)


@solvers
@pytest.mark.parametrize("seed", [1, 3, 6, 8])
@pytest.mark.parametrize("p", [None, 1.0])
def test_the_optimum_is_reached(solver: str, seed: int, p: float | None) -> None:
    case = random_case(seed)
    solution = solve(*case.posed, **case.settings, p=p, tol=PAPER, solver=solver)
    optimum = solve_conic(*case.oracle, p).objective
    assert solution.status == "optimal"
    assert solution.solver == solver
    assert optimum * (1 - BOUND) <= solution.objective <= optimum * (1 + PAPER)
    assert solution.dual_bound <= optimum * (1 + BOUND)
    assert -ROUNDING <= solution.gap <= PAPER
    assert solution.certify(case.kernels).gap == pytest.approx(solution.gap, abs=ROUNDING)


@pytest.mark.parametrize("seed", [1, 4])
def test_all_solvers_reach_the_same_weights(seed: int) -> None:
    case = random_case(seed, p_choices=(1.5, 2.0))
    newton, *others = (solve(*case.posed, **case.settings, tol=TIGHT, solver=solver) for solver in SOLVERS)
    for other in others:
        assert newton.objective == pytest.approx(other.objective, rel=TIGHT)
        assert other.beta == pytest.approx(newton.beta, abs=ROUGH_WEIGHTS * max(newton.beta.values()))


@solvers
def test_the_callback_hears_of_every_iteration(solver: str) -> None:
    case, heard = case_of(FIGURE_1), list[Record]()
    solution = solve(*case.posed, solver=solver, callback=heard.append)
    assert tuple(heard) == solution.history
    assert solution.status == "optimal"


@solvers
@pytest.mark.parametrize("answer", [None, True, 0])
def test_only_false_stops(solver: str, answer: Any) -> None:
    case = case_of(FIGURE_1)
    assert solve(*case.posed, solver=solver, callback=lambda _: answer).status == "optimal"


@solvers_with(1.0, 2.0, 0.5)
def test_an_interrupted_solution_is_usable(solver: str, p: float) -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed, solver=solver, p=p, tol=1e-8, callback=lambda record: record.iteration < 2)
    assert solution.status == "interrupted"
    assert len(solution.history) == 2
    check_usable(solution, case)


@solvers_with(1.0, 2.0, 0.5)
def test_stopping_ends_within_an_iteration(solver: str, p: float) -> None:
    case, asked = case_of(FIGURE_1), list[int]()

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 3

    solution = solve(*case.posed, solver=solver, p=p, tol=1e-8, stop=stop)
    assert solution.status == "interrupted"
    assert len(solution.history) <= 4
    check_usable(solution, case)


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "auto"])
@pytest.mark.parametrize("share", [0.999999, 1.0, 1.5])
def test_a_bound_that_is_not_true_makes_nothing_optimal(
    solver: str, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A solver that claims a bound at its objective, or beyond, with an α and a β̃ that prove much less."""
    honest = SOLVERS[solver]

    def boasting(problem: Problem, tol: float, begin: Begin | None) -> Iterator[Iterate]:
        iterate = next(iter(honest(problem, tol, begin)))
        claimed = Dual(share * iterate.objective, np.zeros_like(problem.Y), np.ones(len(problem.p)))
        while True:
            yield replace(iterate, dual=claimed)

    monkeypatch.setitem(SOLVERS, solver, boasting)
    case = case_of(FIGURE_1)
    solution = solve(*case.posed, solver=solver, max_iter=30, tol=TOL, warn=False)
    assert solution.history[-1].gap <= TOL, "the claim itself would do"
    assert solution.status == "precision"
    assert solution.gap > 10 * TOL
    assert solution.certify(case.kernels).gap == pytest.approx(solution.gap)


def test_an_svm_that_is_stopped_is_feasible_and_its_bounds_hold() -> None:
    rng = np.random.default_rng(0)
    X, y, C = rng.normal(size=(400, 3)), np.where(rng.random(400) < 0.5, 1.0, -1.0), np.full(400, 1e6)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 50)
    asked: list[int] = []
    stopped = solve_svm(K, y, C, np.zeros(400), 1e-9, stop=lambda: not asked.append(1))  # type: ignore[func-returns-value]
    assert len(asked) == 1, "it ends at the first look"
    assert (stopped.alpha >= 0).all() and (stopped.alpha <= C).all() and abs(stopped.alpha @ y) < 1e-6
    assert stopped.dual < stopped.primal


@solvers_with(1.0, 0.5)
def test_the_iteration_limit(solver: str, p: float) -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed, solver=solver, p=p, tol=1e-8, max_iter=3)
    assert solution.status == "iteration_limit"
    assert len(solution.history) == 3
    check_usable(solution, case)


@solvers_with(1.0, 2.0, 0.5)
def test_the_time_limit(solver: str, p: float) -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed, solver=solver, p=p, tol=1e-8, max_time=1e-9)
    assert solution.status == "time_limit"
    assert len(solution.history) == 1
    check_usable(solution, case)


@solvers
def test_time_that_suffices_changes_nothing(solver: str) -> None:
    case = case_of(FIGURE_1)
    limited, free = (solve(*case.posed, solver=solver, max_time=seconds) for seconds in (3600, None))
    assert limited.status == "optimal"
    assert limited.beta == free.beta


def test_who_is_stopped_when_time_is_over_was_interrupted() -> None:
    case = case_of(FIGURE_1)
    assert solve(*case.posed, tol=1e-8, max_time=1e-9, stop=lambda: True).status == "interrupted"
    assert solve(*case.posed, tol=1e-8, max_time=1e-9, callback=lambda _: False).status == "interrupted"


@solvers_with(1.0, 0.5)
def test_records_say_which_method_made_them(solver: str, p: float) -> None:
    case = case_of(FIGURE_1)
    for C in (1e-6, 1.0):  # at the first all weights are zero where p is 1
        used = {record.method for record in solve(*case.posed, solver=solver, C=C, p=p, warn=False).history}
        assert used == {solver} if solver in METHODS else used <= {"newton", "interior"}


def check_usable(solution: Solution, case: Case) -> None:
    certificate = solution.certify(case.kernels)
    assert certificate.objective == pytest.approx(solution.objective)
    assert certificate.gap == pytest.approx(solution.gap)
    assert np.isfinite(solution.decision_function(case.kernels)).all()
    assert set(solution.kkt_residual) == set(solution.beta)


@solvers
def test_an_exception_in_the_callback_comes_through(solver: str) -> None:
    case = case_of(FIGURE_1)

    def broken(record: Record) -> None:
        raise RuntimeError("the window was closed")

    with pytest.raises(RuntimeError, match="the window was closed"):
        solve(*case.posed, solver=solver, callback=broken)


@solvers
def test_a_start_saves_work(solver: str) -> None:
    case = case_of(FIGURE_1)
    cold = solve(*case.posed, solver=solver, tol=TIGHT)
    warm = solve(*case.posed, solver=solver, tol=TIGHT, start=cold.beta)
    assert warm.status == "optimal"
    assert len(warm.history) < len(cold.history)
    assert warm.objective == pytest.approx(cold.objective, rel=TIGHT)


@solvers
def test_a_start_with_zeros_does_not_lose_them(solver: str) -> None:
    # Zero is absorbing in the alternation, so a start must not begin there; the optimum needs these weights.
    case = case_of(FIGURE_1)
    start = {v: 0.0 if v in {"P9", "P3", "P4", "P5", "P6", "P7"} else 1.0 for v in case.spn.products}
    solution = solve(*case.posed, solver=solver, start=start)
    assert solution.status == "optimal"
    assert solution.beta["P9"] > 0


@solvers
@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_same_again(solver: str, n_threads: int) -> None:
    case = case_of(FIGURE_1, classes=3)
    first, second = (solve(*case.posed, solver=solver, n_threads=n_threads) for _ in range(2))
    assert first.beta == second.beta
    np.testing.assert_array_equal(first.alpha, second.alpha)


@solvers
def test_two_at_once_in_two_threads(solver: str) -> None:
    cases = [case_of(FIGURE_1, seed, n=420) for seed in range(2)]  # large enough for threads within
    alone = [solve(*case.posed, C=0.5, solver=solver, tol=0.1) for case in cases]
    together: dict[int, Solution] = {}

    def work(k: int) -> None:
        together[k] = solve(*cases[k].posed, C=0.5, solver=solver, tol=0.1)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in range(2):
        assert together[k].beta == pytest.approx(alone[k].beta, rel=ROUNDING)
        assert together[k].objective == pytest.approx(alone[k].objective, rel=ROUNDING)


@solvers
def test_inputs_are_not_changed(solver: str) -> None:
    case = random_case(4)
    before = {leaf: K.copy() for leaf, K in case.kernels.items()}
    y, weights, start = case.y.copy(), case.weights.copy(), dict.fromkeys(case.spn.products, 1.0)
    drawing = case.spn.to_dict()
    solve(*case.posed, **case.settings, solver=solver, start=start)
    assert all(np.array_equal(before[leaf], K) for leaf, K in case.kernels.items())
    np.testing.assert_array_equal(case.y, y)
    np.testing.assert_array_equal(case.weights, weights)
    assert start == dict.fromkeys(case.spn.products, 1.0)
    assert case.spn.to_dict() == drawing
