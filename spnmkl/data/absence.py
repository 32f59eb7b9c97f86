"""Rows that lack every value of a view, and what is missing besides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data.choices import Choices
from spnmkl.errors import DataError
from spnmkl.wording import counted, listed, quoted

Views = Mapping[str, Sequence[str]]
Bools = NDArray[np.bool_]


def apart(views: Views, columns: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """View → its columns, each in the first view that has it; "" → those that are in none."""
    home: dict[str, str] = {}
    for view, members in views.items():
        for column in members:
            home.setdefault(column, view)
    found: dict[str, list[str]] = {view: [] for view in (*views, "")}
    for column in columns:
        found[home.get(column, "")].append(column)
    return {view: tuple(members) for view, members in found.items() if members}


def lacking_rows(frame: pd.DataFrame, views: Views) -> dict[str, Bools]:
    """View → the rows that lack all of its columns, of views of which any row does."""
    parts = {view: [c for c in members if c in frame.columns] for view, members in views.items() if view}
    rows = {view: frame[members].isna().all(axis=1).to_numpy() for view, members in parts.items() if members}
    return {view: lack for view, lack in rows.items() if lack.any()}


def empty_rows(frame: pd.DataFrame, views: Views) -> Bools:
    """Rows without a value of any of several views: somebody of whom nothing but a label, or an id, is known."""
    parts = [columns for members in views.values() if (columns := [c for c in members if c in frame.columns])]
    if len(parts) < 2:
        return np.zeros(len(frame), dtype=bool)
    return np.all([frame[columns].isna().all(axis=1).to_numpy() for columns in parts], axis=0)


def holes(frame: pd.DataFrame, views: Views, choices: Choices) -> pd.DataFrame:
    """Which values are missing, but for those of views that a row lacks as a whole where that has a rule of its own."""
    missing = frame.isna()
    if choices.absent != "as missing":
        for view, rows in lacking_rows(frame, views).items():
            missing.loc[rows, [c for c in views[view] if c in frame.columns]] = False
    return missing


def usable_rows(frame: pd.DataFrame, views: Views, choices: Choices, empty: Bools | None = None) -> Bools:
    """The rows that these choices can use: not those whose missing values are neither filled nor accounted for.

    `empty` are the rows without a value of any view, where there are more views than these.
    """
    usable = ~(empty_rows(frame, views) if empty is None else empty)
    if choices.absent == "drop rows":
        for rows in lacking_rows(frame, views).values():
            usable &= ~rows
    return usable if choices.fills else usable & ~holes(frame, views, choices).any(axis=1).to_numpy()


def kept_rows(frame: pd.DataFrame, views: Views, choices: Choices) -> Bools:
    """The rows that these choices do not leave out, among them those that they refuse."""
    return usable_rows(frame, views, choices if choices.missing == "drop rows" else replace(choices, missing="mean"))


def refuse_missing(
    frame: pd.DataFrame, advice: str, views: Views | None = None, choices: Choices | None = None, of_views: str = ""
) -> None:
    """Raise unless every value is there that no choice accounts for, with advice, `of_views` where whole views lack."""
    views, choices = views or {}, choices or Choices()
    empty = holes(frame, views, choices)
    if not empty.to_numpy().any():
        return
    lacking = lacking_rows(empty.mask(empty), views)
    lack = _counts({view: int(rows.sum()) for view, rows in lacking.items()})
    single = holes(frame, views, replace(choices, absent="mean")).sum()
    if not single.any():
        some = counted(int(np.any(list(lacking.values()), axis=0).sum()), "row")
        raise DataError(f"{some} lack a whole view: {lack}; {of_views or advice}.")
    missing = _counts({str(name): n for name, n in single.items() if n})
    said = f"Values are missing in {counted(int((single > 0).sum()), 'column')}: {missing}; {advice}"
    raise DataError(f"{said}; rows lack a whole view: {lack}; {of_views or advice}." if lacking else f"{said}.")


def _counts(rows: Mapping[str, int]) -> str:
    return listed([f"{quoted(name)} ({counted(n, 'row')})" for name, n in rows.items()])
