"""The drawing board in a real browser: names, copies, groups, search, columns, several nodes, touch, a lost server."""

import json
import sys
from pathlib import Path

import pytest
from canvas_driver import Canvas, settled
from playwright.sync_api import Browser, Page, expect

from spnmkl.structure import SPN, Kernel, Product, Sum, templates

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))
from serving import serving


def image() -> SPN:
    """64 kernels in four branches, over columns that no data have."""

    def branch(name: str, top: int, left: int) -> Product:
        cells = [(top + k // 4, left + k % 4) for k in range(16)]
        leaves = [Kernel("rbf", features=[f"pixel_{r}_{c}"], gamma="median", label=f"pixel {r}_{c}") for r, c in cells]
        return Product(Sum(*map(Product, leaves), label=name), label=name)

    corners = {"top left": (0, 0), "top right": (0, 4), "bottom left": (4, 0), "bottom right": (4, 4)}
    return SPN(Sum(*(branch(name, *at) for name, at in corners.items()), label="image"))


@pytest.fixture
def small_screen(page: Page, url: str) -> Canvas:
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(f"{url}/design")
    return Canvas(page)


def rename(canvas: Canvas, name: str) -> None:
    field = canvas.frame.get_by_label("Name of the node")
    expect(field).to_be_focused()
    field.fill(name)
    field.press("Enter")
    canvas.sent()


def test_rename_in_place_by_double_click_f2_and_enter(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    canvas.page.mouse.dblclick(*canvas.at("k1"))
    rename(canvas, "<b>hue</b>")
    assert canvas.nodes["k1"]["label"] == "<b>hue</b>"
    canvas.wait("canvas.look('k1').text.includes('<b>hue</b>')")
    for v, key in (("k2", "F2"), ("s2", "Enter")):
        canvas.click(v)
        canvas.press(key)
        rename(canvas, f"named {v}")
    canvas.press("F2")
    canvas.frame.get_by_label("Name of the node").fill("not this")
    canvas.page.keyboard.press("Escape")
    spn = canvas.exported()
    assert [spn.label(v) for v in ("k1", "k2", "s2")] == ["<b>hue</b>", "named k2", "named s2"]
    canvas.press("Control+z")
    canvas.sent()
    assert canvas.exported().label("s2") == "s2"


def test_copy_paste_and_cut_also_between_tabs(canvas: Canvas, url: str) -> None:
    canvas.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    canvas.use("figure1")
    canvas.click("s2")
    canvas.page.keyboard.down("Shift")
    canvas.page.mouse.click(*canvas.at("p1"))
    canvas.page.mouse.click(*canvas.at("k1"))
    canvas.page.keyboard.up("Shift")
    chosen = canvas.selected
    assert set(chosen) == {"s2", "p1", "k1"}
    canvas.press("Control+c")
    canvas.press("Control+v")
    canvas.wait("canvas.drawing.nodes.length === 23")
    assert len(canvas.selected) == 3 and len(canvas.edges) == 19 + 2
    canvas.sent()
    spn = canvas.exported()
    twin = next(v for v in canvas.selected if v.startswith("k"))
    assert spn.spec(twin) == spn.spec("k1")
    canvas.press("Control+x")
    canvas.wait("canvas.drawing.nodes.length === 20")
    page = canvas.page.context.new_page()
    page.goto(f"{url}/design")
    other = Canvas(page)
    other.empty()
    other.press("Control+v")
    other.wait("canvas.drawing.nodes.length === 3")
    other.sent()
    pasted = other.exported()
    assert pasted.spec(pasted.kernels[0]) == spn.spec("k1")
    page.evaluate("navigator.clipboard.writeText('<b>no structure</b>')")
    other.press("Control+v")
    other.refused("The clipboard holds no structure")
    bad = {**pasted.to_dict(), "nodes": [{"id": "k1", "kind": "kernel", "kernel": "rbf", "wonder": 1}], "edges": []}
    page.evaluate("text => navigator.clipboard.writeText(text)", json.dumps(bad))
    other.press("Control+v")
    other.wait("canvas.frame.classList.contains('refused') && canvas.drawing.nodes.length === 3")
    assert "cannot carry 'wonder'" in other.status
    other.press("s")
    other.sent()
    assert len(other.exported().nodes) == 4, "the drawing goes on from what was kept"


def test_several_nodes_are_changed_in_the_panel(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    canvas.page.mouse.click(*canvas.at("k3"), button="right")
    canvas.menu("Select all kernels")
    expect(canvas.page.get_by_text("7 kernels", exact=True)).to_be_visible()
    before = canvas.revision
    field = canvas.page.get_by_role("textbox", name="Label prefix")
    field.fill("part")
    field.press("Enter")
    canvas.renewed(before)
    assert [canvas.nodes[f"k{k}"]["label"] for k in range(1, 8)] == [f"part {k}" for k in range(1, 8)]
    assert len(canvas.selected) == 7
    canvas.press("Control+z")
    assert not any(node.get("label", "").startswith("part") for node in canvas.nodes.values())
    canvas.sent()


def test_what_is_drawn_while_python_answers_is_kept(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    x = canvas.nodes["k1"]["x"]
    field, before = canvas.page.get_by_label("p", exact=True), canvas.revision
    for k, p in enumerate(("2", "3"), 1):
        canvas.click("p3")
        field.fill(p)
        field.press("Enter")
        canvas.look(
            "canvas.move(['k1'], 20, 0), canvas.add('kernel', {x: 600, y: 400})"
        )  # and selects it, at the same moment
        canvas.renewed(before)
        before = canvas.revision
        spn = canvas.exported()
        assert spn.p("p3") == float(p)
        assert abs(spn.position("k1")[0] - x - 20 * k) < 1  # type: ignore[index]
        assert len(spn.kernels) == 7 + k


def test_a_copy_of_a_closed_group_is_laid_out(small_screen: Canvas) -> None:
    canvas = small_screen
    canvas.opened("image.json", image().to_json().encode())
    group = canvas.look("[...canvas.items.values()].find(item => item.kind === 'group')")
    canvas.page.mouse.click(*canvas.at(group["id"]))
    canvas.press("k")
    canvas.refused("Open the group first")
    canvas.command("Control+d")
    assert len(canvas.nodes) == 137 + len(group["members"])
    visible = canvas.places
    assert len(set(visible.values())) == len(visible)


def test_64_kernels_are_legible_and_reached_in_two_actions(small_screen: Canvas) -> None:
    canvas = small_screen
    canvas.opened("image.json", image().to_json().encode())
    assert canvas.shown["textPx"] >= 11
    assert canvas.look("canvas.view.shows(canvas.view.outline())")
    closed = canvas.look("canvas.drawing.closed")
    assert closed
    canvas.press("Control+f")  # the first action: its name
    canvas.page.keyboard.type("pixel 1_2")
    canvas.page.keyboard.press("Enter")
    canvas.wait("canvas.selected().length === 1 && canvas.items.has(canvas.selected()[0])")
    canvas.sent()
    (found,) = canvas.selected
    assert canvas.nodes[found]["label"] == "pixel 1_2"
    assert canvas.look(f"canvas.inView({found!r})") and canvas.shown["textPx"] >= 11
    label = canvas.page.get_by_label("Label", exact=True)  # the second: its field
    expect(label).to_have_value("pixel 1_2")
    before = canvas.revision
    label.fill("seen")
    label.press("Enter")
    canvas.renewed(before)
    assert canvas.nodes[found]["label"] == "seen"


def test_groups_close_and_open_as_steps_of_the_history(small_screen: Canvas) -> None:
    canvas = small_screen
    canvas.opened("image.json", image().to_json().encode())
    group = canvas.look("[...canvas.items.values()].find(item => item.kind === 'group')")
    assert group["look"]["text"].startswith("16 × rbf")
    closed, nodes, before = set(canvas.look("canvas.drawing.closed")), set(canvas.nodes), canvas.revision
    canvas.page.mouse.dblclick(*canvas.at(group["id"]))
    canvas.renewed(before)
    opened = set(canvas.look("canvas.drawing.closed"))
    assert len(opened) == len(closed) and opened - closed, "another was closed, so that all can be read"
    assert "closed 1 other" in canvas.status and canvas.shown["textPx"] >= 11
    assert set(group["members"]) <= set(canvas.places) and set(canvas.nodes) == nodes
    before = canvas.revision
    page, badge = (
        canvas.page,
        canvas.frame.evaluate(
            """(frame, id) => {
            const c = frame.spnCanvas, parent = [...c.items.values()].find(item => item.open === id);
            const at = c.view.toScreen(parent.x - parent.w / 2 - 11, parent.y), stage = c.stage.getBoundingClientRect();
            return [stage.x + at.x, stage.y + at.y];
        }""",
            group["id"],
        ),
    )
    page.mouse.click(*badge)
    canvas.renewed(before)
    assert set(canvas.look("canvas.drawing.closed")) == closed | opened
    canvas.press("Control+z")
    assert set(canvas.look("canvas.drawing.closed")) == opened
    canvas.press("Control+z")
    assert set(canvas.look("canvas.drawing.closed")) == closed and group["id"] in canvas.places
    canvas.sent()
    assert set(canvas.exported().nodes) == nodes


def test_300_kernels_are_legible_and_reached_in_three_actions(small_screen: Canvas) -> None:
    canvas = small_screen
    canvas.opened("many.json", templates.flat([f"column_{k}" for k in range(300)]).to_json().encode())
    canvas.wait("Number(canvas.frame.dataset.textPx) >= 11")
    canvas.press("/")
    canvas.page.keyboard.type("column_217")
    canvas.page.keyboard.press("Enter")
    canvas.wait("canvas.selected().length === 1 && canvas.items.has(canvas.selected()[0])")
    canvas.sent()
    (found,) = canvas.selected
    assert canvas.nodes[found]["features"] == ["column_217"]
    assert canvas.look(f"canvas.inView({found!r})") and canvas.shown["textPx"] >= 11
    expect(canvas.page.get_by_label("Label", exact=True)).to_be_visible()


MANY = {
    "flat": templates.flat([f"column_{k}" for k in range(300)]),
    "grouped": templates.grouped({f"view {j}": [f"gene_{j}_{k}" for k in range(15)] for j in range(20)}),
}


@pytest.mark.parametrize("name", MANY)
def test_any_of_300_kernels_is_reached_by_mouse_in_three_actions(small_screen: Canvas, name: str) -> None:
    canvas = small_screen
    canvas.opened("many.json", MANY[name].to_json().encode())
    assert canvas.shown["textPx"] >= 11 and canvas.look("canvas.view.isFitted")
    closed = canvas.look("[...canvas.items.values()].filter(item => item.kind === 'group')")
    nodes = canvas.nodes
    drawn = {v for v in canvas.places if v in nodes}
    assert drawn | {v for group in closed for v in group["members"]} == set(nodes), "all are here, or in a box"
    for group in (closed[0], closed[len(closed) // 2], closed[-1]):
        before = canvas.revision
        canvas.page.mouse.dblclick(*canvas.at(group["id"]))  # the first action: its group
        canvas.renewed(before)
        assert canvas.shown["textPx"] >= 11
        kernels = [v for v in group["members"] if nodes[v]["kind"] == "kernel"]
        assert kernels and canvas.look(f"{kernels!r}.every((v) => canvas.inView(v))")
        canvas.press("Control+z")
        canvas.sent()
    before = canvas.revision
    canvas.page.mouse.dblclick(*canvas.at(closed[-1]["id"]))
    canvas.renewed(before)
    last = next(v for v in reversed(closed[-1]["members"]) if nodes[v]["kind"] == "kernel")
    canvas.click(last)  # the second: the kernel
    label, before = canvas.page.get_by_label("Label", exact=True), canvas.revision
    label.fill("seen")  # the third: its field
    label.press("Enter")
    canvas.renewed(before)
    assert canvas.nodes[last]["label"] == "seen"


@pytest.mark.parametrize("name", MANY)
def test_all_groups_open_and_close_and_no_picture_is_without_a_word(small_screen: Canvas, name: str) -> None:
    canvas = small_screen
    canvas.opened("many.json", MANY[name].to_json().encode())

    def choose(entry: str) -> None:
        before = canvas.revision
        canvas.tool("groups")
        canvas.menu(entry)
        canvas.renewed(before)

    choose("Open all groups")
    assert canvas.look("canvas.drawing.closed") == [] and canvas.look("canvas.view.isFitted")
    assert canvas.shown["textPx"] >= 11
    named = canvas.look("canvas.painter.named.map(({ text, left, top }) => ({ text, left, top }))")
    assert len(named) >= 15 and len({name["text"] for name in named}) == len(named), "every part, by its own name"
    stage = canvas.frame.locator(".stage").bounding_box()
    assert stage
    canvas.page.mouse.click(stage["x"] + named[3]["left"] + 20, stage["y"] + named[3]["top"] + 10)  # goes there
    canvas.wait("canvas.painter.named.length === 0 && Number(canvas.frame.dataset.textPx) >= 11")
    choose("Close all groups")
    assert canvas.look("[...canvas.items.values()].filter(item => item.kind === 'kernel').length") == 0
    assert canvas.shown["textPx"] >= 11 and len(canvas.places) > 10
    choose("Close what does not fit")
    assert canvas.shown["textPx"] >= 11 and canvas.look("canvas.view.isFitted")
    canvas.look("canvas.view.zoom(0.2)")
    canvas.wait("Number(canvas.frame.dataset.textPx) >= 11")


def test_what_is_drawn_after_closed_groups_were_deleted_is_not_put_into_them(small_screen: Canvas) -> None:
    canvas = small_screen
    canvas.opened("many.json", MANY["grouped"].to_json().encode())
    assert canvas.look("canvas.drawing.closed")
    canvas.empty()
    top = canvas.type("s")
    for _ in range(4):
        canvas.type("k")
        canvas.click(top)
    canvas.sent()
    assert set(canvas.places) == set(canvas.nodes) and len(canvas.nodes) == 9


def test_a_closed_group_is_renamed(small_screen: Canvas) -> None:
    canvas = small_screen
    canvas.opened("image.json", image().to_json().encode())
    group = canvas.look("[...canvas.items.values()].find(item => item.kind === 'group')")
    left = group["x"] - group["w"] / 2
    canvas.page.mouse.click(*canvas.at(group["id"]))
    canvas.press("F2")
    field = canvas.frame.get_by_label("Name of the group")
    expect(field).to_be_focused()
    field.fill("a corner with quite a long name")
    field.press("Enter")
    canvas.wait(f"canvas.look({group['id']!r}).text.includes('a corner')")
    canvas.sent()
    now = canvas.look(f"canvas.items.get({group['id']!r})")
    assert now["w"] > group["w"] and abs(now["x"] - now["w"] / 2 - left) < 1, "it grows to the right"
    assert "a corner with quite a long name" in now["look"]["title"]
    spn = canvas.exported()
    renamed = [v for v in spn.nodes if spn.label(v) == "a corner with quite a long name"]
    assert [spn.kind(v) for v in renamed] == ["product", "sum"] or [spn.kind(v) for v in renamed] == ["sum", "product"]


def test_a_paste_goes_below_the_selected_node(board: Canvas) -> None:
    canvas = board
    canvas.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    canvas.use("figure1")
    canvas.click("k1")
    canvas.press("Control+c")
    canvas.click("s4")
    view = canvas.look("[canvas.view.x, canvas.view.y, canvas.view.scale]")
    canvas.press("Control+v")
    canvas.wait("canvas.drawing.nodes.length === 22")
    canvas.sent()
    spn = canvas.exported()
    (kernel,) = canvas.selected
    (product,) = spn.parents(kernel)
    assert spn.parents(product) == ("s4",) and spn.spec(kernel) == spn.spec("k1") and len(spn.roots) == 1
    assert canvas.look("[canvas.view.x, canvas.view.y, canvas.view.scale]") == view
    canvas.press("Control+c")
    canvas.press("Control+v")  # what was just copied gets its copy beside it
    canvas.wait("canvas.drawing.nodes.length === 24")
    assert len(canvas.exported().roots) == 1
    canvas.click("p8")
    canvas.press("Control+v")
    canvas.wait("canvas.drawing.nodes.length === 25")
    assert canvas.edges[-1] == ("p8", canvas.selected[0]), "a product takes a kernel as it is"


def test_a_free_place_offers_the_likely_parent_and_a_loose_node_its_connection(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    canvas.press("Escape")
    canvas.page.mouse.click(*canvas.spot(0.8, 0.92), button="right")
    canvas.menu("Add below the top sum")
    canvas.menu("Kernel below the top sum")
    canvas.wait("canvas.drawing.nodes.length === 22")
    assert len(canvas.exported().roots) == 1
    canvas.click("s3")
    canvas.page.mouse.dblclick(*canvas.spot(0.5, 0.06))
    canvas.menu("Without a parent")
    canvas.menu("Kernel")
    canvas.wait("canvas.drawing.nodes.length === 23")
    canvas.sent()
    (loose,) = canvas.selected
    assert canvas.look(f"canvas.look({loose!r}).error") and not canvas.look("canvas.look('s1').error")
    canvas.frame.get_by_role("button", name="Connect to").click()
    canvas.sent()
    spn = canvas.exported()
    assert len(spn.roots) == 1 and not [issue for issue in spn.validate() if issue.severity == "error"]
    assert canvas.frame.locator(".loose").count() == 0


def test_a_tip_leaves_the_port_free(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    for node in ("p8", "s1", "p1", "s2"):
        canvas.page.mouse.move(*canvas.spot(0.97, 0.95))
        port = canvas.port(node)
        tip = canvas.frame.get_by_role("tooltip")
        tip.wait_for()
        box = tip.bounding_box()
        assert box
        apart = (
            max(box["x"] - port[0], port[0] - box["x"] - box["width"]),
            max(box["y"] - port[1], port[1] - box["y"] - box["height"]),
        )
        assert max(apart) >= 8, node


def test_nothing_below_the_canvas_is_cut_on_a_narrow_screen(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 1024, "height": 768})
    page.goto(f"{url}/design")
    canvas = Canvas(page)
    canvas.opened("image.json", image().to_json().encode())
    canvas.look("canvas.say('Opened 16 × rbf · bottom left, and closed 1 other so that all can be read.')")
    cut = canvas.frame.evaluate(
        "f => [...f.querySelectorAll('.foot > *, .tools button')].filter(e => e.scrollWidth > e.clientWidth + 1"
        " || e.scrollHeight > e.clientHeight + 1 || e.getBoundingClientRect().right > f.getBoundingClientRect().right)"
        ".map(e => e.className || e.dataset.act)"
    )
    assert cut == []


def test_the_canvas_tells_its_size_at_once(page: Page, url: str) -> None:
    page.set_viewport_size({"width": 1900, "height": 1400})
    page.goto(f"{url}/design")
    canvas = Canvas(page)
    canvas.wait("String(canvas.toldSize) === String(canvas.size)")
    settled(page)
    canvas.opened("image.json", image().to_json().encode())
    assert canvas.look("canvas.sequence") == 0, "no edit was needed"
    open_branches = 4 - len(canvas.look("canvas.drawing.closed"))
    assert open_branches >= 2 and canvas.shown["textPx"] >= 11, "more than on a small screen"


def test_columns_are_dragged_onto_the_canvas(canvas: Canvas) -> None:
    canvas.empty()
    root = canvas.draw("sum", 0.5, 0.3)
    canvas.tool("columns")
    search = canvas.frame.get_by_label("Find views and columns")
    search.fill("worst")
    rows = canvas.frame.get_by_role("listitem")

    def drag(row: int, end: tuple[float, float]) -> None:
        box = rows.nth(row).bounding_box()
        assert box
        canvas.page.mouse.move(box["x"] + 20, box["y"] + 10)
        canvas.page.mouse.down()
        canvas.page.mouse.move(*end, steps=4)
        canvas.page.mouse.up()

    view = [name for name in canvas.look("globalThis.spnmklColumns.columns") if name.startswith("worst")]
    drag(0, canvas.at(root))  # the view
    canvas.wait("canvas.drawing.nodes.length === 3")
    (kernel,) = canvas.selected
    assert canvas.nodes[kernel]["features"] == view and canvas.nodes[kernel]["label"] == "worst"
    drag(2, canvas.at(kernel))
    canvas.wait("canvas.drawing.nodes[2].features.length === 1")
    assert canvas.nodes[kernel]["features"] == [view[1]]
    drag(3, canvas.spot(0.7, 0.85))
    canvas.wait("canvas.drawing.nodes.length === 4")
    assert len(canvas.edges) == 2, "loose on a free place"
    canvas.sent()
    assert canvas.exported().spec(canvas.selected[0]).features == (view[2],)


def test_the_panel_can_be_folded_and_tools_have_names(canvas: Canvas) -> None:
    inspector = canvas.page.locator(".st-key-inspector")
    width = canvas.look("canvas.view.width")
    canvas.tool("fold")
    expect(inspector).to_be_hidden()
    canvas.wait(f"canvas.view.width > {width} + 200")
    canvas.tool("fold")
    expect(inspector).to_be_visible()
    names = canvas.frame.evaluate(
        "f => [...f.querySelectorAll('button')].map(b => b.getAttribute('aria-label') || b.textContent.trim())"
    )
    assert all(names) and len(set(names)) == len(names)
    canvas.press("?")
    expect(canvas.frame.get_by_role("dialog", name="Shortcuts")).to_be_visible()
    canvas.page.keyboard.press("Escape")
    expect(canvas.frame.get_by_role("dialog", name="Shortcuts")).to_be_hidden()


def test_fingers_move_nodes_and_pinch(canvas: Canvas) -> None:
    touch = canvas.page.context.new_cdp_session(canvas.page)

    def fingers(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": x, "y": y, "id": k} for k, (x, y) in enumerate(places)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True, "maxTouchPoints": 2})
    kernel = next(v for v, node in canvas.nodes.items() if node["kind"] == "kernel")
    x, y = canvas.at(kernel)
    before = canvas.places[kernel]
    fingers("touchStart", (x, y))
    fingers("touchMove", (x + 30, y + 20))
    fingers("touchMove", (x + 60, y + 40))
    fingers("touchEnd")
    canvas.sent()
    moved = canvas.places[kernel]
    assert moved[0] > before[0] + 20 and moved[1] > before[1] + 10
    scale = canvas.look("canvas.view.scale")
    (left, top), (right, bottom) = canvas.spot(0.45, 0.9), canvas.spot(0.55, 0.9)
    fingers("touchStart", (left, top), (right, bottom))
    fingers("touchMove", (left - 60, top), (right + 60, bottom))
    fingers("touchMove", (left - 120, top), (right + 120, bottom))
    fingers("touchEnd")
    assert canvas.look("canvas.view.scale") > 1.5 * scale
    assert canvas.places[kernel] == moved


def test_a_restarted_server_is_offered_the_drawing(browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.set_default_timeout(30_000)
    page = context.new_page()
    with serving() as url:
        page.goto(f"{url}/design")
        canvas = Canvas(page)
        canvas.empty()
        canvas.type("s")
        canvas.type("k")
        rename_me = canvas.selected[0]
        canvas.press("F2")
        rename(canvas, "kept")
        drawn = canvas.nodes, canvas.edges
    with serving(port=int(url.rpartition(":")[2])):
        page.reload()
        again = Canvas(page)
        offer = again.frame.get_by_role("button", name="Bring it back")
        offer.click()
        again.wait("canvas.drawing.nodes.length === 3")
        again.sent()
        assert (again.nodes, again.edges) == drawn
        assert again.exported().label(rename_me) == "kept"
        settled(page)
    context.close()
