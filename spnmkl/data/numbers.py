"""Columns of numbers as kernels see them: what each step learns from training rows, and how it is applied."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from spnmkl.data.choices import Missing, Step
from spnmkl.data.prepared_columns import Floats, NumericColumn
from spnmkl.errors import DataError
from spnmkl.wording import quoted

# A column's ranks are told from this many of its values, fewer where columns are many: a model file holds them all.
MOST_QUANTILES, MOST_STORED = 100, 1_000_000


def fit_numbers(names: Sequence[str], X: Floats, step: Step, missing: Missing = "refuse") -> list[NumericColumn]:
    """Learn from training rows, with nan where a value is missing."""
    quantiles = _quantiles(X) if step in ("ranks", "normal ranks") else np.empty((0, X.shape[1]))
    least = _least(names, X) if step == "log-ratio" else 0.0
    Z = _taken(names, X, step, quantiles, least)
    mean, spread = np.nanmean(Z, axis=0), np.nanstd(Z, axis=0)
    fill = np.nanmedian(Z, axis=0) if missing == "median" else mean
    # A constant column has a spread of rounding alone, which must not be blown up to 1.
    shift, scale = mean, np.where(spread > 1e-12 * np.nanmax(np.abs(Z), axis=0), spread, 1.0)
    if step in ("as is", "tf-idf"):
        shift, scale = np.zeros_like(mean), np.ones_like(scale)
    if step == "tf-idf":
        scale = 1 / _rarity(X)
    if step == "log-ratio":
        scale = np.ones_like(scale)  # so that distances between rows are Aitchison's
    fills = fill.tolist() if missing in ("mean", "median") else [None] * len(names)
    learned = zip(names, shift.tolist(), scale.tolist(), fills, quantiles.T.tolist(), strict=True)
    return [NumericColumn(name, a, b, c, step, tuple(q), least=least) for name, a, b, c, q in learned]


def apply_numbers(X: Floats, columns: Sequence[NumericColumn]) -> Floats:
    """What kernels see of rows, but for what takes all columns of a view: a length of 1, logarithms of mean 0."""
    shift, scale, fill = (
        np.array([getattr(column, key) for column in columns], dtype=float) for key in ("shift", "scale", "fill")
    )
    Z, steps = X, [column.step for column in columns]
    for step in dict.fromkeys(step for step in steps if step not in ("standardize", "as is")):
        where = [k for k, other in enumerate(steps) if other == step]
        Z = X.copy() if Z is X else Z
        quantiles = [columns[k].quantiles for k in where]
        least = np.array([columns[k].least for k in where])
        Z[:, where] = _taken([columns[k].name for k in where], X[:, where], step, quantiles, least)
    return (np.where(np.isnan(Z), fill, Z) - shift) / scale


def centred(X: Floats) -> Floats:
    """Rows less their mean.

    Of logarithms whose columns have mean 0 over the training rows, these are the centred log-ratios less their means.
    """
    return X - X.mean(axis=1, keepdims=True)


def of_length_one(X: Floats) -> Floats:
    """Rows of length 1; those of zeros alone stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
    return X / np.where(lengths > 0, lengths, 1.0)[:, None]


def _taken(
    names: Sequence[str],
    X: Floats,
    step: str,
    quantiles: Sequence[Sequence[float]] | Floats,
    least: float | Floats = 0.0,
) -> Floats:
    if step in ("log1p", "log-ratio", "tf-idf"):
        _refuse_negative(names, X, step)
    if step == "log-ratio":
        return np.log(np.maximum(X, least))
    if step == "log1p":
        return np.log1p(X)
    if step in ("ranks", "normal ranks"):
        by_column = quantiles.T if isinstance(quantiles, np.ndarray) else quantiles
        return np.column_stack([_ranked(x, np.asarray(q), step) for x, q in zip(X.T, by_column, strict=True)])
    return X


def _refuse_negative(names: Sequence[str], X: Floats, step: str) -> None:
    wrong = (X < 0).any(axis=0)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        raise DataError(
            f"Column {quoted(names[k])} holds {np.nanmin(X[:, k]):g}, but {step} needs numbers of 0 or more; prepare "
            "its view in another way, such as by ranks."
        )


def _least(names: Sequence[str], X: Floats) -> float:
    """Half of the smallest positive value: what 0 counts as, whose logarithm is not finite."""
    if len(names) < 2:
        raise DataError(
            f"Log-ratios compare the columns of a view, but {quoted(names[0])} is the only one of numbers; prepare it "
            "in another way."
        )
    _refuse_negative(names, X, "log-ratio")
    positive = X[X > 0]
    if not len(positive):
        raise DataError(
            f"Log-ratios need a value above 0, but {quoted(names[0])} and its view have none; leave them out."
        )
    return float(positive.min()) / 2


def _rarity(X: Floats) -> Floats:
    """ln((1 + n) / (1 + rows that have the word)) + 1, over the rows whose count is known."""
    n, having = (~np.isnan(X)).sum(axis=0), (X > 0).sum(axis=0)
    return np.log((1 + n) / (1 + having)) + 1


def _quantiles(X: Floats) -> Floats:
    """(quantiles, columns), ascending; all values, where these are no more."""
    known = (~np.isnan(X)).sum(axis=0)
    most = max(2, min(MOST_QUANTILES, int(known.max()), MOST_STORED // max(1, X.shape[1])))
    S = np.sort(X, axis=0)  # nan last
    at = np.outer(np.arange(most), known - 1)
    below, rest = np.divmod(at, most - 1)  # in whole numbers, so that equal values stay equal
    low, high = (np.take_along_axis(S, np.minimum(k, known - 1), axis=0) for k in (below, below + 1))
    return np.maximum.accumulate(low + (high - low) * (rest / (most - 1)), axis=0)


def _ranked(x: Floats, quantiles: Floats, step: str) -> Floats:
    """From 0 to 1, the middle of the ranks for values that stand there more than once; or as a normal variable."""
    at = np.linspace(0, 1, len(quantiles))
    low = np.interp(x, quantiles, at)
    # From above, equal values have the least of their ranks.
    rank = (low - np.interp(-x, -quantiles[::-1], -at[::-1])) / 2
    if step == "ranks":
        return rank
    edge = 0.5 / len(quantiles)  # no rank is infinitely far out
    return ndtri(np.clip(rank, edge, 1 - edge))
