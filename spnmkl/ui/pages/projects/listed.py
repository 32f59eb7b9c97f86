"""All projects, or the bin: each with what can be done with it."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from spnmkl.ui.pages.projects.sharing import share_with
from spnmkl.ui.pages.projects.told import MOST_SHOWN, data_words, when
from spnmkl.ui.parts import login
from spnmkl.ui.parts.session import boundary, guarded, new_project, owner, switch_project, workspace
from spnmkl.ui.parts.words import plain, slug
from spnmkl.wording import counted
from spnmkl.workspace.catalog import MOST_LETTERS
from spnmkl.workspace.exchange import exported
from spnmkl.workspace.state import ProjectInfo
from spnmkl.workspace.store import WorkspaceStore

SEARCH = "project_search"
UNDO = "project_undo"


def all_projects(disk: WorkspaceStore) -> None:
    opened = workspace().keeping.saved
    search, binned = st.columns([4, 1], vertical_alignment="bottom")
    words = search.text_input("Search by name, tag or data", key=SEARCH)
    in_bin = binned.toggle("The bin", key="show_bin", help="What was deleted is kept for 30 days.")
    offer_undo(disk)
    if in_bin:
        offer_emptying(disk)
    found = disk.catalog.projects(words, owner=owner(), deleted=in_bin)
    if not found:
        nothing = "The bin is empty." if in_bin else "No project has these words." if words else "Nothing is kept yet."
        st.info(f"{nothing} Whatever you draw, load or train is saved by itself.")
    for info in found[:MOST_SHOWN]:
        with st.container(border=True, key=f"project_{info.id}"), boundary():
            one_project(disk, info, opened is not None and opened.id == info.id)
    if len(found) > MOST_SHOWN:
        st.caption(f"and {len(found) - MOST_SHOWN:,} more; search for them")
    if not owner():
        st.caption(f"All of it is in the folder {plain(disk.place.shown)}")


def one_project(disk: WorkspaceStore, info: ProjectInfo, is_open: bool) -> None:
    said, act, more = st.columns([6, 2, 2], vertical_alignment="center")
    tags = "".join(f" :gray-badge[{plain(tag)}]" for tag in info.tags)
    here = " :green-badge[open here]" if is_open else ""
    data = data_words(info.dataset_name, info.n_rows)
    parts = [data, counted(info.n_runs, "run"), counted(info.n_versions, "version"), f"changed {when(info.changed)}"]
    said.markdown(f"**{plain(info.name)}**{here}{tags}  \n:small[{', '.join(parts)}]")
    if info.deleted is not None:
        act.button(
            "Bring back",
            key=f"restore_{info.id}",
            on_click=guarded(bring_back),
            args=(disk, info),
            width="stretch",
        )
        return
    if act.button("Open", key=f"open_{info.id}", disabled=is_open, width="stretch", type="primary"):
        switch_project(info.id)
        st.switch_page("pages/design.py")
    with more.popover("More", width="stretch"):
        more_of(disk, info, is_open)


def more_of(disk: WorkspaceStore, info: ProjectInfo, is_open: bool) -> None:
    """Name, tags, a copy, a file, the bin, and sharing."""
    called, tagged = f"name_{info.id}", f"tags_{info.id}"
    st.text_input("Name", info.name, max_chars=MOST_LETTERS, key=called, on_change=rename, args=(disk, info, called))
    tags = ", ".join(info.tags)
    st.text_input("Tags, with commas between them", tags, key=tagged, on_change=tag, args=(disk, info, tagged))
    if st.button("Duplicate", key=f"copy_{info.id}", icon=":material/content_copy:", width="stretch"):
        disk.catalog.duplicate(info.id, owner=owner())
        st.rerun()
    st.download_button(
        "Export as a zip",
        zipped(disk, info, owner()),
        f"{slug(info.name)}.project.zip",
        "application/zip",
        key=f"zip_{info.id}",
        icon=":material/folder_zip:",
        on_click="ignore",
        width="stretch",
        help="With its data and all its runs; the last comparison and searches where they are of these data.",
    )
    st.button(
        "Delete",
        key=f"delete_{info.id}",
        icon=":material/delete:",
        on_click=delete,
        args=(disk, info, is_open),
        width="stretch",
    )
    if login.person() is not None:
        share_with(disk, info)


def zipped(disk: WorkspaceStore, info: ProjectInfo, mine: str) -> Callable[[], bytes]:
    """Packed when it is asked for, where no page tells whose it is."""
    return lambda: exported(disk.load(info.id, owner=mine).saved.state)


@guarded
def rename(disk: WorkspaceStore, info: ProjectInfo, key: str) -> None:
    keeping, name = workspace().keeping, str(st.session_state[key])
    if name.strip():
        called = disk.catalog.rename(info.id, name, owner=owner())
        if keeping.saved is not None and keeping.saved.id == info.id:
            keeping.name, keeping.named_after = called, ""


@guarded
def tag(disk: WorkspaceStore, info: ProjectInfo, key: str) -> None:
    disk.catalog.tag(info.id, str(st.session_state[key]).split(","), owner=owner())


@guarded
def delete(disk: WorkspaceStore, info: ProjectInfo, is_open: bool) -> None:
    if is_open:
        new_project()
    disk.catalog.delete(info.id, owner=owner())
    st.session_state[UNDO] = info


def offer_undo(disk: WorkspaceStore) -> None:
    """Right after a project was deleted."""
    info: ProjectInfo | None = st.session_state.get(UNDO)
    if info is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="undo_delete"):
        st.info(f"**{plain(info.name)}** is in the bin.")
        st.button("Undo", key="undo_project", on_click=undo_delete, args=(disk, info))


@guarded
def undo_delete(disk: WorkspaceStore, info: ProjectInfo) -> None:
    disk.catalog.restore(info.id, owner=owner())
    st.session_state.pop(UNDO, None)


def bring_back(disk: WorkspaceStore, info: ProjectInfo) -> None:
    disk.catalog.restore(info.id, owner=owner())


def offer_emptying(disk: WorkspaceStore) -> None:
    with st.popover("Empty the bin", icon=":material/delete_forever:", key="empty_bin"):
        st.markdown(
            "All projects in the bin, and all runs that were removed, are gone for good, and no longer count as kept."
        )
        st.button("Empty it", type="primary", key="empty_bin_now", on_click=guarded(empty_bin), args=(disk,))


def empty_bin(disk: WorkspaceStore) -> None:
    disk.catalog.empty_bin(owner=owner())
    st.session_state.pop(UNDO, None)
