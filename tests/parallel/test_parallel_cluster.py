"""Worker processes of a real Dask cluster: the same results, also where one is killed; Stop; and what is said."""

import importlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import joblib
import numpy as np
import pytest
from distributed import Client, LocalCluster, Scheduler
from kinds_of_work import GRID, SPN_, comparison, cross_validation, serial, table, views
from light_works import OpenedBy, once_there, until_stopped, where

from spnmkl import SPNMKLError, cross_validate_C, solve
from spnmkl.circuit import blocks, evaluate, spread
from spnmkl.cluster import connecting, on_cluster
from spnmkl.errors import ParameterError
from spnmkl.kernels import fit_kernels, fit_tiles, restrict_kernels
from spnmkl.landmarks import features
from spnmkl.landmarks.features import feature_blocks, landmarks
from spnmkl.parallel import side_by_side
from spnmkl.parallel.dask import LOOK_SECONDS

RETURN = "distributed.deploy.lost-worker-timeout"


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    """Dask's own time for a worker to come back is less than any worker needs."""
    with dask.config.set({RETURN: "10ms"}), connecting.started(LocalCluster, 2) as found:
        yield found


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as found:
        found.wait_for_workers(2, timeout=200)
        with joblib.parallel_config("dask", client=found):
            yield found


def pids(client: Client) -> list[int]:
    return sorted(client.run(os.getpid).values())


@pytest.mark.parametrize("kind", [views, comparison], ids=lambda kind: kind.__name__)
def test_the_same_as_serially(client: Client, kind: Callable[[], Any]) -> None:
    with joblib.parallel_config("sequential"):
        expected = serial(kind)
    assert repr(kind()) == repr(expected)


def test_in_processes_of_one_thread(client: Client) -> None:
    found = list(side_by_side(where, b"12", range(6)))
    assert sorted(item for item, *_ in found) == list(range(6))
    assert {pid for _, pid, _ in found} <= set(pids(client)) and len({pid for _, pid, _ in found}) > 1
    assert {bounded for *_, bounded in found} == {3}


def test_a_worker_that_is_killed_while_it_is_sent_the_data(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask goes on trying to reach it; another one gets the data meanwhile."""
    own, lost, sent = client.scatter, list[int](), list[str]()
    of = client.run(os.getpid)

    def scatter(data: Any, workers: list[str], **settings: Any) -> Any:
        sent.extend(workers)
        if len(sent) == 1:
            lost.append(of[workers[0]])
            os.kill(lost[0], signal.SIGSTOP)  # whoever sends something to it waits
            threading.Timer(1.0, os.kill, (lost[0], signal.SIGKILL)).start()
        return own(data, workers=workers, **settings)

    monkeypatch.setattr(client, "scatter", scatter)
    found = list(side_by_side(where, b"12", range(3)))
    assert sorted(item for item, *_ in found) == list(range(3)) and lost[0] not in {pid for _, pid, _ in found}
    assert len(set(sent)) == len(sent) == 2


def test_a_worker_that_is_killed_while_another_one_is_sent_the_data(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, lost, sent = client.scatter, list[int](), list[str]()
    of = client.run(os.getpid)

    def scatter(data: Any, workers: list[str], **settings: Any) -> Any:
        sent.extend(workers)
        (other,) = set(of) - set(workers)
        lost.append(of[other])
        os.kill(lost[0], signal.SIGKILL)
        while other in client.nthreads():
            time.sleep(0.05)
        time.sleep(3 * LOOK_SECONDS)  # in which who waits for the data to be sent may see it
        return own(data, workers=workers, **settings)

    monkeypatch.setattr(client, "scatter", scatter)
    found = list(side_by_side(where, b"12", range(3)))
    assert sorted(item for item, *_ in found) == list(range(3)) and lost[0] not in {pid for _, pid, _ in found}
    assert len(sent) == 1


def test_all_workers_are_killed(client: Client, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The data are lost with them, and sent anew for what has not come."""
    own, sent, found, file = client.scatter, list[object](), list[int](), tmp_path / "go on"

    def scatter(data: Any, **settings: Any) -> Any:
        sent.append(data)
        return own(data, **settings)

    monkeypatch.setattr(client, "scatter", scatter)
    for item in side_by_side(once_there, str(file), range(6)):
        if not found:
            for pid in pids(client):
                os.kill(pid, signal.SIGKILL)
            file.touch()
        found.append(item)
    assert found[0] == 0 and sorted(found) == list(range(6)) and len(sent) > 1


def test_data_that_a_worker_cannot_open(client: Client) -> None:
    """Dask would wait for it without end."""
    said = r"could not take its part \(ModuleNotFoundError: No module named 'my_kernels'\); install the same version"
    with pytest.raises(SPNMKLError, match=said):
        list(side_by_side(where, OpenedBy(pids(client)[0]), range(2)))


def test_a_worker_that_is_killed_is_started_again(client: Client) -> None:
    """On a busy machine that took more than the 15 s after which Dask gives it up, until no worker was left."""
    (at, lost), *_ = client.run(os.getpid).items()
    os.kill(lost, signal.SIGKILL)
    while at in client.nthreads():
        time.sleep(0.05)
    client.wait_for_workers(2)
    assert lost not in pids(client)


@pytest.mark.parametrize(("theirs", "ours"), [("15s", 300), ("400s", 400)])
def test_the_time_to_come_back_is_that_of_our_own_workers(theirs: str, ours: float) -> None:
    with dask.config.set({RETURN: theirs}):
        with connecting.started(LocalCluster, 0):
            assert dask.config.get(RETURN) == ours
        assert dask.config.get(RETURN) == theirs


def test_stop_reaches_the_workers(client: Client, tmp_path: Path) -> None:
    found = list(side_by_side(until_stopped, str(tmp_path), range(1, 7), stop=lambda: any(tmp_path.iterdir())))
    begun = sorted(int(file.name) for file in tmp_path.iterdir())
    assert 1 <= len(begun) <= 2  # the others saw it before they did anything
    assert sorted(found) == sorted([*begun, *(-item for item in begun)])


def test_an_address_that_is_answered(cluster: LocalCluster) -> None:
    address = cluster.scheduler_address
    with on_cluster(address) as found:
        assert found.address == address and found.threads == found.workers > 0
        assert "on the cluster tcp://127.0.0.1:" in found.sentence
        assert len(list(side_by_side(where, b"", [1, 2]))) == 2


def test_workers_with_other_versions_are_refused(cluster: LocalCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "differing", lambda where, theirs, ours: f"{where} has {theirs['scikit-learn']}.")
    with (
        pytest.raises(SPNMKLError, match=r"^Worker tcp://127.0.0.1:\d+ has 1\.\d+"),
        on_cluster(cluster.scheduler_address),
    ):
        pass


def test_the_certificate_is_a_distributed_pass(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lanes are computed by the workers, and summed to the same bits."""
    X, y = table()
    source = fit_tiles(SPN_, X)[0]
    with joblib.parallel_config("sequential"):
        solution = solve(SPN_, source, y, C=1.0)
        monkeypatch.setattr(blocks, "_WORTH_LANES", 1)
        alone = solution.certify(source, n_threads=1)
    seen, own = [], spread.lanes_summed

    def watched(*given: Any) -> Any:
        seen.append(given[-1])
        return own(*given)

    monkeypatch.setattr(evaluate, "lanes_summed", watched)
    client.run(lambda: setattr(importlib.import_module("spnmkl.circuit.blocks"), "_WORTH_LANES", 1))
    assert solution.certify(source) == alone
    assert len(seen) >= 2 and min(seen) >= 2  # passes of several lanes each


def test_a_certificate_in_the_middle_of_which_a_worker_is_killed(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, y = table(2000)
    source = fit_tiles(SPN_, X)[0]
    with joblib.parallel_config("sequential"):
        solution = solve(SPN_, source, y, C=1.0)
        alone = solution.certify(source, n_threads=1)
    before, lanes, own = pids(client), list[int](), spread.lanes_summed
    lost = next(address for address, pid in client.run(os.getpid).items() if pid == before[0])

    def addresses(dask_scheduler: Scheduler) -> list[str]:
        return list(dask_scheduler.workers)

    def kill(*given: Any) -> Any:
        if len(lanes) == 1:  # between two passes; Dask would wait for minutes if it did not know before it sends again
            os.kill(before[0], signal.SIGKILL)
            while lost in client.run_on_scheduler(addresses):
                time.sleep(0.05)
        lanes.append(given[-1])
        return own(*given)

    monkeypatch.setattr(evaluate, "lanes_summed", kill)
    assert solution.certify(source) == alone
    assert len(lanes) >= 2 and min(lanes) >= 2


def test_features_of_many_rows_where_a_worker_is_killed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    solution = solve(SPN_, fit_kernels(SPN_, X)[0], y, C=1.0)
    circuit, W = solution.active_circuit()
    seen = landmarks(circuit, W, restrict_kernels(fit_kernels(SPN_, X)[1], np.arange(0, len(X), 4)))
    rows = np.tile(X, (20, 1))
    monkeypatch.setattr(features, "BLOCK_ROWS", len(X))
    with joblib.parallel_config("sequential"):
        expected = np.vstack(feature_blocks(seen, rows, np.inf))
    before, told = pids(client), list[int]()

    def kill(done: int, n: int) -> None:
        if not told:
            os.kill(before[0], signal.SIGKILL)
        told.append(done)

    monkeypatch.setattr(features, "_SENT_BYTES", expected.nbytes / 4)  # several rounds
    found = feature_blocks(seen, rows, 0.0, tick=kill)  # on the disk
    assert np.array_equal(np.vstack(found), expected) and told[-1] == len(rows) and len(told) == 20


def test_a_worker_that_is_killed_in_the_middle(client: Client) -> None:
    """After all others, none of which has to wait for the one that takes its place."""
    X, y = table()
    expected = serial(cross_validation)
    before, killed = pids(client), []

    def kill(point: object) -> None:
        if not killed:
            killed.append(before[0])
            os.kill(before[0], signal.SIGKILL)

    found = cross_validate_C(SPN_, fit_kernels(SPN_, X)[0], y, GRID, folds=3, callback=kill)
    assert killed
    scores, beta = expected
    assert found.scores.tolist() == scores
    for v, weights in found.beta.items():  # another process may sum in another order
        np.testing.assert_allclose(weights, beta[v], rtol=1e-9)


@pytest.mark.parametrize("asked", ["", "10.0.0.5:8786", "local:0", "table.csv"])
def test_what_is_no_address(asked: str) -> None:
    with pytest.raises(ParameterError, match=r"such as tcp://10.0.0.5:8786, or local"), on_cluster(asked):
        pass


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting, "ANSWER_SECONDS", 0.3)
    with (
        pytest.raises(SPNMKLError, match=r"No Dask scheduler answers at tcp://127.0.0.1:9"),
        on_cluster("tcp://127.0.0.1:9"),
    ):
        pass


def test_dask_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connecting.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SPNMKLError, match=r"pip install 'spnmkl\[cluster\]'"), on_cluster("local"):
        pass
