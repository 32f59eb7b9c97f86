import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structure_strategies import drawings, valid_structures

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Issue, Kernel, Product, Sum
from spnmkl.structure.layout import arranged
from spnmkl.structure.templates import figure1

quick = settings(max_examples=50, deadline=None, derandomize=True)
KINDS = {"s": "sum", "p": "product", "k": "kernel"}


def drawn(nodes: str, edges: str = "", **changes: Any) -> SPN:
    """A drawing from ids whose first letter is their kind, and edges written s1-p1."""
    return SPN.from_dict(
        {
            "format": "spnmkl/structure",
            "version": 1,
            "nodes": [
                {"id": i, "kind": KINDS[i[0]]} | ({"kernel": i} if i[0] == "k" else {}) | changes.get(i, {})
                for i in nodes.split()
            ],
            "edges": [edge.split("-") for edge in edges.split()],
        }
    )


# name: (drawing, [(code, message, repair), …])
ERRORS: dict[str, tuple[SPN, list[tuple[str, str, str | None]]]] = {
    "empty": (
        drawn(""),
        [("empty", "The structure is empty; draw at least one product over one kernel.", None)],
    ),
    "cycle": (
        drawn("s1 p1 s2 p2 k1", "s1-p1 p1-s2 p1-k1 s2-p2 p2-s2"),
        [("cycle", "There is a cycle, the sum below β₁ → β₂ → the sum below β₁; remove one of its edges.", None)],
    ),
    "own child": (
        drawn("p1 k1", "p1-p1 p1-k1"),
        [
            ("cycle", "The product β₁ is its own child; remove that edge.", None),
            ("no_root", "The structure has no root: every node has a parent; one must have none.", None),
        ],
    ),
    "unreachable": (
        drawn("p1 k1 s2 p2", "p1-k1 s2-p2 p2-s2"),
        [
            (
                "cycle",
                "There is a cycle, the sum below β₂ → β₂ → the sum below β₂; remove one of its edges.",
                None,
            ),
            ("unreachable", "No root leads to the sum below β₂, β₂; connect them to the rest or remove them.", None),
        ],
    ),
    "two products": (
        drawn("p1 k1 p2 k2", "p1-k1 p2-k2"),
        [
            (
                "several_roots",
                "The structure has 2 roots, β₁, β₂; only one node may have no parent.",
                "put a sum above β₁, β₂",
            )
        ],
    ),
    "a loose kernel": (
        drawn("s1 p1 k1 k2", "s1-p1 p1-k1"),
        [
            (
                "several_roots",
                "The structure has 2 roots, the top sum, 'K₂ k2'; only one node may have no parent.",
                "put 'K₂ k2' below the top sum",
            )
        ],
    ),
    "a loose empty product": (
        drawn("s1 p1 k1 p2", "s1-p1 p1-k1"),
        [
            (
                "several_roots",
                "The structure has 2 roots, the top sum, β₂; only one node may have no parent.",
                None,
            ),
            ("no_child", "The product β₂ has no child; put a kernel, sum or product below it.", None),
        ],
    ),
    "kernel alone": (
        drawn("k1"),
        [
            (
                "root_is_kernel",
                "The root is the kernel 'K₁ k1'; the root must be a sum or a product.",
                "put a product above 'K₁ k1'",
            )
        ],
    ),
    "empty sum": (
        drawn("p1 k1 s1", "p1-k1 p1-s1"),
        [("no_child", "The sum below β₁ has no child; put a product below it.", None)],
    ),
    "kernel with children": (
        drawn("p1 k1 k2", "p1-k1 k1-k2"),
        [("kernel_with_children", "The kernel 'K₁ k1' has children, 'K₂ k2'; a kernel must be a leaf.", None)],
    ),
    "kernel below a sum": (
        drawn("s1 k1", "s1-k1"),
        [
            (
                "sum_child",
                "The kernel 'K₁ k1' stands directly below the top sum; every child of a sum must be a product.",
                "put a product between the top sum and 'K₁ k1'",
            )
        ],
    ),
    "sum below a sum": (
        drawn("s1 s2 p1 k1", "s1-s2 s2-p1 p1-k1"),
        [
            (
                "sum_child",
                "The sum of β₁ stands directly below the top sum; every child of a sum must be a product.",
                "put a product between the top sum and the sum of β₁",
            )
        ],
    ),
    "p of 0": (
        drawn("p1 k1", "p1-k1", p1={"p": 0}),
        [("bad_p", "The p of the product β₁ must be a finite number above 0; found 0.", None)],
    ),
    "p not a number": (
        SPN(Product(Kernel("rbf"), p=float("nan"))),
        [("bad_p", "The p of the product β₁ must be a finite number above 0; found nan.", None)],
    ),
    "no column": (
        drawn("p1 k1", "p1-k1", k1={"features": []}),
        [
            (
                "no_features",
                "The kernel 'K₁ k1 · no column' sees no column; list at least one, or leave the list out to use all.",
                None,
            )
        ],
    ),
    "too many nodes": (
        drawn("p1 " + " ".join(f"k{i}" for i in range(100_000)), " ".join(f"p1-k{i}" for i in range(100_000))),
        [("too_many_nodes", "The structure has 100,001 nodes; at most 20,000 are allowed.", None)],
    ),
}


def errors(spn: SPN) -> list[Issue]:
    return [issue for issue in spn.validate() if issue.severity == "error"]


@pytest.mark.parametrize("name", ERRORS)
def test_every_error_has_its_exact_sentence(name: str) -> None:
    spn, expected = ERRORS[name]
    assert [(issue.code, issue.message, issue.repair) for issue in errors(spn)] == expected
    more = {1: "", 2: " (1 more error: see validate().)"}[len(expected)]
    with pytest.raises(StructureError) as caught:
        spn.check()
    assert str(caught.value) == expected[0][1] + more


def test_check_counts_the_errors_it_does_not_show() -> None:
    with pytest.raises(StructureError, match=r"must be a product\. \(2 more errors: see validate\(\)\.\)$"):
        drawn("s1 k1 k2 k3", "s1-k1 s1-k2 s1-k3").check()


WARNINGS = [
    (
        SPN(Sum(Product(Kernel("rbf")))),
        Issue(
            "single_child_sum",
            "warning",
            ("s1",),
            "The top sum has a single child, so there is nothing to weigh against it.",
        ),
    ),
    (
        SPN(Product(Product(Kernel("rbf"), Kernel("linear")))),
        Issue(
            "chained_products",
            "warning",
            ("p1", "p2"),
            "The product β₁ stands over the product β₂ alone; one of them would do.",
        ),
    ),
    (
        SPN(Sum(Product(Kernel("rbf"), Kernel("linear")), Product(Kernel("linear"), Kernel("rbf")))),
        Issue(
            "equal_products",
            "warning",
            ("p1", "p2"),
            "The products β₁ and β₂ below the top sum multiply equal kernels.",
        ),
    ),
]


@pytest.mark.parametrize(("spn", "warning"), WARNINGS)
def test_every_warning_has_its_exact_sentence(spn: SPN, warning: Issue) -> None:
    assert spn.validate() == [warning]
    spn.check()


def test_precomputed_kernels_are_not_taken_for_equal() -> None:
    assert SPN(Sum(Product(Kernel("precomputed")), Product(Kernel("precomputed")))).validate() == []


REPAIRED = {
    "two products": "K = β₁K₁ + β₂K₂",
    "a loose kernel": "K = β₁K₁ + β₂K₂",
    "kernel alone": "K = β₁K₁",
    "kernel below a sum": "K = β₁K₁",
    "sum below a sum": "K = β₂(β₁K₁)",
}


@pytest.mark.parametrize("name", REPAIRED)
def test_repairs_make_the_obvious_drawing(name: str) -> None:
    repaired = ERRORS[name][0].repaired()
    repaired.check()
    assert repaired.formula(latex=False) == REPAIRED[name]


def test_two_loose_sums_get_products_and_a_sum_above() -> None:
    spn = drawn("s1 s2 p1 p2 k1 k2", "s1-p1 p1-k1 s2-p2 p2-k2").repaired()
    assert spn.formula(latex=False) == "K = β₃(β₁K₁) + β₄(β₂K₂)"


def test_an_inserted_product_is_drawn_halfway_on_the_line_of_its_child() -> None:
    spn = drawn("s1 k1", "s1-k1", s1={"x": 0, "y": 0}, k1={"x": 200, "y": 90}).repaired()
    assert spn.position("p1") == (100.0, 90.0)


def test_what_is_added_stands_on_nothing_else() -> None:
    there = {"x": 100, "y": 90}
    spn = drawn("s1 p1 k1 k2", "s1-p1 p1-k2 s1-k1", s1={"x": 0, "y": 0}, k1={"x": 200, "y": 90}, p1=there)
    assert spn.repaired().position("p2") == (100.0, 120.0)


def placed() -> SPN:
    return arranged(drawn("s1 p1 k1 p2 k2", "s1-p1 p1-k1 s1-p2 p2-k2"))


def without_edge(spn: SPN, parent: str, child: str) -> SPN:
    described = spn.to_dict()
    return SPN.from_dict({**described, "edges": [edge for edge in described["edges"] if edge != [parent, child]]})


def test_a_deleted_edge_is_drawn_again() -> None:
    spn = placed()
    torn = without_edge(spn, "p1", "k1")
    assert [(issue.code, issue.repair) for issue in errors(torn)] == [
        ("several_roots", "put 'K₁ k1' below the product β₁"),
        ("no_child", "put 'K₁ k1' below the product β₁"),
    ]
    assert torn.repaired() == spn


def test_what_can_be_repaired_in_several_ways_is_left_to_the_user() -> None:
    spn = without_edge(without_edge(placed(), "p1", "k1"), "p2", "k2")
    assert [issue.repair for issue in errors(spn)] == [None, None, None]
    assert spn.repaired() == spn


@quick
@given(valid_structures(), st.data())
def test_after_any_deletion_a_repair_gives_a_valid_structure(spn: SPN, data: st.DataObject) -> None:
    spn = arranged(spn)
    edges = [(v, child) for v in spn.nodes for child in spn.children(v)]
    torn = without_edge(spn, *data.draw(st.sampled_from(edges)))
    repaired = torn.repaired()
    if any(issue.repair for issue in torn.validate()):
        repaired.check()
    unchanged(torn, repaired)


def unchanged(before: SPN, after: SPN) -> None:
    """Nothing is changed by a repair: nodes and edges are added, and products put into edges."""
    assert {v: after._nodes[v] for v in before.nodes} == before._nodes
    new = set(after.nodes) - set(before.nodes)
    for v in before.nodes:
        for child in before.children(v):
            between = [u for u in after.children(v) if u in new and after.children(u) == (child,)]
            assert child in after.children(v) or (between and before.kind(v) == "sum")
    spots = [after.position(v) for v in new if after.position(v)]
    assert len(set(spots)) == len(spots) and not set(spots) & {before.position(v) for v in before.nodes}


@settings(max_examples=300, deadline=None, derandomize=True)
@given(drawings())
def test_after_a_repair_a_drawing_is_valid_and_nothing_else_changed(data: dict[str, Any]) -> None:
    spn = SPN.from_dict(data)
    repaired = spn.repaired()
    if any(issue.repair for issue in spn.validate()):
        repaired.check()
    else:
        assert repaired == spn
    assert repaired.repaired() == repaired
    unchanged(spn, repaired)


def test_messages_call_nodes_what_the_canvas_shows() -> None:
    spn = SPN(Sum(Kernel("rbf", label="mean"), Product(Sum(label="shape"), id="left"), label="image"))
    assert [issue.message for issue in errors(spn)] == [
        "The sum 'shape' has no child; put a product below it.",
        "The kernel 'rbf · mean' stands directly below the sum 'image'; every child of a sum must be a product.",
    ]


@quick
@given(valid_structures())
def test_valid_structures_have_no_errors_and_are_left_alone(spn: SPN) -> None:
    spn.check()
    assert spn.repaired() == spn


def test_root_and_order_say_what_is_missing() -> None:
    with pytest.raises(StructureError) as caught:
        _ = ERRORS["two products"][0].root
    assert str(caught.value) == ("A structure needs exactly one root (a node without a parent); found 2: β₁, β₂.")
    with pytest.raises(StructureError, match=r"^There is a cycle, the sum below β₁ → β₂ → the sum below β₁"):
        ERRORS["cycle"][0].topological_order()


@pytest.mark.parametrize("name", [name for name in ERRORS if name != "too many nodes"])
def test_invalid_drawings_never_fail_from_inside(name: str) -> None:
    spn = ERRORS[name][0]
    for call in (spn.paths, spn.expanded, spn.formula, lambda: spn.n_paths, lambda: spn.n_layers):
        try:
            call()
        except StructureError as error:
            assert str(error)


def test_a_hundred_thousand_nodes_are_checked_quickly() -> None:
    start = time.process_time()
    spn = SPN(Sum(*(Kernel("rbf", gamma=i + 1) for i in range(50_000))))
    assert len(spn.validate()) == 50_001
    assert spn.repaired() == spn, "it would have too many nodes still"
    ring = drawn(" ".join(f"p{i}" for i in range(50_000)), " ".join(f"p{i}-p{(i + 1) % 50_000}" for i in range(50_000)))
    assert [issue.code for issue in errors(ring)] == ["too_many_nodes", "cycle", "no_root"]
    assert time.process_time() - start < 20


def test_figure_1_is_valid() -> None:
    assert figure1().validate() == []
