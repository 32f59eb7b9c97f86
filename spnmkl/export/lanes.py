"""How edges reach what stands in the second and further columns: between what stands before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spnmkl.export.curves import Lane
from spnmkl.export.looks import GroupLook, NodeLook, bounds_of
from spnmkl.structure.branches import BETWEEN_COLUMNS, descendants
from spnmkl.structure.groups import Shown
from spnmkl.structure.layout import Grid

Looks = Mapping[str, NodeLook | GroupLook]
_MOST_BRANCHES = 60  # of one node, for which a way between the others is looked for


def between_lines(grids: Iterable[Grid], boxes: Looks) -> dict[str, Lane]:
    """To the cells of grids: between the lines of the columns before."""
    lanes: dict[str, Lane] = {}
    for grid in grids:
        lefts = [min(boxes[u].x - boxes[u].width / 2 for u in column) for column in grid.columns]
        for k, column in enumerate(grid.columns[1:], 1):
            beside = 1.4 * (k - len(grid.columns) / 2)
            if lefts[k] - lefts[0] > 60:
                lanes |= {u: (lefts[0] - 2, boxes[u].y + grid.line / 2 + beside, lefts[k] - 22) for u in column}
    return lanes


def between_rows(v: str, view: Shown, boxes: Looks) -> dict[str, Lane]:
    """To the branches of a node that stand behind others: above or below those beside them, where the node is."""
    lefts = {u: boxes[u].x - boxes[u].width / 2 for u in view.children[v]}
    first = min(lefts.values(), default=0.0)
    behind = [u for u, left in lefts.items() if left - first > BETWEEN_COLUMNS]
    if not behind or len(lefts) > _MOST_BRANCHES or any(len(view.parents[u]) > 1 for u in lefts):
        return {}
    sides = {u: bounds_of([boxes[w] for w in descendants([u], view.children)], 0.0) for u in lefts}
    lanes: dict[str, Lane] = {}
    for u in behind:
        beside = [one for one in sides.values() if one[1] < sides[u][3] and one[3] > sides[u][1]]
        below = boxes[u].y < boxes[v].y
        level = max(one[3] for one in beside) + 8 if below else min(one[1] for one in beside) - 8
        lanes[u] = first - 4, level, lefts[u] - 50
    return lanes
