"""One click to a comparison with the baselines in a real browser, and what is taken along."""

import io

import numpy as np
import pandas as pd
from canvas_driver import settled
from playwright.sync_api import Page, expect
from test_browser_results import give, go, taken
from test_browser_training import LONG, stop_button


def easy(n: int) -> pd.DataFrame:
    """Classes far apart, on which every training is short."""
    side = np.arange(n) % 2
    noise = np.random.default_rng(0).normal(size=(n, 2)).round(3)
    return pd.DataFrame(
        {"petal": 4 * side + noise[:, 0], "sepal": noise[:, 1], "kind": np.array(["iris", "rose"])[side]}
    )


def test_one_click_compares_and_the_results_are_taken_along(data: Page) -> None:
    give(data, "data_files", "flowers.csv", easy(40).to_csv(index=False).encode())
    expect(data.get_by_text("40 rows · 3 columns")).to_be_visible()
    go(data, "Compare")
    data.get_by_text("Methods that take part").click()
    for slow in ("random forest", "boosting"):
        data.locator("label").filter(has_text=slow).click()
        settled(data)
    data.get_by_role("button", name="Train the baselines on this data").click()
    stop_button(data).wait_for()
    stop_button(data).wait_for(state="hidden", timeout=LONG)
    expect(data.get_by_text("the highest mean")).to_be_visible()
    settled(data)
    folds = pd.read_csv(io.BytesIO(taken(data, "Every fold (CSV)")))
    summary = pd.read_csv(io.BytesIO(taken(data, "Summary (CSV)")))
    assert (folds.groupby("method").size() == 5).all() and set(folds["method"]) == set(summary["method"])
    figure = taken(data, "Figure (SVG)").decode()
    assert figure.startswith("<svg") and all(f">{name}<" in figure for name in ("your drawing", "SimpleMKL"))
    data.get_by_role("tab", name="Structures side by side").click()
    expect(data.get_by_text("best kernel · C =")).to_be_visible()
    settled(data)
    columns = {"lasso", "RBF-SVM"}
    assert set(summary["method"]) >= columns
    expect(data.get_by_test_id("stImage")).to_have_count(len(summary) - len(columns))
