"""A method on one fold: fit on these rows, decide on those; its settings are chosen within the training part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spnmkl.baselines import ColumnMethod, Fitted, FittedColumns, Method
from spnmkl.baselines.labels import of_leaves
from spnmkl.circuit.program import Floats
from spnmkl.errors import DataError
from spnmkl.parameters import CHOSEN
from spnmkl.problem import checked_source
from spnmkl.rivals import CERTIFIED, Rival, choose_rival
from spnmkl.selection.folds import fold_splits
from spnmkl.structure import SPN
from spnmkl.study.table_columns import table_columns
from spnmkl.training.choose import most_folds
from spnmkl.training.prepared import Prepared

SMALL = 1000  # rows up to which one thread is as fast as several
LOST, ADVICE = "Methods cannot be compared by cross-validation", "add rows, or leave the class out"
Tick = Callable[[str], object]
T = TypeVar("T")


@dataclass(frozen=True)
class Plan:
    """How to compare: folds, how often, and how C is chosen within each training part."""

    folds: int = 5
    repeats: int = 1
    inner: int = 3
    points: int = 8
    tol: float = 1e-3
    scoring: str = "accuracy"


@dataclass(frozen=True, eq=False)
class Trained:
    """What a method learned from the training rows of a fold, and decides on the others."""

    decision: Floats
    classes: NDArray
    offered: int
    used: int
    C: float
    gap: float
    setting: str


def trained(
    method: Method | ColumnMethod,
    prepared: Prepared,
    plan: Plan,
    words: str,
    say: Tick,
    stop: Callable[[], bool] | None,
    **options: Any,
) -> tuple[Trained, float]:
    """Fit on the training rows, decide on those held out, and how long the fit took."""
    found: Fitted | FittedColumns
    if isinstance(method, ColumnMethod):
        rows = table_columns(prepared)
        started = time.perf_counter()
        found = method.fit(rows.train, prepared.y_train, **_terms(prepared, plan), tick=lambda: say(words))
        seconds = time.perf_counter() - started
        said = found.setting_words
        offered, used, decision = rows.train.X.shape[1], found.used, found.decision_function(rows.test)
    else:
        found, seconds, said = fitted(method, prepared, plan, words, say, stop, **options)
        offered, used = len(method.labels), len(found.model.active)
        decision = found.decision_function(by_label(prepared.spn, prepared.cross_test))
    return Trained(decision, found.classes, offered, used, found.C, found.gap, said), seconds


def fitted(
    method: Method,
    prepared: Prepared,
    plan: Plan,
    words: str,
    say: Tick,
    stop: Callable[[], bool] | None,
    C: float | None = None,
    **options: Any,
) -> tuple[Fitted, float, str]:
    """A method on the training part of a fold, at a C chosen there or given, how long that took, and what was chosen.

    With ``weights="chosen"`` a flat drawing is trained as somebody who sets nothing would have it (`choose_rival`).
    """
    started, said = time.perf_counter(), ""
    if options.get("weights") == CHOSEN:
        best = _best_rival(method, prepared, plan, words, say, stop, options)
        method, C, said = Method(method.name, (best.spn,)), best.C, best.name
        options = {**options, "weights": best.weights}
        if best.weights == "certified":
            del options["weights"]
    found = method.fit(
        by_label(prepared.spn, prepared.kernels),
        prepared.y_train,
        None if C is None else [C],
        **_terms(prepared, plan, C is None),
        tick=lambda: say(words),
        tol=plan.tol,
        n_threads=1 if prepared.n <= SMALL else None,
        stop=stop,
        **options,
    )
    say(words)  # where it was stopped meanwhile, this was no training to the end
    return found, time.perf_counter() - started, said


def _best_rival(
    method: Method,
    prepared: Prepared,
    plan: Plan,
    words: str,
    say: Tick,
    stop: Callable[[], bool] | None,
    options: Mapping[str, Any],
) -> Rival:
    """What does best on folds of the training part; before there is any, where it was stopped."""
    (spn,) = method.candidates
    terms = _terms(prepared, plan)
    del terms["points"]
    choice = choose_rival(
        spn,
        checked_source(spn, of_leaves(spn, by_label(prepared.spn, prepared.kernels)), prepared.n),
        prepared.y_train,
        **terms,
        lam=options.get("lam", 1.0),
        class_weight=options.get("class_weight"),
        n_threads=1 if prepared.n <= SMALL else None,
        stop=stop,
        tick=lambda what: say(words),
    )
    say(words)
    return choice.best if choice is not None else Rival(CERTIFIED, spn, "certified", 1.0, math.nan, math.nan)


def _terms(prepared: Prepared, plan: Plan, chosen: bool = True) -> dict[str, Any]:
    """How settings are chosen within the training part: the same for all methods."""
    return {
        "points": plan.points,
        "folds": inner_folds(prepared.y_train, prepared.groups, plan.inner, prepared.split.seed) if chosen else 2,
        "scoring": plan.scoring,
        "groups": prepared.groups,
        "random_state": prepared.split.seed,
    }


def by_label(spn: SPN, of_leaves: Mapping[str, T]) -> dict[str, T]:
    return {spn.label(leaf): value for leaf, value in of_leaves.items()}


def inner_folds(y: NDArray, groups: NDArray | None, wished: int, seed: int) -> int:
    """As many folds to choose C on as leave a part of every class to train on, whichever groups are held out."""
    most = most_folds(y, groups, wished, lost=LOST, advice=ADVICE)
    for folds in range(most, 1, -1):
        if groups is None or all(_has_all(y, train) for train, _ in fold_splits(y, folds, groups, seed)):
            return folds
    raise DataError(
        f"{LOST}: C is chosen within each training part, and the groups of one of them leave no two folds with rows of "
        "every class; choose another group column, or none."
    )


def _has_all(y: NDArray, rows: NDArray) -> bool:
    return len(np.unique(y[rows])) == len(np.unique(y))
