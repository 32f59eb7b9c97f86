"""A drawing for the world outside: as a picture, a web page, Python code."""

from spnmkl.export.code import to_python
from spnmkl.export.html import pyvis_network, to_html
from spnmkl.export.picture import side_by_side, to_png, to_svg
from spnmkl.export.text import kernel_text

__all__ = ["kernel_text", "pyvis_network", "side_by_side", "to_html", "to_png", "to_python", "to_svg"]
