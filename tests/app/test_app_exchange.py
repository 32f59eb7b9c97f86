"""The dialogs above the canvas: what they keep, and how they show what people wrote."""

import gc
from weakref import ref

from app_pages import bring, dialog, fine, opened, send, work

from spnmkl.data import load_sample
from spnmkl.structure import SPN
from spnmkl.ui.drawing import placed
from spnmkl.ui.exchange import filled_template

MARKUP = "a` ![x](https://example.org/p.png)"


def test_templates_are_kept_as_long_as_their_data() -> None:
    first = load_sample("wine")
    filled = filled_template(first, "flat")
    assert filled_template(first, "flat") is filled
    at = opened()
    bring(at, first)
    fine(dialog(at, "Templates"))
    gone = ref(first)
    bring(at, load_sample("clinic"))
    del first
    gc.collect()
    assert gone() is None


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
    assert helps == {"In the place of a\\` \\!\\[x\\]\\(https\\://example.org/p.png\\)."}
