"""What views and columns are worth on rows that were not trained on: dots with their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from spnmkl.charts.look import COLOURS, INK, every_name, layered, unique_names
from spnmkl.wording import whole_percent

KINDS = {"alone": "alone", "without": "all without it"}
TOGETHER = "all together"
AROUND = 125  # pixels of the legend, the axis and its title, which a chart's height includes
MARGIN = 0.06  # of the reach, left free at both ends
SHOWN, NOT_SHOWN = "shown", "not shown"
NO_ENDS = "95 % intervals need three folds or more"


def importance_chart(
    table: pd.DataFrame,
    full: Sequence[float],
    guessing: float,
    *,
    title: str = "accuracy",
    percent: bool = True,
    grey: bool = False,
) -> alt.LayerChart:
    """Every view alone, and all without it, with 95 % intervals; a line at all together, with a band for its interval.

    Parameters
    ----------
    table : DataFrame
        As `ViewImportance.table` has it.
    full : sequence of float
        The score of all together, and the ends of its interval.
    guessing : float
        Where the dotted line of guessing stands.
    title : str, default="accuracy"
        What was measured.
    percent : bool, default=True
        Whether scores are written in percent.
    grey : bool, default=False
        Without colours, for print.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import importance_chart, to_svg
    >>> table = pd.DataFrame({"view": ["blood", "scan"], "alone": [0.72, 0.7], "without": [0.7, 0.73]})
    >>> for name, low, high in (("alone", 0.68, 0.76), ("without", 0.66, 0.77)):
    ...     table[f"{name}_low"], table[f"{name}_high"] = low, high
    >>> table["share"] = [0.6, 0.4]
    >>> to_svg(importance_chart(table, (0.76, 0.72, 0.8), 0.5)).startswith("<svg")
    True
    """
    points = _points(table)
    names = list(dict.fromkeys(points["name"]))
    reach = _reach([*points["low"], *points["high"], *points["score"], *full, guessing])
    axis = alt.Axis(format="~%" if percent else ".2~f", tickCount=6)
    number = ".1%" if percent else ".3f"
    words = [f"{title} on rows not trained on, with 95 % intervals"]
    if points["low"].isna().all():
        words = [f"{title} on rows not trained on; {NO_ENDS}"]
    x = alt.X("score:Q", scale=reach, axis=axis, title=words)
    y = alt.Y("name:N", sort=names, title=None, axis=every_name(230, ticks=False, domain=False, grid=False))
    kinds = list(KINDS.values())
    base = alt.Chart(points).encode(
        y=y,
        yOffset=alt.YOffset("kind:N", sort=kinds, scale=alt.Scale(domain=kinds, paddingOuter=0.3)),
        color=_colours(kinds, grey),
        tooltip=[
            alt.Tooltip("name:N", title="view"),
            alt.Tooltip("kind:N", title="score of"),
            alt.Tooltip("score:Q", title=title, format=number),
            alt.Tooltip("low:Q", title="95 % interval from", format=number),
            alt.Tooltip("high:Q", title="to", format=number),
            alt.Tooltip("of:N", title="interval"),
            alt.Tooltip("share:N", title="held-out share"),
        ],
    )
    shapes = alt.Scale(domain=kinds, range=["circle", "diamond"])
    fills = alt.Scale(domain=kinds, range=[1.0, 0.0])
    dots = base.mark_point(size=80, strokeWidth=2, opacity=1, filled=False).encode(
        x=x,
        shape=alt.Shape("kind:N", scale=shapes, sort=kinds, legend=_legend()),
        fill=_colours(kinds, grey, alt.Fill),
        fillOpacity=alt.FillOpacity("kind:N", scale=fills, sort=kinds, legend=_legend()),
    )
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=reach, axis=axis), x2="high:Q")
    shares = alt.Chart(points.drop_duplicates("name")).mark_text(align="left", dx=8, fontSize=12)
    layers = [*_lines(full, guessing, reach, grey), spans.transform_filter("isValid(datum.low)"), dots]
    if table["share"].notna().any():
        layers.append(shares.encode(y=y, x=alt.value("width"), text="share:N"))
    return layered(*layers, height=44 * len(names) + AROUND)


def columns_chart(
    table: pd.DataFrame, *, title: str = "accuracy", percent: bool = True, grey: bool = False
) -> alt.LayerChart:
    """The part of the decision that is lost where columns stand in the wrong rows, with 95 % intervals.

    Parameters
    ----------
    table : DataFrame
        As `ColumnImportance.table` has it.
    title : str, default="accuracy"
        What `drop` is of, for the tooltip.
    percent : bool, default=True
        Whether scores are written in percent.
    grey : bool, default=False
        Without colours, for print.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import columns_chart, to_svg
    >>> table = pd.DataFrame({"columns": ["iron"], "n_columns": [1], "drop": [0.1], "margin": [0.4]})
    >>> table["margin_low"], table["margin_high"], table["p_adjusted"] = 0.2, 0.6, 0.001
    >>> to_svg(columns_chart(table)).startswith("<svg")
    True
    """
    names = list(unique_names(table["columns"], {}).values())
    rows = table[["n_columns", "drop", "margin", "margin_low", "margin_high", "p_adjusted"]].assign(name=names)
    rows["kind"] = [
        SHOWN if p < 0.05 and part > 0 and not low <= 0 else NOT_SHOWN
        for p, part, low in zip(rows["p_adjusted"], rows["margin"], rows["margin_low"], strict=True)
    ]
    reach = _reach([0.0, *rows["margin"], *rows["margin_low"], *rows["margin_high"]])
    words = ["part of the decision on rows not trained on that is lost", "where these columns stand in the wrong rows"]
    words.append("filled: shown by more than chance, given how many were looked at")
    axis = alt.Axis(format="~%", tickCount=6)
    base = alt.Chart(rows).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=every_name(260, ticks=False, domain=False, grid=False)),
        tooltip=[
            alt.Tooltip("name:N", title="columns"),
            alt.Tooltip("n_columns:Q", title="how many"),
            alt.Tooltip("margin:Q", title="part of the decision", format=".1%"),
            alt.Tooltip("margin_low:Q", title="95 % interval from", format=".1%"),
            alt.Tooltip("margin_high:Q", title="to", format=".1%"),
            alt.Tooltip("drop:Q", title=f"loss of {title}", format=".1%" if percent else ".3f"),
            alt.Tooltip("p_adjusted:Q", title="p, adjusted for all columns", format=".2g"),
        ],
    )
    colour = "#000000" if grey else COLOURS[0]
    x = alt.X("margin:Q", scale=reach, axis=axis, title=words)
    spans = base.mark_rule(strokeWidth=2, color=colour).encode(
        x=alt.X("margin_low:Q", scale=reach, axis=axis, title=words), x2="margin_high:Q"
    )
    fills = alt.Scale(domain=[SHOWN, NOT_SHOWN], range=[1.0, 0.0])
    dots = base.mark_point(size=80, opacity=1, strokeWidth=2, stroke=colour, fill=colour).encode(
        x=x, fillOpacity=alt.FillOpacity("kind:N", scale=fills, legend=None)
    )
    zero = alt.Chart(pd.DataFrame({"at": [0.0]})).mark_rule(color=INK, strokeDash=[4, 3])
    layers = [zero.encode(x=alt.X("at:Q", scale=reach)), spans.transform_filter("isValid(datum.margin_low)"), dots]
    return layered(*layers, height=24 * len(names) + AROUND)


def _points(table: pd.DataFrame) -> pd.DataFrame:
    """One row per view and kind."""
    names = list(unique_names(table["view"], {}).values())
    shares = [_share_text(share) for share in table["share"]]
    parts = [
        pd.DataFrame(
            {
                "name": names,
                "kind": title,
                "score": table[kind].to_numpy(),
                "low": table[f"{kind}_low"].to_numpy(),
                "high": table[f"{kind}_high"].to_numpy(),
                "of": ["of the number of rows" if of_rows else "over folds" for of_rows in _by_rows(table, kind)],
                "share": shares,
            }
        )
        for kind, title in KINDS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def _by_rows(table: pd.DataFrame, kind: str) -> list[bool]:
    known = table.get(f"{kind}_by_rows")
    return [False] * len(table) if known is None else known.tolist()


def _share_text(share: float) -> str:
    return "" if math.isnan(share) else f"{whole_percent(share)} of the decision"


def _colours(kinds: list[str], grey: bool, channel: Any = alt.Color) -> Any:
    colours = ["#000000", "#595959"] if grey else [COLOURS[0], COLOURS[4]]
    return channel("kind:N", scale=alt.Scale(domain=kinds, range=colours), sort=kinds, legend=_legend())


def _legend() -> alt.Legend:
    return alt.Legend(title=None, orient="top", symbolSize=80)


def _lines(full: Sequence[float], guessing: float, reach: alt.Scale, grey: bool) -> list[alt.Chart]:
    """A band and a dashed line at all together, a dotted line at guessing, each with its words above."""
    colour = "#000000" if grey else COLOURS[2]
    mean, low, high = full
    layers = []
    if math.isfinite(low):
        band = alt.Chart(pd.DataFrame({"low": [low], "high": [high]})).mark_rect(color=colour, opacity=0.1)
        layers.append(band.encode(x=alt.X("low:Q", scale=reach), x2="high:Q"))
    marks = ((mean, TOGETHER, colour, [6, 3]), (guessing, "guessing", INK, [2, 3]))
    for at, words, ink, dash in marks:
        if math.isfinite(at):
            base = alt.Chart(pd.DataFrame({"at": [at], "words": [words]}))
            where = alt.X("at:Q", scale=reach)
            layers.append(base.mark_rule(color=ink, strokeDash=dash, strokeWidth=1.5).encode(x=where))
            text = base.mark_text(fontSize=11, baseline="bottom", dy=-3)
            layers.append(text.encode(x=where, y=alt.value(0), text="words:N"))
    return layers


def _reach(values: Sequence[float]) -> alt.Scale:
    known = [value for value in values if math.isfinite(value)] or [0.0, 1.0]
    room = MARGIN * max(max(known) - min(known), 0.02)
    return alt.Scale(domain=[min(known) - room, max(known) + room], nice=False, zero=False)
