"""How long the app takes: opening, edits, pages, and a training that is watched; prints Markdown tables.

Run it from a checkout with Chromium installed: ``python benchmarks/app.py [--canvas] [--pages] [--watched]``, or all
of them without an option. The page is a real one in a real browser; an edit counts as done when Python has taken it
and the page that Python drew in answer is painted; a page when it is drawn and Python rests. A training that is
watched is compared with the same one without any page, by turns; and, as if the browser were on another machine, with
one during which the browser's processes stand still.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.structure import SPN, Kernel, Product, Sum, templates
from spnmkl.structure.layout import arranged
from spnmkl.training.prepared import prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))
from serving import browser_path, serving

OPENINGS, EDITS, SWITCHES, TRAININGS = 5, 40, 5, 5
ROWS, WATCHED_ROWS = 2667, 5334  # of which three quarters are trained on
SHORT, LONG = Settings(), Settings(C=100.0, tol=1e-6)
PAGES = ("Data", "Design", "Train", "Inspect", "Runs")
ALL_PAGES = ("Start", "Data", "Design", "Train", "Inspect", "Compare", "Predict", "Runs")
WITH_CANVAS = ("Design", "Train", "Inspect")
KERNELS = 64
READY = "f => f.spnCanvas?.revision && f.spnCanvas.items.size > 0"
# Adds a kernel or moves a node, by turns: the time until it is painted, and until Python has taken it and the page that
# Python drew in answer is painted.
EDIT = """(frame, k) => new Promise(done => {
    const canvas = frame.spnCanvas, start = performance.now();
    const seen = [...canvas.items.keys()].filter((id) => canvas.node(id));
    if (k % 2) canvas.move([seen[k % seen.length]], 3, 2);
    else canvas.add("kernel", { x: 30 * k, y: 900 });
    let painted;
    requestAnimationFrame(() => { painted = performance.now() - start; });
    const look = () => {
        if (Number(frame.dataset.saved) < canvas.sequence) setTimeout(look, 2);
        else requestAnimationFrame(() => done([painted, performance.now() - start]));
    };
    look();
})"""
# Pans for a second and zooms for another; frames a second, and the longest of them in ms.
PAN = """frame => new Promise(done => {
    const canvas = frame.spnCanvas, times = [], start = performance.now();
    const step = (now) => {
        times.push(now);
        const since = now - start;
        if (since < 1000) canvas.view.moved(6 * Math.sin(since / 150), 4 * Math.cos(since / 150));
        else canvas.view.zoom(1 + 0.03 * Math.sin(since / 150));
        if (since < 2000) requestAnimationFrame(step);
        else done([times.length / 2, Math.max(...times.slice(1).map((t, k) => t - times[k]))]);
    };
    requestAnimationFrame(step);
})"""
# Chooses another node: the time until the panel has its name.
CHOOSE = """(frame, k) => new Promise(done => {
    const canvas = frame.spnCanvas, start = performance.now(), id = canvas.drawing.nodes[k].id;
    const panel = document.querySelector(".st-key-inspector");
    canvas.choose([id]);
    const look = () => {
        if (panel.querySelector(`input[placeholder="${id}"]`)) done(performance.now() - start);
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
        page.goto(f"{url}/design")
        ready(page)
        seconds.append(time.perf_counter() - start)
        idle(page)
        page.close()
    context.close()
    return seconds


def open_structure(page: Page, spn: SPN) -> Locator:
    """On the Design page."""
    page.get_by_role("link", name="Design").click()
    frame = ready(page)
    idle(page)
    revision = frame.evaluate("f => f.spnCanvas.revision")
    page.get_by_role("button", name="Open, save").click()
    page.get_by_role("dialog").wait_for()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "structure.json", "mimeType": "application/json", "buffer": spn.to_json().encode()}
    )
    while frame.evaluate("f => f.spnCanvas.revision") == revision:
        page.wait_for_timeout(10)
    idle(page)
    return frame


def edits(browser: Browser, url: str, n_nodes: int) -> dict[str, list[float]]:
    """Seconds until an edit is on the screen, until Python has it, and until the panel shows what was selected; and
    seconds of processors that an edit takes."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}/design")
    frame = open_structure(page, structure(n_nodes))
    seconds: dict[str, list[float]] = {"screen": [], "Python": [], "panel": [], "processor": []}
    for k in range(EDITS + 1):
        before = spent()
        painted, taken = frame.evaluate(EDIT, k % n_nodes)
        seconds["screen"].append(painted / 1000)
        seconds["Python"].append(taken / 1000)
        idle(page)
        seconds["processor"].append(spent() - before)
    for k in range(EDITS // 2):
        seconds["panel"].append(frame.evaluate(CHOOSE, k + 1) / 1000)
        idle(page)
    page.close()
    return {what: times[1:] for what, times in seconds.items()}


def pans(browser: Browser, url: str, n_nodes: int) -> tuple[float, float]:
    """Frames a second while the view moves, all groups open, and the longest frame in ms."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}/design")
    frame = open_structure(page, arranged(structure(n_nodes)))
    frame.evaluate("f => f.spnCanvas.view.fit()")
    rate, longest = frame.evaluate(PAN)
    page.close()
    return rate, longest


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 30))
    f = X[:, 0] * X[:, 1] + X[:, 2] + np.sin(2 * X[:, 3]) + 0.5 * rng.normal(size=n)
    return pd.DataFrame(X.round(3), columns=[f"x{j}" for j in range(30)]).assign(label=np.where(f > 0, "yes", "no"))


def many_kernels() -> SPN:
    widths = [Kernel("rbf", gamma=10.0**k) for k in np.linspace(-3, 0, 10).round(2)]
    powers = [Kernel("polynomial", degree=d) for d in (1, 2, 3)]
    groups = [Kernel("rbf", features=[f"x{j}", f"x{j + 1}"]) for j in range(0, 24, 2)]
    return templates.flat([*widths, *powers, *groups])


def upload(page: Page, data: pd.DataFrame) -> None:
    page.get_by_role("link", name="Data").click()
    page.get_by_text("Try a sample").wait_for()
    page.locator("input[type=file]").first.set_input_files(
        {"name": "table.csv", "mimeType": "text/csv", "buffer": data.to_csv(index=False).encode()}
    )
    page.get_by_text(f"{len(data):,} rows · ").first.wait_for()
    idle(page)


@contextmanager
def standstill() -> Iterator[None]:
    """Of the browser's processes."""
    browser = [process for process in psutil.Process().children(recursive=True) if "chrom" in process.name()]
    for process in browser:
        process.suspend()
    try:
        yield
    finally:
        for process in browser:
            process.resume()


def press_train(page: Page, away: float = 0.0) -> float:
    """Train and watch, or leave the browser standing still for so long; the seconds that the page says solving took."""
    page.get_by_role("link", name="Train", exact=True).click()
    button = page.get_by_role("button", name="Train", exact=True)
    button.wait_for(timeout=120_000)
    page.wait_for_timeout(3000)  # small kernels are computed ahead
    idle(page)
    before = page.get_by_text(re.compile(r"^Run \d+\.")).all_inner_texts()
    button.click()
    if away:
        page.wait_for_timeout(300)
        with standstill():
            time.sleep(away)
    while (said := page.get_by_text(re.compile(r"^Run \d+\.")).all_inner_texts()) in ([], before):
        page.wait_for_timeout(1000)  # looking is work too
    idle(page)
    found = re.search(r"([\d.]+) s, \d+ iteration", page.locator(".stMain").inner_text())
    assert found, said
    return float(found[1])


def open_many(browser: Browser, url: str, data: pd.DataFrame) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}/design")
    ready(page)
    upload(page, data)
    open_structure(page, many_kernels())
    return page


def watched(browser: Browser, url: str, settings: Settings) -> tuple[list[float], list[float], list[float]]:
    """Seconds of trainings without a page, with one, and with one in a browser that takes nothing, by turns."""
    data, spn = table(WATCHED_ROWS), many_kernels()
    page = open_many(browser, url, data)
    set_up(page, settings)
    prepared = prepare(spn, Dataset.guess("table.csv", data), Choices(), SplitSettings())
    away = 2 * train(prepared, settings).seconds
    alone, with_page, elsewhere = [], [], []
    for _ in range(TRAININGS):
        with_page.append(press_train(page))
        alone.append(train(prepared, settings).seconds)
        elsewhere.append(press_train(page, away))
    page.close()
    return alone, with_page, elsewhere


def set_up(page: Page, settings: Settings) -> None:
    page.get_by_role("link", name="Train", exact=True).click()
    page.get_by_text("All settings").click()
    idle(page)
    page.get_by_role("spinbutton", name="C, exactly").fill(f"{settings.C:g}")
    page.get_by_role("spinbutton", name="C, exactly").press("Enter")
    idle(page)
    gap = page.get_by_role("slider", name="Gap to prove")
    for _ in range(round(np.log10(Settings().tol / settings.tol))):
        gap.press("ArrowRight")
        idle(page)
    page.get_by_text("All settings").click()
    idle(page)


def pages(page: Page) -> dict[str, list[float]]:
    """Seconds from the click on a page's name until it is drawn and Python rests."""
    seconds: dict[str, list[float]] = {name: [] for name in PAGES}
    for _ in range(SWITCHES):
        for name in PAGES:
            start = time.perf_counter()
            page.get_by_role("link", name=name, exact=True).click()
            page.get_by_text(f"{name} — ").wait_for()
            page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")
            seconds[name].append(time.perf_counter() - start)
            idle(page)
    return seconds


def drawn(page: Page, name: str) -> None:
    """Wait until a page is drawn, its canvas too, and Python rests."""
    page.get_by_text(f"{name} — ").wait_for()
    if name in WITH_CANVAS:
        ready(page)
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


def spent() -> float:
    """Seconds of processors in server and browser so far, which are the same however busy the machine is."""
    times = [process.cpu_times() for process in psutil.Process().children(recursive=True)]
    return sum(spell.user + spell.system for spell in times)


def by_switch_and_address(page: Page, url: str) -> Iterator[tuple[str, str, float, float]]:
    """How, which page, seconds until it is drawn, and seconds of processors."""
    for _ in range(SWITCHES):
        for how in ("switch", "address"):
            for name in ALL_PAGES:
                start, before = time.perf_counter(), spent()
                if how == "switch":
                    page.get_by_role("link", name=name, exact=True).click()
                else:
                    page.goto(url if name == "Start" else f"{url}/{name.lower()}")
                drawn(page, name)
                yield how, name, time.perf_counter() - start, spent() - before
                idle(page)


def tell_many(browser: Browser, url: str) -> None:
    """A trained drawing of many kernels: each page by its link and by its address."""
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}/design")
    open_structure(page, structure(2 * KERNELS + 1))
    press_train(page)
    found = pd.DataFrame(by_switch_and_address(page, url), columns=["how", "page", "seconds", "processor"])
    page.close()
    print(f"\n| {KERNELS} kernels, trained | switch | 95 % | processor | address | 95 % | processor |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name in (*ALL_PAGES, "all pages"):
        cells = [name]
        for how in ("switch", "address"):
            part = found[(found["how"] == how) & ((found["page"] == name) | (name == "all pages"))]
            cells += [f"{part['seconds'].quantile(q):.2f} s" for q in (0.5, 0.95)]
            cells.append(f"{part['processor'].median():.2f} s")
        print(f"| {' | '.join(cells)} |")
    print(
        f"\nLoad of the machine, average of 5 minutes: {psutil.getloadavg()[1]:.1f} on {psutil.cpu_count()} processors."
    )


def pages_trained(page: Page) -> dict[str, list[float]]:
    press_train(page)
    drawn = pages(page)
    page.close()
    return drawn


def pages_of(browser: Browser, url: str, n_nodes: int) -> dict[str, list[float]]:
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{url}/design")
    open_structure(page, structure(n_nodes))
    return pages_trained(page)


def row(what: str, seconds: list[float]) -> str:
    worst = sorted(seconds)[max(0, round(0.95 * len(seconds)) - 1)]
    return f"| {what} | {statistics.median(seconds):.2f} s | {worst:.2f} s |"


def tell_canvas(browser: Browser, url: str) -> None:
    opened = openings(browser, url)
    print("| | median | 95th percentile |\n|---|---|---|")
    print(row("opening to a usable canvas, the first visit", opened[:1]))
    print(row("opening to a usable canvas, later visits", opened[1:]))
    for n_nodes in (20, 200):
        found = edits(browser, url, n_nodes)
        print(row(f"edit → screen, {n_nodes} nodes", found["screen"]))
        print(row(f"edit → Python → screen, {n_nodes} nodes", found["Python"]))
        print(row(f"selection → panel, {n_nodes} nodes", found["panel"]))
        print(row(f"processors for an edit, {n_nodes} nodes", found["processor"]))
    rate, longest = pans(browser, url, 501)
    print(f"| pan and zoom, 501 nodes | {rate:.0f} frames/s | longest frame {longest:.0f} ms |")


def tell_pages(browser: Browser, url: str) -> None:
    drawn = {f"{n} nodes": pages_of(browser, url, n) for n in (20, 200)}
    drawn["2,000 rows, 25 kernels"] = pages_trained(open_many(browser, url, table(ROWS)))
    for what, seconds in drawn.items():
        for name in PAGES:
            print(row(f"the page {name}, {what}", seconds[name]))


def tell_watched(browser: Browser, url: str) -> None:
    print("\n| 4,000 rows, 25 kernels | alone | watched | ratio | watched from elsewhere | ratio |")
    print("|---|---:|---:|---:|---:|---:|")
    for settings in (SHORT, LONG):
        alone, *looked_at = watched(browser, url, settings)
        cells = [f"C = {settings.C:g}, gap {settings.tol:g}", f"{statistics.median(alone):.2f} s"]
        for seconds in looked_at:
            ratios = sorted(a / b for a, b in zip(seconds, alone, strict=True))
            spread = f"({ratios[0]:.2f}–{ratios[-1]:.2f})"
            cells += [f"{statistics.median(seconds):.2f} s", f"{statistics.median(ratios):.2f} {spread}"]
        print(f"| {' | '.join(cells)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--watched", action="store_true", help="only the trainings")
    parser.add_argument("--canvas", action="store_true", help="only the canvas")
    parser.add_argument("--pages", action="store_true", help=f"only the pages of a drawing of {KERNELS} kernels")
    options = parser.parse_args()
    with serving() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path(), args=["--no-sandbox"])
        alone = options.watched or options.canvas or options.pages
        if options.canvas or not alone:
            tell_canvas(browser, url)
        if not alone:
            tell_pages(browser, url)
        if options.pages or not alone:
            tell_many(browser, url)
        if options.watched or not alone:
            tell_watched(browser, url)
        browser.close()


if __name__ == "__main__":
    main()
