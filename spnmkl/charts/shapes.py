"""Columns that have a shape: pixels as an image, wavelengths or positions as a profile, told from their names."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import altair as alt
import pandas as pd

from spnmkl.charts.explanation import STOPS
from spnmkl.charts.look import COLOURS

MOST_CELLS = 10_000
FEWEST = 4  # columns in a row or along a profile that are a shape and no accident
_TWO = re.compile(r"^(\D*?)(\d+)(\D+)(\d+)(\D*)$")
_ONE = re.compile(r"^(\D*?)(\d+(?:\.\d+)?)(\D*)$")


@dataclass(frozen=True)
class Shape:
    """Where every column lies: (row, column) of an image, or (position,) along a profile."""

    places: Mapping[str, tuple[float, ...]]
    unit: str = ""

    @property
    def is_image(self) -> bool:
        return len(next(iter(self.places.values()))) == 2


def find_shape(names: Sequence[str]) -> Shape | None:
    """The shape that names such as ``pixel_3_4``, ``r3c4`` or ``nm_1450`` tell of; None where they tell of none.

    Parameters
    ----------
    names : sequence of str
        All columns that lie in the shape.

    Returns
    -------
    Shape or None
        An image where every name has two whole numbers between the same words, and at least half of the pixels are
        there; a profile where every name has one number.

    Examples
    --------
    >>> from spnmkl.charts import find_shape
    >>> find_shape([f"pixel_{row}_{column}" for row in range(4) for column in range(4)]).is_image
    True
    >>> find_shape(["height", "width", "depth", "age"]) is None
    True
    """
    return _image(names) or _profile(names)


def _image(names: Sequence[str]) -> Shape | None:
    found = [_TWO.match(name) for name in names]
    if len(names) < FEWEST**2 or not all(found):
        return None
    matches = [match for match in found if match]
    if len({(m[1], m[3], m[5]) for m in matches}) > 1:
        return None
    places = {name: (float(m[2]), float(m[4])) for name, m in zip(names, matches, strict=True)}
    rows, columns = ({place[axis] for place in places.values()} for axis in (0, 1))
    if len(set(places.values())) < len(names) or min(len(rows), len(columns)) < 2:
        return None
    area = (max(rows) - min(rows) + 1) * (max(columns) - min(columns) + 1)
    return Shape(places) if 2 * len(names) >= area and area <= MOST_CELLS else None


def _profile(names: Sequence[str]) -> Shape | None:
    found = [_ONE.match(name) for name in names]
    if len(names) < 2 * FEWEST or not all(found):
        return None
    matches = [match for match in found if match]
    if len({(m[1], m[3]) for m in matches}) > 1:
        return None
    places = {name: (float(m[2]),) for name, m in zip(names, matches, strict=True)}
    unit = " ".join(part for part in (matches[0][1].strip(" _-.:"), matches[0][3].strip(" _-.:")) if part)
    return Shape(places, unit) if len(set(places.values())) == len(names) else None


def shape_chart(values: Mapping[str, float], shape: Shape, title: str = "share") -> alt.Chart:
    """A value of every column where the column lies: an image of pixels, or a profile.

    Parameters
    ----------
    values : mapping from column to float
        Columns that lie in no shape are left out; pixels without a value are not painted.
    shape : Shape
        As `find_shape` finds it.
    title : str, default="share"
        What the values are.

    Returns
    -------
    altair.Chart
        The chart.

    Examples
    --------
    >>> from spnmkl.charts import find_shape, shape_chart, to_svg
    >>> names = [f"nm_{wave}" for wave in range(1000, 1100, 10)]
    >>> to_svg(shape_chart({name: 0.1 for name in names}, find_shape(names))).startswith("<svg")
    True
    """
    known = {name: value for name, value in values.items() if name in shape.places}
    table = pd.DataFrame({"name": list(known), "value": list(known.values())})
    tooltip = [alt.Tooltip("name:N", title="column"), alt.Tooltip("value:Q", title=title, format=".3~g")]
    if shape.is_image:
        return _image_chart(table, shape, title, tooltip)
    table = table.assign(at=[shape.places[name][0] for name in known]).sort_values("at")
    reach = alt.Scale(zero=False, nice=False, padding=8)
    return (
        alt.Chart(table)
        .mark_area(
            line={"color": COLOURS[0], "strokeWidth": 1.5}, color=COLOURS[0], fillOpacity=0.25, interpolate="step"
        )
        .encode(
            x=alt.X("at:Q", title=shape.unit or "number in the name", scale=reach, axis=alt.Axis(format="~g")),
            y=alt.Y("value:Q", title=title),
            tooltip=tooltip,
        )
        .properties(height=240)
    )


def _image_chart(table: pd.DataFrame, shape: Shape, title: str, tooltip: list[alt.Tooltip]) -> alt.Chart:
    rows, columns = zip(*(shape.places[name] for name in table["name"]), strict=True)
    table = table.assign(row=rows, column=columns)
    spans = [max(place[k] for place in shape.places.values()) + 1 for k in (0, 1)]
    starts = [min(place[k] for place in shape.places.values()) for k in (0, 1)]
    table = table.assign(below=table["row"] + 1, beside=table["column"] + 1)
    side = min(360, max(160, 40 * (spans[0] - starts[0])))
    down = alt.Scale(domain=[spans[0], starts[0]], nice=False, zero=False)
    across = alt.Scale(domain=[starts[1], spans[1]], nice=False, zero=False)
    colours = alt.Scale(range=list(STOPS), interpolate="rgb", domainMin=0)
    return (
        alt.Chart(table)
        .mark_rect()
        .encode(
            x=alt.X("column:Q", scale=across, axis=None),
            x2="beside:Q",
            y=alt.Y("row:Q", scale=down, axis=None),
            y2="below:Q",
            color=alt.Color("value:Q", scale=colours, title=title, legend=alt.Legend(format=".2~g")),
            tooltip=tooltip,
        )
        .properties(height=side, width=side * (spans[1] - starts[1]) / (spans[0] - starts[0]))
    )
