"""Charts as files: complete, offline, with every name as text."""

import io
import re
from xml.etree import ElementTree as ET

import altair as alt
import pytest
from charts.chart_cases import CHARTS, HOSTILE, NAMELESS
from PIL import Image

from spnmkl.charts import to_html, to_png, to_svg
from spnmkl.charts.look import shown
from spnmkl.structure.text import one_line


def texts(svg: str) -> list[str]:
    root = ET.fromstring(svg)
    assert not [tag for tag in root.iter() if tag.tag.endswith("script")]
    return ["".join(tag.itertext()) for tag in root.iter() if tag.tag.endswith("text")]


@pytest.mark.parametrize("kind", CHARTS)
def test_names_are_text(kind: str) -> None:
    found = texts(to_svg(CHARTS[kind](HOSTILE), width=900))
    if kind not in NAMELESS:
        for name in HOSTILE:
            assert any(shown(name)[:12] in text for text in found), (name, found)


@pytest.mark.parametrize("kind", CHARTS)
def test_no_name_is_a_field_or_an_expression(kind: str) -> None:
    """The names of fields and the expressions are the same whatever the names are."""

    def parsed(names: tuple[str, ...]) -> list[str]:
        found: list[str] = []

        def walk(value: object, key: str = "") -> None:
            if isinstance(value, dict):
                for name, inner in value.items():
                    if name not in ("datasets", "domain"):
                        walk(inner, name)
            elif isinstance(value, list):
                for inner in value:
                    walk(inner, key)
            elif key in ("field", "expr", "test", "fields", "filter", "calculate"):
                found.append(str(value))

        walk(CHARTS[kind](names).to_dict())
        return found

    assert parsed(HOSTILE) == parsed(("a", "b", "c"))


@pytest.mark.parametrize("kind", CHARTS)
def test_charts_fit_their_container_and_name_their_axes(kind: str) -> None:
    spec = CHARTS[kind](("a", "b")).to_dict()
    assert not {"vconcat", "hconcat", "concat", "facet", "repeat"} & spec.keys()
    if kind != "heat map":  # square
        svg = to_svg(CHARTS[kind](("a", "b")), width=700)
        assert "width" not in spec
        assert float(ET.fromstring(svg).attrib["width"]) == pytest.approx(700, abs=2)
        assert "role-axis-title" in svg


def test_a_png_has_its_size() -> None:
    picture = Image.open(io.BytesIO(to_png(CHARTS["weights"](("a", "b")), width=300, scale=1.0)))
    assert picture.size == (300, 300)


def test_a_page_needs_nothing_and_takes_no_name_for_markup() -> None:
    page = to_html(CHARTS["class balance"](HOSTILE))
    assert page.count("<script") == page.count("</script") == 2
    assert not re.findall(r"<(?:script|link|img|iframe)[^>]*\s(?:src|href)=[\"']?https?:", page)
    assert "default-src 'none'" in page
    assert '"editor": false' in page
    assert "alert(1)\\u003c/script>" in page


def test_files_do_not_depend_on_what_a_page_set_for_altair() -> None:
    """A page that is drawn at the same time has Altair send tables elsewhere."""
    chart = CHARTS["class balance"](("first", "second"))
    expected = texts(to_svg(chart))
    alt.data_transformers.register("elsewhere", lambda data: {"name": "elsewhere"})
    with alt.data_transformers.enable("elsewhere"):
        assert texts(to_svg(chart)) == expected
    assert "first" in expected


def test_long_names_and_control_characters_are_shown_on_one_line() -> None:
    name = "line\nbreak\x07 " + "x" * 500
    assert shown(name).startswith(one_line("line\nbreak"))
    assert len(shown(name)) < 60
