from collections.abc import Callable
from typing import Any

import pytest

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel, KernelSpec
from spnmkl.structure import templates as t

k: Any = Kernel("rbf")
LINEAR, COSINE = Kernel("linear", label="lin"), Kernel("cosine", label="cos")
VIEWS = {"size": ["height", "width"], "colour": [2, 3, 4]}

FORMULAS: list[tuple[SPN, int, str]] = [
    (t.flat([LINEAR, COSINE]), 2, "K = β_lin K_lin + β_cos K_cos"),
    (t.flat(VIEWS), 2, "K = β_size K_size + β_colour K_colour"),
    (t.flat(["a", "b"]), 2, "K = β_a K_a + β_b K_b"),
    (
        t.flat({"v": [0]}, prototype=[Kernel("linear"), Kernel("rbf", gamma=2)]),
        2,
        "K = β[v linear] K[v linear] + β[v rbf(gamma=2)] K[v rbf(gamma=2)]",
    ),
    (
        t.grouped({"A": [LINEAR, COSINE], "B": ["x"], "C": VIEWS}),
        5,
        "K = β_A (β_lin K_lin + β_cos K_cos) + β_B K_x + β_C (β_size K_size + β_colour K_colour)",
    ),
    (
        t.product_of_sums({"A": [LINEAR, COSINE], "B": VIEWS}),
        4,
        "K = β₁(β_lin K_lin + β_cos K_cos)∘(β_size K_size + β_colour K_colour)",
    ),
    (
        t.hierarchy(["car__wheel__hub", "car__wheel__rim", "car__door", "tree__leaf__vein"]),
        4,
        "K = β_car (β_car__wheel (β_car__wheel__hub K_car__wheel__hub + β_car__wheel__rim K_car__wheel__rim)"
        " + β_car__door K_car__door) + β_tree__leaf__vein K_tree__leaf__vein",
    ),
    (t.hierarchy({"s.a": [0], "s.b": [1]}, separator="."), 2, "K = β[s.a] K[s.a] + β[s.b] K[s.b]"),
    (
        t.hierarchy(["a", "a__b", "a__c"]),
        3,
        "K = β_a K_a + β_a__b K_a__b + β_a__c K_a__c",
    ),
    (t.pairwise_products(["a", "b", "c"]), 3, "K = β₁K_a∘K_b + β₂K_a∘K_c + β₃K_b∘K_c"),
    (t.pairwise_products([LINEAR, COSINE], include_single=True), 3, "K = β₁K_lin + β₂K_cos + β₃K_lin∘K_cos"),
    (t.polynomial(LINEAR, 3), 3, "K = β₁K_lin + β₂K_lin∘K_lin + β₃K_lin∘K_lin∘K_lin"),
    (t.taylor_exp(Kernel("rbf"), 2), 2, "K = β₁K_rbf + β₂K_rbf∘K_rbf"),
    (t.figure1(), 8, "K = β₈(β₁K₁ + β₂K₂) + β₉(β₃K₃ + β₄K₄)∘(β₅K₅ + β₆K₆ + β₇K₇)"),
    (
        t.figure1(list("abcdefg")),
        8,
        "K = β₈(β₁K_a + β₂K_b) + β₉(β₃K_c + β₄K_d)∘(β₅K_e + β₆K_f + β₇K_g)",
    ),
]


@pytest.mark.parametrize(("spn", "n_paths", "formula"), FORMULAS)
def test_every_template_draws_its_formula(spn: SPN, n_paths: int, formula: str) -> None:
    assert not [issue for issue in spn.validate() if issue.severity == "error"]
    assert spn.formula(latex=False) == formula
    assert spn.n_paths == n_paths


def test_the_prototype_is_applied_to_the_columns_of_each_view() -> None:
    spn = t.flat(VIEWS, prototype=Kernel("laplacian", gamma=2, normalize="none"))
    assert [spn.spec(leaf) for leaf in spn.kernels] == [
        KernelSpec("laplacian", (("gamma", 2),), ("height", "width"), "none"),
        KernelSpec("laplacian", (("gamma", 2),), (2, 3, 4), "none"),
    ]


def test_p_reaches_every_product() -> None:
    groups = {"A": ["a", "b"], "B": ["c"]}
    drawn = [
        t.flat(VIEWS, p=2),
        t.grouped(groups, p=2),
        t.product_of_sums(groups, p=2),
        t.hierarchy(["a__b", "a__c", "d"], p=2),
        t.pairwise_products(VIEWS, include_single=True, p=2),
        t.polynomial(LINEAR, 3, p=2),
        t.taylor_exp(LINEAR, 3, p=2),
        t.figure1(p=2),
    ]
    assert len(drawn) == len(t.TEMPLATES)
    for spn in drawn:
        assert {spn.p(v) for v in spn.products} == {2.0}


def test_the_registry_lists_every_template() -> None:
    arguments: dict[str, Any] = {"kernels": list("abcdefg"), "groups": {"A": ["a"], "B": ["b"]}, "kernel": k}
    for name, template in t.TEMPLATES.items():
        assert template.name == name == template.function.__name__
        assert template.description.endswith(".")
        template.function(arguments[template.takes]).check()
        template.sketch().check()
    assert t.TEMPLATES["hierarchy"].sketch().n_layers > t.TEMPLATES["grouped"].sketch().n_layers
    assert len({str(template.sketch().to_dict()) for template in t.TEMPLATES.values()}) == len(t.TEMPLATES)


def test_a_name_of_many_parts_needs_no_recursion() -> None:
    deep = ["__".join(["a"] * depth) for depth in (1, 3000, 3001)]
    assert t.hierarchy(deep).n_paths == 3


BAD_CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: t.flat([]), "The template needs at least 1 kernel; found 0."),
    (
        lambda: t.flat("ab"),
        (
            "Kernels must be a list of Kernel objects or columns, or a mapping from view names to "
            "columns; found 'ab' (text)."
        ),
    ),
    (
        lambda: t.flat(3),
        (
            "Kernels must be a list of Kernel objects or columns, or a mapping from view names to "
            "columns; found 3 (int)."
        ),
    ),
    (
        lambda: t.flat(["a", k]),
        "Kernels and columns cannot be mixed in one list; put each column in a Kernel.",
    ),
    (lambda: t.flat(["a"], prototype=[]), "The prototype must be a Kernel or a list of at least one Kernel."),
    (
        lambda: t.flat({"v": "ab"}),
        "The features of kernel 'rbf' must be a list of column names or positions; found 'ab' (text).",
    ),
    (
        lambda: t.grouped({}),
        "Groups must be a mapping from at least one name to its kernels or columns; found none.",
    ),
    (
        lambda: t.grouped([k]),
        ("Groups must be a mapping from at least one name to its kernels or columns; found a value of type list."),
    ),
    (lambda: t.grouped({"g": []}), "The template needs at least 1 kernel; found 0."),
    (
        lambda: t.hierarchy([k]),
        "A hierarchy places kernels by their labels; <Kernel: rbf> has none: give label=.",
    ),
    (
        lambda: t.hierarchy(["a"], separator=""),
        "The separator of a hierarchy must be non-empty Unicode text; found '' (text).",
    ),
    (lambda: t.pairwise_products([k]), "The template needs at least 2 kernels; found 1."),
    (
        lambda: t.pairwise_products([str(i) for i in range(300)]),
        "All pairs of 300 kernels make 45,151 nodes; at most 20,000 are allowed.",
    ),
    (lambda: t.polynomial("rbf", 2), "Powers are taken of one Kernel; found 'rbf' (text)."),
    (lambda: t.polynomial(k, 0), "The degree must be a whole number from 1 to 50; found 0 (int)."),
    (lambda: t.taylor_exp(k, 51), "The degree must be a whole number from 1 to 50; found 51 (int)."),
    (lambda: t.taylor_exp(k, 2.0), "The degree must be a whole number from 1 to 50; found 2.0 (float)."),
    (lambda: t.figure1([k, k]), "Figure 1 has 7 kernels; 2 were given."),
    (
        lambda: t.flat([1.5]),
        "A feature of kernel 'rbf' must be a column name or a position from 0; found 1.5 (float).",
    ),
]


@pytest.mark.parametrize(("call", "sentence"), BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_a_bad_call_gets_one_clear_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(StructureError) as caught:
        call()
    assert str(caught.value) == sentence
