"""Where to draw the nodes: layers from the root down, few crossings, no overlaps."""

from __future__ import annotations

import dataclasses
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

from spnmkl.structure.text import KERNEL_LENGTH, WEIGHT_LENGTH, node_text, shortened, text_width

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

RADIUS = 18.0
BOX_HEIGHT = 32.0
GAP = 24.0
LAYER_DISTANCE = 90.0

# An edge that runs under other layers is a chain of these: the child it leads to and the layer it passes.
Bend: TypeAlias = tuple[str, int]
Item: TypeAlias = str | Bend
Extents: TypeAlias = Mapping[Item, tuple[float, float]]
Links: TypeAlias = dict[Item, list[Item]]

_BEND_EXTENT = (6.0, 6.0)
_ROUNDS = 24
_PATIENCE = 4
# Flatter edges would run through the neighbours of the node they lead to.
_SLOPE = 0.16


def layered(spn: SPN, width: Callable[[str], float] | None = None) -> dict[str, tuple[float, float]]:
    """Positions in layers, root on top, centred at (0, 0); y grows downwards.

    Any drawing is accepted, also one with several roots, cycles or loose nodes.

    Parameters
    ----------
    spn : SPN
    width : callable, optional
        The width of a node when drawn; without it, widths are estimated from the texts.
    """
    if not spn.nodes:
        return {}
    extents: dict[Item, tuple[float, float]] = {
        v: (width(v) / 2, width(v) / 2) if width else _extent(spn, v) for v in spn.nodes
    }
    below = _acyclic(spn)
    layer = _layers(below)
    x: dict[str, float] = {}
    edge = 0.0
    for part in _parts(below):
        placed = _across(part, below, layer, extents)
        left = min(placed[v] - extents[v][0] for v in part)
        x |= {v: placed[v] - left + edge for v in part}
        edge = max(x[v] + extents[v][1] for v in part) + 2 * GAP
    y = _heights(x, below, layer)
    middle = (min(x.values()) + max(x.values())) / 2, (y[0] + y[-1]) / 2
    return {v: (round(x[v] - middle[0], 1), round(y[layer[v]] - middle[1], 1)) for v in spn.nodes}


def arranged(spn: SPN) -> SPN:
    """The drawing with its nodes laid out in layers."""
    place = layered(spn)
    return spn._of(
        {v: dataclasses.replace(node, x=place[v][0], y=place[v][1]) for v, node in spn._nodes.items()}, spn._children
    )


def _extent(spn: SPN, v: str) -> tuple[float, float]:
    """How far a node reaches to the left and to the right; a circle has its text beside it."""
    text = node_text(spn, v)
    if spn.kind(v) == "kernel":
        half = max(60.0, text_width(shortened(text, KERNEL_LENGTH)) + 20) / 2
        return half, half
    return RADIUS, RADIUS + (text_width(shortened(text, WEIGHT_LENGTH)) + 4 if text else 0)


def _acyclic(spn: SPN) -> dict[str, list[str]]:
    """The children without the edges that close a cycle."""
    below: dict[str, list[str]] = {}
    finished: set[str] = set()
    for start in (*spn.roots, *spn.nodes):
        stack = [] if start in below else [(start, iter(spn.children(start)))]
        below.setdefault(start, [])
        while stack:
            v, children = stack[-1]
            child = next(children, None)
            if child is None:
                finished.add(v)
                stack.pop()
            elif child not in below:
                below[v].append(child)
                below[child] = []
                stack.append((child, iter(spn.children(child))))
            elif child in finished:
                below[v].append(child)
    return {v: below[v] for v in spn.nodes}


def _layers(below: Mapping[str, list[str]]) -> dict[str, int]:
    """The longest way from a root; a further root stands right above its highest child."""
    waiting = dict.fromkeys(below, 0)
    for children in below.values():
        for child in children:
            waiting[child] += 1
    roots = [v for v, count in waiting.items() if count == 0]
    order = list(roots)
    layer = dict.fromkeys(below, 0)
    for v in order:
        for child in below[v]:
            layer[child] = max(layer[child], layer[v] + 1)
            waiting[child] -= 1
            if waiting[child] == 0:
                order.append(child)
    for root in roots:
        layer[root] = min((layer[child] for child in below[root]), default=1) - 1
    return layer


def _parts(below: Mapping[str, list[str]]) -> list[list[str]]:
    """The connected parts, the largest first."""
    near: dict[str, list[str]] = {v: list(children) for v, children in below.items()}
    for v, children in below.items():
        for child in children:
            near[child].append(v)
    parts: list[list[str]] = []
    seen: set[str] = set()
    for start in below:
        if start not in seen:
            seen.add(start)
            part = [start]
            for v in part:
                new = [u for u in near[v] if u not in seen]
                seen.update(new)
                part += dict.fromkeys(new)
            parts.append(part)
    return sorted(parts, key=len, reverse=True)


def _across(
    part: list[str], below: Mapping[str, list[str]], layer: Mapping[str, int], extents: Extents
) -> Mapping[Item, float]:
    down = _bent(part, below, layer)
    up: Links = {v: [] for v in down}
    for v, children in down.items():
        for child in children:
            up[child].append(v)
    rows = _first_rows(down, up, layer)
    if all(len(parents) <= 1 for parents in up.values()):
        return _tidy(rows, down, extents)
    return _relaxed(_untangled(rows, down, up), down, up, extents)


def _bent(part: list[str], below: Mapping[str, list[str]], layer: Mapping[str, int]) -> Links:
    """The edges of a part, each from one layer to the next; the long edges to one child share their bends."""
    down: Links = {v: [] for v in part}
    most = 4 * len(part) + 1000
    for v in part:
        for child in below[v]:
            if layer[child] - layer[v] > 1 and len(down) + layer[child] - layer[v] > most:
                continue  # drawn all the same, but too long to count among the crossings
            bends: list[Item] = [(child, between) for between in range(layer[v] + 1, layer[child])]
            for start, end in pairwise([v, *bends, child]):
                if end not in down.setdefault(start, []):
                    down[start].append(end)
    return down


def _layer_of(item: Item, layer: Mapping[str, int]) -> int:
    return layer[item] if isinstance(item, str) else item[1]


def _first_rows(down: Links, up: Links, layer: Mapping[str, int]) -> list[list[Item]]:
    """The layers in the order of a walk through the drawing: a tree has no crossing in it."""
    rows: dict[int, list[Item]] = {}
    seen: set[Item] = set()
    stack = [v for v in reversed(down) if not up[v]]
    while stack:
        v = stack.pop()
        if v not in seen:
            seen.add(v)
            rows.setdefault(_layer_of(v, layer), []).append(v)
            stack.extend(reversed(down[v]))
    return [rows[k] for k in sorted(rows)]
