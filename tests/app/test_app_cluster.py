"""The app of a server that has a cluster: what is sent there, what comes back, Stop, and what the page says."""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from app_pages import APP, bring, fine, labelled, opened, texts, work
from distributed import Client, LocalCluster
from streamlit.testing.v1 import AppTest

from spnmkl.cluster import VARIABLE, connecting
from spnmkl.data import load_sample
from spnmkl.structure import templates
from spnmkl.study.contest import Contest, Entry, Plan
from spnmkl.training.settings import Settings
from spnmkl.ui.pages.compare import page as compare_page
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state import apart
from spnmkl.ui.state.activity import Trainer
from spnmkl.workers import Nursery

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from serving import free_port, started

SOON = 100.0  # seconds that only a failure takes
START = compare_page.START
Moves = Callable[[], int]


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with connecting.started(LocalCluster, 2) as cluster, Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture(scope="module")
def nursery(client: Client) -> Iterator[Nursery]:
    """Forks the processes of tabs; started where the cluster is set, as a server does."""
    found = Nursery(apart.LOADED, trained=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(VARIABLE, client.scheduler.address)
        found.start()
    assert eventually(lambda: found.ready)
    yield found
    found.stop()


@pytest.fixture
def moves(client: Client, monkeypatch: pytest.MonkeyPatch) -> Moves:
    """The server has the cluster; how often a task has changed its state at the scheduler."""
    monkeypatch.setenv(VARIABLE, client.scheduler.address)
    return lambda: int(client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.transition_counter))


def eventually(true: Callable[[], bool]) -> bool:
    until = time.monotonic() + SOON
    while not true() and time.monotonic() < until:
        time.sleep(0.02)
    return true()


def small(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(compare_page, "PLAN", plan)
    at = opened("compare")
    work(at).comparing.left_out |= {"random forest", "boosting", "late fusion", "RBF-SVM"}
    return fine(bring(at, load_sample("wine").take(np.arange(0, 130, 2)), templates.flat(["alcohol", "ash", "hue"])))


def compared(at: AppTest) -> Contest:
    fine(labelled(at.button, START).click().run())
    activity = work(at).trainer.activity
    assert activity is None or activity.job.join(SOON)
    fine(at.run())
    known = work(at).trainer.contest
    assert known is not None and known.value.complete
    return known.value


def results(contest: Contest) -> list[tuple[object, ...]]:
    found = [(one.method, one.fold, one.accuracy, one.C) for one in contest.results if isinstance(one, Entry)]
    return sorted(found, key=str)


@pytest.mark.parametrize("apart_from_server", [False, True], ids=["in the server", "in the process of a tab"])
def test_a_comparison_is_sent_to_the_workers_and_gives_the_same(
    apart_from_server: bool, moves: Moves, nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    if apart_from_server:
        monkeypatch.setattr(apart, "NURSERY", nursery)
    page = small(Plan(folds=2, inner=2, points=1), monkeypatch)
    before = moves()
    there = compared(page)
    sent = moves() - before
    assert sent > 0
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setattr(apart, "NURSERY", Nursery())  # which is not started
    here = small(Plan(folds=2, inner=2, points=1), monkeypatch)
    assert results(compared(here)) == results(there) and moves() == before + sent


def test_stop_reaches_a_comparison_on_the_workers(
    moves: Moves, client: Client, nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "NURSERY", nursery)
    page = small(Plan(folds=5, repeats=20, inner=5, points=40), monkeypatch)  # far more than anybody waits for
    fine(labelled(page.button, START).click().run())
    trainer: Trainer = work(page).trainer
    assert trainer.activity is not None
    job = trainer.activity.job
    assert eventually(lambda: any(client.processing().values())), job.words
    fine(labelled(page.button, "Stop").click().run())
    assert job.join(SOON)
    assert eventually(lambda: not any(client.processing().values()))
    assert fine(page.run()).button and trainer.failure is None


def test_a_training_chooses_C_on_the_workers(moves: Moves, nursery: Nursery, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "NURSERY", nursery)
    page = small(Plan(folds=2), monkeypatch)
    trainer, before = work(page).trainer, moves()
    assert trainer.start("choose", work(page).task, Settings(), lambda: True).job.join(SOON)
    trainer.collect()
    assert trainer.failure is None and moves() > before


def test_every_visitor_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    words = plain("Folds, comparisons and searches are trained on the cluster tcp://10.0.0.5:8786.")
    assert words not in texts(fine(AppTest.from_file(APP, default_timeout=30).run()))
    monkeypatch.setenv(VARIABLE, "tcp://10.0.0.5:8786")
    assert words in texts(fine(AppTest.from_file(APP, default_timeout=30).run()))


def test_a_scheduler_that_is_gone_is_told_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "tcp://127.0.0.1:9")
    monkeypatch.setattr(connecting, "ANSWER_SECONDS", 0.3)
    page = small(Plan(folds=2, inner=2, points=1), monkeypatch)
    fine(labelled(page.button, START).click().run())
    activity = work(page).trainer.activity
    assert activity is None or activity.job.join(SOON)
    page.run()
    assert not page.exception
    (error,) = page.error
    assert plain("No Dask scheduler answers at tcp://127.0.0.1:9 within 0.3 s") in error.value


def test_a_server_that_is_ended_ends_the_workers_it_has_started(tmp_path: Path) -> None:
    """In silence: workers that lost their scheduler would write tracebacks, and leave semaphores behind."""
    with (tmp_path / "log").open("w") as log:
        server = started(tmp_path / "workspace", free_port(), log=log, options=["--cluster", "local:2"])
        server.terminate()
        assert server.wait(SOON) == 0
    said = (tmp_path / "log").read_text()
    assert "2 workers" in said and "Traceback" not in said and "leaked" not in said
