"""Work of several servers on one workspace: what all of them have let in counts, on SQLite and on PostgreSQL."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import pytest
from sqlalchemy import select, update

from spnmkl.errors import WorkspaceError
from spnmkl.ui.state import jobs, leave
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.keeping import Keeper
from spnmkl.ui.state.store import Store
from spnmkl.workspace import admission
from spnmkl.workspace.place import Place
from spnmkl.workspace.store import WorkspaceStore
from spnmkl.workspace.tables import JOB, SERVER
from spnmkl.workspace.upkeep import SILENT_SECONDS

GB = 10**9
SOON = 30.0  # a limit that only a failure reaches


def anyhow(others: Sequence[int]) -> bool:
    return True


def change(store: WorkspaceStore, **values: object) -> None:
    """What the database says of the process of a server."""
    with store._database.writing() as connection:
        connection.execute(update(SERVER).where(SERVER.c.id == store.upkeep.server).values(**values))


def works(store: WorkspaceStore) -> dict[str, tuple[str, int]]:
    with store._database.reading() as connection:
        rows = connection.execute(select(JOB)).mappings().all()
    return {row["id"]: (row["person"], row["coming"]) for row in rows}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine, too, the database is what decides."""
    monkeypatch.setattr(admission, "PATIENCE_SECONDS", SOON)


@pytest.fixture
def neighbour() -> Iterator[int]:
    """A process of this machine that lives: two stores of one process would be one server."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.kill()
    process.communicate()


@pytest.fixture
def other(place: Place, store: WorkspaceStore, neighbour: int) -> Iterator[WorkspaceStore]:
    """A second server on the same workspace, and machine."""
    other = WorkspaceStore(place)
    for each, process in ((store, os.getppid()), (other, neighbour)):
        each.upkeep.beat()
        change(each, process=process)
    yield other
    other.close()


def test_the_works_of_a_person_count_on_all_servers(store: WorkspaceStore, other: WorkspaceStore) -> None:
    ours, theirs = store.admission, other.admission
    assert ours.enter("1", ("ann", 0), 2, anyhow) == "" == theirs.enter("2", ("ann", 0), 2, anyhow)
    assert ours.enter("3", ("ann", 0), 2, anyhow) == "limit"
    assert ours.enter("3", ("ben", 0), 2, anyhow) == "" == ours.enter("4", ("", 0), 2, anyhow)
    assert ours.enter("5", ("ann", 0), 0, anyhow) == "", "no limit"
    assert ours.elsewhere() == {"ann": 1}
    ours.leave("5")
    theirs.leave("2")
    assert ours.enter("6", ("ann", 0), 2, anyhow) == ""
    assert set(works(store)) == {"1", "3", "4", "6"}


def test_two_that_ask_at_once_are_not_both_let_in(store: WorkspaceStore, other: WorkspaceStore) -> None:
    for k in range(10):
        start, answers = threading.Barrier(4), []

        def ask(one: WorkspaceStore, key: str, start: threading.Barrier, answers: list[str]) -> None:
            start.wait()
            answers.append(one.admission.enter(key, ("ann", 0), 2, anyhow))

        asking = [(store, f"a{k}"), (store, f"b{k}"), (other, f"c{k}"), (other, f"d{k}")]
        threads = [threading.Thread(target=ask, args=(*each, start, answers)) for each in asking]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(answers) == ["", "", "limit", "limit"]
        for key in works(store):
            store.admission.leave(key)


def test_what_works_have_yet_to_take_counts_on_one_machine(store: WorkspaceStore, other: WorkspaceStore) -> None:
    seen: list[list[int]] = []

    def fits(others: Sequence[int]) -> bool:
        seen.append(sorted(others))
        return sum(others) < 5 * GB

    assert other.admission.enter("1", ("ann", 4 * GB), 0, fits) == ""
    assert other.admission.enter("2", ("", 3 * GB), 0, fits) == "", "the own works are the server's to count"
    assert store.admission.enter("3", ("ben", GB), 0, fits) == "memory"
    other.admission.beat(lambda: {"1": ("ann", GB), "2": ("", 0)})  # it has taken most of its memory
    assert store.admission.enter("3", ("ben", GB), 0, fits) == ""
    change(other, host="another machine")
    assert store.admission.enter("4", ("ben", GB), 0, fits) == ""
    assert seen == [[], [], [3 * GB, 4 * GB], [0, GB], []]


def test_works_of_a_server_that_is_gone_do_not_count(store: WorkspaceStore, other: WorkspaceStore) -> None:
    def answer() -> str:
        found = store.admission.enter("mine", ("ann", 0), 1, anyhow)
        store.admission.leave("mine")
        return found

    assert other.admission.enter("1", ("ann", 0), 1, anyhow) == ""
    assert answer() == "limit"
    change(other, host="another machine", process=2**22 + 1)
    assert answer() == "limit", "that machine's processes cannot be asked"
    change(other, seen=time.time() - SILENT_SECONDS - 1)
    assert answer() == ""
    change(other, seen=time.time() + 3600)
    assert answer() == "", "one whose clock went ahead blocks nobody"
    change(other, seen=time.time(), host=socket.gethostname())
    assert answer() == "", "a process that was killed here is known at once"
    change(other, seen=time.time() - SILENT_SECONDS - 1)
    store.upkeep.tidy()
    assert works(store) == {}
    other.admission.beat(lambda: {"1": ("ann", 7), "2": None})  # it was only asleep
    assert works(store) == {"1": ("ann", 7)}
    other.admission.beat(dict)
    assert works(store) == {}


def test_a_database_that_others_hold_is_not_waited_for(
    store: WorkspaceStore, other: WorkspaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admission, "PATIENCE_SECONDS", 0.2)
    with store._database.writing(alone=True), pytest.raises(WorkspaceError, match="cannot be used"):
        other.admission.enter("1", ("ann", 0), 2, anyhow)
    assert other.admission.enter("1", ("ann", 0), 2, anyhow) == ""


def until_stopped(job: Job[object]) -> None:
    while not job.stopping:
        job.join(0.01)


def of(person: str, need: int = 0) -> Job[object]:
    job: Job[object] = Job(until_stopped, need=need)
    job.person = person
    return job


def eventually(condition: Callable[[], bool]) -> bool:
    limit = time.monotonic() + SOON
    while not condition() and time.monotonic() < limit:
        time.sleep(0.01)
    return condition()


@pytest.fixture
def shared(store: WorkspaceStore, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Job[object]]]:
    """The jobs of this server, which asks for leave in the workspace; they are ended afterwards."""
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.02)
    monkeypatch.setattr(jobs, "MOST_AT_ONCE", 2)
    monkeypatch.setattr(jobs, "AT_ONCE_EACH", 1)
    monkeypatch.setattr(leave, "ledger", lambda: store.admission)
    begun: list[Job[object]] = []
    yield begun
    for job in begun:
        job.stop()
        assert job.join(SOON)
    assert eventually(lambda: not jobs.going_on())


def test_a_job_waits_for_one_of_another_server_and_others_pass_it(
    store: WorkspaceStore, other: WorkspaceStore, shared: list[Job[object]]
) -> None:
    assert other.admission.enter("theirs", ("ann", 0), 1, anyhow) == ""
    ann, ben, cid = of("ann"), of("ben"), of("cid")
    shared.append(ann.start())
    told = "waiting for another training of yours to end; 1 of one person go on at once"
    assert eventually(lambda: ann.state == "waiting" and ann.seconds == 0 and ann.waits_for == told)
    for job in (ben, cid):
        shared.append(job.start())
    assert eventually(lambda: set(works(store)) == {"theirs", ben.leave.key, cid.leave.key})
    assert eventually(lambda: ann.state == "waiting")
    ben.stop()
    assert eventually(lambda: ben.leave.key not in works(store))
    other.admission.leave("theirs")
    assert eventually(lambda: ann.state == "running" and ann.leave.entered)
    assert jobs.entered() == {ann.leave.key: ("ann", 0), cid.leave.key: ("cid", 0)}
    second = of("dan").start()
    shared.append(second)
    second.stop()
    assert second.join(SOON) and second.state == "stopped"


def test_a_job_waits_for_the_memory_that_another_server_has_promised(
    store: WorkspaceStore,
    other: WorkspaceStore,
    shared: list[Job[object]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jobs, "available_memory", lambda: 10 * GB)
    assert other.admission.enter("theirs", ("ann", 6 * GB), 1, anyhow) == ""
    large, small = of("ben", 5 * GB), of("", leave.SMALL_BYTES)
    for job in (large, small):
        shared.append(job.start())
    assert eventually(lambda: large.waits_for == "waiting until 5.0 GB of memory are free")
    other.admission.beat(lambda: {"theirs": ("ann", 0)})
    assert eventually(lambda: large.state == "running" and large.leave.entered)
    assert eventually(lambda: small.state == "running") and not small.leave.entered, "it is too small to be counted"
    assert works(store) == {"theirs": ("ann", 0), large.leave.key: ("ben", 5 * GB)}


def test_a_job_that_waits_for_another_server_can_be_stopped(other: WorkspaceStore, shared: list[Job[object]]) -> None:
    assert other.admission.enter("theirs", ("ann", 0), 1, anyhow) == ""
    ann = of("ann").start()
    shared.append(ann)
    assert eventually(lambda: ann.leave.refused == "limit")
    ann.stop()
    assert ann.join(SOON) and ann.state == "stopped" and ann.result is None


def test_where_the_workspace_cannot_be_used_each_server_counts_for_itself(
    shared: list[Job[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> admission.Admission:
        raise WorkspaceError("The workspace cannot be used.")

    monkeypatch.setattr(leave, "ledger", refused)
    first, second = of("ann").start(), of("ann").start()
    shared += [first, second]
    assert (first.state, second.state) == ("running", "waiting")
    assert second.waits_for == "waiting for another training of yours to end; 1 of one person go on at once"
    first.stop()
    assert eventually(lambda: second.state == "running")
    assert eventually(lambda: second.leave.entered), "a beat will write it once it can"


def test_what_goes_on_is_told_with_every_beat(
    store: WorkspaceStore, shared: list[Job[object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper = Keeper(lambda: store, Store())
    keeper.disk()
    job = of("ann", GB).start()
    shared.append(job)
    assert eventually(lambda: works(store) == {job.leave.key: ("ann", GB)})
    job.taken = lambda: GB // 4
    keeper._look()
    assert works(store) == {job.leave.key: ("ann", 3 * GB // 4)}
    monkeypatch.setattr(store.admission, "leave", lambda key: None)  # as if it could not be written
    job.stop()
    assert eventually(lambda: not jobs.going_on()) and works(store)
    keeper._beaten = -1e9
    keeper._look()
    assert works(store) == {}


def test_a_work_let_in_without_the_database_is_counted_once_it_is_back(
    store: WorkspaceStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> leave.Ledger:
        raise OSError("away")

    monkeypatch.setattr(leave, "ledger", away)
    job = leave.Leave()
    assert job.ask("ann", 5, 1, anyhow) and job.entered
    monkeypatch.setattr(leave, "ledger", lambda: store.admission)
    store.admission.beat(lambda: {job.key: ("ann", 5)})
    assert works(store) == {job.key: ("ann", 5)}
    assert store.admission.enter("second", ("ann", 0), 1, anyhow) == "limit"
    job.give_back()
    assert works(store) == {}
