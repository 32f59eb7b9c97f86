"""Tables that commands are given, as one data set, and what is to be done to their columns."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from spnmkl.cli.arguments import PREPARE
from spnmkl.cli.streams import STANDARD
from spnmkl.cli.terminal import tell
from spnmkl.data import (
    Choices,
    Dataset,
    Joined,
    Joining,
    Table,
    apart,
    contradictions,
    guess_group,
    headed_table,
    join_tables,
    kept_rows,
    lacking_rows,
    left_out,
    load_table,
    refuse_missing,
)
from spnmkl.errors import ParameterError
from spnmkl.training.bring import chosen_dataset
from spnmkl.wording import counted


def training_set(args: argparse.Namespace, choices: Choices) -> Dataset:
    """The tables to learn from, with notes on them; missing values are refused unless something is chosen for them."""
    dataset = asked_dataset(args)
    for note in (*left_out(dataset, choices), *contradictions(dataset, choices), *_ungrouped(dataset)):
        tell(note)
    refuse_what_is_missing(dataset, choices)
    return dataset


def _ungrouped(dataset: Dataset) -> list[str]:
    """A note where no group was named and a column to learn from looks like one."""
    features = dataset.labelled_table.frame[list(dataset.features)]
    group = None if dataset.group is not None else guess_group(features, dataset.label)
    if group is None:
        return []
    n, option = features[group].nunique(), shlex.quote(group)
    each = counted(round(features[group].count() / n), "row")
    return [
        f"Column {group!r} looks like it groups rows ({counted(n, 'value')}, about {each} each); say --group {option} "
        f"to keep groups together, or --ignore {option} to leave it out."
    ]


def refuse_what_is_missing(dataset: Dataset, choices: Choices) -> None:
    if choices.missing == "refuse":
        advice = "fill them with --missing mean or median, or leave them out with --missing drop-rows or drop-columns"
        frame, views = dataset.labelled_table.frame, apart(dataset.views, dataset.features)
        if choices.absent == "as missing" and lacking_rows(frame, views):
            advice += "; for rows that lack a whole view say --absent mean or drop-rows"
        frame = frame[[*dataset.features, *dataset.adjust]]
        refuse_missing(frame[kept_rows(frame, views, choices)], advice, views, choices)


def asked_choices(args: argparse.Namespace) -> Choices:
    asked = [given.rpartition("=") for given in args.prepare]
    for view, _, how in asked:
        if how not in PREPARE:
            where = f" for the view {view!r}" if view else ""
            raise ParameterError(f"--prepare expects one of {', '.join(PREPARE)}{where}, but found {how!r}.")
    steps = {view: {"none": "as is", "normal-ranks": "normal ranks"}.get(how, how) for view, _, how in asked}
    numeric, missing, absent = steps.pop("", "auto"), args.missing.replace("-", " "), args.absent.replace("-", " ")
    return Choices(numeric, missing, args.text, tuple(steps.items()), absent)


def asked_dataset(args: argparse.Namespace, say: bool = True) -> Dataset:
    """The tables as one data set; what was left out is said on stderr."""
    found, id_column = joined_tables(args)
    ignored = [*args.ignore, *filter(None, [id_column])]
    kept, columns = getattr(args, "keep", []), set(found.frame.columns)
    adjust = [name for given in args.adjust for name in ([given] if given in columns else given.split(","))]
    name = Path(args.data[0]).name if len(args.data) == 1 else counted(len(args.data), "file")
    dataset = chosen_dataset(name, found, args.label, group=args.group, ignored=ignored, kept=kept, adjust=adjust)
    for column in dataset.ignored if say else ():
        if column not in ignored:
            tell(f"Column {column!r} only tells rows apart and is left out; --keep it to use it.")
    return dataset


def joined_tables(args: argparse.Namespace, text_columns: Sequence[str] = ()) -> tuple[Joined, str | None]:
    """The table, or several joined, and the column by which they were."""
    joining = Joining("rows" if args.by_order else "id", args.id)
    found, id_column = join_tables([_table(given, text_columns, args.skip_lines) for given in args.data], joining)
    for note in found.notes:
        tell(note)
    return found, id_column


def _table(given: str, text_columns: Sequence[str], skip: int | None) -> Table:
    if given == STANDARD:
        return headed_table("stdin", sys.stdin.buffer.read(), text_columns, skip)
    return load_table(given, text_columns, skip)
