"""How the nodes and edges of a drawing look: colours, sizes and texts, whatever draws them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from spnmkl.circuit.program import compile_circuit
from spnmkl.errors import ParameterError, StructureError
from spnmkl.structure import SPN, Path
from spnmkl.structure.layout import BOX_HEIGHT, RADIUS, box_width, layered
from spnmkl.structure.nodes import Kind
from spnmkl.structure.paths import drawn_path
from spnmkl.structure.text import KERNEL_LENGTH, WEIGHT_LENGTH, node_text, one_line, shortened

Edge = tuple[str, str]
SIGNS: dict[Kind, str] = {"sum": "+", "product": "×", "kernel": ""}

# Beyond this a position is a slip of the hand, and nothing could be seen in a picture that holds it.
_FARTHEST = 1e6


@dataclass(frozen=True)
class Theme:
    background: str
    text: str
    line: str
    faded: str
    faded_ink: str
    fill: Mapping[Kind, str]
    border: Mapping[Kind, str]
    ink: str = "#10151c"
    heavy: str = "#f08c00"
    light: str = "#fff4e0"
    red: str = "#e03131"


THEMES = {
    "light": Theme(
        background="#ffffff",
        text="#31333f",
        line="#7d8793",
        faded="#cdd2d9",
        faded_ink="#9aa3ae",
        fill={"sum": "#cfe4fa", "product": "#ffe3b8", "kernel": "#d8efd4"},
        border={"sum": "#3f7fbf", "product": "#c27d14", "kernel": "#4f9148"},
    ),
    "dark": Theme(
        background="#0e1117",
        text="#e6e8ec",
        line="#8b95a3",
        faded="#3c434e",
        faded_ink="#6b7482",
        fill={"sum": "#a9d0f5", "product": "#ffd599", "kernel": "#c3e6bd"},
        border={"sum": "#5aa0e6", "product": "#e0a03c", "kernel": "#6db865"},
        red="#ff5c5c",
    ),
}


@dataclass(frozen=True)
class NodeLook:
    """One node as it is drawn: a kernel as a box around its text, others as a circle with texts beside it.

    `value` is the weight of a product as a number; `rise` is how far the texts beside a circle stand above its middle.
    """

    x: float
    y: float
    width: float
    height: float
    sign: str
    text: str
    value: str
    title: str
    rise: float
    fill: str
    border: str
    ink: str
    marked: bool
    faded: bool


@dataclass(frozen=True)
class EdgeLook:
    colour: str
    width: float
    marked: bool


def find_theme(name: str) -> Theme:
    if name not in THEMES:
        raise ParameterError(f"The theme must be one of {', '.join(map(repr, THEMES))}; found {name!r}.")
    return THEMES[name]


def positions(spn: SPN) -> dict[str, tuple[float, float]]:
    """Where the nodes were put; all laid out anew where one of them has no place, or one off the map."""
    placed = {v: spot for v in spn.nodes if (spot := spn.position(v)) and max(map(abs, spot)) <= _FARTHEST}
    return placed if len(placed) == len(spn.nodes) else layered(spn)


def marked(spn: SPN, highlight: Collection[str] | Path | None) -> tuple[set[str], set[Edge]]:
    """The nodes and edges to be shown in red: those of a path, or the given nodes and all edges between them."""
    if highlight is not None and not isinstance(highlight, Collection):
        nodes, edges = drawn_path(spn, highlight)
        return set(nodes), set(edges)
    chosen = set(highlight or ())
    return chosen, {(v, child) for v in spn.nodes if v in chosen for child in spn.children(v) if child in chosen}


def lost(spn: SPN, beta: Mapping[str, float]) -> set[str]:
    """The nodes that no path of positive weight meets."""
    # A product dies with any child, a sum with its last.
    alive = {v: len(spn.children(v)) if spn.kind(v) == "sum" else 1 for v in spn.nodes}
    dead = [v for v in spn.products if v in beta and not beta[v] > 0]
    gone = set(dead)
    for v in dead:
        for parent in spn.parents(v):
            alive[parent] -= 1
            if alive[parent] <= 0 and parent not in gone:
                gone.add(parent)
                dead.append(parent)
    reached = {root: None for root in spn.roots if root not in gone}
    for v in (queue := list(reached)):
        new = [child for child in spn.children(v) if child not in gone and child not in reached]
        reached |= dict.fromkeys(new)
        queue += new
    return set(spn.nodes) - set(reached)


def drawn(
    spn: SPN,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    theme: str = "light",
) -> tuple[dict[str, NodeLook], dict[Edge, EdgeLook]]:
    """Everything to be drawn; with weights, products in size and colour by weight and pruned parts in grey."""
    colours = find_theme(theme)
    red, red_edges = marked(spn, highlight)
    gone = lost(spn, beta) if beta is not None else set()
    share = _shares(spn, beta or {})
    flow = path_flows(spn, beta) if beta is not None else {}
    place = positions(spn)
    nodes: dict[str, NodeLook] = {}
    for v, (x, y) in place.items():
        kind, text = spn.kind(v), node_text(spn, v)
        radius = RADIUS if v not in share else 11 + 10 * sqrt(share[v])
        fill = mixed(colours.light, colours.heavy, share[v]) if v in share else colours.fill[kind]
        nodes[v] = NodeLook(
            x=x,
            y=y,
            width=box_width(text) if kind == "kernel" else 2 * radius,
            height=BOX_HEIGHT if kind == "kernel" else 2 * radius,
            sign=SIGNS[kind],
            text=shortened(text, KERNEL_LENGTH if kind == "kernel" else WEIGHT_LENGTH),
            value=_number(beta[v]) if beta is not None and kind == "product" and v in beta else "",
            title=_title(spn, v, text),
            rise=_rise(place[v], radius, beta is not None, [place[u] for u in (*spn.parents(v), *spn.children(v))]),
            fill=colours.background if v in gone else fill,
            border=colours.red if v in red else colours.faded if v in gone else colours.border[kind],
            ink=colours.faded_ink if v in gone else colours.ink,
            marked=v in red,
            faded=v in gone,
        )
    edges = {
        (v, child): _edge(
            colours, (v, child) in red_edges, v in gone or child in gone, flow.get(child if child in flow else v)
        )
        for v in spn.nodes
        for child in spn.children(v)
    }
    return nodes, edges


def _shares(spn: SPN, beta: Mapping[str, float]) -> dict[str, float]:
    """Every weight as a part of the largest."""
    known = {v: beta[v] for v in spn.products if v in beta and isfinite(beta[v])}
    largest = max(known.values(), default=0.0)
    return {v: max(0.0, weight) / largest if largest > 0 else 0.0 for v, weight in known.items()}


def path_flows(spn: SPN, beta: Mapping[str, float]) -> dict[str, float]:
    """Per product the weight of the paths through it, as a part of the weight of all; empty where none is known."""
    try:
        spn.check()
        circuit = compile_circuit(spn)
    except StructureError:
        return {}
    if not all(v in beta and isfinite(beta[v]) and beta[v] >= 0 for v in circuit.products):
        return {}
    flows = circuit.flows(circuit.weights(np.array([beta[v] for v in circuit.products])))
    total = flows[circuit.operation_start[-2] :].sum()
    # A path that meets a product in two places is counted twice, hence the bound.
    through = np.minimum((circuit.X > 0).T @ flows / total, 1.0) if total > 0 else np.zeros(len(circuit.products))
    return dict(zip(circuit.products, through.tolist(), strict=True))


def _rise(spot: tuple[float, float], radius: float, tall: bool, neighbours: list[tuple[float, float]]) -> float:
    """Put a text level with its circle, or above or below where the edges to the right leave more room."""
    x, y = spot
    crossings = [
        (v - y) / (u - x) * ahead for u, v in neighbours for ahead in (radius + 8, radius + 40) if u - x > ahead
    ]
    enough = 24.0 if tall else 15.0
    return -max((0, 12, -12), key=lambda level: min([enough, *(abs(level - crossing) for crossing in crossings)]))


def _number(value: float) -> str:
    return f"{value:.3g}"


def _title(spn: SPN, v: str, text: str) -> str:
    kind, label = spn.kind(v), spn.label(v)
    words = [f"{kind} {one_line(v)}"]
    if label != v and one_line(label) not in text:
        words.append(one_line(label))
    if text:
        words.append(f"weight {text}" if kind == "product" else text)
    if kind == "product":
        words.append(f"p = {spn.p(v):g}")
    return ", ".join(words)


def _edge(colours: Theme, red: bool, grey: bool, share: float | None) -> EdgeLook:
    if red:
        return EdgeLook(colours.red, 3.0, True)
    if grey:
        return EdgeLook(colours.faded, 1.2, False)
    return EdgeLook(colours.line, 1.5 if share is None else 1 + 4 * share, False)


def mixed(light: str, heavy: str, share: float) -> str:
    """A colour between two, as #rrggbb."""
    parts = ((int(light[k : k + 2], 16), int(heavy[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)
