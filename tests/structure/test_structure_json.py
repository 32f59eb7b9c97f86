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


def structure(*nodes: Any, edges: Any = (), **more: Any) -> dict[str, Any]:
    return {
        "format": "spnmkl/structure",
        "version": 1,
        "nodes": list(nodes),
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
    place = data.draw(
        st.sampled_from(["format", "version", "nodes", "edges", "node", "edge", "key", "param"])
    )
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


BAD = [
    ([], "A structure must be a mapping with nodes and edges; found a value of type list."),
    ({}, "The format must be 'spnmkl/structure'; found a value of type nothing."),
    (structure(format="other"), "The format must be 'spnmkl/structure'; found 'other' (text)."),
]
