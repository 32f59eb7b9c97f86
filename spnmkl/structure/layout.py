"""Where to draw the nodes: layers from the root down, few crossings, no overlaps."""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from random import Random
from typing import TYPE_CHECKING, TypeAlias

from spnmkl.structure.folding import BELOW_KERNEL, BELOW_PRODUCT, find_folds, folded
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
_SWEEPS = 24
_PATIENCE = 4
_TRIES = 12
# The numbers of edges up to which a drawing gets several tries, has its crossings counted, gets all sweeps.
_SMALL, _LARGE, _HUGE = 1_000, 10_000, 100_000
_SLOPE = 0.1
_STEEPEST = 0.35


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
    drawn = _acyclic(spn)
    folds = find_folds(spn, extents.__getitem__)
    extents |= {block: fold.extent for fold in folds for block in fold.blocks}
    below = folded(drawn, folds)
    layer = _layers(below)
    x: dict[str, float] = {}
    edge = 0.0
    for part in _parts(below):
        placed = _across(part, below, layer, extents)
        left = min(placed[v] - extents[v][0] for v in part)
        x |= {v: placed[v] - left + edge for v in part}
        edge = max(x[v] + extents[v][1] for v in part) + 2 * GAP
    for fold in folds:
        x |= _in_line({block: x[block] for block in fold.blocks})
    places = {v: (block, offset) for fold in folds for v, block, offset in fold.places()}
    x = {v: x[places[v][0]] + places[v][1] if v in places else x[v] for v in spn.nodes}
    layer = {v: layer[places[v][0] if v in places else v] for v in spn.nodes}
    y = _heights(x, drawn, layer, {v: spn.kind(v) == "product" for v in places})
    middle = (min(x.values()) + max(x.values())) / 2, (y[0] + y[-1]) / 2
    return {v: (round(x[v] - middle[0], 1), round(y[layer[v]] - middle[1], 1)) for v in spn.nodes}


def _in_line(x: dict[str, float]) -> dict[str, float]:
    """Blocks of a grid right below each other, where they are nearly so: there is a gap to both sides of each."""
    mean = sum(x.values()) / len(x)
    return dict.fromkeys(x, mean) if all(abs(place - mean) < GAP - 2 for place in x.values()) else x


def arranged(spn: SPN) -> SPN:
    """The drawing with its nodes laid out in layers."""
    place = layered(spn)
    return spn._of(
        {v: dataclasses.replace(node, x=place[v][0], y=place[v][1]) for v, node in spn._nodes.items()}, spn._children
    )


def unplaced(spn: SPN) -> SPN:
    """The structure alone, wherever its nodes were drawn."""
    return spn._of({v: dataclasses.replace(node, x=None, y=None) for v, node in spn._nodes.items()}, spn._children)


def box_width(text: str) -> float:
    """The width of a kernel's box; in steps, so that texts of about one length get equal boxes."""
    return max(64.0, 16 * math.ceil((text_width(shortened(text, KERNEL_LENGTH)) + 16) / 16))


def _extent(spn: SPN, v: str) -> tuple[float, float]:
    """How far a node reaches to the left and to the right; a circle has its text beside it."""
    text = node_text(spn, v)
    if spn.kind(v) == "kernel":
        return (box_width(text) / 2,) * 2
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
                part += new
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
    if _edges(down) == len(down) - 1 and all(len(parents) <= 1 for parents in up.values()):
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
            chain: list[Item] = [*((child, between) for between in range(layer[v] + 1, layer[child])), child]
            down[v].append(chain[0])
            down |= {start: [end] for start, end in pairwise(chain)}
    return down


def _edges(links: Links) -> int:
    return sum(map(len, links.values()))


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


def _untangled(rows: list[list[Item]], down: Links, up: Links) -> list[list[Item]]:
    """The order with the fewest crossings of a few tries; a small drawing can afford more of them."""
    edges = _edges(down)
    if edges > _LARGE:
        return _swept(_swept(rows, up)[::-1], down)[::-1]
    chance = Random(0)
    tries = [rows, *([chance.sample(row, len(row)) for row in rows] for _ in range(min(_TRIES, _SMALL // edges)))]
    best, fewest = rows, _crossings(rows, down)
    for start in tries:
        if fewest == 0:
            break
        order = _switched(_balanced(start, down, up), down, up)
        crossings = _crossings(order, down)
        if crossings < fewest:
            best, fewest = order, crossings
    return best


def _balanced(rows: list[list[Item]], down: Links, up: Links) -> list[list[Item]]:
    """Sweep down and up, each node to the mean place of its neighbours, and keep the best order seen."""
    best, fewest, stale = rows, _crossings(rows, down), 0
    for sweep in range(_SWEEPS):
        rows = _swept(rows, up) if sweep % 2 == 0 else _swept(rows[::-1], down)[::-1]
        crossings = _crossings(rows, down)
        stale = 0 if crossings < fewest else stale + 1
        if crossings < fewest:
            best, fewest = rows, crossings
        if fewest == 0 or stale == _PATIENCE:
            break
    return best


def _switched(rows: list[list[Item]], down: Links, up: Links) -> list[list[Item]]:
    """Exchange neighbours as long as that saves a crossing."""
    rows = [list(row) for row in rows]
    place = {v: k for row in rows for k, v in enumerate(row)}
    for _ in range(_SWEEPS):
        switched = False
        for row in rows:
            ends = {v: [sorted(place[u] for u in near[v]) for near in (up, down)] for v in row}
            for k in range(len(row) - 1):
                a, b = row[k], row[k + 1]
                if _crossed(ends[a], ends[b]) > _crossed(ends[b], ends[a]):
                    row[k], row[k + 1] = b, a
                    switched = True
            place |= {v: k for k, v in enumerate(row)}
        if not switched:
            break
    return rows


def _crossed(left: list[list[int]], right: list[list[int]]) -> int:
    """The crossings between the edges of two neighbours: above and below them."""
    return sum(bisect_left(theirs, end) for own, theirs in zip(left, right, strict=True) for end in own)


def _swept(rows: list[list[Item]], near: Links) -> list[list[Item]]:
    done = [rows[0]]
    for row in rows[1:]:
        place = {v: float(k) for k, v in enumerate(done[-1])}
        mean = {v: sum(place[u] for u in near[v]) / len(near[v]) if near[v] else float(k) for k, v in enumerate(row)}
        done.append(sorted(row, key=mean.__getitem__))
    return done


def _crossings(rows: list[list[Item]], down: Links) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        place = {v: k for k, v in enumerate(lower)}
        ends: list[int] = []
        for v in upper:
            own = sorted(place[child] for child in down[v])
            total += sum(len(ends) - bisect_right(ends, end) for end in own)
            for end in own:
                insort(ends, end)
    return total


@dataclasses.dataclass
class _Outline:
    """The left and right border of a subtree, deepest layer first, counted from `origin`."""

    left: list[float]
    right: list[float]
    origin: float = 0.0


def _tidy(rows: list[list[Item]], down: Links, extents: Extents) -> dict[Item, float]:
    """A tree, each parent above the middle of its children: the mean of packing it to the left and to the right."""
    order = [v for row in rows for v in row]
    to_left = _packed(order, down, extents)
    mirrored = {v: children[::-1] for v, children in down.items()}
    to_right = _packed(order, mirrored, {v: extents[v][::-1] for v in order})
    return {v: (to_left[v] - to_right[v]) / 2 for v in order}


def _packed(order: list[Item], down: Links, extents: Extents) -> dict[Item, float]:
    """Put the subtrees of every node side by side, as close as their outlines allow."""
    offset = dict.fromkeys(order, 0.0)
    outlines: dict[Item, _Outline] = {}
    for v in reversed(order):
        joined, middle = _Outline([], []), 0.0
        for child in down[v]:
            outline = outlines.pop(child)
            offset[child] = _distance(joined, outline)
            outline.origin += offset[child]
            joined = _joined(joined, outline)
        if down[v]:
            middle = _middle([offset[child] for child in down[v]])
        for child in down[v]:
            offset[child] -= middle
        joined.origin -= middle
        joined.left.append(-extents[v][0] - joined.origin)
        joined.right.append(extents[v][1] - joined.origin)
        outlines[v] = joined
    for v in order:
        for child in down[v]:
            offset[child] += offset[v]
    return offset


def _middle(places: list[float]) -> float:
    """Halfway between the first and the last, or right at the central one if that is about the same."""
    halfway, central = (places[0] + places[-1]) / 2, places[len(places) // 2]
    return central if len(places) % 2 and abs(central - halfway) < RADIUS else halfway


def _distance(one: _Outline, other: _Outline) -> float:
    """How far to the right the other outline must move; distant relatives stand further apart."""
    borders = zip(reversed(one.right), reversed(other.left), strict=False)
    return max(
        (a + one.origin + GAP + 8 * min(depth, 4) - b - other.origin for depth, (a, b) in enumerate(borders)),
        default=0.0,
    )


def _joined(one: _Outline, other: _Outline) -> _Outline:
    """The outline of both, written into the deeper one: the work is that of the shallower."""
    shift = one.origin - other.origin
    if len(one.left) < len(other.left):
        for k in range(1, len(one.left) + 1):
            other.left[-k] = one.left[-k] + shift
        return other
    for k in range(1, len(other.left) + 1):
        one.right[-k] = other.right[-k] - shift
    return one


def _relaxed(rows: list[list[Item]], down: Links, up: Links, extents: Extents) -> dict[Item, float]:
    """Shorten the edges layer by layer, in the given order: each layer is one least-squares problem."""
    x: dict[Item, float] = {}
    gaps: list[list[float]] = []
    for row in rows:
        reach = [extents.get(v, _BEND_EXTENT) for v in row]
        gaps.append([0.0, *(a[1] + GAP + b[0] for a, b in pairwise(reach))])
        offsets = list(accumulate(gaps[-1]))
        x |= {v: offset - offsets[-1] / 2 for v, offset in zip(row, offsets, strict=True)}
    pulls = {v: _pulls(v, down, up) for row in rows for v in row}
    for sweep in range(_SWEEPS if _edges(down) <= _HUGE else 2):
        for row, gap in zip(rows, gaps, strict=True) if sweep % 2 else zip(rows[::-1], gaps[::-1], strict=True):
            wanted = [_mean(x, pulls[v]) if pulls[v] else (x[v], 1e-6) for v in row]
            x |= dict(zip(row, _separated(wanted, gap), strict=True))
    return x


def _pulls(v: Item, down: Links, up: Links) -> list[tuple[Item, float]]:
    """The neighbours of a node with their force."""
    lower = [(u, _force(len(down[v]), len(up[u]))) for u in down[v]]
    return lower + [(u, _force(len(down[u]), len(up[v]))) for u in up[v]]


def _force(children: int, parents: int) -> float:
    """One of many draws less than an only child, which should stand right below its parent."""
    return 3.0 if children == parents == 1 else 1 / max(children, parents)


def _mean(x: Mapping[Item, float], pulls: list[tuple[Item, float]]) -> tuple[float, float]:
    force = sum(w for _, w in pulls)
    return sum(x[u] * w for u, w in pulls) / force, force


def _separated(wanted: list[tuple[float, float]], gaps: list[float]) -> list[float]:
    """The places nearest to the wanted ones (each with its weight) that keep the gaps: pool adjacent violators."""
    blocks: list[tuple[float, float, int]] = []
    offsets = list(accumulate(gaps))
    for (place, force), offset in zip(wanted, offsets, strict=True):
        mean, weight, count = place - offset, force, 1
        while blocks and blocks[-1][0] > mean:
            before, its_weight, members = blocks.pop()
            mean = (before * its_weight + mean * weight) / (its_weight + weight)
            weight, count = weight + its_weight, count + members
        blocks.append((mean, weight, count))
    means = (mean for mean, _, count in blocks for _ in range(count))
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _heights(
    x: Mapping[str, float], below: Mapping[str, list[str]], layer: Mapping[str, int], in_grid: Mapping[str, bool]
) -> list[float]:
    """The y of every layer: further apart where flat edges would run through the neighbours of their ends.

    Layers of nothing but grids stand closer; `in_grid` is what stands in one, and whether that is a product.
    """
    rows: list[list[float]] = [[] for _ in range(max(layer.values()) + 1)]
    reach = [0.0] * len(rows)
    for v, children in below.items():
        rows[layer[v]].append(x[v])
        near = (abs(x[child] - x[v]) for child in children if layer[child] == layer[v] + 1)
        reach[layer[v]] = max(reach[layer[v]], *near, 0.0)
    spacing = [min((b - a for a, b in pairwise(sorted(row))), default=math.inf) for row in rows]
    loose = {k for v, k in layer.items() if v not in in_grid}
    below_row = {layer[v]: BELOW_PRODUCT if product else BELOW_KERNEL for v, product in in_grid.items()}
    distances = (
        below_row[k]
        if k in below_row and loose.isdisjoint((k, k + 1))
        else max(LAYER_DISTANCE, dx * max(_SLOPE, min(_STEEPEST, (RADIUS + 6) / min(pair))))
        for k, (dx, pair) in enumerate(zip(reach, pairwise(spacing), strict=False))
    )
    y = list(accumulate(distances, initial=0.0))
    # A screen is not as wide as most drawings are: use its height.
    stretch = min(1.5, max(1.0, (max(x.values()) - min(x.values())) / (3 * y[-1]))) if y[-1] else 1.0
    return [stretch * level for level in y]
