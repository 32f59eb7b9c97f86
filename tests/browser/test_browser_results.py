"""From a drawing to predictions in a real browser, and what is taken along: model, report, project."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from canvas_driver import Canvas, settled
from playwright.sync_api import Page, expect
from test_browser_pages import too_faint
from test_browser_training import LONG, set_by_hand, train_button, wait_for_ending

from spnmkl import SPNMKLClassifier
from spnmkl.data import Preparation

CHARTS = {"Train": ("Convergence", "Weights"), "Inspect": ("What matters", "Kernels", "Samples")}


def flowers(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.normal(size=(n, 3)).round(3), columns=["petal", "sepal", "leaf"])
    return frame.assign(kind=np.where(frame["petal"] * frame["sepal"] > 0, "iris", "rose"))


def go(page: Page, name: str) -> None:
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_text(f"{name} — ").wait_for()
    settled(page)


def give(page: Page, place: str, name: str, content: bytes) -> None:
    page.locator(f".st-key-{place} input[type=file]").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": content}  # type: ignore[arg-type]
    )
    settled(page)


def taken(page: Page, button: str) -> bytes:
    """What a button downloads."""
    with page.expect_download() as download:
        page.get_by_role("button", name=button).first.click()
    return Path(download.value.path()).read_bytes()


def predictions(page: Page, rows: pd.DataFrame) -> pd.DataFrame:
    page.locator("[class*=st-key-predict_rows] input[type=file]").set_input_files(
        {"name": "new.csv", "mimeType": "text/csv", "buffer": rows.to_csv(index=False).encode()}  # type: ignore[arg-type]
    )
    page.get_by_role("button", name="Download (CSV)").wait_for()
    settled(page)
    return pd.read_csv(io.BytesIO(taken(page, "Download (CSV)")))


def trained(page: Page, url: str) -> Page:
    page.goto(f"{url}/train")
    set_by_hand(page)
    train_button(page).click()
    wait_for_ending(page)
    return page


def test_draw_upload_train_predict_download(data: Page, tab: Callable[[], Page], url: str, tmp_path: Path) -> None:
    give(data, "data_files", "flowers.csv", flowers(160, 0).to_csv(index=False).encode())
    expect(data.get_by_text("160 rows · 4 columns")).to_be_visible()
    go(data, "Design")
    canvas = Canvas(data)
    canvas.empty()
    root = canvas.draw("sum", 0.5, 0.1)
    for x in (0.3, 0.7):
        canvas.connect(root, canvas.draw("kernel", x, 0.8))
    canvas.sent()
    drawn = canvas.exported()
    go(data, "Train")
    train_button(data).click()
    wait_for_ending(data)
    go(data, "Predict")
    new = flowers(40, 1)
    found = predictions(data, new.drop(columns="kind"))
    saved = tmp_path / "flowers.spnmkl"
    saved.write_bytes(taken(data, "Download it"))
    model = SPNMKLClassifier.load(saved)
    assert [path.layers for path in model.spn_.paths()] == [path.layers for path in drawn.paths()]
    X = Preparation.from_dict(model.extra_["preparation"]).transform(new)
    assert found["prediction"].tolist() == model.predict(X).tolist()
    np.testing.assert_allclose(found["score"], model.decision_function(X), rtol=1e-6)
    assert (found["prediction"] == new["kind"]).mean() > 0.65
    other = tab()
    other.goto(f"{url}/predict")
    other.get_by_text("Nothing is trained yet").wait_for()
    settled(other)
    give(other, "predict_model", "flowers.spnmkl", saved.read_bytes())
    expect(other.get_by_text("iris").first).to_be_visible()
    settled(other)
    assert predictions(other, new.drop(columns="kind"))["prediction"].tolist() == found["prediction"].tolist()


def test_a_report_opens_offline(page: Page, tab: Callable[[], Page], url: str) -> None:
    go(trained(page, url), "Runs")
    content = taken(page, "Report (HTML)").decode()
    report = tab()
    requests: list[str] = []
    report.on("request", lambda request: requests.append(request.url))
    report.set_content(content)
    expect(report.get_by_text("Certified optimal").first).to_be_visible()
    report.locator("img, svg").first.wait_for()
    assert not [address for address in requests if not address.startswith("data:")]


def test_a_row_of_the_alignments_shows_its_kernel(page: Page, url: str) -> None:
    go(trained(page, url), "Inspect")
    page.get_by_role("tab", name="Kernels").click()
    settled(page)
    box = page.get_by_role("combobox", name="Kernel")
    expect(box).to_have_value("the learned kernel K(β)")
    page.get_by_test_id("stDataFrame").first.click(position={"x": 12, "y": 35 * 2 + 17})
    expect(box).to_have_value(re.compile("^kernel · "))


def test_the_words_of_every_chart_can_be_read_in_both_themes(page: Page, url: str) -> None:
    faint: dict[str, object] = {}
    for name, tabs in CHARTS.items():
        go(trained(page, url) if name == "Train" else page, name)
        for tab in tabs:
            page.get_by_role("tab", name=tab, exact=True).click()
            page.locator(".stVegaLiteChart svg text").first.wait_for()
            settled(page)
            faint |= too_faint(page, f"{name}, {tab}")
    assert not faint


def test_pyvis_shows_the_drawing_where_it_was(page: Page, url: str) -> None:
    go(trained(page, url), "Inspect")
    canvas = page.locator(".frame")
    place = canvas.bounding_box()
    hint = page.get_by_text("Click a node to see its numbers")
    expect(hint).to_be_visible()
    switch = page.get_by_text("Show it with pyvis")
    switch.click()
    frame = page.locator("iframe")
    frame.wait_for()
    settled(page)
    expect(canvas).to_be_hidden()
    expect(hint).to_have_count(0)  # there are no numbers behind its nodes
    expect(frame).to_be_in_viewport(ratio=0.6)
    found = frame.bounding_box()
    assert place is not None and found is not None
    assert abs(found["x"] - place["x"]) < 2 and abs(found["width"] - place["width"]) < 4
    switch.click()
    expect(frame).to_have_count(0)
    expect(canvas).to_be_visible()


def test_a_project_is_saved_and_opened_in_another_tab(page: Page, tab: Callable[[], Page], url: str) -> None:
    go(trained(page, url), "Runs")
    page.get_by_role("button", name="Save or open a project").click()
    page.get_by_role("dialog").wait_for()
    settled(page)
    content = taken(page, "Save the project")
    other = tab()
    other.goto(f"{url}/runs")
    other.get_by_role("button", name="Save or open a project").click()
    dialog = other.get_by_role("dialog")
    dialog.wait_for()
    dialog.get_by_role("tab", name="Open").click()
    settled(other)
    chooser = dialog.locator("input[type=file]").first
    chooser.set_input_files({"name": "bad.zip", "mimeType": "application/zip", "buffer": content[:-200]})
    expect(dialog.get_by_test_id("stAlert").first).to_be_visible()
    chooser.set_input_files({"name": "good.zip", "mimeType": "application/zip", "buffer": content})
    dialog.get_by_role("button", name="Replace them").click()
    expect(dialog).to_be_hidden()
    expect(other.get_by_role("button", name="Report (HTML)")).to_be_visible()
    go(other, "Inspect")
    expect(other.get_by_text("Certified optimal").first).to_be_visible()


def test_a_training_is_played_again_without_asking_the_server(page: Page, url: str) -> None:
    sent: list[object] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: sent.append(frame)))
    go(trained(page, url), "Inspect")
    canvas = Canvas(page)
    group = page.get_by_role("group", name="Replay of the training")
    group.wait_for()
    expect(page.locator(".st-key-estimating")).to_have_count(0, timeout=LONG)  # it asks how far it is, and redraws
    settled(page)
    products = "canvas.drawing.nodes.filter(n => n.kind === 'product' && canvas.look(n.id)?.texts)"  # in no group
    weights = f"{products}.map(n => canvas.look(n.id).texts.map(t => t.text)).join()"
    result = canvas.look(weights)
    before = len(sent)
    assert before
    slider = group.get_by_role("slider")
    slider.focus()
    slider.press("Home")
    expect(group.get_by_text(re.compile(r"iteration 1 of \d+ · objective .* · gap .*"))).to_be_visible()
    first = canvas.look(weights)
    assert first != result
    group.get_by_role("button", name="Play the training").click()
    expect(group.get_by_text("result of")).to_be_visible()
    assert canvas.look(weights) == result
    expect(group.get_by_role("button", name="Play the training")).to_be_visible()
    slider.press("Home")
    assert len(sent) == before
    canvas.click("p2")  # Python draws the page anew, with the looks of the result
    page.get_by_text("KKT residual").wait_for()
    settled(page)
    assert canvas.look(weights) == first
