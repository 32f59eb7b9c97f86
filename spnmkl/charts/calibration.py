"""Whether probabilities can be believed: how often what was said came true."""

from __future__ import annotations

import altair as alt
import pandas as pd

from spnmkl.charts.look import COLOURS, GREY, layered


def reliability_chart(table: pd.DataFrame, title: str = "probability given") -> alt.LayerChart:
    """How often an answer was right against the probability it was given; on the dashed diagonal they agree.

    Parameters
    ----------
    table : DataFrame
        With `predicted` (mean probability), `observed` (share that came true), its interval `low` and `high`, and
        `rows`, for rows of similar probability.
    title : str, default="probability given"
        What the probabilities are of.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import reliability_chart, to_svg
    >>> table = pd.DataFrame({"predicted": [0.2, 0.8], "observed": [0.3, 0.7], "low": [0.1, 0.5], "high": [0.5, 0.9]})
    >>> to_svg(reliability_chart(table.assign(rows=20))).startswith("<svg")
    True
    """
    axis, scale = alt.Axis(format="~%", tickCount=5), alt.Scale(domain=[0, 1])
    x = alt.X("predicted:Q", title=title, scale=scale, axis=axis)
    y = alt.Y("observed:Q", title="came true, share of the rows", scale=scale, axis=axis)
    agree = alt.Chart(pd.DataFrame({"predicted": [0.0, 1.0], "observed": [0.0, 1.0]})).mark_line(
        color=GREY, strokeDash=[4, 3], strokeWidth=1
    )
    base = alt.Chart(table).encode(
        x=x,
        tooltip=[
            alt.Tooltip("predicted:Q", title="probability, mean", format=".1%"),
            alt.Tooltip("observed:Q", title="came true", format=".1%"),
            alt.Tooltip("rows:Q", format=","),
        ],
    )
    bars = base.mark_rule(color=COLOURS[0], strokeWidth=1.5).encode(y=alt.Y("low:Q", title=None), y2="high:Q")
    dots = base.mark_line(color=COLOURS[0], point=alt.OverlayMarkDef(size=60, color=COLOURS[0])).encode(y=y)
    return layered(agree.encode(x=x, y=y), bars, dots, height=320)
