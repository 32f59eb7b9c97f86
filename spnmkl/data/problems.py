"""What preparing a table will do to it, said before training."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data.absence import Views, apart, empty_rows, holes, kept_rows, lacking_rows
from spnmkl.data.adjusting import Covariate
from spnmkl.data.choices import AUTO, Choices, Step
from spnmkl.data.columns import LARGEST, as_text, is_numeric, numeric_columns
from spnmkl.data.dataset import Dataset
from spnmkl.data.suggesting import Suggestion, suggest
from spnmkl.errors import DataError
from spnmkl.wording import counted, listed, name_some, quoted

_MOSTLY_NUMBERS = 0.8
_LOOKED_AT = 50
# In whatever order days and months stand.
_DATE = r"(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})(?:[T ].*)?"
STEP_WORDS: Mapping[Step, str] = {
    "standardize": "scaled to mean 0 and spread 1 over the training rows",
    "log1p": "log(1 + value), then scaled to mean 0 and spread 1 over the training rows",
    "log-ratio": "logarithm less its mean over the view's columns (centred log-ratio), 0 counting as half of the "
    "smallest positive value of the view in the training rows, then centred over these",
    "tf-idf": "weighted by how rare each column is among the training rows (TF-IDF), every row of length 1",
    "ranks": "ranks among the training rows, evenly spaced, then scaled to mean 0 and spread 1",
    "normal ranks": "ranks among the training rows, along a bell curve, then scaled to mean 0 and spread 1",
    "as is": "left as they are",
}


def suggestions(dataset: Dataset, rows: Sequence[int] | NDArray | None = None) -> dict[str, Suggestion]:
    """View → what its numbers are and what to do with them; "" are the columns in none. Text alone has no entry.

    Parameters
    ----------
    dataset : Dataset
    rows : array of int or bool, optional
        The training rows, from which it is told; all when None.
    """
    numeric = set(dataset.numeric)
    parts = apart(dataset.views, [name for name in dataset.features if name in numeric])
    frame = dataset.frame if rows is None else dataset.frame.iloc[rows]
    return {view: suggest(frame[list(columns)]) for view, columns in parts.items()}


def problems(
    dataset: Dataset,
    choices: Choices | None = None,
    rows: Sequence[int] | NDArray | None = None,
    suggested: Mapping[str, Suggestion] | None = None,
) -> list[str]:
    """Notes in plain words on what will be filled, encoded or left out, and what training will refuse.

    Parameters
    ----------
    dataset : Dataset
    choices : Choices, optional
    rows : array of int or bool, optional
        The training rows; all that have a label when None.
    suggested : mapping from view to Suggestion, optional
        What `suggestions` says of the training rows, by default of `rows`.
    """
    choices, unlabelled = choices or Choices(), list(_unlabelled(dataset))
    if rows is None:
        dataset = dataset.labelled_table
    frame = dataset.frame[list(dataset.features)]
    frame = frame if rows is None else frame.iloc[rows]
    numeric = list(numeric_columns(frame))
    text, parts = frame.drop(columns=numeric), apart(dataset.views, dataset.features)
    used = frame[numeric] if choices.categorical == "drop" else frame
    covariates = dataset.frame.loc[frame.index, list(dataset.adjust)]
    known = ~empty_rows(used, parts)
    notes = [*unlabelled, *_nothing(known), *_lacking(used[known], parts, choices)]
    whole = pd.concat([used, covariates], axis=1)[known]
    notes += _missing(whole, {*numeric, *numeric_columns(covariates)}, parts, choices)
    if choices.missing == "drop columns":
        empty = holes(frame, parts, choices).any()
        numeric = [name for name in numeric if not empty[name]]
        text = text if choices.categorical == "drop" else text[[name for name in text if not empty[name]]]
    if suggested is None and AUTO in (choices.numeric, *dict(choices.views).values()):
        suggested = suggestions(dataset, rows)
    notes += [*_numbers(frame[numeric]), *_steps(parts, numeric, choices, suggested or {})]
    notes += [*_constant(frame[numeric]), *_texts(text, choices), *_adjusted(covariates, numeric, text, choices)]
    return [*notes, *contradictions(dataset, choices)]


def step_notes(dataset: Dataset, choices: Choices, rows: Sequence[int] | NDArray | None = None) -> list[str]:
    """Notes on what was not asked for by name: numbers that the training rows say are not to be standardised alone."""
    suggested = suggestions(dataset, rows) if AUTO in (choices.numeric, *dict(choices.views).values()) else {}
    if all(s.step == "standardize" or choices.step_of(view) != AUTO for view, s in suggested.items()):
        return []
    parts = apart(dataset.views, dataset.features)
    return list(_steps(parts, dataset.numeric, choices, suggested, reasons=True))


def left_out(dataset: Dataset, choices: Choices) -> list[str]:
    """Notes on the rows and columns that training does without."""
    frame = dataset.labelled_table.frame[list(dataset.features)]
    numeric = set(numeric_columns(frame))
    used = frame[[name for name in frame if name in numeric]] if choices.categorical == "drop" else frame
    parts = apart(dataset.views, dataset.features)
    known = ~empty_rows(used, parts)
    notes, used = [*_unlabelled(dataset), *_nothing(known)], used[known]
    if choices.absent != "as missing":
        notes += _lacking(used, parts, choices)
    if choices.missing in ("drop rows", "drop columns"):
        notes += _missing(used, numeric, parts, choices)
    if choices.categorical == "drop":
        notes += _texts(frame.drop(columns=list(numeric)), choices)
    return notes


def contradictions(dataset: Dataset, choices: Choices) -> list[str]:
    """A note where rows are equal in what training sees of them, and their labels are not."""
    if dataset.label is None or dataset.matrices:  # matrices may tell rows apart
        return []
    frame = dataset.labelled_table.frame
    seen = _seen(frame[[*dataset.features, *dataset.adjust]], apart(dataset.views, dataset.features), choices)
    if seen.empty:
        return []
    same = pd.factorize(_row_bytes(seen))[0]
    label = pd.factorize(frame.loc[seen.index, dataset.label])[0]
    example = label[np.unique(same, return_index=True)[1]]
    differs = np.bincount(same, weights=label != example[same]) > 0
    if not differs.any():
        return []
    rows, groups = int(np.bincount(same)[differs].sum()), int(differs.sum())
    return [
        f"{counted(rows, 'row')} in {counted(groups, 'group')} are equal in all columns but differ in their label; no "
        "method can get all of them right."
    ]


def _seen(frame: pd.DataFrame, views: Views, choices: Choices) -> pd.DataFrame:
    """The rows and columns that training uses."""
    if choices.categorical == "drop":
        frame = frame[list(numeric_columns(frame))]
    if choices.missing == "drop columns":
        frame = frame.loc[:, ~holes(frame, views, choices).any()]
    return frame[kept_rows(frame, views, choices)]


def _row_bytes(frame: pd.DataFrame) -> NDArray[np.object_]:
    """Equal for equal rows."""
    numeric = list(numeric_columns(frame))
    X = frame[numeric].to_numpy(dtype=float, na_value=np.nan) + 0.0  # -0 is 0
    X[np.isnan(X)] = np.nan
    text = frame.drop(columns=numeric).to_numpy(dtype=object)
    codes = pd.factorize(text.ravel())[0].reshape(text.shape)
    rows = np.ascontiguousarray(np.hstack([X, codes]))
    return np.array([row.tobytes() for row in rows], dtype=object)


def _unlabelled(dataset: Dataset) -> Iterator[str]:
    if dataset.label is None:
        yield "No label is chosen yet; choose the column that holds the classes."
    elif dataset.n_unlabelled:
        yield f"{counted(dataset.n_unlabelled, 'row')} without a label: left out."


def _nothing(known: NDArray[np.bool_]) -> Iterator[str]:
    if n := int((~known).sum()):
        yield f"{counted(n, 'row')} {'has' if n == 1 else 'have'} no value in any view: left out."


def _lacking(frame: pd.DataFrame, views: Views, choices: Choices) -> Iterator[str]:
    """What becomes of rows that lack a whole view."""
    rows = lacking_rows(frame, views)
    # One column that lacks values is told with the other values that are missing.
    rows = {view: lack for view, lack in rows.items() if len(views[view]) > 1 or choices.absent != "as missing"}
    if not rows:
        return
    some = np.any(list(rows.values()), axis=0)
    counts = listed([f"{quoted(view)} in {counted(int(lack.sum()), 'row')}" for view, lack in rows.items()], 12)
    how = {
        "as missing": "treated as other missing values are",
        "mean": "the average of the training rows stands for it",
        "drop rows": "left out",
    }[choices.absent]
    yield f"{int(some.sum()):,} of {counted(len(frame), 'row')} lack a whole view ({counts}): {how}."


def _missing(frame: pd.DataFrame, numeric: set[str], views: Views, choices: Choices) -> Iterator[str]:
    empty_cells = holes(frame, views, choices)
    missing = empty_cells.sum()
    empty = list(missing.index[missing == len(frame)])
    if empty and choices.missing != "drop columns":
        yield f"No value in {counted(len(empty), 'column')}, which training refuses: {name_some(empty)}; ignore them."
    missing = missing[(missing > 0) & (missing < len(frame))]
    where = f"missing in {counted(len(missing), 'column')} ({name_some(list(missing.index))})"
    if not len(missing) and not empty:
        return
    if choices.missing == "drop columns":
        names = [*missing.index, *empty]
        total = counted(frame.shape[1], "column")
        yield f"{len(names):,} of {total} with missing values: left out ({name_some(names)})."
    elif choices.missing == "drop rows":
        left_out = int(empty_cells.any(axis=1).sum())
        yield f"{left_out:,} of {counted(len(frame), 'row')} with missing values: left out."
    elif choices.missing == "refuse" and len(missing):
        yield (
            f"{counted(int(missing.sum()), 'value')} {where}: training refuses them until you choose to fill them, or "
            "to leave out these rows or columns."
        )
    else:
        yield from _filling(missing, numeric, choices)


def _filling(missing: pd.Series, numeric: set[str], choices: Choices) -> Iterator[str]:
    of_numbers = missing[[name in numeric for name in missing.index]]
    of_text = missing.drop(of_numbers.index)
    for what, part, how in (
        ("number", of_numbers, f"filled with the {choices.missing} of the training rows"),
        ("text", of_text, "a value of its own"),
    ):
        if len(part):
            columns = f"{counted(len(part), 'column')} ({name_some(list(part.index))})"
            yield f"{counted(int(part.sum()), what)} missing in {columns}: {how}."


def _numbers(frame: pd.DataFrame) -> Iterator[str]:
    if frame.empty:
        return
    X = frame.to_numpy(dtype=float, na_value=np.nan)
    large = frame.columns[(np.abs(X) > LARGEST).any(axis=0)]
    if len(large):
        yield f"Infinity or a value beyond {LARGEST:g}, which training refuses: {name_some(list(large))}; correct it."


def _steps(
    views: Views,
    numeric: Sequence[str],
    choices: Choices,
    suggested: Mapping[str, Suggestion],
    reasons: bool = False,
) -> Iterator[str]:
    """What becomes of the numbers: one sentence for all, or one for each view where it is not the same; and why."""
    known = set(numeric)
    sizes = {view: sum(name in known for name in columns) for view, columns in views.items()}
    steps: dict[str, Step] = {}
    for view in (view for view, size in sizes.items() if size):
        asked = choices.step_of(view)
        steps[view] = suggested[view].step if asked == AUTO else asked
    if set(steps.values()) <= {"as is"}:
        return
    if len(set(steps.values())) == 1 and not (reasons and len(steps) > 1):
        view, step = next(iter(steps.items()))
        why = f" {suggested[view].why}" if reasons else ""
        yield f"{counted(len(known), 'numeric column')}: {STEP_WORDS[step]}.{why}"
        return
    for view, step in steps.items():
        why = f" {suggested[view].why}" if reasons and choices.step_of(view) == AUTO else ""
        where = f"View {quoted(view)}" if view else "Columns in no view"
        yield f"{where} ({counted(sizes[view], 'numeric column')}): {STEP_WORDS[step]}.{why}"


def _adjusted(covariates: pd.DataFrame, numeric: Sequence[str], text: pd.DataFrame, choices: Choices) -> Iterator[str]:
    if not covariates.shape[1]:
        return
    try:
        told = listed([Covariate.fit(covariates[name]).words for name in covariates.columns])
    except DataError as error:
        yield str(error)
        return
    hot = choices.categorical == "one-hot" and text.shape[1]
    columns = counted(len(numeric), "numeric column") + (f" and {counted(text.shape[1], 'text column')}" if hot else "")
    it, tell = ("it", "it tells") if covariates.shape[1] == 1 else ("them", "they tell")
    yield f"Adjusted for {told}: what {tell} of {columns} is taken away, and no kernel sees {it}."
    if choices.categorical == "codes" and text.shape[1]:
        names = name_some(list(text.columns))
        yield f"Text that is compared value by value cannot be adjusted: {names}; one column per category can."


def _constant(frame: pd.DataFrame) -> Iterator[str]:
    if frame.empty:
        return
    X = frame.to_numpy(dtype=float, na_value=np.nan)
    seen = np.where(np.isnan(X), -np.inf, X).max(axis=0), np.where(np.isnan(X), np.inf, X).min(axis=0)
    constant = list(frame.columns[seen[0] == seen[1]])
    if constant:
        yield f"{counted(len(constant), 'column')} with one value only, which tell nothing: {name_some(constant)}."


def _texts(text: pd.DataFrame, choices: Choices) -> Iterator[str]:
    names = list(text.columns)
    if not names:
        return
    what = f"{counted(len(names), 'text column')} ({name_some(names)})"
    if choices.categorical == "drop":
        yield f"{what}: left out."
        return
    if choices.categorical == "codes":
        yield f"{what}: compared value by value by the hamming kernel; kernels for numbers cannot use them."
    else:
        filled = text.isna().any().sum() if choices.fills else 0
        made = int(text.nunique().sum() + filled)
        yield f"{what}: become {counted(made, 'column')} of 0 and 1, one for each value."
    for name in names[:_LOOKED_AT]:
        yield from _odd_text(text[name])


def _odd_text(values: pd.Series) -> Iterator[str]:
    mistyped = list(_misread(values))
    if not mistyped and values.dropna().nunique() == len(values) > 2:
        yield f"Text column {quoted(values.name)} is different in every row and tells nothing of new ones: ignore it."
    yield from mistyped


def misread_text(frame: pd.DataFrame) -> list[str]:
    """Notes on columns that are text though they hold dates, or numbers but for a few values such as <0.5."""
    text = [name for name in frame if not is_numeric(frame[name])][:_LOOKED_AT]
    return [note for name in text for note in _misread(frame[name])]


def _misread(values: pd.Series) -> Iterator[str]:
    present = as_text(values.dropna())
    dates = present.str.fullmatch(_DATE)
    if len(present) and dates.mean() >= _MOSTLY_NUMBERS:
        yield (
            f"Column {quoted(values.name)} holds dates, such as {quoted(present[dates].iloc[0])}, which are text here: "
            "two of them are the same or not, and neither their order nor the days between them count. Turn them into "
            "numbers, such as days since a first date, or leave the column out."
        )
    else:
        yield from _nearly_numbers(values)


def _nearly_numbers(values: pd.Series) -> Iterator[str]:
    present = values.dropna()
    words = present[pd.to_numeric(present, errors="coerce").isna()]
    if 0 < len(words) <= (1 - _MOSTLY_NUMBERS) * len(present):
        yield (
            f"Text column {quoted(values.name)} holds numbers but for {counted(len(words), 'row')}, such as "
            f"{quoted(words.iloc[0])}; correct these values, or count them as missing."
        )
