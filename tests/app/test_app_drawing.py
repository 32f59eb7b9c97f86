"""The drawing of a tab and its protocol with the canvas, and the tables that describe it; no Streamlit."""

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from random_structures import random_structure

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel, Product, Sum, templates
from spnmkl.structure.groups import find_groups
from spnmkl.structure.paths import drawn_path
from spnmkl.ui.pages.design.exchange import structure_from_tables
from spnmkl.ui.state.drawing import MAX_CANVAS_NODES, MAX_PENDING, Drawing, check_size, placed


def small() -> SPN:
    return placed(SPN(Sum(Product(Kernel("rbf", gamma=0.5, label="colour")), Product(Kernel("linear"), p=2.0))))


def edit(drawing: Drawing, sequence: Any = 1, **changes: Any) -> dict[str, Any]:
    """What the canvas sends: the drawing as it stands, with changes."""
    described = drawing.spn.to_dict()
    message = {"page": "mine", "sequence": sequence, "revision": drawing.revision, "closed": sorted(drawing.closed)}
    return {**message, "nodes": described["nodes"], "edges": described["edges"], **changes}


def with_node(drawing: Drawing, **node: Any) -> dict[str, Any]:
    message = edit(drawing)
    new = {"id": "k9", "kind": "kernel", "kernel": "rbf", "x": 0, "y": 0}
    return {**message, "nodes": [*message["nodes"], {**new, **node}]}


def test_an_edit_is_taken_once_and_leaves_the_revision_alone() -> None:
    drawing = Drawing(small())
    revision, message = drawing.revision, with_node(drawing, x=10.25)
    assert drawing.receive(message)
    assert drawing.spn.position("k9") == (10.25, 0.0)
    assert drawing.spn.spec("k9").kernel == "rbf"
    assert drawing.acknowledged == "mine/1"
    assert not drawing.receive(message)
    assert not drawing.receive({**message, "again": 1})
    assert (drawing.revision, drawing.version) == (revision, 2)


def test_messages_count_by_page_and_an_older_one_is_passed_over() -> None:
    drawing = Drawing(small())
    assert drawing.receive(edit(drawing, 7, edges=[]))
    assert not drawing.receive(edit(drawing, 6, nodes=[], edges=[]))
    assert drawing.receive(edit(drawing, 1, page="reloaded", nodes=[], edges=[]))
    assert drawing.acknowledged == "reloaded/1" and drawing.spn.nodes == ()


def test_a_message_that_was_dropped_costs_nothing() -> None:
    drawing, other = Drawing(small()), Drawing(small())
    first = with_node(drawing)
    second = {**with_node(drawing, id="k10"), "sequence": 2}
    second["nodes"] = [*first["nodes"], second["nodes"][-1]]
    assert drawing.receive(first) and drawing.receive(second)
    assert other.receive({**second, "revision": other.revision})
    assert drawing.spn == other.spn


def test_undo_is_an_edit_and_brings_back_settings() -> None:
    drawing = Drawing(small())
    before = drawing.spn
    drawing.push(before.replace("k1", kernel="linear", params=None, label=None))
    assert drawing.receive(edit(drawing, 1, nodes=before.to_dict()["nodes"]))
    assert drawing.spn == before and drawing.spn.spec("k1") == before.spec("k1")


def test_an_edit_on_an_older_revision_waits_to_be_merged() -> None:
    drawing = Drawing(small())
    message = with_node(drawing)
    drawing.push(small().replace("p1", p=3.0))
    assert not drawing.receive(message)
    assert "k9" not in drawing.spn.nodes
    assert not Drawing(small()).receive(message), "another tab's revision"


def test_pushes_wait_until_an_edit_shows_that_they_were_seen() -> None:
    drawing = Drawing(small())
    drawing.receive(edit(drawing, 4, edges=[]))
    for p in (2.0, 3.0):
        drawing.push(drawing.spn.replace("p1", p=p), f"{p}")
    assert [(push.number, push.said, push.after) for push in drawing.pending] == [
        (1, "2.0", "mine/4"),
        (2, "3.0", "mine/4"),
    ]
    assert drawing.receive(edit(drawing, 5, nodes=[], edges=[]))
    assert drawing.pending == ()
    for k in range(MAX_PENDING + 20):
        drawing.push(SPN(Product(Kernel("rbf"), p=1.0 + k)))
    assert len(drawing.pending) == MAX_PENDING


def test_a_push_arranges_what_has_no_place() -> None:
    drawing = Drawing(small())
    drawing.push(SPN(Product(Kernel("linear"))), fit=True, select=["p1"])
    assert all(drawing.spn.position(v) for v in drawing.spn.nodes)
    (push,) = drawing.pending
    assert (push.fit, push.whole, push.select) == (True, True, ("p1",))


def test_a_wish_for_a_layout_is_granted_once_also_when_a_later_message_brings_it() -> None:
    drawing = Drawing(small())
    wish = {"number": 1, "closed": []}
    moved = edit(drawing, 1)
    moved["nodes"] = [{**node, "x": 5.0, "y": 5.0} for node in moved["nodes"]]
    assert not drawing.receive({**moved, "wish": wish}), "nothing but the layout"
    (push,) = drawing.pending
    assert push.answers == 1 and drawing.spn == small()
    assert not drawing.receive({**moved, "sequence": 2, "wish": wish}), "made before the push was seen"
    again = {**moved, "revision": drawing.revision, "sequence": 3, "wish": wish}
    drawing.receive(again)
    assert drawing.acknowledged.endswith("/3") and drawing.pending == (), "granted already"


def test_groups_are_closed_and_opened_by_a_wish() -> None:
    drawing = Drawing(placed(templates.flat([f"c{k}" for k in range(12)])))
    (group, *_) = find_groups(drawing.spn)
    drawing.receive(edit(drawing, 1, wish={"number": 1, "closed": [group.id]}))
    assert drawing.closed == {group.id}
    assert len({drawing.spn.position(v) for v in group.members}) == 1
    drawing.receive(edit(drawing, 2, wish={"number": 2, "closed": []}))
    assert drawing.closed == frozenset()
    assert len({drawing.spn.position(v) for v in group.members}) == len(group.members)


def test_a_group_opened_where_all_is_seen_closes_others_and_what_is_too_small_is_closed() -> None:
    views = {f"view {j}": [f"c{j}_{k}" for k in range(16)] for j in range(4)}
    drawing = Drawing(small())
    drawing.push(templates.grouped(views), fit=True)
    every = {group.id for group in find_groups(drawing.spn)}
    first, second = sorted(every)[:2]
    drawing.receive(edit(drawing, 1, wish={"number": 1, "closed": sorted(every - {first}), "opened": first}))
    assert drawing.closed == every - {first}
    drawing.receive(edit(drawing, 2, wish={"number": 2, "closed": sorted(every - {first, second}), "opened": second}))
    assert second not in drawing.closed and first in drawing.closed
    drawing.receive(edit(drawing, 3, wish={"number": 3, "closed": []}))
    assert not drawing.closed
    drawing.receive(edit(drawing, 4, wish={"number": 4, "closed": [], "fit": True}))
    assert drawing.closed


def test_what_was_fitted_into_a_guess_is_fitted_anew_when_the_canvas_tells_its_size() -> None:
    views = {f"view {j}": [f"c{j}_{k}" for k in range(16)] for j in range(4)}
    drawing = Drawing(small())
    drawing.push(templates.grouped(views), fit=True)
    guessed, before = drawing.closed, drawing.revision
    for wrong in (None, [1], ["a", 2]):
        drawing.resize(wrong)
        assert drawing.revision == before
    drawing.resize([1900, 2400])
    assert drawing.closed < guessed and drawing.size == (1900, 2400) and drawing.pending[-1].fit
    before = drawing.revision
    drawing.resize([800, 400])
    assert drawing.revision == before, "once: it is the person's from then on"


def test_what_is_large_is_closed_so_that_it_can_be_read() -> None:
    drawing = Drawing(small())
    drawing.push(templates.flat([f"c{k}" for k in range(300)]), fit=True)
    assert drawing.closed
    with pytest.raises(StructureError, match="at most 2,000 nodes"):
        check_size(templates.flat([f"c{k}" for k in range(1000)]))


@pytest.mark.parametrize(
    "change",
    [
        {"nodes": None},
        {"nodes": {}, "edges": []},
        {"edges": "p1"},
        {"nodes": [None]},
        {"nodes": [["k1", "kernel"]]},
        {"edges": [["s1"]]},
        {"edges": [["s1", "p1", "p2"]]},
        {"edges": [["s1", 1]]},
        {"edges": [{"0": "s1", "1": "p1"}]},
        {"edges": [["s1", "nowhere"]]},
        {"edges": [["s1", "p1"], ["s1", "p1"]]},
        {"wish": {"number": "1"}},
        {"wish": {"number": 10**400}},
        {"edges": [["s1", "p1"]] * 30_000},
        {"sequence": {"a": 1}},
        {"sequence": "1" * 1_000_000},
        {"sequence": 10**5_000},
        {"sequence": True},
        {"sequence": None},
        {
            "nodes": [
                {"id": f"k{i + 1}", "kind": "kernel", "kernel": "rbf", "x": 0, "y": 0}
                for i in range(MAX_CANVAS_NODES + 1)
            ]
        },
        {"nodes": [{"id": "k1", "kind": "kernel", "kernel": "rbf", "x": 0, "y": 0}] * 2, "edges": []},
    ],
    ids=lambda change: repr(list(change)),
)
def test_a_hostile_message_changes_nothing(change: dict[str, Any]) -> None:
    drawing = Drawing(small())
    refused(drawing, {**edit(drawing), **change})


@pytest.mark.parametrize(
    "node",
    [
        {"id": None},
        {"id": 7},
        {"id": ["k1"]},
        {"id": ""},
        {"p": 2.0},
        {"kernel": None},
        {"params": "gamma"},
        {"features": {"a": 1}},
        {"label": ["<b>"]},
        {"onclick": "alert(1)"},
        {"id": "k9" * 5_000},
        {"kind": "root"},
        {"kind": None},
        {"kind": ["kernel"]},
        {"kind": {}},
        {"id": "p1", "kind": "kernel", "x": None},
        {"x": "0"},
        {"x": True},
        {"x": math.nan},
        {"y": math.inf},
        {"y": -1e7},
        {"y": 10**400},
        {"x": [1]},
    ],
    ids=lambda node: repr(list(node)),
)
def test_a_hostile_node_changes_nothing(node: dict[str, Any]) -> None:
    drawing = Drawing(small())
    refused(drawing, with_node(drawing, **node))


def test_groups_that_could_not_be_saved_are_passed_over() -> None:
    drawing = Drawing(small())
    drawing.receive({**edit(drawing), "closed": ["\ud800", 3, "x" * 10_000, "g"]})
    assert drawing.closed == {"g"}


def refused(drawing: Drawing, message: dict[str, Any]) -> None:
    before, revision = drawing.spn, drawing.revision
    assert not drawing.receive(message)
    assert drawing.spn == before
    assert drawing.version == 1
    assert drawing.revision != revision, "the canvas must show the drawing that is kept"
    (push,) = drawing.pending
    assert push.refused and push.said.endswith(".")
    assert not drawing.receive(message), "the same message again is stale"
    assert len(drawing.acknowledged) < 100


@pytest.mark.parametrize("message", [None, 3, "drawing", [], {}, {"revision": None}, {"revision": ["x"]}, {"page": 3}])
def test_what_is_no_message_is_passed_over(message: object) -> None:
    drawing = Drawing(small())
    assert not drawing.receive(message)
    assert drawing.revision == f"{drawing.epoch}.0"


def tables(spn: SPN) -> tuple[pd.DataFrame, pd.DataFrame]:
    columns = ["id", "kind", "label", "p", "kernel"]
    described = spn.to_dict()
    nodes = pd.DataFrame([{key: node.get(key) for key in columns} for node in described["nodes"]], columns=columns)
    return nodes, pd.DataFrame(described["edges"], columns=["parent", "child"])


@pytest.mark.parametrize("spn", [small(), placed(templates.figure1())], ids=["small", "figure1"])
def test_unchanged_tables_give_the_same_structure(spn: SPN) -> None:
    assert structure_from_tables(spn, *tables(spn)) == spn


def test_tables_add_change_and_remove() -> None:
    spn = small()
    nodes, edges = tables(spn)
    nodes = nodes[nodes["id"] != "k2"]
    nodes.loc[nodes["id"] == "p1", "p"] = 3.0
    nodes.loc[nodes["id"] == "k1", "label"] = None
    nodes.loc[len(nodes) + 5] = ["k7", "kernel", "new <b>", None, "polynomial"]
    nodes.loc[len(nodes) + 6] = [None] * 5
    edges.loc[edges["child"] == "k2", "child"] = "k7"
    edges.loc[len(edges)] = [None, None]
    changed = structure_from_tables(spn, nodes, edges)
    assert changed.nodes == ("s1", "p1", "k1", "p2", "k7")
    assert (changed.p("p1"), changed.p("p2")) == (3.0, 2.0)
    assert (changed.label("k1"), changed.label("k7")) == ("k1", "new <b>")
    assert changed.spec("k1") == spn.spec("k1")
    assert changed.spec("k7").kernel == "polynomial"
    assert changed.position("p1") == spn.position("p1")
    assert changed.position("k7") is None


def test_another_kernel_in_the_table_drops_the_parameters_of_the_old_one() -> None:
    nodes, edges = tables(small())
    nodes.loc[nodes["id"] == "k1", "kernel"] = "linear"
    changed = structure_from_tables(small(), nodes, edges)
    assert (changed.spec("k1").kernel, changed.spec("k1").params) == ("linear", ())


def test_another_id_in_the_table_keeps_the_node_and_its_edges() -> None:
    spn = placed(SPN(Sum(Product(Kernel("rbf", features=["a", "b"], gamma=0.5)), Product(Kernel("linear")))))
    nodes, edges = tables(spn)
    new = {"k1": "colour", "s1": "top", "p1": "p2", "p2": "p1"}
    nodes["id"] = nodes["id"].replace(new)
    changed = structure_from_tables(spn, nodes, edges)
    assert changed.nodes == ("top", "p2", "colour", "p1", "k2")
    assert changed.spec("colour") == spn.spec("k1")
    assert changed.position("colour") == spn.position("k1")
    assert [changed.children(v) for v in ("top", "p2", "p1")] == [("p2", "p1"), ("colour",), ("k2",)]


def test_edges_that_were_changed_are_taken_as_written() -> None:
    nodes, edges = tables(small())
    nodes["id"] = nodes["id"].replace({"k1": "k2", "k2": "k1"})
    edges.loc[edges["child"] == "k1", "child"] = "k2"
    edges.loc[len(edges)] = ["p2", "k2"]
    changed = structure_from_tables(small(), nodes, edges)
    assert (changed.children("p1"), changed.children("p2")) == (("k2",), ("k1", "k2"))


def test_tables_that_describe_nothing_are_refused() -> None:
    nodes, edges = tables(small())
    edges.loc[len(edges)] = ["s1", "p77"]
    with pytest.raises(StructureError, match="p77"):
        structure_from_tables(small(), nodes, edges)
    nodes.loc[len(nodes)] = ["k1", "kernel", None, None, "rbf"]
    with pytest.raises(StructureError, match="two nodes"):
        structure_from_tables(small(), nodes, tables(small())[1])


Tree = tuple[frozenset[str], frozenset[tuple[str, str]]]


def trees(spn: SPN, node: str) -> Iterator[tuple[tuple[str, ...], Tree]]:
    """Every induced tree below a node, with its kernels in order, in the order in which `paths` lists them."""
    children = spn.children(node)
    if spn.kind(node) == "kernel":
        yield (node,), (frozenset([node]), frozenset())
        return
    for chosen in [[child] for child in children] if spn.kind(node) == "sum" else [list(children)]:
        for below in itertools.product(*(list(trees(spn, child)) for child in chosen)):
            yield (
                tuple(leaf for leaves, _ in below for leaf in leaves),
                (
                    frozenset([node]).union(*(nodes for _, (nodes, _) in below)),
                    frozenset((node, child) for child in chosen).union(*(edges for _, (_, edges) in below)),
                ),
            )


def test_the_drawn_path_of_figure_1() -> None:
    agrees(templates.figure1())


@pytest.mark.parametrize("shared", [0.0, 0.3])
def test_the_drawn_path_is_the_induced_tree(shared: float) -> None:
    for seed in range(60):
        agrees(SPN.from_dict(random_structure(np.random.default_rng(seed), shared=shared)))


def agrees(spn: SPN) -> None:
    for path, (leaves, (nodes, edges)) in zip(spn.paths(), trees(spn, spn.root), strict=True):
        assert path.leaves == leaves
        drawn = drawn_path(spn, path)
        assert (set(drawn[0]), set(drawn[1])) == (nodes, edges)
