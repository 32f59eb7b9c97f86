"""What carries the decision: rankings, kernel matrices, and the pushes on one sample."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from spnmkl.charts.look import COLOURS, GREY, class_names, every_name, layered, name_size, unique_names

MOST_BARS = 30
MOST_RANKED = 20
SIDE = 400
_LEVEL_LETTERS = 56  # in all, that fit above the matrix side by side
# From low to high, even in lightness (a few stops of viridis).
STOPS = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")


def heatmap_chart(image: ArrayLike, boundaries: Sequence[float], classes: Iterable[Hashable]) -> alt.LayerChart:
    """A kernel matrix sorted by class, with lines between the classes and the mean of every block on hover.

    The cells are one picture of indexed colours, not marks: a 300×300 matrix takes some 50 kB instead of 90,000 rows
    of data, and is drawn at once. Square: show it at its own width. The diagonal, every row with itself, has no part in
    the scale of colours, of which it would take the most.

    Parameters
    ----------
    image : array-like of shape (cells, cells)
        The values, rows sorted by class.
    boundaries : sequence of float
        Where each class ends, in cells; the last is the number of cells.
    classes : iterable
        The classes in the order of the rows.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.charts import heatmap_chart, to_svg
    >>> to_svg(heatmap_chart(np.eye(4), [2, 4], ["no", "yes"])).startswith("<svg")
    True
    """
    cells = np.asarray(image, dtype=float)
    low, high = _reach(cells)
    size = len(cells)
    scale = alt.Scale(domain=[0, size], nice=False, zero=False)
    picture = pd.DataFrame({"url": [_data_url(cells, low, high)], "start": [0], "end": [size]})
    flipped = alt.Scale(domain=[size, 0], nice=False, zero=False)
    matrix = (
        alt.Chart(picture)
        .mark_image(aspect=False, smooth=False)
        .encode(
            x=alt.X("start:Q", scale=scale, axis=None),
            x2="end:Q",
            y=alt.Y("start:Q", scale=flipped, axis=None),
            y2="end:Q",
            url="url:N",
        )
    )
    blocks = _blocks(cells, [0, *boundaries], list(class_names(classes).values()))
    frames = (
        alt.Chart(blocks)
        .mark_rect(fillOpacity=0, stroke="white", strokeWidth=1)
        .encode(
            x=alt.X("left:Q", scale=scale),
            x2="right:Q",
            y=alt.Y("top:Q", scale=flipped),
            y2="bottom:Q",
            fill=alt.Fill(
                "mean:Q",
                scale=alt.Scale(domain=[low, high if high > low else low + 1], range=list(STOPS), interpolate="rgb"),
                legend=alt.Legend(
                    title="kernel value",
                    orient="bottom",
                    direction="horizontal",
                    gradientOpacity=1,
                    gradientLength=SIDE // 2,
                    format=".2~g",
                ),
            ),
            tooltip=[
                alt.Tooltip("row:N", title="class down"),
                alt.Tooltip("column:N", title="class across"),
                alt.Tooltip("mean:Q", title="mean value", format=".4g"),
            ],
        )
    )
    edges = blocks[blocks["row"] == blocks["column"]].assign(
        middle=lambda t: (t["left"] + t["right"]) / 2, words=lambda t: t["row"]
    )
    beside, letters = alt.Chart(edges), name_size(len(edges))
    left = beside.mark_text(fontSize=letters, limit=110, align="right", dx=-6).encode(
        y=alt.Y("middle:Q", scale=flipped), x=alt.value(0), text="words:N"
    )
    # Across, where there is room for them; upright, where there is none.
    level = max(map(len, edges["words"])) * len(edges) <= _LEVEL_LETTERS
    turned: dict[str, Any] = {"dy": -9} if level else {"angle": 270, "align": "left", "dx": 5}
    above = beside.mark_text(fontSize=letters, limit=110, **turned).encode(
        x=alt.X("middle:Q", scale=scale), y=alt.value(0), text="words:N"
    )
    return layered(matrix, frames, left, above, width=SIDE, height=SIDE, autosize="pad")


def ranking_chart(ranking: pd.DataFrame, kind: str = "view", most: int = MOST_RANKED) -> alt.LayerChart:
    """Views or kernels by their held-out share with its standard error; where none are known, by weight.

    Parameters
    ----------
    ranking : DataFrame
        With `kind`, `id`, `name`, `held-out share`, `standard error`, `part of Σg`, and after a cross-validation
        `Σg ± over folds`. Weights are shown only where no held-out share is known: they are no importance.
    kind : {"view", "kernel"}, default="view"
        Which of the rows to show.
    most : int, default=20
        The most to show.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import ranking_chart, to_svg
    >>> ranking = pd.DataFrame({"kind": "view", "id": ["a", "b"], "name": ["A", "B"], "part of Σg": [0.6, 0.4]})
    >>> ranking = ranking.assign(**{"held-out share": [0.9, 0.1], "standard error": [0.05, 0.05]})
    >>> to_svg(ranking_chart(ranking)).startswith("<svg")
    True
    """
    measured = bool(ranking["held-out share"].notna().any())
    table = ranking[ranking["kind"] == kind].head(most)
    titles = unique_names(table["id"], dict(zip(table["id"], table["name"], strict=True)))
    value, spread = ("held-out share", "standard error") if measured else ("part of Σg", "Σg ± over folds")
    share = table[value].to_numpy(dtype=float)
    error = np.nan_to_num(table[spread].to_numpy(dtype=float)) if spread in table else np.zeros(len(table))
    bars = pd.DataFrame(
        {"name": list(titles.values()), "share": share, "error": error, "low": share - error, "high": share + error}
    )
    if not measured:
        bars = bars.assign(low=bars["low"].clip(0, 1), high=bars["high"].clip(0, 1))
    what = "held-out share" if measured else "part of the path weights"
    tooltip = [alt.Tooltip("name:N", title=kind), alt.Tooltip("share:Q", title=what, format=".1%")]
    tooltip += [alt.Tooltip("error:Q", title="± over folds" if not measured else "± standard error", format=".1%")]
    some = bool(error.any())
    title = f"{what}, ± {'standard error' if measured else 'spread over folds'}" if some else what
    base = alt.Chart(bars).encode(
        y=alt.Y("name:N", sort=list(titles.values()), title=None, axis=every_name(240)), tooltip=tooltip
    )
    low, high = float(np.nanmin([0.0, *bars["low"]])), float(np.nanmax([0.0, *bars["high"]]))
    scale = alt.Scale(domain=[1.05 * low, 1.05 * high or 1.0], nice=False)
    x = alt.X("share:Q", title=title, scale=scale, axis=alt.Axis(format="~%", tickCount=6))
    layers = [base.mark_bar(color=COLOURS[0], opacity=0.75, cornerRadiusEnd=2).encode(x=x)]
    if some:
        layers.append(base.mark_rule(color=COLOURS[1], strokeWidth=2).encode(x=alt.X("low:Q"), x2="high:Q"))
    return layered(*layers, height=26 * len(bars) + 90)


def pushes_chart(
    pushes: pd.DataFrame, classes: Iterable[Hashable], of: Hashable | None = None, most: int = MOST_BARS
) -> alt.Chart:
    """What pushed one sample towards a class (to the right) and away from it (to the left).

    Parameters
    ----------
    pushes : DataFrame
        With `what`, `class` and `push`; the pushes towards a class add up to its decision.
    classes : iterable
        All classes in order. With two, each bar has the colour of the class that it pushes to.
    of : hashable, default=None
        The class to show; None for the last.
    most : int, default=30
        The most bars to show.

    Returns
    -------
    altair.Chart
        The chart.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.charts import pushes_chart, to_svg
    >>> pushes = pd.DataFrame({"what": ["size", "colour"], "class": "yes", "push": [0.8, -0.3]})
    >>> to_svg(pushes_chart(pushes, ["no", "yes"])).startswith("<svg")
    True
    """
    classes = list(classes)
    of = classes[-1] if of is None else of
    table = pushes[pushes["class"] == of].head(most)
    whats = {str(k): what for k, what in enumerate(table["what"], 1)}
    titles = list(unique_names(whats, whats).values())
    names = list(class_names(classes).values())
    k = classes.index(of)
    away = names[1 - k] if len(names) == 2 else "away from it"
    bars = pd.DataFrame({"what": titles, "push": table["push"].to_numpy(dtype=float)})
    bars["side"] = np.where(bars["push"] > 0, names[k], away)
    colours = [COLOURS[k % len(COLOURS)], COLOURS[1 - k] if len(names) == 2 else GREY]
    return (
        alt.Chart(bars)
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            x=alt.X("push:Q", title=f"push towards {names[k]}", axis=alt.Axis(tickCount=7)),
            y=alt.Y("what:N", sort=titles, title=None, axis=every_name(300)),
            color=alt.Color(
                "side:N",
                scale=alt.Scale(domain=[names[k], away], range=colours),
                title="pushes to",
                legend=alt.Legend(orient="top"),
            ),
            tooltip=[
                alt.Tooltip("what:N", title="path"),
                alt.Tooltip("push:Q", format="+.4f"),
                alt.Tooltip("side:N", title="to"),
            ],
        )
        .properties(height=24 * len(bars) + 120)
    )


def _blocks(cells: NDArray[np.float64], edges: Sequence[float], names: Sequence[str]) -> pd.DataFrame:
    """Every pair of classes with its place and its mean, over the cells whose middle lies in it."""
    ends = np.asarray(edges, dtype=float)
    owner = np.searchsorted(ends[1:-1], np.arange(len(cells)) + 0.5, side="right")
    rows = []
    for i, row in enumerate(names):
        for j, column in enumerate(names):
            block = cells[np.ix_(owner == i, owner == j)]
            # Beside the diagonal; of a class of one cell that is all there is.
            beside = block[~np.eye(len(block), dtype=bool)] if i == j and len(block) > 1 else block
            mean = float(beside.mean()) if beside.size else None
            place = {"top": ends[i], "bottom": ends[i + 1], "left": ends[j], "right": ends[j + 1]}
            rows.append({"row": row, "column": column, "mean": mean, **place})
    return pd.DataFrame(rows)


def _reach(cells: NDArray[np.float64]) -> tuple[float, float]:
    """The lowest and the highest value beside the diagonal."""
    others = cells[~np.eye(len(cells), dtype=bool)]
    others = others[np.isfinite(others)] if np.isfinite(others).any() else cells[np.isfinite(cells)]
    return (float(others.min()), float(others.max())) if others.size else (0.0, 1.0)


def _data_url(cells: NDArray[np.float64], low: float, high: float) -> str:
    shares = np.nan_to_num((cells - low) / (high - low)).clip(0, 1) if high > low else np.zeros_like(cells)
    return "data:image/png;base64," + base64.b64encode(_png((255 * shares).round().astype(np.uint8))).decode()


def _png(indices: NDArray[np.uint8]) -> bytes:
    """A picture of 256 indexed colours from low to high."""
    stops = np.array([[int(stop[k : k + 2], 16) for k in (1, 3, 5)] for stop in STOPS])
    at = np.linspace(0, 1, len(stops))
    colours = np.column_stack([np.interp(np.linspace(0, 1, 256), at, channel) for channel in stops.T])
    height, width = indices.shape
    lines = np.column_stack([np.zeros(height, dtype=np.uint8), indices])  # each line says first that it is unfiltered
    parts = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
        (b"PLTE", colours.round().astype(np.uint8).tobytes()),
        (b"IDAT", zlib.compress(lines.tobytes(), 6)),
        (b"IEND", b""),
    )
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)) for kind, body in parts
    )
