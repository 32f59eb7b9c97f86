"""Which rows weights are learned on, and by which settings: some of every class, all of them where they are few."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.problem import sample_weights
from spnmkl.training.settings import Settings

_FEWEST = 50  # rows of a class, where it has as many and the sample room for them


@dataclass(frozen=True)
class Sample:
    """Rows drawn at random within their classes.

    Attributes
    ----------
    rows : (s,) in ascending order.
    weight : (s,) what a row counts, on average 1: more in a class of which a smaller share was drawn.
    """

    rows: NDArray[np.intp]
    weight: Floats


def stratified(y: NDArray, size: int, rng: np.random.Generator) -> Sample:
    """About `size` rows, of every class in proportion to its rows, but no fewer than 50 where there are as many."""
    codes = np.unique(y, return_inverse=True)[1]
    if size >= len(y):
        return Sample(np.arange(len(y)), np.ones(len(y)))
    counts = np.bincount(codes)
    fewest = max(1, min(_FEWEST, size // (2 * len(counts))))
    drawn = np.maximum(np.rint(counts * (size / len(y))).astype(int), np.minimum(counts, fewest))
    picked = [rng.choice(np.flatnonzero(codes == c), k, replace=False) for c, k in enumerate(drawn)]
    rows = np.sort(np.concatenate(picked))
    weight = (counts / drawn)[codes[rows]]
    return Sample(rows, weight / weight.mean())


@dataclass(frozen=True, eq=False)
class Part:
    """The rows that weights are learned on.

    Attributes
    ----------
    rows : ndarray of int
        Which of the training rows, in ascending order.
    weight : ndarray or None
        What each of them counts there.
    settings : Settings
        By which to learn there.
    whole : ndarray
        What every training row counts; empty where these are all.
    """

    rows: NDArray[np.intp]
    weight: Floats | None
    settings: Settings
    whole: Floats = field(default_factory=lambda: np.empty(0))


def sampled_part(y: NDArray, size: int, seed: int, weight: Floats | None, settings: Settings) -> Part:
    """About `size` rows of all, as `stratified` draws them."""
    return part_of(stratified(y, size, np.random.default_rng(seed)), y, weight, settings)


def part_of(sample: Sample, y: NDArray, weight: Floats | None, settings: Settings) -> Part:
    """A sample of all rows, on which λ is multiplied by its share of the rows.

    At the same kernel and C, ‖w‖² of an SVM is about proportional to the number of rows, and so is the best
    λ Σ_v c_v β_v^{p_v}: weights that suit all rows come of a λ that is as much smaller as the sample is. (A larger C
    instead would fit the sample alone.)
    """
    classes, codes = np.unique(y, return_inverse=True)
    whole = sample_weights(len(y), codes, classes, weight, settings.class_weight)
    own = replace(settings, class_weight=None, lam=settings.lam * len(sample.rows) / len(y))
    return Part(sample.rows, whole[sample.rows] * sample.weight, own, whole)
