"""Choosing C for a training, and how its weights depend on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.errors import DataError, ParameterError
from spnmkl.selection import CrossValidation, PathPoint, RegularizationPath, cross_validate_C, regularization_path
from spnmkl.training.prepared import Prepared
from spnmkl.training.settings import Settings
from spnmkl.training.whole import learning_part
from spnmkl.wording import counted, quoted

Progress = Callable[[PathPoint], object]
FOLDS = 5
LOST, ADVICE = "C cannot be chosen by cross-validation", "set C by hand"


def choose_C(
    prepared: Prepared,
    settings: Settings,
    folds: int | None = None,
    callback: Progress | None = None,
    C: Sequence[float] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> CrossValidation:
    """The score of every C on held-out folds of the training rows; whole groups are held out where there are any.

    Without a number of folds there are five, or as many as the smallest class and the groups allow. The columns' means
    and scales and the kernels' normalisation were learned from all training rows, so that the folds are not entirely
    unseen; the test rows are.
    """
    return cross_validate_C(
        prepared.mapped,
        prepared.source,
        prepared.y_train,
        C,
        folds=folds or _folds(prepared),
        scoring=settings.scoring,
        groups=prepared.groups,
        random_state=prepared.split.seed,
        callback=callback,
        weights=settings.weights,
        **_but_C(prepared, settings, n_threads, stop),
    )


def trace_C(
    prepared: Prepared,
    settings: Settings,
    callback: Progress | None = None,
    C: Sequence[float] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> RegularizationPath:
    """Solutions over a grid of C on all training rows; evidence weights are the same at every C."""
    if settings.weights == "evidence":
        raise ParameterError("Evidence weights do not depend on C, so that they have no path over it; train them once.")
    return regularization_path(
        prepared.mapped,
        prepared.source,
        prepared.y_train,
        C,
        callback=callback,
        **_but_C(prepared, settings, n_threads, stop),
    )


def _but_C(
    prepared: Prepared, settings: Settings, n_threads: int | None, stop: Callable[[], bool] | None
) -> dict[str, Any]:
    part = learning_part(prepared, settings)
    options = part.settings.solver_options() | {"sample_weight": part.weight, "n_threads": n_threads, "stop": stop}
    del options["C"]
    return options


def nothing_done(settings: Settings, advice: str) -> ParameterError:
    """For a search over C that time ended before its first value was done."""
    return ParameterError(f"No value of C was done within {settings.max_time:g} s; {advice}.")


def _folds(prepared: Prepared) -> int:
    """As many as the smallest class and the number of groups allow."""
    two = len(prepared.classes) == 2  # of several, a fold may lack one
    return most_folds(prepared.y_train, prepared.groups, FOLDS, every_class=two)


def most_folds(
    y: NDArray,
    groups: NDArray | None,
    wished: int,
    fewest: int = 2,
    *,
    lost: str = LOST,
    advice: str = ADVICE,
    every_class: bool = True,
) -> int:
    """As many as wished, or as the smallest class and the groups allow; words for where these are fewer than needed.

    `every_class` is whether each class must have as many groups as there are folds.
    """
    classes, counts = np.unique(y, return_counts=True)
    limits = {
        f"class {quoted(classes[counts.argmin()])} has {counted(int(counts.min()), 'training row')}": counts.min()
    }
    if groups is not None:
        n_groups = len(np.unique(groups))
        limits[f"the training rows are of {counted(n_groups, 'group')}"] = n_groups
    if groups is not None and every_class:
        number, name = min((len(np.unique(groups[y == name])), k) for k, name in enumerate(classes))
        limits[f"the training rows of class {quoted(classes[name])} are of {counted(number, 'group')}"] = number
    for found, number in limits.items():
        if number < fewest:
            raise DataError(f"{lost}: {found}, but {fewest} are needed; {advice}.")
    return int(min(wished, *limits.values()))
