"""Several trainings beside each other."""

from __future__ import annotations

import altair as alt
import pandas as pd

from spnmkl.charts.look import COLOURS, INK, colour_scale, layered, unique_names


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
        y=alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=220)),
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
