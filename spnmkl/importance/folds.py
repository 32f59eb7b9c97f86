"""Rows held out in turn, of arrays or of a loaded table: a fold's kernels are computed once, for all its trainings."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from spnmkl.circuit.program import Floats
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.errors import DataError, ParameterError
from spnmkl.kernels import FittedKernel, cross_kernels, fit_kernels
from spnmkl.parameters import seed
from spnmkl.problem import check_labels
from spnmkl.selection.folds import fold_splits
from spnmkl.structure import SPN
from spnmkl.study.contest import Plan, fitting_plan, outer_folds
from spnmkl.study.fold_training import by_label
from spnmkl.threads import single_threaded_blas
from spnmkl.training.prepared import NO_VIEW, Prepared, prepare
from spnmkl.wording import counted, listed, quoted

Tick = Callable[[str], object]
Rows = NDArray[np.intp]
COLUMNS = "columns"


@dataclass(frozen=True, eq=False)
class FoldData:
    """The kernels of one fold, by label, and what they were computed from.

    Attributes
    ----------
    kernels : dict from label to ndarray of shape (n, n)
    cross : dict from label to ndarray of shape (rows held out, n)
    fitted : dict from label to FittedKernel
        Without given matrices.
    X_test : ndarray of shape (rows held out, columns)
        What kernels see.
    columns : dict from column as given to positions in `X_test`
        Several where a column of text became one for each value.
    groups : ndarray or None
        Which training rows belong together.
    """

    kernels: Mapping[str, Floats]
    cross: Mapping[str, Floats]
    fitted: Mapping[str, FittedKernel]
    X_test: Floats
    columns: Mapping[Any, tuple[int, ...]]
    y_train: NDArray
    y_test: NDArray
    groups: NDArray | None


class Folds(Protocol):
    """Where rows come from."""

    @property
    def splits(self) -> Sequence[tuple[int, int, Split]]:
        """Round and fold, from 1, and the rows of every fold by position."""
        ...

    @property
    def known(self) -> Sequence[Any]:
        """The columns that there are."""
        ...

    @property
    def plan(self) -> Plan: ...

    @property
    def random_state(self) -> int: ...

    @property
    def rows(self) -> str:
        """Which rows these are, in words."""
        ...

    def data(self, split: Split, pool: SPN, say: Tick) -> FoldData: ...

    def values(self) -> pd.DataFrame:
        """The columns of numbers of all rows, to see which are alike."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayFolds:
    """Rows of an array or data frame; `transformer` is fitted anew on every training part."""

    X: Any
    y: NDArray
    groups: NDArray | None
    transformer: Any
    plan: Plan
    random_state: int

    @classmethod
    def of(
        cls, X: Any, y: ArrayLike, groups: ArrayLike | None, transformer: Any, plan: Plan, random_state: int
    ) -> ArrayFolds:
        seed(random_state)
        if not isinstance(random_state, int | np.integer):
            raise ParameterError(f"random_state must be a whole number of 0 or more, but it is {random_state!r}.")
        table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
        if table.ndim != 2:
            raise DataError(f"X must have rows and columns, but its shape is {table.shape}; pass (n, n_features).")
        labels = check_labels(y)
        if len(table) != len(labels):
            raise DataError(f"X has {counted(len(table), 'row')}, but y has {len(labels)}; give one label per row.")
        for name in ("folds", "repeats"):
            if not isinstance(value := getattr(plan, name), int | np.integer) or value < 1:
                what = {"folds": "cv"}.get(name, name)
                raise ParameterError(f"{what} must be a whole number of at least 1, but it is {value!r}.")
        return cls(table, labels, None if groups is None else np.asarray(groups), transformer, plan, int(random_state))

    @cached_property
    def names(self) -> list[str] | None:
        """Of a data frame's columns, where they can tell the columns apart; else positions do."""
        columns = list(self.X.columns) if isinstance(self.X, pd.DataFrame) else []
        usable = all(isinstance(name, str) for name in columns) and len(set(columns)) == len(columns) > 0
        return columns if usable else None

    @property
    def known(self) -> Sequence[Any]:
        return self.names or range(self.X.shape[1])

    @property
    def rows(self) -> str:
        return counted(len(self.y), "row")

    @cached_property
    def splits(self) -> Sequence[tuple[int, int, Split]]:
        found = []
        for repeat in range(self.plan.repeats):
            seed_of = self.random_state + repeat
            for fold, (train, test) in enumerate(fold_splits(self.y, self.plan.folds, self.groups, seed_of)):
                lost = np.setdiff1d(self.y, self.y[train])
                if len(lost):
                    raise DataError(
                        f"Fold {fold + 1} holds every row of class {quoted(lost[0])}, because whole groups are held "
                        "out; choose other groups, or none."
                    )
                found.append((repeat + 1, fold + 1, Split(train, test)))
        return found

    def data(self, split: Split, pool: SPN, say: Tick) -> FoldData:
        say("preparing the columns")
        train, test = self._transformed(split)
        with single_threaded_blas():
            kernels, fitted = fit_kernels(
                pool, train, self.names, tick=lambda done, total: say(f"kernels {done} of {total}")
            )
            across = cross_kernels(fitted, test)
        return FoldData(
            by_label(pool, kernels),
            by_label(pool, across),
            by_label(pool, fitted),
            test,
            {column: (k,) for k, column in enumerate(self.known)},
            self.y[split.train],
            self.y[split.test],
            None if self.groups is None else pd.factorize(self.groups[split.train])[0],
        )

    def _transformed(self, split: Split) -> tuple[Floats, Floats]:
        take = self.X.iloc if isinstance(self.X, pd.DataFrame) else self.X
        train, test = take[split.train], take[split.test]
        if self.transformer is not None:
            fitted = clone(self.transformer).fit(train, self.y[split.train])
            train, test = fitted.transform(train), fitted.transform(test)
        if np.shape(train)[1] != self.X.shape[1]:
            raise DataError(
                f"The transformer gives {np.shape(train)[1]} columns for {self.X.shape[1]}, so that no one knows which "
                "belong to which view; use one that keeps the columns, or prepare the rows before."
            )
        return np.ascontiguousarray(train, dtype=float), np.ascontiguousarray(test, dtype=float)

    def values(self) -> pd.DataFrame:
        return pd.DataFrame(np.asarray(self.X, dtype=float), columns=list(self.known))


@dataclass(frozen=True, eq=False)
class TableFolds:
    """Rows of a loaded table, prepared as for training a drawing: of the training rows alone; test rows stay unseen."""

    spn: SPN
    dataset: Dataset
    choices: Choices
    split: SplitSettings
    plan: Plan

    @classmethod
    def of(cls, spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings, plan: Plan) -> TableFolds:
        """With as many folds as the smallest class and the groups allow."""
        fitting = replace(fitting_plan(plan, spn, dataset, choices, split), repeats=plan.repeats)
        return cls(spn, dataset, choices, split, fitting)

    @property
    def random_state(self) -> int:
        return self.split.seed

    @property
    def known(self) -> Sequence[Any]:
        return self.dataset.features

    @cached_property
    def splits(self) -> Sequence[tuple[int, int, Split]]:
        found = outer_folds(self.spn, self.dataset, self.choices, self.split, self.plan)
        return [(repeat + 1, fold + 1, rows) for repeat, fold, rows in found]

    @property
    def rows(self) -> str:
        first = self.splits[0][2]
        kind = "training row" if self.split.test_share else "row"
        return counted(len(first.train) + len(first.test), kind)

    def data(self, split: Split, pool: SPN, say: Tick) -> FoldData:
        prepared = prepare(pool, self.dataset, self.choices, self.split, say, split, math.inf)
        return FoldData(
            by_label(pool, prepared.kernels),
            by_label(pool, prepared.cross_test),
            by_label(pool, prepared.fitted),
            prepared.X_test.to_numpy(dtype=float),
            _positions(prepared),
            prepared.y_train,
            prepared.y_test,
            prepared.groups,
        )

    def values(self) -> pd.DataFrame:
        rows = np.concatenate([self.splits[0][2].train, self.splits[0][2].test])
        return self.dataset.frame[list(self.dataset.numeric)].iloc[np.sort(rows)]


def _positions(prepared: Prepared) -> dict[Any, tuple[int, ...]]:
    place = {name: k for k, name in enumerate(prepared.X_test.columns)}
    return {column.name: tuple(place[o] for o in column.outputs) for column in prepared.preparation.columns}


def table_views(spn: SPN, dataset: Dataset) -> dict[str, list[Any]]:
    """What to tell apart in a drawing: the views of the data, its given matrices, or else the kernels' columns."""
    matrices = dict.fromkeys(spn.label(leaf) for leaf in spn.kernels if spn.spec(leaf).kernel == "precomputed")
    given: dict[str, list[Any]] = {name: [("matrix", name)] for name in matrices}
    views: dict[str, list[Any]] = {view: list(columns) for view, columns in dataset.feature_views.items()}
    if views:
        rest = set(dataset.features).difference(*views.values())
        views |= {NO_VIEW: [c for c in dataset.features if c in rest]} if rest else {}
        return views | given
    seen: dict[tuple[Any, ...], list[str]] = {}
    for leaf in spn.kernels:
        spec = spn.spec(leaf)
        if spec.kernel != "precomputed" and spec.features is not None:
            seen.setdefault(spec.features, []).append(spn.label(leaf))
    for features, labels in seen.items():
        # A label names all that sees these columns only where it is one kernel.
        name = labels[0] if len(features) > 1 == len(labels) else listed([str(column) for column in features], 3)
        views[labels[0] if name in views else name] = list(features)
    return views | given


def fingerprint(*parts: object) -> str:
    """The same for the same question: folds that were measured before are taken over only where it is."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
