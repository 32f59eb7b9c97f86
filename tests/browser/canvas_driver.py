"""Draws on the canvas as a person would, and reads what it shows.

Nothing waits for Python between edits, as a person does not; `sent` does.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from spnmkl.structure import SPN

FAILED = pytest.StashKey[bool]()
ARROWS = {"ArrowUp": (0, -1), "ArrowDown": (0, 1), "ArrowLeft": (-1, 0), "ArrowRight": (1, 0)}


def settled(page: Page) -> None:
    page.wait_for_selector("[data-testid=stApp][data-test-script-state=notRunning]")


class SharedPages(dict[str, Page]):
    """Pages that stay open from test to test, by what they show; a test that fails takes its page along."""

    @contextmanager
    def lent(self, name: str, request: pytest.FixtureRequest, made: Callable[[], Page]) -> Iterator[Page]:
        if name not in self:
            self[name] = made()
        yield self[name]
        if request.node.stash.get(FAILED, False):
            self.pop(name).close()


class Canvas:
    """The drawing canvas of an open Design page."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.frame = page.locator(".frame")
        self.frame.wait_for(timeout=60_000)  # the first page of a server takes long on a busy machine
        self.wait("canvas.revision && canvas.view.width > 0")
        settled(page)

    def look(self, expression: str) -> Any:
        """A value of the canvas, which is called `canvas` in the expression."""
        return self.frame.evaluate(f"frame => {{ const canvas = frame.spnCanvas; return {expression}; }}")

    def wait(self, condition: str) -> None:
        for _ in range(500):
            if self.look(f"canvas && ({condition})"):  # it may not be drawn yet
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"never true on the canvas: {condition}; it says {self.status!r}")

    def sent(self) -> None:
        """Python has taken the last edit and the page has been drawn again."""
        self.wait("Number(canvas.frame.dataset.saved) === canvas.sequence")
        settled(self.page)

    def command(self, key: str) -> None:
        """A key that Python answers with a new revision."""
        before = self.look("canvas.revision")
        self.press(key)
        self.renewed(before)

    def renewed(self, before: str) -> None:
        self.wait(f"canvas.revision !== {before!r}")
        self.sent()

    @property
    def revision(self) -> str:
        return str(self.look("canvas.revision"))

    @property
    def status(self) -> str:
        return str(self.look("canvas.status.textContent"))

    @property
    def nodes(self) -> dict[str, dict[str, Any]]:
        return {node["id"]: node for node in self.look("canvas.drawing.nodes")}

    @property
    def edges(self) -> list[tuple[str, str]]:
        return [tuple(edge) for edge in self.look("canvas.drawing.edges")]

    @property
    def places(self) -> dict[str, tuple[float, float]]:
        """Where the nodes and closed groups are painted."""
        found = self.look("[...canvas.items.values()].map(n => [n.id, n.x, n.y])")
        return {id: (x, y) for id, x, y in found}

    @property
    def shown(self) -> dict[str, int]:
        """What the element tells of its state."""
        return {name: float(value) for name, value in self.frame.evaluate("f => ({...f.dataset})").items()}

    @property
    def selected(self) -> list[str]:
        return list(self.look("canvas.selected()"))

    def tool(self, name: str) -> None:
        self.frame.locator(f"button[data-act={name}]").click()

    def at(self, id: str) -> tuple[float, float]:
        """Where a node is on the screen, once the page no longer shifts."""
        self.frame.scroll_into_view_if_needed()
        before = None
        while (place := self.frame.evaluate("(frame, id) => frame.spnCanvas.screenPosition(id)", id)) != before:
            before = place
            self.page.wait_for_timeout(20)
        stage = self.frame.locator(".stage").bounding_box()
        assert stage
        assert 0 < place["x"] - stage["x"] < stage["width"], f"{id} is out of view"
        assert 0 < place["y"] - stage["y"] < stage["height"], f"{id} is out of view"
        return place["x"], place["y"]

    def click(self, id: str) -> None:
        self.page.mouse.click(*self.at(id))
        self.wait(f"canvas.selected().includes({id!r})")
        settled(self.page)

    def draw(self, kind: str, x: float, y: float) -> str:
        """A node placed by mouse, x and y in shares of the stage; returns its id."""
        before = set(self.nodes)
        self.tool(kind)
        self.page.mouse.click(*self.spot(x, y))
        self.wait(f"canvas.drawing.nodes.length > {len(before)}")
        (new,) = set(self.nodes) - before
        return new

    def port(self, id: str) -> tuple[float, float]:
        """The blue + of a node, which shows when the mouse is there."""
        self.page.mouse.move(*self.at(id))
        place = self.frame.evaluate(
            """(frame, id) => {
                const c = frame.spnCanvas, at = c.portOf(id), stage = c.stage.getBoundingClientRect();
                return [stage.x + at.x, stage.y + at.y];
            }""",
            id,
        )
        return place[0], place[1]

    def pull(self, start: str, end: tuple[float, float]) -> None:
        """An edge pulled from a node's port to a place on the screen."""
        self.page.mouse.move(*self.port(start))
        self.page.mouse.down()
        self.page.mouse.move(*end, steps=5)
        self.page.mouse.up()

    def connect(self, parent: str, child: str) -> None:
        """An edge by mouse; the edges added may be two, with a product between."""
        before = len(self.edges)
        self.pull(parent, self.at(child))
        self.wait(f"canvas.drawing.edges.length > {before}")

    def spot(self, x: float, y: float) -> tuple[float, float]:
        """A place on the screen by shares of the stage."""
        stage = self.frame.locator(".stage").bounding_box()
        assert stage
        return stage["x"] + x * stage["width"], stage["y"] + y * stage["height"]

    def menu(self, entry: str) -> None:
        self.frame.get_by_role("menuitem", name=entry, exact=False).first.click()

    def press(self, key: str) -> None:
        self.frame.focus()
        self.page.keyboard.press(key)

    def type(self, key: str) -> str:
        """A key that adds a node; returns the node that is selected then."""
        before = self.look("canvas.sequence")
        self.press(key)
        self.wait(f"canvas.sequence > {before}")
        (new,) = self.selected
        return new

    def walk_to(self, target: str) -> None:
        """Arrow keys to a node: the fewest that lead there."""
        nodes = self.places
        ways: dict[str, list[str]] = {self.selected[0]: []}
        queue = deque(ways)
        while target not in ways:
            here = queue.popleft()
            for key, direction in ARROWS.items():
                ahead = _next(nodes, here, *direction)
                if ahead and ahead not in ways:
                    ways[ahead] = [*ways[here], key]
                    queue.append(ahead)
        for key in ways[target]:
            self.press(key)
        assert self.selected == [target]

    def empty(self) -> None:
        """Everything deleted, by keyboard."""
        self.press("Control+a")
        self.press("Delete")
        self.sent()
        assert not self.nodes

    def renew(self) -> None:
        """Empty, with nothing to undo and nothing on the clipboard, as if the page had been opened on it."""
        self.press("Escape")
        if self.page.get_by_role("tab", name="Node").get_attribute("aria-selected") != "true":
            self.open("Node")
        if self.nodes:
            self.empty()
        self.look("Object.assign(canvas.history, { steps: [canvas.history.steps[canvas.history.at]], at: 0 })")
        self.look("Object.assign(canvas, { groups: {}, clip: undefined, copiedIds: undefined })")
        self.look("[canvas.show(), canvas.view.fit(), canvas.paint()]")

    def open(self, name: str) -> None:
        """A tab beside the canvas."""
        self.page.get_by_role("tab", name=name).click()
        settled(self.page)

    @contextmanager
    def dialog(self, name: str) -> Iterator[None]:
        """A dialog, by its button; closed in the end where it has not closed itself."""
        self.page.get_by_role("button", name=name).click()
        self.page.get_by_role("dialog").wait_for()
        settled(self.page)
        yield
        if self.page.get_by_role("dialog").is_visible():
            self.page.get_by_role("dialog").get_by_role("button", name="Close").click()
            self.page.get_by_role("dialog").wait_for(state="hidden")
            settled(self.page)

    def use(self, template: str) -> None:
        """A template replaces the drawing."""
        before = self.revision
        with self.dialog("Templates"):
            self.page.locator(f".st-key-use_{template} button").click()
            self.renewed(before)
            self.page.get_by_role("dialog").wait_for(state="hidden")

    def exported(self) -> SPN:
        with self.dialog("Open, save"):
            with self.page.expect_download() as download:
                self.page.get_by_role("button", name="Structure (JSON)").click()
            content = Path(download.value.path()).read_bytes()
        return SPN.from_json(content)

    def opened(self, name: str, content: bytes) -> None:
        """A structure file replaces the drawing."""
        before = self.revision
        with self.dialog("Open, save"):
            self.page.locator("input[type=file]").first.set_input_files(
                {"name": name, "mimeType": "text/plain", "buffer": content}  # type: ignore[arg-type]
            )
            self.renewed(before)
            self.page.get_by_role("dialog").wait_for(state="hidden")

    def refused(self, reason: str) -> None:
        expect(self.frame.locator(".status")).to_contain_text(reason)
        assert "refused" in (self.frame.get_attribute("class") or "")


def _next(places: dict[str, tuple[float, float]], here: str, dx: int, dy: int) -> str | None:
    """The node that an arrow key leads to: ahead, near, and rather straight on than aside."""
    costs = {}
    for id, (left, top) in places.items():
        x, y = left - places[here][0], top - places[here][1]
        if (along := x * dx + y * dy) > 5:
            costs[id] = along + 2 * (abs(x * dy) + abs(y * dx))
    return min(costs, key=costs.__getitem__, default=None)
