"""Probabilities for what was trained, from trainings that have not seen the rows they are calibrated on."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace

from spnmkl.calibration import relearned, scaling
from spnmkl.selection.folds import fold_splits
from spnmkl.selection.results import UNFINISHED
from spnmkl.training.choose import FOLDS, most_folds
from spnmkl.training.prepared import Prepared
from spnmkl.training.settings import Settings
from spnmkl.training.train import Trained
from spnmkl.training.whole import refitted_by_landmarks

LOST_PROBABILITIES = "Probabilities cannot be calibrated"


def with_probabilities(
    trained: Trained,
    prepared: Prepared,
    settings: Settings,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> Trained:
    """What was trained, with probabilities calibrated on trainings that have not seen a row; as it was if stopped."""
    solution, model = trained.solution, trained.model
    if model is None or solution.status in UNFINISHED:
        return trained
    rows = prepared if prepared.whole is None else prepared.whole
    folds = most_folds(rows.y, rows.groups, FOLDS, lost=LOST_PROBABILITIES, advice="leave them out")
    splits = fold_splits(rows.y, folds, rows.groups, prepared.split.seed)
    if (found := model.approximation_) is None:
        options = settings.solver_options() | {"n_threads": n_threads, "stop": stop}
        F = relearned(solution, prepared.source, splits, None, options)
    else:
        F = refitted_by_landmarks(prepared, settings, solution, found, splits, n_threads, stop)
    if F is None:
        return trained
    copied = copy(model)
    copied.set_params(probability=True)
    copied.calibration_ = scaling(F, rows.y, solution.classes)
    return replace(trained, model=copied)
