"""What matters begins with what each view is worth: measured, stopped, gone on with, and kept with the run."""

import io
from typing import Any

import numpy as np
import pandas as pd
import pytest
from app_pages import Downloads, bring, fine, labelled, opened, spoken, texts, train, work
from streamlit.testing.v1 import AppTest

from spnmkl import Kernel, templates
from spnmkl.data import Dataset
from spnmkl.importance import ViewImportance
from spnmkl.project.project_file import load_project, save_project
from spnmkl.study.contest import Plan
from spnmkl.ui.pages.inspect import importance as part
from spnmkl.ui.state import importance as state
from spnmkl.ui.state.importance import columns_of_run, question, views_of_run

VIEWS = {"blood": ("blood__a", "blood__b"), "noise": ("noise__a", "noise__b", "noise__c")}


def table(n: int = 120) -> Dataset:
    """One view makes the labels, the other is noise."""
    rng = np.random.default_rng(0)
    columns = [column for members in VIEWS.values() for column in members]
    frame = pd.DataFrame(rng.standard_normal((n, 5)), columns=columns)
    frame["y"] = np.where(frame["blood__a"] + frame["blood__b"] + 0.5 * rng.standard_normal(n) > 0, "ill", "well")
    return Dataset("cohort", frame, "y", views=VIEWS)


def drawing() -> Any:
    """Noise under a kernel so narrow that its matrix is the identity."""
    return templates.flat(
        [
            Kernel("rbf", features=list(VIEWS["blood"]), label="blood"),
            Kernel("rbf", gamma=50.0, features=list(VIEWS["noise"]), label="noise"),
        ]
    )


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(state, "PLAN", Plan(3, inner=2, points=2))
    at = opened("inspect")
    bring(at, table(), drawing())
    train(work(at).trainer, at)
    at.session_state["inspect"] = "What matters"
    return fine(at.run())


def press(at: AppTest, label: str) -> AppTest:
    fine(labelled(at.button, label).click().run())
    activity = work(at).trainer.activity
    if activity is not None:
        assert activity.job.join(60)
    return fine(at.run())


def measured(at: AppTest) -> ViewImportance:
    run = work(at).trainer.book.run
    assert run is not None
    found = views_of_run(run)
    assert found is not None
    return found


def test_before_it_says_what_it_will_do_and_on_which_rows(page: AppTest) -> None:
    said = texts(page)
    assert "on 3 folds of the 90 training rows, so that the test rows stay unseen" in said
    assert "about 21 trainings" in said  # in each fold 2 × 2 to choose C, the whole, and of two views each is the rest
    assert labelled(page.button, part.MEASURE)


def test_one_click_measures_and_noise_has_no_importance(page: AppTest, downloads: Downloads) -> None:
    press(page, part.MEASURE)
    found, said = measured(page), texts(page)
    assert found.complete and found.planned == 3
    rows = found.table.set_index("view")
    noise = rows.loc["noise"]
    assert noise["drop_low"] <= 0 <= noise["drop_high"] and abs(noise["share"]) < 0.05
    assert noise["alone_low"] <= found.guessing < rows.loc["blood", "alone_low"]
    shown = next(frame.value for frame in page.dataframe if "without it" in frame.value)
    assert shown["view"].tolist() == ["blood", "noise"]
    assert "No loss is shown without noise" in said and "falls, by more than chance, without blood" in said
    assert spoken(part.sentence(found.headline)) in said
    run = work(page).trainer.book.run
    assert run is not None and "Two measurements stand here" in said
    assert f"3 folds of {found.rows}" in said and f"C = {run.settings.C:.3g}, on {run.n_test} test rows" in said
    csv = next(content for name, content in downloads.items() if name.endswith("importance_views.csv"))
    pd.testing.assert_frame_equal(pd.read_csv(io.BytesIO(csv)), found.table)
    assert any(name.endswith("importance_views.svg") and b"<svg" in content for name, content in downloads.items())
    assert labelled(page.button, part.AGAIN)


def test_the_numbers_are_of_training_rows_alone(page: AppTest) -> None:
    trainer = work(page).trainer
    run = trainer.book.run
    assert run is not None
    asked = question(run, trainer.book.tasks[run.name])
    seen = np.concatenate([rows for _, _, split in asked.work.folds.splits for rows in (split.train, split.test)])
    assert set(seen) == set(run.train) and not set(seen) & set(run.test)


def test_stopped_it_is_kept_and_gone_on_with(page: AppTest) -> None:
    trainer = work(page).trainer
    run = trainer.book.run
    assert run is not None
    activity = trainer.measure_importance(run, None, lambda: True)
    while not activity.job.words.startswith("fold 2"):
        assert not activity.job.finished
    activity.job.stop()
    assert activity.job.join(60)
    fine(page.run())
    part_of = measured(page)
    assert 1 <= len(part_of.folds) < 3 and "it was stopped before the others" in texts(page)
    press(page, part.GO_ON)
    whole = measured(page)
    assert whole.complete and whole.folds[0] == part_of.folds[0]  # not measured again
    page.button_group(key=part.REPEATS).set_value(2).run()
    press(page, part.GO_ON)
    assert measured(page).folds[:3] == whole.folds and measured(page).rounds == 2
    assert page.button_group(key=part.REPEATS).value == 2 and labelled(page.button, part.AGAIN)


def test_columns_inside_a_view(page: AppTest, downloads: Downloads) -> None:
    press(page, part.COLUMNS_START)
    run = work(page).trainer.book.run
    assert run is not None
    found = columns_of_run(run)["blood"]
    assert set(found.table["columns"]) == set(VIEWS["blood"]) and found.complete
    assert "uses blood__" in texts(page).replace("\\", "")
    assert any("importance_columns_blood" in name for name in downloads)


def test_a_project_keeps_it(page: AppTest) -> None:
    press(page, part.MEASURE)
    press(page, part.COLUMNS_START)
    here = work(page)
    data = save_project(
        drawing(), here.dataset, here.choices, here.split, here.trainer.settings, here.trainer.book.runs
    )
    (run,) = load_project(data).runs
    again = views_of_run(run)
    assert again is not None
    pd.testing.assert_frame_equal(again.table, measured(page).table)
    assert list(columns_of_run(run)) == ["blood"]


def test_one_set_of_columns_has_nothing_to_leave_out() -> None:
    at = opened("inspect")
    frame = table().frame.rename(columns=lambda name: name.replace("__", "-"))
    bring(at, Dataset("plain", frame, "y"), templates.flat([Kernel("rbf", features=["blood-a", "blood-b"], label="x")]))
    train(work(at).trainer, at)
    at.session_state["inspect"] = "What matters"
    assert "nothing to leave out" in texts(fine(at.run()))


def test_without_its_data_what_was_measured_is_shown(page: AppTest) -> None:
    press(page, part.MEASURE)
    work(page).trainer.book.tasks.clear()
    said = texts(fine(page.run()))
    assert spoken(part.sentence(measured(page).headline)) in said
    assert not [button for button in page.button if button.label == part.AGAIN]
