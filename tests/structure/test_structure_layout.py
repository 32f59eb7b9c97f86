from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from time import thread_time

import numpy as np
import pytest
from hypothesis import given, settings
from random_structures import random_structure
from structure_strategies import drawings, valid_structures

from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.layout import BOX_HEIGHT, RADIUS, arranged, box_width, layered
from spnmkl.structure.text import node_text

quick = settings(max_examples=60, deadline=None, derandomize=True)

COLUMNS = ["red", "green", "blue", "mean of the texture", "n"]
GROUPS = {"colour": ["red", "green", "blue"], "texture": ["mean", "worst"], "shape": [0, 1, 2, 3], "age": ["a"]}
TREES = {
    "flat": t.flat(COLUMNS),
    "grouped": t.grouped(GROUPS),
    "hierarchy": t.hierarchy(["a__b__c", "a__b__d", "a__e", "f__g", "f__h__i", "f__h__j", "k"]),
    "product_of_sums": t.product_of_sums(GROUPS),
    "figure1": t.figure1(),
    "expanded": t.figure1().expanded(),
}
SHARED = {
    "pairwise_products": t.pairwise_products(COLUMNS, include_single=True),
    "polynomial": t.polynomial(Kernel("rbf"), 5),
    "taylor_exp": t.taylor_exp(Kernel("linear"), 3),
    **{
        f"random {seed}": SPN.from_dict(
            random_structure(np.random.default_rng(seed), shared=0.4, max_paths=80, min_paths=6)
        )
        for seed in range(20)
    },
}
Spots = dict[str, tuple[float, float]]


def size(spn: SPN, v: str) -> tuple[float, float]:
    kernel = spn.kind(v) == "kernel"
    return (box_width(node_text(spn, v)), BOX_HEIGHT) if kernel else (2 * RADIUS, 2 * RADIUS)


def overlapping(spn: SPN, spots: Spots) -> list[tuple[str, str]]:
    def overlap(a: str, b: str) -> bool:
        return all(
            abs(p - q) < (m + n) / 2 for p, q, m, n in zip(spots[a], spots[b], size(spn, a), size(spn, b), strict=True)
        )

    return [pair for pair in combinations(spn.nodes, 2) if overlap(*pair)]


def crossings(spn: SPN, spots: Spots) -> int:
    def side(a: str, b: str, c: str) -> float:
        (ax, ay), (bx, by), (cx, cy) = spots[a], spots[b], spots[c]
        return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    edges = [(v, child) for v in spn.nodes for child in spn.children(v)]
    return sum(
        side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
        for (a, b), (c, d) in combinations(edges, 2)
        if len({a, b, c, d}) == 4
    )


def falls(spn: SPN, spots: Spots) -> bool:
    return all(spots[v][1] < spots[child][1] for v in spn.nodes for child in spn.children(v))


@pytest.mark.parametrize("name", TREES)
def test_a_tree_has_no_crossing(name: str) -> None:
    assert crossings(TREES[name], layered(TREES[name])) == 0


@pytest.mark.parametrize("name", TREES | SHARED)
def test_children_stand_below_their_parents_and_nothing_overlaps(name: str) -> None:
    spn = (TREES | SHARED)[name]
    spots = layered(spn)
    assert falls(spn, spots)
    assert overlapping(spn, spots) == []


def test_shared_nodes_cost_few_crossings() -> None:
    in_order_of_definition = 0
    ours = 0
    for spn in SHARED.values():
        spots = layered(spn)
        ours += crossings(spn, spots)
        rows: dict[float, int] = {}
        naive = {}
        for v in spn.nodes:
            rows[spots[v][1]] = rows.get(spots[v][1], 0) + 1
            naive[v] = (100.0 * rows[spots[v][1]], spots[v][1])
        in_order_of_definition += crossings(spn, naive)
    assert ours < 0.6 * in_order_of_definition


def test_the_root_is_on_top_and_the_whole_is_centred() -> None:
    for spn in (TREES | SHARED).values():
        spots = layered(spn)
        assert spots[spn.root][1] == min(y for _, y in spots.values())
        for axis in zip(*spots.values(), strict=True):
            assert min(axis) + max(axis) == pytest.approx(0, abs=0.2)


def test_figure_1_is_symmetric_where_it_can_be() -> None:
    spots = layered(t.figure1())
    for product, kernel in zip([f"p{i}" for i in range(1, 8)], t.figure1().kernels, strict=True):
        assert spots[product][0] == spots[kernel][0]
    assert spots["s4"][0] == spots["p6"][0]


def test_a_wide_layer_is_evenly_spaced() -> None:
    spn = t.flat([Kernel("linear") for _ in range(200)])
    spots = layered(spn)
    for row in rows_of(spn.kernels, spots):
        assert np.ptp(np.diff([spots[v][0] for v in row])) < 0.3
    assert overlapping(spn, spots) == []


def rows_of(nodes: Sequence[str], spots: Spots) -> list[list[str]]:
    """The nodes of each height, from the top down."""
    return [[v for v in nodes if spots[v][1] == y] for y in sorted({spots[v][1] for v in nodes})]


@pytest.mark.parametrize("n", [17, 40, 110])
def test_many_leaves_of_one_sum_are_folded_into_rows(n: int) -> None:
    spn = t.flat([Kernel("linear", label=f"gene {k}") for k in range(n)])
    spots = layered(spn)
    assert falls(spn, spots) and overlapping(spn, spots) == []
    wide, high = (max(axis) - min(axis) for axis in zip(*spots.values(), strict=True))
    assert 1 < wide / high < 2.6
    rows = rows_of(spn.products, spots)
    assert [v for row in rows for v in row] == list(spn.products), "row by row in their order"
    assert max(map(len, rows)) - min(map(len, rows)) <= 1
    for product, kernel in zip(spn.products, spn.kernels, strict=True):
        assert spots[product][0] == spots[kernel][0]
    assert len({spots[row[0]][0] for row in rows[:4]}) == min(4, len(rows)), "no row hides the edges to the next"


def test_a_row_that_can_be_read_stays_a_row() -> None:
    spn = t.flat([Kernel("linear") for _ in range(16)])
    assert len(rows_of(spn.kernels, layered(spn))) == 1


def test_leaves_are_folded_beside_other_branches_and_shared_kernels() -> None:
    shared = Kernel("rbf")
    many = [Product(Kernel("linear", label=f"gene {k}")) for k in range(30)]
    deep = Product(Sum(Product(Sum(Product(shared), Product(Kernel("cosine")))), Product(shared)))
    for spn in (SPN(Sum(deep, *many)), SPN(Product(Sum(*many), Sum(*many[:20], deep), Sum(*many[20:])))):
        spots = layered(spn)
        assert falls(spn, spots) and overlapping(spn, spots) == []
    spn = SPN(Sum(deep, *many))
    spots, (*_, last) = layered(spn), spn.kernels
    assert spots[last][0] == spots[spn.parents(last)[0]][0]
    groups = t.grouped({f"view {k}": [f"c{k}_{j}" for j in range(25)] for k in range(4)})
    spots = layered(groups)
    assert falls(groups, spots) and overlapping(groups, spots) == []
    wide, high = (max(axis) - min(axis) for axis in zip(*spots.values(), strict=True))
    assert wide / high < 3


def test_edges_to_a_wide_layer_pass_over_the_other_nodes() -> None:
    spn = t.flat([Kernel("linear") for _ in range(60)])
    spots = layered(spn)
    (x, y), (last_x, last_y), (next_x, next_y) = (spots[v] for v in ("s1", "p60", "p59"))
    assert next_y - (y + (last_y - y) * (next_x - x) / (last_x - x)) > RADIUS


def test_widths_can_be_given() -> None:
    spn = t.flat(["a", "b"])
    wide, narrow = (layered(spn, width=lambda v, w=w: w) for w in (500.0, 50.0))
    assert abs(wide["k1"][0] - wide["k2"][0]) >= 500
    assert abs(narrow["k1"][0] - narrow["k2"][0]) < 120


def test_the_same_drawing_gives_the_same_layout() -> None:
    for spn in SHARED.values():
        assert layered(spn) == layered(SPN.from_dict(spn.to_dict()))


@quick
@given(spn=valid_structures())
def test_any_structure_falls_without_overlaps(spn: SPN) -> None:
    spots = layered(spn)
    assert falls(spn, spots)
    assert overlapping(spn, spots) == []


@quick
@given(drawing=drawings())
def test_any_drawing_can_be_arranged(drawing: dict[str, object]) -> None:
    spn = SPN.from_dict(drawing)
    spots = layered(spn)
    assert list(spots) == list(spn.nodes)
    assert overlapping(spn, spots) == []


def test_arranging_changes_positions_only() -> None:
    spn = t.grouped(GROUPS)
    placed = arranged(spn)
    assert all(placed.position(v) == spot for v, spot in layered(spn).items())
    assert arranged(placed) == placed
    bare = {v: replace(node, x=None, y=None) for v, node in placed._nodes.items()}
    assert SPN._of(bare, placed._children) == spn


def _ladder(rungs: int) -> SPN:
    """Deep, and one kernel shared by every layer."""
    shared = Kernel("rbf")
    top: Kernel | Sum = shared
    for _ in range(rungs):
        top = Sum(Product(top), Product(shared, Kernel("linear")))
    return SPN(top)


@pytest.mark.parametrize(
    ("small", "large"),
    [
        (t.flat(list(range(100))), t.flat(list(range(1000)))),
        (t.pairwise_products(list(range(18))), t.pairwise_products(list(range(60)))),
        (_ladder(50), _ladder(500)),
    ],
    ids=repr,
)
def test_layout_takes_far_less_than_the_square_of_the_nodes(small: SPN, large: SPN) -> None:
    def cost(spn: SPN) -> float:
        best = float("inf")
        for _ in range(3):
            start = thread_time()
            layered(spn)
            best = min(best, thread_time() - start)
        return best

    grown = len(large.nodes) / len(small.nodes)
    assert cost(large) < grown**1.6 * cost(small)


def test_a_chain_of_thousands_meets_no_recursion_limit() -> None:
    top: Kernel | Product = Kernel("rbf")
    for _ in range(5000):
        top = Product(top)
    spots = layered(SPN(top))
    assert {x for x, _ in spots.values()} == {0.0}
