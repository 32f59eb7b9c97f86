"""A drawing as plain data: version 1 of the structure format, and networkx.

Reading is strict. A key that is not part of the format is refused, because a misspelt one (``normalise``)
would otherwise silently change what is learned; a key whose value is null counts as absent.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

from spnmkl.errors import StructureError
from spnmkl.structure.nodes import (
    KINDS,
    Children,
    KernelSpec,
    Node,
    Nodes,
    as_number,
    as_text,
    describe,
    first_double,
    name_list,
    unlabelled,
)

if TYPE_CHECKING:
    import networkx as nx

FORMAT = "spnmkl/structure"
VERSION = 1

_COMMON = {"kind", "label", "x", "y"}
_KERNEL = {"kernel", "params", "features", "normalize"}
_ALLOWED = {"sum": _COMMON, "product": _COMMON | {"p"}, "kernel": _COMMON | _KERNEL}


def write_node(node: Node) -> dict[str, Any]:
    """The attributes of a node, without its id."""
    data: dict[str, Any] = {"kind": node.kind, "label": node.label}
    if node.kind == "product":
        data["p"] = node.p
    if node.spec is not None:
        data["kernel"] = node.spec.kernel
        data["params"] = {k: list(v) if isinstance(v, tuple) else v for k, v in node.spec.params}
        data["features"] = None if node.spec.features is None else list(node.spec.features)
        data["normalize"] = node.spec.normalize
    data |= {"x": node.x, "y": node.y}
    return {key: value for key, value in data.items() if value is not None}


def read_node(id: str, data: Mapping[str, Any]) -> Node:
    data = {key: value for key, value in data.items() if value is not None}
    kind = data.get("kind")
    if kind not in KINDS:
        raise StructureError(f"The kind of node {id!r} must be 'sum', 'product' or 'kernel'; found {describe(kind)}.")
    unknown = [str(key) for key in data if key not in _ALLOWED[kind]]
    if unknown:
        allowed = ", ".join(sorted(_ALLOWED[kind]))
        raise StructureError(f"The {kind} {id!r} cannot carry {unknown[0]!r}; expected only id, {allowed}.")
    node = Node(
        kind=kind,
        label=as_text(data["label"], f"The label of node {id!r}") if "label" in data else None,
        p=_finite(data.get("p", 1.0), f"The p of product {id!r}"),
        spec=_read_spec(id, data) if kind == "kernel" else None,
        x=_finite(data["x"], f"The x of node {id!r}") if "x" in data else None,
        y=_finite(data["y"], f"The y of node {id!r}") if "y" in data else None,
    )
    return unlabelled(id, node)


def _finite(value: object, what: str) -> float:
    number = as_number(value, what)
    if not math.isfinite(number):
        raise StructureError(f"{what} must be a finite number; found {number}.")
    return number


def _read_spec(id: str, data: Mapping[str, Any]) -> KernelSpec:
    if "kernel" not in data:
        raise StructureError(f"The kernel {id!r} has no 'kernel' key; it must name its base kernel.")
    chosen = {key: data[key] for key in _KERNEL if key in data}
    try:
        return KernelSpec(**chosen)
    except StructureError as error:
        raise StructureError(f"Node {id!r}: {error}") from None


def write_dict(nodes: Nodes, children: Children) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "nodes": [{"id": i, **write_node(node)} for i, node in nodes.items()],
        "edges": [[parent, child] for parent, below in children.items() for child in below],
    }


def read_dict(data: object) -> tuple[Nodes, Children]:
    if not isinstance(data, Mapping):
        raise StructureError(f"A structure must be a mapping with nodes and edges; found {describe(data)}.")
    if data.get("format") != FORMAT:
        raise StructureError(f"The format must be {FORMAT!r}; found {describe(data.get('format'))}.")
    if type(data.get("version")) is not int or data["version"] != VERSION:
        raise StructureError(
            f"The version of a structure must be {VERSION}, the one this release reads;"
            f" found {describe(data.get('version'))}."
        )
    for key in data:
        if key not in ("format", "version", "nodes", "edges"):
            raise StructureError(
                f"The structure has the unknown key {str(key)!r}; expected format, version, nodes, edges."
            )
    return _assemble(map(_entry, _listed(data, "nodes")), map(_edge, _listed(data, "edges")))


def _listed(data: Mapping[str, Any], key: str) -> list[Any] | tuple[Any, ...]:
    if key not in data:
        raise StructureError(f"The structure has no {key!r}; it must be a list.")
    if not isinstance(data[key], list | tuple):
        raise StructureError(f"The {key!r} of a structure must be a list; found {describe(data[key])}.")
    return data[key]


def _entry(item: object) -> tuple[object, Mapping[str, Any]]:
    if not isinstance(item, Mapping):
        raise StructureError(f"Every node must be a mapping with an id and a kind; found {describe(item)}.")
    return item.get("id"), {key: value for key, value in item.items() if key != "id"}


def _edge(item: object) -> tuple[object, object]:
    if not isinstance(item, list | tuple) or len(item) != 2:
        found = f"a list of {len(item)}" if isinstance(item, list | tuple) else describe(item)
        raise StructureError(f"Every edge must be a pair [parent, child]; found {found}.")
    return item[0], item[1]


def _assemble(
    entries: Iterable[tuple[object, Mapping[str, Any]]], edges: Iterable[tuple[object, object]]
) -> tuple[Nodes, Children]:
    nodes: Nodes = {}
    for given, attributes in entries:
        id = as_text(given, "The id of a node")
        if id in nodes:
            raise StructureError(f"The id {id!r} is given to two nodes; every node needs its own.")
        nodes[id] = read_node(id, attributes)
    children: dict[str, dict[str, None]] = {i: {} for i in nodes}
    for pair in edges:
        parent, child = (as_text(end, "An end of an edge") for end in pair)
        for end in (parent, child):
            if end not in nodes:
                raise StructureError(
                    f"The edge {parent!r} → {child!r} leads to {end!r}, which is no node of the structure."
                )
        if child in children[parent]:
            raise StructureError(
                f"The edge {parent!r} → {child!r} is drawn twice;"
                " for K∘K put two kernels with equal settings below the product."
            )
        children[parent][child] = None
    return nodes, {i: tuple(below) for i, below in children.items()}


def write_json(nodes: Nodes, children: Children, indent: int | None) -> str:
    try:
        return json.dumps(write_dict(nodes, children), indent=indent, ensure_ascii=False, allow_nan=False)
    except ValueError:
        bad = [i for i, node in nodes.items() if not math.isfinite(node.p)]
        raise StructureError(
            f"The p of {name_list(bad)} is not a finite number and cannot be written to JSON."
        ) from None


def read_json(text: str | bytes) -> tuple[Nodes, Children]:
    if not isinstance(text, str | bytes | bytearray):
        raise StructureError(f"JSON must be given as text; found {describe(text)}.")
    try:
        data = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_double_keys)
    except RecursionError:
        raise StructureError("The text is nested too deeply to be a structure.") from None
    except json.JSONDecodeError as error:
        raise StructureError(f"The text is not JSON: {error}.") from None
    except UnicodeDecodeError:
        raise StructureError("The text is not JSON: it is not encoded in UTF-8.") from None
    except StructureError:
        raise
    except ValueError:
        raise StructureError("The text holds a whole number of too many digits.") from None
    return read_dict(data)


def _refuse_constant(name: str) -> NoReturn:
    raise StructureError(f"The text is not JSON: {name} is not a number that JSON knows.")


def _without_double_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    double = first_double(key for key, _ in pairs)
    if double is not None:
        raise StructureError(f"The key {double!r} stands twice in the same JSON object.")
    return dict(pairs)


def write_networkx(nodes: Nodes, children: Children) -> nx.DiGraph:
    from networkx import DiGraph

    graph = DiGraph()
    graph.add_nodes_from((i, {**write_node(node), "label": node.label or i}) for i, node in nodes.items())
    graph.add_edges_from((parent, child) for parent, below in children.items() for child in below)
    return graph


def read_networkx(graph: object) -> tuple[Nodes, Children]:
    from networkx import Graph

    if not isinstance(graph, Graph) or not graph.is_directed():
        raise StructureError(
            f"A structure is read from a networkx.DiGraph; found a value of type {type(graph).__name__}."
        )
    return _assemble(graph.nodes(data=True), ((parent, child) for parent, child, *_ in graph.edges))
