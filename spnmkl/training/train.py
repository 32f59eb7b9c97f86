"""One training, and what is kept of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.data import Choices, Preparation, SplitSettings
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.selection import (
    CrossValidation,
    PathPoint,
    RegularizationPath,
    cross_validate_C,
    regularization_path,
)
from spnmkl.solution import Record, Solution
from spnmkl.solvers import solve
from spnmkl.structure import SPN
from spnmkl.training.prepared import Prepared
from spnmkl.training.scores import Scores, score
from spnmkl.training.settings import Settings

Rows = NDArray[np.intp]
Progress = Callable[[PathPoint], object]


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A training that was done. It holds no n×n matrix; `prepare` computes them again when they are needed.

    Attributes
    ----------
    spn : SPN
        As drawn; `solution.spn` has the same nodes over the columns that kernels see.
    model : SPNMKLClassifier or None
        For new rows, with the preparation beside it; None where a leaf is a given matrix.
    train_scores, test_scores : Scores
    seconds : float
        Of solving, without the kernels.
    train, test : ndarray of int
        Positions of the rows in the data set's frame.
    views : dict from view to leaves
    """

    name: str = "Run"
    spn: SPN
    settings: Settings
    choices: Choices
    split: SplitSettings
    dataset_name: str
    label: str
    solution: Solution
    model: SPNMKLClassifier | None
    train_scores: Scores
    test_scores: Scores
    seconds: float
    train: Rows
    test: Rows
    views: Mapping[str, tuple[str, ...]]
    preparation: Preparation
    cross_validation: CrossValidation | None = None
    path: RegularizationPath | None = None

    @property
    def used(self) -> Preparation:
        """Of the columns that the learned weights left in use."""
        return used_columns(self.solution, self.preparation)

    @property
    def n_train(self) -> int:
        return len(self.train)

    @property
    def n_test(self) -> int:
        return len(self.test)


def train(
    prepared: Prepared,
    settings: Settings,
    callback: Callable[[Record], object] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """Learn the weights, and score them on the rows held out.

    Parameters
    ----------
    prepared : Prepared
    settings : Settings
    callback : callable, optional
        Called with a `Record` after every iteration; returning False stops and keeps the best weights so far.
    n_threads : int, optional
        By default all cores.
    stop : callable, optional
        Asked more often than the callback is called; true ends the training as soon as possible.
    """
    started = time.perf_counter()
    solution = solve(
        prepared.mapped,
        prepared.source,
        prepared.y_train,
        **settings.solver_options(),
        callback=callback,
        n_threads=n_threads,
        warn=False,
        stop=stop,
    )
    seconds = time.perf_counter() - started
    model = _model(prepared, settings, solution)
    decision = solution.decision_function(prepared.source, n_threads)
    if model is None:
        decision_test = solution.decision_function(prepared.cross_test, n_threads)
    else:
        decision_test = model.decision_function(prepared.X_test)
    return Run(
        spn=prepared.spn,
        settings=settings,
        choices=prepared.choices,
        split=prepared.split,
        dataset_name=prepared.dataset_name,
        label=prepared.label,
        solution=solution,
        model=model,
        train_scores=score(prepared.y_train, decision, solution.classes),
        test_scores=score(prepared.y_test, decision_test, solution.classes),
        seconds=seconds,
        train=prepared.train,
        test=prepared.test,
        views=prepared.views,
        preparation=prepared.preparation,
    )


def _model(prepared: Prepared, settings: Settings, solution: Solution) -> SPNMKLClassifier | None:
    """What predicts new rows, with what `spnmkl predict` needs to read them."""
    if prepared.fitted.keys() != prepared.kernels.keys():
        return None
    options = settings.solver_options()
    model = SPNMKLClassifier.from_solution(solution, prepared.fitted, prepared.features, **options)
    model.extra_ = {
        "preparation": prepared.preparation.to_dict(),
        "label": prepared.label,
        "id": prepared.id_column,
        "views": [[view, list(columns)] for view, columns in prepared.view_columns.items()],
    }
    return model


def used_columns(solution: Solution, preparation: Preparation) -> Preparation:
    """The preparation of the columns that kernels on paths of positive weight see."""
    outputs, spn = preparation.outputs, solution.spn
    specs = {spn.spec(leaf) for leaf in solution.active_circuit()[0].leaves}
    features = [outputs if spec.features is None else spec.features for spec in specs if spec.kernel != "precomputed"]
    seen = {outputs[f] if isinstance(f, int) else f for group in features for f in group}
    return replace(preparation, columns=tuple(c for c in preparation.columns if not seen.isdisjoint(c.outputs)))


def choose_C(
    prepared: Prepared,
    settings: Settings,
    folds: int = 5,
    callback: Progress | None = None,
    C: Sequence[float] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> CrossValidation:
    """Accuracy of every C on held-out folds of the training rows; whole groups are held out where there are any.

    The columns' means and scales and the kernels' normalisation were learned from all training rows, so that the
    folds are not entirely unseen; the test rows are.
    """
    return cross_validate_C(
        prepared.mapped,
        prepared.source,
        prepared.y_train,
        C,
        folds=folds,
        groups=prepared.groups,
        random_state=prepared.split.seed,
        callback=callback,
        **_but_C(settings, n_threads, stop),
    )


def trace_C(
    prepared: Prepared,
    settings: Settings,
    callback: Progress | None = None,
    C: Sequence[float] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> RegularizationPath:
    """Solutions over a grid of C on all training rows."""
    return regularization_path(
        prepared.mapped, prepared.source, prepared.y_train, C, callback=callback, **_but_C(settings, n_threads, stop)
    )


def _but_C(settings: Settings, n_threads: int | None, stop: Callable[[], bool] | None) -> dict[str, Any]:
    options = settings.solver_options() | {"n_threads": n_threads, "stop": stop}
    del options["C"]
    return options
