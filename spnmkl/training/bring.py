"""From tables to a data set, and from a template to a structure over its columns."""

from __future__ import annotations

from collections.abc import Collection

from spnmkl.data import Choices, Dataset, Joined, Preparation, SplitSettings, fill_template, identifiers
from spnmkl.structure import SPN
from spnmkl.training.prepared import labelled_parts


def guessed_dataset(name: str, found: Joined) -> Dataset:
    """What the columns look like: label, group, identifiers, and views where files or names tell them."""
    dataset = Dataset.guess(name, found.frame, found.matrices)
    return dataset.with_views(found.views) if found.views else dataset


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
    """What somebody said of the columns; those that only tell rows apart are ignored too, unless they are kept.

    Parameters
    ----------
    name : str
    found : Joined
    label : str or None
    group : str, optional
    ignored : collection of str
        Columns to leave out.
    kept : collection of str
        Columns to use though they look like identifiers.
    adjust : collection of str
        Columns to adjust for.
    """
    given = tuple(dict.fromkeys(ignored)), tuple(dict.fromkeys(adjust))
    dataset = Dataset(name, found.frame, label, given[0], {}, group, found.matrices, given[1])
    left_out = [c for c in identifiers(found.frame[list(dataset.features)]) if c not in kept]
    dataset = dataset.with_ignored([*dataset.ignored, *left_out])
    return dataset.with_views(found.views) if found.views else dataset.views_by_prefix()


def filled_template(name: str, dataset: Dataset, choices: Choices, split: SplitSettings) -> SPN:
    """A template over the columns that training uses, in groups by view."""
    preparation = Preparation.of(dataset, choices, labelled_parts(dataset, split)[0].train)
    matrices = tuple(dataset.matrices)
    return fill_template(name, preparation.numeric, preparation.text, dataset.feature_views or None, matrices)
