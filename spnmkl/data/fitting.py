"""What is learned of the columns of a table, from its training rows."""

from __future__ import annotations

import pandas as pd

from spnmkl.data.absence import Views, holes, kept_rows, refuse_missing
from spnmkl.data.choices import AUTO, Choices
from spnmkl.data.columns import as_text, number_matrix, numeric_columns
from spnmkl.data.numbers import fit_numbers
from spnmkl.data.prepared_columns import CodedColumn, Column, DroppedColumn, OneHotColumn
from spnmkl.data.suggesting import suggest
from spnmkl.errors import DataError
from spnmkl.wording import counted, name_some, quoted


def check_views(choices: Choices, views: Views) -> None:
    for view, _ in choices.views:
        if view not in views:
            known = f"the views are {name_some(list(views))}" if views else "the table has no views"
            raise DataError(f"There is no view {quoted(view)} to prepare; {known}.")


def dropped_columns(training: pd.DataFrame, views: Views, choices: Choices) -> dict[str, Column]:
    dropped: dict[str, Column] = {}
    if choices.categorical == "drop":
        numeric = set(numeric_columns(training))
        dropped.update({name: DroppedColumn(name, "text") for name in training.columns if name not in numeric})
    if choices.missing == "drop columns":
        missing = holes(training, views, choices).any()
        dropped.update({name: DroppedColumn(name, "missing") for name in training.columns[missing]})
    return dropped


def complete_rows(training: pd.DataFrame, views: Views, choices: Choices) -> pd.DataFrame:
    """The rows to learn from, which have values in every column but for whole views."""
    _refuse_empty(training, "")
    if choices.missing not in ("mean", "median", "drop rows"):
        how = "mean, median, drop rows or drop columns" if choices.missing == "refuse" else "mean, median or drop rows"
        left = training.loc[kept_rows(training, views, choices)]
        advice = f"fill them, or choose what to do with them: {how}"
        of_views = "choose what stands for it, absent='mean', or leave these rows out, absent='drop rows'"
        refuse_missing(left, advice, views, choices, of_views)
    training = training.loc[kept_rows(training, views, choices)]
    if not len(training):
        raise DataError("No row without a missing value is left to learn from; fill missing values instead.")
    _refuse_empty(training, " of the rows that are not left out")
    return training


def _refuse_empty(training: pd.DataFrame, which: str) -> None:
    empty = training.columns[training.isna().all()]
    if len(empty) and len(training):
        columns = f"{counted(len(empty), 'column')}{which}: {name_some(empty)}"
        raise DataError(f"No value stands in {columns}; leave them out.")


def fit_columns(training: pd.DataFrame, views: Views, choices: Choices) -> dict[str, Column]:
    """Column → what becomes of it; numbers are taken view by view."""
    return {**_fit_numbers(training, views, choices), **_fit_texts(training, views, choices)}


def _fit_numbers(training: pd.DataFrame, views: Views, choices: Choices) -> dict[str, Column]:
    names = set(numeric_columns(training))
    fitted: dict[str, Column] = {}
    for view, columns in views.items():
        numeric = [name for name in columns if name in names]
        if numeric and len(training):
            asked = choices.step_of(view)
            step = suggest(training[numeric]).step if asked == AUTO else asked
            found = fit_numbers(numeric, number_matrix(training[numeric]), step, choices.missing)
            fitted |= {column.name: column for column in found}
    return fitted


def _fit_texts(training: pd.DataFrame, views: Views, choices: Choices) -> dict[str, Column]:
    numeric, missing = set(numeric_columns(training)), holes(training, views, choices)
    fitted: dict[str, Column] = {}
    for name in training.columns:
        if name not in numeric:
            values = pd.factorize(as_text(training[name]), sort=True)[1]
            categories = tuple(values.tolist())
            if choices.categorical == "one-hot":
                fitted[name] = OneHotColumn(name, categories, bool(missing[name].any()))
            else:
                fitted[name] = CodedColumn(name, categories)
    return fitted
