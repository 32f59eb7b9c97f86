"""With whom a project is shared, and what others share."""

from __future__ import annotations

import streamlit as st

from spnmkl.ui.pages.projects.told import MOST_SHOWN, data_words, when
from spnmkl.ui.parts.session import boundary, guarded, owner, switch_project
from spnmkl.ui.parts.words import plain
from spnmkl.workspace.sharing import EVERYBODY
from spnmkl.workspace.state import ProjectInfo
from spnmkl.workspace.store import WorkspaceStore


def share_with(disk: WorkspaceStore, info: ProjectInfo) -> None:
    """With whom a project is shared, and with whom else it is to be."""
    st.divider()
    st.markdown("**Shared**, to read and to copy with its data, files and runs; never to change.")
    for id, name in disk.sharing.readers(info.id, owner()).items():
        said, act = st.columns([3, 2], vertical_alignment="center")
        said.markdown(plain(name))
        act.button(
            "Take back",
            key=f"unshare_{info.id}_{id}",
            on_click=guarded(take_back),
            args=(disk, info, id),
            width="stretch",
        )
    key = f"share_{info.id}"
    st.text_input(
        "Share with (id or address of somebody who has logged in here)",
        key=key,
        on_change=share,
        args=(disk, info, key),
    )
    st.button(
        "Share with everybody who is logged in",
        key=f"share_all_{info.id}",
        on_click=guarded(share_all),
        args=(disk, info),
        width="stretch",
    )


@guarded
def share(disk: WorkspaceStore, info: ProjectInfo, key: str) -> None:
    word = str(st.session_state[key])
    if word.strip():
        disk.sharing.share(info.id, owner(), disk.people.named(word).id)
        st.session_state[key] = ""


def share_all(disk: WorkspaceStore, info: ProjectInfo) -> None:
    disk.sharing.share(info.id, owner(), EVERYBODY)


def take_back(disk: WorkspaceStore, info: ProjectInfo, person: str) -> None:
    disk.sharing.take_back(info.id, owner(), person)


def shared_projects(disk: WorkspaceStore) -> None:
    """What others let this person read; it is opened as a copy."""
    found = disk.sharing.for_person(owner())
    if not found:
        st.info("Nobody shares a project with you. Others need your id, which stands under your name above.")
    for project in found[:MOST_SHOWN]:
        with st.container(border=True, key=f"shared_{project.id}"), boundary():
            said, act = st.columns([8, 2], vertical_alignment="center")
            rows = data_words(project.dataset_name, project.n_rows)
            said.markdown(
                f"**{plain(project.name)}** of {plain(project.owner_name)}  \n"
                f":small[{rows}, changed {when(project.changed)}; read only]"
            )
            if act.button("Open a copy", key=f"copy_shared_{project.id}", type="primary", width="stretch"):
                switch_project(disk.sharing.copy(project.id, owner()))
                st.switch_page("pages/design.py")
