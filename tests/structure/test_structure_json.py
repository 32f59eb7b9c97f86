import copy
import json
import math
import pickle
from typing import Any

import networkx as nx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structure_strategies import drawings, valid_structures

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel, Product, Sum

quick = settings(max_examples=50, deadline=None, derandomize=True)
K = {"id": "k", "kind": "kernel", "kernel": "rbf"}
P = {"id": "p", "kind": "product"}
S = {"id": "s", "kind": "sum"}


def structure(*nodes: Any, edges: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "format": "spnmkl/structure",
        "version": 1,
        "nodes": [dict(node) if isinstance(node, dict) else node for node in nodes],
        "edges": [list(edge) for edge in edges],
    } | more


@quick
@given(drawings())
def test_json_and_networkx_give_the_drawing_back(data: dict[str, Any]) -> None:
    spn = SPN.from_dict(data)
    assert SPN.from_json(spn.to_json(indent=1)) == spn
    assert SPN.from_networkx(spn.to_networkx()) == spn
    assert SPN.from_networkx(spn.graph) == spn
    assert hash(pickle.loads(pickle.dumps(spn))) == hash(spn)
    assert copy.deepcopy(spn) == spn
    assert [node["id"] for node in spn.to_dict()["nodes"]] == [node["id"] for node in data["nodes"]]


@quick
@given(valid_structures())
def test_children_and_nodes_keep_their_order(spn: SPN) -> None:
    for again in (SPN.from_json(spn.to_json()), SPN.from_networkx(spn.graph)):
        assert again.nodes == spn.nodes
        assert [again.children(i) for i in again.nodes] == [spn.children(i) for i in spn.nodes]
        assert list(again.paths()) == list(spn.paths())


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.recursive(st.none() | st.booleans() | st.floats() | st.text(max_size=3) | st.integers(), st.lists),
    st.data(),
)
def test_any_value_in_any_place_is_read_or_refused_in_words(value: Any, data: st.DataObject) -> None:
    drawing = structure({**K, "params": {"a": 1}, "features": ["c"], "x": 1, "y": 2}, P, edges=["pk"])
    place = data.draw(st.sampled_from(["format", "version", "nodes", "edges", "node", "edge", "key", "param"]))
    if place == "node":
        drawing["nodes"][0] = value
    elif place == "edge":
        drawing["edges"][0] = value
    elif place == "key":
        keys = ["id", "kind", "label", "kernel", "params", "features", "normalize", "x", "y", "p"]
        drawing["nodes"][data.draw(st.integers(0, 1))][data.draw(st.sampled_from(keys))] = value
    elif place == "param":
        drawing["nodes"][0]["params"]["a"] = value
    else:
        drawing[place] = value
    try:
        assert SPN.from_dict(drawing).nodes
    except StructureError as error:
        assert str(error).endswith(".")


BAD_DICTS: list[tuple[Any, str]] = [
    ([], "A structure must be a mapping with nodes and edges; found a value of type list."),
    ({}, "The format must be 'spnmkl/structure'; found nothing."),
    (structure(format="other"), "The format must be 'spnmkl/structure'; found 'other' (text)."),
    (
        structure(version=2),
        "The version of a structure must be 1, the one this release reads; found 2 (int).",
    ),
    (
        structure(version=True),
        "The version of a structure must be 1, the one this release reads; found True (bool).",
    ),
    (
        structure(version=None),
        "The version of a structure must be 1, the one this release reads; found nothing.",
    ),
    (
        structure(name="x"),
        "The structure has the unknown key 'name'; expected format, version, nodes, edges.",
    ),
    (structure(nodes={"k": K}), "The 'nodes' of a structure must be a list; found a value of type mapping."),
    (structure() | {"edges": None}, "The 'edges' of a structure must be a list; found nothing."),
    (structure("k"), "Every node must be a mapping with an id and a kind; found 'k' (text)."),
    (structure({"kind": "sum"}), "The id of a node must be non-empty Unicode text; found nothing."),
    (structure({"id": 1, "kind": "sum"}), "The id of a node must be non-empty Unicode text; found 1 (int)."),
    (
        structure({"id": "", "kind": "sum"}),
        "The id of a node must be non-empty Unicode text; found '' (text).",
    ),
    (
        structure({"id": "\ud800", "kind": "sum"}),
        "The id of a node must be non-empty Unicode text; found '\\ud800' (text).",
    ),
    (structure({"id": "s"}), "The kind of node 's' must be 'sum', 'product' or 'kernel'; found nothing."),
    (
        structure({"id": "s", "kind": "plus"}),
        "The kind of node 's' must be 'sum', 'product' or 'kernel'; found 'plus' (text).",
    ),
    (structure(K, K), "The id 'k' is given to two nodes; every node needs its own."),
    (structure({**S, "p": 2}), "The sum 's' cannot carry 'p'; expected only id, kind, label, x, y."),
    (
        structure({**K, "normalise": "none"}),
        (
            "The kernel 'k' cannot carry 'normalise'; expected only id, features, kernel, kind, label, "
            "normalize, params, x, y."
        ),
    ),
    (structure({**P, "label": 3}), "The label of node 'p' must be non-empty Unicode text; found 3 (int)."),
    (structure({**P, "p": "1"}), "The p of product 'p' must be a number; found '1' (text)."),
    (structure({**P, "p": True}), "The p of product 'p' must be a number; found True (bool)."),
    (structure({**P, "p": math.nan}), "The p of product 'p' must be a finite number; found nan."),
    (structure({**P, "p": 10**400}), "The p of product 'p' must be a finite number; found inf."),
    (structure({**P, "x": math.inf}), "The x of node 'p' must be a finite number; found inf."),
    (
        structure({"id": "k", "kind": "kernel"}),
        "The kernel 'k' has no 'kernel' key; it must name its base kernel.",
    ),
    (
        structure({**K, "kernel": 5}),
        "Node 'k': The name of a kernel must be non-empty Unicode text; found 5 (int).",
    ),
    (
        structure({**K, "params": [1]}),
        "Node 'k': The parameters of kernel 'rbf' must be a mapping; found a value of type list.",
    ),
    (
        structure({**K, "params": ""}),
        "Node 'k': The parameters of kernel 'rbf' must be a mapping; found '' (text).",
    ),
    (
        structure({**K, "params": (1, 2)}),
        "Node 'k': The parameters of kernel 'rbf' must be a mapping; found a value of type tuple.",
    ),
    (
        structure({**K, "features": {"a", "b"}}),
        "Node 'k': The features of kernel 'rbf' must be a list of column names or positions;"
        " found a value of type set.",
    ),
    (
        structure({**K, "params": {"gamma": math.nan}}),
        (
            "Node 'k': Parameter 'gamma' of kernel 'rbf' must be text, a finite number, true, false, "
            "nothing, or a list of these; found nan (float)."
        ),
    ),
    (
        structure({**K, "params": {"gamma": {}}}),
        (
            "Node 'k': Parameter 'gamma' of kernel 'rbf' must be text, a finite number, true, false, "
            "nothing, or a list of these; found a value of type mapping."
        ),
    ),
    (
        structure({**K, "params": {"gamma": [[1]]}}),
        (
            "Node 'k': Parameter 'gamma' of kernel 'rbf' must be text, a finite number, true, false, "
            "nothing, or a list of these; found a value of type list."
        ),
    ),
    (
        structure({**K, "features": "ab"}),
        ("Node 'k': The features of kernel 'rbf' must be a list of column names or positions; found 'ab' (text)."),
    ),
    (
        structure({**K, "features": [1.5]}),
        ("Node 'k': A feature of kernel 'rbf' must be a column name or a position from 0; found 1.5 (float)."),
    ),
    (
        structure({**K, "features": [-1]}),
        ("Node 'k': A feature of kernel 'rbf' must be a column name or a position from 0; found -1 (int)."),
    ),
    (
        structure({**K, "features": [True]}),
        ("Node 'k': A feature of kernel 'rbf' must be a column name or a position from 0; found True (bool)."),
    ),
    (
        structure({**K, "normalize": 1}),
        "Node 'k': The normalisation of kernel 'rbf' must be non-empty Unicode text; found 1 (int).",
    ),
    (structure(K, P, edges=["pkk"]), "Every edge must be a pair [parent, child]; found a list of 3."),
    (
        structure(K, P, edges=[["p", "q"]]),
        "The edge 'p' → 'q' leads to 'q', which is no node of the structure.",
    ),
    (
        structure(K, P, edges=[["q", "k"]]),
        "The edge 'q' → 'k' leads to 'q', which is no node of the structure.",
    ),
    (
        structure(K, P, edges=["pk", "pk"]),
        ("The edge 'p' → 'k' is drawn twice; for K∘K put two kernels with equal settings below the product."),
    ),
    (structure(K, P, edges=[["p", 1]]), "An end of an edge must be non-empty Unicode text; found 1 (int)."),
    (structure(K, P) | {"edges": [5]}, "Every edge must be a pair [parent, child]; found 5 (int)."),
]

BAD_TEXTS: list[tuple[Any, str]] = [
    ("", "The text is not JSON: Expecting value: line 1 column 1 (char 0)."),
    ("nodes", "The text is not JSON: Expecting value: line 1 column 1 (char 0)."),
    (
        "{",
        ("The text is not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)."),
    ),
    ("[" * 100_000, "The text is nested too deeply to be a structure."),
    ('{"p": NaN}', "The text is not JSON: NaN is not a number that JSON knows."),
    ('{"p": -Infinity}', "The text is not JSON: -Infinity is not a number that JSON knows."),
    ("[1, 1]", "A structure must be a mapping with nodes and edges; found a value of type list."),
    ('{"a": 1, "a": 2}', "The key 'a' stands twice in the same JSON object."),
    (b"\xff", "The text is not JSON: it is not encoded in UTF-8."),
    (None, "JSON must be given as text; found nothing."),
    ("1" * 5000, "The text holds a whole number of too many digits."),
]


def two_edges() -> nx.MultiDiGraph:
    graph = nx.MultiDiGraph([("p", "k"), ("p", "k")])
    nx.set_node_attributes(graph, {"p": {"kind": "product"}, "k": {"kind": "kernel", "kernel": "rbf"}})
    return graph


BAD_GRAPHS: list[tuple[Any, str]] = [
    (nx.Graph(), "A structure is read from a networkx.DiGraph; found a value of type Graph."),
    (nx.DiGraph([(1, 2)]), "The id of a node must be non-empty Unicode text; found 1 (int)."),
    (nx.DiGraph([("p", "k")]), "The kind of node 'p' must be 'sum', 'product' or 'kernel'; found nothing."),
    (
        two_edges(),
        ("The edge 'p' → 'k' is drawn twice; for K∘K put two kernels with equal settings below the product."),
    ),
    ({"nodes": []}, "A structure is read from a networkx.DiGraph; found a value of type dict."),
]


@pytest.mark.parametrize(("data", "sentence"), BAD_DICTS)
def test_a_bad_dictionary_gets_one_clear_sentence(data: Any, sentence: str) -> None:
    with pytest.raises(StructureError) as caught:
        SPN.from_dict(data)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("text", "sentence"), BAD_TEXTS, ids=range(len(BAD_TEXTS)))
def test_a_bad_text_gets_one_clear_sentence(text: Any, sentence: str) -> None:
    with pytest.raises(StructureError) as caught:
        SPN.from_json(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(("graph", "sentence"), BAD_GRAPHS)
def test_a_bad_graph_gets_one_clear_sentence(graph: Any, sentence: str) -> None:
    with pytest.raises(StructureError) as caught:
        SPN.from_networkx(graph)
    assert str(caught.value) == sentence


def test_the_written_form() -> None:
    kernel = Kernel("rbf", gamma=0.5, widths=(1, 2), features=["a", 3], normalize="none", label="size")
    spn = SPN(Sum(Product(kernel, p=2), id="root")).replace("root", x=1, y=-2)
    assert json.loads(spn.to_json()) == {
        "format": "spnmkl/structure",
        "version": 1,
        "nodes": [
            {"id": "root", "kind": "sum", "x": 1, "y": -2},
            {"id": "p1", "kind": "product", "p": 2},
            {
                "id": "k1",
                "kind": "kernel",
                "label": "size",
                "kernel": "rbf",
                "params": {"gamma": 0.5, "widths": [1, 2]},
                "features": ["a", 3],
                "normalize": "none",
            },
        ],
        "edges": [["root", "p1"], ["p1", "k1"]],
    }


def test_null_counts_as_absent_and_defaults_are_filled_in() -> None:
    full = structure({**K, "params": {}, "normalize": "unit_diagonal"}, {**P, "p": 1.0}, edges=["pk"])
    nulls = structure({**K, "features": None, "label": None}, {**P, "p": None, "kernel": None}, edges=["pk"])
    assert SPN.from_dict(full) == SPN.from_dict(nulls)


def test_a_label_that_repeats_the_id_is_no_label() -> None:
    assert SPN(Product(Kernel("rbf", id="a", label="a"))) == SPN(Product(Kernel("rbf", id="a")))


def test_the_graph_shows_everything_and_cannot_be_changed() -> None:
    graph = SPN(Product(Kernel("rbf", gamma=1, features=["a"], label="A"))).graph
    assert dict(graph.nodes(data=True)) == {
        "p1": {"kind": "product", "label": "p1", "p": 1.0},
        "k1": {
            "kind": "kernel",
            "label": "A",
            "kernel": "rbf",
            "params": {"gamma": 1},
            "features": ["a"],
            "normalize": "unit_diagonal",
        },
    }
    with pytest.raises(nx.NetworkXError, match="Frozen graph"):
        graph.add_node("x")
