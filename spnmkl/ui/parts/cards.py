"""Small pictures of structures on cards: samples with the drawing they open on, templates with their shape."""

from __future__ import annotations

from functools import lru_cache
from math import factorial

import streamlit as st

from spnmkl.data import SAMPLES, load_sample
from spnmkl.export.picture import to_svg
from spnmkl.structure import SPN
from spnmkl.structure.layout import arranged, unplaced
from spnmkl.structure.templates import TEMPLATES
from spnmkl.ui.state.computed_once import kept_with_drawing
from spnmkl.ui.state.opening import opening_structure
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted


@kept_with_drawing
def thumbnail(spn: SPN, beta: tuple[tuple[str, float], ...], theme: str) -> str:
    return to_svg(arranged(spn), beta=dict(beta) or None, theme=theme)


def bare(spn: SPN) -> SPN:
    """The same shape with as little text as possible."""
    described = spn.to_dict()
    shown = ("id", "kind", "kernel", "p")
    nodes = [{key: node[key] for key in shown if key in node} for node in described["nodes"]]
    return SPN.from_dict({**described, "nodes": nodes})


@lru_cache(maxsize=2 * len(TEMPLATES))
def template_picture(name: str, theme: str) -> str:
    """The shape of a template; the Taylor series with the weights that make it one."""
    spn = bare(TEMPLATES[name].sketch())
    beta = {v: 1 / factorial(k) for k, v in enumerate(spn.products, 1)} if name == "taylor_exp" else {}
    return thumbnail(spn, tuple(beta.items()), theme)


@lru_cache(maxsize=len(SAMPLES))
def sample_drawing(name: str) -> SPN:
    """What a sample opens on, or is best tried with."""
    return SAMPLES[name].drawing or opening_structure(load_sample(name))


@lru_cache(maxsize=len(SAMPLES))
def sample_facts(name: str) -> str:
    dataset = load_sample(name)
    views = f" in {counted(len(dataset.views), 'view')}" if dataset.views else ""
    n_classes = len(dataset.labelled_table.classes)
    return f"{len(dataset.frame):,} rows · {counted(len(dataset.features), 'column')}{views} · {n_classes} classes"


def open_sample(work: Workspace, name: str) -> None:
    """The sample with the drawing that its card shows."""
    work.bring(load_sample(name))
    drawing = sample_drawing(name)
    if unplaced(work.drawing.spn) != unplaced(drawing):
        work.path = None
        work.drawing.push(drawing, "A drawing to try: press Train.", fit=True)


def picture_on_card(svg: str) -> None:
    st.image(svg, width="stretch")
