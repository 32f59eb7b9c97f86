"""Classes and answers: how many rows each class has, which were confused, and where the samples lie."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import chain
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from spnmkl.charts.look import (
    GREY,
    MANY,
    class_names,
    colour_scale,
    distinct,
    every_name,
    layered,
    many_names,
    name_size,
    palette,
    shape_scale,
    thinned,
)

MOST_CURVE_POINTS = 250
MOST_POINTS = 4000
MOST_RINGS = 400  # around wrong answers; more of them would be one blot
CROWDED, CROWDED_RINGS = 1500, 120  # from here on marks are smaller and fainter
RING = "#7a52d6"  # the colour of no class
# Few to many; what is zero is left to the background.
CELLS = ("#bcd8f2", "#0d4f93")
_LEVEL_LETTERS = 60  # in all, that fit below a chart side by side


def class_balance_chart(balance: pd.DataFrame) -> alt.LayerChart:
    """Rows per class, as bars with their counts.

    Parameters
    ----------
    balance : DataFrame
        With `class`, `rows` and `share`.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import class_balance_chart, to_svg
    >>> balance = pd.DataFrame({"class": ["no", "yes"], "rows": [30, 70], "share": [0.3, 0.7]})
    >>> to_svg(class_balance_chart(balance)).startswith("<svg")
    True
    """
    names = distinct(balance["class"])
    order = [names[k] for k in np.argsort(-balance["rows"].to_numpy(), kind="stable")]
    table = balance.assign(**{"class": names})
    room = alt.Scale(domain=[0, 1.1 * max(table["rows"], default=0)], nice=False)  # for the counts
    bars = alt.Chart(table).encode(
        x=alt.X("rows:Q", title="rows", axis=alt.Axis(tickMinStep=1, format=",d", tickCount=5), scale=room),
        y=alt.Y("class:N", sort=order, title=None, axis=every_name(180, labelFontSize=name_size(len(names)))),
        tooltip=["class:N", alt.Tooltip("rows:Q", format=","), alt.Tooltip("share:Q", format=".1%")],
    )
    size = name_size(len(names))
    counts = bars.mark_text(align="left", dx=4, fontSize=size).encode(text=alt.Text("rows:Q", format=","))
    colour = alt.Color("class:N", scale=colour_scale(names), legend=None)
    height = (30 if len(names) <= 11 else size + 4) * len(names) + 70  # with the axis
    return layered(bars.mark_bar(cornerRadiusEnd=2).encode(color=colour), counts, height=height)


def confusion_chart(confusion: pd.DataFrame) -> alt.LayerChart:
    """How often each true class (down) was given each answer (across), coloured by the share of the true class.

    Parameters
    ----------
    confusion : DataFrame
        Counts, true classes by answers.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import confusion_chart, to_svg
    >>> counts = pd.DataFrame([[8, 2], [1, 9]], index=["no", "yes"], columns=["no", "yes"])
    >>> to_svg(confusion_chart(counts)).startswith("<svg")
    True
    """
    names = distinct(confusion.index)
    counts = confusion.to_numpy()
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    table = pd.DataFrame(
        {
            "true": np.repeat(names, len(names)),
            "answer": np.tile(names, len(names)),
            "rows": counts.ravel(),
            "share": share.ravel(),
        }
    )
    size = name_size(len(names))
    looks: dict[str, Any] = {"limit": 130, "grid": False, "domain": False, "ticks": False, "labelFontSize": size}
    level = max(map(len, names)) * len(names) <= _LEVEL_LETTERS
    across = every_name(labelAngle=0 if level else -45 if len(names) <= MANY else -90, **looks)
    down = every_name(**looks)
    place = {
        "x": alt.X("answer:N", sort=names, title="answer", axis=across, scale=alt.Scale(paddingInner=0.03)),
        "y": alt.Y("true:N", sort=names, title="true class", axis=down, scale=alt.Scale(paddingInner=0.03)),
        "tooltip": [
            alt.Tooltip("true:N", title="true class"),
            "answer:N",
            alt.Tooltip("rows:Q", format=","),
            alt.Tooltip("share:Q", title="of the class", format=".1%"),
        ],
    }
    scale = alt.Scale(domain=[0, 1], range=list(CELLS))
    # All cells take part, so that no class is missing from an axis; what is zero is neither coloured nor printed.
    none, many = alt.datum["rows"] == 0, alt.datum["share"] > 0.5
    seen = alt.when(none).then(alt.value(0)).otherwise(alt.value(1))
    base = alt.Chart(table)
    cells = base.mark_rect(cornerRadius=2 if len(names) <= MANY else 0).encode(
        color=alt.Color("share:Q", scale=scale, legend=None), opacity=seen, **place
    )
    ink = alt.when(many).then(alt.value("white")).otherwise(alt.value("#14253a"))
    letters = 13 if len(names) <= 12 else size
    texts = alt.Chart(table[table["rows"] > 0]).mark_text(fontSize=letters).encode(text="rows:Q", color=ink, **place)
    return layered(cells, texts, height=confusion_height(len(names)))


def confusion_height(n: int) -> int:
    """Of the chart for n classes: every cell has room for its number, and every class for its name."""
    return max(200, min(520, 42 * n + 70), (name_size(n) + 7) * n + 120)


def roc_chart(roc: pd.DataFrame, classes: Iterable[Hashable] | None = None) -> alt.LayerChart:
    """True against false positive rate at every threshold; the dashed diagonal is guessing.

    Parameters
    ----------
    roc : DataFrame
        With `false positive rate`, `true positive rate` and `class`.
    classes : iterable, default=None
        All classes in order, so that each has the colour it has elsewhere; None for those of the table.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import roc_chart, to_svg
    >>> rates = {"false positive rate": [0.0, 0.2, 1.0], "true positive rate": [0.0, 0.9, 1.0]}
    >>> roc = pd.DataFrame(rates | {"class": "yes"})
    >>> to_svg(roc_chart(roc)).startswith("<svg")
    True
    """
    found = list(dict.fromkeys(roc["class"]))
    names = class_names(found if classes is None else classes)
    rows = [row for c in found for row in thinned(np.flatnonzero(roc["class"] == c).tolist(), MOST_CURVE_POINTS)]
    columns = {"false positive rate": "false", "true positive rate": "true", "class": "name"}
    table = roc.iloc[rows].rename(columns=columns).assign(name=lambda t: [names[c] for c in t["name"]])
    axis = alt.Axis(format="~%", tickCount=5)
    scale = alt.Scale(domain=[0, 1])
    x = alt.X("false:Q", title="false positives, share of the other rows", scale=scale, axis=axis)
    y = alt.Y("true:Q", title="true positives, share of the class", scale=scale, axis=axis)
    guess = alt.Chart(pd.DataFrame({"false": [0.0, 1.0], "true": [0.0, 1.0]})).mark_line(
        color=GREY, strokeDash=[4, 3], strokeWidth=1
    )
    curves = (
        alt.Chart(table)
        .mark_line(strokeWidth=2, interpolate="linear", point=alt.OverlayMarkDef(size=14))
        .encode(
            x=x,
            y=y,
            order=alt.Order("step:Q"),
            tooltip=[
                alt.Tooltip("name:N", title="class"),
                alt.Tooltip("false:Q", title="false positives", format=".1%"),
                alt.Tooltip("true:Q", title="true positives", format=".1%"),
            ],
            **palette(list(names.values()), "class", values=[names[c] for c in found]),
        )
        .transform_window(step="row_number()")
    )
    return layered(guess.encode(x=x, y=y), curves, height=320)


def projection_chart(table: pd.DataFrame, classes: Iterable[Hashable] | None = None) -> alt.LayerChart:
    """Samples in the plane of the learned kernel's two leading components; wrong answers wear a ring.

    Of very many rows, and very many wrong answers, some are shown: `map_note` says which.

    Parameters
    ----------
    table : DataFrame
        With `x`, `y`, `class`, `predicted`, `part` ("train" or "test"), `right` and `row`.
    classes : iterable, default=None
        All classes in order, so that each has the colour it has elsewhere; None for those of the table.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import projection_chart, to_svg
    >>> table = pd.DataFrame({"x": [0.0, 1.0], "y": [1.0, 0.0], "class": ["no", "yes"], "predicted": ["no", "no"]})
    >>> table = table.assign(part=["train", "test"], right=[True, False], row=[0, 1])
    >>> to_svg(projection_chart(table)).startswith("<svg")
    True
    """
    names = class_names(chain(table["class"], table["predicted"]) if classes is None else classes)
    domain = list(names.values())
    table = _fewer(table)
    points = pd.DataFrame(
        {
            "x": table["x"],
            "y": table["y"],
            "name": [names[c] for c in table["class"]],
            "part": table["part"],
            "answer": [names[c] for c in table["predicted"]],
            "right": table["right"],
            "row": table["row"],
        }
    )
    place = {
        "x": alt.X("x:Q", title="first component of the learned kernel", axis=alt.Axis(grid=False, tickCount=8)),
        "y": alt.Y("y:Q", title="second component", axis=alt.Axis(grid=False, tickCount=8)),
        "tooltip": [
            alt.Tooltip("row:Q", title="row of the table"),
            alt.Tooltip("part:N", title="used to"),
            alt.Tooltip("name:N", title="class"),
            alt.Tooltip("answer:N"),
            alt.Tooltip("x:Q", format=".3g"),
            alt.Tooltip("y:Q", format=".3g"),
        ],
    }
    legend = alt.Legend(labelLimit=160, **many_names(len(domain)))
    crowded = len(points) > CROWDED
    faint = alt.Opacity("part:N", scale=alt.Scale(domain=["train", "test"], range=[0.3, 0.9]), title="rows")
    spots = (
        alt.Chart(points)
        .mark_point(filled=True, size=18 if crowded else 40)
        .encode(
            color=alt.Color("name:N", scale=colour_scale(domain), sort=domain, title="class", legend=legend),
            shape=alt.Shape("name:N", scale=shape_scale(domain), sort=domain, title="class", legend=legend),
            opacity=faint,
            **place,
        )
    )
    ringed = points.iloc[thinned(np.flatnonzero(~points["right"]).tolist(), MOST_RINGS)]
    many = len(ringed) > CROWDED_RINGS
    wrong = alt.Chart(ringed.assign(ring="wrong answer")).mark_point(
        filled=False, size=50 if many else 110, opacity=0.55 if many else 1
    )
    ring = alt.Stroke("ring:N", scale=alt.Scale(domain=["wrong answer"], range=[RING]), title=None)
    rings = wrong.encode(stroke=ring, strokeWidth=alt.value(1 if many else 1.8), shape=alt.value("circle"), **place)
    return layered(spots, rings, height=420)


def map_note(table: pd.DataFrame) -> str:
    """Which rows and which wrong answers `projection_chart` shows, where it does not show all; else empty."""
    wrong, said = int((~table["right"]).sum()), []
    if len(table) > MOST_POINTS:
        said.append(f"{MOST_POINTS:,} of {len(table):,} rows are shown, evenly chosen")
    if wrong > MOST_RINGS:
        said.append(f"{MOST_RINGS:,} of {wrong:,} wrong answers wear a ring")
    return "; ".join(said) + "." if said else ""


def _fewer(table: pd.DataFrame) -> pd.DataFrame:
    """All wrong answers as far as possible, then as many of the others as a browser draws easily."""
    if len(table) <= MOST_POINTS:
        return table
    wrong, right = (np.flatnonzero(table["right"] == known).tolist() for known in (False, True))
    kept = thinned(wrong, MOST_POINTS // 2)
    return table.iloc[np.sort([*kept, *thinned(right, MOST_POINTS - len(kept))])]
