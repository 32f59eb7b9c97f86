from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structure_strategies import drawings, valid_structures

from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.groups import PART, Group, find_groups, shown

quick = settings(max_examples=100, deadline=None, derandomize=True)


def image() -> SPN:
    quarters = {
        name: [Product(Kernel("rbf", gamma="median", features=[f"{name} {k}"])) for k in range(16)]
        for name in ("top left", "top right", "bottom left", "bottom right")
    }
    return SPN(Sum(*(Product(Sum(*pixels), label=name) for name, pixels in quarters.items()), label="image"))


def check(spn: SPN, groups: tuple[Group, ...]) -> None:
    assert len({group.id for group in groups}) == len(groups) and not {group.id for group in groups} & set(spn.nodes)
    for group in groups:
        inside = set(group.members)
        assert group.parent not in inside and inside.issuperset(group.entries) and len(inside) == len(group.members)
        assert all(group.parent in spn.parents(v) for v in group.entries)
        for v in group.members:
            outside = set(spn.parents(v)) - inside
            assert outside == ({group.parent} if v in group.entries else set())
    for one, other in combinations(groups, 2):
        a, b = set(one.members), set(other.members)
        assert b <= a or not a & b, "those that hold others come first"


@quick
@given(spn=valid_structures())
def test_nothing_hidden_is_shared_with_what_stays_visible(spn: SPN) -> None:
    check(spn, find_groups(spn))


@quick
@given(drawing=drawings(), data=st.data())
def test_any_drawing_has_groups_and_shows_all_that_is_not_hidden(
    drawing: dict[str, object], data: st.DataObject
) -> None:
    spn = SPN.from_dict(drawing)
    groups = find_groups(spn)
    check(spn, groups)
    ids = [group.id for group in groups]
    closed = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    view = shown(spn, closed)
    hidden = {v for group in groups if group.id in closed for v in group.members}
    assert set(view.children) == set(spn.nodes) - hidden | set(view.closed)
    assert set(view.inside) == hidden and set(view.closed) <= closed
    assert set(view.closed).isdisjoint(view.opened)


def test_all_below_a_sum_is_one_group() -> None:
    groups = find_groups(image())
    assert [group.text for group in groups] == [
        "16 × rbf · top left",
        "16 × rbf · top right",
        "16 × rbf · bottom left",
        "16 × rbf · bottom right",
    ]
    assert groups[1].sub == "top right 0 … top right 15, γ = median"
    spn = image()
    assert groups[1].parent == spn.products[17] and spn.label(groups[1].parent) == "top right"
    assert len(groups[1].members) == 33


def test_a_group_is_called_by_its_sum_and_else_by_the_product_above() -> None:
    def named(sum_label: str | None, product_label: str | None) -> str:
        below = Sum(*(Product(Kernel("rbf")) for _ in range(4)), label=sum_label)
        (group,) = find_groups(SPN(Sum(Product(below, label=product_label), Product(Kernel("linear")))))
        return group.text

    assert named("colour", "weight") == named("colour", None) == "4 × rbf · colour"
    assert named(None, "weight") == "4 × rbf · weight"
    assert named(None, None) == "4 × rbf"


def test_like_kernels_of_one_sum_are_a_run_wherever_they_stand() -> None:
    kernels = [Kernel(name, features=[f"c{k}"]) for k in range(7) for name in ("rbf", "linear")]
    spn = SPN(Sum(*map(Product, kernels), Product(Kernel("cosine"), Kernel("rbf"))))
    assert [(group.text, group.sub) for group in find_groups(spn)] == [
        ("7 × rbf", "c0 … c6"),
        ("7 × linear", "c0 … c6"),
    ]
    few = SPN(Sum(*map(Product, kernels[:10])))
    assert find_groups(few) == (), "five of each can be read"


def test_kernels_of_other_settings_are_a_run_of_their_own_or_of_one_name() -> None:
    alike = [Product(Kernel("rbf", gamma=0.1, features=[k])) for k in range(6)]
    others = [Product(Kernel("rbf", gamma=float(k + 1), features=[k])) for k in range(6)]
    found = find_groups(SPN(Sum(*alike, *others)))
    assert [(group.text, group.sub) for group in found] == [
        ("6 × rbf", "column 0 … column 5, γ = 0.1"),
        ("6 × rbf", "column 0 … column 5"),
    ]


def test_kernels_that_others_use_stay_visible() -> None:
    spn = t.pairwise_products([f"c{k}" for k in range(8)])
    (group,) = find_groups(spn)
    assert group.text == "28 products" and set(group.members) == set(spn.products)
    view = shown(spn, {group.id})
    assert view.children[spn.root] == (group.id,) and set(view.children[group.id]) == set(spn.kernels)


def test_a_long_run_is_divided_and_a_deletion_moves_no_boundary() -> None:
    spn = t.flat([f"gene {k}" for k in range(300)])
    whole, *parts = find_groups(spn)
    assert whole.text == "300 × rbf" and {len(part.entries) for part in parts} == {PART}
    assert [v for part in parts for v in part.members] == list(whole.members)
    gone = {"p30", "k30"}
    described = spn.to_dict()
    smaller = SPN.from_dict(
        {
            **described,
            "nodes": [node for node in described["nodes"] if node["id"] not in gone],
            "edges": [edge for edge in described["edges"] if gone.isdisjoint(edge)],
        }
    )
    assert [group.id for group in find_groups(smaller)] == [group.id for group in find_groups(spn)]


def test_ids_do_not_change_with_edits_elsewhere() -> None:
    spn = image()
    ids = [group.id for group in find_groups(spn)]
    changed = spn.replace("k3", kernel="linear", params=None).replace(spn.products[17], label="right top")
    assert set(ids) < {group.id for group in find_groups(changed)}, "there is a run of fifteen now"
    described = spn.to_dict()
    described["nodes"].append({"id": "p999", "kind": "product"})
    described["edges"].append([spn.root, "p999"])
    assert [group.id for group in find_groups(SPN.from_dict(described))] == ids


def test_groups_nest() -> None:
    inner = Sum(*(Product(Kernel("rbf", features=[k])) for k in range(5)))
    spn = SPN(
        Sum(Product(Sum(Product(inner, id="deep"), Product(Kernel("linear")), id="outer")), Product(Kernel("rbf")))
    )
    outer, within = find_groups(spn)
    assert set(within.members) < set(outer.members) and within.parent == "deep"
    assert outer.text == "6 kernels" and outer.sub == "5 rbf, 1 linear"
    assert list(shown(spn, {outer.id, within.id}).closed) == [outer.id]
    assert list(shown(spn, {within.id}).closed) == [within.id]
    assert list(shown(spn, {within.id}).opened) == [outer.id]


def test_a_node_may_be_called_like_a_group() -> None:
    spn = SPN(Sum(*(Product(Kernel("rbf", features=[k]), id="g:" * (k == 1) + f"p{k}") for k in range(9)), id="g:p0"))
    (group,) = find_groups(spn)
    assert group.id not in spn.nodes
    assert set(shown(spn, {group.id}).children) == {"g:p0", group.id}


@pytest.mark.parametrize("ids", [{"g:nothing"}, {"p1"}])
def test_unknown_groups_are_passed_over(ids: set[str]) -> None:
    assert shown(image(), ids) == shown(image())
