"""All pages in a real browser: the first minute, the same tab at another address, contrast, and the keyboard alone."""

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from canvas_driver import settled
from playwright.sync_api import Page, TimeoutError, expect
from test_browser_training import LONG, stop_button, train_button, train_page, wait_for_ending

PAGES = ("Start", "Data", "Design", "Train", "Inspect", "Compare", "Predict", "Runs", "Projects")
MAIN_BUTTONS = {
    "Start": "Run the guided experiment",
    "Data": "Load Breast cancer",
    "Design": "Templates",
    "Train": "Train",
    "Inspect": "Next: compare it",
    "Compare": "Train the baselines on this data",
    "Predict": "Upload",
    "Runs": "Save or open a project",
    "Projects": "New project",
}
TOO_FAINT = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")
IS_LIGHT = "(getComputedStyle(document.querySelector('.stApp')).colorScheme === 'light')"
# What has the focus: its name, and whether an outline, a border or a shadow of its own shows it.
FOCUSED = """() => {
    let e = document.activeElement;
    while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
    const copy = e.cloneNode(true);
    for (const icon of copy.querySelectorAll("[data-testid=stIconMaterial]")) icon.remove();
    const name = (e.getAttribute("aria-label") ?? copy.textContent).trim();
    const style = getComputedStyle(e);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0 || style.boxShadow !== "none";
    return { name, ring };
}"""


def address(url: str, name: str) -> str:
    return url if name == "Start" else f"{url}/{name.lower()}"


def opened(page: Page, url: str, name: str) -> Page:
    page.goto(address(url, name))
    page.get_by_text(f"{name} — ").wait_for()
    settled(page)
    return page


def test_the_first_click_leads_to_something_that_moves(page: Page, url: str) -> None:
    opened(page, url, "Start")
    page.get_by_role("button", name="Run the guided experiment").click()
    found = re.compile(r"true structure, \d+ rows, |With \d+ rows to learn from")
    expect(page.get_by_text(found).first).to_be_visible(timeout=LONG)
    with suppress(TimeoutError):  # it may have ended meanwhile
        stop_button(page).click(timeout=3000)
    page.get_by_text(re.compile("Stopped before the end|Trained on all rows")).first.wait_for(timeout=LONG)
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Load it and train").click()
    expect(page.get_by_text("choosing by cross-validation").first).to_be_visible(timeout=LONG)
    stop_button(page).click()
    stopped = re.compile("Stopped before anything was trained|Stopped while choosing: nothing was trained")
    expect(page.get_by_text(stopped)).to_be_visible(timeout=LONG)


def test_another_address_in_the_same_tab_keeps_everything_and_a_copied_tab_gets_its_own(
    page: Page, tab: Callable[[], Page], url: str
) -> None:
    train_page(page, url)
    train_button(page).click()
    wait_for_ending(page)
    page.goto(f"{url}/runs")
    expect(page.get_by_text("Run 1, shown on all pages")).to_be_visible()
    page.goto(f"{url}/inspect")
    expect(page.get_by_text("Certified optimal").first).to_be_visible()
    with page.expect_popup() as popup:
        page.evaluate("window.open(location.href)")  # copies sessionStorage, as a duplicated tab does
    twin = popup.value
    expect(twin.get_by_text("Nothing is trained yet")).to_be_visible()
    twin.wait_for_timeout(600)  # it has asked by now whose the token is
    settled(twin)
    expect(twin.get_by_text("Nothing is trained yet")).to_be_visible()
    twin.goto(f"{url}/runs")
    twin.get_by_text("Runs — ").wait_for()
    expect(twin.get_by_text("Run 1")).to_have_count(0)
    page.reload()
    expect(page.get_by_text("Certified optimal").first).to_be_visible()


def test_pictures_follow_the_theme(page: Page, url: str) -> None:
    opened(page, url, "Start")
    picture = page.locator(".st-key-card_guided img")
    before = str(picture.get_attribute("src"))
    page.emulate_media(color_scheme="dark")
    expect(picture).not_to_have_attribute("src", before)
    page.emulate_media(color_scheme="light")
    expect(picture).to_have_attribute("src", before)


def test_the_keyboard_alone_reaches_every_page_and_all_text_can_be_read(page: Page, url: str) -> None:
    opened(page, url, "Start")
    faint = {}
    for name in PAGES:
        if name != "Start":
            walk(page, name, 60, "Shift+Tab")
            page.keyboard.press("Enter")
            page.get_by_text(f"{name} — ").wait_for()
            settled(page)
        walk(page, MAIN_BUTTONS[name], 40)
        faint |= too_faint(page, name)
        if name == "Design":
            page.keyboard.press("Enter")
            page.get_by_role("dialog").wait_for()
            settled(page)
            faint |= too_faint(page, "Templates")
            page.keyboard.press("Escape")
            page.get_by_role("dialog").wait_for(state="hidden")
    assert not faint


def too_faint(page: Page, what: str) -> dict[str, object]:
    """Texts below the contrast that WCAG AA asks for, in both themes."""
    now = "light" if page.evaluate(IS_LIGHT) else "dark"
    found = {f"{what}, {now}": page.evaluate(TOO_FAINT)}
    other = "dark" if now == "light" else "light"
    page.emulate_media(color_scheme=other)  # type: ignore[arg-type]
    page.wait_for_function(IS_LIGHT + f" === {str(other == 'light').lower()}")
    page.wait_for_timeout(300)  # colours fade over
    settled(page)
    found[f"{what}, {other}"] = page.evaluate(TOO_FAINT)
    return {name: texts for name, texts in found.items() if texts}


def walk(page: Page, name: str, most: int, key: str = "Tab") -> None:
    """Press Tab, or go back, until it has the focus, which can be seen at every stop."""
    seen = []
    for _ in range(most):
        page.keyboard.press(key)
        focused = page.evaluate(FOCUSED)
        seen.append(focused["name"])
        if focused["name"] == name:
            assert focused["ring"], f"the focus on {name!r} cannot be seen"
            return
    raise AssertionError(f"{key} never reached {name!r}, only {seen}")
