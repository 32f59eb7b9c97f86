"""How a training went: objective and bound, gap, and the weights, iteration by iteration."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt
import numpy as np
import pandas as pd

from spnmkl.charts.look import (
    COLOURS,
    GREY,
    MOST_COLOURED,
    heaviest,
    layered,
    palette,
    rule,
    thinned,
    unique_names,
)
from spnmkl.solution import METHODS, Record, stretches

Along = Literal["iteration", "seconds"]
BOUNDS = {"objective P": "objective", "lower bound D": "dual_bound"}
MOST_RECORDS = 200
MOST_GREY = 60
_SMALLEST_GAP = 1e-8  # what is below is rounding, and would stretch the axis
_TITLES = {"iteration": "iteration", "seconds": "time in seconds"}


def convergence_chart(records: Sequence[Record], tol: float | None = None, by: Along = "iteration") -> alt.LayerChart:
    """Objective and lower bound closing in on the optimum, and below them the relative gap on a log scale.

    A thin line stands where another method took over. Of evidence weights the log evidence is drawn alone.

    Parameters
    ----------
    records : sequence of Record
        One for each outer iteration, as the callback of `solve` gets them.
    tol : float, default=None
        The gap to reach, drawn as a dashed line.
    by : {"iteration", "seconds"}, default="iteration"
        What stands on the x axis.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> from spnmkl.charts import convergence_chart, to_svg
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y)
    >>> to_svg(convergence_chart(model.history_, tol=model.tol)).startswith("<svg")
    True
    """
    if records and records[-1].method == "evidence":
        return _evidence_lines(records, by)
    changes = _changes(records, by)
    records = thinned(records, MOST_RECORDS)
    parts = [_told(records, by, name, [getattr(r, key) for r in records]) for name, key in BOUNDS.items()]
    # Two bands of one view, since Streamlit cannot fit charts above each other into a column.
    upper = alt.Scale(zero=False, nice=False, range=_band(0.56, 0.02))
    bounds = _lines(pd.concat(parts, ignore_index=True), by, list(BOUNDS), None, orient="top").encode(
        y=alt.Y("value:Q", title="objective", scale=upper, axis=_left(tickCount=5)), tooltip=_tooltip(by, told=True)
    )
    gaps = _told(records, by, "gap", _gaps(records))
    gap = _gap_lines(gaps, by, None, tol, range=_band(1.0, 0.66))
    return layered(*changes, bounds, gap, height=400).resolve_scale(y="independent")


def _evidence_lines(records: Sequence[Record], by: Along) -> alt.LayerChart:
    """The log evidence of the best point of every start, step by step."""
    thin = thinned(records, MOST_RECORDS)
    table = _table(thin, by, "log evidence", [-r.objective for r in thin])
    y = alt.Y("value:Q", title="log evidence", scale=alt.Scale(zero=False, nice=False))
    return layered(_lines(table, by, ["log evidence"], None, orient="top").encode(y=y), height=400)


def compare_convergence_chart(
    runs: Mapping[str, Sequence[Record]], tol: float | None = None, by: Along = "seconds"
) -> alt.LayerChart:
    """The relative gaps of several trainings over each other; unlike objectives, gaps compare across settings.

    Parameters
    ----------
    runs : mapping from name to sequence of Record
        The histories.
    tol : float, default=None
        The gap to reach, drawn as a dashed line.
    by : {"iteration", "seconds"}, default="seconds"
        What stands on the x axis.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> from spnmkl.charts import compare_convergence_chart, to_svg
    >>> X, y = load_wine(return_X_y=True)
    >>> models = [SPNMKLClassifier(solver=solver).fit(X / X.std(axis=0), y) for solver in ("newton", "interior")]
    >>> runs = {model.solver: model.history_ for model in models}
    >>> to_svg(compare_convergence_chart(runs)).startswith("<svg")
    True
    """
    names = unique_names(runs, {})
    parts = [_told(thin, by, names[run], _gaps(thin)) for run, thin in _thinned(runs).items()]
    return _gap_lines(pd.concat(parts, ignore_index=True), by, list(names.values()), tol).properties(height=280)


def weights_chart(records: Sequence[Record], names: Mapping[str, str], by: Along = "iteration") -> alt.LayerChart:
    """The weight of every product over the training: the twelve heaviest in colour, others in grey.

    Parameters
    ----------
    records : sequence of Record
        One for each outer iteration.
    names : mapping from product to text
        What the products are called; one that is missing is called by its id.
    by : {"iteration", "seconds"}, default="iteration"
        What stands on the x axis.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import SPNMKLClassifier
    >>> from spnmkl.charts import to_svg, weights_chart
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SPNMKLClassifier(C=1.0, weights="certified").fit(X, y)
    >>> to_svg(weights_chart(model.history_, model.spn_.names)).startswith("<svg")
    True
    """
    records = thinned(records, MOST_RECORDS)
    last = records[-1].beta if records else {}
    order = heaviest(last, MOST_COLOURED + MOST_GREY)
    titles = unique_names(order, names)
    parts = [_table(records, by, titles[v], [r.beta.get(v, np.nan) for r in records]) for v in order]
    table = pd.concat([_table([], by, "", []), *parts], ignore_index=True)
    coloured = [titles[v] for v in order[:MOST_COLOURED]]
    y = alt.Y("value:Q", title="weight β", scale=alt.Scale(zero=True))
    front = table[table["name"].isin(coloured)]
    rest = table[~table["name"].isin(coloured)]
    layers = [_lines(front, by, coloured, "weight").encode(y=y)]
    if len(rest):
        grey = alt.Chart(rest).mark_line(color=GREY, strokeWidth=1, opacity=0.5)
        layers.insert(0, grey.encode(x=_along(by), y=y, detail="name:N", tooltip=_tooltip(by)))
    return layered(*layers, height=300)


def _thinned(runs: Mapping[str, Sequence[Record]]) -> dict[str, list[Record]]:
    return {run: thinned(records, MOST_RECORDS) for run, records in runs.items()}


def _table(records: Sequence[Record], by: Along, name: str, values: Sequence[float]) -> pd.DataFrame:
    """One line of a chart, without what is not finite."""
    table = pd.DataFrame(
        {by: [getattr(r, by) for r in records], "name": name, "value": np.asarray(values, dtype=float)}
    )
    return table[np.isfinite(table["value"])]


def _told(records: Sequence[Record], by: Along, name: str, values: Sequence[float]) -> pd.DataFrame:
    """A line whose points tell the method that made them."""
    table = _table(records, by, name, values)
    return table.assign(method=[METHODS.get(records[k].method, records[k].method) for k in table.index])


def _changes(records: Sequence[Record], by: Along) -> list[alt.LayerChart]:
    """A thin line at the first point of every method but the first."""
    middle = (getattr(records[0], by) + getattr(records[-1], by)) / 2 if records else 0.0
    first = {record.iteration: getattr(record, by) for record in records}
    return [
        rule(
            alt.XDatum(first[iteration]),
            f"{METHODS.get(method, method)} from here",
            dash=(1, 3),
            row=row,
            before=first[iteration] > middle,
        )
        for row, (iteration, method) in enumerate(stretches(records)[1:])
    ]


def _gaps(records: Sequence[Record]) -> list[float]:
    return [max(record.gap, _SMALLEST_GAP) for record in records]


def _along(by: Along) -> alt.X:
    if by == "seconds":
        return alt.X("seconds:Q", title=_TITLES[by], axis=alt.Axis(grid=False, tickCount=6), scale=alt.Scale(zero=True))
    axis = alt.Axis(grid=False, tickMinStep=1, tickCount=8, format="d")
    return alt.X("iteration:Q", title=_TITLES[by], axis=axis, scale=alt.Scale(nice=False, zero=False))


def _tooltip(by: Along, format: str = ".6g", told: bool = False) -> list[alt.Tooltip]:
    along = alt.Tooltip(f"{by}:Q", title=_TITLES[by], format="d" if by == "iteration" else ".2f")
    method = [alt.Tooltip("method:N")] if told else []
    return [alt.Tooltip("name:N", title="line"), along, alt.Tooltip("value:Q", format=format), *method]


def _lines(table: pd.DataFrame, by: Along, domain: Sequence[str], title: str | None, **legend: str) -> alt.Chart:
    """Lines with points to hover over, which are left out where they would touch."""
    point = alt.OverlayMarkDef(size=22, filled=True) if table[by].nunique() <= 60 else False
    mark = alt.Chart(table).mark_line(point=point, strokeWidth=2)
    return mark.encode(x=_along(by), tooltip=_tooltip(by), **palette(domain, title, **legend))


def _gap_lines(
    table: pd.DataFrame, by: Along, names: Sequence[str] | None, tol: float | None, **scale: Any
) -> alt.LayerChart:
    """Gaps on a log scale; without names it is one line."""
    values = [*table["value"], *([tol] if tol else [])] or [1.0]
    low = math.floor(math.log10(min(values)))
    high = max(math.ceil(math.log10(max(values))), low + 1)
    logarithmic = alt.Scale(type="log", domain=[10.0**low, 10.0**high], nice=False, **scale)
    # Whole powers of ten, so that every tick has a label that can be read.
    axis = _left(values=[10.0**k for k in range(low, high + 1)], format="~%")
    y = alt.Y("value:Q", title="relative gap", scale=logarithmic, axis=axis)
    lines = _lines(table, by, names or ["gap"], "run").encode(y=y, tooltip=_tooltip(by, ".3~%", told=True))
    if names is None:
        lines = lines.encode(color=alt.value(COLOURS[2]), strokeDash=alt.value([1, 0]))
    if tol is None:
        return layered(lines)
    return layered(lines, rule(alt.YDatum(tol, scale=logarithmic), f"tolerance {100 * tol:.3g}%"))


def _band(bottom: float, top: float) -> list[alt.ExprRef]:
    """A part of the height, as the range of a scale."""
    return [alt.ExprRef(f"height * {share}") for share in (bottom, top)]


def _left(**looks: Any) -> alt.Axis:
    return alt.Axis(orient="left", offset=0, **looks)
