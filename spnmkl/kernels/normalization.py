"""Normalisation of kernel matrices, with the statistics that new samples need."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from spnmkl.kernels import compiled
from spnmkl.kernels.matrices import row_blocks

NORMALIZATIONS: Mapping[str, str] = {
    "unit_diagonal": "Every sample has similarity 1 to itself; one with self-similarity 0 stays 0.",
    "unit_trace": "One factor, so that the mean self-similarity is 1.",
    "unit_variance": "One factor, so that the variance of the training samples in feature space is 1.",
    "centred": "The mean of the training samples moved to the origin of feature space, then unit variance.",
    "none": "Kernel values as they are.",
}
"""Names of the normalisations, each with one line of help.

A kernel that is zero (unit_trace) or constant on the training samples (unit_variance) has no such factor
and is left as it is; centred, a constant kernel is the zero kernel.
"""

NEED_MEANS = ("unit_variance", "centred")
_TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Statistics:
    """What was learned from the training matrix, where n counts the reference rows.

    The normalised kernel is factor · (k(x, z) − shift) with shift = mean k(x, ·) + means(z) − mean, or
    k(x, z) · scale(x) · scale(z).
    """

    factor: float = 1.0
    scale: np.ndarray | None = None  # (n,) 1/√k(z, z), or 0
    means: np.ndarray | None = None  # (n,) mean of k(z, ·) over all training rows
    mean: float = 0.0

    @property
    def is_identity(self) -> bool:
        return self.means is None and self.factor == 1 and (self.scale is None or bool((self.scale == 1).all()))

    def restrict(self, rows: np.ndarray | slice) -> "Statistics":
        scale = None if self.scale is None else self.scale[rows]
        means = None if self.means is None else self.means[rows]
        return replace(self, scale=scale, means=means)


def normalize(K: np.ndarray, how: str) -> Statistics:
    """Normalise a training matrix in place; it stays exactly symmetric."""
    statistics = learn(how, np.diagonal(K), K.mean(axis=1) if how in NEED_MEANS else None)
    _apply(K, statistics, statistics.scale, statistics.means)
    if statistics.scale is not None:
        np.fill_diagonal(K, statistics.scale > 0)
    return statistics


def learn(how: str, diagonal: np.ndarray, means: np.ndarray | None) -> Statistics:
    """What a normalisation takes from a training matrix: its diagonal and, for those in `NEED_MEANS`, its row means."""
    if how == "unit_diagonal":
        return Statistics(scale=inverse_root(diagonal))
    if how == "unit_trace":
        trace = diagonal.mean()
        return Statistics(factor=float(1 / trace) if trace > _TINY else 1.0)
    if means is None:
        return Statistics()
    mean = float(means.mean())
    factor = _inverse_variance(diagonal, mean)
    return Statistics(factor, means=means, mean=mean) if how == "centred" else Statistics(factor or 1.0)


def normalize_tile(K: np.ndarray, statistics: Statistics, rows: slice, columns: slice) -> None:
    """Normalise the values between some training samples and others in place."""
    own = statistics.restrict(rows)
    _apply(K, statistics.restrict(columns), own.scale, own.means)


def normalize_cross(
    K: np.ndarray, statistics: Statistics, diagonal: np.ndarray | None, means: np.ndarray | None
) -> None:
    """Normalise (m, n) kernel values between new samples and the reference rows in place.

    A unit diagonal needs `diagonal` (m,), k(x, x); centring needs `means` (m,), the mean of k(x, ·) over
    all training rows.
    """
    _apply(K, statistics, None if diagonal is None else inverse_root(diagonal), means)


def _apply(K: np.ndarray, statistics: Statistics, row_scale: np.ndarray | None, row_means: np.ndarray | None) -> None:
    if row_scale is not None and statistics.scale is not None:
        if (row_scale == 1).all() and (statistics.scale == 1).all():
            return
        compiled.scale(K, *(np.require(s, requirements=("C", "W")) for s in (row_scale, statistics.scale)))
    if row_means is not None and statistics.means is not None:
        for rows in row_blocks(len(K)):
            # Adding the two means first keeps (i, j) and (j, i) equal to the last bit.
            K[rows] -= (row_means[rows, None] + statistics.means) - statistics.mean
    if statistics.factor != 1:
        K *= statistics.factor


def inverse_root(diagonal: np.ndarray) -> np.ndarray:
    positive = diagonal > _TINY
    return np.where(positive, 1 / np.sqrt(np.where(positive, diagonal, 1.0)), 0.0)


def _inverse_variance(diagonal: np.ndarray, mean: float) -> float:
    """1 / (mean diagonal − mean entry), or 0 if the kernel is constant but for rounding."""
    variance = diagonal.mean() - mean
    return float(1 / variance) if variance > max(1e-12 * diagonal.mean(), _TINY) else 0.0
