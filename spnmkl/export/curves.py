"""The line from a parent to its child: cubic curves, one after the other."""

from __future__ import annotations

from spnmkl.export.looks import GroupLook, NodeLook, Point


def is_right(start: NodeLook | GroupLook, end: NodeLook | GroupLook) -> bool:
    """Whether there is room for a line from the right of one to the left of the other."""
    return end.x - end.width / 2 - start.x - start.width / 2 >= 8


def curve(
    start: NodeLook | GroupLook,
    end: NodeLook | GroupLook,
    lane: tuple[float, float, float] | None = None,
    downwards: bool = False,
) -> tuple[Point, ...]:
    """From the right of the parent to the left of the child; a child that is not to the right is met from above."""
    first = start.x + start.width / 2, start.y
    last = end.x - end.width / 2, end.y
    if lane is not None and first[0] < lane[0]:
        until, level, leave = lane
        return (
            first,
            *_bent(first, (until, level)),
            *_bent((until, level), (leave, level)),
            *_bent((leave, level), last),
        )
    if not downwards and is_right(start, end):
        return first, *_bent(first, last)
    side = 1 if end.y >= start.y else -1
    first = start.x, start.y + side * start.height / 2
    last = end.x, end.y - side * end.height / 2
    half = (last[1] - first[1]) / 2
    return first, (first[0], first[1] + half), (last[0], last[1] - half), last


def _bent(start: Point, end: Point) -> tuple[Point, Point, Point]:
    half = (end[0] - start[0]) / 2
    return (start[0] + half, start[1]), (end[0] - half, end[1]), end
