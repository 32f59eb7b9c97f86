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
        " + β_colour (β_colour__red K_colour__red + β_colour__blue K_colour__blue) + β_age K_age",
    ),
    ("product_of_sums", ["a__x"], ["b__y"], "K = β₁(β_a__x K_a__x)∘(β_b__y K_b__y)"),
    ("pairwise_products", PLAIN, [], "K = β₁K_height∘K_width"),
    ("hierarchy", ["a__x", "a__y", "b"], [], "K = β_a (β_a__x K_a__x + β_a__y K_a__y) + β_b K_b"),
    ("polynomial", PLAIN, [], "K = β₁K_linear + β₂K_linear∘K_linear + β₃K_linear∘K_linear∘K_linear"),
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
    assert dict(widths.spec(widths.kernels[0]).params) == {"gamma": "0.0625*median"}


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


def test_views_given_by_hand() -> None:
    views = {"size": ["height", "width"], "gone": ["absent"]}
    assert fill_template("flat", [*PLAIN, "age"], [], views).formula(latex=False) == "K = β_size K_size + β_age K_age"
    nested = fill_template("hierarchy", [*PLAIN, "age"], [], views)
    assert {nested.label(leaf) for leaf in nested.kernels} == {"size__height", "size__width", "age"}
    with pytest.raises(StructureError) as refused:
        fill_template("grouped", PLAIN, [], {})
    assert str(refused.value) == (
        "Template 'grouped' needs views, groups of columns that belong together, but there are none; make some, or use "
        "flat."
    )


MANY = [f"g{k}" for k in range(20_000)]


@pytest.mark.parametrize("views", [None, {"a": MANY[:9_000]}, {"a": MANY[:9_000], "b": MANY[9_000:]}])
@pytest.mark.parametrize("name", TEMPLATES)
def test_many_columns_make_a_structure_that_can_be_drawn(name: str, views: dict[str, list[str]] | None) -> None:
    if views is None and TEMPLATES[name].takes == "groups":
        return
    spn = fill_template(name, MANY, ["colour", "shape"], views)
    spn.check()
    assert len(spn.nodes) <= 200
    assert {feature for leaf in spn.kernels for feature in spn.spec(leaf).features or ()} >= set(MANY)


def test_an_rbf_and_a_linear_kernel_stand_for_many_columns() -> None:
    spn = fill_template("flat", MANY[:40], ["colour"])
    assert [spn.label(leaf) for leaf in spn.kernels] == ["rbf", "linear", "text"]
    assert [dict(spn.spec(leaf).params) for leaf in spn.kernels] == [{"gamma": "median"}, {}, {}]


@pytest.mark.parametrize("name", ["grouped", "product_of_sums", "hierarchy"])
def test_one_wide_view_makes_all_views_alike(name: str) -> None:
    spn = fill_template(name, [*PLAIN, *MANY[:40]], [], {"size": PLAIN, "genes": MANY[:40]})
    kinds = [(spn.spec(leaf).kernel, len(spn.spec(leaf).features or ())) for leaf in spn.kernels]
    assert kinds == [("rbf", 2), ("linear", 2), ("rbf", 40), ("linear", 40)]


@pytest.mark.parametrize("name", [name for name in TEMPLATES if name != "figure1"])
def test_matrices_fill_templates_too(name: str) -> None:
    spn = fill_template(name, matrices=["K1", "K2"])
    spn.check()
    assert {spn.spec(leaf).kernel for leaf in spn.kernels} == {"precomputed"}
    assert {spn.label(leaf) for leaf in spn.kernels} <= {"K1", "K2"}
