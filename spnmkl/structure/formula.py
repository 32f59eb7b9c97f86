"""A structure written as a formula, in LaTeX and in plain text."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from spnmkl.structure.nodes import PREFIX, Kind
from spnmkl.structure.text import LOWERED, SMALL, one_line

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
}


def _number(kind: Kind, name: str) -> str | None:
    """The 9 of an automatic id p9."""
    automatic = re.fullmatch(PREFIX[kind] + "([0-9]+)", name)
    return automatic[1] if automatic else None


def _written_out(kind: Kind, name: str) -> bool:
    """The path-dependent view calls its weights β₉¹⁄² β₄¹⁄⁴; these are symbols already."""
    return kind == "product" and name.startswith("β")


def plain_symbol(kind: Kind, name: str) -> str:
    """β₉ for the product p9, K₄ for the kernel k4; β_colour or β[left eye] for other names."""
    letter = "β" if kind == "product" else "K"
    number, name = _number(kind, name), one_line(name)
    if number is not None:
        return letter + number.translate(LOWERED)
    if _written_out(kind, name):
        return name
    return f"{letter}_{name}" if re.fullmatch(r"\w+", name) else f"{letter}[{name}]"


def latex_symbol(kind: Kind, name: str) -> str:
    letter = r"\beta" if kind == "product" else "K"
    escaped = "".join(LATEX_SPECIAL.get(c, c) for c in name)
    if _written_out(kind, name):
        return r"\text{" + escaped + "}"
    index = _number(kind, name) or r"\text{" + escaped + "}"
    return f"{letter}_{{{index}}}"


def symbols(spn: SPN, latex: bool = False) -> dict[str, str]:
    """The symbol of every product's weight and of every kernel; in plain text those of `SPN.names`."""
    symbol = latex_symbol if latex else plain_symbol
    return {v: symbol(spn.kind(v), name) for v, name in _names(spn).items()}


def _names(spn: SPN) -> dict[str, str]:
    """Labels where they are clear, else ids: two weights need two names, equal kernels may share one."""
    meanings: dict[tuple[Kind, str], set[object]] = defaultdict(set)
    for v in spn.products:
        for name in (v, spn.label(v)):
            meanings["product", name].add(v)
    for v in spn.kernels:
        for name in (v, spn.label(v)):
            meanings["kernel", name].add(spn.spec(v))
    return {
        v: spn.label(v) if len(meanings[spn.kind(v), spn.label(v)]) == 1 else v for v in (*spn.products, *spn.kernels)
    }


def write_formula(spn: SPN, latex: bool, limit: int) -> str:
    """Node by node from a stack; after `limit` nodes an ellipsis stands for what is left in each bracket."""
    symbol = symbols(spn, latex) if latex else spn.names
    times, dots = (r" \circ ", r"\ldots") if latex else ("∘", "…")
    written = ["K = "]
    visited = 0
    # (text before it, node, whether it needs brackets); without a node: a closing bracket
    stack: list[tuple[str, str | None, bool]] = [("", spn.root, False)]
    while stack:
        text, node, bracketed = stack.pop()
        if node is None:
            written.append(text)
            continue
        if visited >= limit:
            written += [text, dots] if written[-1] != dots else []
            continue
        visited += 1
        written.append(text)
        kind, children = spn.kind(node), spn.children(node)
        if kind == "kernel":
            written.append(symbol[node])
            continue
        if bracketed:
            written.append("(")
            stack.append((")", None, False))
        if kind == "product":
            written.append(symbol[node] + " " * (not latex and symbol[node][-1] not in SMALL))
        between = times if kind == "product" else " + "
        for position in range(len(children) - 1, -1, -1):
            stack.append((between if position else "", children[position], kind == "product"))
    return "".join(written)
