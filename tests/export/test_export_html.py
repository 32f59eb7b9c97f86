import json
import re
import sys
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given, settings
from structure.structure_strategies import drawings

from spnmkl.errors import SPNMKLError
from spnmkl.export import pyvis_network, to_html
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t
from spnmkl.structure.text import one_line

HOSTILE = [
    "</script><script>alert(1)</script>",
    '<a href="javascript:alert(1)">here</a>',
    "<!-- <script>",
    "\"'`${alert(1)}\\",
    "{{ 7 * 7 }}{% raw %}",
    "🙂 ünïcödé",
    "x" * 10_000,
]


class Page(HTMLParser):
    """The tags of a page with their attributes, and the text of its scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data

    def data(self, name: str) -> Any:
        start = self.scripts[-1].index(f"const {name} = ") + len(f"const {name} = ")
        return json.JSONDecoder().raw_decode(self.scripts[-1], start)[0]


def labelled(label: str) -> SPN:
    return SPN(Sum(Product(Kernel("rbf", label=label), label=label), Product(Kernel("linear")), label=label))


def test_a_page_holds_the_drawing() -> None:
    spn = t.figure1()
    page = Page(to_html(spn))
    assert {node["id"] for node in page.data("nodes")} == set(spn.nodes)
    assert {(edge["from"], edge["to"]) for edge in page.data("edges")} == {
        (v, child) for v in spn.nodes for child in spn.children(v)
    }
    assert '"physics": {"enabled": false}' in page.scripts[-1]


def test_a_page_loads_nothing() -> None:
    html = to_html(t.figure1(), beta=dict.fromkeys(t.figure1().products, 0.5), theme="dark")
    page = Page(html)
    loading = {"src", "href", "srcset", "data", "action", "poster"}
    assert [tag for tag, attributes in page.tags if loading & set(attributes)] == []
    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in page.tags}
    assert re.findall(r"url\(|@import|sourceMappingURL", html) == []
    assert "https://" not in page.scripts[-1]
    assert "http://" not in page.scripts[-1]
    policy = next(a["content"] for tag, a in page.tags if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert policy.startswith("default-src 'none';")


@pytest.mark.parametrize("label", HOSTILE, ids=range(len(HOSTILE)))
def test_labels_are_text(label: str) -> None:
    page = Page(to_html(labelled(label)))
    assert [tag for tag, _ in page.tags] == [tag for tag, _ in Page(to_html(t.figure1())).tags]
    nodes = {node["id"]: node for node in page.data("nodes")}
    assert all(one_line(label) in nodes[v]["title"] for v in ("s1", "p1", "k1"))
    assert all(len(text["text"]) <= 48 for v in nodes for text in nodes[v]["look"]["texts"])


@settings(max_examples=20, deadline=None, derandomize=True)
@given(drawing=drawings())
def test_any_drawing_has_a_page(drawing: dict[str, object]) -> None:
    spn = SPN.from_dict(drawing)
    assert len(Page(to_html(spn)).data("nodes")) == len(spn.nodes)


def test_the_network_is_placed_and_still() -> None:
    spn = t.figure1().replace("s1", x=1, y=2)
    for v in spn.nodes[1:]:
        spn = spn.replace(v, x=10, y=20)
    network = pyvis_network(spn, beta={"p8": 0.0})
    nodes = {node["id"]: node for node in network.nodes}
    assert (nodes["s1"]["x"], nodes["s1"]["y"]) == (1, 2)
    assert (nodes["k3"]["shape"], nodes["k3"]["label"], nodes["k3"]["kind"]) == ("box", "K₃ rbf", "kernel")
    assert (nodes["p9"]["shape"], nodes["p9"]["label"]) == ("circle", "×")
    assert [text["text"] for text in nodes["p9"]["look"]["texts"]] == ["β₉"]
    assert nodes["p8"]["look"]["fill"] == "#ffffff"
    assert network.options["physics"] == {"enabled": False}
    assert all(edge["d"].startswith("M") for edge in network.edges)


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyvis.network", None)
    with pytest.raises(SPNMKLError, match=r"^A web page needs the package pyvis, which is not installed"):
        to_html(t.figure1())
