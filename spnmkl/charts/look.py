"""What all charts share: colours, the scale of classes and names, and tables short enough for a browser.

Text that people wrote only ever stands in values, never in the name of a field, which Vega-Lite would parse.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from spnmkl.structure.text import one_line, shortened

# Told apart with any kind of colour vision, and seen on white as on the dark theme's background.
COLOURS = ("#1f77c8", "#e58a00", "#0a9a70", "#d36aa8", "#b8341b", "#5fb4e8")
DASHES = ([1, 0], [5, 3])
SHAPES = ("circle", "triangle-up", "square", "diamond", "cross")
GREY = "#9aa1ad"
INK = "#7b828e"  # for lines on either theme; no grey is dark enough for words on white and light enough on black
MOST_COLOURED = len(COLOURS) * len(DASHES)
MANY = 15  # names that still have room at their usual size
LEGEND_ROWS = 15
_LONGEST = 40
AnyChart = alt.Chart | alt.LayerChart


def shown(text: object) -> str:
    """Text that people wrote, on one line and not too long."""
    return shortened(one_line(str(text)), _LONGEST)


def distinct(texts: Iterable[object]) -> list[str]:
    """Each text as it is shown, with a number where it would be shown like another."""
    found: dict[str, None] = {}
    for text in map(shown, texts):
        name, k = text, 1
        while name in found:
            name, k = f"{text} ({k + 1})", k + 1
        found[name] = None
    return list(found)


def unique_names(ids: Iterable[str], names: Mapping[str, str]) -> dict[str, str]:
    """Id → what to call it; where two would have the same name, with the id."""
    titles = {v: shown(names.get(v, v)) for v in ids}
    counts = Counter(titles.values())
    named = [title if counts[title] == 1 else f"{title} ({v})" for v, title in titles.items()]
    return dict(zip(titles, distinct(named), strict=True))


def class_names(classes: Iterable[Hashable]) -> dict[Hashable, str]:
    """Class → how it is shown, in the order of the classes."""
    known = list(dict.fromkeys(classes))
    return dict(zip(known, distinct(known), strict=True))


def palette(domain: Sequence[str], title: str | None, **legend: Any) -> dict[str, Any]:
    """Encodings of a nominal field `name` by colour and, past the sixth, by dashes."""
    key: Any = alt.Legend(title=title, labelLimit=220, symbolType="stroke", **many_names(len(domain)), **legend)
    return {
        "color": alt.Color("name:N", scale=colour_scale(domain), sort=list(domain), legend=key),
        "strokeDash": alt.StrokeDash("name:N", scale=alt.Scale(domain=list(domain), range=_taken(DASHES, domain))),
    }


def colour_scale(domain: Sequence[str]) -> alt.Scale:
    """The k-th of the domain has the k-th colour, in every chart."""
    return alt.Scale(domain=list(domain), range=[COLOURS[k % len(COLOURS)] for k in range(len(domain))])


def shape_scale(domain: Sequence[str]) -> alt.Scale:
    return alt.Scale(domain=list(domain), range=_taken(SHAPES, domain))


def _taken(looks: Sequence[Any], domain: Sequence[str]) -> list[Any]:
    """Another look for every round of the colours."""
    return [looks[k // len(COLOURS) % len(looks)] for k in range(len(domain))]


def thinned(items: Sequence[Any], most: int) -> list[Any]:
    """At most so many, evenly spread, with the first and the last."""
    if len(items) <= most:
        return list(items)
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, most).round().astype(int))]


def heaviest(weights: Mapping[str, float], most: int) -> list[str]:
    """The ids of the largest weights, heaviest first."""
    return sorted(weights, key=lambda v: -weights[v])[:most]


def many_names(n: int) -> dict[str, Any]:
    """Of a legend that leaves none of n names out, and stays no taller than a chart."""
    return {"symbolLimit": 0, "columns": 1 + (n - 1) // LEGEND_ROWS} if n > LEGEND_ROWS else {"symbolLimit": 0}


def name_size(n: int) -> int:
    """Of the letters of n names side by side."""
    return 12 if n <= MANY else 10 if n <= 2 * MANY else 8


def every_name(limit: int, **looks: Any) -> alt.Axis:
    """An axis of names of which none is left out."""
    return alt.Axis(labelLimit=limit, labelOverlap=False, **looks)


def layered(*charts: alt.Chart | alt.LayerChart, **looks: Any) -> alt.LayerChart:
    """Charts over each other, the first at the bottom."""
    return alt.LayerChart(layer=list(charts)).properties(**looks)


def rule(
    at: alt.XDatum | alt.YDatum, words: str, dash: Collection[int] = (4, 3), row: int = 0, before: bool = False
) -> alt.LayerChart:
    """A dashed line across the chart at a value of the x or y axis, with words at its upper or left end.

    Words of rules that may be close stand on different rows; those of a rule far to the right stand before it.
    """
    axis = "x" if isinstance(at, alt.XDatum) else "y"
    base = alt.Chart(pd.DataFrame({"words": [words]}))
    line = base.mark_rule(color=INK, strokeDash=list(dash)).encode(at, tooltip=alt.Tooltip("words:N", title="line"))
    edge: dict[str, Any] = {"y" if axis == "x" else "x": alt.value(0)}
    side: dict[str, Any] = {"align": "right", "dx": -4} if before else {"align": "left", "dx": 4}
    text = base.mark_text(fontSize=12, dy=8 + 16 * row if axis == "x" else -8, **side)
    return line + text.encode(at, text="words:N", **edge)
