"""Two people, one after another in one tab, at a provider on loopback: neither sees what the other made."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from canvas_driver import Canvas, settled
from oidc_provider import PEOPLE, Provider, provider
from playwright.sync_api import Browser, Page, expect

from spnmkl.workspace.people import Person
from spnmkl.workspace.place import Place
from spnmkl.workspace.store import WorkspaceStore

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from serving import free_port, serving


@pytest.fixture(scope="module")
def people() -> Iterator[Provider]:
    with provider() as found:
        yield found


@pytest.fixture(scope="module")
def shared(people: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """The address of a server at which people log in, and its workspace."""
    folder, port = tmp_path_factory.mktemp("login"), free_port()
    workspace, options = folder / "workspace", [f"--secrets.files={people.secrets(folder, port)}"]
    named = {"SPNMKL_ADMINISTRATORS": Person.of_claims({"iss": people.issuer, **PEOPLE["ann"]}).id}
    log = folder / "log"
    with (
        log.open("w") as out,
        serving(port=port, log=out, workspace=workspace, options=options, environment=named) as address,
    ):
        yield address, workspace
        assert "Traceback" not in log.read_text()


def log_in(page: Page, name: str) -> None:
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name=f"I am {name}").click()
    expect(page.get_by_role("button", name=PEOPLE[name]["name"])).to_be_visible()


def log_out(page: Page, name: str) -> None:
    page.get_by_role("button", name=PEOPLE[name]["name"]).click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_text("Log in to see")).to_be_visible()


def go(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).first.click()
    settled(page)


def test_two_people_in_one_tab_do_not_see_each_others_work(
    browser: Browser, shared: tuple[str, Path], tmp_path: Path
) -> None:
    url, folder = shared
    context = browser.new_context(viewport={"width": 1366, "height": 768}, accept_downloads=True)
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    page = context.new_page()
    page.goto(f"{url}/projects")
    expect(page.get_by_text("Log in to see")).to_be_visible()
    page.screenshot(path=tmp_path / "login.png")
    log_in(page, "ann")
    go(page, "Design")
    canvas = Canvas(page)
    canvas.empty()
    expect(page.locator("#spnmkl-saved")).to_have_text("saved")
    sign, who = (page.locator(part).bounding_box() for part in ("#spnmkl-saved", ".st-key-account"))
    assert sign and who and sign["y"] >= who["y"] + who["height"], "one does not stand on the other"
    go(page, "Projects")
    expect(page.get_by_text("open here")).to_be_visible()
    page.screenshot(path=tmp_path / "projects.png")
    page.get_by_role("button", name="More").click()
    with page.expect_download() as taken:
        page.get_by_role("button", name="Export as a zip").click()
    assert Path(taken.value.path()).read_bytes().startswith(b"PK")
    page.get_by_role("button", name="Share with everybody who is logged in").click()
    expect(page.get_by_role("button", name="Take back")).to_be_visible()
    page.screenshot(path=tmp_path / "sharing.png")
    page.keyboard.press("Escape")
    go(page, "Administration")
    expect(page.get_by_text("Quotas of one person")).to_be_visible()
    page.screenshot(path=tmp_path / "people.png")
    page.get_by_role("tab", name="The log").click()
    expect(page.get_by_text("Lines are kept for 365 days")).to_be_visible()
    page.screenshot(path=tmp_path / "log.png")
    stolen = context.cookies()
    left_open = context.new_page()
    left_open.goto(f"{url}/data")
    expect(left_open.get_by_role("button", name="Load Wine")).to_be_visible()
    log_out(page, "ann")
    left_open.get_by_role("button", name="Load Wine").click()
    expect(left_open.get_by_text("Log in to see")).to_be_visible()
    left_open.close()

    log_in(page, "ben")
    expect(page.get_by_role("link", name="Administration")).to_have_count(0)
    go(page, "Projects")
    expect(page.get_by_text("Nothing is kept yet")).to_be_visible()
    page.get_by_role("tab", name="Shared with me").click()
    expect(page.get_by_text("of Ann Example")).to_be_visible()
    page.screenshot(path=tmp_path / "shared.png")
    page.get_by_role("button", name="Open a copy").click()
    expect(page.locator("#spnmkl-saved")).to_have_text("saved")
    page.get_by_role("button", name="Ben Example").click()
    expect(page.get_by_text("Kept, with the bin")).to_be_visible()
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
    page.screenshot(path=tmp_path / "account.png")
    context.close()

    thief = browser.new_context()
    thief.add_cookies(stolen)  # type: ignore[arg-type]
    other = thief.new_page()
    other.goto(f"{url}/projects")
    expect(other.get_by_text("Log in to see")).to_be_visible(timeout=20_000)
    thief.close()

    store = WorkspaceStore(Place(folder))
    done = [(event.name, event.what) for event in store.audit.read()]
    store.close()
    assert done.count(("Ann Example", "exported")) == 1
    assert set(done) == {
        ("Ann Example", "login"),
        ("Ann Example", "exported"),
        ("Ann Example", "shared"),
        ("Ann Example", "logout"),
        ("Ben Example", "login"),
        ("Ben Example", "copied"),
    }
