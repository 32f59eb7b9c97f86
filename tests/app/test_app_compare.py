"""The Compare page without a browser: one click, the table, what is taken along, and the guided experiment."""

import io
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pandas as pd
import pytest
from app_pages import Downloads, bring, fine, opened, texts, train, work
from streamlit.testing.v1 import AppTest

from spnmkl import Kernel
from spnmkl.data import Dataset, SplitSettings, load_sample
from spnmkl.project.project_file import load_project
from spnmkl.search import Score, Suggestion, Suggestions
from spnmkl.structure import templates
from spnmkl.study import lesson as lesson_module
from spnmkl.study.contest import Entry, Plan, Portrait, compete
from spnmkl.study.entrants import OWN, entrants, titled
from spnmkl.training.choosing import Choosing
from spnmkl.training.run import Searched
from spnmkl.training.settings import Settings
from spnmkl.ui.pages.compare import page as compare_page
from spnmkl.ui.parts.project import open_project, packed, replaced_words
from spnmkl.ui.state.task import Finding
from spnmkl.ui.state.works import Chosen, with_choice

START = compare_page.START
QUICK = Plan(folds=3, inner=2, points=1)
COLUMNS = ["alcohol", "ash", "hue"]
SEARCHED = Searched(SplitSettings(), 1.0, True)


def small(at: AppTest) -> AppTest:
    """Two classes, three kernels of one kind."""
    wine = load_sample("wine")
    return bring(at, wine.take(np.arange(0, 130, 2)), templates.flat(COLUMNS))


def button(at: AppTest, label: str) -> object:
    return next(b for b in at.button if b.label == label)


def compared(at: AppTest) -> AppTest:
    fine(button(at, START).click().run())  # type: ignore[attr-defined]
    activity = work(at).trainer.activity
    if activity is not None:
        assert activity.job.join(60)
    return fine(at.run())


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setattr(compare_page, "PLAN", QUICK)
    at = opened("compare")
    work(at).comparing.left_out |= {"random forest", "boosting", "late fusion"}  # which take longest
    return fine(small(at))


def test_before_it_says_what_will_be_compared(page: AppTest) -> None:
    table = page.dataframe[0].value
    assert table["method"].tolist()[:2] == [OWN, "average kernel"] and "lasso" in table["method"].tolist()
    assert table.set_index("method")["what it chooses on folds"]["RBF-SVM"].startswith("C, of 1 values, and γ")
    assert "how long they take is told as they go" in texts(page)


def test_one_click_fills_the_table_with_the_librarys_numbers(page: AppTest, downloads: Downloads) -> None:
    compared(page)
    known, task = work(page).trainer.contest, work(page).task
    assert known is not None and known.value.complete
    contest = known.value
    who = entrants(task.spn, task.dataset, task.choices)
    results = compete(who, task.dataset, task.choices, task.split, QUICK)
    entries = [next(results) for _ in range(3)]  # of the first fold
    assert all(isinstance(r, Entry) for r in entries)
    assert [(r.method, r.accuracy, r.C) for r in entries] == [
        (r.method, r.accuracy, r.C) for r in contest.results[:3] if isinstance(r, Entry)
    ]
    summary = contest.summary()
    shown = page.dataframe[0].value
    np.testing.assert_allclose(shown["accuracy"], 100 * summary["mean"])
    np.testing.assert_allclose(shown["± s.e."], 100 * summary["error"])
    taken = {name.partition("_")[2]: content for name, content in downloads.items()}
    folds = pd.read_csv(io.BytesIO(taken["folds.csv"]))
    assert len(folds) == len(contest.methods) * QUICK.folds
    np.testing.assert_allclose(folds.groupby("method", sort=False)["accuracy"].mean(), summary["mean"])
    assert pd.read_csv(io.BytesIO(taken["accuracy.csv"]))["method"].tolist() == list(map(titled, contest.methods))
    figure = taken["comparison.svg"].decode()
    assert figure.startswith("<svg") and OWN in figure and "#1f77c8" not in figure  # grey


@pytest.mark.chooses
def test_what_chooses_in_every_fold_has_not_changed_since_and_what_was_chosen_before_is_told(page: AppTest) -> None:
    now = work(page)
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    bring(page, Dataset("t", X.assign(y=np.where(X["a"] > 0, "x", "z")), "y"))
    now.redraw()
    now.comparing.left_out |= {"SimpleMKL", "best kernel", "average kernel", "RBF-SVM"}
    fine(page.run())
    assert now.chooses and "on all of these rows" not in texts(page)
    compared(page)
    assert "changed since" not in texts(page)
    now.by_hand = True
    assert "Settings, or the methods that take part, have changed since" in texts(fine(page.run()))
    chosen = Chosen(now.drawing.spn, now.choices, Settings(C=2.0, weights="evidence"), ("Weights: because.",), True)
    now.trainer.default = now.followed = Finding(chosen, now.task, now.trainer.settings)
    now.take_chosen(chosen)
    now.trainer.contest = None
    assert "Your drawing: chosen by cross-validation on all of these rows." in texts(fine(page.run())).replace("\\", "")


def test_what_came_out_survives_other_pages_and_ages_with_the_drawing(page: AppTest) -> None:
    compared(page)
    page.session_state["compare_part"] = "Structures side by side"
    said = texts(fine(page.run()))
    assert all(f"**{name}**" in said for name in ("your drawing", "SimpleMKL", "best kernel"))
    page.session_state["compare_part"] = "Scores"
    fine(page.switch_page("pages/train.py").run())
    fine(page.switch_page("pages/compare.py").run())
    assert len(page.dataframe[0].value) == len(work(page).trainer.contest.value.methods)  # type: ignore[union-attr]
    trainer = work(page).trainer
    project = load_project(packed(work(page), True))
    assert "the comparison with the baselines" in replaced_words(work(page), project)
    later = opened("compare")  # another visit
    open_project(work(later), project)
    said = texts(fine(later.run()))
    assert later.dataframe[0].value.equals(page.dataframe[0].value) and "the highest mean" in said
    assert "changed since: these results are of wine" not in said
    trainer.settings = Settings(p=2.0, lam=3.0)
    said = texts(fine(page.run()))
    assert "Settings, or the methods that take part, have changed since" in said
    trainer.settings = Settings(p={"gone": 2.0})  # of another drawing
    assert "changed since" not in texts(fine(page.run()))
    work(page).drawing.push(templates.flat(COLUMNS[:2]))
    assert "have changed since" in texts(fine(page.run()))
    work(page).drawing.push(templates.flat(["no such column"]))  # cannot be trained
    assert "have changed since" in texts(page.run()) and len(page.dataframe[0].value) == len(
        trainer.contest.value.methods
    )


def test_a_comparison_that_was_stopped_keeps_its_folds(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*given: Any) -> Iterator[Entry | Portrait]:
        yield from islice(compete(*given), 12)
        while True:
            time.sleep(0.01)
            given[5]("still at it")

    monkeypatch.setattr("spnmkl.ui.state.works.compete", endless)
    trainer = work(page).trainer
    fine(button(page, START).click().run())  # type: ignore[attr-defined]
    assert trainer.activity is not None
    job = trainer.activity.job
    while len(job.records) < 12:
        assert not job.join(0.01)
    fine(button(page, "Stop").click().run())  # type: ignore[attr-defined]
    assert job.join(30)
    said = texts(fine(page.run()))
    assert trainer.contest is not None and len(trainer.contest.value.results) == 12
    assert (
        f"Stopped after 12 of {trainer.contest.value.total} trainings; shown is what all methods finished: 1 fold."
        in said
    )


def test_a_drawing_that_was_searched_in_these_rows_is_said_to_be_flattered(page: AppTest) -> None:
    now, told = work(page), "Your drawing: found by Suggest on these rows"
    score = Score(0.9, 0.1, 5)
    one = Suggestion(now.drawing.spn, "a", 0.0, 1.0, 0.0, {}, {}, 1.0, score, score, {}, False, True)
    given = now.drawing.spn, "flat", 0.0, 0.0, 0.0, {}, {}, 1.0, score, score, {}
    flat = Suggestion(*given, True, False)
    for found, expected in (((flat,), False), ((one, flat), True)):
        suggested = Suggestions(found, True, True, "Found.", 1, 30, 10, 0, None, "done", 1.0)
        now.trainer.suggested = Finding(suggested, now.task, Settings())
        assert (told in texts(fine(page.run())).replace("\\", "")) == expected
    now.comparing.left_out |= {"SimpleMKL", "best kernel", "average kernel", "RBF-SVM"}
    compared(page)
    assert told in texts(page).replace("\\", ""), "beside the results, too"


def test_a_reopened_project_says_what_the_tab_said(page: AppTest) -> None:
    now = work(page)
    train(now.trainer, page)
    now.drawing.push(templates.flat([Kernel("rbf", features=COLUMNS, label="all")]))
    train(now.trainer, page, C=2.0)
    fine(page.run())
    now.comparing.left_out |= {"SimpleMKL", "best kernel", "average kernel", "RBF-SVM"}
    now.comparing.runs, now.by_hand = ("Run 1",), True
    book, trainer = now.trainer.book, now.trainer
    asked = Choosing(now.drawing.spn, now.choices, Settings(C=2.0), ("C: because.",), 1.0, 10.0)
    book.revise(lambda run: with_choice(run, asked) if run.name == "Run 2" else replace(run, searched=SEARCHED))
    trainer.default = now.followed = Finding(
        Chosen(now.drawing.spn, now.choices, Settings(C=2.0), asked.sentences, True, asked), now.task, Settings(C=2.0)
    )
    trainer.settings, book.chosen = Settings(C=2.0), "Run 1"
    fine(page.run())
    compared(page)
    before = [said for said in captions(page) if "too good" in said]
    assert len(before) == 2 and "changed since" not in texts(page), "one was chosen, one found"
    later = opened("compare")
    open_project(work(later), load_project(packed(now, True)))
    fine(later.run())
    assert [said for said in captions(later) if "too good" in said] == before
    assert "changed since" not in texts(later) and work(later).comparing.runs == ("Run 1",)
    assert work(later).chosen is not None and work(later).chosen.sentences == asked.sentences
    assert work(later).trainer.book.run.name == "Run 1"


def captions(at: AppTest) -> list[str]:
    return [caption.value for caption in at.caption]


def test_nothing_else_can_start_meanwhile(page: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare_page, "PLAN", Plan(repeats=5))  # long enough
    button(page, START).click().run()  # type: ignore[attr-defined]
    assert [b.label for b in page.button].count("Stop") == 1
    at = fine(page.switch_page("pages/train.py").run())
    assert "Train" not in [b.label for b in at.button] and "Stop" in [b.label for b in at.button]
    button(at, "Stop").click().run()  # type: ignore[attr-defined]
    assert work(at).trainer.activity is None or work(at).trainer.activity.job.join(30)  # type: ignore[union-attr]


def test_runs_of_these_data_can_take_part(page: AppTest) -> None:
    trainer = work(page).trainer
    train(trainer, page)
    work(page).drawing.push(templates.flat([Kernel("rbf", features=COLUMNS, label="all")]))
    at = fine(page.run())
    (chosen,) = at.multiselect
    assert chosen.options == ["Run 1"]
    at = fine(chosen.select("Run 1").run())
    assert "Run 1" in at.dataframe[0].value["method"].tolist()


def test_a_run_with_other_weights_and_methods_by_choice(page: AppTest) -> None:
    """The same drawing with evidence weights is offered; a box that is unticked leaves its method out."""
    trainer = work(page).trainer
    train(trainer, page, weights="evidence")
    trainer.settings = Settings(scoring="balanced_accuracy")
    at = fine(page.run())
    at = fine(at.multiselect[0].select("Run 1").run())
    box = next(box for box in at.checkbox if box.label == "RBF-SVM")
    assert box.value
    at = fine(box.uncheck().run())
    table = at.dataframe[0].value.set_index("method")["what it is"]
    assert table["Run 1"].endswith("by evidence") and "RBF-SVM" not in table and "lasso" in table
    compared(at)
    contest = trainer.contest.value
    assert contest.methods[:2] == (OWN, "Run 1") and contest.over_columns == ("lasso",)
    shown = at.dataframe[0].value
    assert shown.columns[1] == "balanced"
    assert shown["used"].tolist()[-1].endswith("of 13 columns")
    assert "have changed since" not in texts(at)


def test_data_that_cannot_be_compared_say_why(page: AppTest) -> None:
    frame = work(page).dataset.frame
    few = pd.concat([frame[frame["cultivar"] == "cultivar 0"], frame[frame["cultivar"] == "cultivar 1"][:2]])
    few = few.assign(cultivar=few["cultivar"].str.replace("1", "*rare*"))
    at = bring(page, type(work(page).dataset)("few", few.reset_index(drop=True), "cultivar"), templates.flat(COLUMNS))
    assert "rare" in texts(at) and "are needed" in texts(at) and not at.exception


def test_the_guided_experiment_leaves_data_and_drawing_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    few = lesson_module.lesson_data().take(np.arange(120))
    monkeypatch.setattr(lesson_module, "lesson_data", lambda: few)
    monkeypatch.setattr(lesson_module, "SIZES", (40,))
    monkeypatch.setattr(lesson_module, "PLAN", Plan(folds=2, inner=2, points=2))
    at = opened("compare")
    at.session_state["compare_part"] = "Guided experiment"
    before = work(at).task
    fine(at.run())
    button(at, "Run the experiment").click().run()  # type: ignore[attr-defined]
    activity = work(at).trainer.activity
    assert activity is None or activity.job.join(60)
    said = texts(fine(at.run()))
    assert "With 40 rows" in said and "share on training rows" in said
    assert work(at).task.same(before)
    at.button(key="open_lesson").click().run()
    assert work(at).dataset.name == "known"
