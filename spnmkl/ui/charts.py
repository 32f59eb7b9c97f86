"""Charts: all in Altair, sized by their container, in the app's own theme."""

from __future__ import annotations

import altair as alt
import pandas as pd

BAR = "#4c8bf5"


def class_balance_chart(balance: pd.DataFrame) -> alt.Chart:
    """Rows per class, as bars with their counts."""
    bars = alt.Chart(balance).encode(
        x=alt.X("rows:Q", title="rows"),
        y=alt.Y("class:N", sort="-x", title=None, axis=alt.Axis(labelLimit=180)),
        tooltip=["class:N", "rows:Q", alt.Tooltip("share:Q", format=".1%")],
    )
    height = min(400, 30 * len(balance) + 70)  # with the axis
    return (bars.mark_bar(color=BAR) + bars.mark_text(align="left", dx=4).encode(text="rows:Q")).properties(
        height=height
    )
