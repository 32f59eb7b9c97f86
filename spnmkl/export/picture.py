"""The drawing as a picture in the manner of the paper's figure: SVG, and PNG made from it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import sqrt
from xml.etree import ElementTree as ET

from spnmkl.export.looks import THEMES, Edge, EdgeLook, NodeLook, Theme, drawn, find_theme
from spnmkl.export.packages import optional
from spnmkl.structure import SPN, Path
from spnmkl.structure.text import FONT_SIZE, one_line, text_width

_FONTS = "'Source Sans Pro', 'Segoe UI', 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
_SVG = "http://www.w3.org/2000/svg"
_MARGIN = 20.0
_TITLE = 34.0  # height of a name above its picture
_MOST_PIXELS = 10e6


def to_svg(
    spn: SPN,
    *,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    theme: str = "light",
) -> str:
    """The drawing as a standalone SVG.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid. Its nodes are drawn where they were put; all are laid out in layers
        where one of them has no position.
    beta : mapping from product to float, default=None
        The weights of the products: they set size and colour, and what they prune is grey.
    highlight : Path or collection of str, default=None
        A path, or nodes with the edges between them, to be shown in red.
    theme : {"light", "dark"}, default="light"
        The colours.

    Returns
    -------
    str
        The SVG.

    Raises
    ------
    ParameterError
        There is no such theme.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import to_svg
    >>> to_svg(templates.figure1()).startswith("<svg")
    True
    """
    colours = find_theme(theme)
    nodes, edges = drawn(spn, beta, highlight, theme)
    svg = _canvas(nodes, colours)
    for edge, look in sorted(edges.items(), key=lambda item: item[1].marked):
        _line(svg, nodes, edge, look)
    for node in nodes.values():
        _node(svg, node, colours)
    return ET.tostring(svg, encoding="unicode")


def to_png(
    spn: SPN,
    *,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    theme: str = "light",
    scale: float = 2.0,
) -> bytes:
    """The picture of `to_svg` in pixels.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid.
    beta : mapping from product to float, default=None
        The weights of the products.
    highlight : Path or collection of str, default=None
        What to show in red.
    theme : {"light", "dark"}, default="light"
        The colours.
    scale : float, default=2.0
        Pixels per unit; fewer where the picture would be huge.

    Returns
    -------
    bytes
        The PNG.

    Raises
    ------
    SPNMKLError
        The package vl-convert-python is not installed.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import to_png
    >>> to_png(templates.figure1())[1:4]
    b'PNG'
    """
    vl_convert = optional("vl_convert", "vl-convert-python", "A PNG picture")
    svg = to_svg(spn, beta=beta, highlight=highlight, theme=theme)
    root = ET.fromstring(svg)
    area = float(root.attrib["width"]) * float(root.attrib["height"])
    return bytes(vl_convert.svg_to_png(svg, scale=min(scale, sqrt(_MOST_PIXELS / area))))


def side_by_side(pictures: Mapping[str, str], columns: int = 2) -> str:
    """Pictures of `to_svg` in one, row by row, each under its name.

    Parameters
    ----------
    pictures : mapping from name to str
        The SVGs.
    columns : int, default=2
        How many stand in a row.

    Returns
    -------
    str
        The SVG.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import side_by_side, to_svg
    >>> "flat sum" in side_by_side({"flat sum": to_svg(templates.flat([0, 1]))})
    True
    """
    ET.register_namespace("", _SVG)
    drawn = {name: ET.fromstring(svg) for name, svg in pictures.items()}
    sizes = {name: (float(svg.attrib["width"]), float(svg.attrib["height"])) for name, svg in drawn.items()}
    names = list(drawn)
    rows = [names[k : k + columns] for k in range(0, len(names), columns)]
    width = max((w for w, _ in sizes.values()), default=0.0) + _MARGIN
    whole = ET.Element(f"{{{_SVG}}}svg", {"font-family": _FONTS, "font-size": str(FONT_SIZE + 2)})
    _add(whole, f"{{{_SVG}}}rect", width="100%", height="100%", fill=THEMES["light"].background)
    y = 0.0
    for row in rows:
        for k, name in enumerate(row):
            x = k * width
            _add(whole, f"{{{_SVG}}}text", one_line(name), x=x + _MARGIN, y=y + 26, fill=THEMES["light"].text)
            drawn[name].attrib |= {"x": _short(x), "y": _short(y + _TITLE)}
            whole.append(drawn[name])
        y += max(sizes[name][1] for name in row) + _TITLE
    whole.attrib |= {"width": _short(width * min(columns, max(len(names), 1))), "height": _short(y)}
    return ET.tostring(whole, encoding="unicode")


def _canvas(nodes: Mapping[str, NodeLook], colours: Theme) -> ET.Element:
    """An empty picture around all nodes and their texts."""
    left = min((node.x - node.width / 2 for node in nodes.values()), default=0.0) - _MARGIN
    right = max((node.x + node.width / 2 + _beside(node) for node in nodes.values()), default=0.0) + _MARGIN
    top = min((node.y - node.height / 2 for node in nodes.values()), default=0.0) - _MARGIN
    bottom = max((node.y + node.height / 2 for node in nodes.values()), default=0.0) + _MARGIN
    x, y, width, height = (_short(value) for value in (left, top, right - left, bottom - top))
    svg = ET.Element(
        "svg",
        {
            "xmlns": _SVG,
            "viewBox": f"{x} {y} {width} {height}",
            "width": width,
            "height": height,
            "role": "img",
            "aria-label": "Sum-product network",
            "font-family": _FONTS,
            "font-size": str(FONT_SIZE),
            "stroke-linecap": "round",
        },
    )
    _add(svg, "rect", x=x, y=y, width=width, height=height, fill=colours.background)
    return svg


def _beside(node: NodeLook) -> float:
    return max(text_width(node.text), text_width(node.value)) + 6 if node.sign else 0.0


def _add(parent: ET.Element, tag: str, text: str = "", **attributes: object) -> ET.Element:
    element = ET.SubElement(
        parent,
        tag,
        {
            name.rstrip("_").replace("_", "-"): _short(value) if isinstance(value, float) else str(value)
            for name, value in attributes.items()
        },
    )
    element.text = text or None
    return element


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _line(svg: ET.Element, nodes: Mapping[str, NodeLook], edge: Edge, look: EdgeLook) -> None:
    start, end = (nodes[v] for v in edge)
    # A box is met at the middle of its upper side, so that edges from afar do not run along it.
    top = end.y if end.sign or end.y - start.y < end.height else end.y - end.height / 2
    _add(svg, "line", x1=start.x, y1=start.y, x2=end.x, y2=top, stroke=look.colour, stroke_width=look.width)


def _node(svg: ET.Element, node: NodeLook, colours: Theme) -> None:
    group = _add(svg, "g", stroke=node.border, stroke_width=2.5 if node.marked else 1.5)
    _add(group, "title", node.title)
    if not node.sign:
        left, top = node.x - node.width / 2, node.y - node.height / 2
        _add(group, "rect", x=left, y=top, width=node.width, height=node.height, rx=5, fill=node.fill)
        middle = {"x": node.x, "y": node.y + 5, "text_anchor": "middle", "fill": node.ink, "stroke": "none"}
        _add(group, "text", node.text, **middle)
        return
    _add(group, "circle", cx=node.x, cy=node.y, r=node.width / 2, fill=node.fill)
    _add(group, "path", d=_sign(node), stroke=node.ink, stroke_width=2.0)
    # The halo keeps an edge that passes behind from crossing the text out.
    beside = {
        "x": node.x + node.width / 2 + 5,
        "stroke": colours.background,
        "stroke_width": 4,
        "paint_order": "stroke",
    }
    middle_y = node.y + 5 - node.rise
    if node.text:
        ink = colours.faded_ink if node.faded else colours.text
        _add(group, "text", node.text, y=middle_y - 8 * bool(node.value), fill=ink, **beside)
    if node.value:
        ink = colours.faded_ink if node.faded else colours.line
        _add(group, "text", node.value, y=middle_y + 8 * bool(node.text), fill=ink, font_size=12, **beside)


def _sign(node: NodeLook) -> str:
    """The + or × as strokes, since fonts put these signs at different heights."""
    a, b = (0.19, 0.0) if node.sign == "+" else (0.15, 0.15)
    strokes = ((a, b, -a, -b), (b, -a, -b, a))
    points = [[round(part * node.width, 1) for part in stroke] for stroke in strokes]
    return "".join(
        f"M{node.x + x1:.1f} {node.y + y1:.1f}L{node.x + x2:.1f} {node.y + y2:.1f}" for x1, y1, x2, y2 in points
    )
