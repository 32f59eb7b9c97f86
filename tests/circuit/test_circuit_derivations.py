"""The compiled drawing against the list of its paths: counts and exponents, exactly."""

from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from cases import FIGURE_1, drawn, exploding, product_of_sums
from hypothesis import given, settings
from oracles import Structure, combined_kernel, enumerate_paths, product_ids
from random_structures import random_kernels, structures
from tolerances import COMPILED

from spnmkl import SPN, StructureError
from spnmkl.circuit import compile_circuit
from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.program import lower
from spnmkl.circuit.source import MatrixSource
from spnmkl.structure import derivations
from spnmkl.structure.derivations import derive

any_structure = structures(max_paths=60) | structures(max_paths=60, aligned=True) | structures(shared=0.0)
quick = settings(max_examples=60, deadline=None, derandomize=True)

SHARED_SUM_MET_TWICE = drawn("S0>P0, P0>P1 P2, P1>S1, P2>S1 K0, S1>P3 P4, P3>K3, P4>K4")
ONE_PRODUCT_ON_TWO_LAYERS = drawn("P0>S1 S3, S1>P1, S3>P2, P2>S2, S2>P1, P1>K1")
UNALIGNED = drawn("S0>P0 P9, P9>K9, P0>S1 S2, S1>P1 P4, P1>K1, P4>K4, S2>P2, P2>S3, S3>P3 P5, P3>K3, P5>K5")
SINGLE = drawn("P0>K0")


def by_enumeration(structure: Structure) -> dict[str, list[Fraction]]:
    """The exponents of every product on the paths through it."""
    paths = enumerate_paths(structure)
    return {v: [path.exponents[v] for path in paths if v in path.exponents] for v in product_ids(structure)}


def check_exactly(structure: Structure) -> None:
    compiled, exponents = derive(SPN.from_dict(structure)), by_enumeration(structure)
    assert compiled.counts[-1] == len(enumerate_paths(structure))
    assert compiled.total_exponents() == {v: sum(e) for v, e in exponents.items()}
    assert compiled.smallest_exponents() == {v: min(e) for v, e in exponents.items()}


@quick
@given(any_structure)
def test_counts_and_exponents_are_exact(structure: Structure) -> None:
    check_exactly(structure)


@pytest.mark.parametrize(
    "structure", [FIGURE_1, SHARED_SUM_MET_TWICE, ONE_PRODUCT_ON_TWO_LAYERS, UNALIGNED, SINGLE, exploding(4)]
)
def test_counts_and_exponents_of_special_drawings_are_exact(structure: Structure) -> None:
    check_exactly(structure)


@quick
@given(any_structure)
def test_circuit_gives_the_same_numbers_as_the_derivations(structure: Structure) -> None:
    spn = SPN.from_dict(structure)
    circuit, exact = compile_circuit(spn), derive(spn).total_exponents()
    assert circuit.products == spn.products
    np.testing.assert_allclose(circuit.total_exponents(), [float(exact[v]) for v in spn.products], rtol=COMPILED)
    assert circuit.path_weight_total(np.ones(len(spn.products))) == pytest.approx(spn.n_paths, rel=COMPILED)


@quick
@given(any_structure)
def test_components_are_joined_by_shared_paths(structure: Structure) -> None:
    graph = nx.Graph()
    graph.add_nodes_from(product_ids(structure))
    for path in enumerate_paths(structure):
        graph.add_edges_from(combinations(path.exponents, 2))
    compiled = derive(SPN.from_dict(structure))
    parts = compiled.components()
    assert {members for members, _ in parts} == {frozenset(part) for part in nx.connected_components(graph)}
    assert sum(len(terms) for _, terms in parts) == len(compiled.operations[-1])


@quick
@given(any_structure)
def test_least_sum_over_the_paths_that_meet_a_set(structure: Structure) -> None:
    products = product_ids(structure)
    cost = {v: 1.0 + i for i, v in enumerate(products[::2])}
    sums = [
        sum(cost[v] * float(e) for v, e in path.exponents.items() if v in cost)
        for path in enumerate_paths(structure)
        if not cost.keys().isdisjoint(path.exponents)
    ]
    assert derive(SPN.from_dict(structure)).lightest(cost)[0] == pytest.approx(min(sums), rel=COMPILED)


def test_child_order_changes_nothing() -> None:
    turned = {**UNALIGNED, "edges": UNALIGNED["edges"][::-1]}
    left, right = derive(SPN.from_dict(UNALIGNED)), derive(SPN.from_dict(turned))
    assert left.total_exponents() == right.total_exponents()
    assert left.smallest_exponents() == right.smallest_exponents()
    assert len(left.terms) == len(right.terms)


def test_many_paths_cost_no_more_than_the_drawing() -> None:
    spn = SPN.from_dict(product_of_sums(30, 10))
    circuit = compile_circuit(spn)
    assert derive(spn).counts[-1] == spn.n_paths == 10**30
    assert circuit.n_terms == 301
    assert circuit.size == 330
    assert circuit.total_exponents()[0] == pytest.approx(1e30 / 2)


def test_deep_drawings_meet_no_recursion_limit() -> None:
    layers = 520  # sums and products: more than 1,000 nodes deep
    chain = ", ".join(f"P{k}>S{k}, S{k}>P{k + 1}" for k in range(layers))
    spn = SPN.from_dict(drawn(f"{chain}, P{layers}>S K, S>Pa Pb, Pa>Ka, Pb>Kb"))
    exact = derive(spn).total_exponents()
    assert exact["P0"] == Fraction(2, layers + 2)
    assert sum(exact.values()) == spn.n_paths == 2


def test_profiles_that_explode_are_refused() -> None:
    with pytest.raises(StructureError) as refused:
        compile_circuit(SPN.from_dict(exploding(15)))
    assert str(refused.value) == (
        "The structure has more than 1,000 path profiles over 32,768 paths, too many to compile, because the children "
        "of the sums 'S2', 'S3', 'S4', 'S5', 'S6' and others differ in their layers; give the children of each of "
        "these sums the same number of layers, and of products per layer."
    )


def test_profiles_that_explode_at_equal_depth_are_refused() -> None:
    # Sum d offers a kernel, or 2^d products of one layer.
    parts = ["P>" + " ".join(f"S{d}" for d in range(1, 16)), "Pw0>K0"]
    for d in range(1, 16):
        parts.append(f"Pw{d}>Pl{d} Pr{d}, Pl{d}>Pw{d - 1}, Pr{d}>Pw{d - 1}, S{d}>P{d} Pw{d}, P{d}>K{d}")
    with pytest.raises(StructureError, match="the sums 'S1', 'S2', 'S3', 'S4', 'S5' and others differ in their layers"):
        compile_circuit(SPN.from_dict(drawn(", ".join(parts))))


def test_too_many_terms_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivations, "MAX_TERMS", 20)
    with pytest.raises(StructureError) as refused:
        derive(SPN.from_dict(product_of_sums(3, 10)))
    assert str(refused.value) == (
        "The compiled structure would have more than 20 terms; use fewer nodes, or branches of equal depth."
    )


def test_too_many_layers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivations, "MAX_PROFILE_ENTRIES", 10)
    with pytest.raises(StructureError) as refused:
        derive(SPN.from_dict(exploding(4)))
    assert str(refused.value) == (
        "The structure is 5 layers deep, which needs more than 10 profile entries to compile; draw it with fewer "
        "layers."
    )


@pytest.mark.parametrize("structure", [exploding(5), UNALIGNED, FIGURE_1])
def test_few_paths_are_listed_instead(structure: Structure, monkeypatch: pytest.MonkeyPatch) -> None:
    spn, rng = SPN.from_dict(structure), np.random.default_rng(0)
    kernels, beta = random_kernels(rng, structure, 6), rng.uniform(0.2, 2, len(spn.products))
    compiled = compile_circuit(spn)
    monkeypatch.setattr(derivations, "MAX_PROFILES", 1)
    listed = lower(derive(spn), spn.products)
    assert listed.n_operations == 1
    assert listed.n_terms == spn.n_paths
    by_compiling, by_listing = (
        kernel_matrix(circuit, circuit.weights(beta), MatrixSource(kernels), np.empty((6, 6)))
        for circuit in (compiled, listed)
    )
    np.testing.assert_allclose(by_listing, by_compiling, rtol=COMPILED)
    expected = combined_kernel(structure, kernels, dict(zip(spn.products, beta.tolist(), strict=True)))
    np.testing.assert_allclose(by_listing, expected, rtol=COMPILED)
