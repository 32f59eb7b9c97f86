"""Short texts that stand beside the nodes of a drawing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from spnmkl.structure.nodes import KernelSpec

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

FONT_SIZE = 13
KERNEL_LENGTH = 30
_WHOLE_LENGTH = 48  # of a kernel's text where there are so few that they stand in one column
_ONE_COLUMN = 22
WEIGHT_LENGTH = 18
_NAME_LENGTH = 40

_SYMBOLS = {"gamma": "γ", "sigma": "σ", "alpha": "α", "degree": "d", "coef0": "c"}
SMALL = "₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹⁄"
LOWERED = str.maketrans("0123456789", SMALL[:10])
RAISED = str.maketrans("0123456789/", SMALL[10:])
# Control characters break lines, reverse the text around them, or cannot be written in XML.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_NARROW = frozenset(" .,:;!|'`()[]{}/ijlftI·")
_BROAD = frozenset("mwMW@%")


def kernel_text(spec: KernelSpec, label: str | None = None) -> str:
    """What a leaf computes, and on what.

    Parameters
    ----------
    spec : KernelSpec
        Of the leaf.
    label : str, default=None
        What its columns are called.

    Returns
    -------
    str
        A few words.

    Examples
    --------
    >>> from spnmkl.export import kernel_text
    >>> from spnmkl.structure import KernelSpec
    >>> kernel_text(KernelSpec("rbf", {"gamma": 0.1}, ["red", "green", "blue"]))
    'rbf γ=0.1 · 3 columns'
    >>> kernel_text(KernelSpec("rbf", {"gamma": 0.1}, ["red", "green", "blue"]), label="colour")
    'rbf γ=0.1 · colour'
    """
    settings = (f"{_SYMBOLS.get(name, name)}={_value(value)}" for name, value in spec.params)
    subject = _subject(spec, label)
    return one_line(" ".join([spec.kernel, *settings]) + (f" · {subject}" if subject else ""))


def _subject(spec: KernelSpec, label: str | None) -> str:
    """The label without what the text says already; where nothing is left of it, the columns."""
    settings = ", ".join(f"{name}={value}" for name, value in spec.params)
    title = f"{spec.kernel}({settings})" if settings else spec.kernel
    name = "" if label in (None, title, spec.kernel) else str(label).removesuffix(f" {title}")
    if name and (spec.kernel == "precomputed" or not re.fullmatch("k[0-9]+", name)):
        return name
    if spec.features is None:
        return ""
    if len(spec.features) != 1:
        return f"{len(spec.features):,} columns" if spec.features else "no column"
    (column,) = spec.features
    return column if isinstance(column, str) else f"column {column}"


def kernel_settings(spec: KernelSpec) -> str:
    """The parameters alone, as they stand beside a kernel's box: γ = median."""
    return one_line(", ".join(f"{_SYMBOLS.get(name, name)} = {_value(value)}" for name, value in spec.params))


def kernel_subject(spn: SPN, id: str) -> str:
    """What a kernel looks at: its label, else its columns."""
    return one_line(_subject(spn.spec(id), None if spn.label(id) == id else spn.label(id)))


def box_text(spn: SPN, id: str) -> str:
    """What stands in a kernel's box: the kernel and what it looks at. Its settings stand beside it."""
    spec, label = spn.spec(id), spn.label(id)
    own = spec.kernel == "precomputed" or not _is_number(spn.names[id])
    subject = _subject(spec, label if own or label != id else None)
    text = one_line(spec.kernel + (f" · {subject}" if subject else ""))
    return text if own else f"{spn.names[id]} {text}"


def shown_text(spn: SPN, id: str) -> str:
    """What there is room for of a kernel's text: names stand whole, or nearly so, where the drawing has few kernels."""
    return shortened(box_text(spn, id), _WHOLE_LENGTH if len(spn.kernels) <= _ONE_COLUMN else KERNEL_LENGTH)


def _value(value: Any) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def node_text(spn: SPN, id: str) -> str:
    """What a node shows: a product its weight, a kernel what it computes, a sum its label if that says anything.

    A kernel without a name of its own is told by its symbol too: K₄ rbf · 3 columns.
    """
    kind, label = spn.kind(id), spn.label(id)
    if kind == "product":
        return spn.names[id]
    if kind == "kernel":
        spec = spn.spec(id)
        if spec.kernel == "precomputed" or not _is_number(spn.names[id]):
            return kernel_text(spec, label)
        return f"{spn.names[id]} {kernel_text(spec, None if label == id else label)}"
    return "" if any(spn.label(parent) == label for parent in spn.parents(id)) else sum_name(spn, id)


def sum_name(spn: SPN, id: str) -> str:
    """The label of a sum, or its id if a person chose it; s1, s2, … say nothing."""
    label = spn.label(id)
    return "" if label == id and re.fullmatch("s[0-9]+", id) else one_line(label)


def leaf_name(spn: SPN, id: str) -> str:
    """What tells a kernel from others: its label, or its symbol in the drawing."""
    return spn.names[id] if spn.label(id) == id and _is_number(spn.names[id]) else spn.label(id)


def called(spn: SPN, id: str) -> str:
    """What messages call a node: what the drawing shows of it, or where it stands."""
    kind = spn.kind(id)
    if kind == "product":
        return f"the product {short_name(spn, id)}"
    if kind == "kernel":
        return f"the kernel {short_name(spn, id)}"
    return short_name(spn, id)


def short_name(spn: SPN, id: str) -> str:
    """The same without its kind: β₃, 'rbf · mean', the sum 'image', the sum below β₃."""
    kind = spn.kind(id)
    if kind == "product":
        return shortened(spn.names[id], _NAME_LENGTH)
    if kind == "kernel":
        return f"'{shortened(box_text(spn, id), _NAME_LENGTH)}'"
    if name := sum_name(spn, id):
        return f"the sum '{shortened(name, _NAME_LENGTH)}'"
    below, above = spn.children(id)[:3], spn.parents(id)
    inner = [spn.names[v] for v in below if spn.kind(v) == "product"]
    of = f" of {', '.join(shortened(name, _NAME_LENGTH) for name in inner)}" if inner else ""
    if not above:
        others = sum(spn.kind(root) == "sum" for root in spn.roots[:9]) - 1
        return f"the sum{of}" if others else "the top sum"
    parent = above[0]
    if spn.kind(parent) == "sum":
        return f"the sum{of or ' below another sum'}"
    alike = sum(spn.kind(v) == "sum" for v in spn.children(parent)[:9])
    return f"the sum{of if alike > 1 else ''} below {short_name(spn, parent)}"


def name_nodes(spn: SPN, ids: Iterable[str], separator: str = ", ", limit: int = 5) -> str:
    """The first few nodes for a message, as the drawing shows them."""
    ids = list(ids)
    more = f" and {len(ids) - limit:,} more" if len(ids) > limit else ""
    return separator.join(short_name(spn, v) for v in ids[:limit]) + more


def _is_number(symbol: str) -> bool:
    return symbol.strip("K").strip(SMALL) == ""


def one_line(text: str) -> str:
    return " ".join(without_control(text).split())


def without_control(text: str) -> str:
    return _CONTROL.sub(" ", text)


def shortened(text: str, length: int) -> str:
    """The text, its middle cut out where it is wider than so many characters: names often differ at their end only."""
    if len(text) <= 2 * length and sum(map(_cells, text)) <= length:
        return text
    return _beginning(text, length // 2) + "…" + _beginning(text[::-1], (length - 1) // 2)[::-1]


def _beginning(text: str, length: int) -> str:
    kept = next((k for k, used in enumerate(accumulate(map(_cells, text[: 2 * length]))) if used > length), 2 * length)
    return text[:kept].strip()


@lru_cache(maxsize=4096)
def _cells(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def text_width(text: str, size: float = FONT_SIZE) -> float:
    """About how wide a text is in a sans-serif font; rather too wide than too narrow."""
    return size * sum(map(_width, text))


@lru_cache(maxsize=4096)
def _width(character: str) -> float:
    if character in _NARROW:
        return 0.36
    if character.isascii():
        return 0.98 if character in _BROAD else 0.72 if character.isupper() else 0.61
    return 0.45 if character in SMALL else (0, 0.66, 1.25)[_cells(character)]
