"""What preparing a table will do to it, said before training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data.columns import numeric_columns
from spnmkl.data.dataset import Dataset
from spnmkl.data.preparation import LARGEST, Choices
from spnmkl.wording import counted, name_some, quoted

_MOSTLY_NUMBERS = 0.8
_LOOKED_AT = 50


def problems(
    dataset: Dataset, choices: Choices | None = None, rows: Sequence[int] | NDArray | None = None
) -> list[str]:
    """Notes in plain words on what will be filled, encoded or left out, and what training will refuse.

    Parameters
    ----------
    dataset : Dataset
    choices : Choices, optional
    rows : array of int or bool, optional
        The training rows; all when None.
    """
    choices = choices or Choices()
    frame = dataset.frame[list(dataset.features)]
    frame = frame if rows is None else frame.iloc[rows]
    numeric = list(numeric_columns(frame))
    text = frame.drop(columns=numeric)
    used = frame[numeric] if choices.categorical == "drop" else frame
    notes = [*_unlabelled(dataset), *_missing(used, set(numeric), choices)]
    if choices.missing == "drop columns":
        numeric = [name for name in numeric if frame[name].notna().all()]
        text = text if choices.categorical == "drop" else text.dropna(axis="columns")
    notes += [*_numbers(frame[numeric], choices), *_texts(text, choices), *contradictions(dataset, choices)]
    return notes


def left_out(dataset: Dataset, choices: Choices) -> list[str]:
    """Notes on the rows and columns that training does without."""
    frame = dataset.labelled_table.frame[list(dataset.features)]
    numeric = set(numeric_columns(frame))
    used = frame[[name for name in frame if name in numeric]] if choices.categorical == "drop" else frame
    notes = list(_unlabelled(dataset))
    if choices.missing in ("drop rows", "drop columns"):
        notes += _missing(used, numeric, choices)
    if choices.categorical == "drop":
        notes += _texts(frame.drop(columns=list(numeric)), choices)
    return notes


def contradictions(dataset: Dataset, choices: Choices) -> list[str]:
    """A note where rows are equal in what training sees of them, and their labels are not."""
    if dataset.label is None or dataset.matrices:  # matrices may tell rows apart
        return []
    frame = dataset.labelled_table.frame
    seen = _seen(frame[list(dataset.features)], choices)
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


def _seen(frame: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    """The rows and columns that training uses."""
    if choices.categorical == "drop":
        frame = frame[list(numeric_columns(frame))]
    if choices.missing == "drop columns":
        return frame.dropna(axis="columns")
    return frame.dropna() if choices.missing == "drop rows" else frame


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


def _missing(frame: pd.DataFrame, numeric: set[str], choices: Choices) -> Iterator[str]:
    holes = frame.isna()
    missing = holes.sum()
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
        left_out = int(holes.any(axis=1).sum())
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


def _numbers(frame: pd.DataFrame, choices: Choices) -> Iterator[str]:
    if frame.empty:
        return
    X = frame.to_numpy(dtype=float, na_value=np.nan)
    large = frame.columns[(np.abs(X) > LARGEST).any(axis=0)]
    if len(large):
        yield f"Infinity or a value beyond {LARGEST:g}, which training refuses: {name_some(list(large))}; correct it."
    if choices.numeric == "standardize":
        yield f"{counted(frame.shape[1], 'numeric column')}: scaled to mean 0 and spread 1 over the training rows."
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
    present = values.dropna()
    if present.nunique() == len(values) > 2:
        yield f"Text column {quoted(values.name)} is different in every row and tells nothing of new ones: ignore it."
        return
    words = present[pd.to_numeric(present, errors="coerce").isna()]
    if 0 < len(words) <= (1 - _MOSTLY_NUMBERS) * len(present):
        yield (
            f"Text column {quoted(values.name)} holds numbers but for {counted(len(words), 'row')}, such as "
            f"{quoted(words.iloc[0])}; correct these values, or count them as missing."
        )
