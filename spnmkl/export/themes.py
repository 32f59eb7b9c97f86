"""The colours of a drawing, light and dark; red is for errors alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

from spnmkl.errors import ParameterError
from spnmkl.structure.nodes import Kind


@dataclass(frozen=True)
class Theme:
    """Colours; their contrasts are measured in the tests."""

    background: str
    text: str
    muted: str
    line: str
    primary: str
    error: str
    chosen: str
    faded: str
    fill: Mapping[Kind, str]
    border: Mapping[Kind, str]
    ink: Mapping[Kind, str]
    light: str
    heavy: str

    def to_dict(self) -> dict[str, str]:
        """All colours by name, for the canvas."""
        plain = {name: value for name, value in asdict(self).items() if isinstance(value, str)}
        return plain | {
            name + suffix: colour
            for suffix, colours in (("", self.fill), ("_border", self.border), ("_ink", self.ink))
            for name, colour in colours.items()
        }


THEMES = {
    "light": Theme(
        background="#ffffff",
        text="#1f2430",
        muted="#566070",
        line="#7f8a99",
        primary="#1d4ed8",
        error="#c81e1e",
        chosen="#7c3aed",
        faded="#868f9c",
        fill={"sum": "#eef4ff", "product": "#fff8eb", "kernel": "#f1fbf3"},
        border={"sum": "#2563eb", "product": "#a16207", "kernel": "#15803d"},
        ink={"sum": "#1d4ed8", "product": "#6a3d00", "kernel": "#14532d"},
        light="#fff8eb",
        heavy="#f5b638",
    ),
    "dark": Theme(
        background="#0e1117",
        text="#e6e8ec",
        muted="#a6b0bd",
        line="#7d8896",
        primary="#7aa7ff",
        error="#ff7272",
        chosen="#c9a7ff",
        faded="#77818f",
        fill={"sum": "#15243c", "product": "#2e210d", "kernel": "#11271a"},
        border={"sum": "#6ea8fe", "product": "#e5a93d", "kernel": "#5fbf7f"},
        ink={"sum": "#cfe1ff", "product": "#ffdf9e", "kernel": "#c9f2d5"},
        light="#2e210d",
        heavy="#865304",
    ),
}


def find_theme(name: str) -> Theme:
    """The colours of a theme.

    Parameters
    ----------
    name : {"light", "dark"}
        The theme.

    Returns
    -------
    Theme
        Its colours.

    Raises
    ------
    ParameterError
        There is no such theme.
    """
    if name not in THEMES:
        raise ParameterError(f"The theme must be one of {', '.join(map(repr, THEMES))}; found {name!r}.")
    return THEMES[name]


def mixed(light: str, heavy: str, share: float) -> str:
    """A colour between two, as #rrggbb."""
    parts = ((int(light[k : k + 2], 16), int(heavy[k : k + 2], 16)) for k in (1, 3, 5))
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in parts)
