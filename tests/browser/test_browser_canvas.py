"""Drawing in a real browser: by mouse and by keys, undo, paths in red, refusals, themes, reload, two tabs."""

from collections.abc import Callable

from canvas_driver import Canvas, settled
from playwright.sync_api import Page, expect

from spnmkl.structure import SPN, templates
from spnmkl.structure.paths import drawn_path


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


def test_figure_1_by_mouse_from_an_empty_canvas(canvas: Canvas) -> None:
    canvas.empty()
    root = canvas.draw("sum", 0.4, 0.08)
    left, right = canvas.draw("product", 0.2, 0.25), canvas.draw("product", 0.6, 0.25)
    sums = [canvas.draw("sum", x, 0.45) for x in (0.15, 0.4, 0.8)]
    leaves = [canvas.draw("kernel", 0.07 + 0.14 * k, 0.92) for k in range(7)]
    for parent, child in [(root, left), (root, right), (left, sums[0]), (right, sums[1]), (right, sums[2])]:
        canvas.connect(parent, child)
    for parent, its in zip(sums, (leaves[:2], leaves[2:4], leaves[4:]), strict=True):
        for leaf in its:
            canvas.connect(parent, leaf)
            assert "Put product" in canvas.status
    is_figure_1(canvas)


def test_figure_1_by_keyboard_from_an_empty_canvas(canvas: Canvas) -> None:
    canvas.empty()
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


def in_view(canvas: Canvas) -> bool:
    """Whether every node can be seen whole."""
    return bool(canvas.look("canvas.drawing.nodes.every((n) => canvas.inView(n))"))


def blue_edges(canvas: Canvas) -> list[str]:
    """The edges that are drawn as selected or hovered."""
    return list(
        canvas.look("Object.values(canvas.network.body.edges).filter(e => e.selected || e.hover).map(e => e.id)")
    )


def test_new_nodes_are_below_their_parent_and_in_view(canvas: Canvas) -> None:
    root = next(v for v, node in canvas.nodes.items() if node["y"] == min(n["y"] for n in canvas.nodes.values()))
    canvas.click(root)  # the mouse stays there
    for _ in range(3):
        product = canvas.type("p")
        kernel = canvas.type("k")
        canvas.sent()
        assert in_view(canvas)
        places = canvas.places
        assert places[root][1] < places[product][1] < places[kernel][1]
        assert abs(places[product][0] - places[kernel][0]) <= 95, "right below where there is room"
        assert blue_edges(canvas) == []
        assert canvas.selected == [kernel]
        canvas.click(root)
    canvas.tool("product")
    canvas.page.mouse.click(*canvas.at(root))
    canvas.sent()
    assert in_view(canvas) and (root, canvas.selected[0]) in canvas.edges


def test_who_looks_at_a_part_keeps_the_scale_and_sees_the_new_node(canvas: Canvas) -> None:
    canvas.click(next(v for v, node in canvas.nodes.items() if node["kind"] == "product"))
    for _ in range(8):
        canvas.tool("in")
    scale = canvas.look("canvas.network.getScale()")
    new = canvas.type("k")
    assert canvas.look(f"canvas.inView(canvas.node({new!r}))")
    assert canvas.look("canvas.network.getScale()") == scale


def test_a_mode_says_what_to_do_next(canvas: Canvas) -> None:
    for mode, hint in {"product": "Click the sum that gets a product", "connect": "Drag from a parent"}.items():
        canvas.tool(mode)
        assert canvas.status.startswith(hint) and canvas.status.endswith("Esc ends.")
        canvas.press("Escape")
        assert canvas.look("canvas.mode") == "select" and "Esc" not in canvas.status
    canvas.draw("kernel", 0.05, 0.05)
    assert canvas.status.startswith("Added kernel"), "what was done is said, not hidden by a hint"


def test_undo_back_to_empty_and_redo(canvas: Canvas) -> None:
    canvas.empty()
    canvas.type("s")
    canvas.sent()
    canvas.type("k")
    canvas.sent()
    canvas.press("Control+d")
    canvas.sent()
    canvas.press("Shift+ArrowRight")
    canvas.sent()
    canvas.command("l")
    page = canvas.page
    page.get_by_label("Label", exact=True).fill("moved")
    before = canvas.revision
    page.get_by_label("Label", exact=True).press("Enter")
    canvas.renewed(before)
    steps, done = 6, (canvas.nodes, canvas.edges)
    for _ in range(steps):
        assert canvas.nodes
        canvas.command("Control+z")
    assert not canvas.nodes
    for _ in range(steps):
        canvas.command("Control+y")
    assert (canvas.nodes, canvas.edges) == done
    assert canvas.frame.locator("button[data-act=redo]").is_disabled()
    assert canvas.exported().label("k2") == "moved"
    for _ in range(steps + 1):
        canvas.command("Control+z")
    assert canvas.frame.locator("button[data-act=undo]").is_disabled()
    assert len(canvas.nodes) > 10, "the drawing that the page opened on"


def test_a_chosen_path_is_red(canvas: Canvas) -> None:
    canvas.use("figure1")
    spn = canvas.exported()
    canvas.open("Paths")
    grid = canvas.page.get_by_test_id("stDataFrame").filter(visible=True).first
    for row in (4, 1):
        grid.click(position={"x": 12, "y": 35 * (row + 1) + 17})
        nodes, edges = drawn_path(spn, list(spn.paths())[row])
        canvas.wait(f"canvas.looks.path.edges.length === {len(edges)}")
        settled(canvas.page)
        assert set(canvas.look("canvas.looks.path.nodes")) == set(nodes)
        red = canvas.look("canvas.edges.get().filter(e => e.color.color === canvas.color.red).map(e => [e.from, e.to])")
        assert {tuple(edge) for edge in red} == set(edges)
        assert red_near(canvas, nodes[-1]), "the leaf's border is painted red"
        assert canvas.page.locator(".katex").first.is_visible()
    canvas.open("Node")
    canvas.click("k1")
    canvas.press("Delete")
    canvas.sent()
    canvas.wait("canvas.looks.path.edges.length === 0")


def red_near(canvas: Canvas, id: str) -> bool:
    return bool(
        canvas.frame.evaluate(
            """(frame, id) => {
                const c = frame.spnCanvas, paint = frame.querySelector("canvas"), at = c.screenPosition(id);
                const stage = paint.getBoundingClientRect(), scale = paint.width / stage.width;
                const x = (at.x - stage.x) * scale, y = (at.y - stage.y) * scale;
                const d = paint.getContext("2d").getImageData(x - 80, y - 30, 160, 60).data;
                for (let i = 0; i < d.length; i += 4)
                    if (d[i] > 180 && d[i + 1] < 110 && d[i + 2] < 110 && d[i + 3] > 200) return true;
                return false;
            }""",
            id,
        )
    )


def test_untouched_nodes_stay_where_they_are(canvas: Canvas) -> None:
    canvas.use("figure1")
    before, drawn = canvas.places, canvas.nodes
    view = canvas.look("[canvas.network.getScale(), canvas.network.getViewPosition()]")
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
    assert canvas.look("[canvas.network.getScale(), canvas.network.getViewPosition()]") == view
    exported = canvas.exported()
    assert {v: exported.position(v) for v in before} == {v: (drawn[v]["x"], drawn[v]["y"]) for v in before}


def test_impossible_edges_are_refused_with_a_reason(canvas: Canvas) -> None:
    canvas.use("figure1")
    edges = canvas.edges
    canvas.tool("connect")
    for parent, child, reason in [
        ("k1", "p3", "A kernel is a leaf"),
        ("s2", "p8", "would close a cycle"),
        ("p9", "s3", "connected to s3 already"),
    ]:
        canvas.drag(parent, child)
        canvas.refused(reason)
    canvas.press("Escape")
    canvas.click("k2")
    canvas.press("s")
    canvas.refused("A kernel is a leaf")
    assert canvas.edges == edges


def test_select_an_area_duplicate_and_arrange(canvas: Canvas) -> None:
    canvas.use("figure1")
    nodes = set(canvas.nodes)
    page = canvas.page
    k1, p2 = canvas.at("k1"), canvas.at("p2")
    page.keyboard.down("Shift")
    page.mouse.move(min(k1[0], p2[0]) - 30, p2[1] - 25)
    page.mouse.down()
    page.mouse.move(max(k1[0], p2[0]) + 30, k1[1] + 25, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    chosen = canvas.selected
    assert {"k1", "p1", "p2"} <= set(chosen)
    canvas.tool("duplicate")
    canvas.sent()
    assert len(canvas.nodes) == len(nodes) + len(chosen)
    before = canvas.revision
    canvas.tool("layout")
    canvas.renewed(before)
    assert "Arranged" in canvas.status
    assert len(set(canvas.places.values())) == len(canvas.nodes)


def test_keys_of_the_canvas_do_not_reach_streamlit(canvas: Canvas) -> None:
    canvas.press("c")
    canvas.page.wait_for_timeout(200)
    assert canvas.page.get_by_role("dialog").count() == 0
    assert canvas.frame.locator("button[data-act=connect]").get_attribute("aria-pressed") == "true"


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
    again.command("Control+z")
    assert "k7" in again.nodes
    again.click("k7")
    again.press("Delete")
    again.sent()
    assert "k7" not in again.nodes


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
    for fill in ("169,208,245", "255,213,153", "195,230,189"):
        assert fill in colours, "sums, products and kernels are painted"
