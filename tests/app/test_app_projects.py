"""The Projects page: everything that was made, and every version of the drawing."""

import pytest
import streamlit as st
from app_pages import fine, labelled, opened, send, spn, texts, work
from streamlit.testing.v1 import AppTest

from spnmkl.errors import WorkspaceError
from spnmkl.project.project_file import load_project
from spnmkl.structure import SPN
from spnmkl.ui.pages.projects import versions
from spnmkl.ui.parts import session
from spnmkl.workspace.catalog import Catalog
from spnmkl.workspace.exchange import exported
from spnmkl.workspace.store import WorkspaceStore


def drawn(*ids: str) -> AppTest:
    """The Projects page after some edits, one for each node."""
    at = opened("design")
    for id in ids:
        nodes = spn(at).to_dict()["nodes"]
        send(at, nodes=[*nodes, {"id": id, "kind": "sum", "x": 1.0, "y": 2.0}])
        assert session.KEEPER.wait(work(at).keeping, 20)
    return fine(at.switch_page("pages/projects.py").run())


def names() -> list[str]:
    return [info.name for info in session.KEEPER.disk().catalog.projects()]


def key(name: str) -> str:
    return session.KEEPER.disk().catalog.named(name).id


def test_projects_are_named_tagged_found_copied_and_deleted() -> None:
    at = drawn("one")
    mine = key("breast_cancer")
    assert "open here" in texts(at) and at.button(key=f"open_{mine}").disabled
    at.text_input(key=f"name_{mine}").set_value("Cells").run()
    fine(at.text_input(key=f"tags_{mine}").set_value("paper, 2026").run())
    assert "**Cells**" in texts(at) and "paper" in texts(at) and work(at).keeping.name == "Cells"
    at.text_input(key="project_search").set_value("PAPER").run()
    assert "**Cells**" in texts(at)
    at.text_input(key="project_search").set_value("else").run()
    assert "No project has these words" in texts(at)
    at.text_input(key="project_search").set_value("").run()
    fine(at.button(key=f"copy_{mine}").click().run())
    assert sorted(names()) == ["Cells", "Cells (copy)"]
    before = spn(at)
    fine(at.button(key=f"open_{key('Cells (copy)')}").click().run())
    assert spn(at) == before and work(at).keeping.name == "Cells (copy)"
    at.switch_page("pages/projects.py").run()
    fine(at.button(key=f"delete_{mine}").click().run())
    assert names() == ["Cells (copy)"] and "is in the bin" in texts(at)
    fine(at.button(key="undo_project").click().run())
    assert sorted(names()) == ["Cells", "Cells (copy)"]
    fine(at.button(key=f"delete_{key('Cells (copy)')}").click().run())
    assert "one" not in spn(at).nodes and work(at).keeping.saved is None, "what is deleted is no longer open"
    at.toggle(key="show_bin").set_value(True).run()
    (back,) = [button for button in at.button if button.label == "Bring back"]
    fine(back.click().run())
    assert sorted(names()) == ["Cells", "Cells (copy)"]


def test_a_version_is_restored_and_that_is_undone(downloads: dict[str, bytes]) -> None:
    at = drawn("one", "two")
    assert load_project(downloads["breast_cancer.project.zip"]).spn == spn(at)
    at.session_state["kept"] = "Versions of the drawing"
    fine(at.run())
    listed = labelled(at.radio, "2 versions")
    assert labelled(at.button, "Restore this version").disabled
    both = spn(at)
    listed.set_value(1).run()
    fine(labelled(at.button, "Restore this version").click().run())
    assert "one" in spn(at).nodes and "two" not in spn(at).nodes
    push = work(at).drawing.pending[-1]
    assert push.said == "Version 1 is back." and push.whole, "the canvas enters it into its history: undo goes back"
    at.run()
    labelled(at.radio, "3 versions").set_value(2).run()
    fine(labelled(at.button, "Restore this version").click().run())
    assert spn(at) == both


def test_every_version_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "MOST_VERSIONS", 2)
    at = drawn("one", "two", "three")
    at.session_state["kept"] = "Versions of the drawing"
    fine(at.run())
    parts = labelled(at.selectbox, "Of 3 versions")
    assert parts.options == ["3 to 3", "1 to 2"] and labelled(at.radio, "1 version").value == 3
    fine(parts.set_value(0).run())
    fine(labelled(at.radio, "2 versions").set_value(1).run())
    fine(labelled(at.button, "Restore this version").click().run())
    assert "one" in spn(at).nodes and "two" not in spn(at).nodes


def test_a_new_project_leaves_the_old_one_as_it_is() -> None:
    at = drawn("one")
    fine(at.button(key="new_project").click().run())
    assert "one" not in spn(at).nodes and work(at).keeping.saved is None
    mine = key("breast_cancer")
    fine(at.button(key=f"open_{mine}").click().run())
    assert "one" in spn(at).nodes


def test_a_stranger_sees_what_is_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    at = drawn("one")
    monkeypatch.setattr(session.login, "LOCAL", ())
    assert "Nothing is kept yet" in texts(at.run())
    other = opened("design")
    nodes = spn(other).to_dict()["nodes"]
    send(other, nodes=[*nodes, {"id": "theirs", "kind": "sum", "x": 1.0, "y": 2.0}])
    assert session.KEEPER.wait(work(other).keeping, 20)
    other.switch_page("pages/projects.py").run()
    assert texts(other).count("**breast\\_cancer") == 1, "not even that the name is taken is told"
    assert "open here" in texts(other)


def test_who_comes_through_a_proxy_sees_what_is_his_own(monkeypatch: pytest.MonkeyPatch) -> None:
    at, asked = drawn("one"), st.get_option
    assert "**breast\\_cancer**" in texts(at.run())
    hosts = {"server.allowedHosts": ["app.example.com"]}
    monkeypatch.setattr(session.st, "get_option", lambda name: hosts.get(name, asked(name)))
    assert session.st.get_option("server.address") == "127.0.0.1"
    assert "Nothing is kept yet" in texts(at.run())


def test_what_cannot_be_saved_is_not_left_and_a_click_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    at = drawn("one")
    mine = key("breast_cancer")

    def full(*given: object, **named: object) -> None:
        raise WorkspaceError("The workspace cannot be used (disk full); make room on the disk.")

    with monkeypatch.context() as patched:
        patched.setattr(WorkspaceStore, "save", full)
        patched.setattr(Catalog, "rename", full)
        at.text_input(key=f"name_{mine}").set_value("Cells").run()
        assert not at.exception and "make room on the disk" in texts(at)
        work(at).drawing.push(SPN.from_dict({**spn(at).to_dict(), "nodes": [], "edges": []}))
        at.button(key="new_project").click().run()
        assert not at.exception and "is not saved, and stays open" in texts(at)
        assert spn(at).nodes == () and work(at).keeping.saved is not None
    fine(at.button(key="new_project").click().run())
    assert work(at).keeping.saved is None and session.KEEPER.open(mine).drawing.spn.nodes == ()


def test_a_zip_is_imported_beside_the_others() -> None:
    at = drawn("one")
    disk = session.KEEPER.disk()
    data = exported(disk.load(key("breast_cancer")).saved.state)
    fine(at.file_uploader(key="import_zip_0").set_value(("Cells\n.project.zip", data, "application/zip")).run())
    assert sorted(names()) == ["Cells", "breast_cancer"] and "**Cells** is among the projects now" in texts(at)
    assert work(at).keeping.name == "breast_cancer", "what is open stays open"
    assert "one" in disk.load(key("Cells")).saved.state.spn.nodes
    at.file_uploader(key="import_zip_1").set_value(("a.zip", b"PK no zip", "application/zip")).run()
    assert len(names()) == 2 and [error.value for error in at.error] == [
        "The file 'a.zip' is not a project of spnmkl; choose a file saved as a project."
    ]
