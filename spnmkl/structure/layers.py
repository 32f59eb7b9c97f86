"""Nodes with several parents, in layers: an order with few crossings, then places that keep the edges short."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Mapping
from itertools import accumulate, pairwise
from random import Random
from typing import TypeAlias

# An edge that runs through other layers is a chain of these: the child it leads to and the layer it passes.
Bend: TypeAlias = tuple[str, int]
Item: TypeAlias = str | Bend
Extents: TypeAlias = Mapping[Item, tuple[float, float]]
Links: TypeAlias = dict[Item, list[Item]]

_BEND_EXTENT = (4.0, 4.0)
_SWEEPS = 24
_PATIENCE = 4
_TRIES = 12
# The numbers of edges up to which a drawing gets several tries, has its crossings counted, gets all sweeps.
_SMALL, _LARGE, _HUGE = 1_000, 10_000, 100_000


def in_layers(
    part: list[str], below: Mapping[str, list[str]], layer: Mapping[str, int], extents: Extents
) -> dict[str, float]:
    """Nodes that are shared make layers with crossings: as few as can be, then the edges short."""
    down = _bent(part, below, layer)
    up: Links = {v: [] for v in down}
    for v, children in down.items():
        for child in children:
            up[child].append(v)
    rows = _untangled(_first_rows(down, up, layer), down, up)
    placed = _relaxed(rows, down, up, extents)
    return {v: placed[v] for v in part}


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


def _relaxed(rows: list[list[Item]], down: Links, up: Links, extents: Extents) -> dict[Item, float]:
    """Shorten the edges layer by layer, in the given order: each layer is one least-squares problem."""
    x: dict[Item, float] = {}
    gaps: list[list[float]] = []
    for row in rows:
        reach = [extents.get(v, _BEND_EXTENT) for v in row]
        gaps.append([0.0, *(a[1] + b[0] for a, b in pairwise(reach))])
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


def layers_of(below: Mapping[str, list[str]]) -> dict[str, int]:
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


def parts_of(below: Mapping[str, list[str]]) -> list[list[str]]:
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
