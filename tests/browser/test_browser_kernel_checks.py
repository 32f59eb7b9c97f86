"""Kernels that cannot work, in the browser: named, repaired with one click, one width chosen while one can watch."""

from canvas_driver import Canvas
from playwright.sync_api import expect

from spnmkl.structure import Kernel, templates

WIDTHS = {"wide": 0.1, "narrow": 10.0}


def test_each_finding_is_mended_with_a_click(canvas: Canvas) -> None:
    columns = canvas_columns()
    kernels = [Kernel("rbf", gamma=w / 30, features=columns, label=name) for name, w in WIDTHS.items()]
    canvas.opened("widths.json", templates.flat(kernels).to_json().encode())
    page = canvas.page
    expect(canvas.frame.locator(".status, .facts").filter(has_text="2 warnings").first).to_be_visible()
    canvas.open("Checks")
    expect(page.get_by_text("is nearly the identity")).to_be_visible()
    before = canvas.revision
    page.get_by_role("button", name="Take its width from the data").click()
    canvas.renewed(before)
    assert canvas.nodes["k2"]["params"] == {"gamma": "median"}
    expect(page.get_by_text("is nearly the identity")).to_have_count(0)
    page.get_by_role("button", name="One width by cross-validation").click()
    keep = page.get_by_role("button", name="Keep")
    expect(keep).to_be_visible(timeout=60_000)
    before = canvas.revision
    keep.click()
    canvas.renewed(before)
    assert len([node for node in canvas.nodes.values() if node["kind"] == "kernel"]) == 1
    canvas.press("Control+z")
    canvas.wait("canvas.drawing.nodes.filter(n => n.kind === 'kernel').length === 2")


def canvas_columns() -> list[str]:
    from spnmkl.data import load_sample

    return list(load_sample("breast_cancer").features)
