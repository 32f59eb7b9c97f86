"""What matters in a real browser: measured with one click, and taken along."""

import io
from pathlib import Path

import numpy as np
import pandas as pd
from canvas_driver import settled
from playwright.sync_api import Page, expect
from test_browser_pages import too_faint
from test_browser_results import give, go
from test_browser_training import LONG, set_by_hand, train_button, wait_for_ending


def cohort(n: int = 600) -> pd.DataFrame:
    """Blood makes the labels; the clinic knows nothing of them."""
    rng = np.random.default_rng(0)
    names = ["blood__iron", "blood__zinc", "clinic__age", "clinic__pulse"]
    frame = pd.DataFrame(rng.normal(size=(n, 4)).round(3), columns=names)
    return frame.assign(state=np.where(frame["blood__iron"] * frame["blood__zinc"] > 0, "ill", "well"))


def downloaded(page: Page, key: str) -> bytes:
    with page.expect_download() as download:
        page.locator(f".st-key-{key} button").first.click()
    return Path(download.value.path()).read_bytes()


def test_views_and_columns_measured_and_taken_along(data: Page) -> None:
    give(data, "data_files", "cohort.csv", cohort().to_csv(index=False).encode())
    expect(data.get_by_text("600 rows · 5 columns")).to_be_visible(timeout=LONG)
    go(data, "Train")
    set_by_hand(data)
    train_button(data).click()
    wait_for_ending(data)
    go(data, "Inspect")
    data.get_by_role("tab", name="What matters").click()
    settled(data)
    data.get_by_role("button", name="Measure what each view is worth").click()
    data.get_by_text("(5 folds of 450 training rows)").first.wait_for(timeout=LONG)
    settled(data)
    table = pd.read_csv(io.BytesIO(downloaded(data, "download_importance_views"))).set_index("view")
    clinic, blood = table.loc["clinic"], table.loc["blood"]
    assert clinic["drop_low"] <= 0 <= clinic["drop_high"] and blood["drop_low"] > 0
    assert clinic["alone_high"] < blood["alone_low"]
    expect(data.get_by_text("falls, by more than chance, without blood")).to_be_visible()
    assert b"all without it" in downloaded(data, "figure_views")
    assert not any(too_faint(data, "importance").values())
    data.get_by_text("Which columns inside a view matter").click()
    data.get_by_role("button", name="Measure its columns").click()
    expect(data.get_by_text("on rows not trained on uses blood__")).to_be_visible(timeout=LONG)
