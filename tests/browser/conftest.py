"""One server and one browser for all browser tests; nothing may fail unseen or leave the machine."""

import re
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest
from canvas_driver import FAILED, Canvas, SharedPages, settled
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from serving import browser_path, serving

DISCONNECTED = re.compile(r"Exception in ASGI application\n.*?WebSocketDisconnected: Cannot call[^\n]*\n", re.DOTALL)


@pytest.fixture(scope="session")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="session")
def url(log: Path) -> Iterator[str]:
    with log.open("w") as out, serving(log=out) as address:
        yield address


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=browser_path(), args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Shared, so that Streamlit's own files come from the cache; tabs have nothing else in common."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, reduced_motion="reduce", accept_downloads=True, color_scheme="light"
    )
    context.set_default_timeout(15_000)
    yield context
    context.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def shared() -> SharedPages:
    return SharedPages()


@pytest.fixture
def tab(context: BrowserContext, url: str, log: Path, shared: SharedPages) -> Iterator[Callable[[], Page]]:
    """Opens tabs. Fails on a page error, a dialog, a request to elsewhere or a traceback in the server's log."""
    wrong: list[str] = []
    own = (url, url.replace("http", "ws"), "blob:", "data:")

    def error(error: object) -> None:
        wrong.append(f"page error: {getattr(error, 'error', error)}")

    def request(request: object) -> None:
        if not request.url.startswith(own):  # type: ignore[attr-defined]
            wrong.append(f"request to {request.url}")  # type: ignore[attr-defined]

    def dialog(dialog: object) -> None:
        wrong.append(f"dialog: {dialog.message}")  # type: ignore[attr-defined]
        dialog.dismiss()  # type: ignore[attr-defined]

    listeners = {"weberror": error, "request": request, "dialog": dialog}
    for event, listener in listeners.items():
        context.on(event, listener)  # type: ignore[call-overload]
    written = log.stat().st_size
    yield context.new_page
    for page in context.pages:
        if page not in shared.values():
            page.close()
    for event, listener in listeners.items():
        context.remove_listener(event, listener)
    assert not wrong
    # Streamlit tells a tab that has just closed to close, and its server logs that it cannot.
    said = DISCONNECTED.sub("", log.read_bytes()[written:].decode())
    assert "Traceback" not in said, said


@pytest.fixture
def page(tab: Callable[[], Page]) -> Page:
    return tab()


@pytest.fixture
def canvas(page: Page, url: str) -> Canvas:
    """The Design page, as it opens."""
    page.goto(f"{url}/design")
    return Canvas(page)


@pytest.fixture
def board(request: pytest.FixtureRequest, shared: SharedPages, tab: Callable[[], Page], url: str) -> Iterator[Canvas]:
    """An empty canvas with nothing to undo, on one page for all tests that stay on it."""

    def made() -> Page:
        page = tab()
        page.goto(f"{url}/design")
        return page

    with shared.lent("board", request, made) as page:
        page.set_viewport_size({"width": 1280, "height": 800})
        canvas = Canvas(page)
        canvas.renew()
        yield canvas


@pytest.fixture
def data(page: Page, url: str) -> Page:
    """The Data page, as it opens."""
    page.goto(f"{url}/data")
    page.get_by_text("Try a sample").wait_for()
    settled(page)
    return page
