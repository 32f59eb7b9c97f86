"""Columns to adjust for: what they tell of every prepared column, by a straight line or a mean for each of their
values, is learned from the training rows and taken away."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from spnmkl.data.columns import as_text, is_numeric
from spnmkl.data.prepared_columns import Floats
from spnmkl.errors import DataError
from spnmkl.wording import counted, name_some, quoted

# A number with at most so many values, all of them whole, is a group rather than an amount: a batch, a site, a grade.
MOST_LEVELS = 10

Kind = Literal["line", "numbers", "texts"]


@dataclass(frozen=True)
class Covariate:
    """A column to adjust for: a line through its values, or a mean for each of them.

    `values` are the mean and the spread of a line, or the values that have a mean of their own; `shares` is how many
    of the training rows have each of these.
    """

    name: str
    kind: Kind
    values: tuple[float, ...] | tuple[str, ...]
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        numbers = [*self.shares, *(self.values if self.kind != "texts" else ())]
        shaped = len(self.values) == (2 if self.kind == "line" else len(self.shares))
        if self.kind not in ("line", "numbers", "texts") or not shaped or not all(map(math.isfinite, numbers)):
            raise ValueError(f"column {quoted(self.name)} to adjust for cannot be read")

    @classmethod
    def fit(cls, values: pd.Series) -> Covariate:
        """Learn from training rows; missing values are passed over."""
        known, name = values.dropna(), str(values.name)
        if not len(known) or known.nunique() < 2:
            raise DataError(
                f"Column {quoted(name)} to adjust for has one value only in the training rows; leave it out."
            )
        if not is_numeric(values):
            shares = as_text(known).value_counts(normalize=True).sort_index()
            return cls(name, "texts", tuple(shares.index), tuple(shares.tolist()))
        numbers = known.astype(float)
        if not np.isfinite(numbers).all():
            raise DataError(f"Column {quoted(name)} to adjust for holds infinity; correct these values.")
        if numbers.nunique() <= MOST_LEVELS and (numbers % 1 == 0).all():
            shares = numbers.value_counts(normalize=True).sort_index()
            return cls(name, "numbers", tuple(shares.index.tolist()), tuple(shares.tolist()))
        return cls(name, "line", (float(numbers.mean()), float(numbers.std(ddof=0))))

    @property
    def width(self) -> int:
        """How many numbers a row has for it."""
        return 1 if self.kind == "line" else len(self.values)

    @property
    def words(self) -> str:
        return f"{quoted(self.name)} ({'a line' if self.kind == 'line' else counted(self.width, 'value')})"

    def encoded(self, values: pd.Series) -> Floats:
        """(rows, width); a value that is missing, or that training did not have, is the average of training."""
        if self.kind == "texts":
            found = as_text(values).to_numpy(dtype=object, na_value=None)
            return self._levels(found)
        numbers = pd.to_numeric(values, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
        if self.kind == "numbers":
            return self._levels(numbers)
        mean, spread = self.values
        return np.where(np.isfinite(numbers), (numbers - float(mean)) / float(spread), 0.0)[:, None]

    def _levels(self, found: np.ndarray) -> Floats:
        same = found[:, None] == np.array(self.values, dtype=found.dtype)[None, :]
        return np.where(same.any(axis=1)[:, None], same.astype(float), self.shares)


@dataclass(frozen=True)
class Adjustment:
    """What columns to adjust for say of prepared columns.

    Attributes
    ----------
    covariates : tuple of Covariate
    slopes : tuple of pairs
        A prepared column, and what is taken away from it: a constant, and a slope for each number of the covariates.
    """

    covariates: tuple[Covariate, ...] = ()
    slopes: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        width = 1 + sum(covariate.width for covariate in self.covariates)
        for name, slopes in self.slopes:
            if len(slopes) != width or not all(map(math.isfinite, slopes)):
                raise ValueError(f"column {quoted(name)} is adjusted by numbers that do not fit")

    @classmethod
    def fit(cls, frame: pd.DataFrame, X: pd.DataFrame, parts: Sequence[tuple[Sequence[str], np.ndarray]]) -> Adjustment:
        """Least squares of prepared columns on the covariates, all from the training rows.

        Parameters
        ----------
        frame : DataFrame
            The columns to adjust for.
        X : DataFrame
            The prepared columns.
        parts : sequence of (columns, rows)
            Which of them are adjusted, and from which rows that is learned.
        """
        covariates = tuple(Covariate.fit(frame[name]) for name in frame.columns)
        design = _design(covariates, frame)
        slopes: list[tuple[str, tuple[float, ...]]] = []
        for columns, rows in parts:
            _refuse_too_many(design[rows], list(frame.columns))
            Y = X[list(columns)].to_numpy()[rows]
            mean = Y.mean(axis=0)
            # The columns of the design are not independent; of all solutions, which say the same, the smallest.
            found = np.linalg.lstsq(design[rows], Y - mean, rcond=None)[0]
            slopes += zip(columns, map(tuple, found.T.tolist()), strict=True)
        return cls(covariates, tuple(slopes))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(covariate.name for covariate in self.covariates)

    @property
    def text(self) -> tuple[str, ...]:
        return tuple(covariate.name for covariate in self.covariates if covariate.kind == "texts")

    def among(self, columns: set[str]) -> Adjustment:
        """That of some of the prepared columns."""
        kept = tuple(pair for pair in self.slopes if pair[0] in columns)
        return Adjustment(self.covariates, kept) if kept else Adjustment()

    def taken_away(self, X: Floats, outputs: Sequence[str], frame: pd.DataFrame) -> Floats:
        """Prepared rows without what the covariates say of them."""
        if not self.slopes:
            return X
        at = {name: k for k, name in enumerate(outputs)}
        where = [at[name] for name, _ in self.slopes]
        X = X.copy()
        X[:, where] -= _design(self.covariates, frame) @ np.array([slopes for _, slopes in self.slopes]).T
        return X

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold."""
        covariates = [[c.name, c.kind, list(c.values), list(c.shares)] for c in self.covariates]
        return {"covariates": covariates, "slopes": [[name, list(slopes)] for name, slopes in self.slopes]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Adjustment:
        return cls(tuple(_covariates(data["covariates"])), tuple(_slopes(data["slopes"])))


def _covariates(stored: Sequence[Any]) -> Iterator[Covariate]:
    for name, kind, values, shares in stored:
        read = tuple(map(str, values)) if kind == "texts" else tuple(map(float, values))
        yield Covariate(str(name), kind, read, tuple(map(float, shares)))


def _slopes(stored: Sequence[Any]) -> Iterator[tuple[str, tuple[float, ...]]]:
    for name, slopes in stored:
        yield str(name), tuple(map(float, slopes))


def _design(covariates: Sequence[Covariate], frame: pd.DataFrame) -> Floats:
    return np.hstack([np.ones((len(frame), 1)), *(c.encoded(frame[c.name]) for c in covariates)])


def _refuse_too_many(design: Floats, names: Sequence[str]) -> None:
    """Where covariates tell rows apart one by one, nothing of these rows would be left."""
    rank = int(np.linalg.matrix_rank(design))
    if 2 * rank > len(design):
        raise DataError(
            f"Adjusting for {name_some(names)} takes {rank} numbers for each column, too many for "
            f"{counted(len(design), 'training row')}; adjust for fewer columns, or for ones with fewer values."
        )
