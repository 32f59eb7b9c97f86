"""The result of a training as three large numbers, the same on every page."""

from __future__ import annotations

import streamlit as st

from spnmkl.reporting.endings import headlines, run_ending
from spnmkl.training.run import Run
from spnmkl.ui.parts.words import plain


def listed_ending(run: Run) -> str:
    """As Markdown: what is proved, and below it what else is known, a line each."""
    first, *others = map(plain, run_ending(run))
    return first + "".join(f"\n- {said}" for said in others)


def show_headlines(run: Run) -> None:
    with st.container(key="headlines"):
        for place, found in zip(st.columns(3), headlines(run), strict=True):
            with place.container(border=True, height="stretch", gap="xsmall"):
                st.markdown(f"**{plain(found.number)}** {plain(found.what)}", help=found.help)
                st.caption(plain(found.remark))
