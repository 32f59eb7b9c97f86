"""Drawing in a real browser: by mouse and by keys, undo, chosen paths, refusals, themes, reload, two tabs."""

import json
from collections.abc import Callable

from canvas_driver import Canvas, settled
from playwright.sync_api import Page, expect

from spnmkl.structure import SPN, templates
from spnmkl.structure.layout import box_width
from spnmkl.structure.paths import drawn_path
from spnmkl.structure.text import shown_text


def is_figure_1(canvas: Canvas) -> None:
    """The page counts 8 paths, and the exported structure has exactly those of Figure 1, whatever the ids."""
    canvas.sent()
    expect(canvas.page.get_by_text("paths · 2 layers · 9 weights · 7 kernels")).to_contain_text("8 paths")
    drawn, figure = canvas.exported(), templates.figure1()
    assert paths(drawn) == paths(figure)
    assert drawn.n_paths == 8


def paths(spn: SPN) -> list[list[tuple[str, ...]]]:
    """Every path by the kernels below the products it takes; kernels are numbered from left to right."""
    below = {v: {v} for v in spn.kernels}
    for v in reversed(spn.topological_order()):
        if v not in below:
            below[v] = set().union(*(below[child] for child in spn.children(v)))
    return sorted(sorted(("∘".join(sorted(below[v])),) for v in path.exponents) for path in spn.paths())


def test_figure_1_by_mouse_from_an_empty_canvas(board: Canvas) -> None:
    canvas = board
    root = canvas.draw("sum", 0.06, 0.5)
    left, right = canvas.draw("product", 0.22, 0.2), canvas.draw("product", 0.22, 0.7)
    sums = [canvas.draw("sum", 0.4, y) for y in (0.15, 0.45, 0.8)]
    leaves = [canvas.draw("kernel", 0.8, 0.08 + 0.13 * k) for k in range(7)]
    for parent, child in [(root, left), (root, right), (left, sums[0]), (right, sums[1]), (right, sums[2])]:
        canvas.connect(parent, child)
    for parent, its in zip(sums, (leaves[:2], leaves[2:4], leaves[4:]), strict=True):
        for leaf in its:
            canvas.connect(parent, leaf)
            assert "with the product" in canvas.status
    is_figure_1(canvas)


def test_a_port_dropped_on_a_free_place_offers_what_to_add(board: Canvas) -> None:
    canvas = board
    root = canvas.draw("sum", 0.1, 0.4)
    canvas.pull(root, canvas.spot(0.6, 0.3))
    canvas.menu("Kernel")
    canvas.wait("canvas.drawing.nodes.length === 3")
    product, kernel = (child for _, child in canvas.edges)
    assert canvas.edges == [(root, product), (product, kernel)]
    canvas.page.mouse.click(*canvas.port(root))
    canvas.menu("Product")
    canvas.wait("canvas.drawing.nodes.length === 4")
    assert canvas.edges[-1][0] == root
    canvas.sent()


def test_figure_1_by_keyboard_from_an_empty_canvas(board: Canvas) -> None:
    canvas = board
    root = canvas.type("s")
    canvas.type("p")
    for kernels in (2, 2, 2):
        top = canvas.type("s")
        for _ in range(kernels):
            canvas.walk_to(top)
            canvas.type("k")
        if kernels and len(canvas.nodes) < 8:
            canvas.walk_to(root)
            right = canvas.type("p")
        else:
            canvas.walk_to(right)
    canvas.press("Escape")
    last = canvas.type("k")
    canvas.walk_to(top)
    canvas.press("c")
    canvas.walk_to(last)
    canvas.press("Enter")
    is_figure_1(canvas)


def test_arrange_paints_every_node(board: Canvas) -> None:
    """The keys after which two thirds of the nodes were not painted."""
    canvas = board
    for key in "spkUUpskUUkUUUskUUk":
        canvas.press({"U": "ArrowLeft"}.get(key, key))
    canvas.sent()
    canvas.command("l")
    nodes = set(canvas.nodes)
    assert set(canvas.look("[...canvas.painter.painted]")) == nodes
    assert in_view(canvas)
    assert all(painted(canvas, v) for v in nodes)


def painted(canvas: Canvas, id: str) -> bool:
    """Whether the fill of a node is on the screen where the node is."""
    return bool(
        canvas.frame.evaluate(
            """(frame, id) => {
                const c = frame.spnCanvas, item = c.items.get(id), ratio = c.painter.ratio;
                const at = c.view.toScreen(item.x + item.w / 2 - 5, item.y + (item.kind === "kernel" ? 6 : 0));
                const pixel = c.painter.ctx.getImageData(at.x * ratio, at.y * ratio, 1, 1).data;
                const fill = item.look.fill.match(/[0-9a-f]{2}/g).map((part) => parseInt(part, 16));
                return fill.every((part, k) => Math.abs(part - pixel[k]) < 3) && pixel[3] === 255;
            }""",
            id,
        )
    )


def in_view(canvas: Canvas) -> bool:
    """Whether every node can be seen whole."""
    return bool(canvas.look("canvas.drawing.nodes.every((n) => canvas.inView(n))"))


def test_new_nodes_are_beside_their_parent_in_view_and_apart(canvas: Canvas) -> None:
    canvas.use("figure1")
    root = min(canvas.places, key=lambda v: canvas.places[v][0])
    canvas.click(root)
    view = canvas.look("[canvas.view.x, canvas.view.y, canvas.view.scale]")
    for _ in range(3):
        edits = canvas.look("canvas.sequence")
        product = canvas.type("p")
        kernel = canvas.type("k")
        canvas.sent()
        assert canvas.look("canvas.sequence") == edits + 2, "each is sent once: it has its width from the beginning"
        assert in_view(canvas)
        places = canvas.places
        assert places[root][0] < places[product][0] < places[kernel][0]
        assert canvas.selected == [kernel]
        canvas.click(root)
    assert no_overlap(canvas)
    assert canvas.look("[canvas.view.x, canvas.view.y, canvas.view.scale]") == view
    canvas.tool("product")
    canvas.page.mouse.click(*canvas.at(root))
    canvas.sent()
    assert in_view(canvas) and (root, canvas.selected[0]) in canvas.edges


def test_a_box_has_at_once_the_text_and_the_width_that_python_gives_it(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    names = ["mean radius", "WORST, of 3", "an unusually long name of a column, in cm", 60 * "column", "größer"]
    given = [{"features": [name]} for name in names] + [{"features": names}, {}, {"label": "all of it"}]
    made = [{"id": f"k{k}", "kind": "kernel", "kernel": "rbf", **more} for k, more in enumerate(given, 100)]
    found = [canvas.look(f"(({{ w, text }}) => [w, text])(canvas.provisional({json.dumps(node)}))") for node in made]
    structure = {**templates.figure1().to_dict()}
    spn = SPN.from_dict({**structure, "nodes": [*structure["nodes"], *made]})
    assert len(spn.kernels) < 22
    assert found == [[box_width(shown_text(spn, node["id"])), shown_text(spn, node["id"])] for node in made]


def no_overlap(canvas: Canvas) -> bool:
    return bool(
        canvas.look(
            "[...canvas.items.values()].every((a, k, all) => all.slice(k + 1).every((b) =>"
            "Math.abs(a.x - b.x) >= (a.w + b.w) / 2 || Math.abs(a.y - b.y) >= (a.h + b.h) / 2))"
        )
    )


def test_who_looks_at_a_part_keeps_the_scale_and_sees_the_new_node(canvas: Canvas) -> None:
    canvas.click(next(v for v, node in canvas.nodes.items() if node["kind"] == "product"))
    for _ in range(4):
        canvas.tool("in")
    scale = canvas.look("canvas.view.scale")
    canvas.type("k")
    canvas.sent()
    assert canvas.look("canvas.inView(canvas.selected()[0])")
    assert canvas.look("canvas.view.scale") == scale


def behind(canvas: Canvas) -> list[str]:
    """Edges that pass behind a box or circle which is none of their ends, by the points they are painted from."""
    return list(
        canvas.look(
            """canvas.lines.filter(({ from, to, points }) => {
                const others = [...canvas.items.values()].filter(({ id }) => id !== from.id && id !== to.id);
                const round = ({ kind }) => kind === "sum" || kind === "product";
                const hides = (o, x, y) => round(o) ? Math.hypot(x - o.x, y - o.y) < o.w / 2
                    : Math.abs(x - o.x) < o.w / 2 && Math.abs(y - o.y) < o.h / 2;
                const at = (k, t) => [0, 1].map((side) => (1 - t) ** 3 * points[k][side] + 3 * (1 - t) ** 2 * t
                    * points[k + 1][side] + 3 * (1 - t) * t ** 2 * points[k + 2][side] + t ** 3 * points[k + 3][side]);
                for (let k = 0; k + 3 < points.length; k += 3)
                    for (let t = 0; t <= 1; t += 0.02) {
                        const [x, y] = at(k, t);
                        if (others.some((o) => hides(o, x, y))) return true;
                    }
                return false;
            }).map(({ name }) => name)"""
        )
    )


def test_what_is_drawn_by_keys_passes_behind_nothing_and_moves_no_view(board: Canvas) -> None:
    canvas = board
    canvas.press("s")
    view = canvas.look("[canvas.view.x, canvas.view.y, canvas.view.scale]")
    for key in "kkkUUpskkUUUUpskkUUkUUUUk":
        canvas.press({"U": "ArrowLeft"}.get(key, key))
        assert canvas.look("canvas.inView(canvas.selected()[0])")
        assert behind(canvas) == [] and no_overlap(canvas), "also before Python has answered"
    canvas.sent()
    assert behind(canvas) == [] and no_overlap(canvas)
    assert canvas.look("[canvas.view.x, canvas.view.y, canvas.view.scale]") == view
    assert len(canvas.exported().roots) == 1


def test_an_edge_goes_around_a_node_that_is_dragged_into_its_way(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    canvas.look("canvas.move(['p8', 's2', 'p1', 'p2', 'k1', 'k2'], 330, -40)")
    canvas.sent()
    line = canvas.look("canvas.lines.find(l => l.to.id === 'p8')")
    x, y = (sum(point[side] for point in (line["points"][0], line["points"][-1])) / 2 for side in (0, 1))
    place = canvas.nodes["k7"]
    canvas.look(f"canvas.move(['k7'], {x - place['x']}, {y - place['y']})")
    assert '["s1","p8"]' not in behind(canvas), "at once"
    canvas.sent()
    canvas.wait("canvas.items.get('k7').settled")
    assert '["s1","p8"]' not in behind(canvas), "and as Python draws it"


def test_a_parent_out_of_sight_is_shown_with_its_new_child(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    canvas.click("s4")
    canvas.look("canvas.view.moved(-3000, 0)")
    scale = canvas.look("canvas.view.scale")
    canvas.type("k")
    canvas.sent()
    assert canvas.look("canvas.inView(canvas.selected()[0])") and canvas.look("canvas.view.scale") == scale


def test_a_mode_says_what_to_do_next(board: Canvas) -> None:
    canvas = board
    canvas.tool("product")
    assert canvas.status.startswith("Click the node that gets a product") and canvas.status.endswith("Esc ends.")
    canvas.press("Escape")
    assert canvas.look("canvas.mode") == "select"
    canvas.draw("kernel", 0.05, 0.05)
    assert canvas.status.startswith("Added a kernel"), "what was done is said, not hidden by a hint"


def test_ten_fast_undos_and_redos(board: Canvas) -> None:
    canvas = board
    canvas.type("s")
    for _ in range(5):
        canvas.press("k")
        canvas.press("ArrowLeft")
        canvas.press("ArrowLeft")
    steps = canvas.look("canvas.history.at")
    for _ in range(5):
        canvas.press("Shift+ArrowRight")
    done = canvas.nodes, canvas.edges
    assert canvas.look("canvas.history.at") == steps + 5
    for _ in range(10):
        canvas.page.keyboard.press("Control+z")
        canvas.page.wait_for_timeout(30)
    assert canvas.look("canvas.history.at") == steps - 5
    assert len(canvas.nodes) == 1
    canvas.sent()
    assert len(canvas.exported().nodes) == 1, "Python has followed"
    for _ in range(10):
        canvas.press("Control+Shift+z")
    assert (canvas.nodes, canvas.edges) == done
    canvas.sent()
    assert len(canvas.exported().nodes) == len(done[0])


def test_undo_back_to_empty_and_redo(canvas: Canvas) -> None:
    canvas.empty()
    canvas.type("s")
    canvas.type("k")
    canvas.press("Control+d")
    canvas.press("Shift+ArrowRight")
    canvas.command("l")
    label = canvas.page.get_by_label("Label", exact=True)
    label.fill("moved")
    before = canvas.revision
    label.press("Enter")
    canvas.renewed(before)
    steps, done = 6, (canvas.nodes, canvas.edges)
    for _ in range(steps):
        assert canvas.nodes
        canvas.press("Control+z")
    assert not canvas.nodes
    for _ in range(steps):
        canvas.press("Control+y")
    assert (canvas.nodes, canvas.edges) == done
    assert canvas.frame.locator("button[data-act=redo]").is_disabled()
    canvas.sent()
    assert canvas.exported().label("k2") == "moved"
    for _ in range(steps + 1):
        canvas.press("Control+z")
    assert canvas.frame.locator("button[data-act=undo]").is_disabled()
    assert len(canvas.nodes) > 10, "the drawing that the page opened on"


def test_a_chosen_path_is_marked(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    spn = canvas.exported()
    canvas.open("Paths")
    grid = canvas.page.get_by_test_id("stDataFrame").filter(visible=True).first
    for row in (4, 1):
        grid.click(position={"x": 12, "y": 35 * (row + 1) + 17})
        nodes, edges = drawn_path(spn, list(spn.paths())[row])
        canvas.wait(f"canvas.lines.filter(l => l.look.chosen).length === {len(edges)}")
        settled(canvas.page)
        assert set(canvas.look("[...canvas.items.values()].filter(n => n.look.chosen).map(n => n.id)")) == set(nodes)
        marked = canvas.look("canvas.lines.filter(l => l.look.chosen).map(l => [l.from.id, l.to.id])")
        assert {tuple(edge) for edge in marked} == set(edges)
        canvas.page.locator(".katex").first.wait_for()
    canvas.open("Node")
    canvas.click("k1")
    canvas.press("Delete")
    canvas.sent()
    canvas.wait("canvas.lines.every(l => !l.look.chosen)")
    assert painted_words(canvas).count("!") == 1, "the product without a child, not by its colour alone"


def painted_words(canvas: Canvas) -> list[str]:
    """All texts of one painting."""
    return list(
        canvas.look(
            """(() => {
                const { ctx } = canvas.painter, said = [], usual = ctx.fillText;
                ctx.fillText = function (text, ...at) { said.push(text); usual.call(this, text, ...at); };
                canvas.paint();
                delete ctx.fillText;
                return said;
            })()"""
        )
    )


def test_untouched_nodes_stay_where_they_are(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    before, drawn = canvas.places, canvas.nodes
    view = canvas.look("[canvas.view.scale, canvas.view.x, canvas.view.y]")
    canvas.click("s1")
    canvas.type("k")
    canvas.sent()
    canvas.click("k7")
    canvas.press("Delete")
    canvas.sent()
    canvas.click("p3")
    revision = canvas.revision
    canvas.page.get_by_label("p", exact=True).fill("2")
    canvas.page.get_by_label("p", exact=True).press("Enter")
    canvas.renewed(revision)
    start = canvas.at("k1")
    canvas.page.mouse.move(*start)
    canvas.page.mouse.down()
    canvas.page.mouse.move(start[0] + 5, start[1] + 40, steps=5)
    canvas.page.mouse.up()
    canvas.sent()
    after = canvas.places
    assert after.pop("k1") != before.pop("k1")
    del before["k7"]
    assert {v: after[v] for v in before} == before
    assert canvas.look("[canvas.view.scale, canvas.view.x, canvas.view.y]") == view
    exported = canvas.exported()
    assert {v: exported.position(v) for v in before} == {v: (drawn[v]["x"], drawn[v]["y"]) for v in before}


def test_kernel_after_kernel_and_arrows_that_follow_the_edges(board: Canvas) -> None:
    canvas = board
    for key in "skk":
        canvas.press(key)
    spn = canvas.exported()
    assert len(spn.sums) == 1 and len(spn.products) == len(spn.kernels) == 2 and spn.n_paths == 2
    for _ in range(2):
        canvas.press("ArrowLeft")
    assert canvas.selected == [spn.root], "to the product, then to the sum, whatever stands nearer"
    for _ in range(2):
        canvas.press("ArrowRight")
    (kernel,) = canvas.selected
    canvas.press("Control+d")
    spn = canvas.exported()
    assert kernel in spn.kernels and len(spn.products) == len(spn.kernels) == 3 and len(spn.roots) == 1
    for _ in range(9):
        canvas.press("Control+z")
    assert "nothing to undo" in canvas.status and "refused" not in (canvas.frame.get_attribute("class") or "")


def test_impossible_edges_are_refused_with_a_reason(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    edges = canvas.edges
    for parent, child, reason in [("s2", "p8", "would close a cycle"), ("p9", "s3", "connected already")]:
        canvas.pull(parent, canvas.at(child))
        canvas.refused(reason)
    canvas.click("k2")
    canvas.press("s")
    canvas.refused("A kernel is a leaf")
    assert canvas.edges == edges


def test_select_an_area_duplicate_align_and_arrange(board: Canvas) -> None:
    canvas = board
    canvas.use("figure1")
    nodes = set(canvas.nodes)
    page = canvas.page
    k1, p1 = canvas.at("k1"), canvas.at("p1")
    page.keyboard.down("Shift")
    page.mouse.move(p1[0] - 22, min(k1[1], p1[1]) - 16)
    page.mouse.down()
    page.mouse.move(k1[0] + 100, max(k1[1], p1[1]) + 14, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    chosen = canvas.selected
    assert {"k1", "p1"} <= set(chosen)
    canvas.tool("duplicate")
    canvas.sent()
    assert len(canvas.nodes) == len(nodes) + len(chosen)
    page.mouse.click(*canvas.at("k3"), button="right")
    canvas.menu("Select all kernels")
    assert len(canvas.selected) == sum(node["kind"] == "kernel" for node in canvas.nodes.values())
    page.mouse.click(*canvas.at("k3"), button="right")
    canvas.menu("Align left")
    lefts = canvas.look("[...canvas.items.values()].filter(n => n.kind === 'kernel').map(n => n.x - n.w / 2)")
    assert max(lefts) - min(lefts) <= 1
    before = canvas.revision
    canvas.tool("arrange")
    canvas.renewed(before)
    assert "Arranged" in canvas.status
    assert len(set(canvas.places.values())) == len(canvas.nodes)


def test_keys_of_the_canvas_do_not_reach_streamlit(board: Canvas) -> None:
    canvas = board
    canvas.press("c")
    canvas.refused("Select the parent first")
    canvas.press("r")
    canvas.page.wait_for_timeout(200)
    assert canvas.page.get_by_role("dialog").count() == 0


def test_a_reload_keeps_the_drawing_and_its_history(canvas: Canvas) -> None:
    canvas.use("figure1")
    canvas.click("k7")
    canvas.press("Delete")
    canvas.sent()
    drawn = canvas.nodes, canvas.edges
    canvas.page.reload()
    again = Canvas(canvas.page)
    again.wait(f"canvas.drawing.nodes.length === {len(drawn[0])}")
    assert (again.nodes, again.edges) == drawn
    again.press("Control+z")
    assert "k7" in again.nodes
    again.click("k7")
    again.press("Delete")
    again.sent()
    assert "k7" not in again.nodes


def test_another_address_in_the_same_tab_keeps_the_drawing(canvas: Canvas, url: str) -> None:
    canvas.use("figure1")
    canvas.page.goto(f"{url}/train")
    canvas.page.get_by_role("button", name="Train", exact=True).wait_for()
    settled(canvas.page)
    canvas.page.goto(f"{url}/design")
    again = Canvas(canvas.page)
    again.wait("canvas.drawing.nodes.length === 20")
    again.press("Control+z")
    assert len(again.nodes) != 20, "with its history"


def test_two_tabs_are_separate(canvas: Canvas, tab: Callable[[], Page], url: str) -> None:
    canvas.use("figure1")
    page = tab()
    page.goto(f"{url}/design")
    other = Canvas(page)
    opened = other.nodes
    assert opened != canvas.nodes
    other.empty()
    assert len(canvas.nodes) == 20
    with canvas.page.expect_popup() as popup:
        canvas.page.evaluate("window.open(location.href)")  # copies sessionStorage, as a duplicated tab does
    twin = Canvas(popup.value)
    twin.wait(f"canvas.drawing.nodes.length === {len(opened)}")
    twin.empty()
    canvas.page.reload()
    again = Canvas(canvas.page)
    again.wait("canvas.drawing.nodes.length === 20")


def test_both_themes(canvas: Canvas) -> None:
    for scheme in ("light", "dark"):
        canvas.page.emulate_media(color_scheme=scheme)
        for _ in range(100):
            background, text = (brightness(canvas, name) for name in ("backgroundColor", "color"))
            if (background > text) == (scheme == "light"):
                break
            canvas.page.wait_for_timeout(20)
        assert abs(background - text) > 300
        dark = str(scheme == "dark").lower()
        canvas.wait(f"(parseInt(canvas.colors.kernel.slice(1, 3), 16) < 128) === {dark}")
        assert (background > text) == (scheme == "light")
        is_painted(canvas)


def brightness(canvas: Canvas, name: str) -> int:
    return sum(canvas.frame.evaluate(f"f => getComputedStyle(f).{name}.match(/\\d+/g).slice(0, 3).map(Number)"))


def is_painted(canvas: Canvas) -> None:
    colours = canvas.frame.evaluate(
        """f => {
            const paint = f.querySelector("canvas"), seen = new Set();
            const d = paint.getContext("2d").getImageData(0, 0, paint.width, paint.height).data;
            for (let i = 0; i < d.length; i += 4) if (d[i + 3] > 250) seen.add(d.slice(i, i + 3).join());
            return [...seen];
        }"""
    )
    for fill in canvas.look("['sum', 'product', 'kernel'].map(kind => canvas.colors[kind])"):
        assert ",".join(str(int(fill[k : k + 2], 16)) for k in (1, 3, 5)) in colours, "all kinds are painted"
