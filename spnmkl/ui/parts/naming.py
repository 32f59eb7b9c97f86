"""The name of the loaded data, which whoever brought them may choose."""

from __future__ import annotations

import streamlit as st

from spnmkl.ui.parts.session import workspace
from spnmkl.ui.state.workspace import Workspace

KEY = "data_name"
MOST_LETTERS = 100


def rename_data(work: Workspace) -> None:
    st.session_state[KEY] = work.dataset.name[:MOST_LETTERS]
    st.text_input("Name of these data", key=KEY, max_chars=MOST_LETTERS, on_change=_take, width=320)


def _take() -> None:
    workspace().rename_data(st.session_state[KEY])
