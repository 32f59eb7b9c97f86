"""Evidence weights in the app without a browser: the setting, the training live, and the branches on Inspect."""

from dataclasses import replace

import numpy as np
import pandas as pd
from app_pages import bring, fine, opened, texts, train, work
from streamlit.testing.v1 import AppTest

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Dataset
from spnmkl.training.settings import Settings


def column(name: str) -> Kernel:
    return Kernel("rbf", gamma=0.5, features=[name])


DRAWING = SPN(
    Sum(
        Product(Sum(Product(column("a")), Product(column("b"))), id="added", label="sum of a and b"),
        Product(column("a"), column("b"), id="multiplied", label="a times b"),
        id="root",
    )
)


def dataset() -> Dataset:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(-1.7, 1.7, size=(160, 2)), columns=list("ab"))
    score = np.sin(2 * frame["a"]) + np.cos(2 * frame["b"])
    return Dataset("sum", frame.assign(y=np.where(score > score.median(), "yes", "no")), "y")


def trained(weights: str) -> AppTest:
    at = bring(opened("train"), dataset(), DRAWING)
    train(work(at).trainer, at, C=5.0, weights=weights)  # type: ignore[arg-type]
    return at


def test_the_setting_is_taken_and_C_min_is_not_spoken_of() -> None:
    at = bring(opened("train"), dataset(), DRAWING)
    (choice,) = [box for box in at.selectbox if box.label == "Weights"]
    fine(choice.select("evidence").run())
    trainer = work(at).trainer
    assert trainer.settings == Settings(weights="evidence")
    shown = {widget.label for widget in (*at.number_input, *at.selectbox, *at.select_slider)}
    assert not {"λ", "Solver", "Gap to prove"} & shown and "Gap of the SVM" in shown
    if trainer.activity is not None:
        trainer.activity.job.join(60)
    fine(at.run())
    assert "evidence weights do not depend on it" in texts(at)
    (path,) = [button for button in at.button if button.label == "β against C"]
    assert path.disabled


def test_a_training_is_shown_with_its_log_evidence_and_no_gap() -> None:
    at = trained("evidence")
    (run,) = work(at).trainer.book.runs
    assert run.solution.status == "evidence" and len(run.solution.history) > 1
    at = fine(at.run())
    assert "Evidence weights, not certified" in texts(at)
    at.session_state["watched"] = "Convergence"
    fine(at.run())
    assert "best log evidence so far" in texts(at)
    assert not at.success


def test_every_tab_of_inspect_shows_it() -> None:
    at = trained("evidence")
    at = fine(at.switch_page("pages/inspect.py").run())
    for tab in ("Drawing", "Weights and paths", "What matters", "Branches", "Kernels", "Samples", "What if", "Proof"):
        at.session_state["inspect"] = tab
        fine(at.run())
        said = texts(at)
        assert "ertified optimal" not in said and "nan" not in said.split()
        assert not [words for words in ("at this C", "price of β", "with the optimum") if words in said]
        assert not {"p", "KKT residual"} & {column for frame in at.dataframe for column in frame.value.columns}
        assert "Objective" not in {metric.label for metric in at.metric}
    assert "Why there is no proof" in texts(at)


def test_branches_are_weighed_on_request_and_stay_with_the_run() -> None:
    at = trained("certified")
    at = fine(at.switch_page("pages/inspect.py").run())
    at.session_state["inspect"] = "Branches"
    fine(at.run())
    assert "cannot tell whether a sum or a product" in texts(at) and "Evidence:" not in texts(at)
    assert {"β", "share of Σg", "held-out share"} < set(at.dataframe[0].value)
    (button,) = [button for button in at.button if button.label == "Weigh by evidence"]
    button.click().run()
    trainer = work(at).trainer
    if trainer.activity is not None:
        assert trainer.activity.job.join(60)
    fine(at.run())
    table = at.dataframe[0].value.set_index("branch")
    assert table.loc["sum of a and b", "Δ evidence"] > 5 > 1 > table.loc["a times b", "Δ evidence"]
    assert "need sum of a and b, and not the product" in texts(at)
    trainer.book.runs = [replace(trainer.book.runs[0], name="another")]
    trainer.book.tasks["another"] = trainer.book.tasks["Run 1"]
    fine(at.run())
    assert "need sum of a and b" in texts(at), "the same solution under another name"
