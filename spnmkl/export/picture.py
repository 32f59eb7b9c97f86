"""The drawing as a picture in the manner of the paper's figure: SVG, and PNG and PDF made from it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from math import sqrt
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from spnmkl.export.looks import SHADOW, GroupLook, NodeLook, Scene, Text
from spnmkl.export.packages import optional
from spnmkl.export.scene import scene
from spnmkl.export.themes import THEMES
from spnmkl.structure import SPN, Path
from spnmkl.structure.text import FONT_SIZE, one_line

if TYPE_CHECKING:
    from spnmkl.inspection import Share

# What the PNG and PDF are made with draws a whole text in another font where one sign of it is missing.
_COMPLETE = "'DejaVu Sans', 'Segoe UI', sans-serif"
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
    closed: Iterable[str] = (),
    theme: str = "light",
    shares: Mapping[str, Share] | None = None,
) -> str:
    """The drawing as a standalone SVG.

    Parameters
    ----------
    spn : SPN
        Any drawing, also one that is not valid. Its nodes are drawn where they were put; all are arranged from left to
        right where one of them has no position.
    beta : mapping from product to float, default=None
        The weights of the products: they set size and colour, and what they prune is muted and dashed.
    highlight : Path or collection of str, default=None
        A path, or nodes with the edges between them, to be shown violet and thick.
    closed : iterable of str, default=()
        Ids of groups (`Group.id` of `find_groups`) to be drawn as one box each; see `fitting`.
    theme : {"light", "dark"}, default="light"
        The colours.
    shares : mapping from node to Share, default=None
        Held-out shares (`HeldOutShares.nodes`), which set the width of the lines; by default the path weights do.

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
    return _drawn(scene(spn, closed=closed, beta=beta, path=highlight, theme=theme, shares=shares))


def to_png(
    spn: SPN,
    *,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    closed: Iterable[str] = (),
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
        What to show violet and thick.
    closed : iterable of str, default=()
        Ids of groups to be drawn as one box each.
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
    table = scene(spn, closed=closed, beta=beta, path=highlight, theme=theme)
    area = table.size[0] * table.size[1]
    return bytes(vl_convert.svg_to_png(_drawn(table, _COMPLETE), scale=min(scale, sqrt(_MOST_PIXELS / area))))


def to_pdf(
    spn: SPN,
    *,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    closed: Iterable[str] = (),
    theme: str = "light",
) -> bytes:
    """The picture of `to_svg` on a page of its own size.

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

    Returns
    -------
    bytes
        The PDF.

    Raises
    ------
    SPNMKLError
        The package vl-convert-python is not installed.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import to_pdf
    >>> to_pdf(templates.figure1())[:4]
    b'%PDF'
    """
    vl_convert = optional("vl_convert", "vl-convert-python", "A PDF")
    table = scene(spn, closed=closed, beta=beta, path=highlight, theme=theme)
    return bytes(vl_convert.svg_to_pdf(_drawn(table, _COMPLETE)))


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


def _drawn(table: Scene, fonts: str = _FONTS) -> str:
    svg = _canvas(table, fonts)
    for look in sorted(table.edges.values(), key=lambda look: look.chosen):
        line = _add(svg, "path", d=look.d, fill="none", stroke=look.color, stroke_width=look.width)
        if look.dashed:
            line.set("stroke-dasharray", "4 3")
    for group in table.groups.values():
        if group.closed:
            _stack(svg, group)
    for node in table.nodes.values():
        _node(svg, node)
    # Texts come last: no line and no outline runs over one.
    for owner in table.looks:
        for text in owner.texts:
            _text(svg, text, owner.x, owner.y, table.theme.background)
    return ET.tostring(svg, encoding="unicode")


def _canvas(table: Scene, fonts: str) -> ET.Element:
    """An empty picture around all nodes and their texts."""
    x, y, width, height = (_short(value) for value in (*table.bounds[:2], *table.size))
    svg = ET.Element(
        "svg",
        {
            "xmlns": _SVG,
            "viewBox": f"{x} {y} {width} {height}",
            "width": width,
            "height": height,
            "role": "img",
            "aria-label": "Sum-product network",
            "font-family": fonts,
            "font-size": str(FONT_SIZE),
            "stroke-linecap": "round",
        },
    )
    _add(svg, "rect", x=x, y=y, width=width, height=height, fill=table.theme.background)
    return svg


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


def _outlined(svg: ET.Element, look: NodeLook | GroupLook) -> ET.Element:
    element = _add(svg, "g", stroke=look.border, stroke_width=look.stroke, fill=look.fill)
    if look.dashed:
        element.set("stroke-dasharray", "4 3")
    _add(element, "title", look.title)
    return element


def _node(svg: ET.Element, node: NodeLook) -> None:
    element = _outlined(svg, node)
    if node.sign:
        _add(element, "circle", cx=node.x, cy=node.y, r=node.width / 2)
        _add(element, "path", d=_sign(node), stroke=node.ink, stroke_width=2.0, stroke_dasharray="none")
    else:
        _box(element, node, 0.0)


def _stack(svg: ET.Element, group: GroupLook) -> None:
    element = _outlined(svg, group)
    _box(element, group, SHADOW).set("stroke-width", "1")
    _box(element, group, 0.0)


def _box(element: ET.Element, look: NodeLook | GroupLook, shift: float) -> ET.Element:
    left, top = look.x - look.width / 2 + shift, look.y - look.height / 2 + shift
    return _add(element, "rect", x=left, y=top, width=look.width, height=look.height, rx=5)


def _text(svg: ET.Element, text: Text, x: float, y: float, background: str) -> None:
    # Fonts have their middle about a third of their size above the line on which they stand.
    element = _add(svg, "text", text.text, x=x + text.x, y=y + text.y + text.size * 0.34, fill=text.ink)
    if text.anchor != "start":
        element.set("text-anchor", text.anchor)
    if text.size != FONT_SIZE:
        element.set("font-size", _short(text.size))
    if text.style:
        element.set("font-style" if text.style == "italic" else "font-weight", text.style)
    if text.halo:
        element.attrib |= {"stroke": background, "stroke-width": "3", "paint-order": "stroke"}


def _sign(node: NodeLook) -> str:
    """The + or × as strokes, since fonts put these signs at different heights."""
    a, b = (0.19, 0.0) if node.sign == "+" else (0.15, 0.15)
    strokes = ((a, b, -a, -b), (b, -a, -b, a))
    points = [[round(part * node.width, 1) for part in stroke] for stroke in strokes]
    return "".join(
        f"M{node.x + x1:.1f} {node.y + y1:.1f}L{node.x + x2:.1f} {node.y + y2:.1f}" for x1, y1, x2, y2 in points
    )
