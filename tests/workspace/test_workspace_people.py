"""What a shared server must keep apart, on every database: people, what they share, how much they keep, the log."""

import hashlib
import shutil
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from small_runs import small_dataset
from sqlalchemy import text
from test_workspace_store import SPNS, files_of, state

from spnmkl.errors import ParameterError, WorkspaceError
from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.workspace import audit, migrations
from spnmkl.workspace.database import Database
from spnmkl.workspace.people import Person
from spnmkl.workspace.place import Place
from spnmkl.workspace.quotas import QuotaError, Quotas, amount
from spnmkl.workspace.sharing import EVERYBODY
from spnmkl.workspace.state import Upload
from spnmkl.workspace.store import Overtaken, WorkspaceStore
from spnmkl.workspace.tables import HEAD

CLAIMS = {"iss": "https://provider.example", "sub": "7", "name": "Ann", "email": "ann@x.example", "iat": 1}
ANN = Person.of_claims({**CLAIMS, "email_verified": True})
BEN = Person.of_claims({**CLAIMS, "sub": "8", "name": "Ben"})


def arrived(store: WorkspaceStore) -> None:
    assert store.people.arrive(ANN) and store.people.arrive(BEN)


def what(store: WorkspaceStore) -> list[str]:
    return [event.what for event in store.audit.read()]


def test_a_person_is_provider_and_subject_and_nothing_that_changes() -> None:
    renamed = Person.of_claims({**CLAIMS, "name": "Anna", "email": "new@x.example", "iat": 2})
    assert renamed.id == ANN.id and renamed.login != ANN.login and renamed.name == "Anna"
    assert renamed.mail == "", "an address that nobody verified is none"
    other = Person.of_claims({**CLAIMS, "iss": "https://other.example", "email_verified": True})
    assert other.id != ANN.id, "the same subject of another provider, with the same address, is somebody else"
    assert Person.of_claims({"iss": "a", "sub": "b\n7"}).id != Person.of_claims({"iss": "a\nb", "sub": "7"}).id
    assert Person.of_claims({"iss": "a", "sub": "7", "name": "\u202e\u200b"}).name == "7", "a name that can be seen"
    for missing in ("iss", "sub"):
        with pytest.raises(ParameterError, match="needs the claims 'iss' and 'sub'"):
            Person.of_claims({**CLAIMS, missing: ""})


def test_a_login_that_has_ended_opens_nothing(store: WorkspaceStore) -> None:
    assert store.people.arrive(ANN) and store.people.arrive(ANN)
    elsewhere = replace(ANN, login="1" * 64)
    assert store.people.arrive(elsewhere)
    store.people.leave(ANN)
    store.people.leave(ANN)
    assert not store.people.arrive(ANN) and store.people.arrive(elsewhere), "the login on another machine goes on"
    assert what(store) == ["logout", "login", "login"]


def test_a_project_of_somebody_else_is_not_there(store: WorkspaceStore) -> None:
    arrived(store)
    mine = store.save(None, state(small_dataset()), name="Mine", owner=ANN.id)
    catalog = store.catalog
    for attempt in (
        lambda: catalog.rename(mine.id, "x", owner=BEN.id),
        lambda: catalog.tag(mine.id, ["x"], owner=BEN.id),
        lambda: catalog.delete(mine.id, owner=BEN.id),
        lambda: catalog.duplicate(mine.id, owner=BEN.id),
        lambda: store.sharing.share(mine.id, BEN.id, BEN.id),
        lambda: store.sharing.take_back(mine.id, BEN.id, EVERYBODY),
        lambda: store.sharing.readers(mine.id, BEN.id),
        lambda: store.sharing.copy(mine.id, BEN.id),
    ):
        with pytest.raises(WorkspaceError, match="no longer in the workspace"):
            attempt()
    with pytest.raises(WorkspaceError, match="has no project"):
        store.load(mine.id, owner=BEN.id)
    with pytest.raises(Overtaken):
        store.save(mine, state(spn=SPNS[1]), owner=BEN.id)
    (info,) = catalog.projects()
    assert (info.name, info.tags, info.deleted, info.n_versions) == ("Mine", (), None, 1)
    assert store.load(mine.id, owner=ANN.id).saved.state.spn == SPNS[0]


def test_sharing_is_by_choice_read_only_and_can_be_taken_back(store: WorkspaceStore) -> None:
    arrived(store)
    mine = store.save(None, state(small_dataset()), name="Mine", owner=ANN.id)
    hidden = store.save(None, state(), name="Hidden", owner=ANN.id)
    sharing = store.sharing
    assert sharing.for_person(BEN.id) == []
    assert store.people.named("ann@x.example").id == ANN.id and store.people.named(BEN.id).name == "Ben"
    with pytest.raises(ParameterError, match=r"'ben@x\.example' has logged in here"):
        store.people.named("ben@x.example")
    sharing.share(mine.id, ANN.id, BEN.id)
    sharing.share(mine.id, ANN.id, BEN.id)
    (seen,) = sharing.for_person(BEN.id)
    assert (seen.id, seen.name, seen.owner_name, seen.dataset_name) == (mine.id, "Mine", "Ann", "small")
    assert sharing.readers(mine.id, ANN.id) == {BEN.id: "Ben"}
    with pytest.raises(WorkspaceError):
        store.load(mine.id, owner=BEN.id)
    with pytest.raises(WorkspaceError):
        sharing.copy(hidden.id, BEN.id)
    copy = sharing.copy(mine.id, BEN.id)
    theirs = store.load(copy, owner=BEN.id).saved
    store.save(theirs, state(spn=SPNS[3]), owner=BEN.id)
    assert store.load(mine.id).saved.state.spn == SPNS[0], "a copy is no other name of the same"
    sharing.take_back(mine.id, ANN.id, BEN.id)
    assert sharing.for_person(BEN.id) == []
    with pytest.raises(WorkspaceError):
        sharing.copy(mine.id, BEN.id)
    sharing.share(mine.id, ANN.id, EVERYBODY)
    assert [found.id for found in sharing.for_person(BEN.id)] == [mine.id] and sharing.for_person(ANN.id) == []
    visitor = "f" * 64
    assert sharing.for_person(visitor) == [], "a visitor has not logged in"
    with pytest.raises(WorkspaceError):
        sharing.copy(mine.id, visitor)
    with pytest.raises(WorkspaceError, match="never logged in"):
        sharing.share(mine.id, ANN.id, visitor)
    store.catalog.delete(mine.id, owner=ANN.id)
    assert sharing.for_person(BEN.id) == [], "what lies in the bin is seen by nobody else"
    assert [w for w in what(store) if w != "login"] == [
        "deleted",
        "shared",
        "no longer shared",
        "copied",
        "shared",
        "shared",
    ]


def test_quotas_are_asked_where_it_is_written_and_nothing_is_lost(place: Place) -> None:
    first = WorkspaceStore(place)
    used = first.save(None, state(small_dataset()), owner=ANN.id)
    taken = first.purse.usage(ANN.id)
    n_rows = len(small_dataset().frame)
    assert taken.rows == n_rows and taken.bytes > sum(p.stat().st_size for p in (place.folder / "files").glob("*/*"))
    again = replace(small_dataset(), name="another use", ignored=("colour_0",))
    used = first.save(used, state(again), owner=ANN.id)
    assert first.purse.usage(ANN.id).rows == n_rows, "the same table in another use is kept once"
    taken = first.purse.usage(ANN.id)
    first.close()

    store = WorkspaceStore(place, Quotas(bytes=taken.bytes + 1000, rows=n_rows + 10, nodes=3))
    before = files_of(place)
    big = (Upload("key", "file.csv", b"x" * 5000),)
    with pytest.raises(QuotaError, match=r"^Your projects would take .* one person may keep .* empty the bin"):
        store.save(used, state(again, uploads=big), owner=ANN.id)
    assert files_of(place) == before, "what does not fit is refused before it takes room"
    with pytest.raises(QuotaError, match=rf"would have {2 * n_rows:,} rows together, and .* {n_rows + 10:,}"):
        store.purse.quotas = replace(store.purse.quotas, bytes=0)
        store.save(None, state(small_dataset(seed=1)), owner=ANN.id)
    with pytest.raises(QuotaError, match="has 5 nodes, and one person's may have 3"):
        store.save(used, state(again, SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear"))))), owner=ANN.id)
    found = store.load(used.id, owner=ANN.id)
    assert found.saved.revision == used.revision and len(store.catalog.projects()) == 1
    used = store.save(used, state(again, SPNS[2]), owner=ANN.id)
    store.save(None, state(small_dataset(seed=1)), owner=BEN.id)
    store.save(None, state(small_dataset(seed=2)), owner="")
    store.purse.quotas = replace(store.purse.quotas, bytes=store.purse.usage(BEN.id).bytes)
    assert store.catalog.duplicate(store.catalog.projects(owner=BEN.id)[0].id, owner=BEN.id), "its files are there once"
    store.catalog.delete(used.id, owner=ANN.id)
    assert store.purse.usage(ANN.id).rows == n_rows, "the bin counts"
    assert store.catalog.empty_bin(owner=ANN.id) == 1 and store.purse.usage(ANN.id).bytes == 0
    store.close()


def test_a_quota_that_was_lowered_stops_only_what_grows(place: Place) -> None:
    first = WorkspaceStore(place)
    used = first.save(None, state(small_dataset(), uploads=(Upload("k", "a.csv", b"x" * 9000),)), owner=ANN.id)
    first.close()
    store = WorkspaceStore(place, Quotas(bytes=1000, rows=1))
    used = store.save(used, state(used.state.dataset), owner=ANN.id)
    assert store.purse.usage(ANN.id).bytes > 1000, "less than before is taken, although it is too much still"
    with pytest.raises(QuotaError):
        store.save(used, state(used.state.dataset, uploads=(Upload("k", "a.csv", b"y" * 9000),)), owner=ANN.id)
    store.close()


def test_quotas_are_read_as_they_are_written() -> None:
    assert Quotas.chosen({}) == Quotas(5 * 10**9, 5_000_000, 1_000, 2)
    given = {"SPNMKL_QUOTA_BYTES": "2.5 GB", "SPNMKL_QUOTA_ROWS": "20k", "SPNMKL_QUOTA_TRAININGS": "0"}
    assert Quotas.chosen(given) == Quotas(2_500_000_000, 20_000, 1_000, 0)
    with pytest.raises(ParameterError, match=r"SPNMKL_QUOTA_ROWS is a number such as .* found 'many'"):
        Quotas.chosen({"SPNMKL_QUOTA_ROWS": "many"})
    assert amount("7", "x") == 7


def test_the_log_is_appended_to_and_read_and_nothing_else(
    store: WorkspaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrived(store)
    mine = store.save(
        None, state(small_dataset(), uploads=(Upload("k", "Mrs Smith.csv", b"secret"),)), name="Secret", owner=ANN.id
    )
    large = store.save(None, state(more={"files": ["too large to be kept"]}), owner=BEN.id)
    store.save(large, state(spn=SPNS[1], more=large.state.more), owner=BEN.id)
    store.audit.note(BEN.id, "training started", kind="train")
    store.audit.note("", "training started")
    (other, upload), started = store.audit.read(what="upload"), store.audit.read(who=BEN.id)[0]
    assert other.about == {"project": large.id, "files": 1, "kept_bytes": 0}
    assert upload.about == {"project": mine.id, "files": 1, "kept_bytes": 6} and upload.name == "Ann"
    assert started.what == "training started" and abs(started.at - time.time()) < 60
    with store._database.reading() as connection:
        lines = "".join(map(str, connection.execute(text("SELECT * FROM audit")).all()))
    assert "Smith" not in lines and "secret" not in lines.lower() and len(store.audit.read()) == 5
    for statement in ("UPDATE audit SET what = 'nothing'", "DELETE FROM audit"):
        with pytest.raises(WorkspaceError, match="append only"), store._database.writing() as connection:
            connection.execute(text(statement))
    assert len(store.audit.read()) == 5
    old = time.time() - audit.KEPT_SECONDS - 3600
    with store._database.writing() as connection:
        connection.execute(text(f"INSERT INTO audit (at, who, what, about) VALUES ({old}, 'x', 'old', '{{}}')"))
    store.upkeep.tidy()
    assert len(store.audit.read()) == 5, "a year later it is thrown away"
    assert [event.what for event in store.audit.read(since=time.time() + 1)] == []
    assert not {name for name in dir(store.audit) if not name.startswith("_")} - {"note", "read"}


def test_the_visit_of_a_tab_is_told_to_its_browser_alone(store: WorkspaceStore) -> None:
    mine = store.save(None, state(), owner="v" * 64, visit="token", browser="secret")
    assert store.upkeep.visited("token", "secret") == mine.id
    assert store.upkeep.visited("token") is None and store.upkeep.visited("token", "another") is None
    free = store.save(None, state(), visit="other")
    assert store.upkeep.visited("other") == store.upkeep.visited("other", "any") == free.id


def test_what_a_visitor_made_goes_with_the_visit(store: WorkspaceStore) -> None:
    visitor = hashlib.sha256(b"token").hexdigest()
    store.people.arrive(ANN)
    of = {"a visitor": visitor, "Ann": ANN.id, "nobody": ""}
    for name, owner in of.items():
        store.save(None, state(), name=name, owner=owner, visit="token" if owner == visitor else None, browser="b")

    def later(days: float) -> None:
        with store._database.writing() as connection:
            connection.execute(text(f"UPDATE visit SET used = used - {86_400 * days}"))
            connection.execute(text(f"UPDATE project SET changed = changed - {86_400 * days}"))
        store.upkeep.tidy()

    later(80)
    assert store.upkeep.visited("token", "b") is not None, "which is a visit too"
    later(80)
    assert {info.name for info in store.catalog.projects()} == set(of)
    later(20)
    assert {info.name for info in store.catalog.projects()} == {"Ann", "nobody"}
    assert [info.name for info in store.catalog.projects(deleted=True)] == ["a visitor"], "for 30 days"
    assert store.upkeep.visited("token", "b") is None


def test_a_workspace_of_the_first_release_is_migrated(place: Place) -> None:
    (place.folder / "files").mkdir(parents=True)
    database = Database(place)
    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    with database.writing() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO project VALUES ('p', 'o', 'Old', 1, 2, NULL, 1, '{}', NULL)"))
        connection.execute(text("INSERT INTO visit VALUES ('d', 'p', 3)"))
    database.close()
    store = WorkspaceStore(place)
    assert [info.name for info in store.catalog.projects(owner="o")] == ["Old"]
    with store._database.reading() as connection:
        assert connection.execute(text("SELECT browser FROM visit")).scalar() == ""
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar() == HEAD
    arrived(store)
    store.close()


def test_a_copy_of_database_then_files_opens_although_it_was_used_meanwhile(tmp_path: Path) -> None:
    store = WorkspaceStore(Place(tmp_path / "workspace"))
    kept = store.save(None, state(small_dataset(), uploads=(Upload("k", "a.csv", b"a"),)))
    (tmp_path / "copy").mkdir()
    target = tmp_path / "copy" / "workspace.db"
    with closing(sqlite3.connect(store.place.database)) as ours, closing(sqlite3.connect(target)) as theirs:
        ours.backup(theirs)
        store.save(kept, state(small_dataset(seed=1), SPNS[2]))
    shutil.copytree(tmp_path / "workspace" / "files", tmp_path / "copy" / "files")
    store.close()
    copy = WorkspaceStore(Place(tmp_path / "copy"))
    found = copy.load(kept.id)
    copy.close()
    assert found.lost == () and found.saved.state.spn == SPNS[0] and found.saved.state.uploads[0].data == b"a"
