"""Text that people wrote, shown by Streamlit."""

import re


def plain(text: object) -> str:
    """Text for Streamlit's Markdown: names of nodes, columns and files must not be read as markup."""
    return "".join("\\" + c if c in "\\`*_{}[]()<>#+-!|$:~^" else c for c in str(text))


def slug(name: str) -> str:
    """A name for a file."""
    return re.sub(r"[^\w.-]+", "_", name.removesuffix(".spnmkl"))[:60].strip("._") or "model"
