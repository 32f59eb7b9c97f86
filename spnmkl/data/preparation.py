"""What is done to columns before kernels see them, learned from training rows only and kept as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from spnmkl.data.words import name_some, suggestion
from spnmkl.errors import DataError
from spnmkl.structure import SPN

Impute = Literal["mean"] | None
Floats = NDArray[np.float64]

# Beyond this, squares and their sums come close to overflow.
LARGEST = 1e100
# Kernels that take the codes of a text column for quantities.
NUMERIC_KERNELS = ("linear", "polynomial", "rbf", "laplacian", "chi2", "cosine")


@dataclass(frozen=True)
class NumericColumn:
    """(value − shift) / scale, with `fill` for a missing value."""

    name: str
    shift: float
    scale: float
    fill: float

    def transform(self, values: pd.Series) -> Floats:
        return (_numbers(values).fillna(self.fill).to_numpy() - self.shift) / self.scale


@dataclass(frozen=True)
class TextColumn:
    """The position of a value among `categories`; −1 where it is missing, their number for any other."""

    name: str
    categories: tuple[str, ...]

    def transform(self, values: pd.Series) -> Floats:
        codes = {category: code for code, category in enumerate(self.categories)}
        texts = (None if missing else str(value) for value, missing in zip(values, values.isna(), strict=True))
        return np.array([-1.0 if text is None else codes.get(text, len(codes)) for text in texts], dtype=float)


@dataclass(frozen=True)
class Preparation:
    """Numeric columns standardised, text columns as codes for the hamming kernel.

    Attributes
    ----------
    columns : tuple of NumericColumn and TextColumn
        In the order of training; other columns of a table are ignored.
    impute : "mean" or None
        A missing number becomes the mean of training, a missing text a category of its own; None refuses both.
    """

    columns: tuple[NumericColumn | TextColumn, ...]
    impute: Impute = None

    @classmethod
    def fit(cls, frame: pd.DataFrame, *, standardize: bool = True, impute: Impute = None) -> Preparation:
        """Learn from the feature columns of the training rows."""
        if impute not in (None, "mean"):
            raise DataError(f"impute must be 'mean' or None, but it is {impute!r}.")
        if not frame.columns.is_unique:
            double = frame.columns[frame.columns.duplicated()][0]
            raise DataError(f"The column name {double!r} stands twice in the table; rename one of them.")
        _refuse_empty(frame)
        if impute is None:
            _refuse_missing(frame, "fill them, drop them, or choose impute='mean' (--impute mean)")
        return cls(tuple(_fit_column(frame[name], standardize) for name in frame), impute)

    @classmethod
    def unchanged(cls, names: Iterable[str]) -> Preparation:
        """Numeric columns as they are."""
        return cls(tuple(NumericColumn(str(name), 0.0, 1.0, 0.0) for name in names))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def numeric(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, NumericColumn))

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns if isinstance(column, TextColumn))

    def transform(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The columns of training, found by name, as float64."""
        lacking = [name for name in self.names if name not in frame.columns]
        if lacking:
            raise DataError(
                f"The table lacks {_columns(len(lacking))} of training: {name_some(lacking)}; "
                f"{suggestion(lacking[0], frame.columns)}."
            )
        frame = frame[list(self.names)]
        if self.impute is None:
            _refuse_missing(frame, "fill them, or train with impute='mean' (--impute mean)")
        return pd.DataFrame(
            {column.name: column.transform(frame[column.name]) for column in self.columns}, index=frame.index
        )

    def check_structure(self, spn: SPN) -> None:
        """Refuse kernels that would take the codes of text for quantities."""
        for leaf in spn.kernels:
            spec = spn.spec(leaf)
            seen = _seen(self.names, spec.features)
            text = next((name for name in self.text if name in seen), None)
            if text is not None and spec.kernel in NUMERIC_KERNELS:
                raise DataError(
                    f"Kernel {spec.kernel!r} of leaf {spn.label(leaf)!r} needs numbers, but it sees the text column "
                    f"{text!r}; use the hamming kernel for it, or list the columns without it."
                )

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        columns = [{"kind": _KIND[type(column)], **asdict(column)} for column in self.columns]
        return {"version": 1, "impute": self.impute, "columns": columns}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Preparation:
        try:
            if data["version"] != 1:
                raise ValueError(f"version {data['version']!r} is unknown")
            return cls(tuple(_read_column(**column) for column in data["columns"]), data["impute"])
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"The stored preparation cannot be read: {error}.") from None


_KIND = {NumericColumn: "numeric", TextColumn: "text"}


def is_numeric(values: pd.Series) -> bool:
    """Whether a column holds numbers or true/false; anything else is text."""
    if is_numeric_dtype(values):
        return True
    return pd.api.types.infer_dtype(values, skipna=True) == "boolean"


def _fit_column(values: pd.Series, standardize: bool) -> NumericColumn | TextColumn:
    name = str(values.name)
    if not is_numeric(values):
        return TextColumn(name, tuple(sorted({str(value) for value in values.dropna()})))
    x = _numbers(values).dropna().to_numpy()
    mean, spread = float(x.mean()), float(x.std())
    if not standardize:
        return NumericColumn(name, 0.0, 1.0, mean)
    # A constant column has a spread of rounding alone, which must not be blown up to 1.
    varies = spread > 1e-12 * np.abs(x).max()
    return NumericColumn(name, mean, spread if varies else 1.0, mean)


def _read_column(kind: str, name: str, **stored: Any) -> NumericColumn | TextColumn:
    if kind == "text":
        return TextColumn(name, tuple(stored["categories"]))
    return NumericColumn(name, **{key: float(value) for key, value in stored.items()})


def _numbers(values: pd.Series) -> pd.Series:
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    words = values[numbers.isna() & values.notna()]
    if len(words):
        raise DataError(f"Column {values.name!r} held numbers in training, but here it holds {words.iloc[0]!r}.")
    if (numbers.abs() > LARGEST).any():
        raise DataError(f"Column {values.name!r} holds infinity or a value beyond {LARGEST:g}; correct these values.")
    return numbers


def _refuse_missing(frame: pd.DataFrame, advice: str) -> None:
    missing = frame.isna().sum()
    missing = missing[missing > 0]
    if len(missing):
        counts = [f"{name!r} ({n:,} row{'s' * (n != 1)})" for name, n in missing.items()]
        raise DataError(f"Values are missing in {_columns(len(counts))}: {', '.join(_first(counts, 8))}; {advice}.")


def _refuse_empty(frame: pd.DataFrame) -> None:
    empty = [str(name) for name in frame if frame[name].isna().all()]
    if empty:
        raise DataError(f"No value stands in {_columns(len(empty))}: {name_some(empty)}; leave them out.")


def _first(items: list[str], most: int) -> Iterator[str]:
    yield from items[:most]
    if len(items) > most:
        yield f"and {len(items) - most:,} more"


def _columns(n: int) -> str:
    return f"{n:,} column" + "s" * (n != 1)


def _seen(names: tuple[str, ...], features: Iterable[int | str] | None) -> set[str]:
    if features is None:
        return set(names)
    return {names[f] if isinstance(f, int) and f < len(names) else str(f) for f in features}
