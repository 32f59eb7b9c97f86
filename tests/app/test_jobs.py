"""Background work: its states, its queue, its end."""

import gc
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from spnmkl import DataError
from spnmkl.data import Choices, SplitSettings, load_sample
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.ui.state import jobs
from spnmkl.ui.state.jobs import Job

SOON = 20.0  # a limit that only a failure reaches


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Looks often at the owners, and leaves no job behind."""
    monkeypatch.setattr(jobs, "WATCH_SECONDS", 0.01)
    monkeypatch.setattr(jobs, "MOST_AT_ONCE", 2)
    yield
    for job in [*jobs._QUEUE._waiting, *jobs._QUEUE._running]:
        job.stop()
        assert job.join(SOON)


def ended(job: Job[Any]) -> Job[Any]:
    assert job.join(SOON), f"still {job.state}"
    return job


def eventually(condition: Callable[[], bool]) -> bool:
    limit = time.monotonic() + SOON
    while not condition() and time.monotonic() < limit:
        time.sleep(0.005)
    return condition()


def until_stopped(job: Job[str]) -> str:
    while not job.stopping:
        time.sleep(0.002)
    return "what there is"


def test_work_is_done_and_told() -> None:
    def work(job: Job[int]) -> int:
        assert job.state == "running"
        job.say("counting")
        for k in range(3):
            job.report(k)
            job.progress(k + 1, 3)
        return 42

    job = Job(work)
    assert (job.state, job.result, job.seconds, job.finished) == ("waiting", None, 0.0, False)
    ended(job.start())
    assert (job.state, job.result, job.error) == ("done", 42, None)
    assert (job.words, job.done, job.total, job.records) == ("counting", 3, 3, [0, 1, 2])
    seconds = job.seconds
    assert 0 < seconds < SOON
    time.sleep(0.01)
    assert job.seconds == seconds


def test_it_runs_beside_the_caller_and_does_not_keep_the_program_alive() -> None:
    seen: list[threading.Thread] = []
    ended(Job(lambda job: seen.append(threading.current_thread())).start())
    assert seen[0] is not threading.main_thread()
    assert seen[0].daemon


def test_stopping_keeps_what_the_work_hands_back() -> None:
    job = Job(until_stopped).start()
    assert eventually(lambda: job.state == "running")
    job.stop()
    ended(job)
    assert (job.state, job.result, job.error) == ("stopped", "what there is", None)


def test_a_tick_ends_the_work() -> None:
    def work(job: Job[None]) -> None:
        while True:
            job.tick("kernels 1 of 9")
            time.sleep(0.002)

    job = Job(work).start()
    assert eventually(lambda: job.words == "kernels 1 of 9")
    assert job.state == "running"
    job.stop()
    ended(job)
    assert (job.state, job.result, job.error) == ("stopped", None, None)


def test_our_errors_are_told_as_they_are() -> None:
    def work(job: Job[None]) -> None:
        raise DataError("Column 'a' is empty; fill it.")

    job = ended(Job(work).start())
    assert (job.state, job.error, job.result) == ("failed", "Column 'a' is empty; fill it.", None)


def test_lack_of_memory_is_told() -> None:
    job = ended(Job(lambda job: np.empty((10**9, 10**9))).start())
    assert (job.state, job.error) == ("failed", "There is not enough memory; use fewer rows or kernels.")


@pytest.mark.parametrize("error", [ZeroDivisionError("a secret"), SystemExit(3)], ids=["bug", "exit"])
def test_other_errors_are_an_apology_and_logged(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    def work(job: Job[None]) -> None:
        raise error

    with caplog.at_level(logging.ERROR, "spnmkl"):
        job = ended(Job(work).start())
    assert job.state == "failed"
    assert job.error is not None
    assert "try again" in job.error
    assert "secret" not in job.error
    assert type(error).__name__ in caplog.text
    assert ended(Job(lambda job: 1).start()).result == 1  # its place was given back


def test_others_wait_for_their_turn_in_order() -> None:
    order: list[int] = []

    def work(k: int) -> Callable[[Job[str]], str]:
        def run(job: Job[str]) -> str:
            order.append(k)
            return until_stopped(job)

        return run

    started = [Job(work(k)).start() for k in range(4)]
    assert eventually(lambda: len(order) == 2)
    assert [job.state for job in started] == ["running", "running", "waiting", "waiting"]
    started[1].stop()
    assert eventually(lambda: order[2:] == [2])
    assert started[3].state == "waiting"
    started[3].stop()
    assert (started[3].state, started[3].result) == ("stopped", None)
    for job in started:
        job.stop()
        ended(job)
    assert order[2:] == [2]


def test_what_is_done_aside_takes_no_place_and_rests_while_others_work() -> None:
    asked: list[int] = []

    def work(job: Job[str]) -> str:
        while not job.resting():
            asked.append(1)
            time.sleep(0.002)
        return "what there is"

    aside = [Job(work, aside=True).start() for _ in range(2)]
    assert eventually(lambda: len(asked) > 3)
    assert [job.state for job in aside] == ["running", "waiting"], "one after the other"
    others = [Job(until_stopped).start() for _ in range(2)]
    assert eventually(lambda: all(job.state == "running" for job in others)), "as many as if there were nothing else"
    time.sleep(0.05)
    before = len(asked)
    time.sleep(0.1)
    assert len(asked) == before, "it rests"
    others[0].stop()
    ended(others[0])
    time.sleep(0.05)
    assert len(asked) == before
    others[1].stop()
    assert eventually(lambda: len(asked) > before), "and goes on"
    late = Job(until_stopped).start()
    aside[0].stop()
    assert ended(aside[0]).result == "what there is", "it can be stopped while it rests"
    for job in (late, aside[1]):
        job.stop()
        ended(job)


def test_a_job_stopped_before_it_starts_never_runs() -> None:
    ran: list[int] = []
    job = Job(lambda job: ran.append(1))
    job.stop()
    ended(job.start())
    assert (job.state, ran) == ("stopped", [])


def test_a_job_whose_owner_is_gone_is_stopped_after_the_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.5)
    left, seen = threading.Event(), [time.monotonic()]

    def here() -> bool:
        if not left.is_set():
            seen.append(time.monotonic())
        return not left.is_set()

    wanted, unwanted = Job(until_stopped).start(), Job(until_stopped, here).start()
    time.sleep(0.7)
    assert unwanted.state == "running"  # the time before it was left does not count
    left.set()
    ended(unwanted)
    assert time.monotonic() - seen[-1] >= 0.3
    assert (unwanted.state, unwanted.result) == ("stopped", "what there is")
    assert not wanted.stopping


def test_an_owner_who_comes_back_in_time_keeps_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.6)
    asked = iter(range(10**6))
    job = Job(until_stopped, lambda: next(asked) % 3 == 0).start()  # away at two looks of three
    assert eventually(lambda: job.seconds > 0.9)
    assert not job.stopping


def test_a_waiting_job_is_abandoned_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.05)
    running = [Job(until_stopped).start() for _ in range(2)]
    waiting = Job(until_stopped, lambda: False).start()
    ended(waiting)
    assert (waiting.state, waiting.result) == ("stopped", None)
    assert [job.state for job in running] == ["running", "running"]


def test_an_owner_who_cannot_be_asked_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "GRACE_SECONDS", 0.05)

    def alive() -> bool:
        raise RuntimeError("the page is closed")

    assert ended(Job(until_stopped, alive).start()).state == "stopped"


def test_one_watcher_serves_all_and_ends_with_them() -> None:
    def watchers() -> int:
        return sum(thread.name == "spnmkl-watch" for thread in threading.enumerate())

    started = [Job(until_stopped).start() for _ in range(3)]
    assert watchers() == 1
    for job in started:
        job.stop()
        ended(job)
    assert eventually(lambda: watchers() == 0)
    assert ended(Job(lambda job: 1).start()).result == 1


def test_nothing_that_the_work_held_is_kept() -> None:
    class Matrix:
        pass

    def job_of(matrix: Matrix) -> Job[None]:
        return Job(lambda job: matrix and None)

    matrix = Matrix()
    held = weakref.ref(matrix)
    job = job_of(matrix)
    del matrix
    ended(job.start())
    assert eventually(lambda: gc.collect() >= 0 and held() is None)


def test_records_can_be_read_while_they_grow() -> None:
    def work(job: Job[None]) -> None:
        while not job.stopping:
            job.report(len(job.records))
            time.sleep(0.0005)

    job = Job(work).start()
    for _ in range(50):
        snapshot = list(job.records)
        assert snapshot == list(range(len(snapshot)))
        time.sleep(0.001)
    job.stop()
    ended(job)
    assert len(job.records) > 1


def training(sample: str, settings: Settings) -> Job[Run]:
    dataset = load_sample(sample)

    def work(job: Job[Run]) -> Run:
        known = prepare(dataset.template("flat"), dataset, Choices(), SplitSettings(), job.tick)

        def callback(record: object) -> bool:
            job.report(record)
            return not job.stopping

        return train(known, settings, callback)

    return Job(work)


def test_two_trainings_at_once_get_their_own_results() -> None:
    cases = {"breast_cancer": Settings(C=2.0), "wine": Settings(p=1.5)}
    alone = {name: ended(training(name, settings).start()).result for name, settings in cases.items()}
    for _ in range(3):
        together = {name: training(name, settings).start() for name, settings in cases.items()}
        for name, job in together.items():
            run, expected = ended(job).result, alone[name]
            assert run is not None
            assert expected is not None
            assert run.dataset_name == name
            assert run.solution.beta == pytest.approx(expected.solution.beta, rel=1e-9)
            assert run.test_scores.accuracy == expected.test_scores.accuracy
            assert tuple(job.records) == run.solution.history


def test_a_training_can_be_stopped_while_its_kernels_are_computed() -> None:
    job = training("wine", Settings())
    reached = threading.Event()
    said = job.say

    def say(words: str) -> None:
        said(words)
        if words.startswith("kernels 1"):
            job.stop()
            reached.set()

    job.say = say  # type: ignore[method-assign]
    ended(job.start())
    assert reached.is_set()
    assert (job.state, job.result, job.records) == ("stopped", None, [])


@pytest.mark.parametrize("by_person", [False, True])
def test_owners_take_turns(by_person: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose tabs count together, where people have logged in."""
    monkeypatch.setattr(jobs, "AT_ONCE_EACH", 0)
    many, one = object(), object()

    def asked(work: Callable[[Job[None]], None], owner: object) -> Job[None]:
        job = Job(work, owner=object() if by_person else owner)
        job.person = ("of many" if owner is many else "of one") * by_person
        return job.start()

    began: list[str] = []

    def work(name: str) -> Callable[[Job[None]], None]:
        def run(job: Job[None]) -> None:
            began.append(name)
            until_stopped(job)

        return run

    running = [asked(work("first"), many), asked(work("second"), many)]
    waiting = [asked(work(f"many {k}"), many) for k in range(3)] + [asked(work("one"), one)]
    assert [job.waits_for for job in waiting] == [
        "waiting for 2 other trainings to end",
        "waiting for 3 other trainings to end",
        "waiting for 4 other trainings to end",
        "waiting for another training to end",
    ]
    running[0].stop()
    ended(running[0])
    while "one" not in began:
        time.sleep(0.01)
    assert began[2] == "one" and all(job.state == "waiting" for job in waiting[:3])
    for job in [*waiting, *running]:
        job.stop()
        ended(job)


def test_what_does_not_fit_beside_others_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    free = [100]
    monkeypatch.setattr(jobs, "available_memory", lambda: free[0])
    first = Job(until_stopped, need=60, taken=lambda: 10).start()  # 50 are still to come
    second = Job(until_stopped, need=50).start()
    assert (first.state, second.state) == ("running", "waiting")
    assert second.waits_for == "waiting until 0.0 GB of memory are free"
    free[0] = 200
    until = time.monotonic() + 30
    while second.state == "waiting" and time.monotonic() < until:
        time.sleep(0.05)
    assert second.state == "running"
    for job in (first, second):
        job.stop()
        ended(job)
    alone = Job(until_stopped, need=10**9).start()  # nobody is there to wait for
    assert alone.state == "running"
    alone.stop()
    ended(alone)
