"""The drawing as TikZ, to be set by LaTeX in the fonts of a paper."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Mapping

from spnmkl.export.looks import SHADOW, EdgeLook, GroupLook, NodeLook, Scene, Text
from spnmkl.export.scene import scene
from spnmkl.structure import SPN, Path
from spnmkl.structure.formula import LATEX_SPECIAL
from spnmkl.structure.text import SMALL

_UNIT = 0.75  # pt in a px
_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "varepsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma", "τ": "tau", "φ": "varphi",
    "χ": "chi", "ψ": "psi", "ω": "omega", "Δ": "Delta", "Σ": "Sigma", "Ω": "Omega",
}  # fmt: skip
_SIGNS = {
    "×": r"\ensuremath{\times}", "·": r"\ensuremath{\cdot}", "∘": r"\ensuremath{\circ}", "…": r"\ldots{}",
    "⊞": r"\ensuremath{\boxplus}", "⁄": "/", "≥": r"\ensuremath{\geq}", "≤": r"\ensuremath{\leq}", "−": "--",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"\textquotedbl{}",
}  # fmt: skip
_LOWERED = {sign: str(k) for k, sign in enumerate(SMALL[:10])}
_RAISED = {sign: str(k) for k, sign in enumerate(SMALL[10:20])}


def to_tikz(
    spn: SPN,
    *,
    beta: Mapping[str, float] | None = None,
    highlight: Collection[str] | Path | None = None,
    closed: Iterable[str] = (),
    standalone: bool = False,
) -> str:
    """The picture of `to_svg` as a ``tikzpicture``, to be put into a paper and changed there.

    It needs ``\\usepackage{tikz, amssymb}``. Texts are set in the fonts of the paper.

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
    standalone : bool, default=False
        A whole document instead of the picture alone.

    Returns
    -------
    str
        LaTeX.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.export import to_tikz
    >>> print(to_tikz(templates.figure1()).splitlines()[0])
    \\begin{tikzpicture}[x=0.75pt, y=-0.75pt, line cap=round]
    """
    table = scene(spn, closed=closed, beta=beta, path=highlight)
    if not standalone:
        return _picture(table)
    width, height = (side * _UNIT + 12 for side in table.size)
    return (
        "\\documentclass{article}\n"
        f"\\usepackage[paperwidth={width:.0f}pt, paperheight={height:.0f}pt, margin=12pt]{{geometry}}\n"
        "\\usepackage[T1]{fontenc}\n\\usepackage{textcomp, tikz, amssymb}\n\\pagestyle{empty}\n"
        f"\\begin{{document}}\n\\noindent\\sffamily\n{_picture(table)}\\end{{document}}\n"
    )


def _picture(table: Scene) -> str:
    colours = sorted(_colours(table))
    names = {colour: f"spn{k}" for k, colour in enumerate(colours)}
    lines = [f"\\begin{{tikzpicture}}[x={_UNIT}pt, y=-{_UNIT}pt, line cap=round]"]
    lines += [f"\\definecolor{{{names[colour]}}}{{HTML}}{{{colour[1:].upper()}}}" for colour in colours]
    lines += [_edge(look, names) for look in sorted(table.edges.values(), key=lambda look: look.chosen)]
    for look in table.looks:
        lines += _outline(look, names)
    for look in table.looks:
        lines += [_text(text, look, names, table.theme.background) for text in look.texts]
    return "\n".join([*lines, "\\end{tikzpicture}\n"])


def _colours(table: Scene) -> set[str]:
    looks = table.looks
    used = {edge.color for edge in table.edges.values()} | {table.theme.background}
    used |= {colour for look in looks for colour in (look.fill, look.border, look.ink)}
    return used | {text.ink for look in looks for text in look.texts}


def _point(x: float, y: float) -> str:
    return f"({x:.1f},{y:.1f})"


def _style(look: NodeLook | GroupLook | EdgeLook, colour: str, width: float) -> str:
    return f"draw={colour}, line width={width * _UNIT:.2f}pt" + (", dashed" if look.dashed else "")


def _edge(look: EdgeLook, names: Mapping[str, str]) -> str:
    start, *rest = (_point(x, y) for x, y in look.points)
    curves = " ".join(f".. controls {rest[k]} and {rest[k + 1]} .. {rest[k + 2]}" for k in range(0, len(rest), 3))
    return f"\\path[{_style(look, names[look.color], look.width)}] {start} {curves};"


def _outline(look: NodeLook | GroupLook, names: Mapping[str, str]) -> list[str]:
    style = f"fill={names[look.fill]}, {_style(look, names[look.border], look.stroke)}"
    if isinstance(look, NodeLook) and look.sign:
        circle = f"\\path[{style}] {_point(look.x, look.y)} circle[radius={look.width / 2 * _UNIT:.2f}pt];"
        return [circle, _sign(look, names)]
    shifts = (SHADOW, 0.0) if isinstance(look, GroupLook) else (0.0,)
    return [
        f"\\path[{style}, rounded corners=3pt] {_point(look.x - look.width / 2 + by, look.y - look.height / 2 + by)}"
        f" rectangle {_point(look.x + look.width / 2 + by, look.y + look.height / 2 + by)};"
        for by in shifts
    ]


def _sign(look: NodeLook, names: Mapping[str, str]) -> str:
    a, b = (0.19, 0.0) if look.sign == "+" else (0.15, 0.15)
    strokes = ((a, b, -a, -b), (b, -a, -b, a))
    lines = " ".join(
        f"{_point(look.x + p * look.width, look.y + q * look.width)}"
        f" -- {_point(look.x + r * look.width, look.y + s * look.width)}"
        for p, q, r, s in strokes
    )
    return f"\\draw[draw={names[look.ink]}, line width=1.5pt] {lines};"


def _text(text: Text, look: NodeLook | GroupLook, names: Mapping[str, str], background: str) -> str:
    anchor = {"start": "west", "middle": "center", "end": "east"}[text.anchor]
    font = {"italic": r"\itshape", "bold": r"\bfseries", "": ""}[text.style]
    size = f"\\fontsize{{{text.size * _UNIT:.1f}}}{{{text.size * _UNIT * 1.2:.1f}}}\\selectfont"
    halo = f", fill={names[background]}, inner sep=0.8pt" if text.halo else ", inner sep=0pt"
    place = _point(look.x + text.x, look.y + text.y)
    return (
        f"\\node[anchor={anchor}, text={names[text.ink]}, font={size}{font}{halo}] at {place} {{{latex(text.text)}}};"
    )


def latex(text: str) -> str:
    """A text as LaTeX sets it; what its fonts do not have is left out or said by a plainer letter."""
    return re.sub(
        r"[₀-₉]+|[⁰¹²³⁴-⁹]+|.",
        lambda found: _letters(found[0]),
        text,
        flags=re.DOTALL,
    )


def _letters(found: str) -> str:
    if found[0] in _LOWERED:
        return r"\textsubscript{" + "".join(_LOWERED[sign] for sign in found) + "}"
    if found[0] in _RAISED:
        return r"\textsuperscript{" + "".join(_RAISED[sign] for sign in found) + "}"
    if found in _GREEK:
        return rf"\ensuremath{{\{_GREEK[found]}}}"
    if found in _SIGNS or found in LATEX_SPECIAL:
        return _SIGNS.get(found) or LATEX_SPECIAL[found]
    if found.isascii():
        return found if found.isprintable() else " "
    if found.isalpha() and (found <= "ÿ" or (found < "ƀ" and len(unicodedata.normalize("NFD", found)) > 1)):
        return found  # a letter that T1 fonts have
    plain = unicodedata.normalize("NFKD", found).encode("ascii", "ignore").decode()
    return "".join(LATEX_SPECIAL.get(sign, sign) for sign in plain) or "?"
