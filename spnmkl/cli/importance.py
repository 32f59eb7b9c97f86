"""``spnmkl importance``: what views, or the columns of one, are worth on rows that were not trained on."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spnmkl.charts import to_html, to_png, to_svg
from spnmkl.cli.streams import target, write_table, written
from spnmkl.cli.terminal import Progress, stop_on_interrupt, tell, warnings_as_sentences
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import DataError, ParameterError
from spnmkl.importance import ColumnImportance, ImportanceStep, ViewImportance
from spnmkl.importance.columns import ColumnWork, measured_columns
from spnmkl.importance.folds import TableFolds, table_views
from spnmkl.importance.measuring import Measuring, given_C
from spnmkl.importance.restriction import FULL, Removals, removals
from spnmkl.importance.views import measured_views
from spnmkl.structure import SPN
from spnmkl.study.contest import Plan
from spnmkl.study.entrants import with_powers
from spnmkl.wording import name_some

STOPPED = 5
FIGURES: dict[str, Callable[[Any], str | bytes]] = {".svg": to_svg, ".png": to_png, ".html": to_html}
Found = ViewImportance | ColumnImportance


def outputs(args: argparse.Namespace) -> tuple[Path | None, Path | None, Path | None]:
    """Where the table, the figure and the folds go, checked before any work is done."""
    read = [*args.data, *filter(None, [args.structure])]
    out, figure, kept = (
        None if given is None else target(given, *read) for given in (args.out, args.figure, args.resume)
    )
    if args.figure is not None and (figure is None or figure.suffix.lower() not in FIGURES):
        raise ParameterError(f"--figure takes a file that ends in {', '.join(FIGURES)}, but it is {args.figure!r}.")
    if args.resume is not None and (kept is None or args.columns is not None):
        raise ParameterError("--resume takes the name of a file, and keeps views only; leave it out with --columns.")
    return out, figure, kept


def importance(args: argparse.Namespace, dataset: Dataset, spn: SPN, choices: Choices) -> int:
    """Measure, tell, write; the exit code tells whether it was stopped."""
    out, figure, kept = outputs(args)
    drawn = with_powers(spn, args.p)
    folds = TableFolds.of(
        drawn, dataset, choices, SplitSettings(0.0, args.seed), Plan(args.folds, args.repeats, scoring=args.scoring)
    )
    if folds.plan.folds < args.folds:
        tell(f"{folds.plan.folds} folds, as many as the smallest class and the groups allow.")
    views = table_views(drawn, dataset)
    if args.columns is None:
        left = removals(drawn, views, folds.known)
    else:
        left = Removals({FULL: drawn}, {}, {}, {})
    work = Measuring(left, folds, given_C(args.C), n_threads=args.threads, weights=args.weights)
    progress = Progress(sys.stderr, args.progress or (sys.stderr.isatty() and not args.quiet))
    followed = _Followed(progress)
    with stop_on_interrupt(lambda: followed.folds > 0) as stop, warnings_as_sentences():
        found: Found
        if args.columns is None:
            found = measured_views(work, followed, stop.is_set, _before(kept))
        else:
            found = measured_columns(ColumnWork(work, _chosen(args.columns, views)), followed, stop.is_set)
        progress.close()
    if kept is not None:
        with written(kept) as file:
            file.write_text(json.dumps(found.to_dict(), allow_nan=False), encoding="utf-8")
    if figure is not None and found.folds:
        drawn_figure = FIGURES[figure.suffix.lower()](found.figure())
        with written(figure) as file:
            file.write_bytes(drawn_figure.encode() if isinstance(drawn_figure, str) else drawn_figure)
    if args.out is not None:
        write_table(found.table, out, args.exact)
    if not args.quiet:
        print("\n".join(found.sentences), file=sys.stderr if args.out is not None and out is None else sys.stdout)
    return 0 if found.complete else STOPPED


def _chosen(view: str, views: dict[str, list[Any]]) -> list[Any]:
    if view not in views:
        raise DataError(f"There is no view {view!r} to look into; the views are {name_some(list(views))}.")
    return views[view]


def _before(kept: Path | None) -> ViewImportance | None:
    """The folds that an earlier run left in its file."""
    if kept is None or not kept.exists():
        return None
    try:
        return ViewImportance.from_dict(json.loads(kept.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        raise DataError(f"{str(kept)!r} holds no folds of an earlier run; remove it, or name another file.") from None


class _Followed:
    """Shows how it goes, and knows how many folds are done."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.folds = progress, 0

    def __call__(self, step: ImportanceStep) -> None:
        words = f"{step.words} · {step.done} of {step.total}"
        self.progress.say(words)
        if step.folds > self.folds and not self.progress.live:
            self.progress.tell(words)
        self.folds = step.folds
