"""How long until the canvas can be used, and from an edit through Python to the screen; prints a Markdown table.

Run it from a checkout with Chromium installed: ``python benchmarks/app.py``. The page is a real one in a real
browser; an edit counts as done when Python has taken it and the page that Python drew in answer is painted.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, sync_playwright

from spnmkl.structure import SPN, Kernel, Product, Sum

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
from serving import browser_path, serving

OPENINGS, EDITS = 5, 20
READY = "f => f.spnCanvas?.revision && f.spnCanvas.nodes.length > 0"
# Adds a kernel or moves a node, by turns, and waits for Python's answer and the next painted frame.
EDIT = """(frame, k) => new Promise(done => {
    const canvas = frame.spnCanvas, start = performance.now();
    if (k % 2) { canvas.network.selectNodes([canvas.drawing.nodes[k].id]); canvas.nudge(3, 2); }
    else canvas.add("kernel", { x: 30 * k, y: 900 });
    const ticket = `${canvas.revision}/${canvas.sequence}`;
    const look = () => {
        if (canvas.acknowledged === ticket) requestAnimationFrame(() => done(performance.now() - start));
        else setTimeout(look, 2);
    };
    look();
})"""


def structure(n_nodes: int) -> SPN:
    """A weighted sum of kernels with so many nodes."""
    return SPN(Sum(*(Product(Kernel("rbf", gamma=1.0 + k)) for k in range((n_nodes - 1) // 2))))


def ready(page: Page) -> Locator:
    frame = page.locator(".frame")
    frame.wait_for()
    while not frame.evaluate(READY):
        page.wait_for_timeout(5)
    return frame


def idle(page: Page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
    page.wait_for_timeout(300)


def openings(browser: Browser, url: str) -> list[float]:
    """Seconds from the address to a canvas that can be drawn on; the first with nothing in the browser's cache."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    seconds = []
    for _ in range(OPENINGS):
        page = context.new_page()
        start = time.perf_counter()
        page.goto(url)
        ready(page)
        seconds.append(time.perf_counter() - start)
        idle(page)
        page.close()
    context.close()
    return seconds


def edits(browser: Browser, url: str, n_nodes: int) -> list[float]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(url)
    frame = ready(page)
    idle(page)
    revision = frame.evaluate("f => f.spnCanvas.revision")
    page.get_by_role("button", name="Open, save").click()
    page.get_by_role("dialog").wait_for()
    content = structure(n_nodes).to_json().encode()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "structure.json", "mimeType": "application/json", "buffer": content}
    )
    while frame.evaluate("f => f.spnCanvas.revision") == revision:
        page.wait_for_timeout(10)
    idle(page)
    seconds = []
    for k in range(EDITS + 1):
        seconds.append(frame.evaluate(EDIT, k) / 1000)
        idle(page)
    page.close()
    return seconds[1:]


def row(what: str, seconds: list[float]) -> str:
    worst = sorted(seconds)[max(0, round(0.95 * len(seconds)) - 1)]
    return f"| {what} | {statistics.median(seconds):.2f} s | {worst:.2f} s |"


def main() -> None:
    with serving() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        opened = openings(browser, url)
        print("| | median | 95th percentile |\n|---|---|---|")
        print(row("opening to a usable canvas, the first visit", opened[:1]))
        print(row("opening to a usable canvas, later visits", opened[1:]))
        for n_nodes in (20, 200):
            print(row(f"edit → Python → screen, {n_nodes} nodes", edits(browser, url, n_nodes)))
        browser.close()


if __name__ == "__main__":
    main()
