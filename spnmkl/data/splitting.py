"""Which rows to train on and which to test on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupShuffleSplit, train_test_split

from spnmkl.data.dataset import Dataset
from spnmkl.data.table import check_columns
from spnmkl.errors import DataError
from spnmkl.wording import counted, quoted

_DRAWS = 100


@dataclass(frozen=True)
class SplitSettings:
    """How to split: the share of rows held out, 0 for none, and the seed."""

    test_share: float = 0.25
    seed: int = 0


@dataclass(frozen=True, eq=False)
class Split:
    """Positions of rows, in order."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]


def split_rows(dataset: Dataset, test_share: float = 0.25, seed: int = 0, group: str | None = None) -> Split:
    """Split at random with about the same share of each class on both sides.

    Parameters
    ----------
    dataset : Dataset
        With a label in every row.
    test_share : float
        Between 0 and 1.
    seed : int
    group : str, optional
        The column whose values stay on one side, such as patients; by default the dataset's own.
    """
    if not 0 < test_share < 1:
        raise DataError(f"The share of test rows must be between 0 and 1, but it is {test_share:g}.")
    y, group = dataset.y, group or dataset.group
    classes, counts = np.unique(y, return_counts=True)
    if not len(y):
        raise DataError(f"No row has a label in column {quoted(dataset.label)}; choose another column, or fill it in.")
    if counts.min() < 2:
        raise DataError(
            f"Class {quoted(classes[counts.argmin()])} has 1 row, but two are needed, to train on and to test on; add "
            "rows of it, or leave it out."
        )
    if group is None:
        return _stratified(y, len(classes), test_share, seed)
    return _by_group(y, _groups(dataset.frame, group), group, test_share, seed)


def _stratified(y: NDArray, n_classes: int, test_share: float, seed: int) -> Split:
    rows = np.arange(len(y))
    n_test = round(test_share * len(y))
    fewest = min(n_test, len(y) - n_test)
    if fewest < n_classes:
        side = "test" if n_test == fewest else "training"
        raise DataError(
            f"A test share of {test_share:g} gives {counted(fewest, side + ' row')}, but each of {n_classes} classes "
            "needs one; choose another share."
        )
    train, test = train_test_split(rows, test_size=n_test, stratify=y, random_state=seed)
    return Split(np.sort(train), np.sort(test))


def _groups(frame: pd.DataFrame, group: str) -> NDArray[np.intp]:
    check_columns(frame, [group])
    missing = int(frame[group].isna().sum())
    if missing:
        raise DataError(f"The group {quoted(group)} is missing in {counted(missing, 'row')}; fill these rows.")
    return pd.factorize(frame[group])[0]


def _by_group(y: NDArray, groups: NDArray[np.intp], name: str, test_share: float, seed: int) -> Split:
    classes, codes = np.unique(y, return_inverse=True)
    for c, label in enumerate(classes):
        if len(np.unique(groups[codes == c])) < 2:
            raise DataError(
                f"Class {quoted(label)} stands in one group of {quoted(name)} only, but two are needed, to train on "
                "and to test on; choose another group, or none."
            )
    counts = np.bincount(codes)
    best = min(
        _draws(groups, test_share, seed), key=lambda rows: _unevenness(codes, rows, counts, test_share), default=None
    )
    if best is None or np.isinf(_unevenness(codes, best, counts, test_share)):
        raise DataError(
            f"No split by {quoted(name)} has every class in both parts at a test share of {test_share:g}; choose "
            "another share, another group, or none."
        )
    return Split(np.setdiff1d(np.arange(len(y)), best), best)


def _draws(groups: NDArray[np.intp], test_share: float, seed: int) -> Iterator[NDArray[np.intp]]:
    n_groups = groups.max() + 1
    n_test = min(max(round(test_share * n_groups), 1), n_groups - 1)
    splitter = GroupShuffleSplit(_DRAWS, test_size=int(n_test), random_state=seed)
    for _, test in splitter.split(groups, groups=groups):
        yield np.sort(test)


def _unevenness(codes: NDArray[np.intp], test: NDArray[np.intp], counts: NDArray[np.intp], share: float) -> float:
    """The largest distance of a class's share of test rows from what was asked; infinite if a side lacks it."""
    shares = np.bincount(codes[test], minlength=len(counts)) / counts
    return np.inf if (shares == 0).any() or (shares == 1).any() else float(np.abs(shares - share).max())
