"""What tabs work on is saved behind their backs, and comes back after the server was killed."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from app_pages import fine, opened, send, texts, train, work
from small_runs import trained
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from spnmkl.data import Dataset, Joining, ReadOptions, load_sample
from spnmkl.errors import WorkspaceError
from spnmkl.search import Score, Suggestion, Suggestions
from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.solution import Record
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.study.contest import Contest, Entry, Plan
from spnmkl.training.settings import Settings
from spnmkl.ui.parts import session
from spnmkl.ui.state import keeping
from spnmkl.ui.state.activity import Activity
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.keeping import Keeper
from spnmkl.ui.state.kept_forms import BACK, state_of
from spnmkl.ui.state.store import Store
from spnmkl.ui.state.task import Finding
from spnmkl.ui.state.uploaded_files import KeptFile
from spnmkl.ui.state.workspace import Workspace
from spnmkl.workspace.place import Place
from spnmkl.workspace.store import WorkspaceStore


def shell() -> None:
    """What stands around the pages; the testing tool runs pages alone."""
    from spnmkl.ui.parts.notices import kept_page, notices
    from spnmkl.ui.parts.session import attach, boundary

    attach()
    with kept_page(), boundary():
        notices()


def started() -> AppTest:
    return fine(AppTest.from_function(shell, default_timeout=30).run())


def draw(at: AppTest, *ids: str) -> AppTest:
    """More sums than there are, as an edit on the canvas would add them."""
    drawing = work(at).drawing
    nodes = [*drawing.spn.to_dict()["nodes"], *({"id": id, "kind": "sum", "x": 1.0, "y": 2.0} for id in ids)]
    number = int(drawing.acknowledged.rpartition("/")[2]) + 1
    message = {"page": "tested", "sequence": number, "revision": drawing.revision, "closed": [], "nodes": nodes}
    drawing.receive({**message, "edges": drawing.spn.to_dict()["edges"]})
    return at.run()


def token(at: AppTest) -> str:
    return at.session_state["spnmkl_token"]


def saved(at: AppTest) -> AppTest:
    """A page that was drawn, and whose work is on disk."""
    assert session.KEEPER.wait(work(at).keeping, 20) and work(at).keeping.saved is not None
    return at


@pytest.fixture
def restarted(own_workspace: Path) -> Iterator[Keeper]:
    """Another server on the same workspace, which knows nothing but what is on disk."""
    keeper = Keeper(lambda: WorkspaceStore(Place(own_workspace)), Store())
    yield keeper
    keeper.close()


def recalled(keeper: Keeper, at: AppTest) -> Workspace:
    found = keeper.recall(token(at))
    assert found is not None and found.keeping.lost == ()
    return found


def test_looking_at_pages_writes_nothing(own_workspace: Path, restarted: Keeper) -> None:
    before = sorted(path.name for path in own_workspace.rglob("*"))
    session.KEEPER.disk()  # open, as it is for every tab: it has files of its own beside the database
    before += ["workspace.db-shm", "workspace.db-wal"]
    at = opened("design")
    for page in ("data", "train", "runs", "start"):
        at.switch_page(f"pages/{page}.py").run()
    assert work(at).keeping.noted == 0 and work(at).keeping.told()["state"] == "nothing"
    assert sorted(path.name for path in own_workspace.rglob("*")) == before
    assert restarted.recall(token(at)) is None and not restarted.disk().catalog.projects()


def test_an_edit_is_acknowledged_once_it_is_on_disk(restarted: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    at = opened("design")
    drawing = work(at).drawing
    gate, save = threading.Event(), WorkspaceStore.save

    def late(*args: object, **named: object) -> object:
        assert gate.wait(20)
        return save(*args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(WorkspaceStore, "save", late)
    monkeypatch.setattr(session, "SIGN_SECONDS", 0.05)
    nodes = drawing.spn.to_dict()["nodes"]
    send(at, nodes=[*nodes, {"id": "new", "kind": "sum", "x": 1.0, "y": 2.0}])
    keeping = work(at).keeping
    told = keeping.told()
    assert drawing.acknowledged == "tested/1" and told["state"] == "saving" and told["number"] == 0
    gate.set()
    saved(at)
    told = keeping.told()
    assert told["state"] == "saved" and (told["page"], told["number"]) == ("tested", 1)
    assert (told["epoch"], told["pushes"], told["name"]) == (drawing.epoch, drawing.pushes, "breast_cancer")
    back = recalled(restarted, at).drawing
    assert back.spn == drawing.spn and back.acknowledged == "tested/1" and back.epoch == drawing.epoch
    assert back.pushes == drawing.pushes + BACK and back.recalled == drawing.pushes
    (push,) = back.pending
    assert push.after == "tested/1" and push.spn == drawing.spn, "what the canvas drew since is merged with this"


def test_a_tab_finds_its_own_again_however_often_the_server_is_started(
    own_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = saved(draw(started(), "one"))
    mine, drawn = token(at), work(at).drawing.spn
    for restart in (1, 2, 3):
        session.KEEPER.close()
        session.STORE.remove(mine)
        monkeypatch.setattr(session, "KEEPER", Keeper(lambda: WorkspaceStore(Place(own_workspace)), session.STORE))
        at = AppTest.from_function(shell, default_timeout=30)
        at.session_state["spnmkl_tab"] = {"kept": {"token": mine, "same": True}}
        saved(fine(at.run()))
        assert token(at) == mine and work(at).drawing.spn == drawn and work(at).drawing.pushes == restart * BACK
        assert session.STORE.owner(mine) is not None and not session.KEEPER.stale(work(at))
    assert len(session.KEEPER.disk().catalog.projects()) == 1
    session.KEEPER.close()


def test_data_files_choices_runs_and_comparisons_come_back(restarted: Keeper) -> None:
    at = opened("design")
    here = work(at)
    here.bring(load_sample("wine"))
    here.files.ids, here.files.kept = ("f1",), (KeptFile("f1", "wine.csv", b"a,b\n"),)
    here.files.readings, here.files.joining = {"f1": ReadOptions(separator=";")}, Joining("rows", None, 1)
    here.choices, here.comparing.runs = replace(here.choices, missing="mean"), ("Run 1",)
    train(here.trainer, at, C=2.0)
    train(here.trainer, at, C=3.0)
    here.trainer.book.rename("Run 2", "The best")
    entry = Entry("yours", 1, 1, 60, 20, 0.9, 0.95, 3, 2, 1.5, 0.25, 0.0)
    contest = Contest(Plan(), ("yours",), (entry,), 5, "wine", 100, reference="yours")
    here.trainer.contest = Finding(contest, here.task, Settings())
    saved(fine(at.run()))
    back = recalled(restarted, at)
    assert back.dataset.same(here.dataset) and back.choices == here.choices and back.loaded
    assert back.files.kept == here.files.kept and back.files.joining == here.files.joining
    assert back.files.readings == here.files.readings and back.comparing == here.comparing
    book, old = back.trainer.book, here.trainer.book
    assert [run.name for run in book.runs] == ["Run 1", "The best"] and book.fresh_name() == old.fresh_name() == "Run 3"
    assert [run.solution.beta for run in book.runs] == [run.solution.beta for run in old.runs]
    assert book.tasks["The best"].dataset is back.dataset, "what it was trained on is what is loaded"
    assert back.trainer.contest is not None and back.trainer.contest.task.same(back.task)
    assert back.trainer.contest.value.table.equals(contest.table)
    disk = restarted.disk()
    assert len(disk.catalog.projects()) == 1
    old.remove("Run 1")
    saved(at.run())
    assert [run.name for run in recalled(restarted, at).trainer.book.runs] == ["The best"]


def test_searches_and_the_way_back_from_an_upload_come_back(restarted: Keeper) -> None:
    at = opened("design")
    here = work(at)
    here.bring(load_sample("wine"))
    here.choices = replace(here.choices, missing="mean")
    before, spn = here.dataset, here.drawing.spn
    frame = pd.DataFrame({"a": np.arange(40.0), "b": np.tile([1.0, 2.0], 20), "y": np.tile(["u", "v"], 20)})
    read = ("f1",), ((ReadOptions(separator=";"),), Joining("rows", None, 1))
    here.files.ids, here.files.read_last = ("f1",), read
    here.upload(Dataset("mine", frame, "y"), read)
    here.use(here.dataset.with_ignored(("b",)))
    run = trained(2).run
    products = here.drawing.spn.products
    folds = CrossValidation(
        np.array([1.0, 2.0]), np.array([[0.5], [np.nan]]), {v: np.ones((2, 1)) for v in products}, 1.0, "roc_auc"
    )
    settings = Settings(tol=1e-2)
    here.trainer.cross_validation = Finding(folds, here.task, settings)
    here.trainer.path = Finding(RegularizationPath(np.array([3.0]), (run.solution,)), here.task, settings)
    flat = Suggestion(here.drawing.spn, "K₁", -4.5, 0.0, -6.5, {}, {}, 1.0, Score(), Score(), {}, True, False, "Flat.")
    suggested = Suggestions((flat,), False, True, "No products.", 7, 40, 10, 0, None, "done", 1.5, {})
    here.trainer.suggested = Finding(suggested, here.task, settings)
    saved(fine(at.run()))

    back = recalled(restarted, at)
    again = back.trainer.suggested_for(back.task)
    assert again is not None and again.sentence == "No products." and again.best.spn == flat.spn
    found, path = back.trainer.cross_validation, back.trainer.path
    assert found is not None and found.fits(back.task, replace(settings, C=9.0))
    np.testing.assert_array_equal(found.value.scores, folds.scores)
    assert (found.value.best_C, found.value.scoring) == (1.0, "roc_auc") and found.value.beta.keys() == set(products)
    assert path is not None and path.task.same(back.task)
    assert path.value.solutions[0].beta == run.solution.beta and path.value.solutions[0].spn == run.solution.spn
    assert back.uploaded and back.arrival is not None and back.arrival.read == read == back.files.read_last
    assert back.dataset.ignored == ("b",) and back.arrival.dataset.ignored == ()
    on_disk = back.keeping.saved.state.findings
    assert set(state_of(back, back.keeping.keys, ()).findings) == set(on_disk) and len(on_disk) == 5, (
        "not written again"
    )
    back.undo_upload()
    assert back.dataset.same(before) and back.choices.missing == "mean" and back.arrival is None
    assert unplaced(back.drawing.spn) == unplaced(spn)
    restarted.note(token(at), back)
    assert restarted.wait(back.keeping, 20)
    once_more = recalled(restarted, at)
    assert once_more.before is None and once_more.trainer.cross_validation is not None


def test_a_tab_that_was_left_is_known_from_disk_alone(restarted: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    at = saved(draw(started(), "mine"))
    store = session.STORE
    monkeypatch.setattr(keeping, "LEFT_SECONDS", 0.0)
    session.KEEPER._look()
    assert store.owner(token(at)) is not None, "it is open"
    monkeypatch.setattr(session.KEEPER, "is_active", lambda session: False)
    kept = work(at).keeping
    kept.noted += 1
    session.KEEPER._look()
    assert store.owner(token(at)) is not None, "it is not saved yet"
    kept.noted -= 1
    session.KEEPER._look()
    assert store.owner(token(at)) is None and "mine" in recalled(restarted, at).drawing.spn.nodes


def test_a_training_that_is_cut_off_keeps_its_history(restarted: Keeper) -> None:
    at = started()
    here, gate = work(at), threading.Event()
    record = Record(
        **{**vars(trained().run.solution.history[0]), "beta": dict.fromkeys(here.drawing.spn.products, 0.5)}
    )

    def endless(job: Job[object]) -> None:
        job.report(record)
        gate.wait(60)

    here.trainer._begin(Activity("train", Job(endless), here.task, Settings(C=7.0)))
    while not here.trainer.activity or not here.trainer.activity.job.records:
        pass
    session.KEEPER.note(token(at), here, refresh=True)
    saved(at)
    back = recalled(restarted, at)
    (cut,) = back.keeping.cut
    assert cut.attempt.settings.C == 7.0 and cut.attempt.records[0].beta == record.beta and cut.dataset is not None
    assert back.trainer.book.runs == [] and not back.trainer.training
    assert "after iteration 1, at a gap of" in cut.attempt.sentence
    gate.set()
    here.trainer.activity.job.join(20)
    saved(at.run())
    assert recalled(restarted, at).keeping.cut == (), "it ended after all"


def test_who_comes_second_goes_on_as_a_copy(restarted: Keeper) -> None:
    at = saved(draw(started(), "new0"))
    elsewhere = recalled(restarted, at)
    elsewhere.drawing.push(SPN.from_dict({**elsewhere.drawing.spn.to_dict(), "nodes": [], "edges": []}))
    restarted.note(token(at), elsewhere)
    assert restarted.wait(elsewhere.keeping, 20) and session.KEEPER.stale(work(at))
    saved(draw(at, "new1"))
    assert "goes on as a copy" in work(at).keeping.lost[0]
    names = {info.name: info.id for info in restarted.disk().catalog.projects()}
    assert set(names) == {"breast_cancer", "breast_cancer (copy)"}
    assert restarted.open(names["breast_cancer"]).drawing.spn.nodes == ()
    assert "new1" in restarted.open(names["breast_cancer (copy)"]).drawing.spn.nodes
    assert "goes on as a copy" in texts(at.run())


def test_a_workspace_that_cannot_be_written_is_told_and_tried_again(
    own_workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = True

    def opened_store() -> WorkspaceStore:
        if full:
            raise WorkspaceError("The workspace cannot be used (disk full); make room on the disk.")
        return WorkspaceStore(Place(own_workspace))

    monkeypatch.setattr("spnmkl.ui.state.keeping.RETRY_SECONDS", 0.0)
    monkeypatch.setattr(session, "KEEPER", keeper := Keeper(opened_store, session.STORE))
    at = draw(started(), "new")
    keeping = work(at).keeping
    assert keeping.told()["state"] == "failed" and "make room on the disk" in texts(at.run())
    full, before = False, keeping.told()
    at.run()
    told = saved(at) and keeping.told()
    assert (told["state"], told["number"]) == ("saved", 1) and told["noted"] > before["noted"]
    assert "make room" not in texts(at), "what stands above a page says the same as its sign"
    keeper.close()


@pytest.mark.parametrize("stays", [False, True])
def test_what_could_not_be_written_is_tried_once_more_before_the_end(
    own_workspace: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, stays: bool
) -> None:
    keeper = Keeper(lambda: WorkspaceStore(Place(own_workspace)), session.STORE)
    monkeypatch.setattr(session, "KEEPER", keeper)
    keeping = work(at := saved(draw(started(), "new"))).keeping
    aside = own_workspace.rename(own_workspace.with_name("aside"))
    draw(at, "another")
    assert keeping.told()["state"] == "failed"
    if not stays:
        aside.rename(own_workspace)
        keeper.close()
        assert keeping.told()["state"] == "saved" and keeping.saved is not None and keeping.saved.revision == 2
    else:
        with pytest.raises(WorkspaceError, match="was moved or removed"):
            keeper.close()
        aside.rename(own_workspace)
    assert ("The last changes of the project 'breast_cancer' are not saved." in caplog.messages) == stays


def test_a_tab_opens_where_its_project_is_of_a_form_that_nobody_knows(restarted: Keeper) -> None:
    at = saved(draw(started(), "new"))
    with session.KEEPER.disk()._database.writing() as connection:
        connection.execute(text("UPDATE project SET document = '{}'"))
    assert restarted.recall(token(at)) is None


def test_data_that_cannot_be_kept_are_told(restarted: Keeper) -> None:
    at = started()
    frame = pd.DataFrame({"x": np.arange(40.0), "mixed": [b"bytes", 1, "text", 2.0] * 10, "y": ["a", "b"] * 20})
    work(at).bring(Dataset("mixed", frame, "y"))
    saved(at.run())
    assert "cannot be saved" in texts(at.run())
    back = recalled(restarted, at)
    assert not back.loaded and back.missing is not None


def test_a_project_is_called_after_the_data_that_came_before_anything_was_learned(restarted: Keeper) -> None:
    at = started()
    saved(draw(at, "new1"))
    assert work(at).keeping.name == "breast_cancer"
    work(at).bring(load_sample("wine"))
    saved(at.run())
    assert work(at).keeping.name == "wine"
    assert [info.name for info in restarted.disk().catalog.projects()] == ["wine"]
    other = opened("start")  # a new tab, which has nothing of its own yet, offers it
    assert "**Go on with your last project**: wine, 0 runs." in texts(other)
    fine(next(button for button in other.button if button.label == "Open it").click().run())
    assert work(other).keeping.name == "wine" and "new1" in work(other).drawing.spn.nodes
