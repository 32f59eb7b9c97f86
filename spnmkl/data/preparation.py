"""What is done to columns before kernels see them, learned from training rows only and kept as plain data."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import chain
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from spnmkl.data.columns import as_text, numeric_columns
from spnmkl.data.prepared_columns import (
    KINDS,
    CodedColumn,
    Column,
    DroppedColumn,
    Floats,
    NumericColumn,
    OneHotColumn,
    read_column,
)
from spnmkl.errors import DataError
from spnmkl.kernels.registry import find
from spnmkl.structure import SPN
from spnmkl.structure.text import leaf_name
from spnmkl.wording import counted, listed, name_some, quoted, suggestion

Numeric = Literal["standardize", "as is"]
Missing = Literal["refuse", "mean", "median", "drop rows", "drop columns"]
Categorical = Literal["codes", "one-hot", "drop"]

# Beyond this, squares and their sums come close to overflow.
LARGEST = 1e100


@dataclass(frozen=True)
class Choices:
    """What to do with columns before training.

    Parameters
    ----------
    numeric : {"standardize", "as is"}
        Mean 0 and spread 1 over the training rows, or the numbers as they are.
    missing : {"refuse", "mean", "median", "drop rows", "drop columns"}
        Filled with the column's mean or median over the training rows, a missing text being a category of its own; or
        rows or columns with missing values left out.
    categorical : {"codes", "one-hot", "drop"}
        Text as codes for the hamming kernel, as one column of 0 and 1 for each value, or left out.
    """

    numeric: Numeric = "standardize"
    missing: Missing = "refuse"
    categorical: Categorical = "codes"

    def __post_init__(self) -> None:
        for name, allowed in (("numeric", Numeric), ("missing", Missing), ("categorical", Categorical)):
            value, words = getattr(self, name), get_args(allowed)
            if value not in words:
                expected = ", ".join(map(repr, words[:-1])) + f" or {words[-1]!r}"
                raise DataError(f"The choice for {name} must be {expected}, but it is {quoted(value)}.")

    @property
    def fills(self) -> bool:
        return self.missing in ("mean", "median")


@dataclass(frozen=True)
class Preparation:
    """How the columns of a table become the numbers that kernels see.

    Attributes
    ----------
    columns : tuple
        What is done to each column, in the order of training; other columns of a table are ignored.
    choices : Choices
    """

    columns: tuple[Column, ...]
    choices: Choices = Choices()

    @classmethod
    def fit(
        cls, frame: pd.DataFrame, choices: Choices | None = None, rows: Sequence[int] | NDArray | None = None
    ) -> Preparation:
        """Learn from the feature columns of the training rows.

        Parameters
        ----------
        frame : DataFrame
            Feature columns only.
        choices : Choices, optional
        rows : array of int or bool, optional
            The training rows by position; all when None.
        """
        choices = choices or Choices()
        if not frame.columns.is_unique:
            double = frame.columns[frame.columns.duplicated()][0]
            raise DataError(f"The column name {quoted(double)} stands twice in the table; rename one of them.")
        training = frame if rows is None else frame.iloc[rows]
        dropped = _dropped(training, choices)
        training = _complete(training[[name for name in frame.columns if name not in dropped]], choices)
        fitted = {**dropped, **_fit_numbers(training, choices), **_fit_texts(training, choices)}
        preparation = cls(tuple(fitted[name] for name in frame.columns), choices)
        preparation._check_outputs()
        return preparation

    @classmethod
    def unchanged(cls, names: Iterable[str]) -> Preparation:
        """Numeric columns as they are."""
        return cls(tuple(NumericColumn(str(name), 0.0, 1.0, None) for name in names), Choices(numeric="as is"))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns that are used, as the table calls them."""
        return tuple(column.name for column in self.columns if not isinstance(column, DroppedColumn))

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, NumericColumn))

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, CodedColumn | OneHotColumn))

    @property
    def dropped(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, DroppedColumn))

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The columns that `transform` returns."""
        return tuple(chain.from_iterable(column.outputs for column in self.columns))

    def usable(self, frame: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows can be transformed: all when missing values are filled, else those that have none."""
        if self.choices.fills:
            return np.ones(len(frame), dtype=bool)
        return self._select(frame).notna().all(axis=1).to_numpy()

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns of training, found by name, as float64; one row for each row given."""
        frame = self._select(frame)
        if not self.choices.fills:
            refuse_missing(frame, "fill them, or train with a choice that fills them: mean or median")
        X = np.empty((len(frame), len(self.outputs)))
        numeric = [column for column in self.columns if isinstance(column, NumericColumn)]
        X[:, self._numeric_outputs] = _standardised(_numbers(frame[[column.name for column in numeric]]), numeric)
        position = 0
        for column in self.columns:
            if isinstance(column, CodedColumn | OneHotColumn):
                X[:, position : position + len(column.outputs)] = column.transform(frame[column.name])
            position += len(column.outputs)
        return pd.DataFrame(X, columns=pd.Index(self.outputs, dtype=object), index=frame.index)

    def mapped(self, spn: SPN) -> SPN:
        """The structure with each leaf's columns, named or counted as in the table, replaced by what became of them."""
        outputs = {column.name: column.outputs for column in self.columns}
        if all(made == (name,) for name, made in outputs.items()):
            return spn
        stored = spn.to_dict()
        for node in stored["nodes"]:
            if node.get("features") is not None:
                names = [self._original(feature) for feature in node["features"]]
                node["features"] = list(chain.from_iterable(outputs.get(name, (name,)) for name in names))
                if names and not node["features"]:
                    raise DataError(
                        f"Leaf {quoted(spn.label(node['id']))} sees only columns that are left out: "
                        f"{name_some(names)}; choose others, or remove the leaf."
                    )
        return SPN.from_dict(stored)

    def check_structure(self, spn: SPN) -> None:
        """Refuse kernels that would take the codes of text for quantities."""
        coded = [column.name for column in self.columns if isinstance(column, CodedColumn)]
        for _, message in sees_text(spn, coded, [column.name for column in self.columns]):
            raise DataError(message)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        kinds = {kind: name for name, kind in KINDS.items()}
        columns = [{"kind": kinds[type(column)], **asdict(column)} for column in self.columns]
        return {"version": 1, "choices": asdict(self.choices), "columns": columns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Preparation:
        try:
            if data["version"] != 1:
                raise ValueError(f"version {data['version']!r} is unknown")
            return cls(tuple(read_column(**column) for column in data["columns"]), Choices(**data["choices"]))
        except (KeyError, TypeError, ValueError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise DataError(f"The stored preparation cannot be read: {reason}.") from None

    def _select(self, frame: pd.DataFrame) -> pd.DataFrame:
        lacking = [name for name in self.names if name not in frame.columns]
        if lacking:
            raise DataError(
                f"The table lacks {counted(len(lacking), 'column')} of training: {name_some(lacking)}; "
                f"{suggestion(lacking[0], frame.columns)}."
            )
        return frame[list(self.names)]

    @cached_property
    def _numeric_outputs(self) -> NDArray[np.bool_]:
        kinds = [[isinstance(column, NumericColumn)] * len(column.outputs) for column in self.columns]
        return np.array(list(chain.from_iterable(kinds)), dtype=bool)

    def _original(self, feature: int | str) -> str:
        """A feature by name; a position counts the columns of the table in training."""
        return _named(feature, [column.name for column in self.columns])

    def _check_outputs(self) -> None:
        if not self.outputs:
            without = f" without {name_some(self.dropped)}; choose otherwise" if self.dropped else "; add columns"
            raise DataError(f"No column is left to learn from{without}.")
        outputs = pd.Index(self.outputs, dtype=object)
        if not outputs.is_unique:
            double = outputs[outputs.duplicated()][0]
            raise DataError(f"One-hot columns need the name {quoted(double)}, which stands in the table; rename it.")


def sees_text(spn: SPN, text: Collection[str], names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Leaves, each with a sentence, whose kernels would take the codes of text columns for quantities."""
    for leaf in spn.kernels if text else ():
        spec = spn.spec(leaf)
        kernel = find(spec.kernel)  # an unknown one is refused elsewhere
        if kernel is not None and not kernel.categories:
            seen = None if spec.features is None else {_named(feature, names) for feature in spec.features}
            found = next((name for name in text if seen is None or name in seen), None)
            if found is not None:
                yield (
                    leaf,
                    f"Kernel {spec.kernel!r} of leaf {quoted(leaf_name(spn, leaf))} needs numbers, but it sees the "
                    f"text column {quoted(found)}; use the hamming kernel for it, or list the columns without it.",
                )


def _named(feature: int | str, names: Sequence[str]) -> str:
    return names[feature] if isinstance(feature, int) and feature < len(names) else str(feature)


def refuse_missing(frame: pd.DataFrame, advice: str) -> None:
    """Raise unless every value is there."""
    missing = frame.isna().sum()
    missing = missing[missing > 0]
    if len(missing):
        counts = [f"{quoted(name)} ({counted(n, 'row')})" for name, n in missing.items()]
        raise DataError(f"Values are missing in {counted(len(counts), 'column')}: {listed(counts)}; {advice}.")


def _dropped(training: pd.DataFrame, choices: Choices) -> dict[str, Column]:
    dropped: dict[str, Column] = {}
    if choices.categorical == "drop":
        numeric = set(numeric_columns(training))
        dropped.update({name: DroppedColumn(name, "text") for name in training.columns if name not in numeric})
    if choices.missing == "drop columns":
        missing = training.isna().any()
        dropped.update({name: DroppedColumn(name, "missing") for name in training.columns[missing]})
    return dropped


def _complete(training: pd.DataFrame, choices: Choices) -> pd.DataFrame:
    """The rows to learn from, which have values in every column."""
    empty = training.columns[training.isna().all()]
    if len(empty) and len(training):
        raise DataError(f"No value stands in {counted(len(empty), 'column')}: {name_some(empty)}; leave them out.")
    if choices.missing == "refuse":
        refuse_missing(training, "fill them, or choose what to do with them: mean, median, drop rows or drop columns")
    if choices.missing == "drop rows":
        training = training.dropna()
    if not len(training):
        raise DataError("No row without a missing value is left to learn from; fill missing values instead.")
    return training


def _fit_numbers(training: pd.DataFrame, choices: Choices) -> dict[str, Column]:
    names = numeric_columns(training)
    X = _numbers(training[list(names)])
    if not X.size:
        return {}
    mean, spread = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    fill = np.nanmedian(X, axis=0) if choices.missing == "median" else mean
    # A constant column has a spread of rounding alone, which must not be blown up to 1.
    spread = np.where(spread > 1e-12 * np.nanmax(np.abs(X), axis=0), spread, 1.0)
    if choices.numeric == "as is":
        mean, spread = np.zeros_like(mean), np.ones_like(spread)
    fills = fill.tolist() if choices.fills else [None] * len(names)
    stored = zip(names, mean.tolist(), spread.tolist(), fills, strict=True)
    return {name: NumericColumn(name, *numbers) for name, *numbers in stored}


def _fit_texts(training: pd.DataFrame, choices: Choices) -> dict[str, Column]:
    numeric = set(numeric_columns(training))
    fitted: dict[str, Column] = {}
    for name in training.columns:
        if name not in numeric:
            codes, values = pd.factorize(as_text(training[name]), sort=True)
            categories = tuple(values.tolist())
            if choices.categorical == "one-hot":
                fitted[name] = OneHotColumn(name, categories, bool((codes < 0).any()))
            else:
                fitted[name] = CodedColumn(name, categories)
    return fitted


def _numbers(frame: pd.DataFrame) -> Floats:
    """Columns of numbers or true/false as float64, with nan where they are missing."""
    words = [name for name, dtype in frame.dtypes.items() if not is_numeric_dtype(dtype)]
    if words:
        frame = frame.copy(deep=False)
        for name in words:
            frame[name] = _parsed(frame[name])
    # Column by column, however the frame holds them: the same table then has the same means, to the last bit.
    X = np.asfortranarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    large = (np.abs(X) > LARGEST).any(axis=0)
    if large.any():
        name = quoted(frame.columns[large][0])
        raise DataError(f"Column {name} holds infinity or a value beyond {LARGEST:g}; correct these values.")
    return X


def _parsed(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    words = values[numbers.isna() & values.notna()]
    if len(words):
        raise DataError(
            f"Column {quoted(values.name)} held numbers in training, but here it holds {quoted(words.iloc[0])}."
        )
    return numbers


def _standardised(X: Floats, columns: Sequence[NumericColumn]) -> Floats:
    shift, scale, fill = (
        np.array([getattr(column, key) for column in columns], dtype=float) for key in ("shift", "scale", "fill")
    )
    return (np.where(np.isnan(X), fill, X) - shift) / scale
