"""Files read and trainings done in processes of their own: the same results, and limits that hold."""

import gzip
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_runs import small_dataset, small_structure, trained

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Choices, Dataset, SplitSettings, read_file
from spnmkl.errors import DataError
from spnmkl.model_file import save_model
from spnmkl.project.project_file import load_project, save_project
from spnmkl.solution import Solution
from spnmkl.study.contest import Plan
from spnmkl.study.entrants import entrants
from spnmkl.training.predict import Predictor
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import train
from spnmkl.ui.state import apart, processes
from spnmkl.ui.state.activity import Activity, Trainer
from spnmkl.ui.state.kernel_shelf import KernelShelf
from spnmkl.ui.state.task import Task
from spnmkl.workers import Nursery, Worker, WorkerError

FLAT = SPN(Sum(*(Product(Kernel("rbf", gamma=10.0**k, id=f"k{k}"), id=f"p{k}") for k in (-2, -1, 0))))


@pytest.fixture(scope="module", autouse=True)
def children() -> Iterator[None]:
    """As `serve` does; compiled functions are loaded by the children that need them."""
    patch = pytest.MonkeyPatch()
    nursery = Nursery(apart.LOADED, trained=False)
    nursery.start()
    until = time.monotonic() + 120
    while not nursery.ready and time.monotonic() < until:
        time.sleep(0.01)
    assert nursery.ready
    patch.setattr(apart, "NURSERY", nursery)
    yield
    patch.undo()
    nursery.stop()


def test_a_table_is_the_same() -> None:
    data = b"id,x,c\n007,1.5,u\n008,,v\n"
    here, there = read_file("t.csv", data), apart.read_apart("t.csv", data)
    pd.testing.assert_frame_equal(here.frame, there.frame)
    assert (here.options, here.notes, here.beginning) == (there.options, there.notes, there.beginning)
    assert apart.guess_apart("t.csv", data) == here.options
    with pytest.raises(DataError, match=r"^The file 't\.csv' is empty; it needs a header and rows\.$"):
        apart.read_apart("t.csv", b"")


def test_models_and_projects_are_the_same(tmp_path_factory: pytest.TempPathFactory) -> None:
    run = trained().run
    assert run.model is not None
    path = tmp_path_factory.mktemp("model") / "m.spnmkl"
    save_model(run.model, path)
    frame = small_dataset().frame
    here = Predictor.from_file("m", path.read_bytes())
    there = apart.apart("m", Predictor.from_file, "m", path.read_bytes())
    rows = frame.to_csv(index=False).encode()
    table = apart.reading_by(there.read)("rows.csv", rows, None)
    assert here.predict(here.match(table.frame)).table.equals(there.predict(there.match(table.frame)).table)
    data = save_project(small_structure(), small_dataset(), Choices(), SplitSettings(), Settings(), [run])
    found = apart.apart("p.zip", load_project, data, "p.zip")
    assert found.spn == load_project(data).spn and found.runs[0].solution.beta == run.solution.beta


def test_what_takes_too_much_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    data = gzip.compress(b"x,y\n" + b"1.25,2.5\n" * 2_000_000)  # read for long enough to be seen
    monkeypatch.setattr(apart, "READ_BYTES", 30_000_000)
    with pytest.raises(WorkerError) as ended:
        apart.read_apart("t.csv.gz", data)
    assert str(ended.value) == (
        "Reading 't.csv.gz' took more than 30 MB of memory and was ended; leave out rows or columns."
    )
    assert apart.read_apart("t.csv", b"x\n1\n").frame.shape == (1, 1)  # the others go on


def test_open_tables_of_a_visitor_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    table = apart.read_apart("t.csv", b"x,y\n" + b"1.5,2.5\n" * 1000)
    apart.check_room("u.csv", [table])
    monkeypatch.setattr(apart, "VISITOR_BYTES", 20_000)
    with pytest.raises(DataError) as refused:
        apart.check_room("u.csv", [table, table])
    assert str(refused.value) == (
        "The tables that are open take 0.0 GB, so that 'u.csv' is not read; leave out files, rows or columns."
    )
    assert np.isfinite(table.frame.to_numpy()).all()


def task(dataset: Dataset, spn: SPN = FLAT) -> Task:
    return Task(spn, dataset, Choices(), SplitSettings())


def done(trainer: Trainer, activity: Activity) -> Any:
    """What came of it, as the pages take it."""
    assert activity.job.join(120)
    assert activity.job.error is None
    trainer.collect()
    return activity.job.result


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Trainer]:
    trainer = Trainer(worker=Worker(apart.NURSERY, KernelShelf, (Dataset, Solution)))
    yield trainer
    trainer.worker.close()


def test_a_training_is_the_same_and_its_kernels_stay_with_its_process(trainer: Trainer) -> None:
    its = task(small_dataset())
    here = train(prepare(its.spn, its.dataset, its.choices, its.split), Settings())
    first = trainer.start("train", its, Settings(), lambda: True)
    heard: list[str] = []
    first.job.say = heard.append  # type: ignore[method-assign]
    run = done(trainer, first)
    assert run.solution.beta == pytest.approx(here.solution.beta, rel=1e-9)
    assert tuple(first.job.records) == run.solution.history and len(first.job.records) > 1
    assert any(words.startswith("kernels ") for words in heard) and first.job.total == 1000
    assert trainer.kernels.kept is None and trainer.worker.kept_bytes > 0
    again = trainer.start("train", its, Settings(C=3.0), lambda: True)
    heard.clear()
    again.job.say = heard.append  # type: ignore[method-assign]
    done(trainer, again)
    assert heard and not any(words.startswith("kernels ") for words in heard)
    assert [run.settings.C for run in trainer.book.runs] == [1.0, 3.0]
    handed = trainer.prepared(its)
    assert handed.nbytes == trainer.kernels.nbytes > 0 and handed.kernels["k0"].shape == (run.n_train, run.n_train)


def test_what_is_measured_of_a_run_is_put_into_that_run(trainer: Trainer) -> None:
    its = task(small_dataset())
    run = done(trainer, trainer.start("train", its, Settings(), lambda: True))
    name = trainer.book.runs[0].name
    trainer.book.revise(lambda known: replace(known, held_out=None))
    shares = done(trainer, trainer.measure(trainer.book.runs[0], lambda: True))
    assert shares.solution is run.solution and trainer.book.runs[0].held_out is not None
    said = done(trainer, trainer.weigh(trainer.book.runs[0], its.spn.root, lambda: True))
    assert said.solution is run.solution and trainer.book.runs[0].branches
    assert trainer.book.runs[0].name == name


def test_a_comparison_and_a_choice_of_C(trainer: Trainer) -> None:
    its = task(small_dataset())
    found = done(trainer, trainer.start("choose", its, Settings(), lambda: True))
    assert np.isfinite(found.scores).all() and trainer.cross_validation is not None
    who = entrants(its.spn, its.dataset, its.choices)
    plan = Plan(folds=2, repeats=1, inner=2, points=2)
    activity = trainer.compare(its, Settings(), who, plan, lambda: True)
    done(trainer, activity)
    assert trainer.contest is not None and len(trainer.contest.value.results) == activity.job.total > 2


def test_stop_keeps_the_best_so_far(trainer: Trainer) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(900, 6)), columns=[f"x{k}" for k in range(6)])
    its = task(Dataset("noise", frame.assign(y=rng.choice(["a", "b"], 900)), "y"))
    activity = trainer.start("train", its, Settings(C=1000.0, tol=1e-9), lambda: True)
    while not activity.job.records and not activity.job.finished:
        time.sleep(0.01)
    activity.job.stop()
    run = done(trainer, activity)
    assert activity.job.state == "stopped" and run.solution.status == "interrupted"


def test_a_process_that_dies_is_one_sentence_and_the_next_training_works(trainer: Trainer) -> None:
    its = task(small_dataset())
    activity = trainer.start("train", its, Settings(C=1000.0, tol=1e-10), lambda: True)
    while not activity.job.words and not activity.job.finished:
        time.sleep(0.005)
    process = trainer.worker._process
    assert process is not None
    process.meter.kill()
    assert activity.job.join(60)
    trainer.collect()
    if activity.job.state == "failed":  # it may have been quicker
        assert trainer.failure is not None
        assert trainer.failure.message == (
            "This training ended without a word, perhaps for want of memory. Your drawing and your data are kept; try "
            "again."
        )
    assert done(trainer, trainer.start("train", its, Settings(), lambda: True)).solution.status == "optimal"


def test_a_training_that_does_not_fit_is_refused_when_it_starts(
    trainer: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "available_memory", lambda: 10_000)
    monkeypatch.setattr(processes, "kept_bytes", lambda: 0)  # of kernels that other tests left
    activity = trainer.start("train", task(small_dataset()), Settings(), lambda: True)
    assert activity.job.join(60)
    assert activity.job.error is not None and activity.job.error.startswith("This needs about ")
