"""The two-way drawing canvas as a Streamlit component."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Mapping
from typing import Any

import streamlit as st

from spnmkl.data import Dataset
from spnmkl.export.closing import fitting
from spnmkl.export.scene import scene
from spnmkl.inspection import Share
from spnmkl.structure import SPN, Path
from spnmkl.structure.layout import arranged
from spnmkl.training.run import Run
from spnmkl.ui.parts.session import FRONTEND, theme
from spnmkl.ui.state.computed_once import kept_with_dataset, kept_with_drawing
from spnmkl.ui.state.drawing import Drawing, placed, read_size, wished_groups

KEY = "spnmkl_canvas"
_SIZES = "spnmkl_canvas_sizes"
SHOWN_SIZE = (1000, 340)  # of a canvas to look at, in px, until it tells its own
_SCRIPTS = (
    *("words", "drawing", "history", "view", "route", "paint", "minimap"),
    *("place", "edit", "hand", "keys", "panels", "loose", "talk", "canvas"),
)

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
        "since": drawing.pushes if drawing.recalled is None else drawing.recalled,
        "acknowledged": drawing.acknowledged,
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
        "size": list(drawing.size),
        "facts": facts,
        "wrong": wrong,
    }
    _mount(KEY, data, "drawing", "selection", "theme", "size")
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
        "size": list(_size_there(key)),
    }
    _mount(key, data, "selection", "wish", "theme", "size")
    return chosen_nodes(key, spn)


def node_shares(run: Run) -> Mapping[str, Share] | None:
    """The held-out shares of the nodes of a run, where they were measured."""
    return run.held_out.nodes if run.held_out else None


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
    return (arranged(spn, closed) if closed or _wish(key) is not None else placed(spn)), closed


def _closed_there(key: str, spn: SPN) -> frozenset[str]:
    """The groups that the person closed on a canvas to look at; else those that must be for the texts to be read."""
    wish, size = _wish(key), _size_there(key)
    return _fitted(spn, size) if wish is None else wished_groups(spn, wish, size)


def _size_there(key: str) -> tuple[int, int]:
    """What the canvas told of its size, also when it was shown last."""
    sizes: dict[str, tuple[int, int]] = st.session_state.setdefault(_SIZES, {})
    told = read_size(_told(key, "size"))
    if told is not None:
        sizes[key] = told
    return sizes.get(key, SHOWN_SIZE)


def _wish(key: str) -> Mapping[str, Any] | None:
    wish = _told(key, "wish")
    return wish if isinstance(wish, Mapping) else None


def _told(key: str, what: str) -> object:
    state = st.session_state.get(key)
    return state.get(what) if isinstance(state, Mapping) else None


@kept_with_drawing
def _fitted(spn: SPN, size: tuple[int, int]) -> frozenset[str]:
    return fitting(spn, *size)


def chosen_nodes(key: str, spn: SPN) -> tuple[str, ...]:
    """The nodes selected on a canvas that the structure knows."""
    chosen = _last_selection(_told(key, "selection"), _told(key, "drawing"))
    known = set(spn.nodes)
    return tuple(v for v in chosen if isinstance(v, str) and v in known) if isinstance(chosen, list) else ()


def _last_selection(told: object, edit: object) -> object:
    """A drawing that is edited tells its selection with every edit, and where it alone changes after which it did."""
    ids, after = (told.get("ids"), told.get("after")) if isinstance(told, Mapping) else (told, None)
    if not isinstance(edit, Mapping) or "selection" not in edit:
        return ids
    sequence = edit.get("sequence")
    later = isinstance(after, int) and isinstance(sequence, int) and after >= sequence
    return ids if later else edit["selection"]


def receive(drawing: Drawing) -> bool:
    """Take what the canvas sent last."""
    drawing.resize(_told(KEY, "size"))
    return drawing.receive(_told(KEY, "drawing"))


def selection(drawing: Drawing) -> tuple[str, ...]:
    return chosen_nodes(KEY, drawing.spn)


@kept_with_drawing
def _looks(spn: SPN, closed: frozenset[str], faulty: frozenset[str], path: Path | None, theme: str) -> dict[str, Any]:
    return scene(spn, closed=closed, path=path, faulty=faulty, theme=theme).to_dict()


def _described_drawing(spn: SPN, closed: frozenset[str]) -> dict[str, Any]:
    described = spn.to_dict()
    return {"nodes": described["nodes"], "edges": described["edges"], "closed": sorted(closed)}
