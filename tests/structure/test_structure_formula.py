import pytest
from hypothesis import given, settings
from structure_strategies import valid_structures

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure.templates import figure1, flat

quick = settings(max_examples=50, deadline=None, derandomize=True)


def test_figure_1_in_latex_and_in_plain_text() -> None:
    assert figure1().formula(latex=False) == ("K = β₈(β₁K₁ + β₂K₂) + β₉(β₃K₃ + β₄K₄)∘(β₅K₅ + β₆K₆ + β₇K₇)")
    assert figure1().formula() == (
        r"K = \beta_{8}(\beta_{1}K_{1} + \beta_{2}K_{2})"
        r" + \beta_{9}(\beta_{3}K_{3} + \beta_{4}K_{4})"
        r" \circ (\beta_{5}K_{5} + \beta_{6}K_{6} + \beta_{7}K_{7})"
    )


def test_products_below_products_are_bracketed() -> None:
    a, b, c = (Kernel("rbf", gamma=g) for g in (1, 2, 3))
    assert SPN(Product(Product(a, b), c)).formula(latex=False) == "K = β₁(β₂K₁∘K₂)∘K₃"


def test_labels_name_symbols_where_they_are_clear() -> None:
    left, right = Kernel("rbf", label="left eye"), Kernel("linear", label="nose")
    spn = SPN(Sum(Product(left, label="same"), Product(right, label="same"), Product(left, right, label="50_%")))
    assert spn.formula(latex=False) == "K = β₁K[left eye] + β₂K_nose + β[50_%] K[left eye]∘K_nose"
    assert spn.formula() == (
        r"K = \beta_{1}K_{\text{left eye}} + \beta_{2}K_{\text{nose}}"
        r" + \beta_{\text{50\_\%}}K_{\text{left eye}} \circ K_{\text{nose}}"
    )


def test_a_label_never_stands_for_two_kernels() -> None:
    spn = SPN(Sum(Product(Kernel("rbf", id="a", label="b")), Product(Kernel("linear", id="b"))))
    assert spn.formula(latex=False) == "K = β₁K_a + β₂K_b"


def test_long_formulas_are_cut_with_their_brackets_closed() -> None:
    assert figure1().formula(latex=False, limit=5) == "K = β₈(β₁K₁ + …) + …"
    assert figure1().formula(latex=False, limit=4) == "K = β₈(β₁…) + …"
    assert flat([f"c{i}" for i in range(2000)]).formula(latex=False).endswith(" K_c148 + β_c149 …")


@quick
@given(valid_structures())
def test_brackets_always_balance(spn: SPN) -> None:
    for limit in (1, 5, 300):
        formula = spn.formula(latex=False, limit=limit)
        assert formula.count("(") == formula.count(")")


def test_the_expanded_view_of_figure_1() -> None:
    spn = figure1().expanded()
    assert not spn.validate()
    assert [spn.label(v) for v in spn.products][:3] == [
        "β₈¹⁄² β₁¹⁄²",
        "β₈¹⁄² β₂¹⁄²",
        "β₉¹⁄² β₃¹⁄⁴ β₅¹⁄⁴",
    ]
    written = spn.formula(latex=False)
    assert written.startswith("K = β₈¹⁄² β₁¹⁄²K₁ + β₈¹⁄² β₂¹⁄²K₂ + β₉¹⁄² β₃¹⁄⁴ β₅¹⁄⁴K₃∘K₅ + ")
    assert written.count(" + ") == 7
    assert spn.formula().startswith(r"K = \text{β₈¹⁄² β₁¹⁄²}K_{1} + ")


@quick
@given(valid_structures(max_paths=50))
def test_the_expanded_view_multiplies_the_kernels_of_each_path(spn: SPN) -> None:
    expanded = spn.expanded()
    expanded.check()
    assert (expanded.n_paths, expanded.n_layers) == (spn.n_paths, 1)
    for path, product in zip(spn.paths(), expanded.products, strict=True):
        leaves = expanded.children(product)
        assert [expanded.label(leaf) for leaf in leaves] == [spn.label(leaf) for leaf in path.leaves]
        assert [expanded.spec(leaf) for leaf in leaves] == [spn.spec(leaf) for leaf in path.leaves]


def test_the_expanded_view_of_too_many_paths_is_refused() -> None:
    many = SPN(Product(*(Sum(*(Product(Kernel("rbf", gamma=g + 1)) for g in range(10))) for _ in range(30))))
    with pytest.raises(StructureError) as caught:
        many.expanded()
    assert str(caught.value) == (
        "The path-dependent view would have more than 1,000,000,000,000 products, one per path;"
        " at most 1,000 are drawn."
    )
