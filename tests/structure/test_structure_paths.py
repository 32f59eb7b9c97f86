from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structure_strategies import valid_structures

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel, Path, Product, Sum
from spnmkl.structure.templates import figure1

quick = settings(max_examples=50, deadline=None, derandomize=True)
half, quarter = Fraction(1, 2), Fraction(1, 4)


def test_figure_1_has_the_papers_paths_and_exponents() -> None:
    expected = [(("k1",), {"p8": half, "p1": half}), (("k2",), {"p8": half, "p2": half})] + [
        ((f"k{i}", f"k{j}"), {"p9": half, f"p{i}": quarter, f"p{j}": quarter}) for i in (3, 4) for j in (5, 6, 7)
    ]
    spn = figure1()
    assert [(path.leaves, dict(path.exponents)) for path in spn.paths()] == expected
    assert (spn.n_paths, spn.n_layers) == (8, 2)
    assert [path.g() for path in spn.paths() if path.leaves == ("k4", "k6")] == ["β₉¹⁄² β₄¹⁄⁴ β₆¹⁄⁴"]


def _enumerated(spn: SPN, node: str, layer: int) -> Iterator[tuple[list[str], list[tuple[int, str]]]]:
    """Leaves and (layer, product) pairs of every induced tree, straight from the definition."""
    if spn.kind(node) == "kernel":
        yield [node], []
    elif spn.kind(node) == "sum":
        for child in spn.children(node):
            yield from _enumerated(spn, child, layer + 1)
    else:
        for branches in product(*(list(_enumerated(spn, child, layer)) for child in spn.children(node))):
            leaves = [leaf for branch in branches for leaf in branch[0]]
            yield leaves, [(layer, node)] + [entry for branch in branches for entry in branch[1]]


def _content(leaves: list[str], products: list[tuple[int, str]]) -> tuple[object, ...]:
    return tuple(sorted(leaves)), tuple(sorted(products))


def _listed(spn: SPN) -> Counter[tuple[object, ...]]:
    return Counter(
        _content(list(path.leaves), [(i, v) for i, layer in enumerate(path.layers, 1) for v in layer])
        for path in spn.paths()
    )


@quick
@given(valid_structures())
def test_paths_are_those_of_the_definition(spn: SPN) -> None:
    start = 0 if spn.kind(spn.root) == "sum" else 1
    expected = Counter(_content(*tree) for tree in _enumerated(spn, spn.root, start))
    assert _listed(spn) == expected
    assert spn.n_paths == expected.total()
    assert spn.n_layers == max(len(path.layers) for path in spn.paths())


@quick
@given(valid_structures())
def test_exponents_of_every_path_add_up_to_one(spn: SPN) -> None:
    for path in spn.paths():
        assert sum(path.exponents.values()) == 1
        N = len(path.layers)
        for v, e in path.exponents.items():
            assert e == sum(Fraction(layer.count(v), N * len(layer)) for layer in path.layers)


@quick
@given(valid_structures(), st.randoms(use_true_random=False))
def test_child_order_changes_no_path(spn: SPN, random: object) -> None:
    data = spn.to_dict()
    random.shuffle(data["edges"])  # type: ignore[attr-defined]
    assert _listed(SPN.from_dict(data)) == _listed(spn)


def test_a_shared_sum_met_twice_chooses_independently() -> None:
    shared = Sum(Product(Kernel("linear"), id="a"), Product(Kernel("rbf"), id="b"))
    spn = SPN(Product(Product(shared, id="left"), Product(shared, id="right"), id="top"))
    assert spn.n_paths == 4
    twice = next(spn.paths())
    assert twice == Path(("k1", "k1"), (("top", "left", "right"), ("a", "a")))
    assert dict(twice.exponents) == {
        "top": Fraction(1, 6),
        "left": Fraction(1, 6),
        "right": Fraction(1, 6),
        "a": half,
    }


def test_a_product_root_lies_in_the_first_layer() -> None:
    kernels = [Kernel("rbf", gamma=g) for g in (1, 2)]
    inner = Product(Sum(*(Product(k) for k in kernels)))
    assert SPN(inner).n_layers == SPN(Sum(inner)).n_layers == 2
    assert [path.layers for path in SPN(inner).paths()] == [path.layers for path in SPN(Sum(inner)).paths()]


def test_one_product_has_exponents_that_differ_between_paths() -> None:
    k1, k2 = Kernel("linear", id="k1"), Kernel("rbf", id="k2")
    spn = SPN(Product(k1, Sum(Product(k1, id="short"), Product(Sum(Product(k2, id="low")), id="long")), id="top"))
    assert [path.exponents["top"] for path in spn.paths()] == [half, Fraction(1, 3)]


def test_the_first_paths_of_very_many_come_at_once() -> None:
    spn = SPN(Product(*(Sum(*(Product(Kernel("rbf", gamma=g)) for g in range(1, 11))) for _ in range(30))))
    assert spn.n_paths == 10**30
    assert len({path.leaves for path in spn.paths(100)}) == 100
    assert len(list(islice(spn.paths(), 5))) == 5


def doubled(layers: int) -> SPN:
    node: Sum | Product | Kernel = Kernel("linear")
    for _ in range(layers):
        node = Sum(Product(node), Product(node))
    return SPN(node)


def squared(layers: int) -> SPN:
    node: Sum | Product = Product(Kernel("linear"))
    for _ in range(layers):
        choice = Sum(Product(node), Product(node))
        node = Product(Product(choice), Product(choice))
    return SPN(node)


def test_sharing_does_not_blow_up() -> None:
    spn = doubled(1000)
    assert spn.n_paths == 2**1000
    assert [issue.code for issue in spn.validate()] == ["equal_products"]
    assert len(next(spn.paths()).layers) == 1000
    assert len(spn.formula()) < 10_000


def test_counts_and_paths_of_absurd_size_are_refused() -> None:
    spn = squared(60)
    with pytest.raises(StructureError, match=r"^The structure has more than 2\^65,535 paths, too many even to"):
        _ = spn.n_paths
    with pytest.raises(StructureError, match=r"^A path of this structure meets more than 1,000,000 nodes"):
        next(spn.paths())
    assert spn.n_layers == 61
    assert len(spn.formula()) < 10_000


def test_a_deep_chain_needs_no_recursion() -> None:
    node: Sum | Product | Kernel = Kernel("linear")
    for _ in range(20_000):
        node = Sum(Product(node))
    spn = SPN(node)
    assert (spn.n_paths, spn.n_layers) == (1, 20_000)
    assert len(spn.topological_order()) == 40_001
    assert spn.validate()[0].code == "too_many_nodes"
    assert SPN.from_json(spn.to_json()) == spn
    assert spn.formula(latex=False).endswith("…" + ")" * 149)
