"""Files in a real browser: structures out and in, messy tables, views joined by id, broken and hostile ones."""

import json

import numpy as np
import pandas as pd
from canvas_driver import Canvas, settled
from playwright.sync_api import Page, expect
from test_browser_training import LONG

from spnmkl.structure import SPN, Kernel, Product, Sum

CODE = "<script>alert('x')</script><img src=x onerror=alert(1)>"
MESSY = (
    f"\ufeffPatient;Größe;Gewicht;{CODE};Diagnose\r\n"
    'a;1,5;70,25;rot;"gesund, ja"\r\nb;1,75;NA;blau;krank\r\nc;1,6;;rot;"gesund, ja"\r\n'
    'd;1,82;81,5;grün;krank\r\ne;1,7;64,125;rot;"gesund, ja"\r\nf;1,91;n/a;blau;krank\r\n'
)


def give(page: Page, *files: tuple[str, bytes]) -> None:
    given = [{"name": name, "mimeType": "text/plain", "buffer": content} for name, content in files]
    page.locator("input[type=file]").first.set_input_files(given)  # type: ignore[arg-type]


def loaded(page: Page, shown: str) -> None:
    """Wait until the page shows what was uploaded."""
    expect(page.get_by_text(shown)).to_be_visible(timeout=LONG)
    settled(page)


def design(page: Page) -> Canvas:
    page.get_by_role("link", name="Design").click()
    return Canvas(page)


def test_template_edit_export_import(canvas: Canvas) -> None:
    canvas.use("product_of_sums")
    canvas.click(next(v for v, node in canvas.nodes.items() if node["kind"] == "kernel"))
    label, before = canvas.page.get_by_label("Label", exact=True), canvas.revision
    label.fill("edited")
    label.press("Enter")
    canvas.renewed(before)
    canvas.press("Control+d")
    canvas.sent()
    edited = canvas.exported()
    assert any(edited.label(v) == "edited" for v in edited.nodes)
    canvas.use("flat")
    assert canvas.exported() != edited
    canvas.opened("structure.json", edited.to_json().encode())
    assert canvas.exported() == edited


def test_a_messy_table_is_read_used_and_drawn_over(data: Page) -> None:
    give(data, (f"messy {CODE[:20].replace('/', '')}.csv", MESSY.encode()))
    expect(data.get_by_text("6 rows × 5 columns").first).to_be_visible()
    loaded(data, "6 rows · 5 columns")
    data.get_by_role("tab", name="2 · Columns").click()
    label = data.get_by_label("Label: the column with the classes")
    expect(label).to_have_count(1)
    expect(label).to_have_value("Diagnose")
    settled(data)
    canvas = design(data)
    canvas.use("flat")
    spn = canvas.exported()
    columns = {column for v in spn.kernels for column in spn.spec(v).features or ()}
    assert {"Größe", "Gewicht"} <= columns
    canvas.open("Checks")
    expect(canvas.page.get_by_text("valid and fits the data")).to_be_visible()


def test_three_tables_are_joined_by_id(data: Page) -> None:
    rng = np.random.default_rng(0)
    ids = [f"TCGA-{k:03d}" for k in range(30)]
    files = []
    for view, width in (("expression", 40), ("methylation", 25), ("mutation", 10)):
        table = pd.DataFrame(rng.normal(size=(30, width)), columns=[f"{view}_{k}" for k in range(width)])
        table.insert(0, "sample_id", ids)
        files.append((f"{view}.csv", table.iloc[rng.permutation(30)[:28]].to_csv(index=False).encode()))
    subtype = pd.DataFrame({"sample_id": ids, "subtype": ["basal", "luminal"] * 15})
    give(data, *files, ("labels.csv", subtype.to_csv(index=False).encode()))
    loaded(data, "4 files ·")
    data.wait_for_timeout(1000)  # a page that is drawn once more would close the list
    box = data.get_by_label("Labels are")
    box.fill("labels.csv")
    box.press("Enter")
    expect(data.get_by_text("The label is subtype")).to_be_visible()
    loaded(data, "4 files ·")
    canvas = design(data)
    canvas.use("grouped")
    spn = canvas.exported()
    assert {"expression", "methylation", "mutation"} <= {spn.label(v) for v in spn.nodes}


def test_broken_files_are_refused_and_the_data_stay(data: Page) -> None:
    broken = [("broken.xlsx", b"PK\x03\x04 no workbook"), ("empty.csv", b""), ("none.npz", b"\x93NUMPY broken")]
    give(data, *broken)
    alerts = data.get_by_test_id("stAlert")
    expect(alerts).to_have_count(len(broken))
    expect(alerts.filter(has_text="went wrong")).to_have_count(0)
    settled(data)
    expect(data.get_by_text("569 rows · 31 columns")).to_be_visible()
    assert data.get_by_role("button", name="Undo").count() == 0


def test_a_hostile_structure_stays_text_everywhere(canvas: Canvas) -> None:
    label = f"""{CODE}</script><script>alert(2)</script> "quoted" 🧬 {"x" * 10_000}"""
    hostile = SPN(Sum(Product(Kernel("rbf", label=label), label=label), Product(Kernel("linear", label="$x$ :red[y]"))))
    canvas.opened("hostile.json", hostile.to_json().encode())
    assert canvas.exported().label("k1") == label
    canvas.click("k1")
    expect(canvas.page.get_by_label("Label", exact=True)).to_have_value(label)
    canvas.page.mouse.move(*canvas.at("p1"))
    canvas.page.locator(".tip").wait_for()
    assert CODE in canvas.page.locator(".tip").inner_text()
    for panel in ("Checks", "Paths", "Formula"):
        canvas.open(panel)
        assert canvas.page.locator("img[src=x]").count() == 0
    for panel in ("Templates", "Table"):
        with canvas.dialog(panel):
            assert canvas.page.locator("img[src=x]").count() == 0
    with canvas.dialog("Open, save"), canvas.page.expect_download() as download:
        canvas.page.get_by_role("button", name="Web page (offline)").click()
    exported = canvas.page.context.new_page()
    exported.set_content(download.value.path().read_text("utf-8"))
    exported.locator("canvas").first.wait_for()
    exported.wait_for_timeout(300)


def test_a_structure_file_that_is_none_changes_nothing(canvas: Canvas) -> None:
    before = canvas.nodes, canvas.edges
    nodes = [{"id": CODE, "kind": "kernel", "kernel": "rbf"}]
    bad = {"format": "spnmkl/structure", "version": 1, "nodes": nodes, "edges": [[CODE, "nowhere"]]}
    with canvas.dialog("Open, save"):
        give(canvas.page, (f"{CODE[:8]}.json", json.dumps(bad).encode()))
        expect(canvas.page.get_by_test_id("stAlert").filter(has_text="nowhere")).to_be_visible()
    assert (canvas.nodes, canvas.edges) == before


def test_hostile_columns_stay_text_everywhere(data: Page) -> None:
    names = [CODE, "'quoted\" $x$ `y`", "🧬", "x" * 10_000, ":red[a] **b**"]
    table = pd.DataFrame(np.arange(50.0).reshape(10, 5), columns=names).assign(label=["a", "b"] * 5)
    give(data, ("t.csv", table.to_csv(index=False).encode()))
    loaded(data, "10 rows · 6 columns")
    for panel in ("2 · Columns", "3 · Preparation", "1 · Source"):
        data.get_by_role("tab", name=panel).click()
        settled(data)
    canvas = design(data)
    canvas.use("flat")
    canvas.click(next(v for v, node in canvas.nodes.items() if node["kind"] == "kernel"))
    canvas.open("Paths")
    settled(data)
    assert data.locator("img[src=x]").count() == 0


def test_data_survive_a_reload_and_how_they_were_read_can_then_be_corrected(data: Page) -> None:
    give(data, ("clinic.csv", MESSY.encode()))
    loaded(data, "6 rows · 5 columns")
    data.reload()
    data.get_by_role("tab", name="1 · Source").click()
    expect(data.get_by_text("Uploaded before")).to_be_visible()
    expect(data.get_by_text("6 rows · 5 columns")).to_be_visible()
    settled(data)
    data.get_by_text("6 rows × 5 columns").click()
    settled(data)
    data.get_by_text("The first row holds names").click()
    expect(data.get_by_text("7 rows · 5 columns")).to_be_visible()
