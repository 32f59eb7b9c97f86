"""Where to draw the nodes: the root at the left, one kernel a line, few crossings, no overlaps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Container, Iterable, Mapping
from itertools import accumulate, groupby, pairwise
from typing import TYPE_CHECKING, TypeAlias

from spnmkl.structure.branches import BETWEEN_ROWS, Columns, in_columns, rows_of, shifted
from spnmkl.structure.groups import Group, Shown, shown
from spnmkl.structure.layers import Extents, Item, in_layers, layers_of, parts_of
from spnmkl.structure.text import (
    FONT_SIZE,
    WEIGHT_LENGTH,
    kernel_settings,
    node_text,
    shortened,
    shown_text,
    text_width,
)

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

SUM_RADIUS = 15.0
PRODUCT_RADIUS = 13.0
LINE = 30.0
BOX_HEIGHT = 24.0
GROUP_HEIGHT = 38.0
TALLEST_COLUMN = 660.0  # what stands below one sum is set in columns of at most this height
_MOST_STRETCHES = 6
_NARROWEST, _WIDEST, _STEP = 150.0, 422.0, 16.0
_ABOVE = FONT_SIZE + 6.0  # what a text above a circle takes
_GROUP_LINE = GROUP_HEIGHT + 8.0
_VALUE = 38.0  # the width of a weight as a number
_BETWEEN_COLUMNS = 30.0
_BETWEEN_BRANCHES = 8.0
_BETWEEN_PARTS = 40.0

Spots: TypeAlias = dict[str, tuple[float, float]]


def arranged(spn: SPN, closed: Iterable[str] = ()) -> SPN:
    """The drawing with its nodes laid out from left to right.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one with several roots, cycles or loose nodes.
    closed : iterable of str
        Ids of the groups that one box stands for; what they hide is put where the box is.

    Returns
    -------
    SPN
        The same structure with other positions.
    """
    view = shown(spn, closed)
    place = places_of(spn, view)
    spots = ((v, node, place[view.inside.get(v, v)]) for v, node in spn._nodes.items())
    return spn._of({v: dataclasses.replace(node, x=x, y=y) for v, node, (x, y) in spots}, spn._children)


def places(spn: SPN, closed: Iterable[str] = ()) -> Spots:
    """Where every visible node and every closed group has its middle; y grows downwards, (0, 0) is in the middle.

    Parameters
    ----------
    spn : SPN
        Any drawing.
    closed : iterable of str
        Ids of the groups that one box stands for.

    Returns
    -------
    dict from node or group to (x, y)
        The positions.
    """
    return places_of(spn, shown(spn, closed))


def unplaced(spn: SPN) -> SPN:
    """The structure alone, wherever its nodes were drawn."""
    return spn._of({v: dataclasses.replace(node, x=None, y=None) for v, node in spn._nodes.items()}, spn._children)


def box_width(text: str) -> float:
    """The width of a kernel's box with this text; in steps, so that texts of about one length get equal boxes."""
    return _stepped(text_width(text) + 16)


def group_width(group: Group) -> float:
    """The width of a closed group's box: two lines of text with room for a weight, and a sign that it can be opened."""
    wide = max(1.06 * text_width(f"{group.text}, Σβ = 0.123"), text_width(group.sub))
    return _stepped(wide + 36, most=460.0)


def _stepped(wide: float, most: float = _WIDEST) -> float:
    return min(most, max(_NARROWEST, _NARROWEST + _STEP * math.ceil((wide - _NARROWEST) / _STEP)))


def leads_on_level(spn: SPN, view: Shown, v: str) -> bool:
    """Whether all below a node is one box of its own, which stands on its line."""
    below = view.children[v]
    if len(below) != 1 or view.children[below[0]] or len(view.parents[below[0]]) != 1:
        return False
    return below[0] in view.closed or spn.kind(below[0]) == "kernel"


@dataclasses.dataclass(frozen=True)
class Grid:
    """Children of a sum in columns: each a box, or a circle with a box on its line."""

    columns: tuple[tuple[str, ...], ...]
    line: float

    @property
    def height(self) -> float:
        return max(map(len, self.columns)) * self.line


def find_grids(spn: SPN, view: Shown) -> dict[str, tuple[Grid, ...]]:
    """The sums below which too much stands for one column: one grid for each stretch of lines, or of groups."""
    cells = {v: _cells_of(spn, view, v) for v, below in view.children.items() if len(below) > 6}
    whole = sum(_cell_line(spn, view, v) or 0.0 for v in view.children if not view.children[v])
    return {v: grids for v, lines in cells.items() if (grids := _grids(view, lines, whole))}


def _cells_of(spn: SPN, view: Shown, v: str) -> dict[str, float]:
    return {u: line for u in view.children[v] if view.parents[u] == (v,) and (line := _cell_line(spn, view, u))}


def _grids(view: Shown, cells: Mapping[str, float], whole: float) -> tuple[Grid, ...]:
    height = sum(cells.values())
    tallest = TALLEST_COLUMN
    if not view.closed.keys().isdisjoint(cells):
        # A part of a long run was opened: leave the other branches of the drawing their share of the screen.
        tallest = max(tallest / 2, tallest * height / max(whole, tallest))
    if height <= tallest:
        return ()
    stretches = [list(same) for _, same in groupby(cells, cells.__getitem__)]
    if len(stretches) > _MOST_STRETCHES:
        stretches = [list(cells)]
    lines = [max(cells[u] for u in same) for same in stretches]

    def tall(n_columns: int) -> float:
        rows = sum(math.ceil(len(same) / n_columns) * line for same, line in zip(stretches, lines, strict=True))
        return rows + _BETWEEN_BRANCHES * (len(stretches) - 1)

    # A screen is wide: many columns are better a little higher than it than far wider.
    most = max(4, math.ceil(math.sqrt(height / 130)))
    n_columns = next((n for n in range(2, most) if tall(n) <= tallest), most)
    return tuple(Grid(_columns(same, n_columns), line) for same, line in zip(stretches, lines, strict=True))


def _cell_line(spn: SPN, view: Shown, v: str) -> float | None:
    """The height of a box, or of a circle with a box on its line; None for what is neither."""
    if leads_on_level(spn, view, v):
        (v,) = view.children[v]
    elif view.children[v]:
        return None
    return _GROUP_LINE if v in view.closed else LINE


def _columns(cells: list[str], n_columns: int) -> tuple[tuple[str, ...], ...]:
    """Columns of about one length, in order."""
    n_columns = min(n_columns, len(cells))
    ends = [math.ceil(len(cells) * k / n_columns) for k in range(n_columns + 1)]
    return tuple(tuple(cells[a:b]) for a, b in pairwise(ends))


class _Sizes:
    """How much room everything visible takes."""

    def __init__(self, spn: SPN, view: Shown) -> None:
        self.spn, self.view = spn, view

    def radius(self, v: str) -> float:
        return SUM_RADIUS if self.spn.kind(v) == "sum" else PRODUCT_RADIUS

    def is_box(self, v: str) -> bool:
        return v in self.view.closed or self.spn.kind(v) == "kernel"

    def box(self, v: str) -> float:
        group = self.view.closed.get(v)
        return group_width(group) if group else box_width(shown_text(self.spn, v))

    def width(self, v: str) -> float:
        """With the text right of it."""
        if not self.is_box(v):
            return 2 * self.radius(v)
        settings = "" if v in self.view.closed else kernel_settings(self.spn.spec(v))
        return self.box(v) + (text_width(shortened(settings, WEIGHT_LENGTH)) + 8 if settings else 0)

    def extent(self, v: str) -> tuple[float, float]:
        """How far it reaches up and down."""
        if v in self.view.closed:
            return (_GROUP_LINE / 2,) * 2
        if self.spn.kind(v) == "kernel":
            return (LINE / 2,) * 2
        own = max(LINE / 2, self.radius(v) + 2)
        above = node_text(self.spn, v) and not leads_on_level(self.spn, self.view, v)
        return (self.radius(v) + _ABOVE if above else own), own

    def half_text(self, v: str) -> float:
        """How far the text above a circle reaches to its sides."""
        above = not self.is_box(v) and not leads_on_level(self.spn, self.view, v)
        return text_width(shortened(node_text(self.spn, v), WEIGHT_LENGTH)) / 2 if above else 0.0

    def lead(self, v: str) -> float:
        """How far right of a circle a box on its line begins: the weight and its value stand between."""
        text = shortened(node_text(self.spn, v), WEIGHT_LENGTH)
        return self.radius(v) + max(_VALUE, text_width(text)) + 14


def places_of(spn: SPN, view: Shown) -> Spots:
    """The same for what is visible, where that is known already."""
    if not view.children:
        return {}
    sizes = _Sizes(spn, view)
    below = _acyclic(view)
    blocks = {
        _free(f"\0{k}{v}", below): grid for v, grids in find_grids(spn, view).items() for k, grid in enumerate(grids)
    }
    below = _with_blocks(below, blocks)
    extents: dict[Item, tuple[float, float]] = {
        v: (blocks[v].height / 2,) * 2 if v in blocks else sizes.extent(v) for v in below
    }
    layer = layers_of(below)
    spots: Spots = {}
    bottom = 0.0
    for part in parts_of(below):
        if _is_tree(part, below):
            x, y = _tree(part, below, layer, extents, sizes, blocks)
        else:
            y = in_layers(part, below, layer, extents)
            x = _across(part, below, layer, y, sizes, blocks, tree=False)
        top = min(y[v] - extents[v][0] for v in part)
        for v in part:
            spots |= (
                _cells(blocks[v], x[v], y[v] - top + bottom, sizes)
                if v in blocks
                else {v: (x[v] + (sizes.box(v) / 2 if sizes.is_box(v) else 0.0), y[v] - top + bottom)}
            )
        bottom += max(y[v] + extents[v][1] for v in part) - top + _BETWEEN_PARTS
    return _centred({v: spots[v] for v in view.children})


def _free(name: str, taken: Container[str]) -> str:
    return _free(f"\0{name}", taken) if name in taken else name


def _is_tree(part: list[str], below: Mapping[str, list[str]]) -> bool:
    children = [child for v in part for child in below[v]]
    return len(set(children)) == len(children) == len(part) - 1


def _centred(spots: Spots) -> Spots:
    middle = [(min(axis) + max(axis)) / 2 for axis in zip(*spots.values(), strict=True)]
    return {v: (round(x - middle[0], 1), round(y - middle[1], 1)) for v, (x, y) in spots.items()}


def _with_blocks(below: Mapping[str, list[str]], blocks: Mapping[str, Grid]) -> dict[str, list[str]]:
    """The children, with one block in the place of what a grid holds."""
    if not blocks:
        return dict(below)
    held = {cell: block for block, grid in blocks.items() for column in grid.columns for cell in column}
    hidden = {u for cell in held for u in (cell, *below[cell])}
    kept = {v: list(dict.fromkeys(held.get(u, u) for u in us)) for v, us in below.items() if v not in hidden}
    return kept | {block: [] for block in blocks}


def _grid_width(grid: Grid, sizes: _Sizes) -> float:
    spots = _cells(grid, 0.0, 0.0, sizes)
    return max(x + (sizes.box(v) / 2 if sizes.is_box(v) else PRODUCT_RADIUS) for v, (x, _) in spots.items())


def _cells(grid: Grid, x: float, y: float, sizes: _Sizes) -> Spots:
    spots: Spots = {}
    for column in grid.columns:
        lead = max((sizes.lead(v) for v in column if not sizes.is_box(v)), default=0.0)
        right = x
        for k, v in enumerate(column):
            level = y - grid.height / 2 + (k + 0.5) * grid.line
            if sizes.is_box(v):
                spots[v] = x - PRODUCT_RADIUS + sizes.box(v) / 2, level
                right = max(right, x - PRODUCT_RADIUS + sizes.box(v))
                continue
            spots[v] = x, level
            for box in sizes.view.children[v]:
                spots[box] = x + lead + sizes.box(box) / 2, level
                right = max(right, x + lead + sizes.box(box))
        x = right + _BETWEEN_COLUMNS + PRODUCT_RADIUS
    return spots


def _tree(
    part: list[str],
    below: Mapping[str, list[str]],
    layer: Mapping[str, int],
    extents: Extents,
    sizes: _Sizes,
    blocks: Mapping[str, Grid],
) -> tuple[dict[str, float], dict[str, float]]:
    """Where the nodes of a tree stand; what would be far higher than a screen is set in columns of branches."""

    def right(v: str) -> float:
        if v in blocks:
            return x[v] + _grid_width(blocks[v], sizes)
        return x[v] + (sizes.width(v) if sizes.is_box(v) else sizes.radius(v))

    y = _in_bands(part, below, extents, {})
    x = _across(part, below, layer, y, sizes, blocks, tree=True)
    (root,) = set(part).difference(*(below[v] for v in part))
    columns = in_columns(root, below, lambda v: sum(extents[v]), right, x.__getitem__)
    if columns:
        y = _in_bands(part, below, extents, columns)
        x = _across(part, below, layer, y, sizes, blocks, tree=True)
        for held in columns.values():
            x |= {v: x[v] + by for v, by in shifted(held, below, right, x.__getitem__).items()}
    return x, y


def _in_bands(
    part: list[str], below: Mapping[str, list[str]], extents: Extents, columns: Mapping[str, Columns]
) -> dict[str, float]:
    """A tree: every branch has the lines from its first to its last leaf to itself, its top stands at their middle.

    Branches in columns share their lines with those beside them.
    """
    offset = dict.fromkeys(part, 0.0)
    reach: dict[str, tuple[float, float]] = {}
    order = _preorder(part, below)
    for v in reversed(order):
        bottom, before = 0.0, 0.0
        rows = rows_of(columns[v]) if v in columns else [[child] for child in below[v]]
        for row in rows:
            up, down = (max(reach[child][side] for child in row) for side in (0, 1))
            apart = BETWEEN_ROWS if v in columns else _BETWEEN_BRANCHES
            bottom += apart if before and max(up + down, before) > _GROUP_LINE else 0.0
            offset |= dict.fromkeys(row, bottom + up)
            bottom += up + down
            before = up + down
        middle = (offset[rows[0][0]] + offset[rows[-1][0]]) / 2 if rows else 0.0
        for child in below[v]:
            offset[child] -= middle
        reach[v] = max(middle, extents[v][0]), max(bottom - middle, extents[v][1])
    for v in order:
        for child in below[v]:
            offset[child] += offset[v]
    return offset


def _preorder(part: list[str], below: Mapping[str, list[str]]) -> list[str]:
    children = {child for v in part for child in below[v]}
    order: list[str] = []
    stack = [v for v in reversed(part) if v not in children]
    while stack:
        order.append(stack.pop())
        stack.extend(reversed(below[order[-1]]))
    return order


def _across(
    part: list[str],
    below: Mapping[str, list[str]],
    layer: Mapping[str, int],
    y: Mapping[str, float],
    sizes: _Sizes,
    blocks: Mapping[str, Grid],
    tree: bool,
) -> dict[str, float]:
    """The middle of every circle and the left side of every box: a column for every layer.

    The lines of a tree's leaves are their own, so a box may reach into the columns after it.
    """
    first = min(layer[v] for v in part)
    last = max(layer[v] for v in part)
    gap = [0.0] * (last - first + 1)
    wide = [0.0] * (last - first + 1)
    for v in part:
        k = layer[v] - first
        if v in blocks:
            wide[k] = wide[k] if tree else max(wide[k], _grid_width(blocks[v], sizes) - PRODUCT_RADIUS)
            continue
        if not tree or (below[v] and sizes.is_box(v)):
            wide[k] = max(wide[k], sizes.width(v) - PRODUCT_RADIUS)
        if len(below[v]) == 1 and leads_on_level(sizes.spn, sizes.view, v):
            gap[k] = max(gap[k], sizes.lead(v) + PRODUCT_RADIUS)
        elif below[v]:
            span = max(abs(y[child] - y[v]) for child in below[v])
            high = blocks[child].height if (child := below[v][0]) in blocks else 0.0
            written = max(0.0 if child in blocks else sizes.half_text(child) for child in below[v])
            beside = sizes.half_text(v) + written + 8 if written else 0.0
            gap[k] = max(gap[k], beside, 78 + 44 * min(1.0, max(span, high / 2) / 250))
    x = list(
        accumulate(
            (max(g, w + 60 if w > PRODUCT_RADIUS + 4 else 0) for g, w in zip(gap, wide, strict=True)), initial=0.0
        )
    )
    return {v: x[layer[v] - first] - (0 if v in blocks or not sizes.is_box(v) else PRODUCT_RADIUS) for v in part}


def _acyclic(view: Shown) -> dict[str, list[str]]:
    """The children without the edges that close a cycle."""
    below: dict[str, list[str]] = {}
    finished: set[str] = set()
    roots = (v for v, above in view.parents.items() if not above)
    for start in (*roots, *view.children):
        stack = [] if start in below else [(start, iter(view.children[start]))]
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
                stack.append((child, iter(view.children[child])))
            elif child in finished:
                below[v].append(child)
    return {v: below[v] for v in view.children}
