"""Suggest a structure in a real browser: the drawing that grows, Stop, and one click that opens what was found."""

import numpy as np
import pandas as pd
from canvas_driver import Canvas, settled
from playwright.sync_api import Page, expect
from test_browser_results import give, go
from test_browser_training import LONG


def pairs(n: int = 400) -> pd.DataFrame:
    X = np.random.default_rng(1).uniform(-1.7, 1.7, size=(n, 3)).round(3)
    frame = pd.DataFrame(X, columns=["left", "right", "other"])
    return frame.assign(kind=np.where(frame["left"] * frame["right"] > 0, "case", "control"))


def test_a_search_is_watched_stopped_and_opened(data: Page) -> None:
    give(data, "data_files", "pairs.csv", pairs().to_csv(index=False).encode())
    expect(data.get_by_text("400 rows · 4 columns").first).to_be_visible(timeout=LONG)
    go(data, "Design")
    Canvas(data)
    data.get_by_role("button", name="Suggest", exact=True).click()
    data.get_by_role("button", name="Search", exact=True).click()
    so_far = data.locator(".st-key-suggest_so_far")
    expect(so_far.locator("img, svg").first).to_be_visible(timeout=LONG)
    expect(data.get_by_text("left × right").first).to_be_visible(timeout=LONG)
    data.locator(".st-key-stop_suggest button").first.click()
    first = data.locator(".st-key-suggestion_0")
    expect(first).to_contain_text("left × right", timeout=LONG)
    expect(data.get_by_text("The flat sum of all kernels", exact=True)).to_be_visible()
    settled(data)
    first.get_by_role("button", name="Open").click()
    expect(data.get_by_role("dialog")).to_have_count(0)
    settled(data)
    labels = {node.get("label") for node in Canvas(data).nodes.values()}
    assert {"left", "right"} <= labels and "other" not in labels
