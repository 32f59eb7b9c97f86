"""``spnmkl suggest``: a drawing for a table, found by evidence."""

from __future__ import annotations

import argparse
import math
import shlex
import sys
from pathlib import Path

from spnmkl.cli.streams import STANDARD, target, write_spn
from spnmkl.cli.terminal import Progress, stop_on_interrupt, tell, warnings_as_sentences
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.measures import SCORINGS
from spnmkl.search import Score, SearchStep, Suggestion, Suggestions
from spnmkl.search.entry import Settings
from spnmkl.search.scores import errors_words
from spnmkl.search.table import suggest_in
from spnmkl.solvers.deadline import Deadline
from spnmkl.wording import number_text

STOPPED, LATE = 5, 6
WIDEST = 60  # letters of a drawing in the table


def suggest(args: argparse.Namespace, dataset: Dataset, choices: Choices) -> int:
    """Search, tell, write; the exit code tells whether it was stopped."""
    out = target(args.out or STANDARD, *args.data)
    settings = Settings(
        args.budget, args.scoring, args.subsamples, args.outer_folds, args.seed, -1 if args.jobs is None else args.jobs
    )
    progress = Progress(sys.stderr, args.progress or (sys.stderr.isatty() and not args.quiet))
    followed = _Followed(progress)
    with stop_on_interrupt(lambda: followed.begun) as stop, warnings_as_sentences():
        deadline = Deadline(args.max_time, stop.is_set)
        found = suggest_in(
            dataset, choices, SplitSettings(0.0, args.seed), settings, deadline, followed, share=args.held_out
        )
        progress.close()
    if args.out is not None:
        write_spn(found.recommended.spn, out)
    if not args.quiet:
        print("\n".join(told(found)), file=sys.stderr if args.out is not None and out is None else sys.stdout)
    if args.out is not None and out is not None and not args.quiet:
        tell(f"{saved_words(found)} is saved as {out}.")
        tell(how_to_fit(found.recommended, out))
    return STOPPED if stop.is_set() else LATE if found.ended == "stopped" else 0


def told(found: Suggestions) -> list[str]:
    """The suggestions as a table, and what they say."""
    measure = SCORINGS[found.best.score.scoring].title
    head = ["drawing", "over flat", "weights", "recurs", f"{measure}, certified", "by evidence"]
    rows = [head, *map(_row, found)]
    widths = [max(len(row[k]) for row in rows) for k in range(len(head))]
    lines = [_line(row, widths) for row in rows]
    lines += ["", found.sentence, *(f"{k}. {one.sentence}" for k, one in enumerate(found, 1))]
    shown = [score for one in found for score in (one.score, one.evidence_score)]
    if found.held_out:
        lines.append(f"Searched in {found.rows} rows; scores are of {found.held_out} other rows, in folds.")
    if found.outer is not None:
        search, flat = found.outer.search, found.outer.flat
        lines.append(f"Outer folds, the whole search in each: {search}; the flat sum: {flat}{search.beside_guessing}.")
        shown += [search, flat]
    return [*lines, *filter(None, [errors_words(shown)])]


def saved_words(found: Suggestions) -> str:
    """Which drawing is recommended: its place among them, and what it is."""
    one = found.recommended
    what = "the flat sum of all kernels" if one.is_flat else one.formula
    return f"Drawing {found.suggestions.index(one) + 1} of {len(found)}, {what},"


def how_to_fit(one: Suggestion, out: Path) -> str:
    """With which C its scores are reached, and which scores of it are none."""
    fit = f"spnmkl fit … --structure {shlex.quote(str(out))} --C"
    said = f"Train it on these tables with: {fit} cv"
    if one.C > 0:
        said = (
            f"Train it on these tables with: {fit} {one.C:.3g} (chosen by cross-validation on the rows searched; its "
            "scores with certified weights are at this C)"
        )
    if one.is_flat:
        return f"{said}."
    return (
        f"{said}. What fit --test-share, fit --nested and compare tell of it on these rows is a little too good, since "
        "the search saw them: go by the scores above, or keep rows in a file of their own before you search."
    )


def _line(cells: list[str], widths: list[int]) -> str:
    first, *others = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
    return "  ".join([first, *(f"{cell.strip():>{len(cell)}}" for cell in others)])


def _row(one: Suggestion) -> list[str]:
    short = one.formula if len(one.formula) <= WIDEST else one.formula[: WIDEST - 1] + "…"
    least = min(one.recurs.values(), default=math.nan)
    recurs = "" if math.isnan(least) else f"{100 * least:.0f} %"
    scores = [_value(one.score), _value(one.evidence_score)]
    return [short, number_text(one.over_flat, "+.1f"), str(len(one.weights)), recurs, *scores]


def _value(score: Score) -> str:
    if math.isnan(score.mean):
        return ""
    return str(score).removeprefix(SCORINGS[score.scoring].title).strip()


class _Followed:
    """Shows the best drawing so far, and knows whether there is one."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.begun, self.last = progress, False, ""

    def __call__(self, step: SearchStep) -> None:
        self.begun = self.begun or step.spn is not None
        best = f"; best so far: {step.formula}" if step.formula else ""
        words = f"{step.words}, {step.refits} of {step.budget} refits{best}"
        if self.progress.live or words != self.last:
            self.progress.tell(words)
        self.last = words
