"""A trained drawing in pyvis's own network view: weights, pruned branches and the chosen path, with nodes to move."""

from __future__ import annotations

import base64

import streamlit as st

from spnmkl.export.html import to_html
from spnmkl.structure import Path
from spnmkl.training.run import Run
from spnmkl.ui.parts.canvas import node_shares, show_trained, shown_there
from spnmkl.ui.parts.session import theme

HEIGHT = 420


def show_drawing(canvas: str, run: Run, path: Path | None = None) -> tuple[str, ...]:
    """A run's drawing on a canvas or, where that was chosen, in its place as a page of pyvis; the selected nodes."""
    replaced = shows_pyvis(canvas)
    # It stays on the page unseen (app.css): it remembers what is selected and which groups are closed.
    with st.container(key=f"{'unseen' if replaced else 'seen'}_{canvas}"):
        selected = show_trained(canvas, run.spn, run.solution.beta, path=path, shares=node_shares(run))
    if replaced:
        # As an address of its own, so that what stands in the page has no access to the app.
        page = base64.b64encode(_page(canvas, run, path).encode()).decode()
        st.iframe(f"data:text/html;charset=utf-8;base64,{page}", height=HEIGHT)
    return selected


def shows_pyvis(canvas: str) -> bool:
    return bool(st.session_state.get(f"{canvas}_pyvis"))


def offer_pyvis(canvas: str, run: Run, path: Path | None = None) -> None:
    """A switch between the canvas and pyvis, and the page to take along."""
    if st.toggle("Show it with pyvis", key=f"{canvas}_pyvis", help="The same drawing on vis-network."):
        st.download_button(
            "Web page",
            _page(canvas, run, path),
            "drawing.html",
            "text/html",
            icon=":material/download:",
            on_click="ignore",
            key=f"{canvas}_page",
        )


def _page(canvas: str, run: Run, path: Path | None) -> str:
    shown, closed = shown_there(canvas, run.spn)
    beta, shares = run.solution.beta, node_shares(run)
    return to_html(shown, beta=beta, highlight=path, closed=closed, theme=theme(), shares=shares)
