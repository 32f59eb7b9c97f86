import sys
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from structure.structure_strategies import drawings

from spnmkl.errors import ParameterError, SPNMKLError
from spnmkl.export import scene, to_pdf, to_png, to_svg
from spnmkl.export.picture import side_by_side
from spnmkl.export.themes import THEMES
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.groups import find_groups
from spnmkl.structure.text import one_line

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'&]]>",
    "🙂 ünïcödé ẞ",
    "x" * 10_000,
    "a\x00b\x1b[31m",
    "\u202eright",
    "\ufffe",
]


def texts(svg: str, tag: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(SVG + tag)]


def labelled(label: str) -> SPN:
    return SPN(
        Sum(Product(Kernel("rbf", label=label), label=label), Product(Kernel("linear", label="other")), label=label)
    )


def node_groups(svg: str) -> dict[str, ET.Element]:
    """The drawn nodes by the beginning of their titles, such as "product p9"."""
    return {
        title.split(",")[0]: group
        for group in ET.fromstring(svg).iter(SVG + "g")
        if (title := group.findtext(SVG + "title"))
    }


def edges(svg: str) -> list[ET.Element]:
    return ET.fromstring(svg).findall(SVG + "path")


def test_figure_1_shows_signs_kernels_and_weights() -> None:
    svg = to_svg(t.figure1())
    assert svg.startswith("<svg ")
    root = ET.fromstring(svg)
    assert len(list(root.iter(SVG + "circle"))) == 13
    assert len(list(root.iter(SVG + "rect"))) == 1 + 7
    assert len(edges(svg)) == 19
    shown = texts(svg, "text")
    assert {"K₁ rbf", "γ = 0.0625*median", "K₇ rbf", "γ = 4*median", "β₁", "β₉"} < set(shown)
    assert len(shown) == 7 + 7 + 9


@pytest.mark.parametrize("theme", THEMES)
def test_a_path_is_violet_and_thick(theme: str) -> None:
    spn = t.figure1()
    path = list(spn.paths())[6]  # K4 ∘ K6
    svg = to_svg(spn, highlight=path, theme=theme)
    taken = [edge for edge in edges(svg) if edge.get("stroke") == THEMES[theme].chosen]
    assert len(taken) == 7 and {edge.get("stroke-width") for edge in taken} == {"3"}
    marked = {
        name.split()[1] for name, group in node_groups(svg).items() if group.get("stroke") == THEMES[theme].chosen
    }
    assert marked == {"s1", "p9", "s3", "p4", "k4", "s4", "p6", "k6"}
    assert to_svg(spn, highlight=["s1", "p9", "s3", "p4", "k4", "s4", "p6", "k6"], theme=theme) == svg


def test_weights_set_size_and_colour_and_prune() -> None:
    spn = t.figure1()
    beta = dict.fromkeys(spn.products, 0.5) | {"p9": 1.0, "p8": 0.0, "p7": 0.0}
    svg = to_svg(spn, beta=beta)
    by_name = node_groups(svg)
    radius = {name: float(group[1].get("r", "0")) for name, group in by_name.items() if name.startswith("product")}
    assert radius["product p7"] < radius["product p3"] < radius["product p9"]
    dashed = {name for name, group in by_name.items() if group.get("stroke-dasharray")}
    assert dashed == {f"{kind} {v}" for kind, ids in {
        "product": ("p8", "p1", "p2", "p7"), "sum": ("s2",), "kernel": ("k1", "k2", "k7"),
    }.items() for v in ids}  # fmt: skip
    assert {"0.5", "0", "β₉ = 1"} < set(texts(svg, "text"))


def dashed(svg: str) -> int:
    return sum(group.get("stroke-dasharray") is not None for group in node_groups(svg).values())


def test_a_sum_without_living_children_takes_its_product_along() -> None:
    spn = SPN(Sum(Product(Sum(Product(Kernel("rbf"))), Kernel("linear")), Product(Kernel("cosine"))))
    assert dashed(to_svg(spn, beta={"p1": 1.0, "p2": 0.0, "p3": 1.0})) == 5  # p1, its sum, p2 and both kernels below
    assert dashed(to_svg(spn, beta=dict.fromkeys(spn.products, 0.0))) == len(spn.nodes)
    assert dashed(to_svg(spn, beta={})) == 0


def test_a_closed_group_is_drawn_as_one_stack() -> None:
    spn = t.flat([f"pixel {k}" for k in range(16)])
    (group,) = find_groups(spn)
    svg = to_svg(spn, closed={group.id}, beta=dict.fromkeys(spn.products, 0.075))
    assert "16 × rbf, Σβ = 1.2" in texts(svg, "text")
    assert len(list(ET.fromstring(svg).iter(SVG + "rect"))) == 1 + 2 and len(edges(svg)) == 1


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_labels_are_text(label: str) -> None:
    svg = to_svg(labelled(label))
    root = ET.fromstring(svg)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg", "rect", "g", "title", "circle", "path", "text",
    }  # fmt: skip
    assert sum(one_line(label) in title for title in texts(svg, "title")) == 3 or not one_line(label)
    assert max(map(len, texts(svg, "text"))) <= 48


@settings(max_examples=60, deadline=None, derandomize=True)
@given(drawing=drawings())
def test_any_drawing_has_a_picture(drawing: dict[str, object]) -> None:
    spn = SPN.from_dict(drawing)
    root = ET.fromstring(to_svg(spn, beta=dict.fromkeys(spn.products[::2], 0.0), highlight=spn.nodes[::2]))
    assert len(list(root.iter(SVG + "g"))) == len(spn.nodes)
    assert float(root.attrib["width"]) < 2.1e6


def test_nodes_stay_where_they_were_put() -> None:
    spn = SPN(Product(Kernel("rbf"))).replace("p1", x=-300, y=50).replace("k1", x=10, y=700)
    circle = next(ET.fromstring(to_svg(spn)).iter(SVG + "circle"))
    assert (circle.get("cx"), circle.get("cy")) == ("-300", "50")


def test_a_picture_in_pixels() -> None:
    png = to_png(t.figure1(), scale=1)
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    svg = ET.fromstring(to_svg(t.figure1()))
    width, height = (int.from_bytes(png[k : k + 4]) for k in (16, 20))
    assert (width, height) == pytest.approx((float(svg.attrib["width"]), float(svg.attrib["height"])), abs=1.5)


def test_a_picture_on_a_page() -> None:
    assert to_pdf(t.figure1(), theme="dark").startswith(b"%PDF")


def test_the_picture_is_the_table() -> None:
    spn = t.grouped({f"view {k}": [f"c{k}_{j}" for j in range(7)] for k in range(3)})
    closed, beta = {find_groups(spn)[0].id}, dict.fromkeys(spn.products, 0.2)
    table, svg = scene(spn, closed=closed, beta=beta), to_svg(spn, closed=closed, beta=beta)
    assert sorted(texts(svg, "text")) == sorted(text.text for look in table.looks for text in look.texts)
    assert sorted(edge.get("d", "") for edge in edges(svg)) == sorted(edge.d for edge in table.edges.values())
    assert sorted(texts(svg, "title")) == sorted(look.title for look in table.looks)


def test_a_huge_drawing_makes_no_huge_picture() -> None:
    spn = SPN(Product(Kernel("rbf"))).replace("p1", x=-1e6, y=0).replace("k1", x=1e6, y=1e6)
    png = to_png(spn)
    assert int.from_bytes(png[16:20]) * int.from_bytes(png[20:24]) < 11e6


def test_hostile_labels_have_a_png() -> None:
    for label in HOSTILE:
        assert to_png(labelled(label), scale=0.2).startswith(b"\x89PNG")


def test_an_unknown_theme_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"^The theme must be one of 'light', 'dark'; found 'pink'\.$"):
        to_svg(t.figure1(), theme="pink")


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(
        SPNMKLError, match=r"^A PNG picture needs the package vl-convert-python, which is not installed"
    ):
        to_png(t.figure1())


def test_side_by_side_every_picture_has_its_place_and_name() -> None:
    names = ["first", "<b>&</b>", "third"]
    spns = [t.flat(["a"]), t.flat(["a", "b"]), t.figure1()]
    whole = ET.fromstring(side_by_side({n: to_svg(spn) for n, spn in zip(names, spns, strict=True)}, columns=2))
    tag = "{http://www.w3.org/2000/svg}"
    inner = whole.findall(f"{tag}svg")
    assert [text.text for text in whole.findall(f"{tag}text")] == names
    boxes = [tuple(float(svg.attrib[key]) for key in ("x", "y", "width", "height")) for svg in inner]
    for k, (x, y, w, h) in enumerate(boxes):
        assert x >= 0 and x + w <= float(whole.attrib["width"]) and y + h <= float(whole.attrib["height"])
        assert all(x + w <= u or u + v <= x or y + h <= r or r + s <= y for u, r, v, s in boxes[k + 1 :])
    assert len(inner[2].findall(f".//{tag}rect")) == 1 + len(spns[2].kernels)
