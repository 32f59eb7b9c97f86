"""Beside what users know: methods over columns, and evidence weights, on the splits of `accuracy`.

Lasso, random forest, boosting, late fusion (where a set has views) and an RBF-SVM with C and γ tuned by grid search are
scikit-learn's (`spnmkl.baselines.column_methods`). They have the standardised columns that kernels are computed from,
and choose their settings on the same folds within the training rows as the methods of `accuracy` choose C. "evidence,
sum" is a support vector machine on evidence weights over the same base kernels, where SimpleMKL has certified ones.
The results have a file of their own, beside.csv, so that those of `accuracy` stay as they are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from experiment_data import Choice, Data, Floats, Split, named_sets, split_of
from experiment_methods import Cell, auc, possible_folds
from experiment_store import Key, Task, key_of
from numpy.typing import NDArray

from spnmkl.baselines import ColumnMethod, Columns, Fitted, FittedColumns, Method, column_methods, compute_kernels
from spnmkl.kernels import cross_kernels
from spnmkl.problem import answers
from spnmkl.structure import templates

EVIDENCE = "evidence, sum"
NAMES = {"RBF-SVM": "RBF-SVM, tuned"}  # `accuracy` has an RBF-SVM of five widths, one-vs-rest, by our own solver


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method decides on the test rows, and how it came to it; `kernels` counts columns where it has these."""

    decision: Floats
    found: Fitted | FittedColumns
    kernels: int
    active: int
    seconds: float


Rival = Callable[[Data, Split, Choice], Outcome]


def over_columns(method: ColumnMethod, data: Data, split: Split, choice: Choice) -> Outcome:
    started = time.perf_counter()
    folds = possible_folds(choice, split.y)
    found = method.fit(Columns(split.X, views(data)), split.y, points=choice.points, folds=folds)
    seconds = time.perf_counter() - started
    return Outcome(found.decision_function(split.X_test), found, split.X.shape[1], found.model.used, seconds)


def by_evidence(data: Data, split: Split, choice: Choice) -> Outcome:
    method = Method(EVIDENCE, (templates.flat([kernel for group in data.groups.values() for kernel in group]),))
    matrices, fitted = compute_kernels([method], split.X, split.names)
    started = time.perf_counter()
    chosen = {"points": choice.points, "folds": possible_folds(choice, split.y), "n_threads": 1}
    found = method.fit(matrices, split.y, weights="evidence", **chosen)
    seconds = time.perf_counter() - started
    decision = found.decision_function(cross_kernels(fitted, split.X_test))
    return Outcome(decision, found, len(method.labels), len(found.model.active), seconds)


def views(data: Data) -> dict[str, NDArray | Sequence[int]]:
    """The columns of each view, where the groups of kernels are views."""
    seen = {name: kernels[0].spec.features for name, kernels in data.groups.items()}
    if any(features is None for features in seen.values()):
        return {}
    return {name: [int(k) for k in features or ()] for name, features in seen.items()}


def rivals(data: Data) -> dict[str, Rival]:
    """By name; another method that is not one of `spnmkl.baselines` gets a line here."""
    found: dict[str, Rival] = {
        NAMES.get(name, name): partial(over_columns, method)
        for name, method in column_methods().items()
        if method.learner is not None or len(views(data)) > 1
    }
    return found | {EVIDENCE: by_evidence}


@dataclass(frozen=True)
class Beside:
    choice: Choice
    splits: int
    sets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None  # None: all there are

    def tasks(self, folder: Path | None) -> Iterator[Task]:
        for name, load in named_sets(folder, self.sets).items():
            data = load()
            asked = {rival: run for rival, run in rivals(data).items() if self.methods is None or rival in self.methods}
            for k in range(self.splits):
                yield task(data, name, k, asked, self.choice)


def task(data: Data, name: str, k: int, asked: Mapping[str, Rival], choice: Choice) -> Task:
    keys = {key_of("accuracy", name, k, rival): rival for rival in asked}

    def compute(wanted: Sequence[Key]) -> Iterator[list[Cell]]:
        split = split_of(data, k, choice)
        for key in wanted:
            yield [cell(name, k, keys[key], split, asked[keys[key]](data, split, choice))]

    return Task(tuple(keys), compute)


def cell(name: str, k: int, rival: str, split: Split, outcome: Outcome) -> Cell:
    found = outcome.found
    return Cell(
        "accuracy",
        name,
        k,
        rival,
        len(split.y),
        len(split.y_test),
        len(found.classes),
        outcome.kernels,
        outcome.active,
        float((answers(outcome.decision, found.classes) == split.y_test).mean()),
        auc(split.y_test, outcome.decision, found.classes),
        found.validation,
        found.C,
        found.at_end,
        outcome.seconds,
        found.gap if np.isfinite(found.gap) else float("nan"),  # evidence weights have no bound
    )
