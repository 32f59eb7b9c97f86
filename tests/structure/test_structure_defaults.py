"""The drawing of somebody who has not drawn one."""

import pytest

from spnmkl import StructureError
from spnmkl.structure.defaults import FEWER_WIDTHS, MANY_VIEWS, WIDTHS, Part, by_width, default_drawing, each_alone

BLOOD, SCAN = Part("blood", ("iron", "salt")), Part("scan", ("area", "mass", "edge"))
WORDS, SEX = Part("notes", ("a", "b", "c"), "angles"), Part("sex", ("sex",), "categories")


def kinds(spn):
    return [spn.spec(leaf).kernel for leaf in spn.kernels]


@pytest.mark.parametrize("several", [True, False])
@pytest.mark.parametrize(
    "parts", [[BLOOD], [BLOOD, SCAN], [BLOOD, WORDS, SEX], [SEX], [WORDS, Part("given", None, "matrix")]]
)
def test_every_column_takes_part_in_a_flat_sum(parts, several):
    spn = default_drawing(parts, several=several)
    spn.check()
    seen = {c for leaf in spn.kernels for c in spn.spec(leaf).features or ()}
    if "all" not in [spn.label(leaf) for leaf in spn.kernels]:
        assert seen == {c for part in parts for c in part.columns or ()}
    assert spn.n_layers == 1 and spn.n_paths == len(spn.kernels)
    assert len({spn.label(leaf) for leaf in spn.kernels}) == len(spn.kernels)


def test_kernels_suit_the_columns():
    assert kinds(default_drawing([Part("")])) == [*["rbf"] * len(WIDTHS), "linear"]
    assert kinds(default_drawing([Part("")], several=False)) == ["rbf", "linear"]
    assert kinds(default_drawing([WORDS])) == ["cosine", "rbf"]
    assert kinds(default_drawing([SEX])) == ["hamming"]
    assert kinds(default_drawing([Part("given", None, "matrix")])) == ["precomputed"]


def test_several_views_have_a_kernel_over_all_numbers_beside_their_own():
    spn = default_drawing([BLOOD, SCAN, SEX])
    across = [leaf for leaf in spn.kernels if spn.label(leaf).startswith("all")]
    assert len(across) == len(WIDTHS)
    assert {spn.spec(leaf).features for leaf in across} == {("iron", "salt", "area", "mass", "edge")}
    assert len(spn.kernels) == 2 * (len(FEWER_WIDTHS) + 1) + 1 + len(WIDTHS)
    many = default_drawing([Part(f"v{k}", (f"x{k}",)) for k in range(MANY_VIEWS)])
    assert len(many.kernels) == 2 * MANY_VIEWS + len(WIDTHS), "one width for each of many views"
    named = default_drawing([BLOOD, Part("all", ("x",))])
    assert "all of it" in [named.label(leaf) for leaf in named.kernels]


def test_widths_are_words_for_the_training_rows_or_multiples_of_what_is_given():
    spn = default_drawing([Part("")])
    assert dict(spn.spec(spn.kernels[2]).params)["gamma"] == "0.25*median"
    assert dict(default_drawing([Part("")], 8.0).spec(spn.kernels[2]).params)["gamma"] == 2.0


def test_each_kernel_alone_keeps_its_ids_and_sees_everything():
    spn = default_drawing([BLOOD, SCAN])
    found = each_alone(spn)
    assert list(found) == [spn.label(leaf) for leaf in spn.kernels if spn.spec(leaf).features is None]
    for label, one in found.items():
        one.check()
        (leaf,) = one.kernels
        assert one.n_paths == 1 and spn.spec(leaf) == one.spec(leaf) and spn.label(leaf) == label
    assert each_alone(default_drawing([BLOOD, SEX])) == {}, "no kernel stands for categories"


def test_kernels_alone_stand_by_width_with_the_linear_one_as_the_widest():
    widths, others = by_width(each_alone(default_drawing([Part("")])).values())
    labels = [spn.label(spn.kernels[0]) for spn in widths]
    assert labels == ["linear", "rbf 1/64", "rbf 1/16", "rbf 1/4", "rbf", "rbf 4"]
    assert others == []
    widths, others = by_width(each_alone(default_drawing([Part("words", ("a", "b"), "angles")])).values())
    assert [spn.spec(spn.kernels[0]).kernel for spn in (*widths, *others)] == ["rbf", "cosine"] and len(widths) == 1


def test_without_columns_there_is_no_drawing():
    with pytest.raises(StructureError, match="needs columns or matrices"):
        default_drawing([])
