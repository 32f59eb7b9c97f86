from dataclasses import replace
from itertools import combinations
from time import thread_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_structures import random_structure
from structure_strategies import drawings, valid_structures

from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.groups import find_groups, shown
from spnmkl.structure.layout import (
    BOX_HEIGHT,
    GROUP_HEIGHT,
    LINE,
    PRODUCT_RADIUS,
    SUM_RADIUS,
    TALLEST_COLUMN,
    Spots,
    arranged,
    box_width,
    group_width,
    places,
)
from spnmkl.structure.text import box_text

quick = settings(max_examples=60, deadline=None, derandomize=True)

COLUMNS = ["red", "green", "blue", "mean of the texture", "n"]
GROUPS = {"colour": ["red", "green", "blue"], "texture": ["mean", "worst"], "shape": [0, 1, 2, 3], "age": ["a"]}
TREES = {
    "flat": t.flat(COLUMNS),
    "flat 64": t.flat(list(range(64))),
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


def boxes(spn: SPN, spots: Spots) -> dict[str, tuple[float, float, float, float]]:
    """Left, top, right and bottom of everything that is drawn."""
    groups = {group.id: group for group in find_groups(spn)}
    found = {}
    for v, (x, y) in spots.items():
        if v in groups:
            wide, high = group_width(groups[v]), GROUP_HEIGHT
        elif spn.kind(v) == "kernel":
            wide, high = box_width(box_text(spn, v)), BOX_HEIGHT
        else:
            wide = high = 2 * (SUM_RADIUS if spn.kind(v) == "sum" else PRODUCT_RADIUS)
        found[v] = x - wide / 2, y - high / 2, x + wide / 2, y + high / 2
    return found


def overlapping(spn: SPN, spots: Spots) -> list[tuple[str, str]]:
    found = boxes(spn, spots)
    return [
        (a, b)
        for a, b in combinations(found, 2)
        if found[a][0] < found[b][2]
        and found[b][0] < found[a][2]
        and found[a][1] < found[b][3]
        and found[b][1] < found[a][3]
    ]


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


def runs_right(spn: SPN, spots: Spots) -> bool:
    found = boxes(spn, spots)
    return all(found[v][2] + 8 <= found[child][0] for v in spn.nodes for child in spn.children(v))


@pytest.mark.parametrize("name", [name for name in TREES if name != "flat 64"])
def test_a_tree_has_no_crossing(name: str) -> None:
    assert crossings(TREES[name], places(TREES[name])) == 0


@pytest.mark.parametrize("name", TREES | SHARED)
def test_children_stand_right_of_their_parents_and_nothing_overlaps(name: str) -> None:
    spn = (TREES | SHARED)[name]
    spots = places(spn)
    assert runs_right(spn, spots)
    assert overlapping(spn, spots) == []


def test_shared_nodes_cost_few_crossings() -> None:
    in_order_of_definition = 0
    ours = 0
    for spn in SHARED.values():
        spots = places(spn)
        ours += crossings(spn, spots)
        columns: dict[float, int] = {}
        naive = {}
        for v in spn.nodes:
            columns[spots[v][0]] = columns.get(spots[v][0], 0) + 1
            naive[v] = (spots[v][0], 100.0 * columns[spots[v][0]])
        in_order_of_definition += crossings(spn, naive)
    assert ours < 0.6 * in_order_of_definition


def test_the_root_is_at_the_left_and_the_whole_is_centred() -> None:
    for spn in (TREES | SHARED).values():
        spots = places(spn)
        assert spots[spn.root][0] == min(x for x, _ in spots.values())
        for axis in zip(*spots.values(), strict=True):
            assert min(axis) + max(axis) == pytest.approx(0, abs=0.2)


def test_one_kernel_a_line_in_drawn_order_and_parents_at_the_middle() -> None:
    for name in ("flat", "grouped", "product_of_sums", "hierarchy"):
        spn = TREES[name]
        spots = places(spn)
        lines = [spots[v][1] for v in spn.kernels]
        assert all(b - a >= LINE - 0.1 for a, b in zip(sorted(lines), sorted(lines)[1:], strict=False))
        for v in spn.nodes:
            if below := spn.children(v):
                levels = [spots[u][1] for u in below]
                assert levels == sorted(levels)
                assert spots[v][1] == pytest.approx((levels[0] + levels[-1]) / 2, abs=0.2)


def test_figure_1_has_its_kernels_on_the_lines_of_their_products() -> None:
    spots = places(t.figure1())
    for product, kernel in zip([f"p{i}" for i in range(1, 8)], t.figure1().kernels, strict=True):
        assert spots[product][1] == spots[kernel][1]
    assert len({spots[v][0] - box_width(box_text(t.figure1(), v)) / 2 for v in t.figure1().kernels}) == 1


@pytest.mark.parametrize("n", [23, 64, 110])
def test_many_children_of_one_sum_are_set_in_columns(n: int) -> None:
    spn = t.flat([Kernel("linear", label=f"gene {k}") for k in range(n)])
    spots = places(spn)
    columns = sorted({spots[v][0] for v in spn.products})
    assert len(columns) == -(-n * LINE // TALLEST_COLUMN)
    order = sorted(spn.products, key=lambda v: spots[v])
    assert order == list(spn.products), "column by column in their order"
    for product, kernel in zip(spn.products, spn.kernels, strict=True):
        assert spots[product][1] == spots[kernel][1]


def test_what_can_be_read_in_one_column_stays_there() -> None:
    spn = t.flat([Kernel("linear") for _ in range(22)])
    assert len({places(spn)[v][0] for v in spn.products}) == 1


@pytest.mark.parametrize("sizes", [[15] * 20, [16] * 4, [3 + (7 * j) % 40 for j in range(12)]])
def test_branches_that_are_far_too_tall_are_set_in_columns(sizes: list[int]) -> None:
    spn = t.grouped({f"view {j}": [f"gene {j}, {k}" for k in range(n)] for j, n in enumerate(sizes)})
    spots = places(spn)
    branches = spn.children(spn.root)
    columns = sorted({spots[v][0] for v in branches})
    assert len(columns) > 1 and len({spots[v][1] for v in branches}) == -(-len(branches) // len(columns))
    assert sorted(branches, key=spots.__getitem__) == list(branches), "column by column in their order"
    assert runs_right(spn, spots) and overlapping(spn, spots) == []
    sides = boxes(spn, spots).values()
    width, height = (max(s[k + 2] for s in sides) - min(s[k] for s in sides) for k in (0, 1))
    assert min(1000 / width, 560 / height) > 1.5 * 560 / (LINE * sum(sizes)), "seen larger than in one column"


def test_columns_of_branches_below_two_branches() -> None:
    def part(name: str, n: int) -> Product:
        return Product(Sum(*(Product(Kernel("linear", label=f"{name} {k}")) for k in range(n)), label=name))

    halves = [Product(Sum(*(part(f"{half} {j}", 9) for j in range(8)))) for half in ("left", "right")]
    spn = SPN(Sum(*halves))
    spots = places(spn)
    assert runs_right(spn, spots) and overlapping(spn, spots) == []
    for half in spn.children(spn.root):
        (middle,) = spn.children(half)
        assert len({spots[v][0] for v in spn.children(middle)}) > 1


def test_columns_beside_other_branches_and_shared_kernels() -> None:
    shared = Kernel("rbf")
    many = [Product(Kernel("linear", label=f"gene {k}")) for k in range(30)]
    deep = Product(Sum(Product(Sum(Product(shared), Product(Kernel("cosine")))), Product(shared)))
    for spn in (SPN(Sum(deep, *many)), SPN(Product(Sum(*many), Sum(*many[:20], deep), Sum(*many[20:])))):
        spots = places(spn)
        assert runs_right(spn, spots) and overlapping(spn, spots) == []


def test_the_same_drawing_gives_the_same_layout() -> None:
    for spn in SHARED.values():
        assert places(spn) == places(SPN.from_dict(spn.to_dict()))


@quick
@given(spn=valid_structures(), data=st.data())
def test_any_structure_runs_right_without_overlaps(spn: SPN, data: st.DataObject) -> None:
    spots = places(spn)
    assert runs_right(spn, spots)
    assert overlapping(spn, spots) == []
    ids = [group.id for group in find_groups(spn)]
    closed = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    assert overlapping(spn, places(spn, closed)) == []


@quick
@given(drawing=drawings())
def test_any_drawing_can_be_arranged(drawing: dict[str, object]) -> None:
    spn = SPN.from_dict(drawing)
    spots = places(spn)
    assert list(spots) == list(spn.nodes)
    assert overlapping(spn, spots) == []


def test_arranging_changes_positions_only() -> None:
    spn = t.grouped(GROUPS)
    placed = arranged(spn)
    assert all(placed.position(v) == spot for v, spot in places(spn).items())
    assert arranged(placed) == placed
    bare = {v: replace(node, x=None, y=None) for v, node in placed._nodes.items()}
    assert SPN._of(bare, placed._children) == spn


def test_what_a_closed_group_hides_is_put_where_its_box_is() -> None:
    spn = t.grouped(GROUPS)
    (group, *_) = find_groups(spn)
    placed = arranged(spn, {group.id})
    spots = places(spn, {group.id})
    assert {placed.position(v) for v in group.members} == {spots[group.id]}
    assert set(spots) == set(shown(spn, {group.id}).children)


def _ladder(rungs: int) -> SPN:
    """Deep, and one kernel shared by every layer."""
    shared = Kernel("rbf")
    top: Kernel | Sum = shared
    for _ in range(rungs):
        top = Sum(Product(top), Product(shared, Kernel("linear")))
    return SPN(top)


def cost(spn: SPN) -> float:
    best = float("inf")
    for _ in range(3):
        start = thread_time()
        places(spn)
        best = min(best, thread_time() - start)
    return best


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
    grown = len(large.nodes) / len(small.nodes)
    assert cost(large) < grown**1.6 * cost(small)


@pytest.mark.parametrize(
    ("spn", "seconds"),
    [
        (t.flat(list(range(250))), 0.1),
        (t.pairwise_products(list(range(31))), 0.1),
        (_ladder(120), 0.1),
        (t.flat(list(range(999))), 0.5),
        (t.grouped({f"view {j}": [f"c{j}_{k}" for k in range(19)] for j in range(50)}), 0.5),
        (t.pairwise_products(list(range(62))), 0.5),
        (_ladder(499), 0.5),
    ],
    ids=repr,
)
def test_layout_is_quick(spn: SPN, seconds: float) -> None:
    # Four times what is wanted, for a slow machine; of processor time, for a busy one.
    assert cost(spn) < 4 * seconds


def test_a_chain_of_thousands_meets_no_recursion_limit() -> None:
    top: Kernel | Product = Kernel("rbf")
    for _ in range(5000):
        top = Product(top)
    spots = places(SPN(top))
    assert {y for _, y in spots.values()} == {0.0}
