"""Workers that do other things, or take no tasks, hold nobody up; those that are idle get one part each."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import dask
import joblib
import pytest
from distributed import Client, Event, LocalCluster, Status
from light_works import all_at_once, once_there, where

from spnmkl import SPNMKLError
from spnmkl.parallel import dask as of_dask
from spnmkl.parallel import elsewhere, side_by_side

WORKERS = 3


@pytest.fixture
def cluster() -> Iterator[LocalCluster]:
    """In threads of this process. None takes a part from another one: where they go first is where they are done."""
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=False, memory_limit=0, dashboard_address=None
        ) as found,
    ):
        yield found


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster, set_as_default=False) as found, joblib.parallel_config("dask", client=found):
        yield found


@pytest.fixture
def visitor(cluster: LocalCluster) -> Iterator[Client]:
    """Somebody else who uses the workers."""
    with Client(cluster) as found:
        yield found


def until_set(event: str) -> None:
    Event(event).wait()


def eventually(true: Callable[[], bool]) -> None:
    while not true():
        pass


def pause(workers: list[str], cluster: LocalCluster, client: Client) -> None:
    """As Dask does where one is out of memory."""
    for worker in cluster.workers.values():
        if worker.address in workers:
            client.loop.add_callback(setattr, worker, "status", Status.paused)
    eventually(lambda: not {*workers} & {*client.sync(client.scheduler.ncores_running, workers=None)})


def done(n: int) -> list[int]:
    return sorted(item for item, *_ in side_by_side(where, b"12", range(n)))


def test_each_worker_gets_a_part(client: Client, tmp_path: Path) -> None:
    asked = str(tmp_path), WORKERS
    assert sorted(side_by_side(all_at_once, asked, range(WORKERS))) == list(range(WORKERS))


@pytest.mark.parametrize("busy", range(WORKERS))
def test_a_worker_that_is_busy_is_left_out(client: Client, visitor: Client, busy: int) -> None:
    ended = Event("ended", visitor)
    theirs = visitor.submit(until_set, ended.name, workers=[sorted(visitor.nthreads())[busy]])
    eventually(lambda: any(visitor.processing().values()))
    assert done(2 * WORKERS) == list(range(2 * WORKERS)) and not theirs.done()
    ended.set()


@pytest.mark.parametrize("paused", range(WORKERS))
def test_a_worker_that_is_paused_is_left_out(client: Client, cluster: LocalCluster, paused: int) -> None:
    pause([sorted(client.nthreads())[paused]], cluster, client)
    assert done(4 * WORKERS) == list(range(4 * WORKERS))


def test_a_worker_that_is_paused_later_gives_back_what_it_has_not_begun(
    client: Client, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Dask itself would leave it there until the worker has memory again."""
    monkeypatch.setattr(of_dask, "STUCK_SECONDS", 0.3)
    file, items = tmp_path / "go on", range(1, 1 + 2 * WORKERS)

    def pause_one() -> None:
        eventually(lambda: sum(map(len, client.processing().values())) == len(items))
        pause([min(client.nthreads())], cluster, client)
        file.touch()

    pausing = threading.Thread(target=pause_one)
    pausing.start()
    assert sorted(side_by_side(once_there, str(file), items)) == list(items)
    pausing.join()


def test_where_all_are_paused(client: Client, cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    pause(list(client.nthreads()), cluster, client)
    monkeypatch.setattr(elsewhere, "FIRST_SECONDS", 0.3)
    with pytest.raises(SPNMKLError, match=r"no worker for 0.3 s, or none with memory left"):
        done(1)
