"""The workspace of the app on the command line."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from small_runs import trained

from spnmkl.cli import commands
from spnmkl.cli.commands import main
from spnmkl.data import Choices, SplitSettings
from spnmkl.project.project_file import load_project
from spnmkl.project.stored_contest import Compared
from spnmkl.study.contest import Contest, Entry, Plan
from spnmkl.training.settings import Settings
from spnmkl.workspace.exchange import exported
from spnmkl.workspace.people import Person
from spnmkl.workspace.place import Place
from spnmkl.workspace.state import KeptComparison, KeptRun, ProjectState
from spnmkl.workspace.store import WorkspaceStore


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """A workspace with one project in it."""
    known = trained()
    store = WorkspaceStore(Place(tmp_path / "workspace"))
    runs = (KeptRun("1" * 32, known.run, known.dataset),)
    chosen = (Choices(), SplitSettings(0.3, 1), Settings(C=3.0))
    saved = store.save(
        None, ProjectState(known.run.spn, frozenset(), known.dataset, *chosen, runs=runs), name="Colours"
    )
    store.catalog.tag(saved.id, ["paper"])
    store.close()
    return str(tmp_path / "workspace")


def contest() -> Contest:
    entry = Entry("yours", 1, 1, 60, 20, 0.9, float("nan"), 3, 2, 1.5, 0.25, float("nan"))
    return Contest(Plan(), ("yours",), (entry,), 5, "small", 81, (), "yours")


def said(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    assert main(["workspace", *arguments]) == code
    out, err = capsys.readouterr()
    return out or err


def test_projects_are_listed_trained_exported_and_imported(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--workspace", folder)
    line = said(capsys, "list", *at)
    assert "Colours #paper  (small, 90 rows; runs 1, versions 1)" in line
    assert said(capsys, "list", "paper", "colours", *at) == line
    assert said(capsys, "list", "nothing", *at).startswith("No project in ")
    assert said(capsys, "run", "Colours", "--C", "1.5", *at).startswith("Run 1: ")
    (info,) = json.loads(said(capsys, "list", "--json", *at))
    assert info["n_runs"] == 2
    out = tmp_path / "colours.project.zip"
    said(capsys, "export", line.split()[0], "--out", str(out), *at)
    project = load_project(out.read_bytes())
    assert [run.settings.C for run in project.runs] == [3.0, 1.5] and project.dataset is not None
    other = ("--workspace", str(tmp_path / "other"))
    assert said(capsys, "import", str(out), *other).endswith("  colours\n")
    assert "colours  (small, 90 rows; runs 2, versions 1)" in said(capsys, "list", *other)
    said(capsys, "export", "colours", "--without-data", "--out", str(out), *other)
    assert load_project(out.read_bytes()).dataset is None
    said(capsys, "import", str(out), "--name", "bare", *other)
    assert "are not in the project; load them" in said(capsys, "run", "bare", *other, code=2)


def test_names_of_others_send_nothing_to_the_terminal(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = WorkspaceStore(Place(Path(folder)))
    state = store.load(store.catalog.projects()[0].id).saved.state
    store.close()
    assert state.dataset is not None
    file = tmp_path / "a\x1b[31m\nb.zip"
    file.write_bytes(exported(replace(state, dataset=replace(state.dataset, name="x\x1b[2J\ny"))))
    other = ("--workspace", str(tmp_path / "other"))
    for line in (said(capsys, "import", str(file), *other), said(capsys, "list", *other)):
        assert line.count("\n") == 1 and line[:-1].isprintable()


def test_a_project_is_deleted_brought_back_and_removed(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--workspace", folder)
    said(capsys, "delete", "Colours", *at)
    assert said(capsys, "list", *at).startswith("No project in ")
    assert "Colours" in said(capsys, "list", "--deleted", *at)
    assert "'Colours' is not known" in said(capsys, "delete", "Colours", *at, code=2)
    said(capsys, "restore", "Colours", *at)
    assert "Colours" in said(capsys, "list", *at)
    said(capsys, "delete", "Colours", *at)
    said(capsys, "delete", "Colours", "--for-good", *at)
    assert said(capsys, "list", "--deleted", *at).startswith("No project in ")


def test_what_an_export_leaves_out_is_told(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = WorkspaceStore(Place(Path(folder)))
    loaded = store.load(store.catalog.projects()[0].id)
    now = loaded.saved.state
    assert now.dataset is not None
    other = replace(now.dataset, name="other")
    compared = KeptComparison("c" * 32, Compared(contest(), now.spn, now.choices, now.split, now.settings), other)
    store.save(loaded.saved, replace(now, comparison=compared))
    store.close()
    out = str(tmp_path / "p.zip")
    assert main(["workspace", "export", "Colours", "--out", out, "--workspace", folder]) == 0
    said = "The comparison is of other data than those that are open, and not in the file."
    assert said in capsys.readouterr().err


def test_what_is_not_there_is_told(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at = ("--workspace", folder)
    assert "'colour' is not known" in said(capsys, "run", "colour", *at, code=2)
    assert "No such file" in said(capsys, "import", str(tmp_path / "none.zip"), *at, code=2)
    (tmp_path / "file").write_text("no folder")
    assert "cannot be used" in said(capsys, "list", "--workspace", str(tmp_path / "file"), code=2)
    assert "invalid choice: 'lost'" in said(capsys, "lost", code=2)


def test_people_and_the_log_of_a_server_are_told(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = WorkspaceStore(Place(Path(folder)))
    person = Person.of_claims({"iss": "i", "sub": "s", "name": "=Ann", "iat": 1})
    store.people.arrive(person)
    store.close()
    at = ("--workspace", folder)
    (line,) = said(capsys, "people", *at).splitlines()
    assert line.startswith(person.id) and line.endswith("=Ann  (0.0 MB, 0 rows, projects 0, runs 0)")
    head, line = said(capsys, "audit", "--days", "1", *at).splitlines()
    assert head == "when,id,name,what,about" and f",{person.id},'=Ann,login,{{}}" in line


def test_options_of_a_server_are_what_its_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    monkeypatch.setattr(commands, "run_app", lambda *given: asked.extend(given) or 0)
    options = ["--quota-bytes", "2GB", "--quota-trainings", "0", "--administrator", "a", "--administrator", "b"]
    assert main(["app", *options, "--server.port=1"]) == 0
    environment = {"SPNMKL_QUOTA_BYTES": "2GB", "SPNMKL_QUOTA_TRAININGS": "0", "SPNMKL_ADMINISTRATORS": "a b"}
    assert asked == [["--server.port=1"], None, environment, None]
