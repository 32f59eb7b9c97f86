"""Text that people wrote, shown by Streamlit."""

import re
from pathlib import Path

from spnmkl.data.unpacking import SUFFIXES
from spnmkl.structure.text import without_control

# What Streamlit's Markdown would make a link or a picture of, although nobody marked it and whatever is escaped: an
# address with its scheme, a www, a mailbox, an icon, a sign for ~=.
_MADE = re.compile(
    r"(?i)https?(?=:)|www(?=\.)|ftp(?=:)|mailto(?=:)|xmpp(?=:)|(?<=\S)@(?=\S)|:(?=material/|streamlit:)|~(?==)"
)
_PERCENT = re.compile(r"(?<=\d) %")
_JOINER = "\u2060"  # takes no room, and is no part of an address or an icon


def plain(text: object) -> str:
    """Text for Streamlit's Markdown: names of nodes, columns and files must not be read as markup, nor become links or
    icons, begin new lines, or turn around what stands after them.

    A number and its % stay on one line.
    """
    found = _MADE.sub(lambda part: part[0] + _JOINER, _PERCENT.sub("\u00a0%", without_control(str(text))))
    return "".join("\\" + c if c in "\\`*_{}[]()<>#+-!|$:~^&" else c for c in found)


def slug(name: str) -> str:
    """A name for a file, without the endings that it had as a table or a model."""
    bare = name.removesuffix(".spnmkl")
    while (ending := Path(bare).suffix.lower()) in SUFFIXES:
        bare = bare[: -len(ending)]
    return re.sub(r"[^\w.-]+", "_", bare)[:60].strip("._") or "model"
