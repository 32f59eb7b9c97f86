"""Training in a real browser: one click to a proof, stopping, reloading, two visitors."""

import re
from collections.abc import Callable

import numpy as np
import pandas as pd
from canvas_driver import Canvas, settled
from playwright.sync_api import Page, WebSocketRoute, expect

from spnmkl.structure import Kernel, templates

LONG = 60_000
FADED = "canvas.drawing.nodes.filter(n => canvas.look(n.id)?.title?.endsWith('pruned')).length"


def train_page(page: Page, url: str) -> Page:
    page.goto(f"{url}/train")
    set_by_hand(page)
    page.get_by_text("Useful above C_min").wait_for()
    settled(page)
    return page


def set_by_hand(page: Page) -> None:
    """Train the drawing that the data opened on as it is set, which is quicker than to choose."""
    page.get_by_text("Choose C and weights for me").click()
    page.get_by_text("C: how much an error costs").wait_for()


def train_button(page: Page):  # type: ignore[no-untyped-def]
    return page.get_by_role("button", name="Train", exact=True)


def stop_button(page: Page):  # type: ignore[no-untyped-def]
    """Ours: Streamlit shows one of its own while a page is drawn."""
    return page.get_by_test_id("stMainBlockContainer").get_by_role("button", name="Stop")


def wait_for_ending(page: Page, words: str = "Certified optimal") -> str:
    alert = page.get_by_test_id("stAlert").filter(has_text=words)
    alert.wait_for(timeout=LONG)
    settled(page)
    return alert.inner_text()


def slow(page: Page) -> None:
    """What takes long on any machine: noise in many views, no kernel that learns it by heart at once, a large
    C, the paper's algorithm, a tiny gap."""
    noise = np.random.default_rng(0).normal(size=(3000, 20)).round(2)
    table = pd.DataFrame(noise, columns=[f"view{k}__x" for k in range(20)]).assign(label=np.arange(3000) % 2)
    page.get_by_role("link", name="Data").click()
    page.get_by_text("Try a sample").wait_for()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "noise.csv", "mimeType": "text/csv", "buffer": table.to_csv(index=False).encode()}
    )
    expect(page.get_by_text("3,000 rows · ").first).to_be_visible(timeout=LONG)
    settled(page)
    page.get_by_role("link", name="Design", exact=True).click()
    kernels = [Kernel("rbf", gamma=1, features=[name]) for name in table.columns[:-1]]
    Canvas(page).opened("slow.json", templates.flat(kernels).to_json().encode())
    page.get_by_role("link", name="Train", exact=True).click()
    page.get_by_text("All settings").click()
    page.wait_for_timeout(400)  # it unfolds
    exactly = page.get_by_label("C, exactly", exact=True)
    exactly.fill("30")
    exactly.press("Enter")
    settled(page)
    solver, paper = page.get_by_role("combobox", name="Solver"), page.get_by_role("option", name="Algorithm 1")
    for _ in range(5):  # a page that is drawn at that moment closes the list
        solver.click()
        page.wait_for_timeout(500)
        if paper.is_visible():
            paper.click()
            break
        settled(page)
    settled(page)
    expect(solver).to_have_value(re.compile("Algorithm 1"))
    gap = page.get_by_role("slider", name="Gap to prove")
    for _ in range(3):
        gap.press("ArrowRight")
    expect(gap).to_have_attribute("aria-valuetext", "0.0001 %")
    settled(page)


def test_open_train_inspect(data: Page) -> None:
    page = data
    page.get_by_role("button", name="Load Wine").click()
    expect(page.get_by_text("178 rows · 13 columns").first).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Next: draw the structure").click()
    page.get_by_role("button", name="Next: train").click()
    train_button(page).click()
    wait_for_ending(page, "Run 1.")
    why = page.locator(".st-key-chosen")
    expect(why).to_contain_text("Weights: ")
    expect(why).to_contain_text("on 5 folds of 134 training rows")
    faded = Canvas(page).look(FADED)
    page.get_by_role("button", name="Next: what was learned").click()
    expect(page.get_by_text("Inspect — ")).to_be_visible()
    trained = Canvas(page)
    trained.wait(f"{FADED} === {faded}")


def test_train_pressed_before_the_page_is_ready_keeps_C(tab: Callable[[], Page], url: str) -> None:
    for _ in range(2):
        page = tab()
        page.goto(f"{url}/train")
        set_by_hand(page)
        train_button(page).click()  # C_min is still looked for, and the page drawn anew for it
        wait_for_ending(page)
        page.get_by_text("Useful above C_min").wait_for()
        settled(page)
        page.get_by_text("All settings").click()  # what the browser shows is sent with it
        expect(page.get_by_label("C, exactly", exact=True)).to_have_value("1")
        expect(page.get_by_role("slider", name="C: how much an error costs")).to_have_attribute("aria-valuetext", "1")
        expect(page.get_by_text("The settings have changed since")).to_have_count(0)


def test_a_long_training_outlives_a_page_switch_and_a_reload_and_is_stopped(page: Page, url: str) -> None:
    train_page(page, url)
    slow(page)
    train_button(page).click()
    stop_button(page).wait_for()
    page.get_by_role("link", name="Data").click()
    page.get_by_text("Try a sample").wait_for()
    page.get_by_role("link", name="Train").click()
    stop_button(page).wait_for()
    page.reload()
    stop_button(page).wait_for()
    expect(page.get_by_text(re.compile(r"iteration \d+"))).to_be_visible(timeout=LONG)
    stop_button(page).click()
    assert "the best weights so far are kept" in wait_for_ending(page, "Stopped after")
    train_button(page).wait_for()


def test_two_visitors_get_their_own_results(tab: Callable[[], Page], url: str) -> None:
    first, second = train_page(tab(), url), train_page(tab(), url)
    slider = second.get_by_role("slider", name="C: how much an error costs")
    for _ in range(5):  # a page that is drawn at that moment takes it back
        slider.focus()
        slider.press("Home")
        second.wait_for_timeout(500)
        settled(second)
    lowest = slider.get_attribute("aria-valuetext")
    assert lowest is not None and "all weights zero" in lowest, lowest
    settled(first)
    for page in (first, second):
        train_button(page).click()
    said = [wait_for_ending(page, "ertified optimal") for page in (first, second)]
    assert all("Run 1" in words for words in said)
    assert said[0] != said[1]
    assert "every weight is zero" not in said[0]
    assert "every weight is zero" in said[1]


def test_choose_C_by_cross_validation(page: Page, url: str) -> None:
    train_page(page, url)
    page.get_by_role("button", name="Choose C", exact=True).click()
    take = page.get_by_role("button", name="Take the best C")
    take.wait_for(timeout=LONG)
    page.get_by_role("tab", name="Choice of C").click()
    expect(page.get_by_text("Best: C =")).to_be_visible()
    take.click()
    settled(page)
    train_button(page).click()
    wait_for_ending(page)


def test_what_the_browser_sent_before_a_choice_was_taken_does_not_undo_it(page: Page, url: str) -> None:
    """A message under way tells of the slider before, which is gone by then; here one is sent again."""
    lines: list[WebSocketRoute] = []
    sent: list[str | bytes] = []

    def overheard(line: WebSocketRoute) -> None:
        server = line.connect_to_server()
        lines.append(server)
        line.on_message(lambda message: (sent.append(message), server.send(message)))

    page.route_web_socket(re.compile("_stcore/stream"), overheard)
    train_page(page, url)
    slider = page.get_by_role("slider", name="C: how much an error costs")
    while slider.get_attribute("aria-valuetext") == "1":  # a page that is drawn at that moment takes it back
        slider.press("ArrowRight")
        page.wait_for_timeout(500)
        settled(page)
    old = sent[-1]
    page.get_by_role("button", name="Let it choose").click()
    take = page.get_by_role("button", name="Take it and train")
    take.wait_for(timeout=LONG)
    take.click()
    wait_for_ending(page, "Run 1.")
    chosen = slider.get_attribute("aria-valuetext")
    lines[-1].send(old)
    page.wait_for_timeout(1000)
    settled(page)
    expect(slider).to_have_attribute("aria-valuetext", chosen or "")
    expect(page.get_by_text("The settings have changed since")).to_have_count(0)
