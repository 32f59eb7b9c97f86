import json
from itertools import combinations, product
from time import thread_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structure.structure_strategies import drawings, valid_structures

from spnmkl.errors import ParameterError
from spnmkl.export import fitting, scene
from spnmkl.export.closing import _opened_while, making_room
from spnmkl.export.curves import Boxes, curve, passed
from spnmkl.export.looks import GroupLook, NodeLook, Scene
from spnmkl.export.themes import THEMES, Theme, mixed
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.groups import Group, find_groups
from spnmkl.structure.layout import arranged
from spnmkl.structure.nodes import KINDS

quick = settings(max_examples=60, deadline=None, derandomize=True)
SCREEN = (1000.0, 600.0)  # what a canvas has on a screen of 1366 × 768


def flat(n: int) -> SPN:
    return t.flat([Kernel("rbf", gamma="median", features=[f"pixel_{k}"], label=f"pixel {k}") for k in range(n)])


def grouped(n: int, views: int) -> SPN:
    names = {f"view {j}": [f"column {j}_{k}" for k in range(n // views)] for j in range(views)}
    return t.grouped(names, prototype=Kernel("rbf", gamma="median"))


SIZES = {
    **{f"flat {n}": flat(n) for n in (3, 9, 16, 64, 300)},
    "grouped 9": grouped(9, 3),
    "grouped 16": grouped(16, 4),
    "grouped 64": grouped(64, 4),
    "grouped 64 in 16": grouped(64, 16),
    "grouped 300": grouped(300, 4),
    "grouped 300 in 30": grouped(300, 30),
    "pairs": t.pairwise_products([f"c{k}" for k in range(20)]),
}


def boxes(table: Scene) -> list[tuple[float, float, float, float]]:
    return [
        (look.x - look.width / 2, look.y - look.height / 2, look.x + look.width / 2, look.y + look.height / 2)
        for look in table.looks
    ]


def overlaps(table: Scene) -> int:
    return sum(a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for a, b in combinations(boxes(table), 2))


@pytest.mark.parametrize("name", SIZES)
def test_at_fit_every_text_can_be_read(name: str) -> None:
    spn = SIZES[name]
    closed = fitting(spn, *SCREEN)
    table = scene(arranged(spn, closed), closed=closed)
    assert table.text_px(*SCREEN) >= 11
    scale = min(1.0, *(there / needed for there, needed in zip(SCREEN, table.size, strict=True)))
    assert all(text.size * scale >= 11 for look in table.looks for text in look.texts)
    assert overlaps(table) == 0


@pytest.mark.parametrize("name", SIZES)
def test_the_bounds_hold_every_text(name: str) -> None:
    spn = SIZES[name]
    table = scene(spn, closed=fitting(spn, *SCREEN), beta=dict.fromkeys(spn.products, 0.123))
    left, top, right, bottom = table.bounds
    for look in table.looks:
        for text in look.texts:
            a, b, c, d = text.bounds(look.x, look.y)
            assert left <= a and top <= b and c <= right and d <= bottom


def test_what_can_be_read_stays_open() -> None:
    for name in ("flat 3", "flat 9", "flat 16", "flat 64", "grouped 9", "grouped 16"):
        assert fitting(SIZES[name], *SCREEN) == frozenset()


@pytest.mark.parametrize(("name", "actions"), [("flat 64", 2), ("grouped 64", 2), ("flat 300", 3), ("grouped 300", 3)])
def test_any_kernel_is_reached_in_few_actions(name: str, actions: int) -> None:
    """Opening a group is one action, choosing a kernel that can be read is one; others are closed to make room."""
    spn = SIZES[name]
    groups = find_groups(spn)
    for kernel in spn.kernels[::37]:
        closed = fitting(spn, *SCREEN)
        used = 1
        while kernel not in scene(spn, closed=closed).nodes:
            box = next(group for group in groups if group.id in closed and kernel in group.members)
            closed = fitting(spn, *SCREEN, opened=[box.id])
            used += 1
        assert used <= actions
        assert scene(spn, closed=closed).text_px(*SCREEN) >= 11


def test_fitting_is_quick() -> None:
    for spn in (SIZES["flat 300"], flat(999), grouped(950, 50)):
        start = thread_time()
        fitting(spn, *SCREEN)
        assert thread_time() - start < 8, "a second is wanted"


def test_few_drawings_are_tried_to_choose_what_to_close() -> None:
    for n, room in product((0, 1, 7, 40), (0, 1, 5, 40)):
        groups = [Group(f"g{k}", "s1", (f"p{k}",), (f"p{k}",), "", "") for k in range(n)]
        tried: list[frozenset[str]] = []

        def fits(closed: frozenset[str], n: int = n, room: int = room, tried: list[frozenset[str]] = tried) -> bool:
            tried.append(closed)
            return n - len(closed) <= room

        left = _opened_while(fits, frozenset(group.id for group in groups), groups)
        assert left == {f"g{k}" for k in range(min(n, room), n)}, "as opening one after the other"
        assert len(tried) <= 14, "and not one after the other"


def test_opening_a_group_closes_others_only_where_text_would_be_too_small() -> None:
    spn = SIZES["grouped 64"]
    every = frozenset(group.id for group in find_groups(spn))
    first, second, *_ = sorted(every)
    one = making_room(spn, every, first, *SCREEN)
    assert one == every - {first}
    two = making_room(spn, one, second, *SCREEN)
    assert first in two and second not in two
    assert scene(spn, closed=two).text_px(*SCREEN) >= 11
    assert making_room(spn, one, second, 3000, 3000) == one - {second}


def passes(table: Scene) -> list[tuple[str, str]]:
    """The edges that run behind a box which is none of their ends."""
    looks: dict[str, NodeLook | GroupLook] = {**table.nodes, **{v: g for v, g in table.groups.items() if g.closed}}
    every = Boxes(looks)

    def foreign(edge: tuple[str, str]) -> list[bool]:
        return [v not in edge for v in looks]

    return [edge for edge, look in table.edges.items() if passed(look.points, every.sides[foreign(edge)]).any()]


def test_an_edge_goes_around_what_was_put_in_its_way() -> None:
    spn = arranged(t.figure1())
    start, end = spn.position("s1"), spn.position("p8")
    assert start and end
    described = spn.to_dict()
    for node in described["nodes"]:
        if node["id"] == "k7":
            node["x"], node["y"] = (start[0] + end[0] + 320) / 2, (start[1] + end[1]) / 2
        if node["id"] in ("p8", "s2", "p1", "p2", "k1", "k2"):
            node["x"] += 320  # there is room to go around
    table = scene(SPN.from_dict(described))
    boxes_of = Boxes(dict(table.nodes))
    direct = curve(table.nodes["s1"], table.nodes["p8"])
    assert passed(direct, boxes_of.sides[[boxes_of.at["k7"]]]).all(), "the shortest way is barred"
    assert ("s1", "p8") not in passes(table)
    way = table.edges["s1", "p8"].points
    assert way[0] == direct[0] and way[-1] == direct[-1]


@quick
@given(spn=valid_structures(), data=st.data())
def test_a_way_around_passes_nothing_new(spn: SPN, data: st.DataObject) -> None:
    """Whatever the places: an edge is as it would be alone, or passes no box at all."""
    spots = st.tuples(st.integers(-400, 400), st.integers(-300, 300))
    described = spn.to_dict()
    for node in described["nodes"]:
        node["x"], node["y"] = data.draw(spots)
    table = scene(SPN.from_dict(described))
    behind = set(passes(table))
    for (a, b), look in table.edges.items():
        assert len(look.points) == 4 or (a, b) not in behind


def test_long_names_above_neighbouring_circles_do_not_overlap() -> None:
    def branch(k: int) -> Product:
        name = f"transcriptome of the cohort {k}"
        return Product(Sum(*(Product(Kernel("rbf")) for _ in range(3)), label=f"sum of the {name}"), label=name)

    table = scene(SPN(Sum(*map(branch, range(3)), label="everything that was measured so far")))
    written = [
        text.bounds(look.x, look.y) for look in table.nodes.values() if look.kind != "kernel" for text in look.texts
    ]
    assert len(written) > 12
    assert not [
        (a, b) for a, b in combinations(written, 2) if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] - 0.5
    ]


def test_weights_and_values_of_neighbouring_rows_do_not_touch() -> None:
    for spn in (flat(9), SIZES["grouped 9"], t.figure1()):
        table = scene(spn, beta=dict.fromkeys(spn.products, 0.123))
        written = [
            text.bounds(look.x, look.y)
            for look in table.nodes.values()
            if look.kind == "product"
            for text in look.texts
        ]
        assert len(written) > 9
        touching = [
            (a, b)
            for a, b in combinations(written, 2)
            if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] - 0.5 and b[1] < a[3] - 0.5
        ]
        assert not touching


@quick
@given(spn=valid_structures(), data=st.data())
def test_no_boxes_overlap_in_an_arranged_scene(spn: SPN, data: st.DataObject) -> None:
    ids = [group.id for group in find_groups(spn)]
    closed = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    weights = data.draw(st.none() | st.floats(0, 5).map(lambda b: dict.fromkeys(spn.products, b)))
    assert overlaps(scene(spn, closed=closed, beta=weights)) == 0
    assert overlaps(scene(arranged(spn, closed), closed=closed)) == 0


@quick
@given(drawing=drawings(), data=st.data())
def test_any_drawing_has_a_scene(drawing: dict[str, object], data: st.DataObject) -> None:
    spn = SPN.from_dict(drawing)
    ids = [group.id for group in find_groups(spn)]
    closed = data.draw(st.sets(st.sampled_from(ids))) if ids else set()
    table = scene(spn, closed=closed, beta=dict.fromkeys(spn.products[::2], 0.0), path=spn.nodes[::2])
    shut = {v for v, group in table.groups.items() if group.closed}
    hidden = {v for group in table.groups.values() if group.closed for v in group.members}
    assert set(table.nodes) == set(spn.nodes) - hidden
    ends = {end for edge in table.edges for end in edge}
    assert ends <= set(table.nodes) | shut
    json.dumps(table.to_dict(), allow_nan=False)


def test_edges_run_from_the_right_of_a_parent_to_the_left_of_its_child() -> None:
    for name in ("flat 9", "flat 64", "grouped 16", "pairs"):
        table = scene(SIZES[name])
        for (a, b), edge in table.edges.items():
            one, other = table.nodes[a], table.nodes[b]
            assert edge.points[0] == (one.x + one.width / 2, one.y)
            assert edge.points[-1] == (other.x - other.width / 2, other.y)
            assert len(edge.points) % 3 == 1 and edge.d.startswith("M") and edge.d.count("C") == len(edge.points) // 3


def test_edges_to_further_columns_pass_between_the_lines() -> None:
    table = scene(SIZES["flat 64"])
    kernels = [look for look in table.nodes.values() if look.kind == "kernel"]
    for edge in table.edges.values():
        for (ax, ay), (bx, by) in zip(edge.points[3:-1:3], edge.points[6::3], strict=False):
            if ay == by:
                crossed = [k for k in kernels if ax < k.x < bx and abs(k.y - ay) < k.height / 2]
                assert crossed == []


@pytest.mark.parametrize("sizes", [[15] * 20, [16] * 4, [3 + (7 * j) % 40 for j in range(12)]])
def test_edges_to_columns_of_branches_pass_between_the_rows(sizes: list[int]) -> None:
    spn = t.grouped({f"view {j}": [f"gene {j}, {k}" for k in range(n)] for j, n in enumerate(sizes)})
    table = scene(spn)
    every = Boxes(dict(table.nodes))
    behind = spn.children(spn.root)
    assert len({round(table.nodes[v].x) for v in behind}) > 1
    for v in behind:
        others = [k for u, k in every.at.items() if u not in (v, spn.root)]
        assert not passed(table.edges[spn.root, v].points, every.sides[others], places=400).any()


def test_stored_places_are_kept_and_groups_without_one_are_arranged() -> None:
    spn = arranged(grouped(16, 4)).replace("s1", x=-500.0, y=3.0)
    assert (scene(spn).nodes["s1"].x, scene(spn).nodes["s1"].y) == (-500.0, 3.0)
    group = find_groups(spn)[0]
    table = scene(spn, closed={group.id})
    assert overlaps(table) == 0
    shut = arranged(spn, {group.id})
    look = scene(shut, closed={group.id}).groups[group.id]
    assert (look.x, look.y) == shut.position(group.members[0])
    assert overlaps(scene(shut)) == 0, "opened without a new arrangement"


def test_a_sum_shows_its_label_and_a_product_its_weight() -> None:
    spn = SPN(Sum(Product(Kernel("rbf", gamma="median", label="mean")), label="image"))
    nodes = scene(spn).nodes
    assert [text.text for text in nodes["s1"].texts] == ["image"]
    assert [text.text for text in nodes["p1"].texts] == ["β₁"]
    assert [text.text for text in nodes["k1"].texts] == ["rbf · mean", "γ = median"]
    trained = scene(spn, beta={"p1": 0.314}).nodes["p1"]
    assert [text.text for text in trained.texts] == ["β₁", "0.314"]


def test_a_group_shows_the_sum_of_its_weights() -> None:
    spn = flat(16)
    (group,) = find_groups(spn)
    look = scene(spn, closed={group.id}, beta=dict.fromkeys(spn.products, 0.075)).groups[group.id]
    assert look.value == "Σβ = 1.2" and look.texts[0].text == "16 × rbf, Σβ = 1.2"
    assert not look.dashed
    gone = scene(spn, closed={group.id}, beta=dict.fromkeys(spn.products, 0.0)).groups[group.id]
    assert gone.dashed and gone.ink == THEMES["light"].muted and "pruned" in gone.title
    one = scene(spn, closed={group.id}, beta=dict.fromkeys(spn.products, 0.0) | {"p3": 1.0})
    assert not one.groups[group.id].dashed and one.edges["s1", group.id].width == pytest.approx(5)


@pytest.mark.parametrize(("kernels", "whole"), [(22, True), (23, False)])
def test_names_stand_whole_where_there_is_room_and_always_in_what_is_told(kernels: int, whole: bool) -> None:
    name = "expression of the 36th gene, in log counts"
    spn = t.flat([Kernel("rbf", features=[f"x{k}"], label=f"{name} {k}" if k else name) for k in range(kernels)])
    look = scene(spn).nodes[spn.kernels[0]]
    assert (look.text == f"rbf · {name}") is whole and name in look.title
    assert look.texts[0].text == look.text


def test_a_line_below_a_weight_is_thin_and_a_weight_without_a_line_beside_its_circle() -> None:
    spn = t.flat(["a", "b"])
    table = scene(spn, beta={"p1": 9.0, "p2": 0.1})
    assert table.edges["s1", "p1"].width == pytest.approx(5) and table.edges["p1", "k1"].width < 2.5
    (lone,) = scene(SPN.from_dict({**spn.to_dict(), "edges": [["s1", "p1"], ["s1", "p2"]]})).nodes["p1"].texts
    assert (lone.text, lone.y) == ("β_a", 0) and lone.x > table.nodes["p1"].width / 2 - 1


def test_no_state_is_told_by_its_colour_alone() -> None:
    spn = t.figure1()
    path = list(spn.paths())[6]
    plain, table = scene(spn), scene(spn, path=path, faulty=["k1"], selected=["k2"], beta={"p5": 0.0})
    assert "!" in [text.text for text in table.nodes["k1"].texts]
    assert table.nodes["k2"].stroke > plain.nodes["k2"].stroke
    assert table.nodes["p9"].stroke > plain.nodes["p9"].stroke and table.edges["s1", "p9"].width == 3
    assert table.nodes["p5"].dashed and table.nodes["k5"].dashed and table.edges["p5", "k5"].dashed


def test_red_is_for_errors_alone() -> None:
    for theme in THEMES:
        spn = t.figure1()
        path = next(spn.paths())
        beta = dict.fromkeys(spn.products, 0.5) | {"p5": 0.0}
        looked = json.dumps(scene(spn, path=path, selected=["k2"], beta=beta, theme=theme).to_dict() | {"colors": {}})
        assert THEMES[theme].error not in looked and THEMES[theme].chosen in looked
        assert THEMES[theme].error in json.dumps(scene(spn, faulty=["k1"], theme=theme).to_dict() | {"colors": {}})


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    """As WCAG 2 measures it."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_texts_and_outlines_have_the_contrast_that_wcag_asks_for(theme: Theme) -> None:
    for ink in (theme.text, theme.muted, theme.primary, theme.error, theme.chosen):
        assert contrast(ink, theme.background) >= 4.5
    for outline in (theme.line, theme.faded, *theme.border.values()):
        assert contrast(outline, theme.background) >= 3
    for kind in KINDS:
        assert contrast(theme.ink[kind], theme.fill[kind]) >= 4.5
        for outline in (theme.border[kind], theme.primary, theme.error, theme.chosen):
            assert contrast(outline, theme.fill[kind]) >= 3


@pytest.mark.parametrize(("theme", "share"), [*product(THEMES, [0.0, 0.25, 0.5, 0.75, 1.0])])
def test_everything_drawn_has_contrast_at_every_weight(theme: str, share: float) -> None:
    spn = grouped(16, 4)
    beta = {v: share if k % 2 else 1.0 for k, v in enumerate(spn.products)}
    closed = {find_groups(spn)[0].id}
    for table in (scene(spn, beta=beta, theme=theme, closed=closed), scene(spn, theme=theme, faulty=spn.nodes[:3])):
        for look in table.looks:
            for text in look.texts:
                inside = abs(text.x) < look.width / 2 and abs(text.y) < look.height / 2
                behind = look.fill if inside and not text.halo else table.theme.background
                assert contrast(text.ink, behind) >= 4.5
            assert contrast(look.border, table.theme.background) >= 3
            if isinstance(look, NodeLook) and look.sign:
                assert contrast(look.ink, look.fill) >= 4.5
        assert all(contrast(edge.color, table.theme.background) >= 3 for edge in table.edges.values())
    assert mixed("#000000", "#ffffff", share).startswith("#")


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^The theme must be one of 'light', 'dark'; found 'pink'\.$"):
        scene(t.figure1(), theme="pink")


def test_the_table_as_plain_values() -> None:
    spn = flat(16)
    (group,) = find_groups(spn)
    shut, opened = scene(spn, closed={group.id}).to_dict(), scene(spn).to_dict()
    assert set(shut) == {"nodes", "groups", "edges", "colors", "bounds"}
    assert list(shut["edges"]) == [f'["s1","{group.id}"]'] and list(shut["nodes"]) == ["s1"]
    assert shut["groups"][group.id]["closed"] and not opened["groups"][group.id]["closed"]
    assert shut["groups"][group.id]["members"] == list(group.members)
    assert set(opened["nodes"]["k1"]) == {
        "x", "y", "w", "h", "kind", "text", "sub", "sign", "weight", "value", "title", "fill", "border", "ink",
        "dashed", "stroke", "error", "chosen", "selected", "texts",
    }  # fmt: skip
    assert set(shut["edges"][f'["s1","{group.id}"]']) == {"d", "width", "color", "dashed", "title", "chosen"}


def test_an_open_group_has_the_bounds_of_what_it_holds() -> None:
    spn = grouped(16, 4)
    table = scene(spn)
    for group in table.groups.values():
        assert isinstance(group, GroupLook) and not group.closed
        for v in group.members:
            look = table.nodes[v]
            assert abs(look.x - group.x) <= group.width / 2 and abs(look.y - group.y) <= group.height / 2


def test_a_drawing_from_the_top_down_keeps_its_direction() -> None:
    spn = t.flat(["a", "b"])
    for v, spot in {"s1": (0, 0), "p1": (-90, 90), "p2": (90, 90), "k1": (-90, 180), "k2": (90, 180)}.items():
        spn = spn.replace(v, x=float(spot[0]), y=float(spot[1]))
    table = scene(spn)
    starts = {edge.points[0] for (v, _), edge in table.edges.items() if v == "s1"}
    assert starts == {(0.0, table.nodes["s1"].height / 2)}
