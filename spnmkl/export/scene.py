"""The table that every picture of a drawing is made from: places, sizes, colours and texts.

The canvas of the app, SVG, PNG, PDF, the web page and TikZ draw what stands here, and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from math import inf, isfinite, sqrt
from typing import TYPE_CHECKING, Any, Literal

from spnmkl.export.curves import Boxes, curve, is_right
from spnmkl.export.flows import lost, parts_of_largest, path_flows
from spnmkl.export.lanes import between_lines, between_rows
from spnmkl.export.looks import Edge, EdgeLook, GroupLook, NodeLook, Point, Scene, Text, bounds_of
from spnmkl.export.themes import THEMES, Theme, find_theme, mixed
from spnmkl.structure import SPN, Path
from spnmkl.structure.groups import Group, Shown, shown
from spnmkl.structure.layout import (
    BOX_HEIGHT,
    GROUP_HEIGHT,
    PRODUCT_RADIUS,
    SUM_RADIUS,
    box_width,
    find_grids,
    group_width,
    leads_on_level,
    places_of,
)
from spnmkl.structure.nodes import Kind
from spnmkl.structure.paths import drawn_path
from spnmkl.structure.text import (
    WEIGHT_LENGTH,
    box_text,
    kernel_settings,
    node_text,
    one_line,
    shortened,
    shown_text,
)

if TYPE_CHECKING:
    from spnmkl.inspection import Share

__all__ = ["THEMES", "Scene", "extent", "lost", "mixed", "path_flows", "scene"]

SIGNS: dict[Kind, str] = {"sum": "+", "product": "×", "kernel": ""}

# Beyond this a position is a slip of the hand, and nothing could be seen in a picture that holds it.
_FARTHEST = 1e6


def scene(
    spn: SPN,
    *,
    closed: Iterable[str] = (),
    beta: Mapping[str, float] | None = None,
    path: Collection[str] | Path | None = None,
    selected: Collection[str] = (),
    faulty: Collection[str] = (),
    theme: str = "light",
    shares: Mapping[str, Share] | None = None,
) -> Scene:
    """Everything to be drawn of a structure.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid. Nodes stand where they were put; all are arranged where one has no
        place, or where the places were not made for these closed groups.
    closed : iterable of str, default=()
        Ids of the groups that one box stands for.
    beta : mapping from product to float, default=None
        The weights of the products: they set size and colour, and what they prune is muted and dashed.
    path : Path or collection of str, default=None
        The chosen path, or nodes with the edges between them.
    selected, faulty : collection of str, default=()
        Nodes that are selected, and nodes with an error.
    theme : {"light", "dark"}, default="light"
        The colours.
    shares : mapping from node to Share, default=None
        Held-out shares: they set the width of the lines, and are told of every node. Without them, or where there are
        none because the decision tells nothing, the part of the path weights takes their place.

    Returns
    -------
    Scene
        The table.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import scene
    >>> table = scene(templates.figure1())
    >>> table.nodes["k1"].text, table.nodes["p9"].weight
    ('K₁ rbf', 'β₉')
    """
    colours = find_theme(theme)
    return _Painter(spn, shown(spn, closed), beta, path, selected, faulty, colours=colours, shares=shares).scene()


def extent(spn: SPN, closed: Iterable[str] = ()) -> Scene:
    """What takes room, without its edges: enough to know how large the text would be."""
    return _Painter(spn, shown(spn, closed), colours=find_theme("light")).extent()


def positions(spn: SPN, view: Shown) -> dict[str, Point]:
    """Where the visible nodes and groups were put, or their arrangement where that is not known."""
    spots = {v: spot for v in spn.nodes if (spot := spn.position(v)) and max(map(abs, spot)) <= _FARTHEST}
    crowd = Counter(spots.values())
    together = {
        group.id: {spots.get(v) for v in group.members} == {first := spots.get(group.members[0], (inf, inf))}
        and crowd[first] == len(group.members)
        for group in (*view.closed.values(), *view.opened.values())
    }
    if len(spots) < len(spn.nodes) or any(together[id] != (id in view.closed) for id in together):
        return places_of(spn, view)
    return {v: spots[view.closed[v].entries[0] if v in view.closed else v] for v in view.children}


def marked(spn: SPN, path: Collection[str] | Path | None) -> tuple[set[str], set[Edge]]:
    """The nodes and edges of a path, or the given nodes and all edges between them."""
    if path is not None and not isinstance(path, Collection):
        nodes, edges = drawn_path(spn, path)
        return set(nodes), set(edges)
    chosen = set(path or ())
    return chosen, {(v, child) for v in spn.nodes if v in chosen for child in spn.children(v) if child in chosen}


class _Painter:
    def __init__(
        self,
        spn: SPN,
        view: Shown,
        beta: Mapping[str, float] | None = None,
        path: Collection[str] | Path | None = None,
        selected: Collection[str] = (),
        faulty: Collection[str] = (),
        *,
        colours: Theme,
        shares: Mapping[str, Share] | None = None,
    ) -> None:
        self.spn, self.view, self.beta, self.colours = spn, view, beta, colours
        self.selected, self.faulty = set(selected), set(faulty)
        self.chosen, self.chosen_edges = marked(spn, path)
        self.gone = lost(spn, beta) if beta is not None else set()
        self.part = parts_of_largest(spn, beta or {})
        self.flow, self.told = _flows(spn, beta, shares)
        self.fullest = max(self.flow.values(), default=0.0)
        self.spots = positions(spn, view)
        self.grids = find_grids(spn, view)
        cells = {v for grids in self.grids.values() for grid in grids for column in grid.columns for v in column}
        self.crowded = {child for v in cells for child in (v, *view.children[v])}
        self.largest = self._largest_radius()

    def scene(self) -> Scene:
        bare = self.extent()
        boxes: dict[str, NodeLook | GroupLook] = {**bare.nodes, **bare.groups}
        groups = bare.groups | {v: self._opened(group, boxes) for v, group in self.view.opened.items()}
        return Scene(bare.nodes, groups, self._edges(boxes), self.colours, bare.bounds)

    def extent(self) -> Scene:
        """What takes room: the nodes and the closed groups."""
        nodes = {v: self._node(v) for v in self.view.children if v not in self.view.closed}
        groups = {v: self._closed(v, group) for v, group in self.view.closed.items()}
        return Scene(nodes, groups, {}, self.colours, bounds_of([*nodes.values(), *groups.values()]))

    def _largest_radius(self) -> float:
        """By weight as large as the products stand apart."""
        at: dict[int, list[float]] = {}
        for v in self.spn.products:
            if v in self.spots:
                at.setdefault(round(self.spots[v][0] / 20), []).append(self.spots[v][1])
        apart = [b - a for ys in at.values() for a, b in zip(sorted(ys), sorted(ys)[1:], strict=False)]
        return max(PRODUCT_RADIUS, min(20.0, min(apart, default=40.0) / 2 - 2.5))

    def _radius(self, v: str) -> float:
        if self.spn.kind(v) == "sum":
            return SUM_RADIUS
        return PRODUCT_RADIUS if v not in self.part else 8 + (self.largest - 8) * sqrt(self.part[v])

    def _outline(self, members: Collection[str], border: str, faded: bool) -> dict[str, Any]:
        """The colour and width of an outline; every state also has a sign that is no colour."""
        error = not self.faulty.isdisjoint(members)
        chosen = not self.chosen.isdisjoint(members)
        selected = not self.selected.isdisjoint(members)
        states = (
            (error, self.colours.error, 2.5),
            (selected, self.colours.primary, 3.0),
            (chosen, self.colours.chosen, 3.0),
            (faded, self.colours.faded, 1.2),
            (True, border, 1.5),
        )
        _, colour, stroke = next(state for state in states if state[0])
        state: dict[str, Any] = {"border": colour, "stroke": stroke, "dashed": faded}
        return state | {"error": error, "chosen": chosen, "selected": selected}

    def _node(self, v: str) -> NodeLook:
        kind, faded = self.spn.kind(v), v in self.gone
        x, y = self.spots[v]
        text = box_text(self.spn, v) if kind == "kernel" else node_text(self.spn, v)
        short = shown_text(self.spn, v) if kind == "kernel" else shortened(text, WEIGHT_LENGTH)
        sub = kernel_settings(self.spn.spec(v)) if kind == "kernel" else ""
        outline = self._outline((v,), self.colours.border[kind], faded)
        radius = self._radius(v)
        width, height = (box_width(short), BOX_HEIGHT) if kind == "kernel" else (2 * radius, 2 * radius)
        fill = (
            mixed(self.colours.light, self.colours.heavy, self.part[v]) if v in self.part else self.colours.fill[kind]
        )
        known = kind == "product" and self.beta is not None and v in self.beta
        value = _number(self.beta[v]) if known and self.beta is not None else ""
        ink = self.colours.muted if faded else self.colours.ink[kind]
        texts = self._box_texts(v, short, sub, width, ink) if kind == "kernel" else self._texts(v, short, value, radius)
        if outline["error"]:
            texts += (_warning(width, height, self.colours),)
        return NodeLook(
            x=x,
            y=y,
            width=width,
            height=height,
            kind=kind,
            sign=SIGNS[kind],
            text=short,
            sub=shortened(sub, WEIGHT_LENGTH),
            weight=short if kind == "product" else "",
            value=value,
            title=self._title(v, text, sub, value, faded),
            fill=self.colours.background if faded else fill,
            ink=ink,
            texts=texts,
            **outline,
        )

    def _box_texts(self, v: str, text: str, sub: str, width: float, ink: str) -> tuple[Text, ...]:
        inside = Text(text, 8 - width / 2, 0.0, ink, halo=False)
        if not sub or v in self.crowded:
            return (inside,)
        return inside, Text(shortened(sub, WEIGHT_LENGTH), width / 2 + 8, 0.0, self.colours.muted)

    def _texts(self, v: str, text: str, value: str, radius: float) -> tuple[Text, ...]:
        """A weight stands on the line to its box; where many lines leave above its circle, where none beside it."""
        faded = v in self.gone
        ink = self.colours.muted if faded else self.colours.text
        style: Literal["italic", ""] = "italic" if self.spn.kind(v) == "product" else ""
        level = leads_on_level(self.spn, self.view, v)
        if level and abs(self.spots[self.view.children[v][0]][1] - self.spots[v][1]) < 1:
            # The line to the box may be as wide as its flow: the texts keep clear of it by their halo.
            lines = [Text(text, radius + 5, -7.5, ink, style=style, halo=bool(value))] if text else []
            return (*lines, *([Text(value, radius + 5, 7.5, self.colours.muted, size=12)] if value else []))
        whole = f"{text} = {value}" if text and value else text or value
        if whole and style and not self.view.children[v]:  # nothing stands right of it, and much may above it
            return (Text(whole, radius + 5, 0.0, ink, style=style),)
        return (Text(whole, 0.0, -radius - 10, ink, "middle", style),) if whole else ()

    def _closed(self, v: str, group: Group) -> GroupLook:
        x, y = self.spots[v]
        kernels = [u for u in group.members if self.spn.kind(u) == "kernel"] or group.members
        faded = all(u in self.gone for u in kernels)
        outline = self._outline(group.members, self.colours.border["kernel"], faded)
        weights = self._weights(group)
        value = f"Σβ = {_number(sum(weights))}" if weights else ""
        heaviest = max((self.part[u] for u in group.members if u in self.part), default=None)
        fill = self.colours.fill["kernel"]
        if heaviest is not None:
            fill = mixed(self.colours.light, self.colours.heavy, 0.6 * heaviest)
        ink = self.colours.muted if faded else self.colours.ink["kernel" if heaviest is None else "product"]
        width = group_width(group)
        whole = f"{group.text}, {value}" if value else group.text
        texts = [Text(whole, 10 - width / 2, -8.0 if group.sub else 0.0, ink, style="bold", halo=False)]
        if group.sub:
            texts.append(Text(group.sub, 10 - width / 2, 9.0, ink, halo=False))
        texts.append(Text("⊞", width / 2 - 8, 0.0, ink, "end", size=16, halo=False))
        if outline["error"]:
            texts.append(_warning(width, GROUP_HEIGHT, self.colours))
        return GroupLook(
            x=x,
            y=y,
            width=width,
            height=GROUP_HEIGHT,
            closed=True,
            parent=group.parent,
            members=group.members,
            text=group.text,
            sub=group.sub,
            value=value,
            title=self._group_title(group, value, faded),
            fill=self.colours.background if faded else fill,
            ink=ink,
            texts=tuple(texts),
            **outline,
        )

    def _weights(self, group: Group) -> list[float]:
        """The weights right below the sum that a group stands for, or of its products."""
        first = group.entries[0]
        products = self.spn.children(first) if self.spn.kind(first) == "sum" else group.entries
        known = self.beta or {}
        return [known[u] for u in products if u in known and isfinite(known[u])]

    def _group_title(self, group: Group, value: str, faded: bool) -> str:
        name = "" if group.name in group.text else group.name
        words = [
            group.text,
            name,
            group.sub,
            value,
            "pruned" if faded else "",
            "closed: open it to see and edit its nodes",
        ]
        return ", ".join(word for word in words if word)

    def _opened(self, group: Group, boxes: Mapping[str, NodeLook | GroupLook]) -> GroupLook:
        held = set(group.members)
        inner = [boxes[v] for v in group.members if v in boxes]
        inner += [boxes[v] for v, other in self.view.closed.items() if held.issuperset(other.entries)]
        left, top, right, bottom = bounds_of(inner, 4.0)
        weights = self._weights(group)
        value = f"Σβ = {_number(sum(weights))}" if weights else ""
        faded = all(v in self.gone for v in group.members)
        return GroupLook(
            x=(left + right) / 2,
            y=(top + bottom) / 2,
            width=right - left,
            height=bottom - top,
            closed=False,
            parent=group.parent,
            members=group.members,
            text=group.text,
            sub=group.sub,
            value=value,
            title=", ".join(word for word in (group.text, group.sub, value) if word),
            fill=self.colours.background,
            ink=self.colours.muted,
            texts=(),
            **self._outline((), self.colours.line, faded),
        )

    def _title(self, v: str, text: str, sub: str, value: str, faded: bool) -> str:
        kind, label = self.spn.kind(v), self.spn.label(v)
        words = [f"{kind} {one_line(v)}"]
        if label != v and one_line(label) not in text:
            words.append(one_line(label))
        if text:
            words.append(f"weight {text}" if kind == "product" else text)
        words += [sub] if sub else []
        if kind == "product":
            words.append(f"p = {self.spn.p(v):g}")
        if value:
            words.append(f"β = {value}")
        words += [self.told[v]] if v in self.told else []
        return ", ".join(words + ["pruned"] * faded)

    def _edges(self, boxes: Mapping[str, NodeLook | GroupLook]) -> dict[Edge, EdgeLook]:
        chosen = {(self.view.inside.get(a, a), self.view.inside.get(b, b)) for a, b in self.chosen_edges}
        edges: dict[Edge, EdgeLook] = {}
        obstacles = Boxes(boxes)
        for v, children in self.view.children.items():
            lanes, passages = between_lines(self.grids.get(v, ()), boxes), between_rows(v, self.view, boxes)
            # A drawing from elsewhere may run from the top down.
            downwards = 3 * sum(not is_right(boxes[v], boxes[child]) for child in children) >= max(1, len(children))
            for child in children:
                points = curve(boxes[v], boxes[child], lanes.get(child), downwards)
                if child not in lanes:
                    points = obstacles.around(points, (v, child), passages.get(child))
                edges[v, child] = self._edge(v, child, points, (v, child) in chosen)
        return edges

    def _edge(self, v: str, child: str, points: tuple[Point, ...], chosen: bool) -> EdgeLook:
        ends = [self._hidden(end) for end in (v, child)]
        faded = any(all(u in self.gone for u in members) for members in ends if members)
        end = self._fullest_of(child) or self._fullest_of(v)
        share, title = (None, "") if end is None else (self.flow[end], self.told[end])
        if chosen:
            return EdgeLook(points, 3.0, self.colours.chosen, False, title, True)
        if faded:
            return EdgeLook(points, 1.2, self.colours.faded, True, title, False)
        # Many lines run beside each other to columns; a weight and its value stand on the line to a box.
        drawn = v not in self.view.closed and self.spn.kind(v) == "product"
        on_line = drawn and leads_on_level(self.spn, self.view, v)
        widest = 2.0 if v in self.grids else 1.2 if on_line else 4.0
        width = 1.5 if share is None else 1 + widest * share / (self.fullest or 1.0)
        return EdgeLook(points, width, self.colours.line, False, title, False)

    def _hidden(self, v: str) -> tuple[str, ...]:
        group = self.view.closed.get(v)
        return (v,) if group is None else tuple(u for u in group.members if self.spn.kind(u) == "kernel")

    def _fullest_of(self, v: str) -> str | None:
        """A node through which a known part flows: itself, or of a closed group the one with most."""
        group = self.view.closed.get(v)
        ends = [u for u in ((v,) if group is None else group.entries) if u in self.flow]
        return max(ends, key=self.flow.__getitem__, default=None)


def _warning(width: float, height: float, colours: Theme) -> Text:
    return Text("!", width / 2 - 2, -height / 2, colours.error, "middle", "bold", 16)


def _number(value: float) -> str:
    return f"{value:.3g}"


def _flows(
    spn: SPN, beta: Mapping[str, float] | None, shares: Mapping[str, Share] | None
) -> tuple[Mapping[str, float], dict[str, str]]:
    """How much flows through each product, at least 0, for the width of its lines; and what is told of every node."""
    known = {v: share for v, share in (shares or {}).items() if isfinite(share.share)}
    if known:
        flow = {v: max(0.0, known[v].share) for v in spn.products if v in known}
        return flow, {v: f"held-out share {share}" for v, share in known.items()}
    flows = path_flows(spn, beta) if beta is not None else {}
    return flows, {v: f"{100 * part:.3g} % of the path weights" for v, part in flows.items()}
