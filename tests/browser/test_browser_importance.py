"""Noise under a narrow kernel has no importance by any number of the Inspect page and of the report."""

import re

import pandas as pd
from canvas_driver import Canvas, settled
from noisy_table import MOST, SETTINGS, SPLIT, noisy_dataset, noisy_structure
from playwright.sync_api import Locator, Page, expect
from test_browser_results import go, taken
from test_browser_training import train_button, wait_for_ending

from spnmkl.data import Choices
from spnmkl.project.project_file import save_project

SHARE = re.compile(r"held-out share\W*([−-]?[\d.]+) ± ([\d.]+) %")


def opened(page: Page, url: str) -> Page:
    """The table and its drawing, from a project without runs."""
    content = save_project(noisy_structure(), noisy_dataset(), Choices(), SPLIT, SETTINGS)
    page.goto(f"{url}/runs")
    page.get_by_role("button", name="Save or open a project").click()
    dialog = page.get_by_role("dialog")
    dialog.wait_for()
    dialog.get_by_role("tab", name="Open").click()
    settled(page)
    dialog.locator("input[type=file]").first.set_input_files(
        {"name": "noisy.zip", "mimeType": "application/zip", "buffer": content}
    )
    dialog.get_by_role("button", name=re.compile("Open it|Replace them")).click()
    expect(dialog).to_be_hidden()
    settled(page)
    return page


def told(text: str) -> float:
    """The one held-out share that a text tells, in per cent."""
    (found,) = {number for number, _ in SHARE.findall(text.replace("\u00a0", " "))}
    return float(found.replace("−", "-"))


def show(page: Page, tab: str) -> Locator:
    page.get_by_role("tab", name=tab, exact=True).click()
    settled(page)
    return page.get_by_role("tabpanel", name=tab)


def table(page: Page, panel: Locator) -> pd.DataFrame:
    with page.expect_download() as download:
        panel.get_by_test_id("stDownloadButton").get_by_role("button", name="CSV").click()
    return pd.read_csv(download.value.path())


def test_noise_under_a_narrow_kernel_has_no_importance(page: Page, url: str) -> None:
    go(opened(page, url), "Train")
    train_button(page).click()
    wait_for_ending(page)
    go(page, "Inspect")
    canvas = Canvas(page)
    weights = {v: float(canvas.look(f"canvas.look('{v}').value")) for v in ("p1", "p2")}
    assert weights["p2"] > 3 * weights["p1"], "the noise is heavy, else nothing is tested"
    for node in ("p2", "k2"):
        assert abs(told(canvas.look(f"canvas.look('{node}').title"))) < MOST
    assert told(canvas.look("canvas.look('p1').title")) > 100 - MOST

    paths = table(page, show(page, "Weights and paths")).set_index("kernels")["held-out share"]
    assert abs(paths["rbf γ=2 · noise"]) < MOST / 100 and paths["linear · signal"] > 1 - MOST / 100

    matters = show(page, "What matters")
    expect(matters.get_by_text("measured on 72 test rows")).to_be_visible()
    ranks = table(page, matters).set_index("id")["held-out share"]
    assert list(ranks.index[:2]) == ["signal", "noise"] and list(ranks.index[2:]) == ["k1", "k2"]
    for noise in ("noise", "k2"):
        assert abs(ranks[noise]) < MOST / 100
    chart = matters.locator(".stVegaLiteChart svg").first
    chart.wait_for()
    bars = chart.locator("path[aria-roledescription=bar]").all()
    widths = [bar.bounding_box()["width"] for bar in bars]  # type: ignore[index]
    assert len(widths) == 2 and widths[1] < 0.06 * widths[0], "of the views, noise has next to no bar"
    assert "path weights" not in (chart.text_content() or "")

    go(page, "Runs")
    report = taken(page, "Report (HTML)").decode().replace("\u00a0", " ")
    assert "measured on 72 test rows" in report and "of the decision" not in report
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", report, re.DOTALL)
    shared = {row: found for row in rows if (found := re.findall(r"([−-]?[\d.]+) ± [\d.]+ %", row))}
    assert len(shared) == 4  # two paths, two weights
    for row, (number,) in shared.items():
        share = float(number.replace("−", "-"))
        assert (abs(share) < MOST) if "noise" in row else (share > 100 - MOST)
