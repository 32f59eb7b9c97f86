"""Pieces of sentences: names in quotes, counts, lists, suggestions."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from itertools import islice

_LONGEST = 60
_COMPARED = 500


def quoted(name: object) -> str:
    """A name as Python writes it, cut where it is long."""
    text = str(name)
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…")


def counted(n: int, thing: str) -> str:
    """1 row, 2 rows, 1,000 rows."""
    return f"{n:,} {thing}" + "s" * (n != 1)


def listed(items: Collection[str], most: int = 8) -> str:
    """The first few of many."""
    shown = ", ".join(islice(items, most))
    return shown + (f" and {len(items) - most:,} more" if len(items) > most else "")


def name_some(names: Collection[str], most: int = 8) -> str:
    """Names in quotes, the first few of many."""
    return listed([quoted(name) for name in names], most)


def suggestion(name: str, names: Iterable[str]) -> str:
    """What to use instead of a name that does not exist."""
    known = [str(other) for other in names]
    comparable = [other for other in known[:_COMPARED] if len(other) <= _LONGEST]
    close = get_close_matches(name[:_LONGEST], comparable, n=1)
    return f"the closest name is {close[0]!r}" if close else f"the columns are {name_some(known)}"


def number_text(value: float, form: str) -> str:
    """A number for people, whose minus is no hyphen, and nearly nothing is 0 and not −0."""
    text = format(value, form)
    return text.replace("-", "−") if float(text.replace(",", "")) else text.replace("-", "")


def whole_percent(share: float) -> str:
    """57 %, −3 %; nearly nothing is 0 and not −0."""
    return f"{round(100 * share) + 0:d} %".replace("-", "−")
