"""Design's Checks against the loaded data: each finding, its button, and what the button leaves."""

import numpy as np
import pandas as pd
import pytest
from app_pages import bring, fine, labelled, opened, send, show, spn, texts, work
from streamlit.testing.v1 import AppTest

from spnmkl.data import Dataset
from spnmkl.structure import SPN, Kernel, templates
from spnmkl.structure.layout import unplaced
from spnmkl.ui.pages.design.checks import BY_EVIDENCE, ONE_WIDTH

X = np.random.default_rng(1).normal(size=(120, 60))
NAMES = [f"g{k}" for k in range(60)]
DATA = Dataset("t", pd.DataFrame(X, columns=NAMES).assign(y=np.where(X[:, 0] > 0, "a", "b")), "y")
NARROW = templates.flat([Kernel("rbf", gamma=10 / 60, features=NAMES, label="narrow"), Kernel("linear", label="line")])
WIDTHS = templates.flat([Kernel("rbf", gamma=g, features=NAMES, label=w) for w, g in (("wide", 0.005), ("near", 0.02))])


@pytest.fixture
def at() -> AppTest:
    return opened()


def checks(at: AppTest, drawing: SPN) -> AppTest:
    return fine(show(bring(at, DATA, drawing), "Checks"))


def test_one_click_takes_the_width_from_the_data(at: AppTest) -> None:
    checks(at, NARROW)
    assert "'rbf · narrow' is nearly the identity" in texts(at)
    at.button(key="repair_0").click().run()
    assert unplaced(spn(at)) == NARROW.replace("k1", params={"gamma": "median"})
    assert "valid and fits the data" in texts(fine(at))


def test_all_repairs_with_one_click(at: AppTest) -> None:
    both = templates.flat([Kernel("rbf", gamma=9.0, label="a"), Kernel("linear"), Kernel("linear", label="again")])
    checks(at, both)
    labelled(at.button, "Repair all 2").click().run()
    assert "valid and fits the data" in texts(fine(at))
    assert unplaced(spn(at)).kernels == ("k1", "k2")


def test_a_repair_of_what_was_edited_meanwhile_is_not_made(at: AppTest) -> None:
    checks(at, NARROW)
    button = at.button(key="repair_0")
    work(at).drawing.push(spn(at).replace("k1", params={"gamma": 0.01}))
    button.click().run()
    assert dict(spn(at).spec("k1").params) == {"gamma": 0.01}


def test_train_warns_before_training(at: AppTest) -> None:
    bring(at, DATA, NARROW)
    at.switch_page("pages/train.py").run()
    assert "'rbf · narrow' is nearly the identity" in texts(fine(at))


def test_moving_a_node_asks_for_nothing_anew(at: AppTest) -> None:
    checks(at, NARROW)
    before = work(at).kernel_issues
    nodes = [{**node, "x": node["x"] + 40} for node in spn(at).to_dict()["nodes"]]
    send(at, nodes=nodes)
    assert work(at).kernel_issues[0] is before[0]


def test_one_width_by_cross_validation(at: AppTest) -> None:
    checks(at, WIDTHS)
    assert "differ in width alone" in texts(at)
    labelled(at.button, ONE_WIDTH).click().run()
    activity = work(at).trainer.activity
    if activity is not None:
        activity.job.join(60)
    work(at).trainer.collect()
    fine(at.run())
    assert "Right on held-out folds of" in texts(at)
    (keep,) = [button for button in at.button if button.label.startswith("Keep ")]
    keep.click().run()
    assert len(spn(at).kernels) == 1
    assert "valid" in texts(fine(at)) or "single child" in texts(at)


def test_evidence_may_choose_among_widths(at: AppTest) -> None:
    checks(at, WIDTHS)
    labelled(at.button, BY_EVIDENCE).click().run()
    assert work(at).trainer.settings.weights == "evidence"
    assert "differ in width alone" not in texts(fine(at))
