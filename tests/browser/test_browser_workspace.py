"""The server is killed, and everything that it had acknowledged is there when it is started again."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from canvas_driver import Canvas, settled
from playwright.sync_api import Browser, Page
from serving import free_port, started
from test_browser_training import train_button, train_page


class Killed:
    """A server that can be killed and started again, on one workspace and one port."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.server: subprocess.Popen[bytes] = started(folder, self.port)

    def kill(self) -> None:
        self.server.kill()
        self.server.wait()

    def again(self) -> None:
        self.server = started(self.folder, self.port)


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Killed]:
    server = Killed(tmp_path)
    yield server
    server.kill()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()


def test_a_killed_server_brings_everything_back(own: Killed, page: Page, browser: Browser) -> None:
    train_page(page, own.url)
    train_button(page).click()
    page.get_by_test_id("stAlert").filter(has_text="Certified optimal").wait_for()
    page.locator("#spnmkl-saved[data-state=saved]").wait_for()
    page.goto(f"{own.url}/design")
    canvas = Canvas(page)
    canvas.empty()
    canvas.type("s")
    canvas.type("k")
    canvas.sent()
    own.kill()
    canvas.type("k")  # drawn while nobody listens
    drawn = canvas.nodes
    assert len(drawn) > 3 and canvas.look("Number(canvas.frame.dataset.saved)") < canvas.look("canvas.sequence")
    own.again()
    canvas.wait("Number(canvas.frame.dataset.saved) === canvas.sequence && canvas.sequence > 0")  # without a reload
    settled(page)
    assert canvas.nodes.keys() == drawn.keys()
    own.kill()
    own.again()
    page.goto(f"{own.url}/runs")
    page.get_by_text("Run 1, shown on all pages").wait_for()
    page.goto(f"{own.url}/design")
    assert Canvas(page).nodes.keys() == drawn.keys()
    page.context.close()  # as a browser that crashed

    other = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    other.set_default_timeout(60_000)
    other.goto(f"{own.url}/projects")
    other.get_by_role("button", name="Open", exact=True).click()
    again = Canvas(other)
    again.wait(
        f"canvas.drawing.nodes.length === {len(drawn)} && canvas.saved.textContent.startsWith('saved, version ')"
    )
    version = int(again.look("canvas.saved.textContent").split()[-1])
    other.goto(f"{own.url}/projects")
    other.get_by_role("tab", name="Versions of the drawing").click()
    other.get_by_role("button", name="Restore this version").wait_for()
    assert other.locator("[data-testid=stRadio] [role=radiogroup] label").first.inner_text().startswith(f"{version}, ")
    other.locator("[data-testid=stRadio] label").last.click()
    other.get_by_role("button", name="Restore this version").click()
    settled(other)
    other.goto(f"{own.url}/design")
    restored = Canvas(other)
    restored.wait(f"canvas.drawing.nodes.length !== {len(drawn)}")
    restored.wait(f"canvas.saved.textContent === 'saved, version {version + 1}'")
    other.context.close()
