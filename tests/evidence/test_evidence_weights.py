"""Evidence weights over drawings: slopes, scales, shares and what removing costs, against enumerated paths."""

import numpy as np
import pytest
from cases import FIGURE_1, beta_of, drawn, product_of_sums
from hypothesis import given, settings
from oracles import Array, Structure, combined_kernel, path_counts, path_kernels, path_matrix, path_weights
from random_structures import random_kernels, random_labels, random_structure, structures
from scipy.optimize import minimize
from tolerances import DIFFERENCES, ROUNDING

from spnmkl import SPN, EvidenceSolution, Kernel, ParameterError, Product, Sum, fit_evidence, templates
from spnmkl.circuit import MatrixSource, compile_circuit
from spnmkl.errors import Stopped
from spnmkl.evidence.laplace import laplace
from spnmkl.evidence.rows import sampled
from spnmkl.evidence.search import LARGEST, Search
from spnmkl.kernels import fit_kernels, fit_tiles
from spnmkl.problem import one_vs_rest
from spnmkl.solution import Record

any_structure = structures(max_paths=40) | structures(max_paths=40, aligned=True) | structures(shared=0.0)
quick = settings(max_examples=25, deadline=None, derandomize=True)
SAME_OPTIMUM = 1e-3  # of log evidence: L-BFGS ends at slopes of 1e-4, and may take another way


def searched(structure: Structure, n: int = 30, classes: int = 2) -> tuple[Search, dict[str, float], dict[str, Array]]:
    rng = np.random.default_rng(5)
    spn, kernels, beta = SPN.from_dict(structure), random_kernels(rng, structure, n), beta_of(structure, rng)
    codes = np.unique(random_labels(rng, n, classes), return_inverse=True)[1]
    return Search(spn, compile_circuit(spn), MatrixSource(kernels), one_vs_rest(codes, classes)), beta, kernels


@quick
@given(any_structure)
def test_value_and_slope_equal_those_over_enumerated_paths(structure: Structure) -> None:
    search, beta, kernels = searched(structure, classes=3)
    weights = np.array([beta[v] for v in search.circuit.products])
    found, slope = search.evaluate(weights, 2.0, np.zeros_like(search.Y))
    brute = laplace(combined_kernel(structure, kernels, beta) + 2.0, search.Y, np.zeros_like(search.Y))
    assert found.log_evidence == pytest.approx(brute.log_evidence, rel=ROUNDING)
    E, products, _ = path_matrix(structure)
    per_path = path_weights(structure, beta) * np.array([(brute.G * K).sum() for K in path_kernels(structure, kernels)])
    expected = dict(zip(products, E.T @ per_path, strict=True))
    size = max(1.0, abs(per_path).sum())
    np.testing.assert_allclose(slope[:-1], [expected[v] for v in search.circuit.products], rtol=0, atol=ROUNDING * size)


@pytest.mark.parametrize("seed", range(6))
def test_slope_is_that_of_differences(seed: int) -> None:
    search, beta, _ = searched(random_structure(np.random.default_rng(seed), max_paths=30))
    x, a, e = np.log([beta[v] for v in search.circuit.products]), np.zeros_like(search.Y), 1e-4
    _, slope = search.evaluate(np.exp(x), 1.0, a)
    for v in range(len(x)):
        up, down = (search.evaluate(np.exp(x + s * np.eye(len(x))[v]), 1.0, a)[0].log_evidence for s in (e, -e))
        assert slope[v] == pytest.approx((up - down) / (2 * e), rel=DIFFERENCES, abs=DIFFERENCES)


@quick
@given(any_structure)
def test_of_all_weights_of_one_kernel_the_cheapest_are_given(structure: Structure) -> None:
    """The same path weights; and no cheaper ones along the null space of E, by another optimiser over a full basis."""
    search, beta, _ = searched(structure, n=6)
    E, products, _ = path_matrix(structure)
    cheap = dict(
        zip(
            search.circuit.products,
            search.canonical(np.array([beta[v] for v in search.circuit.products])).tolist(),
            strict=True,
        )
    )
    np.testing.assert_allclose(path_weights(structure, cheap), path_weights(structure, beta), rtol=1e-8)
    c = np.array([path_counts(structure)[v] for v in products])
    _, sizes, V = np.linalg.svd(E, full_matrices=True)
    basis = V[int((sizes > 1e-9 * sizes[0]).sum()) :]
    cost = c * np.array([cheap[v] for v in products])
    np.testing.assert_allclose(basis @ cost, 0.0, atol=1e-5 * cost.sum())
    if len(basis):
        before = c * np.array([beta[v] for v in products])
        least = minimize(lambda z: float((before * np.exp(z @ basis)).sum()), np.zeros(len(basis)), method="BFGS")
        assert cost.sum() <= least.fun * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_paths_of_any_kernel_scale_are_brought_to_one_scale(seed: int) -> None:
    """A drawing in which every kernel has a product of its own; the fit does not depend on how kernels are scaled."""
    rng = np.random.default_rng(seed)
    structure = product_of_sums(2, 2)
    kernels, y = random_kernels(rng, structure, 30), random_labels(rng, 30)
    scaled = {leaf: 10.0 ** rng.integers(-6, 7) * K for leaf, K in kernels.items()}
    spn = SPN.from_dict(structure)
    one, other = (fit_evidence(spn, given, y, starts=1) for given in (kernels, scaled))
    assert other.log_evidence == pytest.approx(one.log_evidence, abs=SAME_OPTIMUM)


def carried_by(structure: Structure, found: EvidenceSolution, kernels: dict[str, Array], node: str) -> float:
    """aᵀKa of the paths through a node."""
    E, products, _ = path_matrix(structure)
    forms = [sum(a @ K @ a for a in found.a) for K in path_kernels(structure, kernels)]
    parts = path_weights(structure, found.beta) * forms
    children = {n["id"]: [b for a, b in structure["edges"] if a == n["id"]] for n in structure["nodes"]}
    if node in products:
        through = E[:, products.index(node)] > 0
    else:  # by its parents, which are products; the root is on all
        parents = [v for v in products if node in children[v]]
        through = E[:, [products.index(v) for v in parents]].any(axis=1) if parents else np.ones(len(E), dtype=bool)
    return float(parts[through].sum() / parts.sum())


@pytest.mark.parametrize("seed", range(6))
def test_shares_are_those_of_the_paths_through_a_node(seed: int) -> None:
    rng = np.random.default_rng(seed)
    structure = random_structure(rng, max_paths=20, shared=0.5)
    kernels, y = random_kernels(rng, structure, 25), random_labels(rng, 25)
    found = fit_evidence(SPN.from_dict(structure), kernels, y, starts=1, max_iter=5)
    for node in found.spn.nodes:
        if found._total > 1e-9:
            assert found.shares[node] == pytest.approx(carried_by(structure, found, kernels, node), abs=1e-7)


def products_and_sums(n: int = 150, seed: int = 3) -> tuple[SPN, dict[str, Array], Array, Array]:
    """Two columns whose product tells the labels, two whose sum might, two of noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(n, 4))
    leaf = [Kernel("rbf", gamma=1.0, features=[k], label=f"x{k}") for k in range(4)]
    again = [Kernel("rbf", gamma=1.0, features=[k], label=f"x{k}") for k in range(2)]
    spn = SPN(
        Sum(
            Product(leaf[0], leaf[1], id="interaction"),
            Product(Sum(Product(again[0]), Product(again[1])), id="sum"),
            Product(Sum(Product(leaf[2]), Product(leaf[3])), id="noise"),
        )
    )
    kernels, _ = fit_kernels(spn, X)
    return spn, kernels, X, rng


def test_evidence_tells_a_product_from_a_sum() -> None:
    """Labels of two processes drawn from either: the branch that made them carries them, the other two cost nothing."""
    spn, kernels, X, rng = products_and_sums()
    g0, g1 = (np.exp(-((X[:, k, None] - X[:, k]) ** 2)) for k in (0, 1))
    for truth, K in {"interaction": g0 * g1, "sum": g0 + g1}.items():
        f = np.linalg.cholesky(K + 1e-8 * np.eye(len(X))) @ rng.normal(size=len(X))
        found = fit_evidence(spn, kernels, f > np.median(f))
        assert found.status == "converged"
        assert found.shares[truth] > 0.8
        assert found.delta(truth) > 5
        assert all(found.delta(v) < 2 for v in ("interaction", "sum", "noise") if v != truth)
        assert found.delta(spn.root) >= found.delta(truth)


def test_removing_costs_what_the_drawing_without_it_lacks() -> None:
    """Against a fit of the drawing that never had the branch."""
    spn, kernels, X, _ = products_and_sums()
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] > 0
    found = fit_evidence(spn, kernels, y)
    drawing = spn.to_dict()
    gone = {"interaction", *spn.children("interaction")}
    drawing["nodes"] = [node for node in drawing["nodes"] if node["id"] not in gone]
    drawing["edges"] = [edge for edge in drawing["edges"] if not gone & set(edge)]
    never = fit_evidence(SPN.from_dict(drawing), kernels, y)
    assert found.delta("interaction") == pytest.approx(found.log_evidence - never.log_evidence, abs=0.1)


def test_order_of_rows_and_children_changes_nothing() -> None:
    rng = np.random.default_rng(0)
    structure = FIGURE_1
    kernels, y = random_kernels(rng, structure, 40), random_labels(rng, 40, 3)
    found = fit_evidence(SPN.from_dict(structure), kernels, y)
    order = rng.permutation(40)
    rows = fit_evidence(
        SPN.from_dict(structure), {leaf: K[np.ix_(order, order)] for leaf, K in kernels.items()}, y[order]
    )
    turned = structure | {"nodes": structure["nodes"][::-1], "edges": structure["edges"][::-1]}
    children = fit_evidence(SPN.from_dict(turned), kernels, y)
    for other in (rows, children):
        assert other.log_evidence == pytest.approx(found.log_evidence, abs=SAME_OPTIMUM)
        for v in found.spn.products:
            assert other.shares[v] == pytest.approx(found.shares[v], abs=0.02)


def test_p_means_nothing() -> None:
    rng = np.random.default_rng(0)
    kernels, y = random_kernels(rng, FIGURE_1, 30), random_labels(rng, 30)
    spn = SPN.from_dict(FIGURE_1)
    raised = spn.to_dict()
    for node in raised["nodes"]:
        if node["kind"] == "product":
            node["p"] = 2.0
    assert fit_evidence(SPN.from_dict(raised), kernels, y).beta == fit_evidence(spn, kernels, y).beta


def test_hopeless_labels_leave_little_more_than_a_constant() -> None:
    """Coin flips, and rows that come twice with both labels: finite, and hardly better than the constant alone."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    for rows, y in ((X, rng.integers(0, 2, 60)), (np.repeat(X[:30], 2, axis=0), np.tile([0, 1], 30))):
        spn = templates.flat([0, 1, 2])
        kernels, _ = fit_kernels(spn, rows)
        found = fit_evidence(spn, kernels, y)
        assert np.isfinite(found.log_evidence)
        assert -0.1 < found.delta(spn.root) < 3
        assert np.isfinite(list(found.shares.values())).all()


def test_labels_told_by_one_kernel_reach_the_largest_weight_and_stay_finite() -> None:
    X = np.linspace(-1, 1, 40)[:, None]
    spn = SPN(Product(Kernel("linear")))
    kernels, _ = fit_kernels(spn, X)
    found = fit_evidence(spn, kernels, X[:, 0] > 0)
    scale = np.mean(np.diagonal(kernels["k1"]))
    assert found.beta["p1"] * scale == pytest.approx(np.exp(LARGEST), rel=1e-6)


def test_light_weights_are_zero_and_so_is_what_stands_on_no_path() -> None:
    spn, kernels, X, _ = products_and_sums(200)
    found = fit_evidence(spn, kernels, np.sin(2 * X[:, 0]) * np.cos(1.5 * X[:, 1]) > 0)
    circuit = compile_circuit(spn)
    beta = np.array([found.beta[v] for v in circuit.products])
    met = np.asarray(circuit.restricted(beta > 0).X.sum(axis=0)).ravel() > 0
    np.testing.assert_array_equal(beta > 0, met)
    assert 0 in beta
    assert all(found.delta(v) == 0 for v in spn.products if found.beta[v] == 0)


def test_decision_is_the_mean_of_the_process_over_the_rows_used() -> None:
    spn, kernels, X, _ = products_and_sums(120)
    y = np.where(X[:, 0] * X[:, 1] > 0, "yes", "no")
    found = fit_evidence(spn, kernels, y, max_rows=80)
    assert len(found.rows) == 80 and not found.a[:, np.setdiff1d(np.arange(120), found.rows)].any()
    K = combined_kernel(spn.to_dict(), kernels, found.beta) + found.constant
    np.testing.assert_allclose(found.decision_function(kernels), K @ found.a[0], rtol=1e-8, atol=1e-8)
    assert (found.predict(kernels) == y).mean() > 0.9
    assert found.decision_function({leaf: K[:0] for leaf, K in kernels.items()}).shape == (0,)


def test_tiles_give_what_matrices_give() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y, spn = (X[:, 0] * X[:, 1] > 0), templates.product_of_sums({"a": [0, 1], "b": [1, 2]})
    whole = fit_evidence(spn, fit_kernels(spn, X)[0], y, max_rows=60)
    tiles = fit_evidence(spn, fit_tiles(spn, X)[0], y, max_rows=60)
    np.testing.assert_array_equal(tiles.rows, whole.rows)
    assert tiles.log_evidence == pytest.approx(whole.log_evidence, abs=SAME_OPTIMUM)


def test_a_sample_of_the_rows_has_every_class_and_its_share() -> None:
    codes = np.repeat([0, 1, 2, 3], [600, 300, 97, 3])
    rows = sampled(codes, 100, np.random.default_rng(0))
    np.testing.assert_array_equal(np.bincount(codes[rows]), [60, 30, 9, 2])  # a class of 3 keeps 2
    np.testing.assert_array_equal(rows, np.unique(rows))
    np.testing.assert_array_equal(sampled(codes, 1000, np.random.default_rng(0)), np.arange(1000))


def test_history_rises_and_callback_and_stop_end_it() -> None:
    spn, kernels, X, _ = products_and_sums(80)
    y, told = X[:, 0] * X[:, 1] > 0, list[Record]()
    found = fit_evidence(spn, kernels, y, starts=1, callback=told.append)
    assert tuple(told) == found.history and {record.method for record in told} == {"evidence"}
    values = [-record.objective for record in told]
    assert values == sorted(values) and values[-1] == pytest.approx(found.log_evidence, abs=0.011)
    stopped = fit_evidence(spn, kernels, y, starts=1, callback=lambda record: record.iteration < 3)
    assert (stopped.status, len(stopped.history)) == ("interrupted", 3)
    assert stopped.log_evidence == -stopped.history[-1].objective
    at_once = fit_evidence(spn, kernels, y, stop=lambda: True)
    assert at_once.status == "interrupted" and not at_once.history and at_once.log_evidence == -np.inf
    assert fit_evidence(spn, kernels, y, max_time=1e-9).status == "time_limit"
    with pytest.raises(Stopped):
        found.delta("interaction", stop=lambda: True)


def test_several_starts_are_never_worse_than_the_first_and_the_seed_decides() -> None:
    structure = drawn("S>P1 P2 P3, P1>K1 K2, P2>S2, S2>P4 P5, P4>K3, P5>K4, P3>K5")
    rng = np.random.default_rng(1)
    kernels, y = random_kernels(rng, structure, 60), random_labels(rng, 60)
    spn = SPN.from_dict(structure)
    several, again = (fit_evidence(spn, kernels, y, starts=4) for _ in range(2))
    assert several.beta == again.beta
    assert several.log_evidence >= fit_evidence(spn, kernels, y, starts=1).log_evidence - 0.02


def test_a_start_leads_to_the_same_place_in_fewer_steps() -> None:
    spn, kernels, X, _ = products_and_sums(80)
    y = X[:, 0] * X[:, 1] > 0
    cold = fit_evidence(spn, kernels, y)
    warm = fit_evidence(spn, kernels, y, start=cold.beta, starts=1)
    assert warm.log_evidence >= cold.log_evidence - 0.02  # what may be lost by setting light weights to 0
    assert len(warm.history) < len(cold.history)


def test_errors_name_what_is_wrong() -> None:
    spn, kernels, X, _ = products_and_sums(30)
    y = X[:, 0] > 0
    with pytest.raises(ParameterError, match="starts must be a whole number of at least 1"):
        fit_evidence(spn, kernels, y, starts=0)
    with pytest.raises(ParameterError, match="max_iter must be a whole number"):
        fit_evidence(spn, kernels, y, max_iter=None)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="has no weight"):
        fit_evidence(spn, kernels, y, start={})
    with pytest.raises(ParameterError, match="no node 'nothing'"):
        fit_evidence(spn, kernels, y, max_iter=2).delta("nothing")
