"""The drawing as a web page of its own, with pyvis and vis-network."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import networkx as nx

from spnmkl.export.looks import GroupLook, NodeLook, Scene
from spnmkl.export.packages import optional
from spnmkl.export.scene import scene
from spnmkl.structure import SPN, Path

if TYPE_CHECKING:
    from spnmkl.inspection import Share

_OPTIONS = {
    "physics": {"enabled": False},
    "interaction": {"hover": True, "multiselect": True, "tooltipDelay": 150},
    "layout": {"improvedLayout": False},
}


def pyvis_network(
    spn: SPN,
    *,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    closed: Iterable[str] = (),
    theme: str = "light",
    shares: Mapping[str, Share] | None = None,
) -> Any:
    """The drawing as a `pyvis.network.Network`: nodes where they were put, edges, options with physics off.

    A node carries, besides the attributes that vis-network knows, its `kind` and a `look` with all that is needed to
    draw it as in the paper's figure. Its `title` is plain text.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid.
    beta : mapping from product to float, default=None
        The weights of the products.
    highlight : Path or collection of str, default=None
        What to show violet and thick.
    closed : iterable of str, default=()
        Ids of groups to be drawn as one box each.
    theme : {"light", "dark"}, default="light"
        The colours.
    shares : mapping from node to Share, default=None
        Held-out shares, which set the width of the lines; by default the path weights do.

    Returns
    -------
    pyvis.network.Network
        The network.

    Raises
    ------
    SPNMKLError
        The package pyvis is not installed.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import pyvis_network
    >>> len(pyvis_network(templates.figure1()).nodes)
    20
    """
    pyvis = optional("pyvis.network", "pyvis", "A web page")
    table = scene(spn, closed=closed, beta=beta, path=highlight, theme=theme, shares=shares)
    graph = nx.DiGraph()
    graph.add_nodes_from((v, _attributes(look)) for v, look in _drawn(table).items())
    graph.add_edges_from(
        (*edge, {"d": look.d, "color": look.color, "width": look.width, "weight": look.width, "dashes": look.dashed})
        for edge, look in table.edges.items()
    )
    network = pyvis.Network(
        height="100%", width="100%", directed=True, bgcolor=table.theme.background, cdn_resources="in_line"
    )
    network.from_nx(graph)
    network.set_options(json.dumps(_OPTIONS))
    return network


def to_html(
    spn: SPN,
    *,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    closed: Iterable[str] = (),
    theme: str = "light",
    shares: Mapping[str, Share] | None = None,
) -> str:
    """The drawing as a standalone page that needs no internet: nodes can be moved, the view zoomed.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid.
    beta : mapping from product to float, default=None
        The weights of the products: they set size and colour, and what they prune is muted and dashed.
    highlight : Path or collection of str, default=None
        What to show violet and thick.
    closed : iterable of str, default=()
        Ids of groups to be drawn as one box each.
    theme : {"light", "dark"}, default="light"
        The colours.
    shares : mapping from node to Share, default=None
        Held-out shares, which set the width of the lines; by default the path weights do.

    Returns
    -------
    str
        The page.

    Raises
    ------
    SPNMKLError
        The package pyvis or jinja2 is not installed.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import to_html
    >>> "<html" in to_html(templates.figure1())
    True
    """
    jinja2 = optional("jinja2", "jinja2", "A web page")
    network = pyvis_network(spn, beta=beta, highlight=highlight, closed=closed, theme=theme, shares=shares)
    # The page that comes with pyvis loads styles from the internet and shows some titles as markup; ours does neither.
    page = (files("spnmkl.export") / "page.html").read_text("utf-8")
    network.templateEnv = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.DictLoader({"spn.html": page}), network.templateEnv.loader])
    )
    network.path = "spn.html"
    return network.generate_html().replace("//# sourceMappingURL=vis-network.min.js.map", "")


def _drawn(table: Scene) -> dict[str, NodeLook | GroupLook]:
    return {**table.nodes, **{v: group for v, group in table.groups.items() if group.closed}}


def _attributes(look: NodeLook | GroupLook) -> dict[str, Any]:
    sign = look.sign if isinstance(look, NodeLook) else ""
    return {
        "kind": look.kind if isinstance(look, NodeLook) else "group",
        "label": sign or look.text,
        "title": look.title,
        "shape": "circle" if sign else "box",
        "x": look.x,
        "y": look.y,
        "color": {"background": look.fill, "border": look.border},
        "font": {"color": look.ink},
        "look": {
            "width": look.width,
            "height": look.height,
            "sign": sign,
            "stack": isinstance(look, GroupLook),
            "fill": look.fill,
            "border": look.border,
            "ink": look.ink,
            "stroke": look.stroke,
            "dashed": look.dashed,
            "texts": [dict(vars(text)) for text in look.texts],
        },
    }
