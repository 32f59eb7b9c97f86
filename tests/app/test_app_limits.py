"""One limit for edits, imports, templates and projects: what the canvas cannot hold is refused in a sentence."""

import numpy as np
import pandas as pd
import pytest

from spnmkl.data import Dataset
from spnmkl.errors import SPNMKLError, StructureError
from spnmkl.structure import SPN, templates
from spnmkl.ui.pages.design.exchange import template_over_data
from spnmkl.ui.state.drawing import MAX_CANVAS_NODES, check_size
from spnmkl.ui.state.opening import opening_structure

SENTENCE = r"^The canvas holds at most 2,000 nodes, and this would make [0-9,]+\.$"


def wide(n: int) -> Dataset:
    frame = pd.DataFrame(np.arange(4.0 * n).reshape(4, n), columns=[f"gene{k}" for k in range(n)])
    return Dataset("genes", frame.assign(y=["a", "b", "a", "b"]), "y")


def test_the_limit_is_that_of_the_canvas() -> None:
    check_size(templates.flat(list(range(MAX_CANVAS_NODES // 2 - 1))))
    with pytest.raises(StructureError, match=SENTENCE):
        check_size(templates.flat(list(range(MAX_CANVAS_NODES // 2))))


def test_an_import_of_170_000_nodes_is_refused_in_one_sentence() -> None:
    leaves = [{"id": f"k{i}", "kind": "kernel", "kernel": "rbf"} for i in range(170_000)]
    spn = SPN.from_dict({"format": "spnmkl/structure", "version": 1, "nodes": leaves, "edges": []})
    with pytest.raises(StructureError, match=SENTENCE):
        check_size(spn)


@pytest.mark.parametrize("name", templates.TEMPLATES)
def test_templates_and_the_opening_drawing_of_many_columns_fit(name: str) -> None:
    check_size(opening_structure(wide(1500)))
    try:
        check_size(template_over_data(wide(1500), name))
    except SPNMKLError as error:
        assert str(error).endswith(".")
