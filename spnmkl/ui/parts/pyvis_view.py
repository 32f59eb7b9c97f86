"""A trained drawing in pyvis's own network view: weights, pruned branches and the chosen path, with nodes to move."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import streamlit as st

from spnmkl.export.html import to_html
from spnmkl.structure import SPN, Path
from spnmkl.ui.parts.canvas import shown_there
from spnmkl.ui.parts.session import theme

HEIGHT = 560


def offer_pyvis(canvas: str, spn: SPN, beta: Mapping[str, float], path: Path | None = None) -> None:
    """A switch that shows the drawing of a canvas as a page of pyvis, and the page to take along."""
    if not st.toggle("Show it with pyvis", key=f"{canvas}_pyvis", help="The same drawing on vis-network."):
        return
    shown, closed = shown_there(canvas, spn)
    page = to_html(shown, beta=beta, highlight=path, closed=closed, theme=theme())
    # As an address of its own, so that what stands in the page has no access to the app.
    source = "data:text/html;charset=utf-8;base64," + base64.b64encode(page.encode()).decode()
    st.iframe(source, height=HEIGHT)
    st.download_button(
        "Web page",
        page,
        "drawing.html",
        "text/html",
        icon=":material/download:",
        on_click="ignore",
        key=f"{canvas}_page",
    )
