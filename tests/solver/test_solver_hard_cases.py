"""Degenerate kernels, labels and settings: still optimal, still certified."""

from collections.abc import Iterator, Mapping

import numpy as np
import pytest
from cases import FIGURE_1, Case, case_of, drawn, flat
from oracles import Array, solve_conic
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from tolerances import BOUND, DECISION, OBJECTIVE, ROUNDING, SOLVED, WEIGHTS

from spnmkl import SPN, Kernel, KernelError, Solution, TrivialSolutionWarning, solve, templates
from spnmkl.certificate import dual, dual_value, primal, quadratic_flows, relative_gap
from spnmkl.kernels import fit_kernels
from spnmkl.problem import build_problem
from spnmkl.solvers.bound import search_dual
from spnmkl.solvers.smallest import light_side

SOLVERS = ["newton", "paper"]


def check_certified(solution: Solution, kernels: Mapping[str, Array]) -> None:
    assert solution.status == "optimal"
    assert -ROUNDING <= solution.gap <= solution.tol
    assert solution.certify(kernels).gap == pytest.approx(solution.gap, abs=ROUNDING)
    assert np.isfinite(list(solution.beta.values())).all()
    assert np.isfinite(solution.alpha).all()


def with_kernels(case: Case, **kernels: Array) -> Case:
    return Case(case.structure, case.kernels | kernels, case.y, case.C, case.lam, case.weights)


FLAT, FIGURE = case_of(flat(4), C=3.0), case_of(FIGURE_1, C=3.0)
DEGENERATE = {
    "duplicated": with_kernels(FLAT, K1=FLAT.kernels["K0"], K2=FLAT.kernels["K0"]),
    "duplicated below products": with_kernels(FIGURE, K2=FIGURE.kernels["K1"], K4=FIGURE.kernels["K3"]),
    "a zero kernel": with_kernels(FLAT, K1=np.zeros((30, 30))),
    "zero kernels in two branches": with_kernels(FIGURE, K1=np.zeros((30, 30)), K3=np.zeros((30, 30))),
    "a zero branch": with_kernels(FIGURE, K3=np.zeros((30, 30)), K4=np.zeros((30, 30))),
    "a constant kernel": with_kernels(FLAT, K1=np.ones((30, 30))),
    "the identity": with_kernels(FIGURE, K1=np.eye(30), K5=np.eye(30)),
    "rank one": with_kernels(
        FIGURE, **{f"K{i}": np.outer(v, v) for i, v in enumerate(np.random.default_rng(0).normal(size=(7, 30)), 1)}
    ),
    "of very different scales": with_kernels(FLAT, K0=100 * FLAT.kernels["K0"], K1=FLAT.kernels["K1"] / 100),
}


@pytest.mark.parametrize("p", [1.0, 1.5])
@pytest.mark.parametrize("case", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_kernels(case: Case, p: float) -> None:
    solution = solve(*case.posed, C=case.C, p=p, tol=SOLVED)
    check_certified(solution, case.kernels)
    expected = solve_conic(*case.oracle, p).objective
    assert solution.objective == pytest.approx(expected, rel=OBJECTIVE)
    assert solution.dual_bound <= expected * (1 + BOUND)


@pytest.mark.parametrize("case", DEGENERATE.values(), ids=DEGENERATE)
def test_degenerate_kernels_by_the_paper(case: Case) -> None:
    check_certified(solve(*case.posed, C=case.C, solver="paper"), case.kernels)


TOWER = drawn("P0>K0 S1, " + ", ".join(f"S{i}>P{i}, P{i}>K{i} S{i + 1}" for i in range(1, 49)) + ", S49>P49, P49>K49")
OVERFLOWING = {
    "two kernels": (case_of(drawn("S0>P0, P0>K0 K1")), 1e155),
    "beside a sound branch": (case_of(drawn("S0>P0 P1, P0>K0 K1, P1>K2")), 1e155),
    "fifty layers": (case_of(TOWER), 1e8),
}


def scaled(case: Case, scale: float) -> Case:
    return with_kernels(case, **{leaf: scale * K for leaf, K in case.kernels.items()})


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 0.8])
@pytest.mark.parametrize(("case", "scale"), OVERFLOWING.values(), ids=OVERFLOWING)
def test_products_that_overflow_are_refused(case: Case, scale: float, p: float, solver: str) -> None:
    huge, even = scaled(case, scale), dict.fromkeys(case.spn.products, 1.0)
    for start in (None, even, dict.fromkeys(case.spn.products, 1e-3)):
        with pytest.raises(KernelError, match="leaves the range of double precision"):
            solve(*huge.posed, C=3.0, p=p, solver=solver, start=start)


@pytest.mark.parametrize(("case", "scale"), OVERFLOWING.values(), ids=OVERFLOWING)
def test_no_part_of_the_proof_takes_what_overflows(case: Case, scale: float) -> None:
    solution = solve(*case.posed, C=1e3)
    huge = scaled(case, scale).kernels
    with pytest.raises(KernelError, match="leaves the range of double precision"):
        solution.certify(huge)
    problem, _ = build_problem(case.spn, huge, case.y)
    ones, (alpha, _) = np.ones(len(problem.p)), light_side(problem.Y, problem.C)
    for part in (
        lambda: primal(problem, ones, alpha),
        lambda: quadratic_flows(problem, alpha, ones),
        lambda: dual(problem, alpha, ones),
        lambda: search_dual(problem, alpha, ones),
    ):
        with pytest.raises(KernelError, match="leaves the range of double precision"):
            part()


def test_a_quadratic_form_that_overflows_is_refused() -> None:
    # K(β) is finite, and so are the responses; what they are worth is not.
    case = case_of(flat(2))
    problem, _ = build_problem(case.spn, scaled(case, 1e200).kernels, case.y, C=1e60)
    alpha, ones = 1e60 * np.ones_like(problem.Y), np.ones(2)
    for part in (lambda: primal(problem, ones, alpha), lambda: dual(problem, alpha, ones)):
        with pytest.raises(KernelError, match="leaves the range of double precision"):
            part()


@pytest.mark.parametrize("p", [1.0, 1.5, 0.9])
def test_what_is_no_number_bounds_nothing(p: float) -> None:
    case = case_of(drawn("P0>K0"))
    problem, _ = build_problem(*case.posed, p=p)
    alpha, ones = light_side(problem.Y, problem.C)[0], np.ones(1)
    flows = quadratic_flows(problem, alpha, ones)
    assert np.isfinite(dual_value(problem, alpha, ones, flows)) == problem.bounded
    for bad in (np.nan, np.inf, -np.inf):
        assert dual_value(problem, alpha, ones, flows * bad) == -np.inf
        assert not dual_value(problem, alpha * bad, ones, flows) > 0
        assert not dual_value(problem, alpha, ones * bad, flows) > problem.C.sum()
        assert primal(problem, ones * abs(bad), alpha).value == np.inf
        assert primal(problem, ones, alpha * bad).value == np.inf


def test_no_gap_is_taken_of_what_is_no_number() -> None:
    numbers = (np.nan, np.inf, -np.inf)
    assert [relative_gap(bad, good) for bad in numbers for good in (0.0, 1.0, *numbers)] == [np.inf] * 15
    assert [relative_gap(1.0, bad) for bad in numbers] == [np.inf] * 3
    # No kernel gives an objective below zero.
    assert [relative_gap(-1.0, bound) for bound in (-2.0, -1.0, 0.0, 1.0)] == [np.inf] * 4
    assert relative_gap(0.0, -1.0) == np.inf
    assert (relative_gap(0.0, 0.0), relative_gap(4.0, 4.0), relative_gap(4.0, 3.0)) == (0.0, 0.0, 0.25)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_a_single_kernel(solver: str, p: float) -> None:
    case = case_of(drawn("P0>K0"))
    check_certified(solve(*case.posed, p=p, solver=solver), case.kernels)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("p", [1.0, 1.5])
def test_contradictory_labels_on_some_samples(solver: str, p: float) -> None:
    case = case_of(FIGURE_1, C=10.0)
    twice = np.r_[np.arange(30), np.arange(10)]
    kernels = {leaf: K[np.ix_(twice, twice)] for leaf, K in case.kernels.items()}
    y = np.r_[case.y, -case.y[:10]]
    solution = solve(case.spn, kernels, y, C=10.0, p=p, solver=solver)
    check_certified(solution, kernels)
    assert solution.objective >= 10 * 10.0  # of each pair one lies on the wrong side


@pytest.mark.parametrize("solver", SOLVERS)
def test_contradictory_labels_on_all_samples(solver: str) -> None:
    case = case_of(FIGURE_1, n=20)
    twice = np.repeat(np.arange(20), 2)
    kernels = {leaf: K[np.ix_(twice, twice)] for leaf, K in case.kernels.items()}
    with pytest.warns(TrivialSolutionWarning):
        solution = solve(case.spn, kernels, np.tile([-1, 1], 20), C=1e3, solver=solver)
    assert solution.objective == pytest.approx(4e4)
    check_certified(solution, kernels)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("C", [1e6, 1e-6])
@pytest.mark.filterwarnings("ignore::spnmkl.TrivialSolutionWarning")
def test_extreme_C(C: float, p: float, solver: str) -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed, C=C, p=p, solver=solver)
    check_certified(solution, case.kernels)
    assert any(solution.beta.values()) == (C > 1 or p > 1)


@pytest.mark.parametrize("lam", [1e-6, 1e6])
@pytest.mark.filterwarnings("ignore::spnmkl.TrivialSolutionWarning")
def test_extreme_lambda(lam: float) -> None:
    case = case_of(FIGURE_1)
    for p in (1.0, 2.0):
        check_certified(solve(*case.posed, lam=lam, p=p), case.kernels)


@pytest.mark.parametrize("p", [1.0, 1.5])
def test_samples_of_weight_zero_are_not_there(p: float) -> None:
    case = case_of(FIGURE_1, n=40, C=3.0)
    weights = np.where(np.arange(40) % 4 == 1, 0.0, 1.0)
    kept = np.flatnonzero(weights)
    inside = {leaf: K[np.ix_(kept, kept)] for leaf, K in case.kernels.items()}
    across = {leaf: K[:, kept] for leaf, K in case.kernels.items()}
    left = solve(*case.posed, C=3.0, p=p, sample_weight=weights, tol=SOLVED)
    right = solve(case.spn, inside, case.y[kept], C=3.0, p=p, tol=SOLVED)
    assert not left.alpha[weights == 0].any()
    assert left.objective == pytest.approx(right.objective, rel=OBJECTIVE)
    largest = max(right.beta.values())
    assert left.beta == pytest.approx(right.beta, abs=WEIGHTS * largest)
    np.testing.assert_allclose(left.decision_function(case.kernels), right.decision_function(across), atol=DECISION)
    check_certified(left, case.kernels)


def test_a_class_of_one_sample() -> None:
    case = case_of(FIGURE_1)
    y = np.where(np.arange(30) == 7, 1, -1)
    check_certified(solve(case.spn, case.kernels, y, C=10.0), case.kernels)


def test_two_samples() -> None:
    case = case_of(FIGURE_1)
    kernels = {leaf: K[:2, :2] for leaf, K in case.kernels.items()}
    check_certified(solve(case.spn, kernels, [0, 1], C=10.0), kernels)


@pytest.mark.parametrize("order", ["sorted", "alternating"])
def test_the_order_of_the_samples_does_not_matter(order: str) -> None:
    # Every second row is of one class: a start chosen on every second row alone would see nothing.
    case = case_of(flat(4), n=500)
    by_class = np.argsort(case.kernels["K0"] @ np.random.default_rng(0).normal(size=500))
    rows = by_class if order == "sorted" else by_class.reshape(2, -1).T.ravel()
    kernels = {leaf: K[np.ix_(rows, rows)] for leaf, K in case.kernels.items()}
    y = np.repeat([-1, 1], 250) if order == "sorted" else np.tile([-1, 1], 250)
    solution = solve(case.spn, kernels, y, C=5.0)
    check_certified(solution, kernels)
    assert solution.history[-1].evaluations <= 20


def test_no_branch_is_pruned_and_seeded_for_ever() -> None:
    # At a loose tolerance the SVMs' own error hides whether a branch should go.
    X, y = make_classification(2000, 30, n_informative=10, flip_y=0.1, random_state=0)
    X, y = StandardScaler().fit_transform(X)[::6], y[::6]
    leaves = [Kernel("rbf", gamma=float(g) / 30) for g in np.logspace(-2, 2, 10)]
    powers = [Kernel("polynomial", degree=d, gamma=1 / 30) for d in (1, 2, 3)]
    groups = [Kernel("rbf", gamma=1 / len(g), features=g.tolist()) for g in np.array_split(np.arange(30), 12)]
    spn = templates.grouped({"widths": leaves, "powers": powers, "groups": groups})
    kernels, _ = fit_kernels(spn, X)
    solution = solve(spn, kernels, y, C=60.0, tol=2e-2)
    check_certified(solution, kernels)
    assert solution.history[-1].evaluations <= 20


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("scale", [1e-4, 1e4])
def test_a_start_at_a_wrong_scale_is_put_right(scale: float, p: float) -> None:
    case = case_of(flat(4), C=3.0)
    right = solve(*case.posed, C=case.C, p=p)
    wrong = {v: scale * weight for v, weight in right.beta.items()}
    solution = solve(*case.posed, C=case.C, p=p, start=wrong)
    check_certified(solution, case.kernels)
    assert solution.history[-1].evaluations <= 6


class Computed(Mapping[str, list[list[float]]]):
    """Matrices that are made when asked for and kept by nobody, as a lazy data set would."""

    def __init__(self, kernels: Mapping[str, Array]) -> None:
        self.kernels = kernels

    def __getitem__(self, leaf: str) -> list[list[float]]:
        return self.kernels[leaf].tolist()

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)


def test_matrices_may_come_from_any_mapping() -> None:
    case = case_of(flat(8))
    assert solve(case.spn, Computed(case.kernels), case.y).beta == solve(*case.posed).beta


def test_one_matrix_may_serve_several_leaves() -> None:
    K = case_of(flat(1)).kernels["K0"]
    case = case_of(FIGURE_1)
    copied = {leaf: K.copy() for leaf in case.kernels}
    shared = dict.fromkeys(case.kernels, K)
    assert solve(case.spn, shared, case.y).beta == solve(case.spn, copied, case.y).beta


def test_child_order_changes_nothing() -> None:
    case = case_of(FIGURE_1)
    turned = SPN.from_dict({**FIGURE_1, "edges": FIGURE_1["edges"][::-1], "nodes": FIGURE_1["nodes"][::-1]})
    left, right = solve(*case.posed, tol=SOLVED), solve(turned, case.kernels, case.y, tol=SOLVED)
    assert left.objective == pytest.approx(right.objective, rel=OBJECTIVE)
    assert left.beta == pytest.approx(right.beta, abs=WEIGHTS)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
@pytest.mark.parametrize("case", [FLAT, FIGURE], ids=["flat", "deep"])
def test_a_start_without_the_heaviest_weight(case: Case, p: float) -> None:
    best = solve(*case.posed, C=case.C, p=p, tol=SOLVED)
    heaviest = max(best.beta, key=best.beta.__getitem__)
    again = solve(*case.posed, C=case.C, p=p, tol=SOLVED, start=best.beta | {heaviest: 0.0})
    check_certified(again, case.kernels)
    assert again.objective == pytest.approx(best.objective, rel=OBJECTIVE)


@pytest.mark.parametrize("seed", range(12))
def test_a_tolerance_below_rounding_ends(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 3 + seed % 9
    X, y = rng.normal(size=(n, 2)), np.arange(n) % 2
    spn = templates.grouped(
        {"a": [Kernel("rbf", gamma=0.1), Kernel("rbf", gamma=1.0)], "b": [Kernel("rbf", gamma=10.0)]}
    )
    for p in (1.0, 1.5):
        solution = solve(spn, fit_kernels(spn, X)[0], y, C=5.0, p=p, tol=1e-14)
        assert abs(solution.gap) < 1e-9
