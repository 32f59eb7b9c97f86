"""Text that people wrote, shown by Streamlit."""

import re

# What Markdown would make a link of, although nobody marked it: an address with its scheme, a www, a mailbox.
_ADDRESS = re.compile(r"(?i)https?(?=:)|www(?=\.)|ftp(?=:)|mailto(?=:)|xmpp(?=:)|(?<=\S)@(?=\S)")
_PERCENT = re.compile(r"(?<=\d) %")
_JOINER = "\u2060"  # takes no room, and is no part of an address


def plain(text: object) -> str:
    """Text for Streamlit's Markdown: names of nodes, columns and files must not be read as markup, nor become links.

    A number and its % stay on one line.
    """
    found = _ADDRESS.sub(lambda part: part[0] + _JOINER, _PERCENT.sub("\u00a0%", str(text)))
    return "".join("\\" + c if c in "\\`*_{}[]()<>#+-!|$:~^" else c for c in found)


def slug(name: str) -> str:
    """A name for a file."""
    return re.sub(r"[^\w.-]+", "_", name.removesuffix(".spnmkl"))[:60].strip("._") or "model"
