"""The dialogs above the canvas: what they keep, and how they show what people wrote."""

import gc
from weakref import ref

from app_pages import bring, dialog, fine, opened, send, work

from spnmkl.data import load_sample
from spnmkl.export.picture import to_svg
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure.layout import arranged
from spnmkl.ui.pages.design.exchange import template_over_data
from spnmkl.ui.pages.inspect.inspected import node_names
from spnmkl.ui.parts.cards import thumbnail
from spnmkl.ui.parts.runs_beside import picture
from spnmkl.ui.state.drawing import placed

MARKUP = "a` ![x](https://example.org/p.png)"


def test_templates_are_kept_as_long_as_their_data() -> None:
    first = load_sample("wine")
    filled = template_over_data(first, "flat")
    assert template_over_data(first, "flat") is filled
    at = opened()
    bring(at, first)
    fine(dialog(at, "Templates"))
    gone = ref(first)
    bring(at, load_sample("clinic"))
    del first
    gc.collect()
    assert gone() is None


def test_equal_drawings_in_another_order_have_their_own_names_and_pictures() -> None:
    one = SPN(Sum(Product(Kernel("linear"), id="p1"), Product(Kernel("rbf"), id="p2"), id="s"))
    drawn = one.to_dict()
    other = SPN.from_dict({**drawn, "nodes": drawn["nodes"][::-1]})
    assert one == other and to_svg(one) != to_svg(other)
    beta = {"p1": 1.0, "p2": 0.5}
    for spn in (one, other):
        assert thumbnail(spn, (), "light") == to_svg(arranged(spn), theme="light")
        assert picture(spn, tuple(beta.items()), frozenset(), "light") == to_svg(spn, beta=beta, theme="light")
        assert {v: node_names(spn)[v] for v in beta} == {v: spn.names[v] for v in beta}


def test_the_id_of_a_kernel_is_shown_as_text() -> None:
    at = opened()
    nodes = [
        {"id": "s1", "kind": "sum"},
        {"id": "p1", "kind": "product"},
        {"id": MARKUP, "kind": "kernel", "kernel": "rbf"},
    ]
    drawing = {"format": "spnmkl/structure", "version": 1, "nodes": nodes, "edges": [["s1", "p1"], ["p1", MARKUP]]}
    work(at).drawing.push(placed(SPN.from_dict(drawing)))
    send(at.run(), select=[MARKUP])
    dialog(at, "Templates")
    helps = {button.help for button in at.button if button.label == "Embed"}
    assert helps == {"In the place of 'rbf · a\\` \\!\\[x\\]\\(https\u2060\\://example.org/p.png\\)'."}
