"""What carries the decision: rankings, kernel matrices, and the pushes on one sample."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Hashable, Sequence

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from spnmkl.charts.look import COLOURS, GREY, INK, class_names, shown

MOST_BARS = 30
SIDE = 400
# From low to high, even in lightness (a few stops of viridis).
STOPS = ("#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187", "#4ac16d", "#a0da39", "#fde725")


def heatmap_chart(image: ArrayLike, boundaries: Sequence[float], classes: Sequence[Hashable]) -> alt.LayerChart:
    """A kernel matrix sorted by class, with lines between the classes and the mean of every block on hover.

    The cells are one picture of indexed colours, not marks: a 300×300 matrix takes some 50 kB instead of 90,000 rows
    of data, and is drawn at once. Square: show it at its own width.

    Parameters
    ----------
    image : array of shape (cells, cells)
    boundaries : sequence of float
        Where each class ends, in cells; the last is the number of cells.
    classes : sequence
    """
    cells = np.asarray(image, dtype=float)
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
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
    blocks = _blocks(cells, [0, *boundaries], class_names(classes))
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
                legend=alt.Legend(title="kernel value", gradientOpacity=1, gradientLength=SIDE // 2, format=".2~g"),
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
    beside = alt.Chart(edges)
    left = beside.mark_text(color=INK, fontSize=12, limit=110, align="right", dx=-6).encode(
        y=alt.Y("middle:Q", scale=flipped), x=alt.value(0), text="words:N"
    )
    above = beside.mark_text(color=INK, fontSize=12, limit=SIDE // max(len(edges), 1), dy=-9).encode(
        x=alt.X("middle:Q", scale=scale), y=alt.value(0), text="words:N"
    )
    return alt.layer(matrix, frames, left, above).properties(width=SIDE, height=SIDE, autosize="pad")


def _blocks(cells: NDArray[np.float64], edges: Sequence[float], names: Sequence[str]) -> pd.DataFrame:
    """Every pair of classes with its place and its mean, over the cells whose middle lies in it."""
    ends = np.asarray(edges, dtype=float)
    owner = np.searchsorted(ends[1:-1], np.arange(len(cells)) + 0.5, side="right")
    rows = []
    for i, row in enumerate(names):
        for j, column in enumerate(names):
            block = cells[np.ix_(owner == i, owner == j)]
            mean = float(block.mean()) if block.size else None
            place = {"top": ends[i], "bottom": ends[i + 1], "left": ends[j], "right": ends[j + 1]}
            rows.append({"row": row, "column": column, "mean": mean, **place})
    return pd.DataFrame(rows)


def _data_url(cells: NDArray[np.float64], low: float, high: float) -> str:
    shares = np.nan_to_num((cells - low) / (high - low)) if high > low else np.zeros_like(cells)
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
