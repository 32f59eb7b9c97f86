"""The two-way drawing canvas as a Streamlit component."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from spnmkl.data import Dataset
from spnmkl.export.scene import fitting, scene
from spnmkl.inspection import Share
from spnmkl.structure import SPN, Path
from spnmkl.structure.layout import arranged
from spnmkl.ui.parts.session import FRONTEND, theme
from spnmkl.ui.state.computed_once import kept_with_dataset, kept_with_drawing
from spnmkl.ui.state.drawing import Drawing, read_closed

KEY = "spnmkl_canvas"
SHOWN_SIZE = (1000, 340)  # of a canvas to look at, in px, until it tells its own
_SHOWING = ("words", "drawing", "history", "view", "paint", "minimap")
_SCRIPTS = (*_SHOWING, "edit", "hand", "keys", "panels", "talk", "canvas")

# Two components: the columns of the data are sent when the data change, the canvas with every edit.
_columns = st.components.v2.component("spnmkl_columns", js=(FRONTEND / "columns.js").read_text("utf-8"))
_canvas = st.components.v2.component(
    "spnmkl_canvas",
    html=(FRONTEND / "canvas.html").read_text("utf-8"),
    css=(FRONTEND / "canvas.css").read_text("utf-8"),
    js="\n".join((FRONTEND / "canvas" / f"{name}.js").read_text("utf-8") for name in _SCRIPTS),
)


def send_columns(dataset: Dataset) -> None:
    """The views and columns that can be dragged onto the canvas; once per page, outside of fragments."""
    _columns(key="spnmkl_columns", data=_described(dataset), height=1)


@kept_with_dataset
def _described(dataset: Dataset) -> dict[str, Any]:
    names = list(dataset.features)
    at = {name: k for k, name in enumerate(names)}
    views = {view: [at[name] for name in columns] for view, columns in dataset.feature_views.items()}
    text = [at[name] for name in dataset.categorical if name in at]
    return {"token": uuid.uuid4().hex, "columns": names, "views": views, "text": text}


def show_canvas(
    drawing: Drawing,
    *,
    faulty: Collection[str] = (),
    path: Path | None = None,
    facts: str = "",
    wrong: bool = False,
) -> tuple[str, ...]:
    """Show the drawing with a line of facts below it, and return the selected nodes."""
    spn = drawing.spn
    looks = _looks(spn, drawing.closed, frozenset(faulty), path, theme())
    data = {
        "epoch": drawing.epoch,
        "number": drawing.pushes,
        "acknowledged": drawing.acknowledged,
        "version": drawing.version,
        "select": list(drawing.select),
        "drawing": _described_drawing(spn, drawing.closed),
        "pushes": [
            {
                "number": push.number,
                "after": push.after,
                "said": push.said,
                "fit": push.fit,
                "whole": push.whole,
                "refused": push.refused,
                "answers": push.answers,
                "select": list(push.select),
                "drawing": _described_drawing(push.spn, push.closed),
            }
            for push in drawing.pending
        ],
        "looks": looks,
        "facts": facts,
        "wrong": wrong,
    }
    _mount(KEY, data, "drawing", "selection", "theme")
    return selection(drawing)


def _mount(key: str, data: dict[str, Any], *states: str) -> None:
    """The canvas, and what it may tell; the page is drawn anew when it does."""
    told: dict[str, Any] = {f"on_{state}_change": lambda: None for state in states}
    _canvas(key=key, data=data, **told)


def show_trained(
    key: str,
    spn: SPN,
    beta: Mapping[str, float] | None,
    *,
    said: str = "",
    path: Path | None = None,
    shares: Mapping[str, Share] | None = None,
) -> tuple[str, ...]:
    """The drawing to look at; with weights, sizes and colours are by weight and what is pruned is dashed."""
    shown, closed = shown_there(key, spn)
    data = {
        "revision": f"{hash(shown)} {sorted(closed)}",
        "readonly": True,
        "message": said,
        "select": list(chosen_nodes(key, spn)),
        "drawing": _described_drawing(shown, closed),
        "looks": trained_looks(shown, closed, beta, theme(), path, shares),
    }
    _mount(key, data, "selection", "wish", "theme")
    return chosen_nodes(key, spn)


def trained_looks(
    spn: SPN,
    closed: frozenset[str],
    beta: Mapping[str, float] | None,
    theme: str,
    path: Path | None = None,
    shares: Mapping[str, Share] | None = None,
) -> dict[str, Any]:
    """How nodes, groups and edges look with these weights and held-out shares."""
    return scene(spn, closed=closed, beta=beta, path=path, theme=theme, shares=shares).to_dict()


def shown_there(key: str, spn: SPN) -> tuple[SPN, frozenset[str]]:
    """The drawing as a canvas to look at places it, and the groups that are closed there."""
    closed = _closed_there(key, spn)
    return (arranged(spn, closed) if closed or _wish(key) is not None else spn), closed


def _closed_there(key: str, spn: SPN) -> frozenset[str]:
    """The groups that the person closed on a canvas to look at; else those that must be for the texts to be read."""
    wish = _wish(key)
    return _fitted(spn) if wish is None else read_closed(wish.get("closed"))


def _wish(key: str) -> Mapping[str, Any] | None:
    state = st.session_state.get(key)
    wish = state.get("wish") if isinstance(state, Mapping) else None
    return wish if isinstance(wish, Mapping) else None


@kept_with_drawing
def _fitted(spn: SPN) -> frozenset[str]:
    return fitting(spn, *SHOWN_SIZE)


def chosen_nodes(key: str, spn: SPN) -> tuple[str, ...]:
    """The nodes selected on a canvas that the structure knows."""
    state = st.session_state.get(key)
    chosen = state.get("selection") if isinstance(state, Mapping) else None
    known = set(spn.nodes)
    return tuple(v for v in chosen if isinstance(v, str) and v in known) if isinstance(chosen, list) else ()


def receive(drawing: Drawing) -> bool:
    """Take what the canvas sent last."""
    state = st.session_state.get(KEY)
    return drawing.receive(state.get("drawing") if isinstance(state, Mapping) else None)


def selection(drawing: Drawing) -> tuple[str, ...]:
    return chosen_nodes(KEY, drawing.spn)


@kept_with_drawing
def _looks(spn: SPN, closed: frozenset[str], faulty: frozenset[str], path: Path | None, theme: str) -> dict[str, Any]:
    return scene(spn, closed=closed, path=path, faulty=faulty, theme=theme).to_dict()


def _described_drawing(spn: SPN, closed: frozenset[str]) -> dict[str, Any]:
    described = spn.to_dict()
    return {"nodes": described["nodes"], "edges": described["edges"], "closed": sorted(closed)}
