"""What every database must do: projects come back as they were saved, and nothing is stored twice."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from small_runs import small_dataset, small_structure, trained
from sqlalchemy import inspect, text

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import ParameterError, WorkspaceError
from spnmkl.project.stored_attempt import Attempt
from spnmkl.project.stored_contest import Compared
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.study.contest import Contest, Entry, Plan, Portrait
from spnmkl.training.settings import Settings
from spnmkl.workspace import upkeep
from spnmkl.workspace.place import Place
from spnmkl.workspace.state import KeptAttempt, KeptComparison, KeptRun, ProjectState, Upload
from spnmkl.workspace.store import Overtaken, WorkspaceStore
from spnmkl.workspace.tables import METADATA

SPNS = [SPN(Sum(Product(Kernel("rbf", gamma=float(k), id="k"), id="p"), id="s")) for k in range(1, 6)]


def state(dataset: Dataset | None = None, spn: SPN = SPNS[0], **more: Any) -> ProjectState:
    defaults = {"choices": Choices(), "split": SplitSettings(0.3, 1), "settings": Settings(C=2.0)}
    return ProjectState(spn, frozenset({"group"}), dataset, **{**defaults, **more})


def contest() -> Contest:
    entry = Entry("yours", 1, 1, 60, 20, 0.9, float("nan"), 3, 2, 1.5, 0.25, float("nan"))
    portrait = Portrait("yours", SPNS[0], {"p": 0.5}, 1.0, 0.1, {"p": 1.0}, 81)
    return Contest(
        Plan(repeats=2), ("yours", "average kernel"), (entry, portrait), 12, "small", 81, ("A remark.",), "yours"
    )


def files_of(place: Place) -> list[str]:
    return sorted(path.name for path in (place.folder / "files").glob("*/*"))


def test_a_project_comes_back_as_it_was(store: WorkspaceStore, place: Place) -> None:
    known = trained()
    dataset, run = known.dataset, known.run
    other = replace(dataset, name="other use", ignored=("colour_0",))
    matrices = Dataset("given", dataset.frame, "class", matrices={"one": np.eye(len(dataset.frame))})
    comparison = Compared(contest(), SPNS[1], Choices("auto"), SplitSettings(0.2, 3), Settings())
    records = run.solution.history[:2]
    attempt = Attempt("a" * 32, 12.5, "small", run.spn, Choices(), SplitSettings(0.3, 0), Settings(C=4.0), records)
    saved = state(
        dataset,
        runs=(KeptRun("1" * 32, run, dataset), KeptRun("2" * 32, replace(run, name="Run 2"), other)),
        chosen="Run 2",
        comparison=KeptComparison("c" * 32, comparison, matrices),
        attempts=(KeptAttempt(attempt, dataset),),
        uploads=(Upload("key", "file.csv", b"a,b\n1,2\n"),),
        more={"epoch": "ab12", "number": 3},
    )
    done = store.save(None, saved, name="Mine", visit="token")
    store.close()
    again = WorkspaceStore(place)
    assert again.upkeep.visited("token") == done.id and again.upkeep.visited("another") is None
    loaded = again.load(done.id)
    found = loaded.saved.state
    assert loaded.lost == () and loaded.name == "Mine" and loaded.saved.revision == done.revision
    assert found.spn == saved.spn and found.closed == saved.closed and found.more == saved.more
    assert (found.choices, found.split, found.settings) == (saved.choices, saved.split, saved.settings)
    assert found.dataset is not None and found.dataset.same(dataset) and found.chosen == "Run 2"
    assert [kept.key for kept in found.runs] == ["1" * 32, "2" * 32]
    assert [kept.run.name for kept in found.runs] == [run.name, "Run 2"]
    assert found.runs[0].run.solution.beta == run.solution.beta
    assert found.runs[0].dataset is found.dataset, "the same data are one object again"
    second = found.runs[1].dataset
    assert second is not None and second.same(other) and second.frame is found.dataset.frame
    assert found.comparison is not None and found.comparison.dataset.same(matrices)
    read = found.comparison.compared
    assert read.contest.table.equals(comparison.contest.table) and read.settings == comparison.settings
    assert read.contest.portraits["yours"].beta == {"p": 0.5} and read.spn == SPNS[1]
    (cut,) = found.attempts
    assert cut.attempt.records == records and cut.attempt.settings.C == 4.0 and cut.attempt.begun == 12.5
    (file,) = found.uploads
    assert file == saved.uploads[0] and file.data == b"a,b\n1,2\n"
    again.close()


def test_an_edit_writes_no_file_and_a_version(store: WorkspaceStore, place: Place) -> None:
    dataset = small_dataset()
    done = store.save(None, state(dataset))
    before = files_of(place)
    assert len(before) == 1
    for spn in (SPNS[1], SPNS[2], SPNS[0], SPNS[0]):
        done = store.save(done, state(dataset, spn))
    done = store.save(done, state(dataset, SPNS[4]), versions=[SPNS[2], SPNS[3], SPNS[4]])
    assert files_of(place) == before
    versions = store.catalog.versions(done.id)
    assert [version.number for version in versions] == list(range(len(versions), 0, -1))
    drawn = [store.drawing(version.drawing) for version in reversed(versions)]
    assert drawn == [SPNS[k] for k in (0, 1, 2, 0, 2, 3, 4)]
    assert done.version == store.load(done.id).saved.version == versions[0].number, "as the canvas tells it"
    with pytest.raises(WorkspaceError, match="no such version"):
        store.drawing("f" * 64)


def test_nothing_is_stored_twice(store: WorkspaceStore, place: Place) -> None:
    dataset = small_dataset()
    store.save(None, state(dataset))
    same = small_dataset()
    store.save(None, state(same))
    store.save(None, state(replace(same, name="called otherwise")))
    assert len(files_of(place)) == 1


def test_runs_are_renamed_removed_and_brought_back(store: WorkspaceStore) -> None:
    known = trained()
    one, two = (KeptRun(key * 32, replace(known.run, name=f"Run {key}"), known.dataset) for key in "12")
    done = store.save(None, state(known.dataset, runs=(one, two)))
    renamed = KeptRun(one.key, replace(one.run, name="The best"), known.dataset)
    done = store.save(done, state(known.dataset, runs=(renamed, two)))
    done = store.save(done, state(known.dataset, runs=(two,)))
    assert [kept.run.name for kept in store.load(done.id).saved.state.runs] == ["Run 2"]
    assert store.catalog.projects()[0].n_runs == 1
    done = store.save(done, state(known.dataset, runs=(renamed, two)))
    assert [kept.run.name for kept in store.load(done.id).saved.state.runs] == ["The best", "Run 2"]


def test_the_bin_holds_runs_too(store: WorkspaceStore, place: Place) -> None:
    known = trained()
    one, two = (KeptRun(key * 32, replace(known.run, name=f"Run {key}"), known.dataset) for key in "12")
    done = store.save(None, state(known.dataset, runs=(one, two)))
    done = store.save(done, state(known.dataset, runs=(two,)))
    assert store.upkeep.tidy(-1) == 0, "it can be brought back"
    store.catalog.empty_bin(owner="")
    assert store.upkeep.tidy(-1) == 1 and len(files_of(place)) == 2
    done = store.save(done, state(known.dataset, runs=(one, two)))
    assert [kept.run.name for kept in store.load(done.id).saved.state.runs] == ["Run 1", "Run 2"]


def test_who_saves_after_another_is_told(store: WorkspaceStore) -> None:
    first = store.save(None, state())
    second = store.save(first, state(spn=SPNS[1]))
    with pytest.raises(Overtaken):
        store.save(first, state(spn=SPNS[2]))
    assert store.load(first.id).saved.state.spn == SPNS[1], "nothing of it was written"
    assert len(store.catalog.versions(first.id)) == 2
    assert store.save(second, state(spn=SPNS[3])).revision == 3


def test_names_tags_search_copies_and_the_bin(store: WorkspaceStore) -> None:
    known = trained()
    catalog = store.catalog
    one = store.save(None, state(known.dataset, runs=(KeptRun("1" * 32, known.run, known.dataset),)), name="Wine")
    two = store.save(None, state(), name="Äpfel", owner="somebody")
    assert [info.name for info in catalog.projects()] == ["Äpfel", "Wine"], "the last changed first"
    assert catalog.rename(one.id, "  Red\nwine  ") == "Red wine"
    assert catalog.tag(one.id, ["paper", "2026", "paper", " "]) == ("2026", "paper")
    (found,) = catalog.projects("PAPER red")
    assert (found.id, found.tags, found.dataset_name, found.n_runs) == (one.id, ("2026", "paper"), "small", 1)
    assert [info.id for info in catalog.projects("äPFEL")] == [two.id] and not catalog.projects("nowhere")
    assert [info.id for info in catalog.projects(owner="somebody")] == [two.id]
    copy = catalog.duplicate(one.id)
    assert catalog.named("Red wine (copy)").id == copy and catalog.named(copy[:8]).tags == ("2026", "paper")
    assert store.load(copy).saved.state.runs[0].run.solution.beta == known.run.solution.beta
    store.save(store.load(copy).saved, state(known.dataset))
    assert len(store.load(one.id).saved.state.runs) == 1, "a copy is no other name of the same"
    catalog.delete(one.id)
    assert one.id not in {info.id for info in catalog.projects()}
    assert [info.id for info in catalog.projects(deleted=True)] == [one.id]
    catalog.restore(one.id)
    assert catalog.named("Red wine").id == one.id
    with pytest.raises(ParameterError, match="one letter or more"):
        catalog.rename(one.id, " ")
    with pytest.raises(ParameterError, match="'nothing' is not known"):
        catalog.named("nothing")
    with pytest.raises(WorkspaceError, match="no longer in the workspace"):
        catalog.rename("0" * 32, "x")
    with pytest.raises(WorkspaceError, match="has no project"):
        store.load("0" * 32)


def test_what_is_old_or_unused_is_thrown_away(
    store: WorkspaceStore, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = trained()
    kept = store.save(None, state(known.dataset, runs=(KeptRun("1" * 32, known.run, known.dataset),)), visit="mine")
    gone = store.save(None, state(small_dataset(seed=1), SPNS[2]), visit="theirs")
    store.catalog.delete(gone.id)
    assert store.upkeep.tidy(0) == 0 and store.upkeep.visited("theirs") is None, "the bin is not emptied at once"
    monkeypatch.setattr(upkeep, "BIN_SECONDS", -1.0)
    assert store.upkeep.tidy() == 0, "files stay for a while, since their rows may be about to come"
    assert store.upkeep.tidy(-1) == 1 and len(files_of(place)) == 2
    assert store.load(kept.id).saved.state.runs and store.upkeep.visited("mine") == kept.id
    monkeypatch.setattr(upkeep, "VISIT_SECONDS", -1.0)
    store.upkeep.tidy()
    assert store.upkeep.visited("mine") is None
    again = store.save(None, state(small_dataset(seed=1), SPNS[2]))
    assert store.load(again.id).saved.state.dataset is not None, "what was thrown away is written anew"


def test_a_training_of_a_server_that_is_gone_was_cut_off(store: WorkspaceStore, place: Place) -> None:
    dataset = small_dataset()
    attempt = Attempt("a" * 32, 1.0, "small", small_structure(), Choices(), SplitSettings(0.3, 0), Settings())
    store.upkeep.beat()
    done = store.save(None, state(dataset, attempts=(KeptAttempt(attempt, dataset),)))
    other = WorkspaceStore(place)
    assert other.load(done.id).saved.state.attempts, "the number of this very process is that of one that is gone"
    with store._database.writing() as connection:
        connection.execute(text("UPDATE server SET process = 1"))
    assert other.load(done.id).saved.state.attempts == (), "it is going on elsewhere"
    with store._database.writing() as connection:
        connection.execute(text("UPDATE server SET seen = 1"))
    (cut,) = other.load(done.id).saved.state.attempts
    assert cut.attempt.sentence == "before its first iteration"
    done = other.save(other.load(done.id).saved, state(dataset))
    assert other.load(done.id).saved.state.attempts == ()
    other.close()


def test_damage_is_told_and_costs_no_more_than_what_it_is_of(store: WorkspaceStore, place: Place) -> None:
    known = trained()
    runs = (
        KeptRun("1" * 32, known.run, known.dataset),
        KeptRun("2" * 32, replace(known.run, name="Run 2"), known.dataset),
    )
    done = store.save(None, state(known.dataset, runs=runs))
    broken, whole = sorted((place.folder / "files").glob("*/*.zip"))
    broken.write_bytes(whole.read_bytes())
    found = store.load(done.id)
    assert len(found.saved.state.runs) == 1 and len(found.lost) == 1 and "is damaged" in found.lost[0]
    (table,) = (place.folder / "files").glob("*/*.parquet")
    table.unlink()
    found = store.load(done.id)
    assert found.saved.state.dataset is None and len(found.saved.state.runs) == 1 and "is missing" in found.lost[0]


def test_data_that_cannot_be_read_for_a_while_are_kept(store: WorkspaceStore, place: Place) -> None:
    known = trained()
    run = KeptRun("1" * 32, known.run, known.dataset)
    done = store.save(None, state(known.dataset, runs=(run,)))
    (table,) = (place.folder / "files").glob("*/*.parquet")
    aside = table.rename(table.with_suffix(".aside"))  # as where a disk of a network is away
    found = store.load(done.id)
    now, renamed = found.saved.state, replace(known.run, name="The best")
    assert now.dataset is None and now.missing is not None and now.missing.name == "small", "what is not there is told"
    saved = store.save(found.saved, replace(now, spn=SPNS[1], runs=(replace(now.runs[0], run=renamed),)))
    saved = store.save(saved, replace(saved.state, spn=SPNS[2]))
    aside.rename(table)
    assert store.upkeep.tidy(-1) <= 2 and table.exists(), "the old file of the run alone is thrown away"
    found = store.load(done.id)
    back = found.saved.state
    assert found.lost == () and back.missing is None and back.spn == SPNS[2]
    assert back.dataset is not None and back.dataset.same(known.dataset)
    assert back.runs[0].dataset is back.dataset and back.runs[0].run.name == "The best"
    aside = table.rename(table.with_suffix(".aside"))
    other = small_dataset(seed=1)
    store.save(store.load(done.id).saved, replace(back, dataset=other))
    aside.rename(table)
    found = store.load(done.id)
    assert found.saved.state.dataset is not None and found.saved.state.dataset.same(other), "what came in their place"


def test_one_file_that_cannot_be_read_takes_no_other_with_it(store: WorkspaceStore, place: Place) -> None:
    uploads = (Upload("1", "one.csv", b"a\n1\n"), Upload("2", "two.csv", b"a\n2\n"))
    done = store.save(None, state(uploads=uploads))
    paths = {path.read_bytes(): path for path in (place.folder / "files").glob("*/*.bin")}
    aside = paths[b"a\n1\n"].rename(place.folder / "aside")
    found = store.load(done.id)
    assert len(found.lost) == 1 and [each.data for each in found.saved.state.uploads] == [None, b"a\n2\n"]
    store.save(found.saved, state(uploads=(*found.saved.state.uploads, Upload("3", "three.csv", b"a\n3\n"))))
    store.upkeep.tidy(-1)
    aside.rename(paths[b"a\n1\n"])
    kept = store.load(done.id).saved.state.uploads
    assert [(each.name, each.data) for each in kept] == [
        ("one.csv", b"a\n1\n"),
        ("two.csv", b"a\n2\n"),
        ("three.csv", b"a\n3\n"),
    ]


def test_a_table_that_cannot_be_kept_is_told(store: WorkspaceStore) -> None:
    dataset = small_dataset()
    mixed = dataset.frame.assign(mixed=[b"bytes", 1, "text"] * 30)
    done = store.save(None, state(Dataset("mixed", mixed, "class")))
    assert len(done.remarks) == 1 and "'mixed' cannot be saved" in done.remarks[0]
    assert store.load(done.id).saved.state.dataset is None


def test_migrations_make_the_tables_that_are_declared(store: WorkspaceStore) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store._database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), METADATA) == []
        assert set(inspect(connection).get_table_names()) == {*METADATA.tables, "alembic_version"}


def test_a_workspace_of_a_newer_release_is_refused(store: WorkspaceStore, place: Place) -> None:
    with store._database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(WorkspaceError, match=r"was written by a newer release of spnmkl .*'9999'.*--workspace"):
        WorkspaceStore(place)


def test_an_address_that_is_none_is_refused(tmp_path: Any) -> None:
    with pytest.raises(WorkspaceError, match="is no address of a database"):
        WorkspaceStore(Place(tmp_path, "not an address"))
    closed = "postgresql://nobody@127.0.0.1:1/none"
    with pytest.raises(WorkspaceError, match="SPNMKL_DATABASE_URL") as error:
        WorkspaceStore(Place(tmp_path, closed))
    assert "\n" not in str(error.value)
