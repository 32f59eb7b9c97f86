"""Data, 3 · Preparation: what each view's columns suggest, columns to adjust for, rows without a view."""

import re

import pandas as pd
import pytest
from app_pages import bring, fine, labelled, opened, part, texts, train, work
from streamlit.testing.v1 import AppTest
from three_views import VIEWS, one_kernel_a_view, three_views

from spnmkl.data import Choices, Dataset, load_sample
from spnmkl.structure.layout import unplaced
from spnmkl.ui.pages.data import COLUMNS, PREPARATION
from spnmkl.ui.state.opening import opening_structure


def cohort(lacking: bool = True) -> Dataset:
    return Dataset("cohort", three_views(lacking=lacking), "y", views=VIEWS)


@pytest.fixture
def at() -> AppTest:
    return part(bring(opened("data"), cohort()), PREPARATION)


def said(at: AppTest) -> str:
    return texts(at).replace("\\", "")


def test_every_view_shows_what_its_columns_suggest_and_why(at: AppTest) -> None:
    fine(at)
    assert [labelled(at.selectbox, f"Numbers of {view}").value for view in VIEWS] == ["auto"] * 3
    assert "suggested: TF-IDF (counts of words)" in labelled(at.selectbox, "Numbers of report").options
    assert "suggested: log(1 + x), then standardise" in labelled(at.selectbox, "Numbers of rna").options
    assert "of them 0, as counts of words are." in said(at)
    assert "most of them far below the largest of their column, as counts are." in said(at)
    assert "View 'rna' (8 numeric columns): log(1 + value), then scaled" in said(at)


def test_a_view_can_be_given_another_step_and_all_at_once(at: AppTest) -> None:
    labelled(at.selectbox, "Numbers of rna").set_value("ranks").run()
    assert work(fine(at)).choices == Choices("auto", views=(("rna", "ranks"),))
    assert "View 'rna' (8 numeric columns): ranks among the training rows, evenly spaced" in said(at)
    labelled(at.selectbox, "Numeric columns").set_value("as is").run()
    assert work(fine(at)).choices == Choices("as is")
    assert labelled(at.selectbox, "Numbers of rna").value == "as is"


def test_choices_go_with_the_view_that_they_are_for(at: AppTest) -> None:
    labelled(at.selectbox, "Numbers of rna").set_value("ranks").run()
    labelled(part(at, COLUMNS).multiselect, "Remove views").set_value(["rna"]).run()
    labelled(at.button, "Remove").click().run()
    assert work(fine(at)).choices == Choices("auto")


def test_rows_that_lack_a_view_are_counted_and_one_click_settles_them(at: AppTest) -> None:
    assert "Of 120 rows with a label, 11 lack report, 18 lack rna." in said(at)
    assert work(at).lacks_values
    labelled(at.radio, "Rows that lack a whole view").set_value("mean").run()
    assert not work(fine(at)).lacks_values
    assert "27 of 120 rows lack a whole view ('report' in 11 rows, 'rna' in 18 rows): the average" in said(at)
    labelled(at.radio, "Rows that lack a whole view").set_value("drop rows").run()
    found = re.search(r"(\d+) rows to train on, (\d+) to test", said(fine(at)))
    assert found is not None and sum(map(int, found.groups())) == 120 - 27 and not work(at).lacks_values


def test_without_such_rows_nothing_is_asked() -> None:
    at = part(bring(opened("data"), cohort(lacking=False)), PREPARATION)
    assert not [radio for radio in at.radio if radio.label == "Rows that lack a whole view"]
    assert not work(at).lacks_values


def test_columns_to_adjust_for_leave_the_drawing_and_are_told(at: AppTest) -> None:
    assert any(spec.features == ("age",) for spec in map(work(at).drawing.spn.spec, work(at).drawing.spn.kernels))
    labelled(part(at, COLUMNS).multiselect, "Adjust for (age, batch)").set_value(["age", "batch"]).run()
    assert work(fine(part(at, PREPARATION))).dataset.adjust == ("age", "batch")
    assert unplaced(work(at).drawing.spn) == unplaced(opening_structure(work(at).dataset))
    assert "Adjusted for 'age' (a line), 'batch' (3 values): what they tell of 41 numeric columns" in said(at)
    assert not [issue for issue in work(at).issues if issue.severity == "error"]


def test_a_drawing_that_somebody_made_stays(at: AppTest) -> None:
    mine = one_kernel_a_view()
    bring(at, cohort(), mine)
    labelled(part(at, COLUMNS).multiselect, "Adjust for (age, batch)").set_value(["age"]).run()
    assert unplaced(work(fine(at)).drawing.spn) == unplaced(mine)


def test_train_says_what_is_prepared_and_learns_it(at: AppTest) -> None:
    bring(at, cohort().with_adjust(["age", "batch"]), one_kernel_a_view())
    work(at).choices = Choices("auto", absent="mean")
    fine(at.switch_page("pages/train.py").run())
    assert "Prepared report by TF-IDF, rna as log(1 + x), adjusted for age, batch" in said(at)
    train(work(at).trainer, at)
    run = work(at).trainer.book.run
    assert run is not None and run.preparation.adjustment.names == ("age", "batch")
    assert run.preparation.steps == {"report": "tf-idf", "rna": "log1p", "lab": "standardize"}


@pytest.mark.parametrize("name", ["wine", "digits", "omics", "breast_cancer", "known", "clinic"])
def test_samples_of_measurements_are_standardised_as_ever(name: str) -> None:
    at = part(bring(opened("data"), load_sample(name)), PREPARATION)
    assert {suggestion.step for suggestion in work(at).suggested.values()} == {"standardize"}
    assert "numeric columns: scaled to mean 0 and spread 1 over the training rows." in said(at)


def test_a_table_without_views_has_one_choice_with_its_reason() -> None:
    frame = pd.DataFrame(three_views(lacking=False)[list(VIEWS["rna"])]).assign(y=three_views()["y"])
    at = part(bring(opened("data"), Dataset("counts", frame, "y")), PREPARATION)
    assert not [box for box in at.selectbox if box.label.startswith("Numbers of")]
    assert "suggested: log(1 + x), then standardise" in labelled(at.selectbox, "Numeric columns").options
    assert "as counts are." in said(at)
