"""The way back from any page to what an earlier run was trained on."""

from collections.abc import Iterator

import pytest
from app_pages import bring, fine, labelled, opened, texts, train, undo, work
from streamlit.testing.v1 import AppTest

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Choices, load_sample
from spnmkl.structure.layout import unplaced
from spnmkl.training.settings import Settings

BACK = "Go back to its drawing, data and settings"
INTO_DESIGN = "Take this drawing into Design"


@pytest.fixture
def at() -> Iterator[AppTest]:
    """A run on wine with C = 0.2 and holes filled, after which other data were loaded and drawn over."""
    at = opened("runs")
    wine = load_sample("wine")
    bring(at, wine, wine.template("flat"))
    work(at).choices = Choices(missing="mean")
    train(work(at).trainer, at, C=0.2)
    bring(at, load_sample("breast_cancer"), SPN(Sum(Product(Kernel("rbf")), Product(Kernel("linear")))))
    yield fine(at.run())


def labels(at: AppTest) -> list[str]:
    return [button.label for button in at.button]


def go(at: AppTest, page: str) -> AppTest:
    return fine(at.switch_page(f"pages/{page}.py").run())


@pytest.mark.parametrize("page", ["runs", "inspect", "train"])
def test_a_run_of_something_else_is_said_to_be(at: AppTest, page: str) -> None:
    go(at, page)
    assert "**Run 1** has another drawing, other data (wine) and other settings" in texts(at)
    assert {INTO_DESIGN, BACK} <= set(labels(at))


def test_its_drawing_is_taken_and_undone(at: AppTest) -> None:
    before, run = work(at).drawing.spn, work(at).trainer.book.runs[0]
    fine(labelled(at.button, INTO_DESIGN).click().run())
    assert unplaced(work(at).drawing.spn) == unplaced(run.spn)
    assert work(at).dataset.name == "breast_cancer" and work(at).trainer.settings == Settings()
    undo(go(at, "design"), before)
    assert work(at).drawing.spn == before


def test_all_comes_back_and_the_run_is_shown_on_train(at: AppTest) -> None:
    go(at, "train")
    fine(labelled(at.button, BACK).click().run())
    run, task = work(at).trainer.book.runs[0], work(at).trainer.book.tasks["Run 1"]
    assert task.same(work(at).task) and work(at).trainer.settings == run.settings
    assert "**Run 1.** Certified optimal" in texts(at) and BACK not in labels(at)
    go(at, "runs")
    assert "Run 1** has" not in texts(at)


def test_settings_that_widgets_showed_come_back_too(at: AppTest) -> None:
    go(at, "train")
    at.selectbox(key="solver").set_value("paper").run()
    assert work(at).trainer.settings.solver == "paper"
    fine(labelled(at.button, BACK).click().run())
    assert work(at).trainer.settings == work(at).trainer.book.runs[0].settings
    assert labelled(at.selectbox, "Solver").value == "auto"
    labelled(at.selectbox, "Solver").set_value("paper").run()
    assert work(at).trainer.settings.solver == "paper"


def test_what_it_replaced_can_be_had_back(at: AppTest) -> None:
    before, drawn = work(at).dataset, work(at).drawing.spn
    fine(labelled(at.button, BACK).click().run())
    go(at, "data")
    fine(labelled(at.button, "Undo").click().run())
    assert work(at).dataset is before and unplaced(work(at).drawing.spn) == unplaced(drawn)


def test_the_same_data_loaded_again_are_those_of_the_run(at: AppTest) -> None:
    work(at).bring(load_sample("wine"))
    assert work(at).dataset is work(at).trainer.book.tasks["Run 1"].dataset
    work(at).bring(load_sample("wine").with_label("alcohol"))
    assert work(at).dataset is not work(at).trainer.book.tasks["Run 1"].dataset


def test_a_run_without_its_data_gives_its_drawing_only(at: AppTest) -> None:
    work(at).trainer.book.tasks.clear()
    fine(at.run())
    assert "Its data are not loaded." in texts(at)
    assert INTO_DESIGN in labels(at) and not [label for label in labels(at) if label.startswith("Go back")]
