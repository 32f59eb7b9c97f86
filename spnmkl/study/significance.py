"""Whether a difference seen on a few folds is more than chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from spnmkl.circuit.program import Floats
from spnmkl.measures import FEWEST, resampled_error, spread


def corrected_t_test(differences: ArrayLike, test_by_train: float, finest: float = 0.0) -> float:
    """p of the corrected resampled t-test, two-sided (Nadeau and Bengio 2003).

    The training parts of folds overlap, so that their results vary less than those on new data would: the variance of
    the mean is taken as (1/k + n_test/n_train) s² instead of s²/k.

    Parameters
    ----------
    differences : of the scores of two methods, one per fold.
    test_by_train : n_test / n_train of a fold.
    finest : by how much one row changes the result of a fold, where folds that agree are to be tested; see
        `corrected_interval`.

    Returns
    -------
    float
        1 where all differences are 0; NaN where nothing can be told: fewer than three folds, or all of them differ by
        the same amount, which rounds of the score, not a variance of 0, explain.
    """
    d = np.asarray(differences, dtype=float)
    if len(d) < FEWEST or not np.isfinite(d).all():
        return math.nan
    if not d.any():
        return 1.0
    if not (s := max(spread(d), finest / math.sqrt(len(d)))):
        return math.nan
    t = d.mean() / resampled_error(s, len(d), test_by_train)
    return float(2 * stats.t.sf(abs(t), len(d) - 1))


def holm(p: Sequence[float]) -> Floats:
    """Adjusted p by Holm's step-down method; NaN is no test and stays."""
    values = np.asarray(p, dtype=float)
    adjusted = np.full(len(values), np.nan)
    order = [k for k in np.argsort(values) if not math.isnan(values[k])]
    largest = 0.0
    for rank, k in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * values[k]))
        adjusted[k] = largest
    return adjusted


def smallest_visible(spread: float, folds: int, test_by_train: float, tests: int, level: float = 0.05) -> float:
    """The mean difference from which on so many tests at once tell one, given how much differences vary over folds."""
    if folds < FEWEST:
        return math.inf
    needed = stats.t.isf(level / (2 * tests), folds - 1)
    return float(needed * resampled_error(spread, folds, test_by_train))
