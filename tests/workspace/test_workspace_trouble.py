"""A full disk, a folder that cannot be written, a half written file: a clear sentence, and nothing is broken."""

import errno
import os
import pwd
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from small_runs import small_dataset
from sqlalchemy import event
from test_workspace_store import SPNS, state

from spnmkl.errors import WorkspaceError
from spnmkl.workspace import files, place
from spnmkl.workspace.files import FileStore
from spnmkl.workspace.place import Place, workspace_place
from spnmkl.workspace.store import WorkspaceStore


@pytest.fixture
def sqlite(tmp_path: Path) -> Iterator[WorkspaceStore]:
    store = WorkspaceStore(Place(tmp_path / "workspace"))
    yield store
    store.close()


def test_a_full_disk_under_the_database(sqlite: WorkspaceStore) -> None:
    done = sqlite.save(None, state())
    no_more = "PRAGMA max_page_count = 1"  # than it has already
    event.listen(sqlite._database.engine, "begin", lambda connection: connection.exec_driver_sql(no_more), insert=True)
    with pytest.raises(WorkspaceError, match=r"full\); make room on the disk; what was saved before is safe\.$"):
        sqlite.save(done, state(spn=SPNS[1], more={"long": "x" * 1_000_000}))
    sqlite._database.engine.dispose()
    again = WorkspaceStore(sqlite.place)
    assert again.load(done.id).saved.revision == done.revision
    again.close()


def test_a_full_disk_under_a_file(sqlite: WorkspaceStore, monkeypatch: pytest.MonkeyPatch) -> None:
    done = sqlite.save(None, state())

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "fsync", full)
        with pytest.raises(WorkspaceError, match=r"\(No space left on device\); make room on the disk"):
            sqlite.save(done, state(small_dataset()))
    folder = sqlite.place.folder / "files"
    assert not list(folder.glob("*/*")), "nothing half written stays"
    assert sqlite.load(done.id).saved.state.dataset is None
    assert sqlite.save(done, state(small_dataset())).revision == 2, "with room again, all goes on"


@pytest.mark.parametrize("name", ["what?", "50%20", "a#b@c:d&e=f", "ein Ordner"])
def test_any_name_of_a_folder_will_do(tmp_path: Path, name: str) -> None:
    store = WorkspaceStore(Place(tmp_path / name))
    done = store.save(None, state())
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name / "workspace.db").is_file()
    again = WorkspaceStore(Place(tmp_path / name))
    assert again.load(done.id).saved.revision == 1
    again.close()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o555)
    tmp_path.chmod(0o755)
    ours = os.geteuid()
    try:
        if ours == 0:
            os.seteuid(pwd.getpwnam("nobody").pw_uid)
        with pytest.raises(WorkspaceError, match=r"Permission denied.*; .*--workspace\.$"):
            WorkspaceStore(Place(closed / "workspace"))
    finally:
        os.seteuid(ours)
    assert not list(closed.iterdir())


@pytest.mark.parametrize("instead", [False, True])
def test_a_workspace_that_is_moved_away_is_not_written_on(sqlite: WorkspaceStore, instead: bool) -> None:
    done = sqlite.save(None, state())
    folder = sqlite.place.folder
    aside = folder.rename(folder.with_name("aside"))
    if instead:
        WorkspaceStore(sqlite.place).close()
    before = sorted(folder.rglob("*"))
    gone = r"was moved or removed while the app had it open; put it back, or stop the app and start it again\.$"
    for one in (state(more={"a": 1}), state(small_dataset())):
        with pytest.raises(WorkspaceError, match=gone):
            sqlite.save(done, one)
    with pytest.raises(WorkspaceError, match=gone):
        sqlite.load(done.id)
    assert instead or sorted(folder.rglob("*")) == before, "nothing is begun in its place"
    if instead:
        folder.rename(folder.with_name("other"))
    aside.rename(folder)
    assert sqlite.save(done, state(small_dataset())).revision == 2, "where it was put back, all goes on"


def test_a_file_is_there_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileStore(tmp_path)

    def killed(*names: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(files.os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            store.put(b"something", ".bin")
    assert not list(tmp_path.glob("*/*"))
    name = store.put(b"something", ".bin")
    assert store.read(name) == b"something" and store.put(b"something", ".bin") == name
    (tmp_path / name).write_bytes(b"some")
    with pytest.raises(WorkspaceError, match="is damaged"):
        store.read(name)
    assert store.put(b"something", ".bin") == name and store.read(name) == b"something", "a torn file is written anew"


def test_a_disk_that_fails_costs_what_it_is_of_and_no_more(
    sqlite: WorkspaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = sqlite.save(None, state(small_dataset()))

    def failing(path: Path) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", failing)
        found = sqlite.load(done.id)
    assert found.saved.state.spn == SPNS[0] and "cannot be read (Input/output error)" in found.lost[0]
    sqlite.save(found.saved, state(spn=SPNS[1], missing=found.saved.state.missing))
    assert sqlite.load(done.id).saved.state.dataset is not None


@pytest.mark.parametrize("name", ["../secret", "ab/../../x", "/etc/passwd", "ab/" + "c" * 64])
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(WorkspaceError, match="is missing"):
        FileStore(tmp_path).read(name)


def test_what_is_ours_alone_is_collected(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    kept, orphan = store.put(b"kept", ".bin"), store.put(b"orphan", ".bin")
    (tmp_path / "ab").mkdir(exist_ok=True)
    (tmp_path / "ab" / "notes.txt").write_text("somebody's own")
    (tmp_path / "ab" / "xyz.part").write_bytes(b"left by one who was killed")
    assert store.collect([kept], 3600) == 0
    assert store.collect([kept], -1) == 2
    assert store.has(kept) and not store.has(orphan) and (tmp_path / "ab" / "notes.txt").exists()


def test_two_threads_write_one_project_after_another(sqlite: WorkspaceStore) -> None:
    other = WorkspaceStore(sqlite.place)
    wrong: list[BaseException] = []

    def work(store: WorkspaceStore) -> None:
        try:
            done = store.save(None, state())
            for k in range(15):
                done = store.save(done, state(spn=SPNS[k % 5]))
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(store,)) for store in (sqlite, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and [info.n_versions for info in sqlite.catalog.projects()] == [15, 15]
    other.close()


def test_the_place_is_what_was_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (place.FOLDER, place.URL):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert re.search(r"spnmkl.workspace$", str(workspace_place().folder))
    assert workspace_place().database.name == place.DATABASE and workspace_place().url == ""
    monkeypatch.setenv(place.FOLDER, str(tmp_path / "mine"))
    monkeypatch.setenv(place.URL, "postgresql://somebody:secret@host/name")
    found = workspace_place()
    assert found.folder == tmp_path / "mine" and found.url == "postgresql://somebody:secret@host/name"
    assert "secret" not in found.shown
    assert workspace_place("elsewhere").folder == Path("elsewhere").absolute()
