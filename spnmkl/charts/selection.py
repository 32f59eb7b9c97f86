"""Choosing C: scores over folds, how stable the weights are, and the regularisation path."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import numpy as np
import pandas as pd

from spnmkl.charts.look import COLOURS, GREY, MOST_COLOURED, every_name, heaviest, layered, palette, rule, unique_names
from spnmkl.measures import SCORINGS
from spnmkl.selection import CrossValidation, RegularizationPath

MOST_SHOWN = 20
MOST_GREY = 60


def cv_chart(result: CrossValidation, chosen: float | None = None) -> alt.LayerChart:
    """The score on held-out folds against C, with one standard error to both sides and the chosen C marked.

    Parameters
    ----------
    result : CrossValidation
        Also one that is still going on.
    chosen : float, default=None
        The C to mark; None for the best of the result.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.charts import cv_chart, to_svg
    >>> from spnmkl.selection import CrossValidation
    >>> result = CrossValidation(np.array([0.1, 1.0]), np.array([[0.7, 0.8], [0.9, 0.8]]), {}, best_C=1.0)
    >>> to_svg(cv_chart(result)).startswith("<svg")
    True
    """
    measure = SCORINGS[result.scoring]
    done = ~np.isnan(result.mean)
    mean, error = result.mean[done], np.nan_to_num(result.standard_error[done])
    table = pd.DataFrame({"C": result.C[done], "mean": mean, "error": error})
    table["low"], table["high"] = np.clip(mean - error, 0, 1), np.clip(mean + error, 0, 1)
    table["folds"] = (~np.isnan(result.scores[done])).sum(axis=1)
    base = alt.Chart(table).encode(
        x=_along_C(),
        tooltip=[
            alt.Tooltip("C:Q", format=".4~g"),
            alt.Tooltip("mean:Q", title=f"mean {measure.title}", format=".2%" if measure.percent else ".4f"),
            alt.Tooltip("error:Q", title="standard error", format=".2%" if measure.percent else ".4f"),
            alt.Tooltip("folds:Q", title="folds done"),
        ],
    )
    title = f"{measure.title} on {result.scores.shape[1]} held-out folds"
    axis = alt.Axis(format="~%" if measure.percent else "~g")
    y = alt.Y("mean:Q", title=title, scale=alt.Scale(zero=False), axis=axis)
    bars = base.mark_rule(color=COLOURS[0], strokeWidth=1.5).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    lines = base.mark_line(color=COLOURS[0], point=alt.OverlayMarkDef(size=45, color=COLOURS[0])).encode(y=y)
    chosen = result.best_C if chosen is None else chosen
    return layered(rule(alt.XDatum(chosen), f"C = {chosen:.3g}"), bars, lines, height=280)


def stability_chart(result: CrossValidation, names: Mapping[str, str], most: int = MOST_SHOWN) -> alt.LayerChart:
    """The weight of every product in each fold at the best C, the mean as a bar; the heaviest products only.

    Parameters
    ----------
    result : CrossValidation
        As `cross_validate_C` gives it.
    names : mapping from product to text
        What the products are called, such as `SPN.names`.
    most : int, default=20
        The most to show.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.charts import stability_chart, to_svg
    >>> from spnmkl.selection import CrossValidation
    >>> scores = np.array([[0.7, 0.8]])
    >>> result = CrossValidation(np.array([1.0]), scores, {"p1": np.array([[0.4, 0.5]])}, best_C=1.0)
    >>> to_svg(stability_chart(result, {"p1": "β₁"})).startswith("<svg")
    True
    """
    k = int(np.argmin(np.abs(result.C - result.best_C)))
    done = ~np.isnan(result.scores[k])
    folds = {v: weights[k][done] for v, weights in result.beta.items()}
    mean = {v: float(weights.mean()) if len(weights) else 0.0 for v, weights in folds.items()}
    order = heaviest(mean, most)
    titles = unique_names(order, names)
    points = pd.DataFrame(
        [
            {"name": titles[v], "fold": fold + 1, "value": float(weight)}
            for v in order
            for fold, weight in zip(np.flatnonzero(done).tolist(), folds[v], strict=True)
        ],
        columns=["name", "fold", "value"],
    )
    summary = pd.DataFrame(
        {
            "name": [titles[v] for v in order],
            "mean": [mean[v] for v in order],
            "kept": [int((folds[v] > 0).sum()) for v in order],
            "folds": int(done.sum()),
        }
    )
    y = alt.Y("name:N", sort=list(titles.values()), title=None, axis=every_name(220, grid=True))
    means = (
        alt.Chart(summary)
        .mark_tick(color=COLOURS[1], thickness=3, size=16, opacity=1)
        .encode(
            x=alt.X(
                "mean:Q", title=["weight β in each fold (points)", "and on average (bars)"], axis=alt.Axis(tickCount=8)
            ),
            y=y,
            tooltip=[
                alt.Tooltip("name:N", title="weight"),
                alt.Tooltip("mean:Q", format=".4g"),
                alt.Tooltip("kept:Q", title="folds that keep it"),
                alt.Tooltip("folds:Q", title="folds"),
            ],
        )
    )
    spots = (
        alt.Chart(points)
        .mark_point(color=COLOURS[0], filled=True, opacity=0.55, size=45)
        .encode(
            x=alt.X("value:Q"),
            y=y,
            tooltip=[alt.Tooltip("name:N", title="weight"), "fold:Q", alt.Tooltip("value:Q", title="β", format=".4g")],
        )
    )
    return layered(spots, means, height=24 * len(order) + 90)


def path_chart(
    path: RegularizationPath, names: Mapping[str, str], chosen: float | None = None, C_min: float | None = None
) -> alt.LayerChart:
    """The weight of every product against C: the twelve heaviest in colour; a click in the legend picks one.

    Parameters
    ----------
    path : RegularizationPath
        As `regularization_path` gives it.
    names : mapping from product to text
        What the products are called, such as `SPN.names`.
    chosen : float, default=None
        The C in use, marked by a line.
    C_min : float, default=None
        Below it every weight is zero; infinite where that is so at any C.

    Returns
    -------
    altair.LayerChart
        The chart.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import regularization_path, templates
    >>> from spnmkl.charts import path_chart, to_svg
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> path = regularization_path(spn, kernels, y, [0.1, 1.0, 10.0])
    >>> to_svg(path_chart(path, spn.names)).startswith("<svg")
    True
    """
    largest = {v: float(weights.max()) for v, weights in path.beta.items()}
    order = heaviest(largest, MOST_COLOURED + MOST_GREY)
    titles = unique_names(order, names)
    table = pd.DataFrame(
        [
            {"name": titles[v], "C": C, "value": weight}
            for v in order
            for C, weight in zip(path.C.tolist(), path.beta[v].tolist(), strict=True)
        ]
    )
    coloured = [titles[v] for v in order[:MOST_COLOURED]]
    y = alt.Y("value:Q", title="weight β", scale=alt.Scale(zero=True))
    tooltip = [
        alt.Tooltip("name:N", title="weight"),
        alt.Tooltip("C:Q", format=".4~g"),
        alt.Tooltip("value:Q", title="β", format=".4g"),
    ]
    picked = alt.selection_point(fields=["name"], bind="legend")
    rest = alt.Chart(table[~table["name"].isin(coloured)]).mark_line(color=GREY, strokeWidth=1, opacity=0.5)
    front = (
        alt.Chart(table[table["name"].isin(coloured)])
        .mark_line(point=alt.OverlayMarkDef(size=22), strokeWidth=2)
        .encode(
            x=_along_C(),
            y=y,
            tooltip=tooltip,
            opacity=alt.when(picked).then(alt.value(1.0)).otherwise(alt.value(0.12)),
            **palette(coloured, "weight"),
        )
        .add_params(picked)
    )
    layers: list[alt.Chart | alt.LayerChart] = [front]
    if len(order) > len(coloured):
        layers.insert(0, rest.encode(x=_along_C(), y=y, detail="name:N", tooltip=tooltip))
    if chosen is not None:
        layers.append(rule(alt.XDatum(chosen), f"C = {chosen:.3g}"))
    if C_min is not None and np.isfinite(C_min):
        layers.append(rule(alt.XDatum(C_min), f"C_min = {C_min:.3g}", dash=(1, 3), row=1))
    return layered(*layers, height=320)


def _along_C() -> alt.X:
    axis = alt.Axis(format="~g", grid=False, tickCount=6)
    return alt.X("C:Q", title="C (log scale)", scale=alt.Scale(type="log", nice=False), axis=axis)
