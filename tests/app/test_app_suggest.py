"""Suggest a structure, without a browser: it searches the training rows, stops, and opens what it found."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
from app_pages import bring, dialog, fine, opened, spn, texts, train, work

from spnmkl.data import Dataset, SplitSettings
from spnmkl.reporting.doubts import doubts
from spnmkl.search import Score, Suggestion, Suggestions
from spnmkl.structure import SPN, Kernel
from spnmkl.training.run import Searched
from spnmkl.ui.pages.design.suggesting import scores_line
from spnmkl.ui.pages.train import SUGGESTED_C
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.suggesting import Asked, search


def pairs(n: int = 110) -> Dataset:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.uniform(-1.7, 1.7, size=(n, 3)), columns=["left", "right", "other"])
    frame["class"] = np.where(frame["left"] * frame["right"] > 0, "case", "control")
    return Dataset("pairs", frame, "class")


def test_what_is_suggested_is_opened_and_goes_with_the_data() -> None:
    at = bring(opened(), pairs())
    told = texts(dialog(at, "Suggest"))
    assert "scores are from the test rows" in told
    trainer = work(at).trainer
    at.segmented_control(key="suggest_budget").set_value(30)
    at.button(key="suggest_begin").click().run()
    assert trainer.activity is not None
    assert trainer.activity.job.join(120)
    told = texts(fine(at.run()))
    assert at.segmented_control(key="suggest_budget").value == 30, "what was asked for stays"
    assert "Evidence for products" in told
    assert "The flat sum of all kernels" in told
    assert "on 28 rows not searched" in told and "; guessing has 5" in told and "± is one standard error" in told
    found = trainer.suggested_for(work(at).task)
    assert found is not None
    trainer.take_settings(replace(trainer.settings, weights="evidence"))
    shown = [float(after.replace("\u2212", "-")) for after in re.findall(r"log evidence, (\S+) after prices", told)]
    assert len(shown) == len(found) > 1 and shown == sorted(shown, reverse=True), "in the order that is said"
    assert "In the order of log evidence after the price of weights." in told.replace("\\", "")
    at.button(key="open_suggestion_0").click().run()
    assert {spn(at).label(leaf) for leaf in spn(at).kernels} >= {"left", "right"}
    assert trainer.suggested_for(work(at).task) is found
    assert (trainer.settings.C, trainer.settings.weights) == (found[0].C, "certified"), "what its scores are at"
    at = fine(at.switch_page("pages/train.py").run())
    assert SUGGESTED_C in texts(at)
    train(trainer, at, C=found[0].C)
    run = trainer.book.runs[-1]
    assert run.searched == Searched(work(at).split, found[0].C, True) and run.chose_C, "for its scores over folds"
    assert not any("Suggest" in said for said in doubts(run)), "its test rows were kept from the search"
    elsewhere = replace(run, split=SplitSettings(seed=7))
    assert any("it saw some of these test rows" in said for said in doubts(elsewhere))
    trainer.suggested = None
    assert trainer.searched(spn(at), work(at).dataset) == run.searched, "the run remembers"
    bring(at, pairs(90))
    assert trainer.suggested_for(work(at).task) is None


def test_a_search_that_is_stopped_hands_back_the_best_so_far() -> None:
    at = bring(opened(), pairs(60))
    task = work(at).task
    job: Job[object] = Job(lambda job: search(job, None, task, Asked(100)))
    job.report = lambda record: job.stop() or job.records.append(record)  # type: ignore[method-assign]
    job.start()
    assert job.join(60)
    assert job.state == "stopped"
    assert job.result is not None
    assert job.result.ended == "stopped"  # type: ignore[attr-defined]
    assert job.records[0].spn is not None


def test_a_card_without_scores_says_why() -> None:
    flat = Suggestion(SPN(Kernel("rbf")), "a", 0.0, 0.0, 0.0, {}, {}, float("nan"), Score(), Score(), {}, True, False)
    found = Suggestions((flat,), False, True, "Said.", 1, 30, 10, 0, None, "stopped", 1.0)
    assert "it was stopped before" in scores_line(found, flat)
    assert "no rows were kept away" in scores_line(replace(found, ended="done", held_out=0), flat)
