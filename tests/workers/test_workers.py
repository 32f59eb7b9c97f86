"""Work in processes of their own: results and errors as elsewhere, limits that hold, nothing that outlives its use."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from spnmkl.errors import DataError, Stopped
from spnmkl.workers import Limits, Nursery, Worker, WorkerError
from spnmkl.workers import nursery as nursery_module
from spnmkl.workers import worker as worker_module


class Thing:
    """What is shared."""

    def __init__(self, size: int) -> None:
        self.values = np.arange(size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Thing) and len(self.values) == len(other.values)

    __hash__ = None  # type: ignore[assignment]


class Shelf:
    """What a child keeps."""

    def __init__(self) -> None:
        self.found: dict[int, Any] = {}

    @property
    def nbytes(self) -> int:
        return 1000 * len(self.found)

    def clear(self) -> None:
        self.found.clear()


class Asked:
    """Who asks, and writes down what is heard."""

    def __init__(self, aside: bool = False) -> None:
        self.aside, self.stopping, self.given_up, self.quiet = aside, False, False, True
        self.heard: list[Any] = []

    def calm(self) -> bool:
        return self.quiet

    def attend(self) -> None: ...

    def say(self, words: str) -> None:
        self.heard.append(words)

    def progress(self, done: int, total: int) -> None:
        self.heard.append((done, total))

    def report(self, record: object) -> None:
        self.heard.append(record)


def reporting(job: Any, kept: Shelf, n: int) -> tuple[int, int]:
    for k in range(n):
        job.tick(f"step {k}")
        job.progress(k, n)
        job.report({"k": k})
    return os.getpid(), len(job.records)


def keeping(job: Any, kept: Shelf, thing: Thing) -> tuple[int, Thing]:
    """How often this thing was seen, and itself."""
    times = kept.found.get(id(thing), (0, None))[0] + 1
    kept.found[id(thing)] = times, thing
    return times, thing


def waiting(job: Any, kept: Shelf) -> str:
    job.say("begun")
    while not job.stopping:
        time.sleep(0.01)
    while not job.given_up:
        time.sleep(0.01)
    raise Stopped


def deaf(job: Any, kept: Shelf) -> None:
    job.say("begun")
    threading.Event().wait()


def resting(job: Any, kept: Shelf) -> None:
    k = 0
    while True:
        job.tick(str(k := k + 1))
        time.sleep(0.01)


def eating(job: Any, kept: Shelf) -> None:
    held = []
    while True:
        held.append(np.ones(2_000_000))
        time.sleep(0.01)


def spinning(job: Any, kept: Shelf) -> None:
    while True:
        pass


def dying(job: Any, kept: Shelf) -> None:
    os._exit(3)


def dying_with(job: Any, kept: Shelf, thing: Thing) -> None:
    os._exit(3)


def unsendable(job: Any, kept: Shelf) -> object:
    return lambda: None


class TooLarge:
    """For which there is no memory once it is sent."""

    def __reduce__(self) -> Any:
        raise MemoryError


def too_large_to_send(job: Any, kept: Shelf) -> object:
    return TooLarge()


def refusing(job: Any, kept: Shelf) -> None:
    raise DataError("The table 'a' is empty; fill it.")


def failing(job: Any, kept: Shelf) -> None:
    raise ZeroDivisionError


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery(["numpy", __name__], trained=False)
    before = os.environ.get("PYTHONPATH", "")
    os.environ["PYTHONPATH"] = os.pathsep.join([os.path.dirname(__file__), before])
    nursery.start()
    os.environ["PYTHONPATH"] = before
    until_ready(nursery)
    yield nursery
    nursery.stop()


@pytest.fixture
def worker(nursery: Nursery) -> Iterator[Worker]:
    worker = Worker(nursery, Shelf, (Thing,))
    yield worker
    worker.close()


def test_a_group_that_is_asked_to_end_leaves_it_to_the_server(nursery: Nursery, worker: Worker) -> None:
    asked = Asked()
    assert nursery._forker is not None and nursery._forker.process is not None
    forker = psutil.Process(nursery._forker.process.pid)
    with ThreadPoolExecutor(1) as threads:
        done = threads.submit(until_stopped, worker, asked, waiting)
        while "begun" not in asked.heard:
            time.sleep(0.01)
        for process in (forker, *forker.children()):
            process.terminate()
        time.sleep(0.3)
        assert not done.done()
        asked.stopping = asked.given_up = True
        done.result(30)
    assert nursery.ready


def until_stopped(worker: Worker, asked: Asked, work: Any) -> None:
    with pytest.raises(Stopped):
        worker.do(asked, Limits(), work)


def gone(pid: int) -> bool:
    until = time.monotonic() + 30
    while psutil.pid_exists(pid) and time.monotonic() < until:
        time.sleep(0.02)
    return not psutil.pid_exists(pid)


def test_what_a_work_says_is_heard_in_its_order(worker: Worker) -> None:
    asked = Asked()
    pid, n = worker.do(asked, Limits(), reporting, 3)
    assert pid != os.getpid() and n == 3
    assert asked.heard == [step for k in range(3) for step in (f"step {k}", (k, 3), {"k": k})]
    assert worker.do(Asked(), Limits(), reporting, 0)[0] == pid  # the same process


def test_what_is_shared_is_sent_once_and_comes_back_itself(worker: Worker) -> None:
    thing, other = Thing(10), Thing(5)
    assert [worker.do(Asked(), Limits(), keeping, thing)[0] for _ in range(3)] == [1, 2, 3]
    times, same = worker.do(Asked(), Limits(), keeping, thing)
    assert times == 4 and same is thing
    assert worker.do(Asked(), Limits(), keeping, other)[0] == 1
    assert worker.do(Asked(), Limits(), keeping, Thing(5))[0] == 1  # equal, and another
    assert worker.kept_bytes == 3000 and worker.idle


def test_stop_and_a_second_stop_reach_the_work(worker: Worker) -> None:
    asked = Asked()
    ended: list[type] = []

    def ask() -> None:
        try:
            worker.do(asked, Limits(), waiting)
        except Stopped as stopped:
            ended.append(type(stopped))

    thread = threading.Thread(target=ask)
    thread.start()
    while "begun" not in asked.heard:
        time.sleep(0.01)
    asked.stopping = True
    time.sleep(0.5)
    assert thread.is_alive()
    asked.given_up = True
    thread.join(30)
    assert ended == [Stopped]


def test_a_work_that_hears_nothing_is_ended_once_it_is_given_up(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_module, "DEAF_SECONDS", 0.2)
    asked = Asked()
    asked.stopping = asked.given_up = True
    pid, _ = worker.do(Asked(), Limits(), reporting, 0)
    until_stopped(worker, asked, deaf)
    assert gone(pid)
    assert worker.do(Asked(), Limits(), reporting, 1)[1] == 1


def test_a_work_aside_rests_while_others_go_on(worker: Worker) -> None:
    asked = Asked(aside=True)
    thread = threading.Thread(target=until_stopped, args=(worker, asked, resting))
    thread.start()
    while len(asked.heard) < 3:
        time.sleep(0.01)
    asked.quiet = False
    time.sleep(1.0)
    steps = len(asked.heard)
    time.sleep(0.5)
    assert len(asked.heard) <= steps + 1
    asked.quiet = True
    until = time.monotonic() + 30
    while len(asked.heard) < steps + 5 and time.monotonic() < until:
        time.sleep(0.01)
    assert len(asked.heard) >= steps + 5
    asked.stopping = True
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize(
    ("work", "limits", "sentence"),
    [
        (
            eating,
            Limits("Reading 'a'", "leave out rows", memory=200_000_000),
            "Reading 'a' took more than 200 MB of memory and was ended; leave out rows.",
        ),
        (
            spinning,
            Limits("Reading 'a'", "leave out rows", seconds=1),
            "Reading 'a' took more than 1 s of processor and was ended; leave out rows.",
        ),
        (
            dying,
            Limits("This training"),
            "This training ended without a word, perhaps for want of memory. Your drawing and your data are kept; try "
            "again.",
        ),
    ],
)
def test_what_takes_too_much_or_dies_gives_one_sentence(
    worker: Worker, work: Any, limits: Limits, sentence: str
) -> None:
    pid, _ = worker.do(Asked(), Limits(), reporting, 0)
    with pytest.raises(WorkerError) as ended:
        worker.do(Asked(), limits, work)
    assert str(ended.value) == sentence
    assert gone(pid)
    assert worker.do(Asked(), Limits(), reporting, 1)[1] == 1  # in another process


def holding(job: Any, kept: Shelf, megabytes: int) -> int:
    held = np.ones(megabytes * 125_000)
    job.report(os.getpid())
    while not job.stopping:
        time.sleep(0.01)
    return len(held)


def holding_while_idle(job: Any, kept: Shelf, thing: Thing) -> int:
    return os.getpid()


def test_where_memory_runs_out_the_largest_is_ended_and_no_other(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Idle ones before those that work, and one after the other."""
    monkeypatch.setattr(worker_module, "LOW_BYTES", 40_000_000)
    monkeypatch.setattr(worker_module, "RELIEF_SECONDS", 0.0)
    free = [8_000_000_000]
    monkeypatch.setattr(worker_module, "available_memory", lambda: free[0])
    children = {name: Worker(nursery, Shelf) for name in ("small", "middle", "large")}
    asked = {name: Asked() for name in children}
    sizes = {"small": 20, "middle": 80, "large": 160}
    idle = Worker(nursery, Shelf, (Thing,))
    pid = idle.do(Asked(), Limits(), holding_while_idle, Thing(12_000_000))
    with ThreadPoolExecutor(3) as threads:
        done = {
            name: threads.submit(child.do, asked[name], Limits(f"Reading {name}", "wait"), holding, sizes[name])
            for name, child in children.items()
        }
        until = time.monotonic() + 60
        while not all(each.heard for each in asked.values()) and time.monotonic() < until:
            time.sleep(0.01)
        monkeypatch.setattr(Worker, "_relieved", float("-inf"))
        watched = Worker.relieve

        def once() -> None:
            if free[0] < 40_000_000:
                watched()
                free[0] = 8_000_000_000  # it has come back

        monkeypatch.setattr(Worker, "relieve", once)
        free[0] = 1_000_000
        assert gone(pid) and not any(work.done() for work in done.values())
        for name in ("large", "middle"):
            free[0] = 1_000_000
            with pytest.raises(WorkerError, match=rf"^Reading {name} was ended because the machine had no more memory"):
                done[name].result(60)
        free[0] = 1_000_000  # of the small one little would be had
        time.sleep(1)
        asked["small"].stopping = True
        assert done["small"].result(60) == 20 * 125_000
    for child in children.values():
        child.close()


def test_errors_are_those_of_the_work(worker: Worker) -> None:
    with pytest.raises(DataError, match=r"^The table 'a' is empty; fill it\.$"):
        worker.do(Asked(), Limits(), refusing)
    with pytest.raises(RuntimeError):
        worker.do(Asked(), Limits(), failing)


@pytest.mark.parametrize(("work", "kind"), [(unsendable, RuntimeError), (too_large_to_send, MemoryError)])
def test_what_cannot_be_sent_back_is_told_and_not_waited_for(worker: Worker, work: Any, kind: type[Exception]) -> None:
    heard: list[BaseException] = []

    def ask() -> None:
        try:
            worker.do(Asked(), Limits(), work)
        except BaseException as error:
            heard.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(60)
    assert [type(error) for error in heard] == [kind]
    assert worker.do(Asked(), Limits(), reporting, 1)[1] == 1


def test_children_that_ended_hold_nothing(nursery: Nursery) -> None:
    worker, thing = Worker(nursery, Shelf, (Thing,)), Thing(10)
    there = weakref.ref(thing)
    with pytest.raises(WorkerError):
        worker.do(Asked(), Limits(), dying_with, thing)
    del thing
    worker.do(Asked(), Limits(), reporting, 0)
    gc.collect()
    assert there() is None
    worker.close()


def test_workers_are_counted_while_others_begin(nursery: Nursery) -> None:
    """A set of weak references that grows while it is looked through raises an error, which would cost a result."""
    stop, wrong = threading.Event(), list[RuntimeError]()

    def look() -> None:
        while not stop.is_set():
            try:
                Worker.living()
            except RuntimeError as error:
                wrong.append(error)

    others = [Worker(nursery) for _ in range(5000)]
    Worker._all.update(others)
    thread = threading.Thread(target=look)
    thread.start()
    for worker in [Worker(nursery) for _ in range(5)]:
        worker.do(Asked(), Limits(), reporting, 0)
        worker.close()
    stop.set()
    thread.join(30)
    assert wrong == []


def test_a_child_ends_with_who_asked_for_it(nursery: Nursery) -> None:
    worker = Worker(nursery)
    pid, _ = worker.do(Asked(), Limits(), reporting, 0)
    assert not gone_soon(pid)
    del worker
    assert gone(pid)


def gone_soon(pid: int) -> bool:
    time.sleep(0.1)
    return not psutil.pid_exists(pid)


def test_two_works_at_once_in_one_child(worker: Worker) -> None:
    asked = Asked()
    thread = threading.Thread(target=until_stopped, args=(worker, asked, waiting))
    thread.start()
    while "begun" not in asked.heard:
        time.sleep(0.01)
    assert worker.do(Asked(), Limits(), reporting, 2)[1] == 2
    asked.stopping = asked.given_up = True
    thread.join(30)
    assert not thread.is_alive()


def begin(nursery: Nursery) -> None:
    nursery.start()
    until_ready(nursery)


def until_ready(nursery: Nursery) -> None:
    until = time.monotonic() + 120
    while not nursery.ready and time.monotonic() < until:
        time.sleep(0.01)
    assert nursery.ready


def started() -> Nursery:
    nursery = Nursery(trained=False)
    begin(nursery)
    return nursery


def test_another_process_forks_where_one_was_killed() -> None:
    """As where memory ran out: work would be done in the server else, without a limit."""
    nursery = started()
    with closing(nursery.child()[0]):
        nursery._forker.process.kill()  # type: ignore[union-attr]
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda _: nursery.child(), range(3)))
        assert nursery.ready and len({meter.process.pid for _, meter in found}) == 3
        for connection, _ in found:
            connection.close()
    nursery.stop()


@pytest.fixture
def moody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Nursery, Path]]:
    """One that has loaded; processes that take its place then do what is written into the file."""
    mood = tmp_path / "moody.py"
    mood.touch()
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    nursery = Nursery(["moody"], trained=False)
    begin(nursery)
    yield nursery, mood
    nursery.stop()


def hanging_until(mood: Path) -> Path:
    """Whoever loads it waits until the file is there."""
    end = mood.with_suffix(".end")
    mood.write_text(f"import pathlib, time\nwhile not pathlib.Path({str(end)!r}).exists(): time.sleep(0.01)")
    return end


def test_a_process_that_does_not_load_holds_nobody_up_for_ever(
    moody: tuple[Nursery, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    nursery, mood = moody
    monkeypatch.setattr(nursery_module, "LOAD_SECONDS", 0.2)
    end = hanging_until(mood)
    nursery._forker.process.kill()  # type: ignore[union-attr]
    for _ in range(2):
        with pytest.raises(WorkerError, match=r"^No process could be started for this work; try again in a moment\.$"):
            nursery.child()
        assert not nursery.ready, "so that work is done in the server itself"
    end.touch()
    until_ready(nursery)
    nursery.child()[0].close()


def test_a_process_that_ends_while_it_loads_is_not_waited_for(
    moody: tuple[Nursery, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    nursery, mood = moody
    monkeypatch.setattr(nursery_module, "LOAD_SECONDS", 1000.0)
    mood.write_text("raise SystemExit")
    nursery._forker.process.kill()  # type: ignore[union-attr]
    with pytest.raises(WorkerError):
        nursery.child()
    assert not nursery.ready


def test_another_process_forks_where_one_is_stuck(moody: tuple[Nursery, Path]) -> None:
    nursery, _ = moody
    stuck = nursery._forker
    assert stuck is not None
    stuck.process.send_signal(signal.SIGSTOP)
    stuck._socket.settimeout(0.2)
    connection, meter = nursery.child()
    connection.close()
    assert nursery.ready and stuck.process.returncode is not None and gone(meter.process.pid)


def test_a_nursery_that_is_stopped_while_another_process_loads_leaves_none(
    moody: tuple[Nursery, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    nursery, mood = moody
    monkeypatch.setattr(nursery_module, "LOAD_SECONDS", 1.0)
    hanging_until(mood)
    before, wrong = nursery._forker, list[BaseException]()
    assert before is not None

    def ask() -> None:
        try:
            nursery.child()
        except BaseException as error:
            wrong.append(error)

    before.process.kill()
    thread = threading.Thread(target=ask)
    thread.start()
    while (after := nursery._forker) is before:
        time.sleep(0.01)
    nursery.stop()
    thread.join(60)
    assert [type(error) for error in wrong] == [WorkerError]
    assert after is not None and after.process.returncode is not None and nursery._forker is None and not nursery.ready


def test_a_process_that_cannot_be_started_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    made, pair = list[socket.socket](), socket.socketpair

    def noted() -> tuple[socket.socket, socket.socket]:
        made.extend(found := pair())
        return found

    def refused(*given: object, **more: object) -> None:
        raise OSError("Resource temporarily unavailable")

    monkeypatch.setattr(socket, "socketpair", noted)
    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(OSError, match="unavailable"):
        Nursery().start()
    assert [end.fileno() for end in made] == [-1, -1]


def test_children_end_with_the_server() -> None:
    nursery = started()
    connection, meter = nursery.child()
    nursery.stop()
    assert not gone_soon(meter.process.pid)
    connection.close()
    assert gone(meter.process.pid)


def test_a_server_that_ends_before_all_is_loaded_leaves_no_traceback() -> None:
    ours, theirs = socket.socketpair()
    ours.close()
    with theirs:
        command = [sys.executable, "-m", "spnmkl.workers.forking", str(theirs.fileno())]
        done = subprocess.run(command, pass_fds=[theirs.fileno()], capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
