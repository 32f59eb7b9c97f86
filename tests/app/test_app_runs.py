"""The Runs page without a browser: the table, one run, several side by side, reports and whole projects."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from app_pages import Downloads, bring, fine, labelled, opened, texts, train, work
from streamlit.testing.v1 import AppTest

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Choices, Dataset, SplitSettings, load_sample
from spnmkl.errors import ParameterError
from spnmkl.project.project_file import load_project, save_project
from spnmkl.training.run import Run
from spnmkl.training.scores import share_right
from spnmkl.training.settings import Settings
from spnmkl.ui.parts.project import open_project, packed
from spnmkl.ui.parts.words import slug
from spnmkl.ui.state.activity import Activity, Trainer
from spnmkl.ui.state.jobs import Job
from spnmkl.ui.state.run_book import RunBook

WINE = "wine"


@cache
def two_runs() -> tuple[Run, ...]:
    at = opened("runs")
    bring(at, load_sample(WINE), load_sample(WINE).template("flat"))
    train(work(at).trainer, at)
    train(work(at).trainer, at, C=0.2)
    return tuple(work(at).trainer.book.runs)


@pytest.fixture
def at() -> Iterator[AppTest]:
    """A page with two runs on wine, which differ in C."""
    at = opened("runs")
    dataset = load_sample(WINE)
    bring(at, dataset, dataset.template("flat"))
    work(at).trainer.book.runs = list(two_runs())
    work(at).trainer.book.attach(dataset)
    yield fine(at.run())


def names(at: AppTest) -> list[str]:
    return [run.name for run in work(at).trainer.book.runs]


def tick(at: AppTest, *rows: int) -> AppTest:
    """Rows of the table of runs, the newest first."""
    at.session_state[f"runs_table_{hash(tuple(names(at)[::-1]))}"] = {
        "selection": {"rows": list(rows), "columns": [], "cells": []}
    }
    return fine(at.run())


def compare(at: AppTest, tab: str) -> AppTest:
    tick(at, 0, 1)
    at.session_state["compared"] = tab
    return fine(at.run())


def project(at: AppTest, tab: str = "Save") -> AppTest:
    at.button(key="open_project").click().run()
    at.session_state["project"] = tab
    return fine(at.run())


def give_project(at: AppTest, content: bytes, name: str = "my.zip") -> AppTest:
    return at.file_uploader(key="project_file").set_value((name, content, "application/zip")).run()


def own_table() -> Dataset:
    """Wine under another name, so that the app does not bring it itself."""
    return replace(load_sample(WINE), name="my wine.csv")


def test_without_a_training_the_page_leads_to_one() -> None:
    at = opened("runs")
    assert "Nothing is trained yet" in texts(at)
    assert [link.page for link in at.get("page_link")] == ["train", "projects"]


def test_a_finished_training_is_listed() -> None:
    at = opened("runs")
    trainer = work(at).trainer
    trainer.start("train", work(at).task, Settings(), lambda: True).job.join(60)
    fine(at.run())
    assert at.dataframe[0].value["run"].tolist() == ["Run 1"]
    assert "Train again" in [link.label for link in at.get("page_link")]


def test_a_training_that_is_going_on_is_told(at: AppTest) -> None:
    end = threading.Event()
    job = Job(lambda job: end.wait(30)).start()
    work(at).trainer.activity = Activity("train", job, work(at).task, Settings())
    fine(at.run())
    assert "A training is going on" in texts(at)
    assert len(at.dataframe[0].value) == 2
    end.set()
    assert job.join(30)
    fine(at.run())
    assert "A training is going on" not in texts(at)


def test_the_table_shows_every_run(at: AppTest) -> None:
    table = at.dataframe[0].value
    assert table["run"].tolist() == ["Run 2", "Run 1"]
    assert table["C"].tolist() == [0.2, 1.0]
    for row, run in zip(table.to_dict("records"), two_runs()[::-1], strict=True):
        assert row["test"] == share_right(run.test_scores.accuracy)
        assert row["gap"] == run.solution.gap
        assert row["ended"] == "certified optimal"


def test_another_run_can_be_shown(at: AppTest) -> None:
    trainer = work(at).trainer
    assert trainer.book.run is two_runs()[1]
    assert "**Run 2**, shown on all pages" in texts(at)
    tick(at, 1)
    assert trainer.book.run is two_runs()[0]
    tick(at, 0, 1)
    assert trainer.book.run is two_runs()[0]
    assert "shown on all pages" not in texts(at)
    assert "Tick two runs or more" in texts(tick(at))


def test_a_run_is_renamed_with_all_that_belongs_to_it(at: AppTest) -> None:
    tick(at, 1)
    task = work(at).trainer.book.tasks["Run 1"]
    labelled(at.text_input, "New name").set_value("  the **first**\n one ")
    labelled(at.button, "Rename it").click().run()
    fine(at)
    trainer = work(at).trainer
    assert names(at) == ["the **first** one", "Run 2"]
    assert trainer.book.chosen == "the **first** one"
    assert trainer.book.tasks["the **first** one"] is task
    assert "Run 1" not in trainer.book.tasks
    assert "\\*\\*first\\*\\*" in texts(at), "a name is shown as it was written"


@pytest.mark.parametrize("new", ["Run 2", "   "])
def test_a_name_that_is_taken_or_empty_is_refused(at: AppTest, new: str) -> None:
    tick(at, 1)
    labelled(at.text_input, "New name").set_value(new)
    labelled(at.button, "Rename it").click().run()
    assert "cannot be renamed" in at.error[0].value
    assert names(at) == ["Run 1", "Run 2"]
    with pytest.raises(ParameterError):
        work(at).trainer.book.rename("Run 1", new)
    work(at).trainer.book.rename("Run 1", "Run 1")


def removing(at: AppTest) -> list[str]:
    """The identities of the popovers that remove a run; the browser keeps one open as long as it is the same."""
    return [block.proto.id for block in at.get("popover") if block.proto.popover.label == "Remove"]


def test_a_run_that_was_removed_is_brought_back(at: AppTest) -> None:
    book = work(at).trainer.book
    before, tasks = list(book.runs), dict(book.tasks)
    at.button(key="remove_run").click().run()
    assert len(book.runs) == 1 and "is removed" in texts(at)
    fine(at.button(key="undo_run").click().run())
    assert all(one is other for one, other in zip(book.runs, before, strict=True)) and book.tasks == tasks
    assert "undo_run" not in [button.key for button in at.button]
    name = book.runs[0].name
    book.remove(name)
    book.rename(book.runs[0].name, name)
    book.bring_back()
    assert len({run.name for run in book.runs}) == 2, "its name was taken meanwhile"


def test_a_run_is_removed(at: AppTest) -> None:
    tick(at, 1)
    (open_before,) = removing(at)
    at.button(key="remove_run").click().run()
    fine(at)
    assert [open_before] != removing(at), "an open popover is not taken over by the next run"
    trainer = work(at).trainer
    assert names(at) == ["Run 2"] == list(trainer.book.tasks)
    assert trainer.book.chosen is None
    at.button(key="remove_run").click().run()
    fine(at)
    assert "Nothing is trained yet" in texts(at)


def test_two_runs_side_by_side(at: AppTest) -> None:
    assert "All have the same structure" in texts(tick(at, 0, 1))
    settings = compare(at, "Settings").dataframe[1].value
    assert settings.loc["C"].tolist() == ["0.2", "1"]
    weights = compare(at, "Weights β").dataframe[1].value
    for run in two_runs():
        assert sorted(weights[f"β of {run.name}"]) == sorted(run.solution.beta.values())
    compare(at, "Convergence")
    assert "bounds how far each is from its optimum" in texts(at)
    scores = compare(at, "Scores").dataframe[1].value
    assert scores["test"].tolist() == pytest.approx([100 * run.test_scores.accuracy for run in two_runs()[::-1]])
    assert "both are right on" in texts(at)


def test_structures_that_differ_are_said_to(at: AppTest) -> None:
    trainer, spn = work(at).trainer, work(at).drawing.spn
    p = spn.products[0]
    work(at).drawing.push(spn.replace(p, p=2.0))
    train(trainer, at)
    fine(at.run())
    tick(at, 0, 1)
    assert "Violet: what is not in all of them" in texts(at)
    work(at).drawing.push(load_sample(WINE).template("figure1"))
    train(trainer, at)
    fine(at.run())
    tick(at, 0, 1)
    assert "hardly a node in common" in texts(at)


def test_runs_tested_on_other_rows_are_warned_of(at: AppTest) -> None:
    work(at).split = SplitSettings(seed=5)
    train(work(at).trainer, at)
    fine(at.run())
    compare(at, "Scores")
    assert "different rows" in texts(at)


def test_the_report_of_a_run(at: AppTest, downloads: Downloads) -> None:
    fine(at.run())
    report = downloads["Run_2.html"].decode()
    assert report.lstrip().lower().startswith("<!doctype html>")
    assert "Run 2" in report
    assert 'src="http' not in report
    assert downloads["Run_2.spnmkl"].startswith(b"PK")


def test_a_run_without_its_data_has_no_report(at: AppTest) -> None:
    def disabled(label: str) -> bool:
        return next(e.proto.disabled for e in at.get("download_button") if e.proto.label == label)

    assert not disabled("Report (HTML)")
    work(at).trainer.book.tasks.clear()
    fine(at.run())
    assert disabled("Report (HTML)")
    assert not disabled("Model")


def state(at: AppTest) -> tuple[object, ...]:
    space = work(at)
    return (
        space.drawing.spn,
        space.dataset,
        space.choices,
        space.split,
        space.trainer,
        list(space.trainer.book.runs),
        dict(space.trainer.book.tasks),
        space.missing,
    )


@pytest.mark.parametrize("content", [b"", b"nothing", b"PK\x03\x04 no zip", "cut", "foreign"])
def test_a_bad_zip_changes_nothing(at: AppTest, content: bytes | str) -> None:
    if content == "cut":
        content = packed(work(at), True)[:-500]
    elif content == "foreign":
        content = packed(work(at), True).replace(b"project.json", b"garbage.json")
    assert isinstance(content, bytes)
    project(at, "Open")
    before = state(at)
    give_project(at, content)
    assert len(at.error) == 1
    assert not [button for button in at.button if button.label == "Replace them"]
    assert all(a is b or a == b for a, b in zip(state(at), before, strict=True))


def test_a_project_is_saved_and_opened_in_another_tab(at: AppTest, downloads: Downloads) -> None:
    work(at).choices, work(at).split = Choices(missing="median"), SplitSettings(0.3, 9)
    work(at).trainer.settings = Settings(C=7.0)
    project(at)
    saved = downloads["wine.project.zip"]

    other = project(opened("runs"), "Open")
    fine(give_project(other, saved))
    (warning,) = other.warning
    assert f"the drawing of {len(work(other).drawing.spn.nodes)} nodes" in warning.value
    assert "breast\\_cancer" in warning.value, "the data that will go"
    assert names(other) == [], "nothing happens before the confirmation"
    labelled(other.button, "Replace them").click().run()
    fine(other)
    space = work(other)
    assert names(other) == ["Run 1", "Run 2"]
    assert space.drawing.spn == work(at).drawing.spn
    assert (space.choices, space.split) == (Choices(missing="median"), SplitSettings(0.3, 9))
    assert space.trainer.settings == Settings(C=7.0)
    assert space.missing is None
    pd.testing.assert_frame_equal(space.dataset.frame, load_sample(WINE).frame, check_dtype=False)
    assert set(space.trainer.book.tasks) == {"Run 1", "Run 2"}, "they can be looked into"
    for run, before in zip(space.trainer.book.runs, two_runs(), strict=True):
        assert run.solution.beta == before.solution.beta
        np.testing.assert_array_equal(run.test_scores.decision, before.test_scores.decision)
    prepared = space.trainer.kernels.prepared(space.trainer.book.tasks["Run 1"])
    np.testing.assert_array_equal(prepared.train, two_runs()[0].train)
    for page in ("data", "design", "train", "inspect", "predict", "runs"):
        fine(other.switch_page(f"pages/{page}.py").run())


def test_opening_ends_a_training_that_is_going_on(at: AppTest) -> None:
    saved = load_project(packed(work(at), True))
    trainer = work(at).trainer
    trainer.start("train", work(at).task, Settings(tol=1e-9), lambda: True)
    activity = trainer.activity
    open_project(work(at), saved)
    assert activity is not None
    assert activity.job.stopping
    assert work(at).trainer is not trainer
    assert activity.job.join(60)


def test_a_project_without_its_data_says_what_is_missing(at: AppTest) -> None:
    space = work(at)
    space.dataset = own_table()
    space.trainer.book.runs = [replace(run, dataset_name="my wine.csv") for run in space.trainer.book.runs]
    saved = packed(space, False)

    other = opened("runs")
    open_project(work(other), load_project(saved))
    fine(other.run())
    assert "'my wine.csv' \\(178 rows and 14 columns\\) are not in the project" in texts(other)
    assert not work(other).trainer.book.tasks
    assert work(other).dataset.name == "breast_cancer", "what was there stays until the data come"
    again = load_project(packed(work(other), True))
    assert again.data.name == "my wine.csv", "saved again it is still about the same data"
    assert again.dataset is None

    bring(other, load_sample("clinic"))
    assert "but these data lack" in texts(other)
    bring(other, Dataset.guess("wine again.csv", own_table().frame))
    fine(other)
    assert "not in the project" not in texts(other)
    assert work(other).missing is None
    assert work(other).dataset.label == "cultivar"
    assert set(work(other).trainer.book.tasks) == {"Run 1", "Run 2"}


def test_data_at_hand_are_found_for_a_project_without_them(at: AppTest) -> None:
    saved = load_project(packed(work(at), False))
    other = opened("runs")
    open_project(work(other), saved)
    assert work(other).missing is None, "the app brings this sample itself"
    assert work(other).dataset.name == WINE
    assert set(work(other).trainer.book.tasks) == {"Run 1", "Run 2"}


def test_names_in_a_file_are_made_short_and_different(at: AppTest) -> None:
    space, run = work(at), two_runs()[0]
    odd = [replace(run, name=name) for name in ("same", "same", "", "long " * 100, "two\nlines", "same (2)")]
    saved = save_project(space.drawing.spn, space.dataset, space.choices, space.split, Settings(), odd)
    open_project(space, load_project(saved))
    fine(at.run())
    assert len(set(names(at))) == len(odd) == len(space.trainer.book.tasks)
    assert max(map(len, names(at))) <= 60
    assert "two lines" in names(at)


def test_runs_of_other_data_keep_without_theirs(at: AppTest) -> None:
    bring(at, load_sample("breast_cancer"), load_sample("breast_cancer").template("flat"))
    train(work(at).trainer, at)
    project(at)
    assert "Runs of other data \\(wine\\)" in texts(at).replace("(wine)", "\\(wine\\)")
    open_project(work(at), load_project(packed(work(at), True)))
    assert set(work(at).trainer.book.tasks) == {"Run 3"}
    fine(at.run())


def test_given_matrices_are_kept_in_a_project() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.array(["a", "b"] * 20)
    X[y == "b"] += 2
    dataset = Dataset("given", pd.DataFrame({"label": y}), "label", matrices={"both": X @ X.T})
    at = opened("runs")
    bring(at, dataset, SPN(Sum(Product(Kernel("precomputed", label="both")))))
    train(work(at).trainer, at)
    fine(at.run())
    open_project(work(at), load_project(packed(work(at), True)))
    assert set(work(at).trainer.book.tasks) == {"Run 1"}
    fine(at.run())


def test_a_trainer_keeps_names_and_tasks_together() -> None:
    trainer = Trainer(book=RunBook(list(two_runs())))
    trainer.book.attach(load_sample("breast_cancer"))
    assert not trainer.book.tasks
    trainer.book.attach(load_sample(WINE))
    trainer.book.chosen = "Run 2"
    trainer.book.rename("Run 2", "best")
    trainer.book.remove("Run 1")
    assert [run.name for run in trainer.book.runs] == ["best"] == list(trainer.book.tasks)
    assert trainer.book.chosen == "best"
    assert trainer.book.fresh_name() == "Run 3", "a name is not given twice"


def test_a_weight_that_a_run_has_not_is_an_empty_cell(at: AppTest) -> None:
    table = compare(tick(at, 0, 1), "Weights β").dataframe[1]
    assert table.proto.placeholder == ""
    assert table.proto.HasField("placeholder")


def test_a_file_is_not_called_after_two_kinds() -> None:
    assert slug("app_views.csv") == slug("app_views.CSV.gz") == slug("app_views.spnmkl") == "app_views"
    assert slug("v1.5 of it") == "v1.5_of_it" and slug(".csv") == "csv"
