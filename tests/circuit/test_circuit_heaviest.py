"""The heaviest paths against the sorted list of all."""

import numpy as np
import pytest
from cases import FIGURE_1, drawn, product_of_sums
from hypothesis import given, settings
from oracles import Structure, enumerate_paths, path_weights
from random_structures import structures
from tolerances import COMPILED

from spnmkl import SPN
from spnmkl.circuit import compile_circuit
from spnmkl.circuit.heaviest import heaviest_paths

any_structure = structures(max_paths=60) | structures(max_paths=60, aligned=True) | structures(shared=0.0)
quick = settings(max_examples=40, deadline=None, derandomize=True)

Described = tuple[tuple[str, ...], tuple[tuple[str, object], ...]]


@quick
@given(any_structure)
def test_all_paths_in_order(structure: Structure) -> None:
    circuit = compile_circuit(SPN.from_dict(structure))
    beta = np.random.default_rng(0).uniform(0.1, 3, len(circuit.products))
    found = heaviest_paths(circuit, beta, 1000)
    paths = enumerate_paths(structure)
    g = path_weights(structure, dict(zip(circuit.products, beta.tolist(), strict=True)))
    np.testing.assert_allclose([path.g for path in found], np.sort(g)[::-1], rtol=COMPILED)
    np.testing.assert_allclose([path.share for path in found], np.sort(g / g.sum())[::-1], rtol=COMPILED)

    def described(leaves: tuple[str, ...], exponents: object) -> Described:
        return tuple(sorted(leaves)), tuple(sorted(dict(exponents).items()))  # type: ignore[call-overload]

    assert sorted(described(path.leaves, path.exponents) for path in found) == sorted(
        described(path.leaves, path.exponents) for path in paths
    )


@quick
@given(any_structure)
def test_layers_are_those_of_the_path(structure: Structure) -> None:
    spn = SPN.from_dict(structure)
    found = heaviest_paths(compile_circuit(spn), np.ones(len(spn.products)), 1000)

    def described(path: object) -> tuple[object, ...]:
        return tuple(sorted(path.leaves)), tuple(tuple(sorted(layer)) for layer in path.layers)  # type: ignore[attr-defined]

    assert sorted(map(described, found)) == sorted(map(described, spn.paths()))


@quick
@given(any_structure)
def test_few_of_many(structure: Structure) -> None:
    circuit = compile_circuit(SPN.from_dict(structure))
    beta = np.random.default_rng(0).uniform(0.1, 3, len(circuit.products))
    every, some = heaviest_paths(circuit, beta, 1000), heaviest_paths(circuit, beta, 3)
    np.testing.assert_allclose([path.g for path in some], [path.g for path in every[:3]], rtol=COMPILED)
    assert [path.share for path in some] == pytest.approx([path.share for path in every[:3]])


def test_figure_1() -> None:
    circuit = compile_circuit(SPN.from_dict(FIGURE_1))
    beta = np.array([{"P9": 4.0, "P4": 16.0, "P6": 81.0}.get(v, 1.0) for v in circuit.products])
    path = heaviest_paths(circuit, beta, 1)[0]
    assert sorted(path.leaves) == ["K4", "K6"]
    assert path.layers == (("P9",), ("P4", "P6"))
    assert path.g == pytest.approx(2 * 2 * 3)


def test_paths_of_weight_zero_are_left_out() -> None:
    circuit = compile_circuit(SPN.from_dict(FIGURE_1))
    beta = np.array([0.0 if v == "P9" else 1.0 for v in circuit.products])
    assert {path.leaves for path in heaviest_paths(circuit, beta, 100)} == {("K1",), ("K2",)}
    assert heaviest_paths(circuit, np.zeros(len(beta)), 5) == []


def test_equal_products_of_a_shared_sum_are_told_apart() -> None:
    circuit = compile_circuit(SPN.from_dict(drawn("S0>P0, P0>P1 P2, P1>S1, P2>S1 K0, S1>P3 P4, P3>K3, P4>K4")))
    found = heaviest_paths(circuit, np.ones(5), 10)
    assert [tuple(sorted(path.leaves)) for path in found].count(("K0", "K3", "K4")) == 2
    assert sum(path.share for path in found) == pytest.approx(1)


def test_of_10_to_the_30_paths_at_once() -> None:
    circuit = compile_circuit(SPN.from_dict(product_of_sums(30, 10)))
    beta = np.random.default_rng(0).uniform(0.5, 2, len(circuit.products))
    beta[circuit.products.index("P")] = 1.0
    found = heaviest_paths(circuit, beta, 50)
    per_sum = [[beta[circuit.products.index(f"P{d}.{k}")] ** (1 / 60) for k in range(10)] for d in range(30)]
    assert found[0].g == pytest.approx(np.prod([max(weights) for weights in per_sum]))
    # The second best gives way at the one sum where that costs least.
    ratios = [sorted(weights)[-2] / max(weights) for weights in per_sum]
    assert found[1].g == pytest.approx(found[0].g * max(ratios))
    assert len({tuple(sorted(path.leaves)) for path in found}) == 50
    total = np.prod([sum(weights) for weights in per_sum])
    assert found[0].share == pytest.approx(found[0].g / total)
