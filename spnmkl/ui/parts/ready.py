"""Whether there is something to train on; where not, what is missing and the way to mend it."""

from __future__ import annotations

import streamlit as st

from spnmkl.data import Split, split_rows
from spnmkl.errors import SPNMKLError
from spnmkl.training.checks import all_issues, errors
from spnmkl.ui.parts.remapping import offer_redraw
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.workspace import Workspace


def ready(work: Workspace) -> Split | None:
    """The rows to train on and to test; where nothing can be trained, what is missing and where to mend it."""
    wrong = errors(all_issues(work.drawing.spn, work.dataset, work.choices))
    if wrong:
        if offer_redraw(work):
            return None
        st.warning(f"The drawing cannot be trained yet. {plain(wrong[0].message)}")
        st.page_link("pages/design.py", label="Mend it in Design", icon=":material/account_tree:")
        return None
    try:
        parts = split_rows(work.dataset.labelled_table, work.split.test_share, work.split.seed)
    except SPNMKLError as error:
        st.warning(f"The data cannot be trained on yet. {plain(error)}")
        st.page_link("pages/data.py", label="Mend it in Data", icon=":material/table:")
        return None
    if work.lacks_values:
        what = "Some rows lack a whole view." if work.lacks_views_alone else "Some values are missing."
        st.warning(f"{what} Choose in Data, under *3 · Preparation*, to fill them or leave them out.")
        st.page_link("pages/data.py", label="Choose in Data", icon=":material/table:")
        return None
    return parts


def warn_of_kernels(work: Workspace) -> None:
    """Where kernels cannot work on these data: the first, how many more, and where to mend them."""
    found = work.kernel_issues
    if found:
        more = f" And {len(found) - 1} more." if len(found) > 1 else ""
        st.warning(plain(found[0].message) + more)
        st.page_link("pages/design.py", label="Mend it in Design, under Checks", icon=":material/account_tree:")
