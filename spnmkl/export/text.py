"""The words of a drawing, for everything that shows one. They stand in `structure` because layout measures them."""

from spnmkl.structure.text import kernel_text, node_text, one_line, shortened, text_width

__all__ = ["kernel_text", "node_text", "one_line", "shortened", "text_width"]
