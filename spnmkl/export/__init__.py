"""A drawing for the world outside: as a picture, a web page, Python code."""

from spnmkl.export.closing import fitting
from spnmkl.export.code import to_python
from spnmkl.export.html import pyvis_network, to_html
from spnmkl.export.picture import side_by_side, to_pdf, to_png, to_svg
from spnmkl.export.scene import Scene, scene
from spnmkl.export.tikz import to_tikz
from spnmkl.structure.text import kernel_text

__all__ = [
    "Scene",
    "fitting",
    "kernel_text",
    "pyvis_network",
    "scene",
    "side_by_side",
    "to_html",
    "to_pdf",
    "to_png",
    "to_python",
    "to_svg",
    "to_tikz",
]
