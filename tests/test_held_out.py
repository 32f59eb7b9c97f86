"""The decision on rows that were not trained on, split: against sums over enumerated paths, and plain numpy."""

import math
from dataclasses import replace

import numpy as np
import pytest
from cases import FIGURE_1, Case, beta_of, case_of, flat, random_case
from oracles import Array, enumerate_paths, path_kernels, path_weights
from random_structures import random_structure
from tolerances import ROUNDING

from spnmkl import DataError, KernelError, Solution, solve
from spnmkl.circuit.source import MatrixSource
from spnmkl.inspection import (
    DecisionParts,
    HeldOutShares,
    decision_parts,
    heaviest_paths,
)


def cross_of(case: Case, rows: int, seed: int = 0) -> tuple[dict[str, Array], Array]:
    """Kernel values and labels of rows that were not trained on; any values do."""
    rng = np.random.default_rng(seed)
    return {leaf: rng.normal(size=(rows, len(case.y))) for leaf in case.kernels}, rng.choice(np.unique(case.y), rows)


def one_vs_rest(y: Array, classes: Array) -> Array:
    """(rows, classes) of ±1; one column for two classes, the second."""
    signs = np.where(y[:, None] == classes, 1.0, -1.0)
    return signs[:, 1:] if len(classes) == 2 else signs


def enumerated(case: Case, solution: Solution, cross: dict[str, Array], y: Array) -> Array:
    """(paths, rows) Σ_c y_c (f_mc − its mean over the training rows), path by path."""
    A, signs = solution.signed_alpha, one_vs_rest(y, solution.classes)
    g = path_weights(case.structure, solution.beta)
    new, old = path_kernels(case.structure, cross), path_kernels(case.structure, case.kernels)
    pushes = [gm * (K @ A.T - (K_train @ A.T).mean(axis=0)) for gm, K, K_train in zip(g, new, old, strict=True)]
    return np.array([(signs * push).sum(axis=1) for push in pushes])


def met_by_paths(case: Case) -> list[set[str]]:
    """All nodes that each path meets: its products and kernels, and the sums below its products and at the root."""
    return [
        {*path.exponents, *path.leaves, *(s for v in path.exponents for s in case.spn.children(v)), case.spn.root}
        for path in enumerate_paths(case.structure)
    ]


def assert_close(found: Array, expected: Array, scale: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDING * max(scale, 1e-300))


@pytest.mark.parametrize("seed", range(40))
def test_parts_are_those_of_enumerated_paths(seed: int) -> None:
    """Much sharing, some weights zero, any α: nothing here needs an optimum."""
    rng = np.random.default_rng(seed)
    case = case_of(random_structure(rng, shared=0.6, max_paths=40), seed, n=12, classes=2 + seed % 2)
    solution = solve(*case.posed, tol=0.5, max_iter=1, warn=False)
    beta = {v: b * (rng.random() < 0.85) for v, b in beta_of(case.structure, rng).items()}
    solution = replace(solution, beta=beta, alpha=rng.uniform(0, 1, solution.alpha.shape))
    cross, y = cross_of(case, 7, seed)
    leaves = case.spn.kernels
    views = {f"{a} {b}": (a, b) for a in leaves for b in leaves} | {"all": leaves, "none": ()}
    paths = list(case.spn.paths())
    found = decision_parts(solution, MatrixSource(cross), y, MatrixSource(case.kernels), views=views, paths=paths)
    expected, met = enumerated(case, solution, cross, y), met_by_paths(case)
    scale = np.abs(expected).sum(axis=0).max()

    def through(nodes: tuple[str, ...]) -> Array:
        return sum((e for e, nodes_met in zip(expected, met, strict=True) if nodes_met & set(nodes)), np.zeros(7))

    assert_close(found.total, expected.sum(axis=0), scale)
    assert found.nodes.keys() == set(case.spn.nodes)
    for node, part in found.nodes.items():
        assert_close(part, through((node,)), scale)
    for view, members in views.items():
        assert_close(found.views[view], through(members), scale)
    listed = {path: np.zeros(7) for path in paths}
    for path, e in zip(enumerate_paths(case.structure), expected, strict=True):
        # Paths that a drawing has twice, with the same leaves and layers, are one key: each has the same part.
        key = next(p for p in paths if sorted(p.leaves) == sorted(path.leaves) and dict(p.exponents) == path.exponents)
        listed[key] = e
    for path in paths:
        twin = next(p for p in paths if sorted(p.leaves) == sorted(path.leaves) and p.exponents == path.exponents)
        assert_close(found.paths[path], listed[twin], scale)


@pytest.mark.parametrize("seed", [1, 3, 4, 8])
def test_paths_of_a_training_add_up_to_the_decision(seed: int) -> None:
    case = random_case(seed)
    solution = solve(*case.posed, **case.settings)
    cross, y = cross_of(case, 9, seed)
    found = decision_parts(solution, cross, y, case.kernels, paths=heaviest_paths(solution, 1000))
    signs = one_vs_rest(y, solution.classes)
    decision = solution.decision_function(cross).reshape(9, -1)
    means = solution.decision_function(case.kernels).reshape(len(case.y), -1).mean(axis=0)
    expected = (signs * (decision - means)).sum(axis=1)
    scale = sum(np.abs(part) for part in found.paths.values()).max()
    assert_close(found.total, expected, scale)
    assert_close(sum(found.paths.values()), expected, scale)


def flat_solved(classes: int = 2) -> tuple[Case, Solution, dict[str, Array], Array]:
    case = case_of(flat(3, p=2), seed=5, n=60, classes=classes, C=10.0)
    solution = solve(*case.posed, C=10.0)
    # Near the training rows, so that the decision tells something.
    rng = np.random.default_rng(1)
    rows = rng.permutation(60)[:40]
    return (
        case,
        solution,
        {v: K[rows] + 0.01 * rng.normal(size=(40, 60)) for v, K in case.kernels.items()},
        case.y[rows],
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_shares_of_a_flat_sum_by_hand(classes: int) -> None:
    case, solution, cross, y = flat_solved(classes)
    views = {"first": ("K0",), "others": ("K1", "K2")}
    shares = HeldOutShares.of_parts([decision_parts(solution, cross, y, case.kernels, views=views)], "40 test rows")
    parts = {}
    for k in range(3):
        F = solution.beta[f"P{k}"] * cross[f"K{k}"] @ solution.signed_alpha.T
        F -= solution.beta[f"P{k}"] * (case.kernels[f"K{k}"] @ solution.signed_alpha.T).mean(axis=0)
        parts[f"K{k}"] = (F * one_vs_rest(y, solution.classes)).sum(axis=1)
    total = sum(parts.values())
    assert (shares.rows, shares.n, shares.known, shares.why_none) == ("40 test rows", 40, True, "")
    assert shares.total == pytest.approx(total.mean())
    assert shares.error == pytest.approx(total.std(ddof=1) / math.sqrt(40))
    for k in range(3):
        share = parts[f"K{k}"].mean() / total.mean()
        assert shares.nodes[f"K{k}"].share == shares.nodes[f"P{k}"].share == pytest.approx(share)
        error = (parts[f"K{k}"] - share * total).std(ddof=1) / math.sqrt(40) / total.mean()
        assert shares.nodes[f"K{k}"].error == pytest.approx(error)
        assert math.isnan(shares.nodes[f"K{k}"].spread)
    assert shares.nodes["S"].share == 1
    assert shares.nodes["S"].error == pytest.approx(0, abs=ROUNDING)
    assert shares.views["others"].share == pytest.approx(1 - shares.views["first"].share)


def test_the_error_is_what_drawing_the_rows_again_gives() -> None:
    """The first-order error of a ratio against the bootstrap; 400 draws know a deviation to about 4 %."""
    rng = np.random.default_rng(0)
    part, rest = rng.normal(1.0, 1.0, 300), rng.normal(2.0, 1.5, 300)
    rest += 0.5 * part
    whole = part + rest

    def shares(rows: Array) -> HeldOutShares:
        return HeldOutShares.of_parts([DecisionParts(whole[rows], {"a": part[rows]}, {}, {})], "rows")

    again = [shares(rng.integers(0, 300, 300)).nodes["a"].share for _ in range(400)]
    assert shares(np.arange(300)).nodes["a"].error == pytest.approx(np.std(again), rel=0.2)


def test_folds_are_pooled_and_their_spread_is_told() -> None:
    folds = [
        DecisionParts(np.full(4, 2.0), {"a": np.full(4, 1.0)}, {"v": np.full(4, -0.2)}, {}),
        DecisionParts(np.full(2, 1.0), {"a": np.full(2, 0.9)}, {"v": np.full(2, 0.1)}, {}),
    ]
    shares = HeldOutShares.of_parts(folds, "2 folds")
    assert (shares.n, shares.total) == (6, pytest.approx(10 / 6))
    assert shares.nodes["a"].share == pytest.approx(5.8 / 10)
    assert shares.nodes["a"].spread == pytest.approx(np.std([0.5, 0.9], ddof=1))
    assert shares.views["v"].share == pytest.approx(-0.06)  # as it is: below 0


def test_rows_of_one_group_are_one_witness() -> None:
    """Every row five times in a group of its own is as good as once; groups of single rows are as good as none."""
    rng = np.random.default_rng(1)
    whole, part = rng.normal(2.0, 1.0, 40), rng.normal(1.0, 1.0, 40)

    def shares(times: int, groups: Array | None) -> HeldOutShares:
        parts = DecisionParts(np.repeat(whole, times), {"a": np.repeat(part, times)}, {}, {})
        return HeldOutShares.of_parts([parts], "rows", None if groups is None else [groups])

    once, fivefold = shares(1, None), shares(5, np.repeat(np.arange(40), 5))
    assert shares(1, np.arange(40)[::-1]).nodes["a"].error == pytest.approx(once.nodes["a"].error)
    assert fivefold.error == pytest.approx(once.error)
    assert fivefold.nodes["a"].error == pytest.approx(once.nodes["a"].error)
    assert shares(5, None).error < once.error / 2, "which is what it would be taken for without them"
    assert not shares(1, np.zeros(40, dtype=int)).known, "one group tells nothing of another"
    assert "over the 40 groups that the rows belong to" in fivefold.error_words
    assert HeldOutShares.from_dict(fivefold.to_dict()) == fivefold
    assert "over the 40 rows" in once.error_words and "of one training" in once.error_words


def test_over_folds_it_is_said_which_error_tells_of_rows_and_which_of_trainings() -> None:
    parts = [DecisionParts(np.ones(9), {"a": np.full(9, share)}, {}, {}) for share in (0.2, 0.4)]
    shares = HeldOutShares.of_parts(parts, "2 folds of 18 rows")
    assert shares.nodes["a"].spread == pytest.approx(np.std([0.2, 0.4], ddof=1))
    assert "± is the standard error over the 18 rows" in shares.error_words
    assert "spread over folds, the standard deviation of the shares of the 2 trainings" in shares.error_words


def test_no_shares_where_the_decision_tells_nothing() -> None:
    noise = np.array([1.0, -1.0, 0.9, -1.1, 1.05])
    shares = HeldOutShares.of_parts([DecisionParts(noise, {"a": noise / 2}, {}, {})], "5 test rows")
    assert not shares.known
    assert math.isnan(shares.nodes["a"].share)
    assert shares.why_none.startswith("No shares: on 5 test rows the mean of y·f, which they would be parts of, is not")
    one = HeldOutShares.of_parts([DecisionParts(np.ones(1), {"a": np.ones(1)}, {}, {})], "1 test row")
    assert one.why_none == "No shares: 1 test row cannot tell a decision from chance."


def test_a_model_without_weights_has_no_shares() -> None:
    case = case_of(FIGURE_1)
    solution = replace(solve(*case.posed), beta=dict.fromkeys(case.spn.products, 0.0))
    cross, y = cross_of(case, 5)
    parts = decision_parts(solution, cross, y, case.kernels, views={"v": ("K1",)}, paths=case.spn.paths())
    assert not parts.total.any()
    assert not any(part.any() for part in (*parts.nodes.values(), *parts.views.values(), *parts.paths.values()))
    assert not HeldOutShares.of_parts([parts], "5 test rows").known


def test_noise_under_a_narrow_kernel_has_no_share() -> None:
    """It fits the training rows alone: most of the norm of the decision, and nothing of the decision elsewhere."""
    rng = np.random.default_rng(3)
    x, noise = rng.normal(size=240), rng.normal(size=(240, 6))
    y = np.sign(x + 0.3 * rng.normal(size=240)).astype(int)
    distance = ((noise[:, None] - noise[None]) ** 2).sum(axis=2)
    K = {"K0": np.outer(x, x) / (x**2).mean() / 4, "K1": np.exp(-10 * distance)}
    train, test = np.arange(120), np.arange(120, 240)
    kernels = {v: np.ascontiguousarray(M[np.ix_(train, train)]) for v, M in K.items()}
    spn = case_of(flat(2)).spn
    solution = solve(spn, kernels, y[train], C=10.0)
    parts = decision_parts(solution, {v: M[np.ix_(test, train)] for v, M in K.items()}, y[test], kernels)
    shares = HeldOutShares.of_parts([parts], "120 test rows")
    assert solution.beta["P1"] > 0.1 * solution.beta["P0"]
    assert abs(shares.nodes["K1"].share) < 0.02
    assert shares.nodes["K0"].share == pytest.approx(1, abs=0.02)


def test_labels_must_be_known_and_one_for_every_row() -> None:
    case = case_of(FIGURE_1)
    solution = solve(*case.posed)
    cross, y = cross_of(case, 5)
    with pytest.raises(DataError, match=r"^There are 5 held-out rows, but labels of shape \(4,\); give one for every"):
        decision_parts(solution, cross, y[:4], case.kernels)
    with pytest.raises(DataError, match=r"which no training row has; leave such rows out\.$"):
        decision_parts(solution, cross, np.full(5, 7), case.kernels)
    with pytest.raises(KernelError, match=r"^The kernel matrices have 5 rows, but the solution is over 30 samples"):
        decision_parts(solution, cross, y, MatrixSource(cross))


@pytest.mark.parametrize("wrong", [{"n": math.inf}, {"total": 10**400}, {"folds": "many"}, {"nodes": []}])
def test_stored_shares_that_are_none_are_refused_in_one_way(wrong: dict[str, object]) -> None:
    stored = HeldOutShares("3 rows", 3, 1, 1.0, 0.1, {}, {}, {}).to_dict()
    with pytest.raises(ValueError, match="the held-out shares cannot be read"):
        HeldOutShares.from_dict({**stored, **wrong})
