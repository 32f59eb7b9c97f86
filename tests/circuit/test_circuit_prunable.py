"""What can be pruned, against every set of zero weights that section 6 of the formulation allows."""

from collections.abc import Mapping
from functools import reduce
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from cases import FIGURE_1, drawn, flat
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import Structure, enumerate_paths, node_p, product_ids
from random_structures import structures

from spnmkl import SPN, ParameterError


def few_products(structure: Structure) -> bool:
    return len(product_ids(structure)) <= 8


trees = structures(max_paths=8, shared=0.0).filter(few_products)
small = trees | (structures(max_paths=8) | structures(max_paths=8, aligned=True)).filter(few_products)
quick = settings(max_examples=40, deadline=None, derandomize=True)
Zeros = frozenset[str]

THREE_LAYERS = drawn("S0>P0, P0>S1, S1>P1 P2, P1>S2, S2>P3 P4, P2>K2, P3>K3, P4>K4")


def powers(structure: Structure, p: float | str | Mapping[str, float]) -> dict[str, float]:
    if p != "sparse":
        return node_p(structure, p)  # type: ignore[arg-type]
    paths = enumerate_paths(structure)
    return {v: float(min(path.exponents[v] for path in paths if v in path.exponents)) for v in product_ids(structure)}


def allowed(structure: Structure, power: Mapping[str, float], zeros: Zeros) -> bool:
    """r_m ≥ 1 on every path that meets the zeros."""
    r = [
        sum(float(e) / power[v] for v, e in path.exponents.items() if v in zeros)
        for path in enumerate_paths(structure)
        if not zeros.isdisjoint(path.exponents)
    ]
    return min(r) >= 1 - 1e-12


def all_allowed(structure: Structure, power: Mapping[str, float]) -> list[Zeros]:
    products = product_ids(structure)
    sets = (frozenset(chosen) for k in range(1, len(products) + 1) for chosen in combinations(products, k))
    return [zeros for zeros in sets if allowed(structure, power, zeros)]


def dead(structure: Structure, zeros: Zeros) -> Zeros:
    """The zeros, and the products left without a path."""
    alive = [path.exponents.keys() for path in enumerate_paths(structure) if zeros.isdisjoint(path.exponents)]
    return frozenset(product_ids(structure)) - reduce(lambda a, b: a | b, alive, frozenset())


def check_which(structure: Structure, p: float | str | Mapping[str, float]) -> None:
    """Prunable is what some allowed set holds, and what is said to vanish together is such a set."""
    power = powers(structure, p)
    possible = reduce(lambda a, b: a | b, all_allowed(structure, power), frozenset())
    for v, found in SPN.from_dict(structure).prunable(p).items():
        assert bool(found) == (v in possible), found.reason
        if found:
            assert v in found.together
            assert allowed(structure, power, frozenset(found.together))


def check_together(structure: Structure, p: float | str | Mapping[str, float]) -> None:
    """No allowed set with v leaves more alive than what is said to vanish with v."""
    sets = all_allowed(structure, powers(structure, p))
    for v, found in SPN.from_dict(structure).prunable(p).items():
        if found:
            lost = dead(structure, frozenset(found.together))
            smaller = [sorted(zeros) for zeros in sets if v in zeros and dead(structure, zeros) < lost]
            assert not smaller, f"{found.reason} But {smaller[0]} may vanish too."


@quick
@given(small, st.sampled_from([1.0, 2.0, 0.5, "sparse"]))
def test_one_p_for_all(structure: Structure, p: float | str) -> None:
    check_which(structure, p)


@quick
@given(small, st.sampled_from([1.0, 0.5, "sparse"]))
def test_what_vanishes_together_is_least(structure: Structure, p: float | str) -> None:
    check_together(structure, p)


@quick
@given(small, st.integers(0, 2**16))
def test_any_p(structure: Structure, seed: int) -> None:
    rng = np.random.default_rng(seed)
    power = {v: float(rng.choice([0.3, 0.5, 1.0, 2.0])) for v in product_ids(structure)}
    check_which(structure, power)
    check_together(structure, power)


@quick
@given(small)
def test_p_1_prunes_components_and_above_1_nothing(structure: Structure) -> None:
    spn, graph = SPN.from_dict(structure), nx.Graph()
    graph.add_nodes_from(spn.products)
    for path in enumerate_paths(structure):
        graph.add_edges_from(combinations(path.exponents, 2))
    for v, found in spn.prunable(1).items():
        assert set(found.together) == nx.node_connected_component(graph, v)
    assert not any(spn.prunable(1.5).values())


@quick
@given(small)
def test_sparse_prunes_every_node_alone(structure: Structure) -> None:
    assert {found.how for found in SPN.from_dict(structure).prunable("sparse").values()} == {"alone"}


def test_a_node_that_hangs_on_a_prunable_one_alone_is_prunable() -> None:
    # P1 may be zero alone, and with it P5, which no other path reaches, goes for nothing.
    structure = drawn("S0>P1 P3, P1>S2, S2>P3 P5, P3>K3, P5>K5", {"P1": 0.3, "P3": 2.0, "P5": 1.0})
    check_which(structure, node_p(structure))


def test_a_node_that_could_go_alone_but_for_a_prunable_one_is_prunable() -> None:
    # With P1 at zero only the path of P5 alone is left to it, where e = 1 = p.
    structure = drawn("S0>P1 P5 P3, P1>S2, S2>P3 P5, P3>K3, P5>K5", {"P1": 0.5, "P3": 2.0, "P5": 1.0})
    check_which(structure, node_p(structure))


def test_a_node_can_go_with_the_branch_above_it() -> None:
    # With P1, P3 and P4 at zero r = (1/3 + 1/3) / 0.5 on both paths through them; P0 and P2 may stay.
    assert allowed(THREE_LAYERS, node_p(THREE_LAYERS, 0.5), frozenset({"P1", "P3", "P4"}))
    check_together(THREE_LAYERS, 0.5)


def test_sentences() -> None:
    found = SPN.from_dict(flat(2)).prunable()["P1"]
    assert (found.how, found.together) == ("alone", ("P1",))
    assert found.reason == "β_P1 can be pruned alone: its exponent is at least p = 1 on every path."
    found = SPN.from_dict(FIGURE_1).prunable()["P1"]
    assert (found.how, set(found.together)) == ("component", {"P8", "P1", "P2"})
    assert found.reason == "β_P1 can be pruned only together with all 3 products it is joined to by shared paths."
    found = SPN.from_dict(FIGURE_1).prunable(2)["P1"]
    assert not found
    assert (found.how, found.together) == ("never", ())
    assert found.reason == "β_P1 cannot be pruned: p = 2 is above its share of the exponents on some path."
    found = SPN.from_dict(THREE_LAYERS).prunable(0.5)["P1"]
    assert (found.how, found.together) == ("branch", ("P1", "P3", "P4"))
    assert found.reason == "β_P1 can be pruned only with the other 2 products of its branch."


def test_unknown_p() -> None:
    with pytest.raises(ParameterError) as refused:
        SPN.from_dict(FIGURE_1).prunable("lasso")
    assert str(refused.value) == "p must be a number above 0, a mapping, 'sparse' or None, but it is 'lasso'."
