"""A field of the panel that changes the drawing.

Fields act by callback: what was typed is taken also where the same click selects another node, whose panel is then
drawn instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.ui.parts.canvas import receive
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted

_WRONG = "panel_wrong"
Changes = Mapping[str, Mapping[str, Any]]  # by node


def field(work: Workspace, key: str, drawn: Any, change: Callable[[Any], Changes]) -> dict[str, Any]:
    """The arguments of a widget that make a value other than the drawn one a change of some nodes."""
    return {"key": key, "on_change": _take, "args": (work, key, drawn, change)}


def _take(work: Workspace, key: str, drawn: Any, change: Callable[[Any], Changes]) -> None:
    value = st.session_state.get(key, drawn)
    if value == drawn:  # a field that is shown again after a while counts as changed
        return
    if receive(work.drawing):
        work.path = None
    spn = work.drawing.spn
    try:
        changes = change(value)
        for v in changes.keys() & set(spn.nodes):
            spn = spn.replace(v, **changes[v])
    except SPNMKLError as error:
        st.session_state[_WRONG] = plain(error)
        return
    if spn != work.drawing.spn:
        work.drawing.push(spn, "Changed." if len(changes) == 1 else f"Changed {counted(len(changes), 'node')}.")


def show_refusal() -> None:
    """Why the last change could not be made, once."""
    if said := st.session_state.pop(_WRONG, None):
        st.error(said)
