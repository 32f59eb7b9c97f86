"""Templates filled with the columns of a table."""

import pytest

from spnmkl.data import fill_template, group_by_prefix
from spnmkl.errors import StructureError
from spnmkl.structure.templates import TEMPLATES

PLAIN = ["height", "width"]
VIEWS = ["size__height", "size__width", "colour__red", "colour__blue", "age"]


def test_groups_come_from_prefixes() -> None:
    assert group_by_prefix(VIEWS) == {"size": VIEWS[:2], "colour": VIEWS[2:4], "age": ["age"]}
    assert group_by_prefix(PLAIN) == {}


FORMULAS = [
    ("flat", PLAIN, [], "K = β_height K_height + β_width K_width"),
    ("flat", VIEWS, [], "K = β_size K_size + β_colour K_colour + β_age K_age"),
    ("flat", ["v__a"], ["v__b"], "K = β_v K_v + β[v text] K[v text]"),
    (
        "grouped",
        VIEWS,
        [],
        "K = β_size (β_size__height K_size__height + β_size__width K_size__width)"
        " + β_colour (β_colour__red K_colour__red + β_colour__blue K_colour__blue) + β7(β8K_age)",
    ),
    ("product_of_sums", ["a__x"], ["b__y"], "K = β1(β_a__x K_a__x)∘(β_b__y K_b__y)"),
    ("pairwise_products", PLAIN, [], "K = β1K_height∘K_width"),
    ("hierarchy", ["a__x", "a__y", "b"], [], "K = β_a (β_a__x K_a__x + β_a__y K_a__y) + β_b K_b"),
    ("polynomial", PLAIN, [], "K = β1K_linear + β2K_linear∘K_linear + β3K_linear∘K_linear∘K_linear"),
]


@pytest.mark.parametrize(("name", "numeric", "text", "formula"), FORMULAS)
def test_formulas(name: str, numeric: list[str], text: list[str], formula: str) -> None:
    assert fill_template(name, numeric, text).formula(latex=False) == formula


@pytest.mark.parametrize("name", TEMPLATES)
def test_every_template_can_be_filled_and_is_valid(name: str) -> None:
    fill_template(name, VIEWS, ["size__name"]).check()


def test_text_gets_the_hamming_kernel() -> None:
    spn = fill_template("flat", ["height"], ["colour"])
    assert {spn.label(leaf): spn.spec(leaf).kernel for leaf in spn.kernels} == {"height": "rbf", "colour": "hamming"}


def test_figure1_takes_seven_columns_or_seven_widths() -> None:
    seven = fill_template("figure1", list("abcdefg"))
    assert [seven.spec(leaf).features for leaf in seven.kernels] == [(c,) for c in "abcdefg"]
    widths = fill_template("figure1", ["a", "b"], ["c"])
    assert {widths.spec(leaf).features for leaf in widths.kernels} == {("a", "b")}
    assert dict(widths.spec(widths.kernels[0]).params) == {"gamma": 0.005}


@pytest.mark.parametrize("name", ["figure1", "polynomial", "taylor_exp"])
def test_some_need_no_columns(name: str) -> None:
    assert all(fill_template(name).spec(leaf).features is None for leaf in fill_template(name).kernels)


@pytest.mark.parametrize(
    ("name", "numeric", "text", "sentence"),
    [
        (
            "flet",
            PLAIN,
            [],
            f"There is no template 'flet'; choose one of {', '.join(TEMPLATES)}.",
        ),
        ("flat", [], [], "Template 'flat' needs columns to fill it with; name a table that has them."),
        (
            "grouped",
            PLAIN,
            [],
            "Template 'grouped' groups columns by the part of their name before '__', but no column has one; rename "
            "them, such as colour__red, or use flat.",
        ),
        (
            "polynomial",
            [],
            ["colour"],
            "Template 'polynomial' needs numeric columns, but all columns are text; use flat.",
        ),
    ],
)
def test_refused_with_a_sentence(name: str, numeric: list[str], text: list[str], sentence: str) -> None:
    with pytest.raises(StructureError) as refused:
        fill_template(name, numeric, text)
    assert str(refused.value) == sentence
