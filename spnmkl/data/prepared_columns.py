"""One column as kernels see it: a number, coded, one column per category, or left out."""

from __future__ import annotations

import math
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.data.choices import STEPS, Step
from spnmkl.data.columns import as_text
from spnmkl.wording import quoted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class NumericColumn:
    """(value − shift) / scale, with `fill` for a missing value; None refuses it.

    The value is first taken as `step` says: its logarithm, in log-ratios of no less than `least`, or its rank among
    `quantiles`. `centre` is the mean of what comes out over the training rows, where it is needed for rows that lack
    the whole view.
    """

    name: str
    shift: float
    scale: float
    fill: float | None
    step: Step = "standardize"
    quantiles: tuple[float, ...] = ()
    centre: float = 0.0
    least: float = 0.0

    def __post_init__(self) -> None:
        stored = (
            self.shift,
            self.scale,
            self.centre,
            self.least,
            0.0 if self.fill is None else self.fill,
            *self.quantiles,
        )
        if not all(map(math.isfinite, stored)) or not self.scale:
            raise ValueError(f"column {quoted(self.name)} has no finite scale and shift")
        ranked = self.step in ("ranks", "normal ranks")
        if self.step not in STEPS or ranked != bool(self.quantiles) or list(self.quantiles) != sorted(self.quantiles):
            raise ValueError(f"column {quoted(self.name)} cannot be prepared as is stored")
        if (self.step == "log-ratio") != (self.least > 0):
            raise ValueError(f"column {quoted(self.name)} has log-ratios without a smallest value")

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)

    @property
    def average(self) -> tuple[float, ...]:
        return (self.centre,)


@dataclass(frozen=True)
class CodedColumn:
    """The position of a value among `categories`; −1 where it is missing, their number for any other.

    `average` is the position of the most frequent one, where it is needed for rows that lack the whole view.
    """

    name: str
    categories: tuple[str, ...]
    average: tuple[float, ...] = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return (self.name,)

    def transform(self, values: pd.Series) -> Floats:
        return _codes(values, self.categories)[:, None].astype(float)


@dataclass(frozen=True)
class OneHotColumn:
    """One column of 0 and 1 for each category, and one for missing values where training had some.

    `average` is the mean of each, where it is needed for rows that lack the whole view.
    """

    name: str
    categories: tuple[str, ...]
    missing: bool
    average: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.average and len(self.average) != len(self.outputs):
            raise ValueError(f"column {quoted(self.name)} has an average that does not fit")

    @property
    def outputs(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in (*self.categories, *["(missing)"] * self.missing))

    def transform(self, values: pd.Series) -> Floats:
        shown = [*range(len(self.categories)), *[-1] * self.missing]
        return (_codes(values, self.categories)[:, None] == shown).astype(float)


@dataclass(frozen=True)
class DroppedColumn:
    """A column left out because it is "text" or has "missing" values."""

    name: str
    reason: str
    average = ()

    @property
    def outputs(self) -> tuple[str, ...]:
        return ()


Column = NumericColumn | CodedColumn | OneHotColumn | DroppedColumn
KINDS: dict[str, type[Column]] = {
    "numeric": NumericColumn,
    "codes": CodedColumn,
    "one-hot": OneHotColumn,
    "dropped": DroppedColumn,
}


def _codes(values: pd.Series, categories: tuple[str, ...]) -> NDArray[np.intp]:
    """Position among the categories; −1 where missing, their number where unknown."""
    codes = pd.Index(categories, dtype=object).get_indexer(as_text(values).astype(object))
    return np.where(values.isna(), -1, np.where(codes < 0, len(categories), codes))


def write_column(column: Column) -> dict[str, Any]:
    """What `read_column` takes; what most columns do without is left out."""
    kind = next(name for name, kind in KINDS.items() if type(column) is kind)
    usual = {field.name: field.default for field in fields(column)}
    return {"kind": kind} | {key: value for key, value in asdict(column).items() if value != usual[key]}


def read_column(kind: str, **stored: Any) -> Column:
    if kind not in KINDS:
        raise ValueError(f"a column of kind {kind!r} is unknown")
    column = KINDS[kind]
    names = {field.name for field in fields(column)}
    needed = {field.name for field in fields(column) if field.default is MISSING}
    if not needed <= stored.keys() <= names:
        raise ValueError(f"a {kind} column has {', '.join(sorted(names))}, not {', '.join(sorted(stored))}")
    return column(**{key: _read_value(key, value) for key, value in stored.items()})


def _read_value(key: str, value: Any) -> Any:
    if key == "categories":
        return tuple(str(category) for category in value)
    if key == "missing":
        return bool(value)
    if key in ("quantiles", "average"):
        return tuple(map(float, value))
    if key in ("name", "reason", "step"):
        return str(value)
    return None if value is None and key == "fill" else float(value)
