"""Columns that may not be what they are taken for: numbers that became text, groups that no option names, gaps."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from spnmkl.data import (
    Choices,
    Dataset,
    apart,
    guess_group,
    kept_rows,
    misread_text,
    refuse_missing,
)
from spnmkl.errors import ParameterError
from spnmkl.wording import counted


def mistyped(dataset: Dataset, args: argparse.Namespace) -> list[str]:
    """Notes on dates, and on columns that few values make text; also on those that were left out unasked."""
    asked = {*args.ignore, args.id}
    guessed = [name for name in dataset.ignored if name not in asked]
    return misread_text(dataset.labelled_table.frame[[*dataset.features, *dataset.adjust, *guessed]])


def ungrouped(dataset: Dataset, kept: Sequence[str]) -> list[str]:
    """A note where no group was named and a column to learn from looks like one."""
    return [
        f"{looks}; say --group {option} to keep groups together, or --ignore {option} to leave it out."
        for option, looks in _like_a_group(dataset, kept)
    ]


def refuse_ungrouped(dataset: Dataset, kept: Sequence[str]) -> None:
    """Scores over folds that tear groups apart are too good, and nobody would see it."""
    for option, looks in _like_a_group(dataset, kept):
        raise ParameterError(
            f"{looks}; folds with rows of one group on both sides would score too well: say --group {option} to keep "
            f"groups together, or --keep {option} to use it as any other column."
        )


def _like_a_group(dataset: Dataset, kept: Sequence[str]) -> list[tuple[str, str]]:
    """The column as an option names it, and how it looks."""
    features = dataset.labelled_table.frame[[name for name in dataset.features if name not in kept]]
    group = None if dataset.group is not None else guess_group(features, dataset.label)
    if group is None:
        return []
    n = features[group].nunique()
    each = counted(round(features[group].count() / n), "row")
    looks = f"Column {group!r} looks like it groups rows ({counted(n, 'value')}, about {each} each)"
    return [(shlex.quote(group), looks)]


def refuse_unfilled(dataset: Dataset, choices: Choices) -> None:
    """Missing values, unless something is chosen for them."""
    if choices.missing == "refuse":
        advice = "fill them with --missing mean or median, or leave them out with --missing drop-rows or drop-columns"
        of_views = "say --absent mean to let the average of the training rows stand for it, or --absent drop-rows to "
        of_views += "keep only the rows that have every view"
        frame, views = dataset.labelled_table.frame, apart(dataset.views, dataset.features)
        frame = frame[[*dataset.features, *dataset.adjust]]
        refuse_missing(frame[kept_rows(frame, views, choices)], advice, views, choices, of_views)
