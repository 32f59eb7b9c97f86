"""Parts of a drawing that can be closed into one box each, so that a large drawing can be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from spnmkl.structure.text import kernel_settings, kernel_subject, one_line, shortened

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

FEWEST_IN_BRANCH = 3  # kernels
FEWEST_IN_RUN = 6  # products over like kernels
FEWEST_MIXED = 12  # products over anything, below one sum
MOST_IN_RUN = 64  # in so many columns as a screen has they can be read; beyond, a run is divided
PART = 20
_ENDS = 14  # characters of the first and the last name of a run


@dataclass(frozen=True)
class Group:
    """Nodes that one box can stand for.

    `entries` are the children of `parent` that the box replaces; `members` are all nodes that it hides. None of them
    has a parent among the nodes that stay visible, except for the entries, whose only parent is `parent`.
    """

    id: str
    parent: str
    entries: tuple[str, ...]
    members: tuple[str, ...]
    text: str
    sub: str
    name: str = ""  # that a person gave it, whole; the text has it short


@dataclass(frozen=True)
class Shown:
    """What is visible of a drawing: nodes and closed groups with their children among them, in drawn order."""

    children: Mapping[str, tuple[str, ...]]
    parents: Mapping[str, tuple[str, ...]]
    closed: Mapping[str, Group]
    opened: Mapping[str, Group]
    inside: Mapping[str, str]  # hidden node → its group


@lru_cache(maxsize=32)
def find_groups(spn: SPN) -> tuple[Group, ...]:
    """Every part of the drawing that can be closed, those that hold others before them.

    There are two kinds: all that hangs below a sum, and the like products below one sum. A long run of the latter is
    divided once more. The id of a group is made from its first node and does not change with edits elsewhere.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid.

    Returns
    -------
    tuple of Group
        The groups; they may nest but never overlap.
    """
    below = _owned(spn)
    found = _Finder(spn, below)
    return tuple(group for v in below for group in found.at(v))


def shown(spn: SPN, closed: Iterable[str] = ()) -> Shown:
    """What is visible while these groups are closed; ids that no group has are passed over.

    Parameters
    ----------
    spn : SPN
        Any drawing.
    closed : iterable of str
        Ids of groups.

    Returns
    -------
    Shown
        The visible nodes and groups.
    """
    chosen = frozenset(closed)
    inside: dict[str, str] = {}
    boxes: dict[str, Group] = {}
    opened: dict[str, Group] = {}
    for group in find_groups(spn):
        if group.entries[0] in inside:
            continue
        if group.id in chosen:
            boxes[group.id] = group
            inside |= dict.fromkeys(group.members, group.id)
        else:
            opened[group.id] = group
    return _linked(spn, inside, boxes, opened)


def _linked(spn: SPN, inside: dict[str, str], boxes: dict[str, Group], opened: dict[str, Group]) -> Shown:
    below: dict[str, dict[str, None]] = {}
    for v in spn.nodes:
        links = below.setdefault(inside.get(v, v), {})
        links |= {inside.get(child, child): None for child in spn.children(v)}
    for box in boxes:
        below[box].pop(box, None)
    above: dict[str, list[str]] = {v: [] for v in below}
    for v, links in below.items():
        for child in links:
            above[child].append(v)
    return Shown(
        {v: tuple(links) for v, links in below.items()},
        {v: tuple(links) for v, links in above.items()},
        boxes,
        opened,
        inside,
    )


def _owned(spn: SPN) -> dict[str, tuple[str, ...]]:
    """Every node with all nodes that are reached through it alone: the subtrees of the dominator tree."""
    starts, done, met = _walked(spn)
    order = done[::-1]
    place = {v: k for k, v in enumerate(order)}
    above: dict[str, str | None] = {}
    changed = True
    while changed:
        changed = False
        for v in order:
            known = [] if v in starts else [p for p in spn.parents(v) if p in above]
            new = known[0] if known else None
            for other in known[1:]:
                new = _common(new, other, above, place)
            if v not in above or above[v] != new:
                above[v] = new
                changed = True
    under: dict[str, list[str]] = {v: [] for v in order}
    tops = [v for v in met if above[v] is None]
    for v in met:
        if (top := above[v]) is not None:
            under[top].append(v)
    return _subtrees(tops, under)


def _common(a: str | None, b: str | None, above: Mapping[str, str | None], place: Mapping[str, int]) -> str | None:
    while a != b:
        if a is None or b is None:
            return None
        if place[a] > place[b]:
            a = above[a]
        else:
            b = above[b]
    return a


def _walked(spn: SPN) -> tuple[set[str], list[str], list[str]]:
    """Where a walk through all nodes has to start (roots, and a node of each cycle without one).

    Also the nodes as they are left, and as they are met.
    """
    done: list[str] = []
    starts: set[str] = set()
    seen: dict[str, None] = {}
    for start in (*spn.roots, *spn.nodes):
        if start in seen:
            continue
        starts.add(start)
        seen[start] = None
        stack = [(start, iter(spn.children(start)))]
        while stack:
            v, rest = stack[-1]
            child = next((c for c in rest if c not in seen), None)
            if child is None:
                done.append(v)
                stack.pop()
            else:
                seen[child] = None
                stack.append((child, iter(spn.children(child))))
    return starts, done, list(seen)


def _subtrees(tops: list[str], under: Mapping[str, list[str]]) -> dict[str, tuple[str, ...]]:
    """Every node with all below it in a tree, in one walk: a subtree is a stretch of it."""
    walk: list[str] = []
    start: dict[str, int] = {}
    end: dict[str, int] = {}
    stack = [(v, False) for v in reversed(tops)]
    while stack:
        v, left = stack.pop()
        if left:
            end[v] = len(walk)
            continue
        start[v] = len(walk)
        walk.append(v)
        stack.append((v, True))
        stack.extend((u, False) for u in reversed(under[v]))
    return {v: tuple(walk[start[v] : end[v]]) for v in walk}


class _Finder:
    def __init__(self, spn: SPN, below: Mapping[str, tuple[str, ...]]) -> None:
        self.spn, self.below = spn, below
        # Said once: groups nest, and a kernel may lie in hundreds.
        self.kernel = {v: one_line(spn.spec(v).kernel) for v in spn.kernels}
        self.setting = {v: kernel_settings(spn.spec(v)) for v in spn.kernels}

    def at(self, v: str) -> Iterator[Group]:
        """The groups whose first part is this sum: all below it, then the runs among its children."""
        if self.spn.kind(v) != "sum":
            return
        above = self.spn.parents(v)
        whole = False
        if len(above) == 1 and above[0] in self.below and above[0] != v:
            kernels = [u for u in self.below[v] if u in self.kernel]
            whole = len(kernels) >= FEWEST_IN_BRANCH
            if whole:
                name = next((one_line(self.spn.label(u)) for u in (v, above[0]) if self.spn.label(u) != u), "")
                yield self._group(above[0], [v], kernels, name)
        entries = [u for u in self.spn.children(v) if self.spn.kind(u) == "product" and self.spn.parents(u) == (v,)]
        for run in self._runs(entries):
            # A sum of nothing but one run is closed as a whole already.
            if not whole or len(run) < len(self.spn.children(v)):
                yield self._group(v, run)
            if len(run) > MOST_IN_RUN:
                for part in _parts(run):
                    if len(part) > 1:
                        yield self._group(v, part, stem="/")

    def _runs(self, entries: list[str]) -> Iterator[list[str]]:
        """Like products: the same kernels with the same settings, else the same kernels, else any, if many."""
        left = entries
        for alike, fewest in ((self._settings, FEWEST_IN_RUN), (self._kernels, FEWEST_IN_RUN), (_any, FEWEST_MIXED)):
            runs: dict[object, list[str]] = {}
            for v in left:
                runs.setdefault(alike(v), []).append(v)
            for key, run in runs.items():
                if key is not None and len(run) >= fewest:
                    yield run
                    left = [v for v in left if alike(v) != key]

    def _settings(self, product: str) -> object:
        below = self.spn.children(product)
        if not below or any(self.spn.kind(v) != "kernel" for v in below):
            return None
        return tuple(sorted((spec.kernel, str(spec.params)) for spec in map(self.spn.spec, below)))

    def _kernels(self, product: str) -> object:
        settings = self._settings(product)
        return None if settings is None else tuple(kernel for kernel, _ in settings)  # type: ignore[attr-defined]

    def _group(
        self, parent: str, entries: list[str], kernels: list[str] | None = None, name: str = "", stem: str = ""
    ) -> Group:
        members = tuple(v for entry in entries for v in self.below[entry])
        direct = len(entries) == 1 and self.spn.kind(entries[0]) == "sum"
        if kernels is None:
            kernels = [v for v in members if v in self.kernel]
        text = self._count(entries, kernels, direct) + (f" · {shortened(name, 22)}" if name else "")
        id = f"g:{stem}{entries[0]}"
        while id in self.spn._nodes:
            id = "g" + id
        return Group(id, parent, tuple(entries), members, text, self._about(entries, kernels, direct), name)

    def _count(self, entries: list[str], kernels: list[str], direct: bool) -> str:
        names = {self.kernel[v] for v in kernels}
        alone = direct or all(len(self.spn.children(v)) == 1 for v in entries)
        if len(names) == 1 and alone and (direct or len(kernels) == len(entries)):
            return f"{len(kernels)} × {shortened(names.pop(), 16)}"
        if direct:
            return f"{len(kernels)} kernels"
        flat = all(self.spn.kind(u) == "kernel" for v in entries for u in self.spn.children(v))
        return f"{len(entries)} {'products' if flat else 'branches'}"

    def _about(self, entries: list[str], kernels: list[str], direct: bool) -> str:
        settings = {self.setting[v] for v in kernels}
        common = shortened(settings.pop(), 20) if len(settings) == 1 else ""
        if direct and (kinds := self._kinds(kernels)):
            return kinds
        if kernels and (direct or len(kernels) == len(entries)):
            ends = [kernel_subject(self.spn, v) for v in (kernels[0], kernels[-1])]
        else:
            ends = [one_line(self.spn.label(v)) for v in (entries[0], entries[-1])]
        span = " … ".join(dict.fromkeys(shortened(end, _ENDS) for end in ends)) if all(ends) else ""
        return ", ".join(part for part in (span, common) if part)

    def _kinds(self, kernels: list[str]) -> str:
        """How many of which kernel, where there are several."""
        counts: dict[str, int] = {}
        for v in kernels:
            counts[self.kernel[v]] = counts.get(self.kernel[v], 0) + 1
        if not 1 < len(counts) <= 3:
            return ""
        return ", ".join(f"{count} {kernel}" for kernel, count in counts.items())


def _any(product: str) -> object:
    return "any"


def _parts(run: list[str]) -> list[list[str]]:
    """A long run in parts. They go by the numbers in the ids where there are any: a deletion moves no boundary."""
    numbered = [re.fullmatch(r"(.*?)(\d{1,9})", v) for v in run]
    stems = {found[1] if found else None for found in numbered}
    numbers = [int(found[2]) for found in numbered if found]
    by_number = len(stems) == 1 and None not in stems and numbers == sorted(numbers)
    by_number = by_number and numbers[-1] - numbers[0] < 2 * len(run)
    parts: dict[int, list[str]] = {}
    for k, v in enumerate(run):
        parts.setdefault((numbers[k] - 1) // PART if by_number else k // PART, []).append(v)
    return list(parts.values())
