"""The Projects page: everything that the workspace keeps, and the versions of the drawing that is open."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.export.picture import to_svg
from spnmkl.ui.parts import login
from spnmkl.ui.parts.session import (
    boundary,
    guarded,
    heading,
    keeper,
    new_project,
    note,
    owner,
    switch_project,
    tabs,
    theme,
    workspace,
)
from spnmkl.ui.parts.words import plain, slug
from spnmkl.ui.state.apart import apart
from spnmkl.ui.state.drawing import check_size
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted
from spnmkl.workspace.catalog import MOST_LETTERS
from spnmkl.workspace.exchange import exported, imported
from spnmkl.workspace.sharing import EVERYBODY
from spnmkl.workspace.state import ProjectInfo, VersionInfo
from spnmkl.workspace.store import WorkspaceStore

SEARCH = "project_search"
UNDO = "project_undo"
IMPORTS, IMPORTED = "project_imports", "project_imported"
MOST_SHOWN = 50
MOST_VERSIONS = 200


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
    data = f"{plain(info.dataset_name[:60])} with {counted(info.n_rows, 'row')}" if info.dataset_name else "no data"
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
        called, tagged = f"name_{info.id}", f"tags_{info.id}"
        st.text_input(
            "Name", info.name, max_chars=MOST_LETTERS, key=called, on_change=rename, args=(disk, info, called)
        )
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


def bring_back(disk: WorkspaceStore, info: ProjectInfo) -> None:
    disk.catalog.restore(info.id, owner=owner())


def offer_emptying(disk: WorkspaceStore) -> None:
    with st.popover("Empty the bin", icon=":material/delete_forever:", key="empty_bin"):
        st.markdown("All projects in the bin are gone for good, and no longer count as kept.")
        st.button("Empty it", type="primary", key="empty_bin_now", on_click=guarded(empty_bin), args=(disk,))


def empty_bin(disk: WorkspaceStore) -> None:
    disk.catalog.empty_bin(owner=owner())
    st.session_state.pop(UNDO, None)


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
            data = plain(project.dataset_name[:60])
            rows = f"{data} with {counted(project.n_rows, 'row')}" if project.dataset_name else "no data"
            said.markdown(
                f"**{plain(project.name)}** of {plain(project.owner_name)}  \n"
                f":small[{rows}, changed {when(project.changed)}; read only]"
            )
            if act.button("Open a copy", key=f"copy_shared_{project.id}", type="primary", width="stretch"):
                switch_project(disk.sharing.copy(project.id, owner()))
                st.switch_page("pages/design.py")


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


def all_versions(disk: WorkspaceStore) -> None:
    """Every drawing that the open project had; one is looked at, and can take the place of the one that is open."""
    note()
    work = workspace()
    keeper().wait(work.keeping, 1.0)
    if work.keeping.saved is None:
        st.info("Nothing is kept yet. Whatever you draw is saved by itself, and every version is listed here.")
        return
    versions = disk.catalog.versions(work.keeping.saved.id)[:MOST_VERSIONS]
    listed, shown = st.columns([1, 2])
    with listed:
        numbers = {version.number: version for version in versions}
        number = st.radio(
            f"The last {len(versions)} versions"
            if len(versions) == MOST_VERSIONS
            else counted(len(versions), "version"),
            list(numbers),
            format_func=lambda number: f"{number}, {when(numbers[number].made)}",
            key=f"version_of_{work.keeping.saved.id}",
        )
    with shown, boundary():
        one_version(disk, work, numbers[number], number == versions[0].number)


def one_version(disk: WorkspaceStore, work: Workspace, version: VersionInfo, newest: bool) -> None:
    spn = disk.drawing(version.drawing)
    about, act = st.columns([2, 1], vertical_alignment="center")
    about.markdown(f"{counted(len(spn.nodes), 'node')}, {counted(len(spn.kernels), 'kernel')}")
    act.button(
        "Restore this version",
        type="primary",
        disabled=newest,
        on_click=restore,
        args=(work, disk, version),
        help="It takes the place of the drawing; undo in Design brings that back, and it stays in this list.",
    )
    try:
        st.image(to_svg(spn, theme=theme()), width="stretch")
    except SPNMKLError as error:
        st.info(plain(error))


@guarded
def restore(work: Workspace, disk: WorkspaceStore, version: VersionInfo) -> None:
    spn = disk.drawing(version.drawing)
    check_size(spn)
    work.path = None
    work.drawing.push(spn, f"Version {version.number} is back.", fit=True)


def when(seconds: float) -> str:
    then, now = datetime.fromtimestamp(seconds), datetime.now()
    return then.strftime("%H:%M:%S" if then.date() == now.date() else "%d %B %Y %H:%M")
