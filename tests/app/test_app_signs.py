"""Every sign that a page shows is explained on it, in a tooltip, in the words of the glossary."""

import re
from collections.abc import Iterable
from typing import Any

import pytest
from app_pages import fine, opened, work
from google.protobuf import text_format
from streamlit.testing.v1 import AppTest
from test_app_inspect import trained, usual

from spnmkl.reporting.glossary import GLOSSARY

# Page and tab → the signs that stand there.
SIGNS = {
    ("start", ""): ("kernel",),
    ("compare", "Guided experiment"): ("β", "∘"),
    ("train", "Drawing"): ("C", "C_min", "λ", "p", "β", "g", "gap", "pruned"),
    ("train", "Convergence"): ("objective", "bound", "gap"),
    ("train", "Weights"): ("β",),
    ("inspect", "Drawing"): ("β", "Σg", "pruned", "gap"),
    ("inspect", "Weights and paths"): ("path", "g", "Σg", "held-out", "∘", "β", "p", "λ", "c"),
    ("inspect", "What matters"): ("Σg", "g", "held-out"),
    ("inspect", "Kernels"): ("alignment", "kernel", "g", "path"),
    ("inspect", "What if"): ("β", "objective"),
    ("inspect", "Proof"): ("objective", "bound", "gap", "β", "KKT", "λ", "p", "c", "C", "g", "q", "F"),
    ("runs", ""): ("C", "p", "gap", "pruned"),
}


def everything(block: Any) -> Iterable[str]:
    """All that is sent to the browser, as text."""
    if hasattr(block, "children"):
        for child in block.children.values():
            yield from everything(child)
    if getattr(block, "proto", None) is not None:
        yield text_format.MessageToString(block.proto, as_utf8=True)


def page(name: str, tab: str) -> AppTest:
    if name == "inspect":
        return usual(tab)
    at = opened(name)
    task, _, run = trained()
    book = work(at).trainer.book
    work(at).bring(task.dataset)
    work(at).drawing.push(task.spn)
    book.runs, book.tasks[run.name] = [run], work(at).task
    if tab:
        at.session_state[{"compare": "compare_part", "train": "watched"}[name]] = tab
    return fine(at.run())


@pytest.mark.parametrize(("name", "tab"), SIGNS)
def test_every_sign_is_explained_where_it_stands(name: str, tab: str) -> None:
    said = "\n".join(everything(page(name, tab).main))
    said = re.sub(r"\\+u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), said)  # as columns of tables are sent
    said = said.replace("\\'", "'")
    assert [sign for sign in SIGNS[name, tab] if GLOSSARY[sign].sentence not in said] == []
