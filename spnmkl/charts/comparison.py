"""Several trainings beside each other."""

from __future__ import annotations

import altair as alt
import pandas as pd

from spnmkl.charts.look import (
    COLOURS,
    INK,
    class_names,
    colour_scale,
    every_name,
    layered,
    palette,
    shown,
    unique_names,
)
from spnmkl.measures import SCORINGS

MARKS = {"better": "▲", "worse": "▼"}


def intervals_chart(scores: pd.DataFrame) -> alt.LayerChart:
    """The test accuracy of every run with its interval, and a tick where always answering the majority would be.

    Parameters
    ----------
    scores : DataFrame
        With `run`, `test`, `low`, `high` and `majority`, as `scores_table` gives it.
    """
    names = list(unique_names(scores["run"], {}).values())
    table = scores[["test", "low", "high", "majority"]].assign(name=names)
    least = min(table["low"].min(), table["majority"].min())
    reach = alt.Scale(domain=[max(0.0, least - 0.05), 1.0], nice=False, zero=False)
    base = alt.Chart(table).encode(
        y=alt.Y("name:N", sort=names, title=None, axis=every_name(220)),
        tooltip=[
            alt.Tooltip("name:N", title="run"),
            alt.Tooltip("test:Q", title="test accuracy", format=".1%"),
            alt.Tooltip("low:Q", title="95 % interval from", format=".1%"),
            alt.Tooltip("high:Q", title="to", format=".1%"),
            alt.Tooltip("majority:Q", title="always the majority class", format=".1%"),
        ],
    )
    title = ["test accuracy with its 95 % interval;", "grey: always the majority class"]
    x = alt.X("test:Q", title=title, scale=reach, axis=alt.Axis(format="~%", tickCount=6))
    colour = alt.Color("name:N", scale=colour_scale(names), sort=names, legend=None)
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", scale=reach), x2="high:Q", color=colour)
    points = base.mark_point(filled=True, size=90, opacity=1, color=COLOURS[0]).encode(x=x, color=colour)
    guesses = base.mark_tick(color=INK, thickness=3, size=18).encode(x=alt.X("majority:Q", scale=reach))
    return layered(points, spans, guesses, points, height=34 * len(names) + 90)


def methods_chart(
    summary: pd.DataFrame, reference: str, measure: str = "accuracy", grey: bool = False
) -> alt.LayerChart:
    """Every method's mean over folds with one standard error to both sides, and a line at the reference.

    The error is as `Contest.summary` gives it: with a correction for training parts that overlap, or that of the number
    of rows where `by_rows` says so.

    Parameters
    ----------
    summary : DataFrame
        With `method`, `mean`, `error` and `verdict`; `by_rows` if known.
    reference : str
        The method that others are tested against: a diamond, where they have circles. A triangle up or down marks what
        is better or worse by more than chance.
    measure : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
        What was measured.
    grey : bool, default=False
        Without colours, for print.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import methods_chart, to_svg
    >>> summary = pd.DataFrame({"method": ["mine", "SVM"], "mean": [0.9, 0.8], "error": [0.01, 0.02]})
    >>> summary["verdict"] = ["", "worse"]
    >>> to_svg(methods_chart(summary, "mine")).startswith("<svg")
    True
    """
    table = _methods_table(summary, reference)
    kinds, colours = ["reference", "other"], (["#000000", "#595959"] if grey else [COLOURS[1], COLOURS[0]])
    percent, title = SCORINGS[measure].percent, SCORINGS[measure].title
    number = ".1%" if percent else ".3f"
    reach = _reach(table)
    base = alt.Chart(table).encode(
        y=alt.Y(
            "name:N",
            sort=table["name"].tolist(),
            title=None,
            scale=alt.Scale(type="point", padding=0.7),
            axis=every_name(220, ticks=False, domain=False, grid=False, labelFlush=False),
        ),
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=colours), legend=None),
        tooltip=[
            alt.Tooltip("name:N", title="method"),
            alt.Tooltip("mean:Q", title=f"mean {title}", format=number),
            alt.Tooltip("error:Q", title="standard error", format=number),
            alt.Tooltip("verdict:N", title="against the reference"),
        ],
    )
    axis = alt.Axis(format="~%" if percent else ".3~f", tickCount=6)
    words = [f"{title}: mean over folds ± one standard error, corrected for overlap"]
    if "by_rows" in summary and summary["by_rows"].any():
        words[0] += ", or that of so many rows where larger"
    if table["mark"].any():
        words.append(f"▲ better, ▼ worse than {shown(reference)} by more than chance")
    x = alt.X("mean:Q", title=words, scale=reach, axis=axis)
    shapes = alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=["diamond", "circle"]), legend=None)
    points = base.mark_point(filled=True, size=95, opacity=1).encode(x=x, shape=shapes)
    spans = base.mark_rule(strokeWidth=1.8).encode(x=alt.X("low:Q", scale=reach), x2="high:Q")
    ends = [
        base.mark_tick(thickness=1.8, size=9, opacity=1).encode(x=alt.X(f"{end}:Q", scale=reach))
        for end in ("low", "high")
        if table["error"].any()
    ]
    marks = base.mark_text(align="left", dx=7, fontSize=12).encode(x=alt.X("high:Q", scale=reach), text="mark:N")
    layers = [points, spans, *ends, points, marks]
    own = table.loc[table["kind"] == "reference", "mean"]
    if len(own):
        line = alt.Chart(pd.DataFrame({"at": own.to_numpy()})).mark_rule(color=INK, strokeDash=[4, 3])
        layers.insert(1, line.encode(x=alt.X("at:Q", scale=reach)))
    return layered(*layers, height=26 * len(table) + 60)


def _methods_table(summary: pd.DataFrame, reference: str) -> pd.DataFrame:
    error = summary["error"].fillna(0.0)
    return pd.DataFrame(
        {
            "name": list(unique_names(summary["method"], {}).values()),
            "mean": summary["mean"].to_numpy(),
            "error": summary["error"].to_numpy(),
            "low": (summary["mean"] - error).clip(lower=0.0).to_numpy(),
            "high": (summary["mean"] + error).clip(upper=1.0).to_numpy(),
            "verdict": summary["verdict"].to_numpy(),
            "kind": ["reference" if method == reference else "other" for method in summary["method"]],
            "mark": [MARKS.get(verdict, "") for verdict in summary["verdict"]],
        }
    )


def _reach(table: pd.DataFrame) -> alt.Scale:
    """From the lowest to the highest end of a bar, with room for marks."""
    low, high = float(table["low"].min()), float(table["high"].max())
    spread = max(high - low, 0.02)
    return alt.Scale(domain=[max(0.0, low - 0.06 * spread), high + 0.1 * spread], nice=False, zero=False)


def learning_chart(curve: pd.DataFrame) -> alt.LayerChart:
    """Accuracy against the rows to learn from, with one standard error to both sides; a line for every method.

    Parameters
    ----------
    curve : DataFrame
        With `rows`, `method`, `mean` and `error`.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import learning_chart, to_svg
    >>> curve = pd.DataFrame({"rows": [50, 100], "method": "mine", "mean": [0.8, 0.9], "error": [0.02, 0.01]})
    >>> to_svg(learning_chart(curve)).startswith("<svg")
    True
    """
    error = curve["error"].fillna(0.0)
    table = curve[["rows", "mean", "error"]].assign(
        name=curve["method"].map(class_names(curve["method"])),
        low=(curve["mean"] - error).clip(0, 1),
        high=(curve["mean"] + error).clip(0, 1),
    )
    names = list(dict.fromkeys(table["name"]))
    rows = sorted(set(table["rows"].tolist()))
    base = alt.Chart(table).encode(
        x=alt.X(
            "rows:Q",
            title="rows to learn from",
            scale=alt.Scale(type="log", domain=[0.9 * rows[0], 1.1 * rows[-1]], nice=False),
            axis=alt.Axis(values=rows, grid=False),
        ),
        tooltip=[
            alt.Tooltip("name:N", title="structure"),
            alt.Tooltip("rows:Q", title="rows to learn from"),
            alt.Tooltip("mean:Q", title="mean accuracy", format=".1%"),
            alt.Tooltip("error:Q", title="standard error", format=".1%"),
        ],
    )
    looks = palette(names, None, orient="top")
    y = alt.Y("mean:Q", title="accuracy on other rows", scale=alt.Scale(zero=False), axis=alt.Axis(format="~%"))
    lines = base.mark_line(point=alt.OverlayMarkDef(size=55)).encode(y=y, **looks)
    bars = base.mark_rule(strokeWidth=1.6).encode(y=alt.Y("low:Q"), y2="high:Q", color=looks["color"])
    return layered(lines, bars, height=280)
