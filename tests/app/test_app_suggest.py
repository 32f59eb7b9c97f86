"""Suggest a structure, without a browser: it searches the training rows, stops, and opens what it found."""

import re

import numpy as np
import pandas as pd
from app_pages import bring, dialog, fine, opened, spn, texts, work

from spnmkl.data import Dataset
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
    shown = [float(after.replace("\u2212", "-")) for after in re.findall(r"log evidence, (\S+) after prices", told)]
    assert len(shown) == len(found) > 1 and shown == sorted(shown, reverse=True), "in the order that is said"
    assert "In the order of log evidence after the price of weights." in told.replace("\\", "")
    at.button(key="open_suggestion_0").click().run()
    assert {spn(at).label(leaf) for leaf in spn(at).kernels} >= {"left", "right"}
    assert trainer.suggested_for(work(at).task) is found
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
