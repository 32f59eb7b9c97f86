"""Scores over folds in a real browser: made beside the page, in the headline once they are there, kept when stopped."""

import re

import numpy as np
import pandas as pd
from canvas_driver import settled
from playwright.sync_api import Page, expect
from test_browser_training import LONG, set_by_hand, stop_button, train_button, train_page, wait_for_ending


def test_the_headline_becomes_that_of_the_folds(page: Page, url: str) -> None:
    train_page(page, url)
    train_button(page).click()
    wait_for_ending(page)
    headline = page.locator(".st-key-headlines")
    expect(headline).to_contain_text(re.compile(r"right of \d+ test rows|right, cross-validated"))
    expect(headline).to_contain_text("right, cross-validated", timeout=2 * LONG)
    expect(headline).to_contain_text(re.compile(r"; 5 folds(, \d times)?; the 142 test rows alone: "))
    page.get_by_role("link", name="Inspect").click()
    expect(page.locator(".st-key-headlines")).to_contain_text("right, cross-validated")
    settled(page)
    page.get_by_role("tab", name="Samples").click()
    page.get_by_text("Answers by true class").wait_for()
    expect(page.get_by_text(re.compile(r"Over 5 folds.*; training rows only; C = 1 as set by hand"))).to_be_visible()
    page.get_by_role("link", name="Predict").click()
    page.get_by_role("button", name="Try the test rows").click()
    page.get_by_text("Download (CSV)").wait_for()
    expect(page.get_by_text("Probabilities come with")).to_have_count(0)


def test_stop_keeps_the_folds_that_are_done(page: Page, url: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3600, 8)).round(2)
    table = pd.DataFrame(X).add_prefix("x").assign(label=np.where(X[:, 0] + rng.normal(size=3600) > 1.2, "ill", "well"))
    page.goto(f"{url}/data")
    page.get_by_text("Try a sample").wait_for()
    settled(page)
    page.locator("input[type=file]").first.set_input_files(
        {"name": "few_ill.csv", "mimeType": "text/csv", "buffer": table.to_csv(index=False).encode()}
    )
    expect(page.get_by_text("3,600 rows · ").first).to_be_visible(timeout=LONG)
    settled(page)
    page.get_by_role("link", name="Train", exact=True).click()
    expect(page.get_by_text("The classes are uneven")).to_be_visible(timeout=LONG)
    page.get_by_role("button", name="Let balanced accuracy count").click()
    expect(page.get_by_text("The classes are uneven")).to_have_count(0)
    settled(page)
    set_by_hand(page)
    train_button(page).click()
    wait_for_ending(page)
    expect(page.locator(".st-key-headlines")).to_contain_text("balanced accuracy, 900 test rows")
    page.get_by_text(re.compile(r"Scoring over folds: round (1, fold [45]|[2345])")).wait_for(timeout=3 * LONG)
    stop_button(page).click()
    expect(page.get_by_role("button", name=re.compile(r"More folds: \d+ of 25 done"))).to_be_visible(timeout=LONG)
    expect(page.locator(".st-key-headlines")).to_contain_text("balanced accuracy, cross-validated")
