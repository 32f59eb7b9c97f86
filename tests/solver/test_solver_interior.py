"""Path following: its centres, the bound they give, and the problems it is for."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from cases import FIGURE_1, Case, case_of, drawn, flat, random_case
from oracles import Array, solve_conic
from tolerances import BOUND, OBJECTIVE, ROUNDING, SOLVED

from spnmkl import SPN, solve
from spnmkl.certificate import balanced, dual, dual_value, primal, quadratic_flows
from spnmkl.errors import Stopped
from spnmkl.problem import Problem, build_problem
from spnmkl.solvers import budget, factor, shifted, strategy
from spnmkl.solvers.barrier import Barrier
from spnmkl.solvers.bound import improved_witness
from spnmkl.solvers.budget import Struggling
from spnmkl.solvers.centring import around, centred, cold, snapped
from spnmkl.solvers.factor import at_once, factorised
from spnmkl.solvers.interior import _Path, interior
from spnmkl.solvers.path_end import Ending
from spnmkl.solvers.shifted import Low, ShiftedKernel
from spnmkl.solvers.svm import solve_svm


def of_rank(rank: int, n: int = 60, seed: int = 0) -> Array:
    X = np.random.default_rng(seed).normal(size=(n, rank))
    return X @ X.T


def signs(n: int, seed: int = 0) -> Array:
    return np.where(np.random.default_rng(seed).random(n) < 0.4, 1.0, -1.0)


@pytest.mark.parametrize("rank", [1, 4, 60])
@pytest.mark.parametrize("spread", [0, 6, 14])
def test_solving_with_a_shifted_kernel(rank: int, spread: int) -> None:
    rng = np.random.default_rng(rank)
    K, D = of_rank(rank), 10.0 ** rng.uniform(-spread / 2, spread / 2, 60)
    B = rng.normal(size=(60, 3))
    kernel = ShiftedKernel(K, at_once)
    X = kernel.shifted(D)(np.asfortranarray(B))
    residual = np.abs(K @ X + D[:, None] * X - B)
    # Rows that hardly couple are solved by their diagonal alone: what that leaves is the root of 1e-7 at most.
    allowed = (np.abs(K) @ np.abs(X) + D[:, None] * np.abs(X)).max(axis=0)
    assert (residual <= 1e-3 * allowed).all()
    assert kernel.rank == (60 if rank == 60 else rank)


@pytest.mark.parametrize("share", [0.9, 1.1, 1e6])
def test_refinement_is_left_out_only_where_it_is_not_needed(share: float) -> None:
    rng = np.random.default_rng(1)
    K, B = of_rank(4), rng.normal(size=(60, 3))
    D = (share * K.trace() / shifted._WELL_POSED) * rng.uniform(1.0, 10.0, 60)
    D[0] = share * K.trace() / shifted._WELL_POSED
    inverse = ShiftedKernel(K, at_once).shifted(D)
    assert isinstance(inverse, Low) and inverse.refined == (share < 1)
    exact = np.linalg.solve(K + np.diag(D), B)
    np.testing.assert_allclose(inverse(np.asfortranarray(B)), exact, atol=1e-8 * np.abs(exact).max())


def test_a_factor_of_low_rank_leaves_what_it_may() -> None:
    K = of_rank(3) + 1e-6 * np.eye(60)
    assert ShiftedKernel(K, at_once).rank == 60
    found = ShiftedKernel(K, at_once, tolerance=1e-5)
    assert found.rank == 3
    assert found.G is not None
    np.testing.assert_allclose(found.G.T @ found.G + np.diag(found.rest), K, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_factorisation_in_blocks_is_the_same(dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor, "_WHOLE", 20)
    monkeypatch.setattr(factor, "_BLOCK", 16)
    A = of_rank(80) + np.eye(60)
    L, asked = np.array(A, dtype=dtype, order="F"), list[int]()
    assert factorised(L, lambda: asked.append(1))
    L = np.tril(L)
    np.testing.assert_allclose(L @ L.T, A, atol=100 * np.finfo(dtype).eps * A.max())
    assert len(asked) > 5
    assert not factorised(np.array(-A, dtype=dtype, order="F"), at_once)


def test_a_factorisation_in_blocks_can_be_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(factor, "_WHOLE", 20)
    monkeypatch.setattr(factor, "_BLOCK", 16)

    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        factorised(np.asfortranarray(of_rank(80) + np.eye(60)), stop)


@pytest.mark.parametrize("rank", [1, 4, 60])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
@pytest.mark.parametrize("share", [1e-1, 1e-6])
def test_a_centre(rank: int, C: float, share: float) -> None:
    y, bounds = signs(60), C * np.random.default_rng(1).uniform(0.5, 2, 60)
    kernel, mu = ShiftedKernel(of_rank(rank), at_once), share * C
    found = centred(kernel, y, bounds, mu, None, 1e-6 * mu)
    assert (found.a > 0).all() and (found.u > 0).all()
    np.testing.assert_allclose(found.a + found.u, bounds, rtol=ROUNDING)
    assert abs(found.a @ y) <= 1e-6 * bounds.sum()
    # The Newton step that is left is small in the metric of the barrier.
    slope = y - kernel.times(found.a * y) - found.b + y * (mu / found.a - mu / found.u)
    D = mu / found.a**2 + mu / found.u**2
    assert np.abs(slope / np.sqrt(D)).max() <= 0.01 * np.sqrt(mu)


def test_a_centre_is_one_wherever_it_is_looked_for_from() -> None:
    y, C = signs(60), np.full(60, 3.0)
    kernel, mu = ShiftedKernel(of_rank(2), at_once), 1e-2
    from_scratch = centred(kernel, y, C, mu, None, 1e-8 * mu)
    nearby = around(kernel, y, C, mu, balanced(np.random.default_rng(3).uniform(0, 3, (1, 60)), y[None])[0])
    for start in (nearby, cold(kernel, y, C, mu)):
        np.testing.assert_allclose(centred(kernel, y, C, mu, start, 1e-8 * mu).a, from_scratch.a, atol=1e-3)


def test_snapped_to_its_bounds_alpha_stays_feasible_and_is_nearly_optimal() -> None:
    y, C = signs(60), np.full(60, 0.02)
    K = of_rank(60)
    kernel = ShiftedKernel(K, at_once)
    alpha = snapped(centred(kernel, y, C, 1e-8, None, 1e-13), y, C)
    assert (alpha >= 0).all() and (alpha <= C).all() and abs(alpha @ y) < 1e-9
    assert (alpha == 0).any() and (alpha == C).any()
    best = solve_svm(K, y, C, np.zeros(60), 1e-9)
    f = K @ (alpha * y)
    assert alpha.sum() - (alpha * y) @ f / 2 == pytest.approx(best.dual, rel=1e-4)


def posed(case: Case, p: float | None) -> Problem:
    return build_problem(*case.posed, **case.settings, p=p)[0]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("p", [1.0, 1.5])
def test_every_point_on_the_path_is_one_and_its_bound_holds(seed: int, p: float) -> None:
    case = random_case(seed)
    problem, optimum = posed(case, p), solve_conic(*case.oracle, p).objective
    for k, iterate in enumerate(interior(problem, 1e-6)):
        assert iterate.method == "interior"
        assert primal(problem, iterate.beta, iterate.alpha).value == pytest.approx(iterate.objective, rel=1e-6)
        assert iterate.dual.value <= optimum * (1 + BOUND)
        assert dual(problem, iterate.dual.alpha, iterate.dual.witness).value == pytest.approx(
            iterate.dual.value, rel=1e-7
        )
        gap = iterate.objective - iterate.dual.value
        if gap <= 1e-6 * iterate.objective or k == 60:
            break
    assert iterate.objective == pytest.approx(optimum, rel=OBJECTIVE)


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_samples_of_weight_zero_take_no_part(seed: int) -> None:
    case = random_case(seed)
    weights = np.where(np.arange(25) % 4 == 1, 0.0, 1.0)
    weighted = Case(case.structure, case.kernels, case.y, case.C, case.lam, weights)
    solution = solve(*weighted.posed, **weighted.settings, solver="interior", tol=SOLVED)
    assert solution.status == "optimal"
    assert not np.atleast_2d(solution.alpha)[:, weights == 0].any()
    assert solution.objective == pytest.approx(solve_conic(*weighted.oracle, None).objective, rel=OBJECTIVE)


@pytest.mark.parametrize("structure", [flat(5), drawn("S0>P0 P1, P0>S1, S1>P2 P3, P2>K2, P3>K3, P1>S2, S2>P4, P4>K4")])
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_a_better_witness_gives_a_better_bound(structure: dict, p: float) -> None:
    case = case_of(structure, C=3.0)
    problem = posed(case, p)
    alpha = balanced(np.random.default_rng(1).uniform(0, 3, problem.Y.shape), problem.Y)
    witness = np.random.default_rng(2).uniform(0.1, 3, len(problem.p))
    before = dual_value(problem, alpha, witness, quadratic_flows(problem, alpha, witness))
    better = improved_witness(problem, witness, quadratic_flows(problem, alpha, witness))
    after = dual_value(problem, alpha, better, quadratic_flows(problem, alpha, better))
    assert after >= before * (1 - ROUNDING)


def discrete(n: int, columns: int, levels: int, seed: int = 0) -> tuple[dict[str, Array], Array]:
    """One rbf kernel per column of few values, and labels that some columns tell, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, (n, columns)).astype(float)
    y = np.where(X[:, :3].sum(axis=1) + rng.normal(size=n) > 1.5 * (levels - 1), 1, -1)
    return {f"K{j}": np.exp(-0.5 * (X[:, [j]] - X[:, j]) ** 2) for j in range(columns)}, y


def hard() -> Iterator[tuple[str, dict[str, Array], Array]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    smooth = {f"K{j}": np.exp(-0.5 * (X[:, [j]] - X[:, j]) ** 2) for j in range(4)}
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=60) > 0, 1, -1)
    yield "smooth columns", smooth, y
    yield "kernels times 1e6", {leaf: 1e6 * K for leaf, K in smooth.items()}, y
    yield "scales from 1e-3 to 1e3", {leaf: 10.0 ** (2 * j - 3) * K for j, (leaf, K) in enumerate(smooth.items())}, y
    yield "rank one", {f"K{j}": np.outer(X[:, j], X[:, j]) for j in range(4)}, y
    twice = np.repeat(np.arange(30), 2)
    contradictory = y[:30][twice] * np.where((np.arange(60) % 2 == 1) & (np.arange(60) < 20), -1, 1)
    yield "contradictory rows", {leaf: K[np.ix_(twice, twice)] for leaf, K in smooth.items()}, contradictory
    yield "binary columns", *discrete(120, 4, 2)
    yield "counted columns", *discrete(120, 4, 4)


HARD = {name: (kernels, y) for name, kernels, y in hard()}


@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
@pytest.mark.parametrize("name", HARD)
def test_kernels_of_low_rank_are_certified(name: str, C: float) -> None:
    kernels, y = HARD[name]
    case = Case(flat(4), kernels, y, C, 1.0, np.ones(len(y)))
    solution = solve(*case.posed, C=C)
    assert solution.status == "optimal"
    assert solution.certify(kernels).gap <= solution.tol
    assert all(np.isfinite([r.objective, r.dual_bound, r.gap]).all() for r in solution.history)


@pytest.mark.parametrize("name", ["smooth columns", "binary columns", "contradictory rows"])
@pytest.mark.parametrize("solver", ["auto", "interior"])
def test_the_optimum_of_kernels_of_low_rank(name: str, solver: str) -> None:
    kernels, y = HARD[name]
    case = Case(flat(4), kernels, y, 3.0, 1.0, np.ones(len(y)))
    solution = solve(*case.posed, C=case.C, tol=SOLVED, solver=solver)
    assert solution.status == "optimal"
    assert solution.objective == pytest.approx(solve_conic(*case.oracle, 1.0).objective, rel=OBJECTIVE)


def test_path_following_takes_over_where_smo_crawls() -> None:
    kernels, y = HARD["smooth columns"]
    solution = solve(case_of(flat(4), n=60).spn, kernels, y, C=1e4)
    assert "interior" in {record.method for record in solution.history}
    assert solution.status == "optimal"
    assert solve(case_of(flat(4), n=60).spn, kernels, y, C=9e3, start=solution).status == "optimal"


def test_a_one_hot_table_is_certified_in_few_evaluations() -> None:
    # The case that took 777 SVC fits and stalled: kernels over the indicators of a categorical column each.
    rng = np.random.default_rng(2)
    codes = np.column_stack([rng.integers(0, levels, 400) for levels in (2, 3, 4, 6, 9, 12, 15)])
    y = np.where((codes[:, 2] > 1) ^ (rng.random(400) < 0.25), 1, -1)
    kernels = {f"K{j}": np.exp(-(codes[:, [j]] != codes[:, j]).astype(float)) for j in range(7)}
    for C in (0.1, 1.0, 10.0, 100.0):
        solution = solve(case_of(flat(7), n=400).spn, kernels, y, C=C)
        assert solution.status == "optimal"
        assert solution.history[-1].evaluations <= 40


def test_simple_at_the_end() -> None:
    # Weights and α are at their bounds where the path leads to them.
    kernels, y = discrete(200, 8, 3)
    solution = solve(case_of(flat(8), n=200).spn, kernels, y, C=0.3, solver="interior")
    assert solution.status == "optimal"
    assert any(weight == 0 for weight in solution.beta.values())
    assert len(solution.support) < 200


@pytest.mark.parametrize("solver", ["auto", "interior", "newton"])
@pytest.mark.parametrize("C", [1.0, 100.0])
def test_a_class_without_weight_costs_nothing(solver: str, C: float) -> None:
    case = case_of(FIGURE_1, classes=3)
    solution = solve(*case.posed, C=C, class_weight={case.y.max(): 0.0}, solver=solver)
    assert solution.status == "optimal"
    kept = case.y < case.y.max()
    assert not solution.alpha[:, ~kept].any()
    assert not solution.alpha[-1].any()
    assert solution.certify(case.kernels).gap <= solution.tol


def test_a_simplification_that_fails_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels, y = discrete(200, 8, 3)
    spn = case_of(flat(8), n=200).spn

    def fails(*_: object) -> None:
        raise FloatingPointError

    monkeypatch.setattr(Ending, "pruned", fails)
    solution = solve(spn, kernels, y, C=0.3, solver="interior")
    assert solution.status == "optimal"
    assert all(weight > 0 for weight in solution.beta.values())


def test_a_step_whose_centre_is_not_found_is_made_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    case, failures = case_of(FIGURE_1, C=3.0), iter([True, False, True, True])
    exact, on_the_way = Barrier.centred, list[object]()
    model = _Path.model
    monkeypatch.setattr(_Path, "model", lambda *given: on_the_way.append(given) or model(*given))

    def sometimes(self: Barrier, *given: Any) -> Any:
        if on_the_way and next(failures, False):
            raise FloatingPointError
        return exact(self, *given)

    monkeypatch.setattr(Barrier, "centred", sometimes)
    assert solve(*case.posed, C=3.0, solver="interior").status == "optimal"
    assert next(failures, None) is None


def categories(n: int = 300, classes: int = 5) -> tuple[dict[str, Array], Array]:
    """Column kernels of few levels, whose sum has low rank, and labels that they tell apart only in part."""
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 5, (n, 8))
    score = sum(rng.normal(size=(5, classes))[column] for column in codes.T)
    kernels = {f"K{j}": np.exp(-0.25 * (column[:, None] - column) ** 2) for j, column in enumerate(codes.T)}
    return kernels, np.argmax(score + rng.gumbel(size=(n, classes)), axis=1)


def test_several_classes_of_low_rank_have_the_same_bits_on_two_threads() -> None:
    kernels, y = categories()
    one, two = (solve(SPN.from_dict(flat(len(kernels))), kernels, y, C=30.0, n_threads=t) for t in (1, 2))
    assert one.status == "optimal" and one.history[-1].method == "interior"
    assert one.beta == two.beta and np.array_equal(one.alpha, two.alpha)


def test_newton_finishes_where_path_following_cannot_begin(monkeypatch: pytest.MonkeyPatch) -> None:
    case = case_of(FIGURE_1, C=3.0)

    def struggles(*_: object) -> Iterator[Any]:
        raise Struggling
        yield

    first = iter([struggles])
    monkeypatch.setattr(strategy, "interior", lambda *_: iter(()))
    honest = strategy._while_it_goes_well
    monkeypatch.setattr(strategy, "_while_it_goes_well", lambda *given: next(first, honest)(*given))
    assert solve(*case.posed, C=3.0).status == "optimal"


def test_alpha_stays_at_its_bounds() -> None:
    kernels, y = discrete(120, 4, 4)
    solution = solve(case_of(flat(4), n=120).spn, kernels, y, C=3.0, solver="interior")
    near = np.abs(solution.alpha - 3.0) < 1e-9
    assert near.any()
    assert (solution.alpha[near] == 3.0).all()


@pytest.mark.parametrize(("width", "method"), [(3.0, "newton"), (0.02, "interior")])
def test_more_steps_are_granted_where_the_rank_is_high(
    width: float, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Path following is dear there: SMO that takes many steps is left only where the kernels have low rank."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 6)), rng.choice([-1, 1], 150)
    case = case_of(flat(3), n=150)
    squared = [(X[:, None, k : k + 2] - X[None, :, k : k + 2]) ** 2 for k in (0, 2, 4)]
    kernels = {leaf: np.exp(-width * d.sum(axis=-1)) for leaf, d in zip(case.spn.kernels, squared, strict=True)}
    monkeypatch.setattr(budget, "_CHEAP_STEPS", 100)
    monkeypatch.setattr(budget, "_STEPS_PER_ROW", 0)
    solution = solve(case.spn, kernels, y, C=10.0)
    assert solution.status == "optimal"
    assert solution.history[-1].method == method
