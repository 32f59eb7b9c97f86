"""Path measures known by their flows alone, against the measures themselves."""

import numpy as np
from cases import FIGURE_1, drawn, flat
from hypothesis import given, settings
from oracles import Array, Structure, path_matrix, path_weights
from random_structures import structures
from tolerances import COMPILED, ROUNDING, SEMIDEFINITE

from spnmkl import SPN
from spnmkl.circuit import Circuit, compile_circuit
from spnmkl.circuit.measure import second_moment

any_structure = structures(max_paths=60) | structures(max_paths=60, aligned=True) | structures(shared=0.0)
quick = settings(max_examples=40, deadline=None, derandomize=True)

# A tree with at most one sum below any product: no two choices that could correlate are made apart.
CHAINS = drawn("S0>P0 P1, P0>S1 K0, S1>P2 P3, P2>K2, P3>S2 K0, S2>P4 P5, P4>K4, P5>K5, P1>K1")


def random_flows(circuit: Circuit) -> tuple[Array, Array]:
    """Flows of the measure Σ g_m(β) over the paths, and β."""
    beta = np.random.default_rng(0).uniform(0.1, 3, len(circuit.products))
    return circuit.flows(circuit.weights(beta)), beta


@quick
@given(any_structure)
def test_second_moment_is_that_of_some_measure(structure: Structure) -> None:
    circuit = compile_circuit(SPN.from_dict(structure))
    flows, _ = random_flows(circuit)
    flows *= np.random.default_rng(1).uniform(0.5, 1, len(flows))  # not even consistent
    M, D = second_moment(circuit, flows), circuit.X.T @ flows
    np.testing.assert_allclose(M, M.T, atol=COMPILED * D.max())
    assert np.linalg.eigvalsh(M)[0] >= -SEMIDEFINITE * D.max()


@quick
@given(any_structure)
def test_what_newton_adds_is_positive_semidefinite(structure: Structure) -> None:
    circuit = compile_circuit(SPN.from_dict(structure))
    flows, _ = random_flows(circuit)
    M, D = second_moment(circuit, flows), circuit.X.T @ flows
    np.testing.assert_allclose(M.sum(axis=1), D, rtol=ROUNDING)
    assert np.linalg.eigvalsh(np.diag(D) - M)[0] >= -SEMIDEFINITE * D.max()


@quick
@given(any_structure)
def test_second_moment_of_independent_choices_is_exact(structure: Structure) -> None:
    # The flows of Σ g_m(β) over the paths themselves are those of independent choices.
    circuit = compile_circuit(SPN.from_dict(structure))
    flows, beta = random_flows(circuit)
    E, g = enumerated(structure, circuit, beta)
    np.testing.assert_allclose(second_moment(circuit, flows), (E.T * g) @ E, atol=ROUNDING * g.sum())


def enumerated(structure: Structure, circuit: Circuit, beta: Array) -> tuple[Array, Array]:
    """E with the circuit's columns, and g_m(β)."""
    E, products, _ = path_matrix(structure)
    g = path_weights(structure, dict(zip(circuit.products, beta.tolist(), strict=True)))
    return E[:, [products.index(v) for v in circuit.products]], g


def test_without_a_product_of_sums_any_measure_is_exact() -> None:
    for structure in (flat(5), CHAINS):
        circuit = compile_circuit(SPN.from_dict(structure))
        E, _ = enumerated(structure, circuit, np.ones(len(circuit.products)))
        w = np.random.default_rng(0).uniform(0, 3, len(E))
        flows = measured_flows(circuit, structure, w)
        np.testing.assert_allclose(second_moment(circuit, flows), (E.T * w) @ E, rtol=ROUNDING)


def measured_flows(circuit: Circuit, structure: Structure, w: Array) -> Array:
    """Σ w_m over the paths through every term, told apart by kernel slots: each path has its own leaves."""
    _, _, leaves = path_matrix(structure)
    flows = np.zeros(circuit.n_terms)
    n_leaves = len(circuit.leaves)
    derived: list[list[tuple[tuple[str, ...], tuple[int, ...]]]] = [[((leaf,), ())] for leaf in circuit.leaves]
    for k in range(circuit.n_operations):
        here = []
        for t in range(circuit.operation_start[k], circuit.operation_start[k + 1]):
            found: list[tuple[tuple[str, ...], tuple[int, ...]]] = [((), (t,))]
            for slot in circuit.arguments[circuit.term_start[t] : circuit.term_start[t + 1]]:
                found = [(l + m, s + u) for l, s in found for m, u in derived[slot]]
            here += found
        derived.append(here)
    assert len(derived) == n_leaves + circuit.n_operations
    weight = {}
    for path, value in zip(leaves, w, strict=True):
        weight.setdefault(path, []).append(value)
    for path, terms in derived[-1]:
        flows[list(terms)] += weight[tuple(sorted(path))].pop()
    return flows


def test_flows_that_vanish_stay_away() -> None:
    circuit = compile_circuit(SPN.from_dict(FIGURE_1))
    beta = np.array([0.0 if v == "P9" else 1.0 for v in circuit.products])
    flows = circuit.flows(circuit.weights(beta))
    assert second_moment(circuit, flows)[circuit.products.index("P3")].sum() == 0
