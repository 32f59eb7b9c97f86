"""The two-way drawing canvas as a Streamlit component."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from importlib.resources import files
from typing import Any

import streamlit as st

from spnmkl.export.looks import EdgeLook, NodeLook, drawn, path_flows
from spnmkl.export.text import node_text
from spnmkl.structure import SPN, Path
from spnmkl.structure.layout import arranged
from spnmkl.structure.paths import drawn_path
from spnmkl.ui.parts.session import FRONTEND, theme
from spnmkl.ui.state.drawing import Drawing

KEY = "spnmkl_canvas"

# Two components: the library is constant and sent once, the canvas is small and changes with every edit.
_library = st.components.v2.component(
    "spnmkl_vis",
    js=(files("pyvis") / "lib" / "vis-9.1.2" / "vis-network.min.js").read_text("utf-8")
    + "\nexport default () => {};\n",
)
_canvas = st.components.v2.component(
    "spnmkl_canvas",
    html=(FRONTEND / "canvas.html").read_text("utf-8"),
    css=(FRONTEND / "canvas.css").read_text("utf-8"),
    js=(FRONTEND / "canvas.js").read_text("utf-8"),
)


def load_library() -> None:
    """Send the drawing library; once per page, outside of fragments."""
    _library(key="spnmkl_vis", height=1)


def show_canvas(drawing: Drawing, *, faulty: Collection[str] = (), path: Path | None = None) -> tuple[str, ...]:
    """Take the canvas's edits into the drawing, show it, and return the selected nodes."""
    _canvas(
        key=KEY,
        data=_payload(drawing, faulty, path),
        on_drawing_change=lambda: None,
        on_selection_change=lambda: None,
        on_command_change=lambda: _obey(drawing),
    )
    drawing.fit = False
    return selection(drawing)


def show_trained(
    key: str, spn: SPN, beta: Mapping[str, float] | None, *, said: str = "", path: Path | None = None
) -> tuple[str, ...]:
    """The drawing to look at; with weights, sizes and colours are by weight and what is pruned is grey."""
    data = {
        "revision": f"{hash(spn)}",
        "readonly": True,
        "message": said,
        "fit": True,
        "select": list(chosen_nodes(key, spn)),
        "nodes": [_place(spn, v) for v in spn.nodes],
        "edges": [[v, child] for v in spn.nodes for child in spn.children(v)],
        "looks": {**trained_looks(spn, beta, theme()), "path": _red(spn, path)},
    }
    _canvas(key=key, data=data, on_selection_change=lambda: None)
    return chosen_nodes(key, spn)


def trained_looks(spn: SPN, beta: Mapping[str, float] | None, theme: str) -> dict[str, Any]:
    """How nodes and edges look with these weights, as canvas.js draws them."""
    nodes, edges = drawn(spn, beta, theme=theme)
    through = path_flows(spn, beta) if beta is not None else {}
    return {
        "nodes": {v: _trained_look(spn, v, look, through.get(v)) for v, look in nodes.items()},
        "edges": {_edge_name(edge): _trained_edge(edge, look, through) for edge, look in edges.items()},
    }


def chosen_nodes(key: str, spn: SPN) -> tuple[str, ...]:
    """The nodes selected on a canvas that the structure knows."""
    state = st.session_state.get(key)
    chosen = state.get("selection") if isinstance(state, Mapping) else None
    known = set(spn.nodes)
    return tuple(v for v in chosen if isinstance(v, str) and v in known) if isinstance(chosen, list) else ()


def _edge_name(edge: tuple[str, str]) -> str:
    """As canvas.js names edges."""
    return json.dumps(edge, ensure_ascii=False, separators=(",", ":"))


def _trained_look(spn: SPN, v: str, look: NodeLook, through: float | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"text": look.text, "title": look.title, "fill": look.fill, "border": look.border}
    if spn.kind(v) == "product":
        shown |= {"weight": look.text, "value": look.value, "radius": look.width / 2, "rise": look.rise}
        shown["title"] += f", β = {look.value}" if look.value else ""
        shown["title"] += "" if through is None else f", {_part(through)}"
    if look.faded:
        shown |= {"ink": look.ink, "title": shown["title"] + ", pruned"}
    return shown


def _trained_edge(edge: tuple[str, str], look: EdgeLook, through: Mapping[str, float]) -> dict[str, Any]:
    share = through.get(edge[1], through.get(edge[0]))
    title = {} if share is None else {"title": _part(share)}
    return {"width": look.width, "color": look.colour} | title


def _part(share: float) -> str:
    return f"{100 * share:.3g} % of the path weights"


def _red(spn: SPN, path: Path | None) -> dict[str, Any]:
    nodes, edges = drawn_path(spn, path) if path is not None else ((), ())
    return {"nodes": list(nodes), "edges": [list(edge) for edge in edges]}


def receive(drawing: Drawing) -> bool:
    """Take what the canvas sent last."""
    return drawing.receive(_sent("drawing"))


def selection(drawing: Drawing) -> tuple[str, ...]:
    return chosen_nodes(KEY, drawing.spn)


def _sent(name: str) -> Any:
    state = st.session_state.get(KEY)
    return state.get(name) if isinstance(state, Mapping) else None


def _obey(drawing: Drawing) -> None:
    receive(drawing)
    command = _sent("command")
    if command == "undo":
        drawing.undo()
    elif command == "redo":
        drawing.redo()
    elif command == "layout":
        drawing.push(arranged(drawing.spn), "Arranged in layers.", fit=True)


def _payload(drawing: Drawing, faulty: Collection[str], path: Path | None) -> dict[str, Any]:
    spn = drawing.spn
    return {
        "revision": drawing.revision,
        "acknowledged": drawing.acknowledged,
        "message": drawing.said,
        "fit": drawing.fit,
        "select": list(drawing.select),
        "undo": bool(drawing.past),
        "redo": bool(drawing.future),
        "nodes": [_place(spn, v) for v in spn.nodes],
        "edges": [[v, child] for v in spn.nodes for child in spn.children(v)],
        "looks": {
            "nodes": {v: _look(spn, v, v in faulty) for v in spn.nodes},
            "path": _red(spn, path),
        },
    }


def _place(spn: SPN, v: str) -> dict[str, Any]:
    x, y = spn.position(v) or (0.0, 0.0)
    return {"id": v, "kind": spn.kind(v), "x": x, "y": y}


def _look(spn: SPN, v: str, error: bool) -> dict[str, Any]:
    kind, text = spn.kind(v), node_text(spn, v)
    if kind == "product":
        return {"text": text, "weight": text, "title": f"{v}: weight {text}, p = {spn.p(v):g}", "error": error}
    return {"text": text or v, "title": f"{v}: {text if kind == 'kernel' else 'sum'}", "error": error}
