"""The rows of the table that every picture of a drawing is made from, and the table itself."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from spnmkl.export.themes import Theme
from spnmkl.structure.nodes import Kind
from spnmkl.structure.text import FONT_SIZE, text_width

Edge = tuple[str, str]
Point = tuple[float, float]
MARGIN = 20.0
SHADOW = 4.0  # a closed group is drawn as a stack


@dataclass(frozen=True)
class Text:
    """A line of text; x and y lead from the middle of what it belongs to to the text's own middle or end."""

    text: str
    x: float
    y: float
    ink: str
    anchor: Literal["start", "middle", "end"] = "start"
    style: Literal["", "italic", "bold"] = ""
    size: float = FONT_SIZE
    halo: bool = True  # keeps an edge that passes behind from crossing the text out

    def bounds(self, x: float, y: float) -> tuple[float, float, float, float]:
        """Left, top, right, bottom, where the text belongs to something at (x, y)."""
        wide = text_width(self.text, self.size)
        left = x + self.x - {"start": 0.0, "middle": wide / 2, "end": wide}[self.anchor]
        return left, y + self.y - self.size * 0.6, left + wide, y + self.y + self.size * 0.6


@dataclass(frozen=True)
class NodeLook:
    """A node as it is drawn: a kernel as a box, a sum or product as a circle."""

    x: float
    y: float
    width: float
    height: float
    kind: Kind
    sign: str
    text: str
    sub: str
    weight: str
    value: str
    title: str
    fill: str
    border: str
    ink: str
    stroke: float
    dashed: bool
    error: bool
    chosen: bool
    selected: bool
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class GroupLook:
    """A group of nodes: closed, it is drawn as a stack of boxes; opened, these are the bounds of what it holds."""

    x: float
    y: float
    width: float
    height: float
    closed: bool
    parent: str
    members: tuple[str, ...]
    text: str
    sub: str
    value: str
    title: str
    fill: str
    border: str
    ink: str
    stroke: float
    dashed: bool
    error: bool
    chosen: bool
    selected: bool
    texts: tuple[Text, ...]


@dataclass(frozen=True)
class EdgeLook:
    """A line from parent to child: a start, then three points for every cubic curve."""

    points: tuple[Point, ...]
    width: float
    color: str
    dashed: bool
    title: str
    chosen: bool

    @property
    def d(self) -> str:
        """The line as SVG and the browser's Path2D have it."""
        start, *rest = (f"{_short(x)} {_short(y)}" for x, y in self.points)
        return f"M{start}" + "".join(f"C{' '.join(rest[k : k + 3])}" for k in range(0, len(rest), 3))


@dataclass(frozen=True)
class Scene:
    """Everything that is drawn, in one table.

    Attributes
    ----------
    nodes : dict from id to NodeLook
        The visible nodes.
    groups : dict from id to GroupLook
        The groups, closed and opened, that no closed group hides.
    edges : dict from (from, to) to EdgeLook
        An end is the id of a group where the node is hidden in it.
    theme : Theme
        The colours.
    bounds : tuple of float
        Left, top, right and bottom of all that is drawn, with a margin.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import scene
    >>> table = scene(templates.figure1())
    >>> len(table.nodes), len(table.edges), table.text_px(1000, 600)
    (20, 19, 13.0)
    """

    nodes: dict[str, NodeLook]
    groups: dict[str, GroupLook]
    edges: dict[Edge, EdgeLook]
    theme: Theme
    bounds: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height with a margin."""
        left, top, right, bottom = self.bounds
        return right - left, bottom - top

    def text_px(self, width: float, height: float) -> float:
        """The height of the smallest text when the whole is fitted into so many pixels.

        Parameters
        ----------
        width, height : float
            What there is.

        Returns
        -------
        float
            Pixels; nothing is drawn larger than it is.
        """
        sizes = [text.size for look in self.looks for text in look.texts]
        return min([1.0, width / self.size[0], height / self.size[1]]) * min(sizes, default=FONT_SIZE)

    @property
    def looks(self) -> list[NodeLook | GroupLook]:
        """The nodes and the closed groups."""
        return [*self.nodes.values(), *(group for group in self.groups.values() if group.closed)]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, for the canvas.

        Returns
        -------
        dict
            ``nodes``, ``groups``, ``edges`` (by their ends as JSON.stringify writes them), ``colors``, ``bounds``.
        """
        return {
            "nodes": {v: _plain(look) for v, look in self.nodes.items()},
            "groups": {v: _plain(look) for v, look in self.groups.items()},
            "edges": {
                edge_name(edge): {
                    "d": look.d,
                    "width": round(look.width, 2),
                    "color": look.color,
                    "dashed": look.dashed,
                    "title": look.title,
                    "chosen": look.chosen,
                }
                for edge, look in self.edges.items()
            },
            "colors": self.theme.to_dict(),
            "bounds": [round(value, 1) for value in self.bounds],
        }


def edge_name(edge: Edge) -> str:
    """As JSON.stringify writes it."""
    return json.dumps(edge, ensure_ascii=False, separators=(",", ":"))


def _plain(look: NodeLook | GroupLook) -> dict[str, Any]:
    named = {name: value for name, value in vars(look).items() if name not in ("width", "height", "texts", "members")}
    if isinstance(look, GroupLook):
        named["members"] = list(look.members)
    named |= {"w": round(look.width, 1), "h": round(look.height, 1), "texts": [dict(vars(text)) for text in look.texts]}
    return named


def bounds_of(looks: Iterable[NodeLook | GroupLook], margin: float = MARGIN) -> tuple[float, float, float, float]:
    boxes: list[tuple[float, float, float, float]] = []
    for look in looks:
        wide, high = look.width / 2, look.height / 2
        more = SHADOW if isinstance(look, GroupLook) else 0.0
        boxes.append((look.x - wide, look.y - high, look.x + wide + more, look.y + high + more))
        boxes += [text.bounds(look.x, look.y) for text in look.texts]
    if not boxes:
        return -margin, -margin, margin, margin
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left) - margin, min(top) - margin, max(right) + margin, max(bottom) + margin


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
