"""The Start page without a browser: three cards, each one click to something that moves."""

import numpy as np
import pytest
from app_pages import APP, fine, labelled, opened, texts, work
from streamlit.testing.v1 import AppTest

from spnmkl.data import SAMPLES
from spnmkl.study import lesson as lesson_module
from spnmkl.study.contest import Plan
from spnmkl.ui.parts.cards import sample_drawing, sample_facts


def click(at: AppTest, label: str) -> AppTest:
    return fine(labelled(at.button, label).click().run())


def ended(at: AppTest) -> AppTest:
    activity = work(at).trainer.activity
    assert activity is None or activity.job.join(60)
    return fine(at.run())


def test_it_is_what_the_app_opens_on() -> None:
    at = fine(AppTest.from_file(APP, default_timeout=30).run())
    assert "Start — " in texts(at)
    assert {"Run the guided experiment", "Load it and train"} <= {button.label for button in at.button}
    assert "Go on where you were" not in texts(at)


def test_one_click_runs_the_guided_experiment_and_its_weights_appear(monkeypatch: pytest.MonkeyPatch) -> None:
    few = lesson_module.lesson_data().take(np.arange(120))
    monkeypatch.setattr(lesson_module, "lesson_data", lambda: few)
    monkeypatch.setattr(lesson_module, "SIZES", (40,))
    monkeypatch.setattr(lesson_module, "PLAN", Plan(folds=2, inner=2, points=2))
    at = opened("start")
    before = work(at).task
    click(at, "Run the guided experiment")
    said = texts(ended(at))
    assert "With 40 rows" in said and "learned from 120 rows" in said
    assert work(at).task.same(before)
    click(at, "Back")
    assert "Try a sample" in texts(at)


def test_one_click_trains_a_sample() -> None:
    at = opened("start")
    at.selectbox(key="start_sample").select("wine").run()
    click(at, "Load it and train")
    assert work(at).dataset.name == "wine"
    ended(at)
    assert "Certified optimal" in texts(fine(at.switch_page("pages/train.py").run()))
    at = fine(at.switch_page("pages/start.py").run())
    assert "Go on where you were" in texts(at) and "1 run" in texts(at)


def test_a_sample_that_lacks_values_is_not_trained_before_one_has_chosen() -> None:
    at = opened("start")
    at.selectbox(key="start_sample").select("clinic").run()
    click(at, "Load it and train")
    assert work(at).trainer.activity is None and "Some values are missing" in texts(at)


def test_a_file_given_here_is_loaded_on_the_data_page() -> None:
    at = opened("start")
    table = "a,b,label\n" + "\n".join(f"{k % 7},{k % 5},{'xy'[k % 2]}" for k in range(40))
    at.file_uploader(key="start_files").set_value([("flowers.csv", table.encode(), "text/csv")])
    fine(at.run())
    assert work(at).dataset.name == "flowers.csv" and "Data — " in texts(at)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_sample_has_a_drawing_and_its_facts(name: str) -> None:
    sample_drawing(name).check()
    assert sample_facts(name).count(" · ") == 2
