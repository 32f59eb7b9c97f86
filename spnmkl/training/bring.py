"""From tables to a data set, and from a template to a structure over its columns."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from spnmkl.data import (
    Choices,
    Dataset,
    Joined,
    Preparation,
    SplitSettings,
    Suggestion,
    fill_template,
    identifiers,
    suggestions,
)
from spnmkl.data.dataset import has_few_values, repeated_labels, row_counts
from spnmkl.data.options import LABEL_NAMES
from spnmkl.errors import DataError
from spnmkl.structure import SPN
from spnmkl.training.prepared import kept, labelled_parts
from spnmkl.wording import name_some, quoted


def guessed_dataset(name: str, found: Joined) -> Dataset:
    """What the columns look like: label, group, identifiers, and views where files or names tell them."""
    dataset = Dataset.guess(name, found.frame, found.matrices, found.views)
    if not found.views:
        return dataset
    alone = labels_alone(found)
    if alone is not None and str(dataset.label).lower() not in LABEL_NAMES:
        dataset = dataset.with_label(alone)
    return dataset.with_views(_but_labels(found, dataset.label))


def labels_alone(found: Joined) -> str | None:
    """The column of the one file that has nothing but a column of few values, beside the ids."""
    single = [columns[0] for columns in found.views.values() if len(columns) == 1]
    labels = [column for column in single if has_few_values(found.frame[column])]
    return labels[0] if len(labels) == 1 < len(found.views) else None


def _but_labels(found: Joined, label: str | None) -> dict[str, tuple[str, ...]]:
    """A file of labels alone is no view."""
    return {view: columns for view, columns in found.views.items() if columns != (label,)}


def roles_of_others(dataset: Dataset, joined: bool) -> list[str]:
    """What the columns are for that are no features, but for the label and the group.

    `joined` is whether the data are of several files, which ids brought together.
    """
    ids = identifiers(dataset.frame[list(dataset.ignored)])
    others = [name for name in dataset.ignored if name not in ids]
    first = list(dataset.frame.columns[:1])  # of joined files their ids
    role = "joins the files" if joined and ids[:1] == first else "tells the rows apart"
    said = [f"{quoted(ids[0])} {role} and is no feature."] if ids else []
    left = [*ids[1:], *others]
    return said + ([f"Left out: {name_some(left, 3)}."] if left else [])


def chosen_dataset(
    name: str,
    found: Joined,
    label: str | None,
    *,
    group: str | None = None,
    ignored: Collection[str] = (),
    kept: Collection[str] = (),
    adjust: Collection[str] = (),
) -> Dataset:
    """What somebody said of the columns; those that only tell rows apart, or the label once more, are ignored too,
    unless they are kept.

    Parameters
    ----------
    name : str
    found : Joined
    label : str or None
    group : str, optional
    ignored : collection of str
        Columns to leave out.
    kept : collection of str
        Columns to use though they look like identifiers, or like the label of another file.
    adjust : collection of str
        Columns to adjust for.
    """
    given = tuple(dict.fromkeys(ignored)), tuple(dict.fromkeys(adjust))
    dataset = Dataset(name, found.frame, label, given[0], {}, group, found.matrices, given[1])
    alike = identifiers(found.frame[list(dataset.features)], found.views)
    left_out = [c for c in [*alike, *repeated_labels(found.frame, label)] if c in dataset.features and c not in kept]
    dataset = dataset.with_ignored([*dataset.ignored, *left_out])
    counts = [c for c in row_counts(found.frame[list(dataset.features)]) if c not in kept]
    dataset = dataset.with_ignored([*dataset.ignored, *counts])
    return dataset.with_views(_but_labels(found, label)) if found.views else dataset.views_by_prefix()


def filled_template(name: str, dataset: Dataset, choices: Choices, split: SplitSettings) -> SPN:
    """A template over the columns that training uses, in groups by view."""
    preparation = Preparation.of(dataset, choices, labelled_parts(dataset, split)[0].train)
    matrices = tuple(dataset.matrices)
    return fill_template(name, preparation.numeric, preparation.text, dataset.feature_views or None, matrices)


def training_suggestions(
    dataset: Dataset, choices: Choices, split: SplitSettings, train: NDArray[np.intp] | None = None
) -> dict[str, Suggestion]:
    """What the training rows, or all where they cannot be split, say is to be done to the numbers of each view.

    `train` are other rows to train on than those of the split.
    """
    try:
        rows = labelled_parts(dataset, split)[0].train if train is None else train
    except DataError:
        rows = np.arange(len(dataset.frame))
    return suggestions(dataset, rows[kept(dataset, choices)[rows]])
