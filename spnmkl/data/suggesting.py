"""What the columns of a view are, and which preparation that suggests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from spnmkl.data.choices import Step
from spnmkl.data.columns import numeric_columns
from spnmkl.data.prepared_columns import Floats
from spnmkl.wording import counted

Kind = Literal["counts", "word counts", "fractions", "composition", "binary", "categories", "measurements"]

LARGE_COUNT = 20  # below, whole numbers may as well be grades
LONG_TAIL = 3  # times the median: what the largest value of a typical column of counts exceeds
BRIGHTEST = 255  # whole numbers up to exactly this are pixels
MOST_ZEROS = 0.5  # of a composition whose ratios are taken
SPARSE, MANY_WORDS, ONCE = 0.75, 20, 0.3


@dataclass(frozen=True)
class Suggestion:
    """What the numbers of a view are, what to do with them, and in one sentence why.

    Attributes
    ----------
    kind : str
        "counts", "word counts", "fractions", "composition", "binary", "categories" or "measurements".
    step : str
        What to do, as `Preparer` takes it.
    why : str
        What the columns look like.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.data import suggest
    >>> suggest(pd.DataFrame({"height": [1.62, 1.84, 1.75]})).why
    'Measurements: neither counts nor fractions.'
    """

    kind: Kind
    step: Step
    why: str


def suggest(frame: pd.DataFrame) -> Suggestion:
    """What to do with the numeric columns of a view before training.

    Only what the columns clearly say changes what is done: counts are taken by their logarithms, counts of words by
    their TF-IDF weights, parts of a whole by log-ratios, and everything else is standardised.

    Parameters
    ----------
    frame : DataFrame
        The columns of the view in the training rows; text and missing values are passed over.

    Returns
    -------
    Suggestion
        What they are, what to do, and why.

    Examples
    --------
    >>> import pandas as pd
    >>> from spnmkl.data import suggest
    >>> suggest(pd.DataFrame({"reads": [0, 12, 3, 5, 950], "hits": [4, 0, 80, 7, 2]})).step
    'log1p'
    """
    numeric = list(numeric_columns(frame))
    if not numeric:
        return Suggestion("categories", "standardize", "Text only, which no step for numbers concerns.")
    X = frame[numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    X = X[np.isfinite(X).any(axis=1)]  # rows that lack the view say nothing of it
    X = X[:, np.isfinite(X).any(axis=0)]
    X = np.where(np.isfinite(X), X, np.nan)
    if not X.size:
        return Suggestion("measurements", "standardize", "No number is known yet.")
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    binary = np.isnan(X) | np.equal(X, low) | np.equal(X, high)
    binary = binary.all(axis=0)
    if binary.all():
        return Suggestion("binary", "standardize", "Two values in every column; scaled, a rare one weighs more.")
    whole = bool((low >= 0).all() and ((X % 1 == 0) | np.isnan(X)).all())
    return (_of_words(X) or _of_counts(X[:, ~binary])) if whole else _of_fractions(X, low, high)


def _of_words(X: Floats) -> Suggestion | None:
    """Many columns of mostly zeros, where a count of 1 is common among the others."""
    known = ~np.isnan(X)
    positive = (X > 0).sum()
    zeros, once = 1 - positive / known.sum(), (X == 1).sum() / positive
    if X.shape[1] < MANY_WORDS or zeros < SPARSE or once < ONCE:
        return None
    why = f"Whole numbers in {counted(X.shape[1], 'column')}, {zeros:.0%} of them 0, as counts of words are."
    return Suggestion("word counts", "tf-idf", why)


def _of_counts(X: Floats) -> Suggestion:
    largest, tail = np.nanmax(X), np.median(np.nanmax(X, axis=0) / np.maximum(np.nanmedian(X, axis=0), 1))
    if largest < LARGE_COUNT or tail < LONG_TAIL or largest == BRIGHTEST:
        what = "as pixels have them" if largest == BRIGHTEST else "but without the long tail of counts"
        return Suggestion("measurements", "standardize", f"Whole numbers up to {largest:,.0f}, {what}.")
    why = f"Whole numbers up to {largest:,.0f}, most of them far below the largest of their column, as counts are."
    return Suggestion("counts", "log1p", why)


def _of_fractions(X: Floats, low: Floats, high: Floats) -> Suggestion:
    totals = X.sum(axis=1)
    totals = totals[np.isfinite(totals)]
    if X.shape[1] > 2 and (low >= 0).all() and len(totals) and np.ptp(totals) <= 1e-3 * totals.mean():
        zeros, parts = np.mean(X == 0), f"Parts that add up to {totals.mean():.3g} in every row"
        if zeros > MOST_ZEROS:
            why = f"{parts}, {zeros:.0%} of them 0, of which log-ratios would tell little else."
            return Suggestion("composition", "standardize", why)
        counting = "; 0 counts as half of the smallest part" if zeros else ""
        return Suggestion("composition", "log-ratio", f"{parts}: what matters are their ratios{counting}.")
    if (low >= 0).all() and (high <= 1).all():
        return Suggestion("fractions", "standardize", "Fractions: numbers between 0 and 1.")
    return Suggestion("measurements", "standardize", "Measurements: neither counts nor fractions.")
