"""The line from a parent to its child: cubic curves, one after the other, around the boxes that stand in their way."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from itertools import chain, islice

import numpy as np

from spnmkl.export.looks import GroupLook, NodeLook, Point

Line = tuple[Point, ...]
Lane = tuple[float, float, float]  # the x where it begins, its height, the x where it ends
BESIDE = 3.0  # how far from a box a line passes it
_TRIES = 24  # heights at which a way around is looked for
_PLACES = 33  # on a curve, at which is looked for boxes
_PLACES_ON_LONG = 65


@cache
def _weights(n: int) -> np.ndarray:
    """Of the four points that make a curve, for n places on it: n × 4."""
    t = np.linspace(0, 1, n)
    return np.stack([(1 - t) ** 3, 3 * (1 - t) ** 2 * t, 3 * (1 - t) * t**2, t**3], axis=1)


def is_right(start: NodeLook | GroupLook, end: NodeLook | GroupLook) -> bool:
    """Whether there is room for a line from the right of one to the left of the other."""
    return end.x - end.width / 2 - start.x - start.width / 2 >= 8


def curve(
    start: NodeLook | GroupLook,
    end: NodeLook | GroupLook,
    lane: Lane | None = None,
    downwards: bool = False,
) -> Line:
    """From the right of the parent to the left of the child; a child that is not to the right is met from above."""
    first = start.x + start.width / 2, start.y
    last = end.x - end.width / 2, end.y
    if lane is not None and first[0] < lane[0]:
        return _in_lane(first, last, *lane)
    if not downwards and is_right(start, end):
        return first, *_bent(first, last)
    side = 1 if end.y >= start.y else -1
    first = start.x, start.y + side * start.height / 2
    last = end.x, end.y - side * end.height / 2
    half = (last[1] - first[1]) / 2
    return first, (first[0], first[1] + half), (last[0], last[1] - half), last


def _in_lane(first: Point, last: Point, enter: float, level: float, leave: float) -> Line:
    """Level in its middle, from one x to another."""
    start, end = (enter, level), (leave, level)
    return first, *_bent(first, start), *_bent(start, end), *_bent(end, last)


def _bent(start: Point, end: Point) -> tuple[Point, Point, Point]:
    half = (end[0] - start[0]) / 2
    return (start[0] + half, start[1]), (end[0] - half, end[1]), end


class Boxes:
    """What a line may not pass behind."""

    def __init__(self, looks: Mapping[str, NodeLook | GroupLook]) -> None:
        self.at = {v: k for k, v in enumerate(looks)}
        sides = [
            (look.x - look.width / 2, look.y - look.height / 2, look.x + look.width / 2, look.y + look.height / 2)
            for look in looks.values()
        ]
        self.sides = np.array(sides, dtype=float).reshape(-1, 4)  # left, top, right, bottom

    def around(self, line: Line, ends: Collection[str], lane: Lane | None = None) -> Line:
        """A line of one curve, or where it passes a box other than its ends, a way around, if there is one.

        A lane is tried before other ways.
        """
        (x1, y1), (x2, y2) = line[0], line[-1]
        if x2 - x1 < 24:
            return line
        left, top, right, bottom = self.sides.T
        beside = (right > x1 - 1) & (left < x2 + 1)
        beside[[self.at[v] for v in ends]] = False
        if not (beside & (bottom > min(y1, y2) - 1) & (top < max(y1, y2) + 1)).any():
            return line
        boxes = self.sides[beside]
        met = boxes[passed(line, boxes, _PLACES_ON_LONG if lane else _PLACES)]
        if not len(met):
            return line
        enter = max(x1 + 8, met[:, 0].min() - 2 * BESIDE)
        leave = min(x2 - 8, met[:, 2].max() + 2 * BESIDE)
        levels = {y1, y2, *(boxes[:, 1] - BESIDE), *(boxes[:, 3] + BESIDE)} if leave > enter else ()
        nearest = sorted(levels, key=lambda level: abs(level - y1) + abs(level - y2))
        lanes = ((float(enter), float(level), float(leave)) for level in islice(nearest, _TRIES))
        ways = (_in_lane(line[0], line[-1], *one) for one in chain([lane] if lane else [], lanes))
        return next((way for way in ways if not passed(way, boxes).any()), line)


def passed(line: Line, boxes: np.ndarray, places: int = _PLACES) -> np.ndarray:
    """Which of the boxes (left, top, right, bottom) a line passes."""
    points = np.concatenate([_weights(places) @ np.array(line[k : k + 4]) for k in range(0, len(line) - 1, 3)])
    x, y = points.T[:, :, None]
    left, top, right, bottom = boxes.T
    inside = (x > left - 1) & (x < right + 1) & (y > top - 1) & (y < bottom + 1)
    return np.asarray(inside.any(axis=0))
