"""The oracles against cases small enough for a hand, scikit-learn, and each other."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray
from oracles import (
    Array,
    Structure,
    block_norm_mkl,
    combined_kernel,
    enumerate_paths,
    gradient_J,
    group_lasso_mkl,
    lq_norm_mkl,
    node_p,
    objective_J,
    path_counts,
    path_kernels,
    path_matrix,
    path_weights,
    product_ids,
    sign_rows,
    smallest_C,
    solve_conic,
    solve_conic_dual,
    solve_svms,
)
from random_structures import random_kernels, random_labels, random_structure, structures
from sklearn.svm import SVC


def drawn(edges: str, p: float = 1) -> Structure:
    """'S1>P1 P2, P1>K1' as a structure: the first letter of an id is its kind."""
    pairs = [[parent, child] for part in edges.split(", ") for parent, child in _pairs(part)]
    ids = dict.fromkeys(node for pair in pairs for node in pair)
    kinds = {"S": "sum", "P": "product", "K": "kernel"}
    nodes = [{"id": i, "kind": kinds[i[0]], **({"p": p} if i[0] == "P" else {})} for i in ids]
    return {"format": "spnmkl/structure", "version": 1, "nodes": nodes, "edges": pairs}


def _pairs(part: str) -> list[tuple[str, str]]:
    parent, children = part.split(">")
    return [(parent, child) for child in children.split()]


def flat(n_kernels: int, p: float = 1) -> Structure:
    leaves = ", ".join(f"P{i}>K{i}" for i in range(n_kernels))
    return drawn("S>" + " ".join(f"P{i}" for i in range(n_kernels)) + ", " + leaves, p)


FIGURE_1 = drawn(
    "S0>P8 P9, P8>S1, S1>P1 P2, P9>S2 S3, S2>P3 P4, S3>P5 P6 P7, P1>K1, P2>K2, P3>K3, P4>K4, P5>K5, P6>K6, P7>K7"
)


def exponents_of(structure: Structure) -> dict[tuple[str, ...], dict[str, Fraction]]:
    return {path.leaves: path.exponents for path in enumerate_paths(structure)}


def test_paths_of_figure_1() -> None:
    exponents = exponents_of(FIGURE_1)
    assert len(exponents) == 8
    assert exponents["K2",] == {"P8": Fraction(1, 2), "P2": Fraction(1, 2)}
    assert exponents["K4", "K6"] == {"P9": Fraction(1, 2), "P4": Fraction(1, 4), "P6": Fraction(1, 4)}


def test_a_shared_sum_met_twice_chooses_twice() -> None:
    # P0, P1 and P2 lie in one layer; the two occurrences below S1 make up the next.
    paths = enumerate_paths(drawn("S0>P0, P0>P1 P2, P1>S1, P2>S1 K0, S1>P3 P4, P3>K3, P4>K4"))
    upper = dict.fromkeys(["P0", "P1", "P2"], Fraction(1, 6))
    mixed = {**upper, "P3": Fraction(1, 4), "P4": Fraction(1, 4)}
    assert [path.leaves for path in paths].count(("K0", "K3", "K4")) == 2
    assert sorted((path.leaves, sorted(path.exponents.items())) for path in paths) == sorted(
        (leaves, sorted(exponents.items()))
        for leaves, exponents in [
            (("K0", "K3", "K3"), {**upper, "P3": Fraction(1, 2)}),
            (("K0", "K3", "K4"), mixed),
            (("K0", "K3", "K4"), mixed),
            (("K0", "K4", "K4"), {**upper, "P4": Fraction(1, 2)}),
        ]
    )


def test_branches_of_different_depth_share_the_deepest_path() -> None:
    # One branch ends in layer 2, the other in layer 3: layer 2 holds two products, layer 3 one.
    exponents = exponents_of(drawn("S0>P0 P9, P9>K9, P0>S1 S2, S1>P1, P1>K1, S2>P2, P2>S3, S3>P3, P3>K3"))
    sixth, third = Fraction(1, 6), Fraction(1, 3)
    assert exponents == {
        ("K1", "K3"): {"P0": third, "P1": sixth, "P2": sixth, "P3": third},
        ("K9",): {"P9": Fraction(1)},
    }


def test_a_product_on_two_layers_of_a_path_collects_both_exponents() -> None:
    # P1 lies under one sum through S1 and under two through P2 > S2.
    (path,) = enumerate_paths(drawn("P0>S1 S3, S1>P1, S3>P2, P2>S2, S2>P1, P1>K1"))
    assert path.leaves == ("K1", "K1")
    assert path.exponents == {
        "P0": Fraction(1, 3),
        "P1": Fraction(1, 6) + Fraction(1, 3),
        "P2": Fraction(1, 6),
    }


def test_a_product_root_reads_as_if_a_sum_stood_above_it() -> None:
    below = "P0>S1 K0, S1>P1 P2, P1>K1, P2>K2"
    assert exponents_of(drawn(below)) == exponents_of(drawn("S0>P0, " + below))


def evaluated(structure: Structure, kernels: dict[str, Array], node: str) -> Array:
    """The drawing read bottom-up with every weight 1."""
    below = [evaluated(structure, kernels, child) for parent, child in structure["edges"] if parent == node]
    kind = next(n["kind"] for n in structure["nodes"] if n["id"] == node)
    if kind == "kernel":
        return kernels[node]
    return np.sum(below, axis=0) if kind == "sum" else np.prod(below, axis=0)


@settings(max_examples=50, deadline=None)
@given(structures() | structures(aligned=True))
def test_paths_of_random_structures(structure: Structure) -> None:
    kernels = random_kernels(np.random.default_rng(0), structure, 4)
    E, products, leaves = path_matrix(structure)
    assert all(sum(path.exponents.values()) == 1 for path in enumerate_paths(structure))
    assert 2 <= len(E) == len(leaves) <= 12
    assert sum(path_counts(structure).values()) == pytest.approx(len(E))
    ones = dict.fromkeys(products, 1.0)
    bottom_up = evaluated(structure, kernels, structure["nodes"][0]["id"])
    np.testing.assert_allclose(combined_kernel(structure, kernels, ones), bottom_up, rtol=1e-13, atol=1e-13)


@settings(max_examples=100, deadline=None)
@given(structures(), structures(shared=0.0), structures(aligned=True))
def test_random_structures_are_valid(free: Structure, tree: Structure, even: Structure) -> None:
    for structure in (free, tree, even):
        kind = {node["id"]: node["kind"] for node in structure["nodes"]}
        edges = [tuple(edge) for edge in structure["edges"]]
        assert len(kind) == len(structure["nodes"])
        assert len(set(edges)) == len(edges)
        assert {parent for parent, _ in edges} == {node for node in kind if kind[node] != "kernel"}
        assert {child for _, child in edges} == set(kind) - {structure["nodes"][0]["id"]}
        assert all(kind[child] == "product" for parent, child in edges if kind[parent] == "sum")
    assert len(tree["edges"]) == len(tree["nodes"]) - 1


def test_random_structures_are_varied() -> None:
    drawings = [random_structure(np.random.default_rng(seed)) for seed in range(60)]
    assert {len(enumerate_paths(s)) for s in drawings} >= set(range(2, 9))
    assert any(len(s["edges"]) >= len(s["nodes"]) for s in drawings)
    assert {s["nodes"][0]["kind"] for s in drawings} == {"sum", "product"}


def test_random_kernels_and_labels() -> None:
    rng = np.random.default_rng(0)
    for K in random_kernels(rng, flat(8), 12).values():
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_array_equal(np.diag(K), 1)
        assert np.linalg.eigvalsh(K)[0] > -1e-12
    assert sorted(set(random_labels(rng, 8, 2))) == [-1, 1]
    assert np.bincount(random_labels(rng, 8, 3)).min() >= 2


def small_problem(seed: int, **options: Any) -> tuple[Structure, dict[str, Array], NDArray[np.int64], Array, float]:
    """Structure, kernels, labels, C_i and λ: three classes every third time, unequal C_i every other time."""
    rng = np.random.default_rng(seed)
    structure = random_structure(rng, **options)
    n = 25
    C = 10 ** rng.uniform(-0.5, 1.5) * (rng.uniform(0.3, 3, n) if seed % 2 else np.ones(n))
    kernels = random_kernels(rng, structure, n)
    return structure, kernels, random_labels(rng, n, 3 if seed % 3 == 0 else 2), C, 10 ** rng.uniform(-1, 1)


def some_beta(structure: Structure) -> dict[str, float]:
    rng = np.random.default_rng(0)
    return {v: rng.uniform(0.2, 2) for v in product_ids(structure)}


@pytest.mark.parametrize("seed", range(4))
def test_inner_svm_equals_scikit_learn(seed: int) -> None:
    structure, kernels, y, C, _ = small_problem(seed)
    K = combined_kernel(structure, kernels, some_beta(structure))
    total = 0.0
    for row in sign_rows(y):
        a = np.zeros(len(row))
        svm = SVC(kernel="precomputed", tol=1e-10).fit(K, row, sample_weight=C)
        a[svm.support_] = svm.dual_coef_[0]
        total += np.abs(a).sum() - a @ K @ a / 2
    assert solve_svms(K, y, C)[1] == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_gradient_equals_the_envelope_formula(seed: int) -> None:
    structure, kernels, y, C, lam = small_problem(seed)
    beta, powers = some_beta(structure), node_p(structure)
    a = solve_svms(combined_kernel(structure, kernels, beta), y, C)[0] * sign_rows(y)
    q = np.array([np.sum(a @ K * a) for K in path_kernels(structure, kernels)])
    E, products, _ = path_matrix(structure)
    slopes = E.T @ (path_weights(structure, beta) * q) / 2
    c = path_counts(structure)
    gradient = gradient_J(structure, kernels, y, C, lam, None, beta)
    for v, slope in zip(products, slopes, strict=True):
        penalty = lam * c[v] * powers[v] * beta[v] ** (powers[v] - 1)
        assert gradient[v] == pytest.approx(penalty - slope / beta[v], rel=1e-6, abs=1e-6 * slopes.max())


def test_without_weights_the_classifier_is_constant() -> None:
    structure, kernels, y, _, lam = small_problem(1)
    zero = dict.fromkeys(product_ids(structure), 0.0)
    minority = min(np.unique(y, return_counts=True)[1])
    assert objective_J(structure, kernels, y, 3.0, lam, None, zero) == pytest.approx(6.0 * minority)


@pytest.mark.parametrize("p", [1, 1.5, 2])
def test_one_path_equals_scikit_learn(p: float) -> None:
    rng = np.random.default_rng(5)
    structure = drawn("P0>S1 K0, S1>P1, P1>K1", p)
    kernels, y, C, lam = random_kernels(rng, structure, 30), random_labels(rng, 30), 2.0, 0.5
    K = kernels["K0"] * kernels["K1"]
    result = solve_conic(structure, kernels, y, C, lam)
    g = np.sqrt(result.beta["P0"] * result.beta["P1"])
    svm = SVC(C=g * C, kernel="precomputed", tol=1e-10).fit(K, y)
    # The objective is known to about 1e-8 and flat at its optimum: decisions are known to the root of that.
    np.testing.assert_allclose(result.decision[0], svm.decision_function(K), atol=1e-4)
    w2 = svm.dual_coef_[0] @ K[np.ix_(svm.support_, svm.support_)] @ svm.dual_coef_[0]
    assert list(result.beta.values()) == pytest.approx([(w2 / (2 * lam * p)) ** (1 / (p + 1))] * 2, rel=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_one_layer_p_1_equals_group_lasso(classes: int) -> None:
    rng = np.random.default_rng(classes)
    structure, lam = flat(6), 0.7
    kernels, y = random_kernels(rng, structure, 30), random_labels(rng, 30, classes)
    C = 0.8 * rng.uniform(0.5, 2, 30)
    result, lasso = solve_conic(structure, kernels, y, C, lam), group_lasso_mkl(kernels, y, C, lam)
    assert result.objective == pytest.approx(lasso.objective, rel=1e-8)
    beta = np.array(list(result.beta.values()))
    norms = np.array(list(lasso.norms.values()))
    np.testing.assert_allclose(beta, norms / np.sqrt(2 * lam), atol=1e-5)
    assert 0 < np.sum(beta < 1e-6) < 6
    simple = lq_norm_mkl(kernels, y, beta.sum() * C, q=1)
    np.testing.assert_allclose(list(simple.norms.values()), norms, atol=1e-5)


def test_one_layer_p_2_equals_block_norm_and_kloft() -> None:
    rng = np.random.default_rng(3)
    structure, lam, C = flat(5, p=2), 0.7, 1.5
    kernels, y = random_kernels(rng, structure, 30), random_labels(rng, 30)
    result, block = solve_conic(structure, kernels, y, C, lam), block_norm_mkl(kernels, y, C, lam, p=2)
    assert result.objective == pytest.approx(block.objective, rel=1e-8)
    beta = np.array(list(result.beta.values()))
    norms = np.array(list(block.norms.values()))
    np.testing.assert_allclose(beta, (norms**2 / (4 * lam)) ** (1 / 3), atol=1e-5)
    kloft = lq_norm_mkl(kernels, y, np.linalg.norm(beta) * C, q=2)
    np.testing.assert_allclose(list(kloft.norms.values()), norms, atol=1e-5)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("p_choices", [(1.0,), (1.0, 1.5, 2.0)], ids=["p=1", "mixed p"])
def test_conic_primal_and_dual_meet(seed: int, p_choices: tuple[float, ...]) -> None:
    problem = small_problem(seed, p_choices=p_choices, shared=[0.0, 0.3, 0.6][seed % 3])
    result = solve_conic(*problem)
    assert solve_conic_dual(*problem) == pytest.approx(result.objective, rel=1e-6)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1):
        near = {v: b * np.exp(size * rng.normal()) for v, b in result.beta.items()}
        assert objective_J(*problem, None, near) >= result.objective * (1 - 1e-9)


def test_p_may_be_given() -> None:
    structure, kernels, y, C, lam = small_problem(2)
    everywhere = {**structure, "nodes": [{**node, "p": 2.0} for node in structure["nodes"]]}
    expected = solve_conic(everywhere, kernels, y, C, lam).objective
    for p in (2.0, dict.fromkeys(product_ids(structure), 2.0)):
        assert solve_conic(structure, kernels, y, C, lam, p).objective == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_smallest_C_is_where_weights_appear(seed: int) -> None:
    structure, kernels, y, weights, lam = small_problem(seed, p_choices=(1,))
    C = smallest_C(structure, kernels, y, lam, weights)
    below, above = (solve_conic(structure, kernels, y, f * C * weights, lam) for f in (0.99, 1.01))
    assert max(below.beta.values()) < 1e-6 < 1e-3 < max(above.beta.values())
    constant = sum(min(weights[row > 0].sum(), weights[row < 0].sum()) for row in sign_rows(y)) * 2 * C
    assert below.objective == pytest.approx(0.99 * constant, rel=1e-8)
    assert above.objective < 1.01 * constant * (1 - 1e-5)
