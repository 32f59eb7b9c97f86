"""The versions of the drawing that is open."""

from __future__ import annotations

import streamlit as st

from spnmkl.errors import SPNMKLError
from spnmkl.export.picture import to_svg
from spnmkl.ui.pages.projects.told import when
from spnmkl.ui.parts.session import boundary, guarded, keeper, note, theme, workspace
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state.drawing import check_size
from spnmkl.ui.state.workspace import Workspace
from spnmkl.wording import counted
from spnmkl.workspace.state import VersionInfo
from spnmkl.workspace.store import WorkspaceStore

MOST_VERSIONS = 200  # in one list


def all_versions(disk: WorkspaceStore) -> None:
    """Every drawing that the open project had; one is looked at, and can take the place of the one that is open."""
    note()
    work = workspace()
    keeper().wait(work.keeping, 1.0)
    if work.keeping.saved is None:
        st.info("Nothing is kept yet. Whatever you draw is saved by itself, and every version is listed here.")
        return
    id = work.keeping.saved.id
    versions = disk.catalog.versions(id)
    listed, shown = st.columns([1, 2])
    with listed:
        numbers = {version.number: version for version in one_part(versions, id)}
        number = st.radio(
            counted(len(numbers), "version"),
            list(numbers),
            format_func=lambda number: f"{number:,}, {when(numbers[number].made)}",
            key=f"version_of_{id}_{(next(iter(numbers)) - 1) // MOST_VERSIONS}",
        )
    with shown, boundary():
        one_version(disk, work, numbers[number], number == versions[0].number)


def one_part(versions: list[VersionInfo], id: str) -> list[VersionInfo]:
    """All of them or, of a long list, the part that is chosen; parts stay what they are when there are more."""
    parts: dict[int, list[VersionInfo]] = {}
    for version in versions:
        parts.setdefault((version.number - 1) // MOST_VERSIONS, []).append(version)
    if len(parts) == 1:
        return versions
    part = st.selectbox(
        f"Of {len(versions):,} versions",
        list(parts),
        format_func=lambda k: f"{parts[k][-1].number:,} to {parts[k][0].number:,}",
        key=f"versions_of_{id}",
    )
    return parts[part]


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
