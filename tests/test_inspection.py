"""Understanding a solution, against sums over enumerated paths."""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from cases import FIGURE_1, Case, beta_of, case_of, drawn, flat, product_of_sums, random_case
from oracles import (
    Array,
    combined_kernel,
    enumerate_paths,
    objective_J,
    path_counts,
    path_kernels,
    path_weights,
    sign_rows,
)
from random_structures import random_structure
from tolerances import BOUND, COMPILED, ROUNDING

from spnmkl import KernelError, ParameterError, Solution, TrivialSolutionWarning, solve
from spnmkl.circuit.source import MatrixSource
from spnmkl.inspection import (
    Carried,
    complexity_bound,
    decision_shares,
    heaviest_paths,
    node_kernel,
    path_shares,
    refit,
    sample_contributions,
    view_shares,
)
from spnmkl.inspection import shares as shares_module
from spnmkl.kernels import alignment

SEEDS = [1, 3, 4, 8]


def solved(seed: int) -> tuple[Case, Solution]:
    case = random_case(seed)
    return case, solve(*case.posed, **case.settings)


def carried(case: Case, solution: Solution) -> Array:
    """g_m q_m of every path, over their sum."""
    A = np.atleast_2d(solution.alpha) * sign_rows(case.y)
    q = np.array([np.sum((A @ K) * A) for K in path_kernels(case.structure, case.kernels)])
    gq = path_weights(case.structure, solution.beta) * q
    return gq / gq.sum()


def nodes_on_paths(case: Case) -> list[set[str]]:
    """All nodes that each path meets: its products and kernels, and the sums below its products and at the root."""
    met = []
    for path in enumerate_paths(case.structure):
        below = {s for v in path.exponents for s in case.spn.children(v)}
        met.append({*path.exponents, *path.leaves, *below, case.spn.root})
    return met


def through(case: Case, share: Array, nodes: Iterable[str]) -> float:
    wanted = set(nodes)
    return sum(s for s, met in zip(share, nodes_on_paths(case), strict=True) if met & wanted)


@pytest.mark.parametrize("seed", SEEDS)
def test_path_shares_are_what_the_paths_carry(seed: int) -> None:
    case, solution = solved(seed)
    paths = heaviest_paths(solution, 1000)
    shares = path_shares(solution, case.kernels, paths)
    assert shares.sum() == pytest.approx(1, abs=ROUNDING)
    expected = carried(case, solution)
    np.testing.assert_allclose(np.sort(shares), np.sort(expected[expected > 0])[-len(shares) :], atol=ROUNDING)
    assert sum(path.share for path in paths) == pytest.approx(1)
    assert [path.g for path in paths] == sorted((path.g for path in paths), reverse=True)
    assert heaviest_paths(solution, 2) == paths[:2]


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_of_nodes_are_those_of_the_paths_through_them(seed: int) -> None:
    case, solution = solved(seed)
    shares, expected = decision_shares(solution, case.kernels), carried(case, solution)
    for found, nodes in (
        (shares.products, case.spn.products),
        (shares.sums, case.spn.sums),
        (shares.kernels, case.spn.kernels),
    ):
        assert found == pytest.approx({v: through(case, expected, [v]) for v in nodes}, abs=ROUNDING)
    every = shares.products | shares.sums
    assert every[case.spn.root] == pytest.approx(1)


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_of_views_are_those_of_the_paths_through_any_of_their_kernels(seed: int) -> None:
    case, solution = solved(seed)
    leaves = case.spn.kernels
    views = {"odd": leaves[1::2], "even": leaves[::2], "all": leaves, "none": ()}
    found, expected = view_shares(solution, case.kernels, views), carried(case, solution)
    assert found == pytest.approx({name: through(case, expected, view) for name, view in views.items()}, abs=ROUNDING)
    assert (found["all"], found["none"]) == (pytest.approx(1), 0)


@pytest.mark.parametrize("seed", range(30))
def test_shares_and_kernels_of_nodes_at_any_weights(seed: int) -> None:
    """Much sharing, some weights zero, any α: everything that does not need an optimum."""
    rng = np.random.default_rng(seed)
    case = case_of(random_structure(rng, shared=0.6, max_paths=40), seed, n=12, classes=2 + seed % 2)
    solution = solve(*case.posed, tol=0.5, max_iter=1, warn=False)
    beta = {v: b * (rng.random() < 0.8) for v, b in beta_of(case.structure, rng).items()}
    solution = replace(solution, beta=beta, alpha=rng.uniform(0, 1, solution.alpha.shape))
    g, met = path_weights(case.structure, beta), nodes_on_paths(case)
    expected = carried(case, solution) if g.any() else np.zeros(len(g))
    source = MatrixSource(case.kernels)
    shares = decision_shares(solution, source)
    every = shares.products | shares.sums | shares.kernels
    del every[case.spn.root]
    assert every == pytest.approx({v: through(case, expected, [v]) for v in every}, abs=ROUNDING)
    pairs = {f"{a} {b}": (a, b) for a in case.spn.kernels for b in case.spn.kernels}
    found = view_shares(solution, source, pairs)
    assert found == pytest.approx({name: through(case, expected, pair) for name, pair in pairs.items()}, abs=ROUNDING)
    for v in case.spn.products + case.spn.sums:
        K = np.zeros((12, 12))
        for gm, K_m, nodes in zip(g, path_kernels(case.structure, case.kernels), met, strict=True):
            K += gm * K_m * (v in nodes)
        atol = 10 * COMPILED * max(1.0, g.sum())
        np.testing.assert_allclose(node_kernel(solution, source, v), K, atol=atol)


def test_shares_of_one_object_take_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = []
    for name in ("quadratic_flows", "apply_kernel"):
        known = getattr(shares_module, name)
        monkeypatch.setattr(shares_module, name, lambda *args, known=known: passes.append(known) or known(*args))
    case = case_of(FIGURE_1)
    shares = Carried(solve(*case.posed), case.kernels)
    assert shares.shares().kernels["K3"] > 0
    assert shares.through(["K3", "K4"]) == pytest.approx(shares.through(["P9"]))
    assert len(passes) == 1


@pytest.mark.parametrize("seed", SEEDS)
def test_contributions_add_up_to_the_decision(seed: int) -> None:
    case, solution = solved(seed)
    rng = np.random.default_rng(seed)
    cross = {leaf: rng.normal(size=(6, len(case.y))) for leaf in case.kernels}
    pushes = sample_contributions(solution, cross, heaviest_paths(solution, 1000))
    decision = solution.decision_function(cross)
    assert pushes.shape[1:] == decision.shape
    np.testing.assert_allclose(pushes.sum(axis=0) + solution.intercept, decision, atol=ROUNDING * np.abs(pushes).max())


def test_one_path_pushes_one_sample() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    path = heaviest_paths(solution, 1)[0]
    K = np.prod([case.kernels[leaf] for leaf in path.leaves], axis=0)
    expected = path.g * K @ solution.signed_alpha[0]
    np.testing.assert_allclose(sample_contributions(solution, case.kernels, [path])[0], expected, rtol=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_node_kernels_are_sums_over_the_paths_through_them(seed: int) -> None:
    case, solution = solved(seed)
    g = path_weights(case.structure, solution.beta)
    kernels, met = path_kernels(case.structure, case.kernels), nodes_on_paths(case)
    for v in case.spn.products + case.spn.sums:
        expected = sum(gm * K for gm, K, nodes in zip(g, kernels, met, strict=True) if v in nodes)
        atol = 10 * COMPILED * max(1.0, g.sum())
        np.testing.assert_allclose(node_kernel(solution, case.kernels, v), expected, atol=atol)
    leaf = case.spn.kernels[0]
    np.testing.assert_array_equal(node_kernel(solution, case.kernels, leaf), case.kernels[leaf])


def test_what_needs_a_matrix_that_is_not_given() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    few = {leaf: case.kernels[leaf] for leaf in ("K1", "K2")}
    paths = [path for path in heaviest_paths(solution, 1000) if "K3" in path.leaves]
    lacking = "Kernel 'K3' has no matrix; expected one for each leaf asked for, found them for ['K1', 'K2']; add it."
    with pytest.raises(KernelError) as refused:
        node_kernel(solution, few, "K3")
    assert str(refused.value) == lacking
    with pytest.raises(KernelError) as refused:
        sample_contributions(solution, few, paths)
    assert str(refused.value) == lacking
    with pytest.raises(KernelError, match=r"^Kernel 'K3' has no kernel matrix"):
        node_kernel(solution, few, "S0")


def test_cross_kernels_of_another_shape() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    with pytest.raises(KernelError, match=r"has shape \(30, 29\); expected \(30, 30\), new samples by training"):
        sample_contributions(solution, {v: K[:, 1:] for v, K in case.kernels.items()}, heaviest_paths(solution))


@pytest.mark.parametrize("classes", [2, 3])
def test_no_rows_get_no_decision(classes: int) -> None:
    case = case_of(FIGURE_1, classes=classes)
    solution = solve(*case.posed)
    none = {leaf: K[:0] for leaf, K in case.kernels.items()}
    shape = (0,) if classes == 2 else (0, classes)
    assert solution.decision_function(none).shape == shape
    assert sample_contributions(solution, none, heaviest_paths(solution, 2)).shape == (2, *shape)


def test_children_of_the_root_add_up() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    root = node_kernel(solution, case.kernels, "S0")
    np.testing.assert_allclose(root, combined_kernel(case.structure, case.kernels, solution.beta), rtol=ROUNDING)
    parts = [node_kernel(solution, case.kernels, child) for child in case.spn.children("S0")]
    np.testing.assert_allclose(sum(parts), root, rtol=ROUNDING)


def test_a_node_kernel_is_a_copy() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    node_kernel(solution, case.kernels, "K1")[:] = 0
    assert case.kernels["K1"].any()


@pytest.mark.parametrize("seed", SEEDS)
def test_refitting_at_the_optimum_changes_nothing(seed: int) -> None:
    case, solution = solved(seed)
    again = refit(solution, case.kernels, solution.beta)
    assert again.status == "hand-set"
    assert again.beta == solution.beta
    assert again.objective == pytest.approx(solution.objective, rel=solution.tol)
    assert again.objective <= solution.objective * (1 + 1e-6)
    assert again.gap <= solution.tol
    assert again.certify(case.kernels).gap == pytest.approx(again.gap, abs=ROUNDING)


@pytest.mark.parametrize("seed", SEEDS)
def test_refitting_elsewhere_gives_the_objective_there(seed: int) -> None:
    case, solution = solved(seed)
    beta = beta_of(case.structure, np.random.default_rng(seed))
    what_if = refit(solution, case.kernels, beta, tol=1e-9)
    assert what_if.objective == pytest.approx(objective_J(*case.oracle, None, beta), rel=BOUND)
    assert what_if.gap == pytest.approx((what_if.objective - solution.dual_bound) / what_if.objective)
    assert solution.beta != beta


def test_refitting_without_a_product_takes_its_paths_out() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    without = refit(solution, case.kernels, {"P9": 0.0})
    assert without.beta == solution.beta | {"P9": 0.0}
    assert without.objective > solution.objective
    assert without.decision_function({leaf: case.kernels[leaf] for leaf in ("K1", "K2")}).shape == (30,)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_refitting_at_impossible_weights(weight: float) -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    with pytest.raises(ParameterError) as refused:
        refit(solution, case.kernels, {"P3": weight})
    assert str(refused.value) == (
        f"The weight of 'P3' must be a finite number of at least 0, but it is {weight!r}; choose 0 to take the product "
        "out."
    )


def test_refitting_a_product_that_is_none() -> None:
    case = case_of(FIGURE_1)
    with pytest.raises(ParameterError, match="'P77'"):
        refit(solve(*case.posed), case.kernels, {"P77": 1.0})


@pytest.mark.parametrize("seed", [2, 3, 6])
def test_theorem_2_and_its_parts(seed: int) -> None:
    case, solution = solved(seed)
    bound = complexity_bound(solution, case.kernels)
    K_m = path_kernels(case.structure, case.kernels)
    g, c = path_weights(case.structure, solution.beta), path_counts(case.structure)
    y = sign_rows(case.y)[0]
    a = solution.alpha * y
    # R with λ = 1 and p = 1: Σ ‖w_m‖²/(2 g_m) + Σ c_v β_v with ‖w_m‖² = g_m² q_m.
    regularizer = sum(gm * a @ K @ a / 2 for gm, K in zip(g, K_m, strict=True))
    regularizer += sum(c[v] * b for v, b in solution.beta.items())
    f = combined_kernel(case.structure, case.kernels, solution.beta) @ a + solution.intercept
    loss = (case.C * case.weights * np.maximum(0, 1 - y * f)).sum()
    A = np.sqrt(sum(np.trace(K) for K in K_m))
    assert (bound.A, bound.n) == (pytest.approx(A), len(y))
    assert bound.regularizer == pytest.approx(regularizer)
    assert bound.loss == pytest.approx(loss, abs=ROUNDING * regularizer)
    assert bound.value == pytest.approx(2 * A / len(y) * (regularizer + loss))


def test_theorem_2_is_what_training_minimises() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    bound = complexity_bound(solution, case.kernels)
    assert bound.regularizer + bound.loss == pytest.approx(solution.objective, rel=ROUNDING)


def test_theorem_2_is_about_two_classes() -> None:
    case = case_of(FIGURE_1, classes=3)
    with pytest.raises(ParameterError) as refused:
        complexity_bound(solve(*case.posed), case.kernels)
    assert str(refused.value) == ("Theorem 2 is about two classes, but this solution has 3; pose a binary problem.")


def test_alignment_with_the_labels() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 10)
    ideal, noise = np.outer(y, y).astype(float), case_of(flat(1), n=20).kernels["K0"]
    H = np.eye(20) - 1 / 20
    centred = H @ noise @ H
    expected = np.sum(centred * ideal) / (np.linalg.norm(centred) * np.linalg.norm(H @ ideal @ H))
    assert alignment(ideal, y) == pytest.approx(1)
    assert alignment(noise, y) == pytest.approx(expected)
    assert alignment(noise, rng.permutation(y)) < 0.5


def test_a_constant_classifier_carries_nothing() -> None:
    case = case_of(FIGURE_1)
    with pytest.warns(TrivialSolutionWarning):
        solution = solve(*case.posed, C=1e-6)
    assert heaviest_paths(solution) == []
    assert path_shares(solution, case.kernels, []).shape == (0,)
    assert set(decision_shares(solution, case.kernels).products.values()) == {0.0}
    assert not node_kernel(solution, case.kernels, "S0").any()
    assert complexity_bound(solution, case.kernels).regularizer == 0


def test_of_many_paths_only_those_asked_for_are_listed() -> None:
    case = case_of(product_of_sums(12, 4), n=20)
    assert case.spn.n_paths == 4**12
    solution = solve(*case.posed, C=10.0)
    shares = decision_shares(solution, case.kernels)
    # One kernel of each sum lies on every path.
    for d in range(12):
        assert sum(shares.kernels[f"K{d}.{k}"] for k in range(4)) == pytest.approx(1, abs=ROUNDING)
    paths = heaviest_paths(solution, 5)
    assert len(paths) == 5
    assert (path_shares(solution, case.kernels, paths) >= 0).all()


def test_a_kernel_met_twice_counts_once() -> None:
    case = case_of(drawn("S0>P0 P1, P0>S1 K1, S1>P2 P3, P2>K1, P3>K2, P1>K3"))
    solution = solve(*case.posed)
    share = decision_shares(solution, case.kernels).kernels["K1"]
    assert share == pytest.approx(through(case, carried(case, solution), ["K1"]), abs=ROUNDING)
    zero = replace(solution, beta=solution.beta | {"P0": 0.0})
    assert decision_shares(zero, case.kernels).kernels["K1"] == pytest.approx(0, abs=ROUNDING)
