"""The heaviest paths against the sorted list of all."""

from collections import Counter

import numpy as np
import pytest
from cases import FIGURE_1, beta_of, drawn, exploding, product_of_sums
from hypothesis import given, settings
from oracles import Structure, enumerate_paths, path_weights
from random_structures import structures
from tolerances import COMPILED

from spnmkl import SPN
from spnmkl.circuit.heaviest import heaviest_paths
from spnmkl.structure import Path
from spnmkl.structure.paths import drawn_path

any_structure = structures(max_paths=60) | structures(max_paths=60, aligned=True) | structures(shared=0.0)
quick = settings(max_examples=40, deadline=None, derandomize=True)

Described = tuple[tuple[str, ...], tuple[tuple[str, object], ...]]


@quick
@given(any_structure)
def test_all_paths_in_order(structure: Structure) -> None:
    beta = beta_of(structure, np.random.default_rng(0))
    found = heaviest_paths(SPN.from_dict(structure), beta, 1000)
    paths = enumerate_paths(structure)
    g = path_weights(structure, beta)
    np.testing.assert_allclose([path.g for path in found], np.sort(g)[::-1], rtol=COMPILED)
    np.testing.assert_allclose([path.share for path in found], np.sort(g / g.sum())[::-1], rtol=COMPILED)

    def described(leaves: tuple[str, ...], exponents: object) -> Described:
        return tuple(sorted(leaves)), tuple(sorted(dict(exponents).items()))  # type: ignore[call-overload]

    assert sorted(described(path.leaves, path.exponents) for path in found) == sorted(
        described(path.leaves, path.exponents) for path in paths
    )


@settings(quick, max_examples=200)
@given(any_structure | structures(max_paths=60, shared=0.6))
def test_nodes_are_visited_in_the_order_of_the_drawing(structure: Structure) -> None:
    spn = SPN.from_dict(structure)
    found = [path.path for path in heaviest_paths(spn, dict.fromkeys(spn.products, 1.0), 1000)]
    assert Counter(found) == Counter(spn.paths())
    assert Counter(drawn_path(spn, path) for path in found) == Counter(drawn_path(spn, path) for path in spn.paths())


def test_the_order_of_nodes_where_paths_are_listed_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spnmkl.structure.derivations.MAX_PROFILES", 4)
    spn = SPN.from_dict(exploding(4))
    found = [path.path for path in heaviest_paths(spn, dict.fromkeys(spn.products, 1.0), 1000)]
    assert len(found) == spn.n_paths == 16
    assert Counter(found) == Counter(spn.paths())


def test_a_choice_after_a_sum_without_one() -> None:
    """Inside one term of the circuit, P3 comes after the choice of S1, P0 before it."""
    spn = SPN.from_dict(drawn("P0>S1 S2, S1>P1 P2, P1>K1, P2>K2, S2>P3, P3>K3"))
    found = heaviest_paths(spn, {"P0": 1.0, "P1": 1.0, "P2": 2.0, "P3": 1.0}, 1)[0]
    assert found.path == Path(("K2", "K3"), (("P0",), ("P2", "P3")))


@quick
@given(any_structure)
def test_few_of_many(structure: Structure) -> None:
    spn = SPN.from_dict(structure)
    beta = beta_of(structure, np.random.default_rng(0))
    every, some = heaviest_paths(spn, beta, 1000), heaviest_paths(spn, beta, 3)
    np.testing.assert_allclose([path.g for path in some], [path.g for path in every[:3]], rtol=COMPILED)
    assert [path.share for path in some] == pytest.approx([path.share for path in every[:3]])


def test_figure_1() -> None:
    spn = SPN.from_dict(FIGURE_1)
    beta = dict.fromkeys(spn.products, 1.0) | {"P9": 4.0, "P4": 16.0, "P6": 81.0}
    path = heaviest_paths(spn, beta, 1)[0]
    assert sorted(path.leaves) == ["K4", "K6"]
    assert path.layers == (("P9",), ("P4", "P6"))
    assert path.g == pytest.approx(2 * 2 * 3)


def test_paths_of_weight_zero_are_left_out() -> None:
    spn = SPN.from_dict(FIGURE_1)
    beta = dict.fromkeys(spn.products, 1.0) | {"P9": 0.0}
    assert {path.leaves for path in heaviest_paths(spn, beta, 100)} == {("K1",), ("K2",)}
    assert heaviest_paths(spn, dict.fromkeys(beta, 0.0), 5) == []


def test_equal_products_of_a_shared_sum_are_told_apart() -> None:
    spn = SPN.from_dict(drawn("S0>P0, P0>P1 P2, P1>S1, P2>S1 K0, S1>P3 P4, P3>K3, P4>K4"))
    found = heaviest_paths(spn, dict.fromkeys(spn.products, 1.0), 10)
    assert [tuple(sorted(path.leaves)) for path in found].count(("K0", "K3", "K4")) == 2
    assert sum(path.share for path in found) == pytest.approx(1)


def test_of_10_to_the_30_paths_at_once() -> None:
    structure = product_of_sums(30, 10)
    beta = beta_of(structure, np.random.default_rng(0)) | {"P": 1.0}
    found = heaviest_paths(SPN.from_dict(structure), beta, 50)
    per_sum = [[beta[f"P{d}.{k}"] ** (1 / 60) for k in range(10)] for d in range(30)]
    assert found[0].g == pytest.approx(np.prod([max(weights) for weights in per_sum]))
    # The second best gives way at the one sum where that costs least.
    ratios = [sorted(weights)[-2] / max(weights) for weights in per_sum]
    assert found[1].g == pytest.approx(found[0].g * max(ratios))
    assert len({tuple(sorted(path.leaves)) for path in found}) == 50
    total = np.prod([sum(weights) for weights in per_sum])
    assert found[0].share == pytest.approx(found[0].g / total)
