"""The drawing of one tab: the structure, and the protocol with the canvas (no Streamlit here).

The history is the browser's: undo is instant there, and sent like any other edit. A message holds the whole drawing, so
that one which Streamlit drops costs nothing; its number says whether it was seen already.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from spnmkl.errors import StructureError
from spnmkl.export.closing import fitting, making_room
from spnmkl.structure import SPN
from spnmkl.structure.layout import arranged, unplaced
from spnmkl.structure.nodes import has_surrogate

MAX_CANVAS_NODES = 2000
MAX_EDGES = 20_000
MAX_PENDING = 20
LONGEST_ID = 200
_TEXT = 10.4  # px that a fitted text must have; the canvas draws it with 11 where there is room, and here there is
FARTHEST = 1e6
_PAGE = re.compile(r"[0-9a-z]{1,32}")
_FORMAT = {"format": "spnmkl/structure", "version": 1}


@dataclass(frozen=True)
class Push:
    """A drawing that Python made, for the canvas to enter into its history.

    `after` is the last edit that it knows of: what was drawn since is merged with it, unless it replaces the `whole`
    drawing. `answers` is the number of the wish that it grants, and `refused` says that the last edit was not taken.
    """

    number: int
    spn: SPN
    closed: frozenset[str] = frozenset()
    said: str = ""
    after: str = ""
    fit: bool = False
    whole: bool = False
    refused: bool = False
    answers: int = 0
    select: tuple[str, ...] = ()


@dataclass
class Drawing:
    """A structure that is being drawn.

    The canvas edits freely on one *revision* and sends the whole drawing; `receive` takes it. Whatever comes from
    elsewhere (a template, the panel, a layout) is `push`ed as a new revision. `version` counts what was taken,
    `closed` are the groups that are drawn as one box, `size` is that of the canvas in px.
    """

    spn: SPN
    closed: frozenset[str] = frozenset()
    epoch: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    pushes: int = 0
    pending: tuple[Push, ...] = ()
    acknowledged: str = "/0"
    granted: str = "/0"
    version: int = 1
    select: tuple[str, ...] = ()
    size: tuple[int, int] = (1000, 560)
    told: bool = False  # whether the canvas has told its size, or it is a guess
    recalled: int | None = None  # the last push that was saved, where the drawing was brought back from disk
    guessed: bool = False  # whether `closed` was chosen for a guess, and nothing was drawn since

    @property
    def revision(self) -> str:
        return f"{self.epoch}.{self.pushes}"

    def receive(self, message: object) -> bool:
        """Take what the canvas sent; False when it is stale or seen already, or when nothing but the layout changes.

        The browser is not trusted: what cannot be a drawing is answered with the drawing as it was.
        """
        if not isinstance(message, Mapping) or message.get("revision") != self.revision:
            return False
        page = message.get("page")
        if not isinstance(page, str) or not _PAGE.fullmatch(page):
            return False
        try:
            sequence = _number(message.get("sequence"))
            if not _later(self.acknowledged, page, sequence):
                return False
            spn, closed = read_message(message), read_closed(message.get("closed"))
            wish = message.get("wish")
            number = _number(wish.get("number")) if isinstance(wish, Mapping) else 0
        except StructureError as error:
            self._show(self.spn, Push(0, self.spn, self.closed, str(error), refused=True))
            return False
        self.acknowledged, self.pending = f"{page}/{sequence}", ()
        self.size = read_size(message.get("size")) or self.size
        self.guessed = False
        changed = spn != self.spn
        redrawn = changed and unplaced(spn) != unplaced(self.spn)
        self.spn, self.closed = spn, closed
        self.version += changed
        if isinstance(wish, Mapping) and number and _later(self.granted, page, number):
            self.granted = f"{page}/{number}"
            wished = wished_groups(spn, wish, self.size)
            self._show(arranged(spn, wished), Push(0, spn, wished, answers=number))
        return redrawn

    def push(
        self, spn: SPN, said: str = "", *, fit: bool = False, whole: bool | None = None, select: Sequence[str] = ()
    ) -> None:
        """Put a new drawing on the canvas; nodes without a position are arranged.

        One that is to be seen whole (`fit`) replaces what was drawn meanwhile too.
        """
        check_size(spn)
        whole = fit if whole is None else whole
        closed = frozenset() if whole else self.closed
        if any(spn.position(v) is None for v in spn.nodes):
            closed = fitting(spn, *self.size, _TEXT) if whole else closed
            spn = arranged(spn, closed)
            self.guessed = whole and not self.told
        self._show(spn, Push(0, spn, closed, said, fit=fit, whole=whole, select=tuple(select)))

    def resize(self, told: object) -> None:
        """Take the size of the canvas; what was fitted into a guess before is fitted anew."""
        size = read_size(told)
        if size is None:
            return
        self.size, self.told = size, True
        if self.guessed and (closed := fitting(self.spn, *size, _TEXT)) != self.closed:
            self._show(arranged(self.spn, closed), Push(0, self.spn, closed, fit=True, whole=True))
        self.guessed = False

    def _show(self, spn: SPN, push: Push) -> None:
        self.version += not push.refused
        self.pushes += 1
        known = {key: value for key, value in vars(push).items() if key not in ("number", "spn", "after")}
        made = Push(self.pushes, spn, after=self.acknowledged, **known)
        self.pending = (*self.pending, made)[-MAX_PENDING:]
        self.spn, self.closed = spn, push.closed
        self.select = push.select or self.select


def placed(spn: SPN) -> SPN:
    """The drawing itself where every node has a position, else arranged."""
    return spn if all(spn.position(v) is not None for v in spn.nodes) else arranged(spn)


def check_size(spn: SPN) -> None:
    """What is larger than the canvas holds is refused with a reason."""
    _check_count(len(spn.nodes))


def read_message(message: Mapping[str, Any]) -> SPN:
    """The drawing that the canvas describes, read as strictly as a file."""
    nodes, edges = message.get("nodes"), message.get("edges")
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise StructureError("The canvas sent no drawing; reload the page.")
    _check_count(len(nodes))
    if len(edges) > MAX_EDGES:
        raise StructureError(f"The canvas holds at most {MAX_EDGES:,} edges, and this would make {len(edges):,}.")
    return SPN.from_dict({**_FORMAT, "nodes": [_read_node(node) for node in nodes], "edges": edges})


def _check_count(n_nodes: int) -> None:
    if n_nodes > MAX_CANVAS_NODES:
        raise StructureError(f"The canvas holds at most {MAX_CANVAS_NODES:,} nodes, and this would make {n_nodes:,}.")


def _later(known: str, page: str, number: int) -> bool:
    """Whether a number of a page comes after the one that is known; another page counts anew."""
    its_page, _, its_number = known.partition("/")
    return page != its_page or number > int(its_number)


def _number(value: object) -> int:
    if type(value) is not int or not 0 <= value < 2**53:
        raise StructureError("The canvas sent a drawing without a number; reload the page.")
    return value


def read_closed(value: object) -> frozenset[str]:
    """Ids of groups as a canvas sends them; those that no group has are passed over where it is drawn."""
    given: Iterable[object] = value if isinstance(value, list) else ()
    ids = (id for id in given if isinstance(id, str) and len(id) <= LONGEST_ID + 10 and not has_surrogate(id))
    return frozenset(islice(ids, MAX_CANVAS_NODES))


def wished_groups(spn: SPN, wish: Mapping[str, Any], size: tuple[int, int]) -> frozenset[str]:
    """The groups to close by what was asked for: those named, or those that must be for the text to be read.

    Where one was `opened` on a canvas that showed all, others are closed as far as it takes.
    """
    closed, opened = read_closed(wish.get("closed")), wish.get("opened")
    if wish.get("fit") is True:
        return fitting(spn, *size, _TEXT)
    return making_room(spn, closed, opened, *size, _TEXT) if isinstance(opened, str) else closed


def read_size(value: object) -> tuple[int, int] | None:
    """Width and height of a canvas in px, as it tells them."""
    if not isinstance(value, list) or len(value) != 2 or any(type(side) is not int for side in value):
        return None
    width, height = (min(max(side, 200), 10_000) for side in value)
    return width, height


def _read_node(node: object) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise StructureError("The canvas sent a node that is none; reload the page.")
    id = node.get("id")
    if not isinstance(id, str) or not isinstance(node.get("kind"), str):
        raise StructureError("The canvas sent a node without a name or a kind; reload the page.")
    if len(id) > LONGEST_ID:
        raise StructureError(f"The id of a node has at most {LONGEST_ID} characters.")
    return {**node, "x": _coordinate(node.get("x")), "y": _coordinate(node.get("y"))}


def _coordinate(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= FARTHEST:
        raise StructureError("The canvas sent a position that is no number; reload the page.")
    return float(value)
