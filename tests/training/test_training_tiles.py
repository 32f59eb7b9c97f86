"""A training whose kernel matrices do not fit: computed in tiles, with the same result."""

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from tolerances import DECISION, WEIGHTS

from spnmkl import SPN, Kernel, KernelError, Product, Sum
from spnmkl.circuit.source import MatrixSource, is_computed
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.reporting.explain import sample_paths, weights_table
from spnmkl.reporting.kernel_views import kernel_image, projection
from spnmkl.reporting.what_if import what_if
from spnmkl.solution import Solution
from spnmkl.training import train as train_module
from spnmkl.training.choose import choose_C, trace_C
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import closed, train, with_shares
from spnmkl.ui.state import jobs as job_module
from spnmkl.ui.state import kernel_shelf
from spnmkl.ui.state.activity import Trainer
from spnmkl.ui.state.jobs import Job, Stopped
from spnmkl.ui.state.task import Task

SPLIT = SplitSettings(0.3, 1)
SETTINGS = Settings(C=3.0, tol=1e-6)


def dataset(n: int = 240, classes: int = 2) -> Dataset:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    score = X[:, 0] * X[:, 1] + 0.5 * X[:, 2] + 0.2 * rng.normal(size=n)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=pd.qcut(score, classes, labels=list("uvw")[:classes]))
    frame["y"] = frame["y"].astype(str)
    return Dataset("made", frame, "y", matrices={"given": rbf_kernel(X[:, 2:], gamma=0.3)})


def structure(*more: Kernel) -> SPN:
    near = Kernel("rbf", gamma=0.5, features=["a", "b"], label="near", normalize="centred")
    return SPN(
        Sum(*(Product(k) for k in (near, Kernel("linear", features=["c"]), Kernel("rbf", gamma="median"), *more)))
    )


def both(spn: SPN, data: Dataset) -> tuple[Prepared, Prepared]:
    """With matrices, and in tiles."""
    return prepare(spn, data, Choices(), SPLIT), prepare(spn, data, Choices(), SPLIT, max_memory=0)


CASES = {
    "two classes": (structure(), 2),
    "three classes": (structure(), 3),
    "a given matrix beside": (structure(Kernel("precomputed", label="given")), 2),
}


@pytest.mark.parametrize("name", CASES)
def test_the_same_comes_out(name: str) -> None:
    spn, classes = CASES[name]
    data = dataset(classes=classes)
    in_memory, in_tiles = both(spn, data)
    assert isinstance(in_memory.source, MatrixSource) and is_computed(in_tiles.source)
    assert in_tiles.nbytes < in_memory.nbytes
    expected, found = train(in_memory, SETTINGS), train(in_tiles, SETTINGS)
    assert found.solution.status == expected.solution.status == "optimal"
    # Kernels that differ by rounding may lead another way to the optimum: each is as near to it as its gap says.
    largest = max(expected.solution.beta.values())
    assert found.solution.objective == pytest.approx(expected.solution.objective, rel=2 * SETTINGS.tol)
    assert found.solution.beta == pytest.approx(expected.solution.beta, abs=WEIGHTS * largest)
    np.testing.assert_allclose(found.test_scores.decision, expected.test_scores.decision, atol=DECISION)
    np.testing.assert_allclose(found.train_scores.decision, expected.train_scores.decision, atol=DECISION)
    assert found.solution.certify(in_memory.source).gap == pytest.approx(found.solution.gap, abs=1e-9)
    assert (found.model is None) == ("given" in name)


def test_it_is_explained_the_same() -> None:
    in_memory, in_tiles = both(*(structure(Kernel("precomputed", label="given")), dataset()))
    run = train(in_memory, SETTINGS)
    assert run.held_out is not None and run.held_out.known
    again = with_shares(replace(run, held_out=None), in_tiles)
    pd.testing.assert_frame_equal(weights_table(again), weights_table(run))
    for part in ("train", "test"):
        pd.testing.assert_frame_equal(sample_paths(run, in_tiles, part, 3), sample_paths(run, in_memory, part, 3))
    for node in (run.spn.root, run.spn.kernels[0], run.spn.kernels[3]):
        np.testing.assert_allclose(
            kernel_image(run, in_tiles, node).cells, kernel_image(run, in_memory, node).cells, atol=1e-9
        )
    pd.testing.assert_frame_equal(projection(run, in_tiles), projection(run, in_memory), atol=1e-6)
    moved = {run.spn.products[0]: 0.0}
    for one, other in zip(what_if(run, in_tiles, moved)[1:], what_if(run, in_memory, moved)[1:], strict=True):
        np.testing.assert_allclose(one.decision, other.decision, atol=1e-3)


def test_C_is_traced_in_tiles() -> None:
    in_memory, in_tiles = both(structure(), dataset())
    expected, found = (trace_C(known, Settings(tol=1e-6), C=[0.5, 5.0]) for known in (in_memory, in_tiles))
    for v, weights in found.beta.items():
        np.testing.assert_allclose(weights, expected.beta[v], rtol=1e-2, atol=1e-6)
    with pytest.raises(KernelError, match="over 168 rows are too large for the memory"):
        _ = in_tiles.kernels


@pytest.mark.parametrize("name", CASES)
def test_C_is_chosen_in_tiles(name: str) -> None:
    spn, classes = CASES[name]
    in_memory, in_tiles = both(spn, dataset(classes=classes))
    settings = Settings(tol=1e-5)
    expected, found = (choose_C(known, settings, folds=3, C=[0.1, 1.0, 10.0]) for known in (in_memory, in_tiles))
    np.testing.assert_allclose(found.scores, expected.scores, atol=1.01 / 50)  # a row at the border may fall either way
    for v, weights in found.beta.items():
        np.testing.assert_allclose(weights, expected.beta[v], rtol=1e-2, atol=1e-2 * np.nanmax(weights))
    by_itself = choose_C(in_tiles, Settings(), folds=2)
    assert by_itself.best_C > 0 and np.isfinite(by_itself.scores).all()


def test_a_stop_is_heard_while_a_fold_is_scored_in_tiles(monkeypatch: pytest.MonkeyPatch) -> None:
    in_tiles, asked, told = prepare(structure(), dataset(), Choices(), SPLIT, max_memory=0), [], []
    decide = Solution.decision_function

    def scored(*given: Any) -> Any:
        asked.append(True)
        return decide(*given)

    monkeypatch.setattr(Solution, "decision_function", scored)
    found = choose_C(in_tiles, Settings(), folds=2, C=[1.0], callback=told.append, stop=lambda: bool(asked))
    assert len(asked) == 1 and not told and np.isnan(found.scores).all()


def trainer_in_tiles(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    monkeypatch.setattr(kernel_shelf, "prepare", lambda *given, **own: prepare(*given, **own | {"max_memory": 0}))
    return Trainer()


def test_the_app_trains_in_tiles_and_tells_how_it_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, task = trainer_in_tiles(monkeypatch), Task(structure(), dataset(), Choices(), SPLIT)
    job = trainer.start("train", task, SETTINGS, lambda: True).job
    assert job.join(60)
    assert job.error is None and isinstance(job.result, Run) and job.result.solution.status == "optimal"
    assert job.done == job.total > 0
    assert closed(job.records[:1], SETTINGS.tol) < closed(job.records, SETTINGS.tol) == 1


@pytest.mark.parametrize("after", [0.0, 0.5])
def test_a_stop_ends_it_soon(monkeypatch: pytest.MonkeyPatch, after: float) -> None:
    trainer, task = trainer_in_tiles(monkeypatch), Task(structure(), dataset(3000), Choices(), SPLIT)
    job = trainer.start("train", task, Settings(tol=1e-9, C=100.0), lambda: True).job
    time.sleep(after)
    job.stop()
    assert job.join(30) and job.error is None and job.state in ("stopped", "done")


def test_a_second_stop_does_without_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, task = trainer_in_tiles(monkeypatch), Task(structure(), dataset(), Choices(), SPLIT)
    said: list[str] = []
    monkeypatch.setattr(job_module, "SECOND_THOUGHT", -1.0)

    def stop_twice(job: Job[Run], words: str) -> None:
        said.append(words)
        if words.startswith("scoring"):
            job.stop()
            job.stop()

    monkeypatch.setattr(Job, "say", stop_twice)
    job = trainer.start("train", task, SETTINGS, lambda: True).job
    assert job.join(60)
    assert (job.state, job.result, job.error) == ("stopped", None, None)
    assert said[-1] == "scoring row 1 of 72"


@pytest.mark.parametrize("name", ["two classes", "a given matrix beside"])
def test_what_a_stop_left_unscored_is_scored_on_request(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(train_module, "MOMENT", -1.0)
    trainer, task = trainer_in_tiles(monkeypatch), Task(CASES[name][0], dataset(), Choices(), SPLIT)
    say = Job.say

    def stop(job: Job[Run], words: str) -> None:
        say(job, words)
        if words.startswith("iteration 2"):
            job.stop()

    monkeypatch.setattr(Job, "say", stop)
    assert trainer.start("train", task, SETTINGS, lambda: True).job.join(60)
    trainer.collect()
    (run,) = trainer.book.runs
    assert run.solution.status == "interrupted" and not run.test_scores.scored and not run.train_scores.scored
    trainer.book.rename(run.name, "Mine")
    job = trainer.score(trainer.book.runs[0], lambda: True).job
    assert job.join(60) and job.error is None
    trainer.collect()
    (found,) = trainer.book.runs
    assert found.name == "Mine" and found.solution is run.solution
    prepared = trainer.kernels.prepared(task)
    expected = run.solution.decision_function(prepared.test_source), run.solution.decision_function(prepared.source)
    for scores, decision in zip((found.test_scores, found.train_scores), expected, strict=True):
        assert scores.scored
        np.testing.assert_allclose(scores.decision, decision, atol=DECISION)


def test_what_takes_a_moment_is_scored_after_a_stop() -> None:
    prepared = prepare(structure(), dataset(), Choices(), SPLIT, max_memory=0)
    told: list[object] = []
    run = train(prepared, SETTINGS, told.append, stop=lambda: len(told) > 1)
    assert run.solution.status == "interrupted" and run.test_scores.scored and run.train_scores.scored


def test_a_double_click_on_stop_keeps_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    trainer, task = trainer_in_tiles(monkeypatch), Task(structure(), dataset(), Choices(), SPLIT)
    say = Job.say

    def stop_twice(job: Job[Run], words: str) -> None:
        say(job, words)
        if words.startswith("iteration"):
            job.stop()
            job.stop()

    monkeypatch.setattr(Job, "say", stop_twice)
    job = trainer.start("train", task, SETTINGS, lambda: True).job
    assert job.join(60) and job.error is None
    assert job.result is not None and job.result.solution.history


def test_computing_in_tiles_can_be_stopped_before_its_end() -> None:
    asked: list[str] = []

    def tick(words: str) -> None:
        asked.append(words)
        if words == "kernels 3 of 3" and asked.count(words) == 2:  # within the pass that centres a kernel
            raise Stopped

    with pytest.raises(Stopped):
        prepare(structure(), dataset(2000), Choices(), SPLIT, tick, max_memory=0)
    assert asked[:4] == ["preparing the columns", "kernels 1 of 3", "kernels 2 of 3", "kernels 3 of 3"]


def test_jobs_can_train_side_by_side_in_tiles() -> None:
    data, found = dataset(), []

    def work(job: Job[Run]) -> Run:
        return train(prepare(structure(), data, Choices(), SPLIT, job.tick, max_memory=0), SETTINGS)

    jobs = [Job(work).start() for _ in range(2)]
    found = [job.result for job in jobs if job.join(60)]
    assert threading.active_count() < 50
    assert found[0] is not None and found[1] is not None
    assert found[0].solution.beta == found[1].solution.beta
