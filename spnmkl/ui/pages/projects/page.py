"""The parts of the page, and the import of a project."""

from __future__ import annotations

import streamlit as st

from spnmkl.ui.pages.projects.listed import all_projects
from spnmkl.ui.pages.projects.sharing import shared_projects
from spnmkl.ui.pages.projects.versions import all_versions
from spnmkl.ui.parts import login
from spnmkl.ui.parts.session import boundary, guarded, heading, keeper, new_project, owner, tabs
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.apart import apart
from spnmkl.workspace.exchange import imported

IMPORTS, IMPORTED = "project_imports", "project_imported"


def projects_page() -> None:
    with heading("Projects — what you made, all of it kept"):
        with st.popover("Import", icon=":material/upload:"), boundary():
            import_zip()
        st.button("New project", icon=":material/add:", key="new_project", on_click=guarded(new_project))
    if said := st.session_state.pop(IMPORTED, None):
        st.success(said)
    disk = keeper().disk()
    parts = {"Projects": lambda: all_projects(disk), "Versions of the drawing": lambda: all_versions(disk)}
    if login.person() is not None:
        parts["Shared with me"] = lambda: shared_projects(disk)
    tabs("kept", parts)


def import_zip() -> None:
    """A project file of this app, put beside the others; what is open stays open."""
    turn = st.session_state.setdefault(IMPORTS, 0)  # another uploader after each file, so that it is taken once
    file = st.file_uploader(
        "A project file", type="zip", key=f"import_zip_{turn}", help="As *Export as a zip* makes it."
    )
    if file is not None:
        st.session_state[IMPORTS] += 1
        state = apart(file.name, imported, file.getvalue(), file.name)
        name = keeper().add(state, file.name.removesuffix(".zip").removesuffix(".project"), owner())
        st.session_state[IMPORTED] = f"**{plain(name)}** is among the projects now: open it below."
        st.rerun()
