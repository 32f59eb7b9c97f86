"""The rows that a search is about: kernels learned from some of them, and values of others; which are held out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from spnmkl.circuit.program import Floats
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.errors import DataError
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.problem import check_labels
from spnmkl.structure import SPN
from spnmkl.training.choose import most_folds
from spnmkl.training.prepared import labelled_parts, prepare, prepared_columns

Numbers = NDArray[np.intp]
ADVICE = "add rows, leave the class out, or hold none out"


@dataclass(frozen=True, eq=False)
class Parts:
    """Kernels among training rows, and between others and them, by leaf; the labels of both; which of the former
    belong together."""

    inside: Mapping[str, Floats]
    across: Mapping[str, Floats]
    y_train: NDArray
    y_test: NDArray
    groups: NDArray | None = None


class Rows(Protocol):
    """Rows by number, from 0."""

    @property
    def y(self) -> NDArray: ...
    @property
    def groups(self) -> NDArray | None: ...
    def parts(self, spn: SPN, train: Numbers, test: Numbers) -> Parts: ...


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of numbers, taken as they are."""

    X: Floats
    names: Sequence[str] | None
    y: NDArray
    groups: NDArray | None = None

    @classmethod
    def of(cls, X: ArrayLike | pd.DataFrame, y: ArrayLike, groups: ArrayLike | None = None) -> ArrayRows:
        names = [str(name) for name in X.columns] if isinstance(X, pd.DataFrame) else None
        try:
            values = np.ascontiguousarray(np.asarray(X, dtype=float))
        except (TypeError, ValueError):
            raise DataError(
                "X must hold numbers; encode text first, or use the command line or the app, which prepare a table."
            ) from None
        labels = check_labels(y)
        if values.ndim != 2 or len(values) != len(labels):
            raise DataError(f"X must hold one row per label, {len(labels)} in all, but its shape is {values.shape}.")
        if not np.isfinite(values).all():
            raise DataError("X holds NaN or infinity; fill or leave out missing values first.")
        belonging = None if groups is None else np.asarray(groups)
        if belonging is not None and belonging.shape != labels.shape:
            raise DataError(
                f"groups must hold one entry per sample, {len(labels)} in all, but its shape is {belonging.shape}."
            )
        return cls(values, names, labels, belonging)

    @property
    def columns(self) -> Sequence[int | str]:
        return list(range(self.X.shape[1])) if self.names is None else self.names

    def parts(self, spn: SPN, train: Numbers, test: Numbers) -> Parts:
        inside, fitted = fit_kernels(spn, np.ascontiguousarray(self.X[train]), self.names)
        across = cross_kernels(fitted, np.ascontiguousarray(self.X[test])) if len(test) else {}
        return Parts(inside, across, self.y[train], self.y[test], None if self.groups is None else self.groups[train])


@dataclass(frozen=True, eq=False)
class TableRows:
    """Rows of a loaded table that have a label and can be used, prepared from training rows alone, as for training."""

    dataset: Dataset
    choices: Choices
    split: SplitSettings
    spn: SPN  # any drawing over the columns

    @cached_property
    def _split(self) -> tuple[Split, NDArray]:
        parts, y = labelled_parts(self.dataset, self.split)
        kept, _, _ = prepared_columns(self.spn, self.dataset, self.choices, self.split, parts)
        return kept, y

    @cached_property
    def positions(self) -> Numbers:
        """In the frame: the training rows, then the test rows."""
        return np.concatenate([self._split[0].train, self._split[0].test])

    @property
    def train(self) -> Numbers:
        return np.arange(len(self._split[0].train))

    @property
    def test(self) -> Numbers:
        return np.arange(len(self._split[0].train), len(self.positions))

    @cached_property
    def y(self) -> NDArray:
        return np.asarray(self._split[1])[self.positions]

    @cached_property
    def groups(self) -> NDArray | None:
        if self.dataset.group is None:
            return None
        return pd.factorize(self.dataset.frame[self.dataset.group])[0][self.positions]

    def parts(self, spn: SPN, train: Numbers, test: Numbers) -> Parts:
        rows = Split(self.positions[train], self.positions[test])
        ready = prepare(spn, self.dataset, self.choices, self.split, None, rows, math.inf)
        across = ready.cross_test if len(test) else {}
        return Parts(ready.kernels, across, ready.y_train, ready.y_test, ready.groups)


def held_out(rows: Rows, among: Numbers, share: float, random_state: int) -> tuple[Numbers, Numbers]:
    """Rows to search in, and rows kept away from it: about such a share, stratified, whole groups on one side."""
    if share == 0:
        return among, among[:0]
    wished = max(2, round(1 / share))
    folds = folds_of(rows, among, wished, random_state)
    seen, kept = next(iter(folds))
    return seen, kept


def folds_of(rows: Rows, among: Numbers, wished: int, random_state: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Some rows in folds, stratified, whole groups together: the others, and those of the fold."""
    y = rows.y[among]
    groups = None if rows.groups is None else rows.groups[among]
    n = most_folds(y, groups, wished, lost="Rows cannot be held out", advice=ADVICE, every_class=False)
    if groups is None:
        split = StratifiedKFold(n, shuffle=True, random_state=random_state).split(y, y)
    else:
        split = StratifiedGroupKFold(n, shuffle=True, random_state=random_state).split(y, y, groups)
    return ((among[train], among[test]) for train, test in split)
