"""The app behind the nginx of deploy/: it works under the headers that are sent there."""

from pathlib import Path

import pytest
from canvas_driver import Canvas, settled
from nginx_front import NGINX, NOT_THERE, nginx
from playwright.sync_api import Browser, expect


def test_the_app_works_behind_nginx(browser: Browser, url: str, tmp_path: Path) -> None:
    if NGINX is None:
        pytest.skip(NOT_THERE)
    port = int(url.rpartition(":")[2])
    context = browser.new_context(viewport={"width": 1366, "height": 768}, accept_downloads=True)
    context.set_default_timeout(20_000)
    # Violations of the policy are reported to the page, also those that nobody would see.
    context.add_init_script(
        "globalThis.refused = []; document.addEventListener('securitypolicyviolation', (event) => "
        "refused.push(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile));"
    )
    refused: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: refused.append(message.text) if "Content Security" in message.text else None)
    page.on("pageerror", lambda error: refused.append(str(error)))
    with nginx(tmp_path, port, port) as front:
        answer = page.goto(f"{front}/design")
        assert answer is not None and "default-src 'self'" in answer.headers["content-security-policy"]
        canvas = Canvas(page)
        canvas.empty()
        canvas.draw("sum", 0.4, 0.3)
        expect(page.locator("#spnmkl-saved")).to_have_text("saved", timeout=20_000)
        for name, seen in (("Start", "Try"), ("Data", "sample"), ("Train", "Train"), ("Projects", "open here")):
            page.get_by_role("link", name=name, exact=True).first.click()
            settled(page)
            expect(page.get_by_text(seen).first).to_be_visible(timeout=20_000)
        page.get_by_role("button", name="More").first.click()
        with page.expect_download() as taken:
            page.get_by_role("button", name="Export as a zip").click()
        assert Path(taken.value.path()).read_bytes().startswith(b"PK")
        page.keyboard.press("Escape")
        page.get_by_role("tab", name="Versions of the drawing").click()
        picture = page.locator("[data-testid=stImage] img, [data-testid=stImage] svg").first
        expect(picture).to_be_visible(timeout=20_000)
        refused += page.evaluate("refused")
        assert [cookie["name"] for cookie in context.cookies()].count("spnmkl_server") == 1
    context.close()
    assert refused == []
