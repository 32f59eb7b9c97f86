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


def larger_p(differences: ArrayLike, test_by_train: float, of_rows: float, finest: float = 0.0) -> float:
    """The larger p of two tests that a mean difference is chance: of the folds, and of how many rows there are.

    A few folds may agree by chance; where they differ by less than so many rows can, they are not believed.

    Parameters
    ----------
    differences, test_by_train, finest : as of `corrected_t_test`.
    of_rows : the standard error by how many rows there are; where it is 0 or NaN, as where nobody counted them, the
        folds decide alone.
    """
    d = np.asarray(differences, dtype=float)
    p = corrected_t_test(d, test_by_train, finest)
    return float(np.maximum(p, 2 * stats.norm.sf(abs(d.mean()) / of_rows))) if of_rows > 0 else p


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


def smallest_of_rows(error: float, tests: int, level: float = 0.05) -> float:
    """The same, given its standard error by how many rows there are; 0 where that is not known."""
    return float(stats.norm.isf(level / (2 * tests)) * error) if error > 0 else 0.0
