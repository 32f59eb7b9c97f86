"""Takes pictures of every page and state, in both themes and three sizes, of the app as it is in this checkout.

``python scripts/screenshots.py FOLDER [STATE ...]`` writes ``FOLDER/<state>_<theme>_<width>.png``; with ``--whole`` as
high as the page is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Error, Locator, Page, sync_playwright
from serving import browser_path, serving
from sklearn.datasets import load_breast_cancer

SIZES = (
    {"width": 1024, "height": 768},
    {"width": 1280, "height": 800},
    {"width": 1366, "height": 768},
    {"width": 1920, "height": 1080},
)
Theme = Literal["light", "dark"]
USUAL_WIDTHS = [1024, 1366, 1920]
LONG = 600_000  # ms, for what trains often
MESSY = "\ufeff# Clinic north\n# exported on Monday\nPatient;Size;Weight;Colour;Diagnosis\n" + "".join(
    f"P{k};1,{k + 50};{f'7{k % 10},5' if k % 4 else 'NA'};{('blue', 'red', 'green')[k % 3]};{('well', 'ill')[k % 2]}\n"
    for k in range(40)
)


def settle(page: Page) -> None:
    page.wait_for_timeout(400)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(400)


def frame(page: Page) -> Locator:
    return page.locator(".frame")


def press(page: Page, *keys: str) -> None:
    frame(page).focus()
    for key in keys:
        page.keyboard.press(key)
        settle(page)


def show_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name).click()
    settle(page)


def dialog(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).click()
    page.get_by_role("dialog").wait_for()
    settle(page)


def figure_1(page: Page) -> None:
    dialog(page, "Templates")
    page.locator(".st-key-use_figure1 button").click()
    page.get_by_role("dialog").wait_for(state="hidden")
    settle(page)


def choose(page: Page, id: str) -> None:
    place = frame(page).evaluate("(f, id) => f.spnCanvas.screenPosition(id)", id)
    page.mouse.click(place["x"], place["y"])
    settle(page)


def faulty(page: Page) -> None:
    figure_1(page)
    choose(page, "k3")
    press(page, "Delete")
    show_tab(page, "Checks")


def chosen_path(page: Page) -> None:
    figure_1(page)
    show_tab(page, "Paths")
    page.get_by_test_id("stDataFrame").filter(visible=True).first.click(position={"x": 12, "y": 35 * 5 + 17})
    settle(page)


def path_dependent(page: Page) -> None:
    chosen_path(page)
    page.get_by_text("Path-dependent view").click()
    settle(page)


def upload(page: Page, name: str, content: bytes) -> None:
    page.locator("input[type=file]").first.set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content}  # type: ignore[arg-type]
    )
    settle(page)


def joined(page: Page) -> None:
    names = {"blood.csv": ("id", "iron", "sugar"), "scan.csv": ("id", "width", "length", "label")}
    rows = [(f"P{k}", k % 7, k % 5, "ab"[k % 2]) for k in range(60)]
    files = {
        name: "\n".join(",".join(map(str, row)) for row in (titles, *(row[: len(titles)] for row in rows)))
        for name, titles in names.items()
    }
    page.locator("input[type=file]").first.set_input_files(
        [{"name": name, "mimeType": "text/csv", "buffer": text.encode()} for name, text in files.items()]
    )
    settle(page)


def messy(page: Page) -> None:
    upload(page, "clinic export.csv", MESSY.encode())
    page.get_by_text("40 rows × 5 columns").click()
    settle(page)


def sample(page: Page, name: str) -> None:
    page.get_by_role("button", name=f"Load {name}").click()
    settle(page)


def clinic(page: Page, tab: str) -> None:
    sample(page, "Clinic")
    show_tab(page, tab)


def train(page: Page) -> None:
    page.get_by_role("button", name="Train", exact=True).wait_for()
    page.get_by_text("Useful above C_min").wait_for()
    settle(page)
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_text("Certified optimal").first.wait_for()
    settle(page)
    stop_button(page).wait_for(state="hidden", timeout=LONG)  # until it is scored over folds
    settle(page)


def many_classes(page: Page) -> None:
    """27 of them, of which some are mistaken for others."""
    rows = [
        (k % 27, round(((k % 27) % 6) + 0.9 * ((7 * k) % 11) / 11, 2), (k % 27) // 6 + (k * 5) % 3) for k in range(540)
    ]
    text = "class,width,length\n" + "".join(f"letter {chr(65 + c) if c < 26 else 'ß'},{x},{y}\n" for c, x, y in rows)
    upload(page, "letters.csv", text.encode())
    page.get_by_text("540 rows · ").first.wait_for()
    page.get_by_role("link", name="Train", exact=True).click()
    elsewhere(page, "Inspect", "Samples")


def with_pyvis(page: Page) -> None:
    elsewhere(page, "Inspect")
    page.get_by_text("Show it with pyvis").click()
    settle(page)
    page.wait_for_timeout(1000)


def trained(page: Page, *tabs: str) -> None:
    train(page)
    for tab in tabs:
        show_tab(page, tab)


def open_settings(page: Page) -> None:
    page.get_by_text("Useful above C_min").wait_for()
    page.get_by_text("All settings").click()
    settle(page)


def by_landmarks(page: Page) -> None:
    """Landmarks chosen under All settings, and trained; a sample of 200 rows."""
    page.get_by_text("All settings").click()
    settle(page)
    page.get_by_role("combobox", name="Rows").click()
    page.get_by_role("option", name="all rows by landmarks").click()
    settle(page)
    for name, value in (("Landmarks", 100), ("Rows of the sample", 200)):
        page.get_by_label(name, exact=True).fill(str(value))
        page.keyboard.press("Enter")
        settle(page)
    page.get_by_text("All settings").click()
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_text("certified for this sample").first.wait_for(timeout=LONG)
    settle(page)


def search(page: Page, button: str) -> None:
    train(page)
    page.get_by_role("button", name=button, exact=True).click()
    finished(page)


def known(page: Page) -> None:
    page.get_by_role("link", name="Data").click()
    page.get_by_role("button", name="And its drawing").click()
    train(page)


def elsewhere(page: Page, name: str, *tabs: str) -> None:
    """Train, then look at another page."""
    train(page)
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_text(f"{name} — ").wait_for()
    settle(page)
    for tab in tabs:
        show_tab(page, tab)


def predicted(page: Page) -> None:
    elsewhere(page, "Predict")
    data = load_breast_cancer(as_frame=True)
    rows = data.frame.drop(columns="target").iloc[:25]
    page.locator("input[type=file]").last.set_input_files(
        {"name": "new patients.csv", "mimeType": "text/csv", "buffer": rows.to_csv(index=False).encode()}
    )
    settle(page)


def two_runs(page: Page) -> None:
    train(page)
    slider = page.get_by_role("slider", name="C: how much an error costs")
    for _ in range(4):
        slider.press("ArrowRight")
        settle(page)
    page.get_by_role("button", name="Train", exact=True).click()
    page.get_by_text("Run 2.").wait_for()
    page.get_by_role("link", name="Runs", exact=True).click()
    settle(page)


def compared(page: Page) -> None:
    two_runs(page)
    page.get_by_test_id("stDataFrame").first.click(position={"x": 12, "y": 35 * 2 + 17})
    settle(page)


def stop_button(page: Page) -> Locator:
    """The first of them: what was trained may still be scored over folds."""
    return page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop").first


def finished(page: Page) -> None:
    stop_button(page).wait_for()
    stop_button(page).wait_for(state="hidden", timeout=LONG)
    settle(page)


def baselines(page: Page, *tabs: str) -> None:
    page.get_by_role("button", name="Train the baselines").click()
    finished(page)
    for tab in tabs:
        show_tab(page, tab)


def stopped_baselines(page: Page) -> None:
    page.get_by_role("button", name="Train the baselines").click()
    page.get_by_text("Fold 3 of 5").wait_for(timeout=120_000)
    stop_button(page).click()
    page.get_by_text("Stopped after").wait_for()
    settle(page)


def running_baselines(page: Page) -> None:
    page.get_by_role("button", name="Train the baselines").click()
    page.get_by_text("Fold 2 of 5").wait_for(timeout=120_000)
    page.wait_for_timeout(600)


def measured(page: Page, *, weights: str | None = None) -> None:
    """What each view is worth, and the columns of the first; of the run at these weights."""
    if weights is not None:
        open_settings(page)
        page.get_by_role("combobox", name="Weights").click()
        page.get_by_role("option", name=weights).click()
        settle(page)
        page.get_by_role("button", name="Train", exact=True).click()
        page.get_by_text("Run 1.").wait_for()
        page.get_by_role("link", name="Inspect", exact=True).click()
        settle(page)
        show_tab(page, "What matters")
    else:
        elsewhere(page, "Inspect", "What matters")
    page.get_by_role("button", name="Measure what each view is worth").click()
    finished(page)
    page.get_by_text("Which columns inside a view matter").click()
    page.get_by_role("button", name="Measure its columns").click()
    finished(page)


def branches(page: Page) -> None:
    elsewhere(page, "Inspect", "Branches")
    page.get_by_role("button", name="Weigh by evidence").click()
    finished(page)


def chosen(page: Page) -> None:
    page.get_by_text("Useful above C_min").wait_for()
    page.get_by_role("button", name="Let it choose").click()
    page.get_by_role("button", name="Take it and train").wait_for(timeout=LONG)
    settle(page)


def suggested(page: Page) -> None:
    dialog(page, "Suggest")
    page.locator(".st-key-suggest_begin button").click()
    page.get_by_role("button", name="Open", exact=True).first.wait_for(timeout=LONG)
    settle(page)


def guided(page: Page) -> None:
    show_tab(page, "Guided experiment")
    page.get_by_role("button", name="Run the experiment").click()
    finished(page)


def guided_from_the_start(page: Page) -> None:
    page.get_by_role("button", name="Run the guided experiment").click()
    page.get_by_text("learned from 40 rows").wait_for(timeout=120_000)


STATES: dict[str, tuple[str, Callable[[Page], object]]] = {
    "start": ("", lambda page: None),
    "start_guided": ("", guided_from_the_start),
    "design": ("design", lambda page: None),
    "design_empty": ("design", lambda page: press(page, "Control+a", "Delete")),
    "design_figure1": ("design", figure_1),
    "design_kernel": ("design", lambda page: (figure_1(page), choose(page, "k3"))),
    "design_product": ("design", lambda page: (figure_1(page), choose(page, "p9"))),
    "design_faulty": ("design", faulty),
    "design_checks": ("design", lambda page: show_tab(page, "Checks")),
    "design_path": ("design", chosen_path),
    "design_expanded": ("design", path_dependent),
    "design_formula": ("design", lambda page: show_tab(page, "Formula")),
    "design_templates": ("design", lambda page: dialog(page, "Templates")),
    "design_table": ("design", lambda page: dialog(page, "Table")),
    "design_exchange": ("design", lambda page: dialog(page, "Open, save")),
    "design_suggest": ("design", lambda page: dialog(page, "Suggest")),
    "design_suggested": ("design", suggested),
    "data": ("data", lambda page: None),
    "data_upload": ("data", messy),
    "data_joined": ("data", joined),
    "data_broken": ("data", lambda page: upload(page, "broken.xlsx", b"PK\x03\x04")),
    "data_columns": ("data", lambda page: clinic(page, "2 · Columns")),
    "data_preparation": ("data", lambda page: clinic(page, "3 · Preparation")),
    "train_before": ("train", lambda page: page.get_by_text("Useful above C_min").wait_for()),
    "train": ("train", train),
    "train_known": ("train", known),
    "train_convergence": ("train", lambda page: trained(page, "Convergence")),
    "train_weights": ("train", lambda page: trained(page, "Weights")),
    "train_settings": ("train", open_settings),
    "train_landmarks": ("train", by_landmarks),
    "train_choice": ("train", lambda page: (search(page, "Choose C"), show_tab(page, "Choice of C"))),
    "train_path": ("train", lambda page: (search(page, "β against C"), show_tab(page, "β against C"))),
    "train_chosen": ("train", chosen),
    "inspect_empty": ("inspect", lambda page: None),
    "inspect": ("train", lambda page: elsewhere(page, "Inspect")),
    "inspect_weights": ("train", lambda page: elsewhere(page, "Inspect", "Weights and paths")),
    "inspect_matters": ("train", lambda page: elsewhere(page, "Inspect", "What matters")),
    "inspect_measured": ("train", measured),
    "inspect_by_evidence": ("train", lambda page: measured(page, weights="evidence weights")),
    "inspect_branches": ("train", branches),
    "inspect_kernels": ("train", lambda page: elsewhere(page, "Inspect", "Kernels")),
    "inspect_samples": ("train", lambda page: elsewhere(page, "Inspect", "Samples")),
    "inspect_what_if": ("train", lambda page: elsewhere(page, "Inspect", "What if")),
    "inspect_proof": ("train", lambda page: elsewhere(page, "Inspect", "Proof")),
    "inspect_node": ("train", lambda page: (elsewhere(page, "Inspect"), choose(page, "p4"))),
    "inspect_pyvis": ("train", with_pyvis),
    "inspect_many_classes": ("data", many_classes),
    "compare_before": ("compare", lambda page: None),
    "compare_running": ("compare", running_baselines),
    "compare_stopped": ("compare", stopped_baselines),
    "compare": ("compare", baselines),
    "compare_structures": ("compare", lambda page: baselines(page, "Structures side by side")),
    "compare_guided_before": ("compare", lambda page: show_tab(page, "Guided experiment")),
    "compare_guided": ("compare", guided),
    "predict_empty": ("predict", lambda page: None),
    "predict": ("train", predicted),
    "runs_empty": ("runs", lambda page: None),
    "runs": ("train", two_runs),
    "runs_compared": ("train", compared),
    "projects": ("projects", lambda page: None),
    "projects_with_run": ("train", lambda page: elsewhere(page, "Projects")),
}


def take(browser: Browser, url: str, given: argparse.Namespace) -> list[str]:
    """Every state is made once, and looked at in every size and theme; which of them could not be made."""
    sizes = [size for size in SIZES if size["width"] in given.widths]
    context = browser.new_context(viewport=sizes[0], reduced_motion="reduce")  # type: ignore[arg-type]
    failed = []
    for state in given.states or STATES:
        page = context.new_page()
        try:
            show(page, url, state, given.themes[0])
            for size in sizes:
                page.set_viewport_size(size)  # type: ignore[arg-type]
                settle(page)
                if given.whole:
                    heighten(page, size["width"])
                for theme in given.themes:
                    page.emulate_media(color_scheme=theme)
                    settle(page)
                    page.screenshot(path=given.folder / f"{state}_{theme}_{size['width']}.png")
        except Error as error:
            failed.append(f"{state}: {error.message.splitlines()[0]}")
        page.close()
    context.close()
    return failed


def show(page: Page, url: str, state: str, theme: Theme) -> None:
    address, act = STATES[state]
    page.emulate_media(color_scheme=theme)
    page.goto(f"{url}/{address}")
    page.get_by_text(" — ").first.wait_for()
    settle(page)
    act(page)
    page.mouse.move(2, 2)


def heighten(page: Page, width: int) -> None:
    """A window in which nothing is below the fold."""
    height = page.locator("[data-testid=stMain]").evaluate("main => main.scrollHeight")
    page.set_viewport_size({"width": width, "height": max(height, page.viewport_size["height"])})  # type: ignore[index]
    settle(page)


def main() -> None:
    parser = argparse.ArgumentParser(description="Retake the pictures of every page and state.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--themes", nargs="*", default=["light", "dark"], choices=["light", "dark"])
    parser.add_argument("--widths", nargs="*", type=int, default=USUAL_WIDTHS)
    parser.add_argument("--whole", action="store_true", help="all of a page, also what is below the fold")
    parser.add_argument("states", nargs="*", default=[], metavar="STATE", help=f"of {', '.join(STATES)}; all if none")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with serving() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        failed = take(browser, url, given)
        browser.close()
    if failed:
        sys.exit("Not taken:\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
