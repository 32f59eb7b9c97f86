"""Tall branches of one node side by side, in columns: a screen is wider than high."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate

TALL = 1320.0  # what is lower stands in one column
BETWEEN_ROWS = 24.0  # the edges to the columns behind pass there
BETWEEN_COLUMNS = 70.0
_SCREEN = 1.8  # its width by its height
_GAIN = 1.2  # by how much larger it must be seen to be worth it

Columns = tuple[tuple[str, ...], ...]


def in_columns(
    root: str,
    below: Mapping[str, list[str]],
    height: Callable[[str], float],
    right: Callable[[str], float],
    left: Callable[[str], float],
) -> dict[str, Columns]:
    """The nodes of a tree whose branches are set in columns, because they would be too tall in one; inner ones first.

    Parameters
    ----------
    root : str
        The top of the tree.
    below : mapping from str to list of str
        The children of every node.
    height, right, left : callable
        How high one node is, and where its right and its left end is as long as all is in one column.

    Returns
    -------
    dict from node to columns
        Its children, column by column in their order.
    """
    found: dict[str, Columns] = {}
    high: dict[str, float] = {}
    wide: dict[str, float] = {}
    for v in reversed(descendants([root], below)):
        heights, own = [high[u] for u in below[v]], right(v) - left(v)
        widest = max((wide[u] for u in below[v]), default=0.0)
        n_columns = _best(heights, widest + BETWEEN_COLUMNS) if sum(heights) > TALL else 1
        if n_columns > 1:
            rows = math.ceil(len(heights) / n_columns)
            found[v] = tuple(tuple(below[v][k : k + rows]) for k in range(0, len(heights), rows))
            heights = [max(heights[k::rows]) + BETWEEN_ROWS for k in range(rows)]
            widest = n_columns * (widest + BETWEEN_COLUMNS)
        high[v] = max(height(v), sum(heights))
        wide[v] = max(own, left(below[v][0]) - left(v) + widest) if below[v] else own
    return found


def descendants(tops: Sequence[str], below: Mapping[str, Sequence[str]]) -> list[str]:
    """All nodes of these branches, each once and none before its first parent."""
    found = list(tops)
    seen = set(found)
    for v in found:
        new = [u for u in below[v] if u not in seen]
        seen.update(new)
        found += new
    return found


def rows_of(columns: Columns) -> list[list[str]]:
    """What stands side by side."""
    return [[column[k] for column in columns if k < len(column)] for k in range(len(columns[0]))]


def shifted(
    columns: Columns, below: Mapping[str, list[str]], right: Callable[[str], float], left: Callable[[str], float]
) -> dict[str, float]:
    """How far right of their layers the nodes of each column stand."""
    members = [descendants(column, below) for column in columns]
    wide = [max(map(right, held)) - min(map(left, column)) for held, column in zip(members, columns, strict=True)]
    starts = accumulate((one + BETWEEN_COLUMNS for one in wide[:-1]), initial=0.0)
    return {v: start for start, held in zip(starts, members, strict=True) for v in held}


def _best(heights: list[float], wide: float) -> int:
    """In how many columns the branches are seen largest."""

    def seen(n_columns: int) -> float:
        rows = math.ceil(len(heights) / n_columns)
        high = sum(max(heights[k::rows]) + BETWEEN_ROWS for k in range(rows))
        return min(_SCREEN / (n_columns * wide), 1 / high)

    best = max(range(1, len(heights) + 1), key=seen)
    return best if seen(best) > _GAIN * seen(1) else 1
