"""The circuit on kernel entries against sums over enumerated paths."""

from collections.abc import Iterator

import numpy as np
import pytest
from cases import FIGURE_1, beta_of, drawn, product_of_sums
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Array, Structure, combined_kernel, path_kernels, path_matrix, path_weights
from random_structures import random_kernels, random_structure, structures
from tolerances import COMPILED, DIFFERENCES, ROUNDING, SINGLE_PRECISION

from spnmkl import SPN
from spnmkl.circuit import Circuit, MatrixSource, blocks, compile_circuit
from spnmkl.circuit.entries import SEGMENT
from spnmkl.circuit.evaluate import (
    apply_kernel,
    apply_to_samples,
    kernel_matrix,
    term_contractions,
    term_quadratics,
    term_responses,
)

any_structure = structures(max_paths=60) | structures(max_paths=60, aligned=True) | structures(shared=0.0)
MANY = 7  # classes, whose responses are products of matrices
quick = settings(max_examples=40, deadline=None, derandomize=True)


@pytest.fixture
def threads_on_any_size(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(blocks, "_WORTH_LANES", 0)
    monkeypatch.setattr(blocks, "_LANE_WORK", 1)
    yield


def posed(
    structure: Structure, n: int, seed: int = 0, zeros: bool = False
) -> tuple[Circuit, Array, dict[str, Array], Array]:
    """Circuit, β, kernels and the brute-force K(β)."""
    rng = np.random.default_rng(seed)
    spn, kernels, beta = SPN.from_dict(structure), random_kernels(rng, structure, n), beta_of(structure, rng)
    if zeros:
        beta = {v: b if i % 3 else 0.0 for i, (v, b) in enumerate(beta.items())}
    weights = np.array([beta[v] for v in spn.products])
    return compile_circuit(spn), weights, kernels, combined_kernel(structure, kernels, beta)


def evaluated(circuit: Circuit, beta: Array, kernels: dict[str, Array], n_threads: int = 1) -> Array:
    n = len(next(iter(kernels.values())))
    return kernel_matrix(circuit, circuit.weights(beta), MatrixSource(kernels), np.full((n, n), np.nan), n_threads)


def assert_equal(actual: Array, expected: Array) -> None:
    np.testing.assert_allclose(actual, expected, rtol=0, atol=COMPILED * max(1.0, np.abs(expected).max()))


@quick
@given(any_structure)
def test_kernel_equals_enumeration(structure: Structure) -> None:
    circuit, beta, kernels, expected = posed(structure, 7)
    assert_equal(evaluated(circuit, beta, kernels), expected)


@quick
@given(any_structure)
def test_kernel_with_zero_weights_equals_enumeration(structure: Structure) -> None:
    circuit, beta, kernels, expected = posed(structure, 7, zeros=True)
    assert_equal(evaluated(circuit, beta, kernels), expected)


@quick
@given(any_structure)
def test_restricted_circuit_gives_the_same_kernel_with_fewer_operations(structure: Structure) -> None:
    circuit, beta, kernels, expected = posed(structure, 7, zeros=True)
    alive = circuit.restricted(beta > 0)
    assert_equal(evaluated(alive, beta, kernels), expected)
    assert alive.size < circuit.size
    assert set(alive.leaves) <= set(circuit.leaves)
    np.testing.assert_array_equal(alive.X.toarray(), circuit.X.toarray()[alive.terms])
    assert alive.restricted(beta > 0).size == alive.size
    assert alive.path_weight_total(beta) == pytest.approx(circuit.path_weight_total(beta), rel=COMPILED)


def test_a_restriction_is_made_once_and_few_are_kept() -> None:
    circuit, beta, _, _ = posed(FIGURE_1, 5)
    everything = np.ones(len(beta), dtype=bool)
    assert circuit.restricted(everything) is circuit
    without = [np.arange(len(beta)) != v for v in range(len(beta))]
    assert circuit.restricted(without[0]) is circuit.restricted(without[0])
    for alive in without:
        np.testing.assert_array_equal(circuit.restricted(alive).X.toarray()[:, ~alive], 0.0)
    assert len(circuit._restrictions) <= 4


def test_nothing_is_left_when_all_weights_are_zero() -> None:
    circuit, beta, kernels, _ = posed(FIGURE_1, 5)
    nothing = circuit.restricted(np.zeros(len(beta), dtype=bool))
    assert (nothing.size, nothing.n_terms, nothing.leaves) == (0, 0, ())
    assert not evaluated(nothing, beta, kernels).any()
    assert nothing.restricted(beta > 0).size == 0


def test_restriction_takes_out_exactly_the_paths_through_a_product() -> None:
    circuit, beta, _, _ = posed(FIGURE_1, 5)
    left = circuit.restricted(np.array([v != "P9" for v in circuit.products]))
    assert left.leaves == ("K1", "K2")
    assert left.path_weight_total(np.ones(len(beta))) == 2


@pytest.mark.usefixtures("threads_on_any_size")
@pytest.mark.parametrize("classes", [2, MANY])
@pytest.mark.parametrize("seed", range(3))
def test_threads_give_the_same_bits(seed: int, classes: int) -> None:
    structure = random_structure(np.random.default_rng(seed), max_paths=60)
    circuit, beta, kernels, expected = posed(structure, 70, seed)
    one, two = (evaluated(circuit, beta, kernels, threads) for threads in (1, 2))
    assert_equal(one, expected)
    np.testing.assert_array_equal(two, one)
    W, A = circuit.weights(beta), np.random.default_rng(seed).normal(size=(classes, 70))
    for compute in (term_responses, term_quadratics, apply_kernel, apply_to_samples):
        one, two, many = (compute(circuit, W, MatrixSource(kernels), A, threads) for threads in (1, 2, 5))
        np.testing.assert_array_equal(two, one)
        np.testing.assert_array_equal(many, one)
    one, many = (term_contractions(circuit, W, MatrixSource(kernels), A.T @ A, threads) for threads in (1, 5))
    np.testing.assert_array_equal(many, one)


@quick
@given(any_structure)
def test_contractions_with_any_symmetric_matrix_equal_enumeration(structure: Structure) -> None:
    circuit, beta, kernels, _ = posed(structure, 9)
    G = np.random.default_rng(1).normal(size=(9, 9))
    G += G.T
    W = circuit.weights(beta)
    E, products, _ = path_matrix(structure)
    carried = path_weights(structure, dict(zip(circuit.products, beta, strict=True))) * np.array(
        [(G * K).sum() for K in path_kernels(structure, kernels)]
    )
    found = dict(
        zip(circuit.products, circuit.X.T @ (W * term_contractions(circuit, W, MatrixSource(kernels), G)), strict=True)
    )
    expected = E.T @ carried
    np.testing.assert_allclose(
        [found[v] for v in products], expected, rtol=0, atol=COMPILED * max(1, abs(carried).sum())
    )


def test_contractions_over_rows_longer_than_a_segment() -> None:
    """Against the quadratic forms, which have loops of their own; with weights of zero among the terms."""
    circuit, beta, kernels, _ = posed(product_of_sums(2, 3), SEGMENT + 70, zeros=True)
    A, W = np.random.default_rng(2).normal(size=(3, SEGMENT + 70)), circuit.weights(beta)
    expected = term_quadratics(circuit, W, MatrixSource(kernels), A)
    found = term_contractions(circuit, W, MatrixSource(kernels), A.T @ A)
    np.testing.assert_allclose(found, expected, rtol=0, atol=COMPILED * abs(expected).max())


@pytest.mark.parametrize("classes", [1, 2, MANY])
@pytest.mark.parametrize("n", [SEGMENT - 1, SEGMENT, SEGMENT + 3])
def test_rows_longer_than_a_segment(n: int, classes: int) -> None:
    structure = drawn("S0>P0 P1 P2 P3 P4 P5, P0>S1 S2, S1>P6 P7, S2>P8, P1>K1, P2>K2, P3>K1, P4>K2, P5>K1 K2 K3, "
                      "P6>K1, P7>K2, P8>K3")  # fmt: skip
    circuit, beta, kernels, expected = posed(structure, n)
    assert_equal(evaluated(circuit, beta, kernels, n_threads=2), expected)
    A, source = np.random.default_rng(0).normal(size=(classes, n)), MatrixSource(kernels)
    A[:, ::3] = 0.0
    for apply in (apply_kernel, apply_to_samples):
        assert_equal(apply(circuit, circuit.weights(beta), source, A, 2), A @ expected)
    half = W_derivatives(circuit, beta, kernels, A, n_threads=2)
    np.testing.assert_allclose(half, log_derivatives(structure, kernels, circuit, beta, A), rtol=ROUNDING)


def W_derivatives(circuit: Circuit, beta: Array, kernels: dict[str, Array], A: Array, n_threads: int = 1) -> Array:
    """∂(Σ_c a_cᵀ K a_c)/∂log β_v from the responses of the terms."""
    W = circuit.weights(beta)
    R = term_responses(circuit, W, MatrixSource(kernels), A, n_threads)
    q = term_quadratics(circuit, W, MatrixSource(kernels), A, n_threads)
    np.testing.assert_allclose(q, np.einsum("tcn,cn->t", R, A), rtol=ROUNDING, atol=ROUNDING)
    return circuit.X.T @ (W * q)


def log_derivatives(structure: Structure, kernels: dict[str, Array], circuit: Circuit, beta: Array, A: Array) -> Array:
    """The same from the paths: Σ_m e_mv g_m q_m."""
    E, products, _ = path_matrix(structure)
    g = path_weights(structure, dict(zip(circuit.products, beta.tolist(), strict=True)))
    q = np.array([np.sum((A @ K) * A) for K in path_kernels(structure, kernels)])
    slopes = dict(zip(products, E.T @ (g * q), strict=True))
    return np.array([slopes[v] for v in circuit.products])


@quick
@given(any_structure, st.sampled_from([1, 2, MANY]))
def test_term_responses_give_the_gradient(structure: Structure, classes: int) -> None:
    circuit, beta, kernels, _ = posed(structure, 7)
    A = np.random.default_rng(1).normal(size=(classes, 7))
    gradient = W_derivatives(circuit, beta, kernels, A)
    assert_equal(gradient, log_derivatives(structure, kernels, circuit, beta, A))

    def value(log_beta: Array) -> float:
        return float(np.sum((A @ evaluated(circuit, np.exp(log_beta), kernels)) * A))

    for v in range(len(beta)):
        step = 1e-5 * (np.arange(len(beta)) == v)
        difference = (value(np.log(beta) + step) - value(np.log(beta) - step)) / 2e-5
        assert difference == pytest.approx(gradient[v], abs=DIFFERENCES * max(1.0, abs(gradient).max()))


@quick
@given(any_structure)
def test_gradient_passes_through_sums_that_are_zero(structure: Structure) -> None:
    # Prefix and suffix products, never a division.
    circuit, beta, kernels, _ = posed(structure, 6)
    for K in list(kernels.values())[::2]:
        K[:] = 0.0
    A = np.random.default_rng(1).normal(size=(1, 6))
    assert_equal(W_derivatives(circuit, beta, kernels, A), log_derivatives(structure, kernels, circuit, beta, A))


def test_responses_per_row() -> None:
    circuit, beta, kernels, _ = posed(FIGURE_1, 9)
    A = np.random.default_rng(0).normal(size=(1, 9))
    W = circuit.weights(beta)
    R = term_responses(circuit, W, MatrixSource(kernels), A)[:, 0]
    for t in range(circuit.n_terms):
        step = 1e-6 * (np.arange(circuit.n_terms) == t)
        high, low = (
            kernel_matrix(circuit, W + sign * step, MatrixSource(kernels), np.empty((9, 9))) for sign in (1, -1)
        )
        np.testing.assert_allclose(R[t], (high - low) @ A[0] / 2e-6, atol=DIFFERENCES)


def test_rectangular_kernels() -> None:
    circuit, beta, kernels, expected = posed(FIGURE_1, 12)
    A = np.random.default_rng(0).normal(size=(3, 12))
    cross = MatrixSource({leaf: K[:5] for leaf, K in kernels.items()})
    assert_equal(apply_kernel(circuit, circuit.weights(beta), cross, A), (expected[:5] @ A.T).T)


def test_many_paths_are_evaluated_at_once() -> None:
    structure = product_of_sums(30, 10)
    spn = SPN.from_dict(structure)
    circuit, rng = compile_circuit(spn), np.random.default_rng(0)
    kernels = {leaf: np.full((3, 3), float(rng.uniform(0.5, 1))) for leaf in spn.kernels}
    beta = beta_of(structure, rng)
    expected = beta["P"] ** 0.5
    for d in range(30):
        expected *= sum(beta[f"P{d}.{k}"] ** (1 / 60) * kernels[f"K{d}.{k}"][0, 0] for k in range(10))
    K = evaluated(circuit, np.array([beta[v] for v in circuit.products]), kernels)
    np.testing.assert_allclose(K, expected, rtol=COMPILED)


def test_kernels_are_read_where_they_lie_and_not_changed() -> None:
    circuit, beta, kernels, _ = posed(FIGURE_1, 8)
    before = {leaf: K.copy() for leaf, K in kernels.items()}
    source = MatrixSource(kernels)
    assert all(source.matrices[leaf] is K for leaf, K in kernels.items())
    W, A = circuit.weights(beta), np.ones((1, 8))
    evaluated(circuit, beta, kernels)
    term_responses(circuit, W, source, A)
    apply_kernel(circuit, W, source, A)
    assert all(np.array_equal(before[leaf], K) for leaf, K in kernels.items())


def test_sources_of_other_types_and_orders() -> None:
    circuit, beta, kernels, expected = posed(FIGURE_1, 8)
    turned = {leaf: np.asfortranarray(K) for leaf, K in kernels.items()}
    assert_equal(evaluated(circuit, beta, turned), expected)
    single = {leaf: K.astype(np.float32) for leaf, K in kernels.items()}
    np.testing.assert_allclose(evaluated(circuit, beta, single), expected, atol=SINGLE_PRECISION)
