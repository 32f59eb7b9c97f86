"""What stands in the columns of a dataset, for tables and small pictures."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data.columns import as_text, numeric_columns
from spnmkl.data.dataset import Dataset
from spnmkl.errors import DataError

BARS = 10


def summarize(dataset: Dataset) -> pd.DataFrame:
    """One row for each column of the table.

    Returns
    -------
    DataFrame
        With `column`, `role` ("label", "group", "adjust", "ignored" or "feature"), `view`, `kind` ("number", "text" or
        "empty"), `missing` and `distinct` (counts), `min`, `mean`, `max` (of numbers), and `histogram`: a list of 10
        counts, over equal intervals from min to max for numbers, of the most common values for text.
    """
    frame = dataset.frame
    numeric = list(numeric_columns(frame))
    text = frame.columns.difference(numeric, sort=False)
    parts = [_numbers(frame[numeric]), _texts(frame[list(text)])]
    summary = pd.concat([part for part in parts if len(part)] or parts).loc[list(frame.columns)]
    summary.insert(0, "column", list(frame.columns))
    summary.insert(1, "role", _roles(dataset))
    summary.insert(2, "view", _views(dataset))
    kinds = np.where(frame.columns.isin(text), "text", "number")
    summary.insert(3, "kind", np.where(summary["missing"] == len(frame), "empty", kinds))
    return summary.reset_index(drop=True)


def summarize_views(dataset: Dataset) -> pd.DataFrame:
    """One row for each view: `columns` to learn from, how many are `ignored`, which is only said of any, and examples.

    The label and the group are none to learn from either.
    """
    used = [dataset.feature_views.get(view, ()) for view in dataset.views]
    ignored = [len(all_of) - len(some) for all_of, some in zip(dataset.views.values(), used, strict=True)]
    counts = {"view": list(dataset.views), "columns": [len(columns) for columns in used]}
    examples = [", ".join(columns[:4]) for columns in used]
    return pd.DataFrame(counts | ({"ignored": ignored} if any(ignored) else {}) | {"such as": examples})


def class_balance(dataset: Dataset) -> pd.DataFrame:
    """`class`, `rows` and `share` of each class among the rows that have a label."""
    if dataset.label is None:
        raise DataError("No label is chosen; choose the column that holds the classes.")
    rows = dataset.frame[dataset.label].value_counts().sort_index()
    classes = as_text(pd.Series(rows.index))
    return pd.DataFrame({"class": classes, "rows": rows.to_numpy(), "share": rows.to_numpy() / rows.sum()})


def _roles(dataset: Dataset) -> list[str]:
    roles: dict[str | None, str] = dict.fromkeys(dataset.ignored, "ignored")
    roles |= dict.fromkeys(dataset.adjust, "adjust")
    roles |= {dataset.label: "label", dataset.group: "group"}
    return [roles.get(name, "feature") for name in dataset.frame.columns]


def _views(dataset: Dataset) -> list[str]:
    views: dict[str, str] = {}
    for view, columns in dataset.views.items():
        for column in columns:
            views.setdefault(column, view)
    return [views.get(name, "") for name in dataset.frame.columns]


def _numbers(frame: pd.DataFrame) -> pd.DataFrame:
    X = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    low, high = (
        bound(np.where(np.isnan(X), worst, X), axis=0, initial=worst)
        for bound, worst in ((np.min, np.inf), (np.max, -np.inf))
    )
    S = np.sort(X, axis=0)  # nan last
    count = (~np.isnan(X)).sum(axis=0)
    changes = (S[1:] != S[:-1]) & ~np.isnan(S[1:])
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        mean = np.nansum(X, axis=0) / count
    empty = count == 0
    return pd.DataFrame(
        {
            "missing": len(X) - count,
            "distinct": changes.sum(axis=0) + ~empty,
            "min": np.where(empty, np.nan, low),
            "mean": mean,
            "max": np.where(empty, np.nan, high),
            "histogram": _histograms(X).tolist(),
        },
        index=frame.columns,
    )


def _histograms(X: NDArray[np.float64]) -> NDArray[np.int64]:
    """(columns, 10) counts over equal intervals of the finite values."""
    finite = np.isfinite(X)
    low, high = (
        np.where(finite, X, np.inf).min(axis=0, initial=np.inf),
        np.where(finite, X, -np.inf).max(axis=0, initial=-np.inf),
    )
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        bins = np.nan_to_num((X / 2 - low / 2) / (high / 2 - low / 2) * BARS).clip(0, BARS - 1).astype(np.int64)
    bins += BARS * np.arange(X.shape[1])
    return np.bincount(bins[finite], minlength=BARS * X.shape[1]).reshape(X.shape[1], BARS)


def _texts(frame: pd.DataFrame) -> pd.DataFrame:
    codes, values = pd.factorize(frame.to_numpy(dtype=object).ravel(order="F"))
    keys = np.repeat(np.arange(frame.shape[1]), len(frame)) * len(values) + codes
    keys, rows = np.unique(keys[codes >= 0], return_counts=True)
    columns = keys // max(len(values), 1)
    distinct = np.bincount(columns, minlength=frame.shape[1])
    order = np.lexsort((-rows, columns))
    rank = np.arange(len(order)) - np.repeat(np.cumsum(distinct) - distinct, distinct)
    histograms = np.zeros((frame.shape[1], BARS), dtype=np.int64)
    shown = rank < BARS
    histograms[columns[order][shown], rank[shown]] = rows[order][shown]
    missing = (codes < 0).reshape(frame.shape[::-1]).sum(axis=1)
    return pd.DataFrame(
        {
            "missing": missing,
            "distinct": distinct,
            "min": np.nan,
            "mean": np.nan,
            "max": np.nan,
            "histogram": histograms.tolist(),
        },
        index=frame.columns,
    )
