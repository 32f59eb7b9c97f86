from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from random_structures import random_structure
from structure.structure_strategies import drawings, valid_structures

from spnmkl.export import to_python
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure import templates as t

GROUPS = {"colour": ["red", "green"], "shape": [0, 1, 2, 3], "age": ["a"]}
TEMPLATES = {
    "flat": t.flat(GROUPS, p=1.5),
    "grouped": t.grouped(GROUPS, prototype=[Kernel("rbf", gamma=0.1), Kernel("linear", normalize="none")]),
    "hierarchy": t.hierarchy(["a__b__c", "a__b__d", "a__e", "f__g", "k"]),
    "product_of_sums": t.product_of_sums(GROUPS),
    "pairwise_products": t.pairwise_products(["a", "b", "c"]),
    "polynomial": t.polynomial(Kernel("rbf"), 4),
    "figure1": t.figure1(),
    "expanded": t.figure1().expanded(),
}


def built(code: str) -> SPN:
    namespace: dict[str, Any] = {}
    exec(code, namespace)
    return namespace["spn"]


def unplaced(spn: SPN) -> SPN:
    return SPN._of({v: replace(node, x=None, y=None) for v, node in spn._nodes.items()}, spn._children)


def test_figure_1_reads_like_its_formula() -> None:
    assert (
        to_python(t.figure1())
        == """\
from spnmkl import SPN, Kernel, Product, Sum

spn = SPN(
    Sum(
        Product(
            Sum(
                Product(Kernel("rbf", gamma="0.0625*median"), id="p1"),
                Product(Kernel("rbf", gamma="0.125*median"), id="p2"),
            ),
            id="p8",
        ),
        Product(
            Sum(
                Product(Kernel("rbf", gamma="0.25*median"), id="p3"),
                Product(Kernel("rbf", gamma="0.5*median"), id="p4"),
            ),
            Sum(
                Product(Kernel("rbf", gamma="median"), id="p5"),
                Product(Kernel("rbf", gamma="2*median"), id="p6"),
                Product(Kernel("rbf", gamma="4*median"), id="p7"),
            ),
            id="p9",
        ),
    )
)
"""
    )


def test_shared_nodes_are_shared_variables() -> None:
    assert to_python(t.polynomial(Kernel("linear"), 2)).splitlines()[2:] == [
        'k1 = Kernel("linear", label="linear")',
        "",
        'spn = SPN(Sum(Product(k1), Product(k1, Kernel("linear", label="linear"))))',
    ]


@pytest.mark.parametrize("name", TEMPLATES)
def test_templates_come_back(name: str) -> None:
    assert built(to_python(TEMPLATES[name])) == TEMPLATES[name]


@settings(max_examples=60, deadline=None, derandomize=True)
@given(spn=valid_structures())
def test_any_structure_comes_back(spn: SPN) -> None:
    code = to_python(spn)
    assert "from_dict" not in code
    assert built(code) == spn


def test_structures_with_ids_of_their_own_come_back() -> None:
    for seed in range(30):
        spn = SPN.from_dict(random_structure(np.random.default_rng(seed), shared=0.4, max_paths=60))
        assert built(to_python(spn)) == spn


@settings(max_examples=80, deadline=None, derandomize=True)
@given(drawing=drawings())
def test_any_drawing_comes_back(drawing: dict[str, object]) -> None:
    spn = SPN.from_dict(drawing)
    assert built(to_python(spn)) == unplaced(spn)


@pytest.mark.parametrize(
    "word",
    ['"', "'", "\\", "\n", '"""', "\x00", "🙂", "{x}", "#", "x" * 10_000, "class", "Sum", "spn", "ﬁ", "__debug__"],
)
def test_any_word_is_quoted(word: str) -> None:
    kernel = Kernel("rbf", features=[word, word + "2"], label=word, id=word, **{word: word})
    spn = SPN(Sum(Product(kernel, label=word), Product(kernel, id=word + "p", p=0.1)))
    assert built(to_python(spn)) == spn


def test_parameters_named_like_arguments_come_back() -> None:
    spn = SPN(Product(Kernel("mine"))).replace("k1", params={"id": 1, "label": None})
    assert built(to_python(spn)) == spn


def test_long_lists_of_columns_are_wrapped_and_runs_shortened() -> None:
    names = [f"a long name of a column {i}" for i in range(50)]
    spn = SPN(Product(Kernel("rbf", features=names), Kernel("rbf", features=range(5, 30)), Kernel("rbf", features=[])))
    code = to_python(spn)
    assert max(map(len, code.splitlines())) <= 120
    assert "features=range(5, 30)" in code
    assert built(code) == spn


def _deep(levels: int) -> SPN:
    shared = Kernel("rbf")
    top: Kernel | Sum = shared
    for k in range(levels):
        top = Sum(Product(top), Product(shared, Kernel("linear")) if k % 3 == 0 else Product(Kernel("linear")))
    return SPN(top)


def _chain(length: int) -> SPN:
    top: Kernel | Product = Kernel("rbf")
    for _ in range(length):
        top = Product(top)
    return SPN(top)


@pytest.mark.parametrize("spn", [_deep(500), _chain(2000), t.flat(list(range(1000)))], ids=["deep", "chain", "wide"])
def test_structures_of_2000_nodes_come_back(spn: SPN) -> None:
    code = to_python(spn)
    assert max(len(line) - len(line.lstrip()) for line in code.splitlines()) <= 60
    assert built(code) == spn


def test_a_long_list_of_columns_is_written_once() -> None:
    names = [f"column number {k}" for k in range(40)]
    spn = t.flat(
        [Kernel("rbf", features=names), Kernel("linear", features=names), Kernel("linear", features=names[:2])]
    )
    code = to_python(spn)
    assert code.count("column number 7") == 1 and "features=columns_1" in code
    space: dict[str, SPN] = {}
    exec(code, space)  # type: ignore[arg-type]
    assert space["spn"] == spn
