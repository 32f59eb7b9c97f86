"""Each kind of many trainings, small, as a function of nothing whose results can be compared bit by bit."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from spnmkl import cross_validate_C, nested_scores, templates
from spnmkl.baselines import Columns, column_methods
from spnmkl.calibration import relearned
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.importance import column_importance, held_out_shares, view_importance
from spnmkl.kernels import fit_kernels
from spnmkl.problem import checked_source
from spnmkl.search import suggest
from spnmkl.selection.folds import fold_splits
from spnmkl.solvers import solve
from spnmkl.study.contest import Contest, Plan, compete
from spnmkl.study.entrants import drawings
from spnmkl.training.held_out import shares_on_folds
from spnmkl.training.settings import Settings

VIEWS = {"a": [0, 1], "b": [2, 3]}
SPN_ = templates.flat(VIEWS)
GRID = [0.3, 3.0]


@cache
def table(n: int = 48) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n) > 0, "yes", "no")


@cache
def dataset() -> Dataset:
    X, y = table()
    frame = pd.DataFrame(X, columns=["c0", "c1", "c2", "c3"])
    frame["label"] = y
    return Dataset("table", frame, "label")


def by_name() -> Any:
    return templates.flat({"a": ["c0", "c1"], "b": ["c2", "c3"]})


def cross_validation() -> Any:
    X, y = table()
    found = cross_validate_C(SPN_, fit_kernels(SPN_, X)[0], y, GRID, folds=3)
    return found.scores.tolist(), {v: b.tolist() for v, b in found.beta.items()}


def views() -> Any:
    X, y = table()
    found = view_importance(SPN_, X, y, VIEWS, C=1.0, cv=3)
    return [{name: value for name, value in fold.to_dict().items() if name != "seconds"} for fold in found.folds]


def columns() -> Any:
    X, y = table()
    return column_importance(SPN_, X, y, C=1.0, cv=2, permutations=2).table.to_dict()


def shares() -> Any:
    X, y = table()
    return held_out_shares(SPN_, X, y, views=VIEWS, C=1.0, cv=2).to_dict()


def shares_of_a_training() -> Any:
    X, y = table()
    solution = solve(SPN_, fit_kernels(SPN_, X)[0], y)
    given = by_name(), dataset(), Choices("as is"), SplitSettings(0.0, 0), Settings(), np.arange(len(y))
    return shares_on_folds(solution, *given, folds=2).to_dict()


def nested() -> Any:
    X, y = table()
    return nested_scores(SPN_, X, y, C=1.0, folds=3, rounds=1).decision.tolist()


def comparison() -> Any:
    who = drawings({"flat": by_name(), "one": templates.flat({"a": ["c0", "c1"]})})
    plan, split = Plan(3, points=2, inner=2), SplitSettings(0.0, 0)
    results = tuple(compete(who, dataset(), Choices("as is"), split, plan))
    contest = Contest(plan, tuple(who.methods), results, len(results), "table", 48, reference="flat")
    assert set(contest.portraits) == {"flat", "one"}
    return contest.summary().drop(columns="seconds").astype(str).to_dict()


def search() -> Any:
    X, y = table()
    found = suggest(X, y, views=VIEWS, budget=4, subsamples=2)
    return [(one.formula, one.log_evidence, one.recurs, one.score) for one in found]


def over_columns() -> Any:
    X, y = table()
    return column_methods()["lasso"].fit(Columns(X), y, points=2, folds=2).decision_function(X).tolist()


def calibration() -> Any:
    X, y = table()
    source = checked_source(SPN_, fit_kernels(SPN_, X)[0], len(y))
    decision = relearned(solve(SPN_, source, y), source, fold_splits(y, 2, None, 0), None, {})
    assert decision is not None
    return decision.tolist()


KINDS: list[Callable[[], Any]] = [
    cross_validation,
    views,
    columns,
    shares,
    shares_of_a_training,
    nested,
    comparison,
    search,
    over_columns,
    calibration,
]


@cache
def serial(kind: Callable[[], Any]) -> Any:
    return kind()
