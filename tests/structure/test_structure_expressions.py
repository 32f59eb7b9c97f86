import math
from collections.abc import Callable
from typing import Any

import pytest

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel, KernelSpec, Product, Sum
from spnmkl.structure.templates import figure1

FIGURE = figure1()
K: Any = Kernel("rbf")
S: Any = Sum(Product(K))


def test_ids_are_numbered_depth_first_around_those_given() -> None:
    shared = Product(Kernel("linear"), Kernel("rbf", id="k1"))
    spn = SPN(Sum(Product(Sum(shared, Product(Kernel("cosine")))), shared, id="root"))
    assert spn.nodes == ("root", "p1", "s1", "p2", "k2", "k1", "p3", "k3")
    assert spn.children("root") == ("p1", "p2")
    assert spn.parents("p2") == ("root", "s1")
    assert (spn.root, spn.sums, spn.products, spn.kernels) == (
        "root",
        ("root", "s1"),
        ("p1", "p2", "p3"),
        ("k2", "k1", "k3"),
    )
    assert spn.topological_order() == ("root", "p1", "s1", "p2", "p3", "k2", "k1", "k3")


def test_a_kernel_given_twice_to_a_product_is_two_leaves() -> None:
    kernel = Kernel("rbf", gamma=2)
    spn = SPN(Sum(Product(kernel, kernel), Product(kernel)))
    assert spn.children("p1") == ("k1", "k2")
    assert spn.children("p2") == ("k1",)
    assert spn.spec("k1") == spn.spec("k2") == KernelSpec("rbf", (("gamma", 2),))
    assert spn.formula(latex=False) == "K = β₁K₁∘K₁ + β₂K₁"


def test_specifications_are_equal_however_they_are_written() -> None:
    first = Kernel("poly", degree=2, coef0=1, features=("a", 0)).spec
    second = KernelSpec("poly", {"coef0": 1.0, "degree": 2}, ["a", 0])  # type: ignore[arg-type]
    assert first == second
    assert hash(first) == hash(second)
    assert first.params == (("coef0", 1), ("degree", 2))
    assert Kernel("poly", degree=2, coef0=1).on(["a", 0], label="x").spec == first


def test_nothing_changes_an_spn() -> None:
    before = FIGURE.to_json()
    changed = FIGURE.with_p(2).with_p({"p1": 0.5}).replace("k1", kernel="linear", params={}, label="A")
    assert FIGURE.to_json() == before
    assert changed != FIGURE
    assert (changed.p("p1"), changed.p("p2"), changed.label("k1")) == (0.5, 2.0, "A")
    assert changed.spec("k1") == KernelSpec("linear")
    assert changed.replace("k1", x=1, y=2).position("k1") == (1.0, 2.0)
    assert FIGURE.position("k1") is None


def test_equality_ignores_where_a_node_is_listed_but_not_the_order_of_children() -> None:
    data = FIGURE.to_dict()
    data["nodes"].reverse()
    again = SPN.from_dict(data)
    assert again == FIGURE
    assert hash(again) == hash(FIGURE)
    data["edges"].reverse()
    assert SPN.from_dict(data) != FIGURE
    assert FIGURE != "figure"


def test_repr_counts() -> None:
    assert repr(FIGURE) == "SPN(4 sums, 9 products, 7 kernels)"
    assert repr(S) == "<Sum: 1 child>"
    assert repr(Product(K, K, id="a")) == "<Product 'a': 2 children>"
    assert repr(K) == "<Kernel: rbf>"


def test_embedding_replaces_a_leaf_and_renames_only_what_clashes() -> None:
    inner = SPN(Sum(Product(Kernel("linear", id="x")), Product(Kernel("cosine", id="k1"))))
    spn = FIGURE.embed("k4", inner)
    assert spn.formula(latex=False) == ("K = β₈(β₁K₁ + β₂K₂) + β₉(β₃K₃ + β₄(β₁₀K_x + β₁₁K₄))∘(β₅K₅ + β₆K₆ + β₇K₇)")
    assert (spn.n_paths, spn.n_layers) == (11, 3)
    assert not spn.validate()
    assert spn.spec("k4") == inner.spec("k1")


def test_embedding_in_every_place() -> None:
    flat = SPN(Sum(Product(Kernel("linear")), Product(Kernel("cosine"))))
    assert SPN(Kernel("rbf")).embed("k1", flat) == flat
    below_sum = SPN(Sum(Kernel("rbf"), Product(Kernel("rbf", id="z")))).embed("k1", flat)
    below_sum.check()
    assert below_sum.formula(latex=False) == "K = β₄(β₃K₁ + β₂K₂) + β₁K_z"
    shared = Kernel("rbf", id="z")
    twice = SPN(Sum(Product(shared), Product(shared, Kernel("rbf", gamma=3)))).embed("z", flat)
    assert twice.n_paths == 4
    assert FIGURE.embed("k1", SPN(Product(Kernel("linear")))).n_paths == 8


BAD_CALLS: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: SPN("x"),
        (
            "An SPN is built from a Sum, Product or Kernel; found 'x' (text). Use SPN.from_dict, "
            "from_json or from_networkx for other forms."
        ),
    ),
    (lambda: Sum("k"), "A child in an expression must be a Sum, Product or Kernel; found 'k' (text)."),
    (lambda: Product(K, p="1"), "The p of a product must be a number; found '1' (text)."),
    (lambda: Product(K, p=None), "The p of a product must be a number; found nothing."),
    (lambda: Product(K, label=3), "A label must be non-empty Unicode text; found 3 (int)."),
    (lambda: Sum(id=""), "The id of a node must be non-empty Unicode text; found '' (text)."),
    (lambda: Kernel(3), "The name of a kernel must be non-empty Unicode text; found 3 (int)."),
    (
        lambda: Kernel("rbf", features="ab"),
        "The features of kernel 'rbf' must be a list of column names or positions; found 'ab' (text).",
    ),
    (
        lambda: Kernel("rbf", gamma=object()),
        (
            "Parameter 'gamma' of kernel 'rbf' must be text, a finite number, true, false, nothing, or a "
            "list of these; found a value of type object."
        ),
    ),
    (
        lambda: SPN(Product(Kernel("rbf", id="a"), Kernel("rbf", id="a"))),
        "The id 'a' is given to two nodes; every node needs its own.",
    ),
    (
        lambda: SPN(Product(S, S)),
        "The node 's1' stands twice below the same node; put a product above one of them.",
    ),
    (lambda: FIGURE.kind("zz"), "There is no node 'zz' in this structure."),
    (lambda: FIGURE.p("k1"), "Only a product has a p; the node 'k1' is a kernel."),
    (lambda: FIGURE.spec("p1"), "Only a kernel has a specification; the node 'p1' is a product."),
    (lambda: FIGURE.with_p({"s1": 2}), "Only a product has a p; the node 's1' is a sum."),
    (lambda: FIGURE.with_p("sparse"), "The p of product 'p8' must be a number; found 'sparse' (text)."),
    (
        lambda: FIGURE.replace("p1", q=2),
        "The product 'p1' cannot carry 'q'; expected only id, kind, label, p, x, y.",
    ),
    (
        lambda: FIGURE.replace("s1", p=2),
        "The sum 's1' cannot carry 'p'; expected only id, kind, label, x, y.",
    ),
    (
        lambda: FIGURE.embed("p1", FIGURE),
        "Only a kernel can be replaced by a structure; the node 'p1' is a product.",
    ),
    (lambda: FIGURE.embed("k1", 3), "Only an SPN can be embedded; found 3 (int)."),
    (
        lambda: SPN(Product(K, p=math.nan)).to_json(),
        "The p of 'p1' is not a finite number and cannot be written to JSON.",
    ),
    (
        lambda: FIGURE.expanded(limit=7),
        "The path-dependent view would have 8 products, one per path; at most 7 are drawn.",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_a_bad_call_gets_one_clear_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(StructureError) as caught:
        call()
    assert str(caught.value) == sentence
