"""Tables of results as Markdown, and charts as files."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd

from spnmkl.charts.files import AnyChart, to_svg


def write_chart(chart: AnyChart, path: Path) -> None:
    path.write_text(to_svg(chart), encoding="utf-8")


def decades(values: Iterable[float]) -> alt.Axis:
    """Whole powers of ten, so that every tick can be read."""
    found = [value for value in values if value > 0]
    low, high = math.floor(math.log10(min(found))), math.ceil(math.log10(max(found)))
    return alt.Axis(values=[10.0**k for k in range(low, high + 1)], format=".0e" if low < -3 else "~g")


def spread(table: pd.DataFrame, column: str, order: list[str]) -> pd.DataFrame:
    """Per set and method 'mean ± standard error' in %, the best mean of a set in bold.

    A mean of fewer values than the set has most is followed by their number, and not compared.
    """
    groups = table.groupby(["set", "method"], sort=False)[column]
    means, errors = (100 * frame.unstack("method") for frame in (groups.mean(), groups.sem()))
    counts = groups.count().unstack("method")
    best = means.where(counts.eq(counts.max(axis=1), axis=0)).max(axis=1)

    def told(name: str, method: str) -> str:
        mean, error, count = means.loc[name, method], errors.loc[name, method], counts.loc[name, method]
        if np.isnan(mean):
            return ""
        text = f"{mean:.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")
        if count < counts.loc[name].max():
            return f"{text} ({count:.0f})"
        return f"**{text}**" if round(mean, 9) == round(best[name], 9) else text

    return pd.DataFrame({m: {name: told(name, m) for name in means.index} for m in order})


def markdown(table: pd.DataFrame, corner: str) -> list[str]:
    head = [corner, *map(str, table.columns)]
    rows = [[str(index), *map(str, row)] for index, row in zip(table.index, table.to_numpy(), strict=True)]
    return [f"| {' | '.join(row)} |" for row in (head, ["---", *["---:"] * len(table.columns)], *rows)]
