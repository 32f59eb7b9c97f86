"""Scores over folds in the app: made aside, shown once they are there, kept when they are stopped."""

import time
from dataclasses import replace

import pytest
from app_pages import bring, fine, labelled, opened, send, spn, texts, work
from small_runs import small_dataset
from streamlit.testing.v1 import AppTest

from spnmkl.data import Dataset
from spnmkl.reporting.doubts import doubts
from spnmkl.selection import CrossValidation
from spnmkl.structure import templates
from spnmkl.study.contest import Plan
from spnmkl.training.run import Searched
from spnmkl.training.settings import Settings
from spnmkl.ui.pages.runs import about_folds
from spnmkl.ui.parts import estimating
from spnmkl.ui.parts.words import plain
from spnmkl.ui.state import estimate as estimate_module
from spnmkl.ui.state.jobs import Job

FLAT = templates.flat({"colour": ["colour_0", "colour_1", "colour_2"], "shape": ["shape_0", "shape_1", "shape_2"]})


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(estimating, "AUTOMATIC", True)
    monkeypatch.setattr(estimate_module, "PLAN", Plan(folds=3, repeats=2, inner=2, points=2))
    return bring(opened("train"), small_dataset(), FLAT)


def trained(at: AppTest, **settings: object) -> AppTest:
    trainer = work(at).trainer
    trainer.start("train", work(at).task, Settings(**settings), lambda: True).job.join(60)
    return fine(at.run())


def estimated(at: AppTest) -> AppTest:
    estimate = work(at).trainer.estimate
    assert estimate is not None and estimate.job.join(60)
    return fine(at.run())


def test_a_run_is_not_taken_for_one_that_is_gone_whose_id_it_has(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "AUTOMATIC", False)
    trained(at)
    trainer = work(at).trainer
    run = trainer.book.run
    gone = replace(run.solution)
    trainer._note_estimate(gone, "It went wrong.")
    assert trainer.estimate_failure(replace(run, solution=gone)) == "It went wrong."
    trainer.estimated[id(run.solution)] = trainer.estimated.pop(id(gone))
    del gone
    assert trainer.estimate_failure(run) is None


def test_the_headline_is_of_one_split_until_there_are_folds(at: AppTest) -> None:
    trained(at)
    run = work(at).trainer.book.run
    assert f"right of {run.n_test} test rows" in texts(at) and "; one split" in texts(at)
    assert work(at).trainer.estimate is not None and labelled(at.button, "Stop")
    estimated(at)
    run = work(at).trainer.book.run
    found = run.fold_scores
    assert found is not None and found.complete and not found.chosen
    assert f"**{100 * found.measured().value:.1f} %** right, cross\\-validated" in texts(at)
    assert plain(f"3 folds, 2 times; the {run.n_test} test rows alone: ") in texts(at)
    assert work(at).trainer.estimate is None and "Stop" not in [button.label for button in at.button]
    assert run.model.calibration_ is not None and run.model.extra_["scores"] == found.described()
    for page in ("inspect", "runs"):
        fine(at.switch_page(f"pages/{page}.py").run())
        assert page == "runs" or "right, cross\\-validated" in texts(at)
    assert work(at).trainer.estimate is None, "once is enough"


def test_which_of_the_two_is_estimated_is_said(at: AppTest) -> None:
    trainer = work(at).trainer
    chosen = trainer.start("choose", work(at).task, Settings(), lambda: True)
    assert chosen.job.join(60)
    trainer.collect()
    assert isinstance(trainer.cross_validation.value, CrossValidation)
    estimated(trained(at, C=trainer.cross_validation.value.best_C))
    helps = [m.help for m in at.markdown if m.help and "Mean over" in m.help]
    assert "C chosen anew in each training part by accuracy" in helps[0]
    assert "in its first rounds has the same scores" in helps[0]
    estimated(trained(at, C=0.7))
    helps = [m.help for m in at.markdown if m.help and "Mean over" in m.help]
    assert "C = 0.7 as set by hand" in helps[0] and "may differ" in helps[0]


def test_stop_keeps_what_is_done_and_it_can_go_on(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate_module, "PLAN", Plan(folds=3, repeats=60, inner=2, points=2))
    trained(at)
    job: Job[object] = work(at).trainer.estimate.job
    while len(job.records) < 4:
        time.sleep(0.01)
    labelled(at.button, "Stop").click()
    at.run()
    assert job.join(30)
    fine(at.run())
    found = work(at).trainer.book.run.fold_scores
    assert 4 <= found.n_done < 180 and "right, cross\\-validated" in texts(at)
    assert work(at).trainer.estimate is None, "it does not begin again by itself"
    monkeypatch.setattr(estimate_module, "SECONDS", 0.0)
    labelled(at.button, f"More folds: {found.n_done} of 180 done").click()
    at.run()
    job = work(at).trainer.estimate.job
    while not job.records:
        time.sleep(0.01)
    job.stop()
    estimated(at)
    assert work(at).trainer.book.run.fold_scores.n_done > found.n_done


def test_scores_that_made_way_are_said_to_be_missing_and_begin_again(
    at: AppTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained(at)
    first = work(at).trainer.book.run
    work(at).trainer.end_estimate()  # before a fold was done
    work(at).trainer.book.revise(lambda run: replace(run, fold_scores=None))
    assert work(at).trainer.estimate_failure(first) is None
    (said,) = about_folds(work(at).trainer)
    assert said.startswith("No scores over folds: Run 1.") and "go back to the run" in said
    fine(at.run())
    assert work(at).trainer.estimate is not None, "by itself"
    assert about_folds(work(at).trainer) == ["Scores of Run 1 over folds are being made."]
    estimated(at)
    assert about_folds(work(at).trainer) == []
    work(at).trainer.book.revise(lambda run: replace(run, searched=Searched(run.split, 1.0, True)))
    (said,) = about_folds(work(at).trainer)
    assert said.startswith("The drawing of Run 1: found by Suggest on these rows")
    assert said in doubts(work(at).trainer.book.run)


def test_a_training_or_another_drawing_ends_it(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate_module, "PLAN", Plan(folds=3, repeats=60, inner=2, points=2))
    trained(at)
    first = work(at).trainer.estimate
    while not first.job.records:
        time.sleep(0.01)
    trained(at, C=3.0)
    assert first.job.stopping and first.job.join(30)
    assert work(at).trainer.book.runs[0].fold_scores.n_done >= 1, "what was done is kept"
    second = work(at).trainer.estimate
    assert second is not None and second.run.settings.C == 3.0
    work(at).drawing.push(spn(at).replace(spn(at).kernels[0], label="another"))
    assert second.job.join(30) and second.job.error is None
    fine(at.run())
    assert work(at).trainer.estimate is None


def test_what_cannot_be_scored_over_folds_says_why(at: AppTest) -> None:
    dataset = small_dataset()
    frame = dataset.frame.copy()
    known = frame.index[frame["class"].notna()]
    frame.loc[known, "class"] = "dull"
    frame.loc[known[:3], "class"] = "bright"
    bring(at, Dataset("rare", frame, "class", views=dataset.views), FLAT)
    if (estimate := work(trained(at, C=30.0)).trainer.estimate) is not None:  # refused at once, it may be over already
        assert estimate.job.join(60)
    fine(at.run())
    assert "No scores over folds: " in texts(at) and "class 'bright' has 2 training rows" in texts(at)
    assert work(at).trainer.book.run.fold_scores is None and "; one split" in texts(at)


def test_what_takes_long_waits_for_a_click(at: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimating, "LONG", 0.0)
    trained(at)
    assert work(at).trainer.estimate is None
    labelled(at.button, "Score it over folds (a few seconds)").click()
    at.run()
    estimated(at)
    assert work(at).trainer.book.run.measured is not None


def test_moving_a_node_changes_nothing(at: AppTest) -> None:
    trained(at)
    estimate = work(at).trainer.estimate
    at.switch_page("pages/design.py").run()
    nodes = work(at).drawing.spn.to_dict()["nodes"]
    send(at, nodes=[{**node, "x": 1.0, "y": 2.0} for node in nodes])
    assert estimate.job.join(60) and estimate.so_far.complete
