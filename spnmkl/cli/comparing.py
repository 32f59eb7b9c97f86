"""``spnmkl compare``: a structure and other methods on the same folds."""

from __future__ import annotations

import argparse
import math
import sys
import time
from dataclasses import replace
from pathlib import Path

from spnmkl.charts.comparison import methods_chart
from spnmkl.cli.importance import FIGURES, STOPPED
from spnmkl.cli.streams import target, write_table, written
from spnmkl.cli.terminal import Progress, stop_on_interrupt, tell, warnings_as_sentences
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import ParameterError, Stopped
from spnmkl.parameters import CHOSEN
from spnmkl.structure import SPN
from spnmkl.study.contest import Contest, Entry, Plan, Portrait, compete, fitting_plan
from spnmkl.study.contest_words import about, against, errors_words, ranking_words, score_text, verdict
from spnmkl.study.entrants import OWN, Drawn, Entrants, entrants, titled
from spnmkl.training.settings import Settings
from spnmkl.wording import counted, name_some


def outputs(args: argparse.Namespace) -> tuple[Path | None, Path | None]:
    """Where the table and the figure go, checked before any work is done."""
    out, figure = (
        None if given is None else target(given, *args.data, *filter(None, [args.structure]))
        for given in (args.out, args.figure)
    )
    if args.figure is not None and (figure is None or figure.suffix.lower() not in FIGURES):
        raise ParameterError(f"--figure takes a file that ends in {', '.join(FIGURES)}, but it is {args.figure!r}.")
    return out, figure


def compare(args: argparse.Namespace, dataset: Dataset, spn: SPN, choices: Choices) -> int:
    """Train, tell, write; the exit code tells whether it was stopped."""
    out, figure = outputs(args)
    split = SplitSettings(0.0, args.seed)
    chosen, settings = args.weights == CHOSEN, Settings(p=args.p, scoring=args.scoring)
    drawn = Drawn.by_default(spn, settings) if chosen else Drawn.of(spn, replace(settings, weights=args.weights))
    who = _chosen(entrants(drawn, dataset, choices), args.methods)
    plan = fitting_plan(Plan(args.folds, args.repeats, scoring=args.scoring), who.pool, dataset, choices, split)
    if plan.folds < args.folds:
        tell(f"{plan.folds} folds, as many as the smallest class and the groups allow.")
    contest = _followed(args, who, dataset, choices, split, plan)
    summary = contest.summary(args.scoring)
    called = "the default" if args.structure is None else "the structure"
    summary = summary.assign(method=[_named(name, called) for name in summary["method"]])
    if figure is not None and len(summary):
        chart = methods_chart(summary, _named(contest.reference, called), args.scoring)
        drawing = FIGURES[figure.suffix.lower()](chart)
        with written(figure) as file:
            file.write_bytes(drawing.encode() if isinstance(drawing, str) else drawing)
    if args.out is not None:
        write_table(summary, out, args.exact)
    if not args.quiet:
        print("\n".join(_lines(contest, args.scoring, called)), file=sys.stderr if args.out == "-" else sys.stdout)
    return 0 if contest.complete else STOPPED


def _named(method: str, called: str) -> str:
    """As it is called on the screen, in the file and in the figure; `called` is what was drawn."""
    return titled(method).replace(OWN, called)


def _chosen(everyone: Entrants, names: list[str] | None) -> Entrants:
    if names is None:
        return everyone
    known = {titled(name): name for name in everyone.methods if name not in everyone.drawn}
    known |= {name: name for name in known.values()}
    for name in names:
        if name not in known:
            raise ParameterError(
                f"There is no method {name!r} for these data; there are {name_some(list(dict.fromkeys(known)), 20)}."
            )
    return everyone.among([known[name] for name in names])


def _followed(
    args: argparse.Namespace, who: Entrants, dataset: Dataset, choices: Choices, split: SplitSettings, plan: Plan
) -> Contest:
    """What came out until the end, or until Ctrl-C."""
    progress = Progress(sys.stderr, args.progress or (sys.stderr.isatty() and not args.quiet))
    contest, began = Contest.of(who, plan, dataset, choices, split), time.monotonic()
    results: list[Entry | Portrait] = []
    *_, last = who.methods
    with stop_on_interrupt(lambda: len(results) > 0) as stop, warnings_as_sentences():

        def tick(words: str) -> None:
            if stop.is_set():
                raise Stopped
            progress.say(words)

        try:
            for found in compete(who, dataset, choices, split, plan, tick, stop.is_set):
                results.append(found)
                progress.tell(_how_far(replace(contest, results=tuple(results)), time.monotonic() - began))
                if not progress.shown and not args.quiet and isinstance(found, Entry) and found.method == last:
                    tell(f"Round {found.repeat}, fold {found.fold} of {plan.folds} is done.")
        except Stopped:
            pass
        progress.close()
    return replace(contest, results=tuple(results))


def _how_far(contest: Contest, elapsed: float) -> str:
    """The last training, how many are done, and how long the others will take as soon as that can be told."""
    last, left = contest.results[-1], contest.seconds_left(elapsed)
    where = f"fold {last.fold}, " if isinstance(last, Entry) else "all rows, "
    to_come = "" if math.isnan(left) or contest.complete else f" · {about(left)} left"
    return f"{where}{titled(last.method)} · {len(contest.results)} of {contest.total} trainings{to_come}"


def _lines(contest: Contest, measure: str, called: str) -> list[str]:
    """A table as wide as its longest name, and what it says; `called` is what was drawn."""
    summary = contest.summary(measure).sort_values("mean", ascending=False, kind="stable")
    names = [_named(name, called) for name in summary["method"]]
    rows = summary.to_dict("records")
    scores = [score_text(row, measure) for row in rows]
    widths = [max(map(len, texts), default=0) for texts in (names, scores)]
    table = [
        f"{name:<{widths[0]}}  {score:>{widths[1]}}  {against(row)}".rstrip()
        for name, score, row in zip(names, scores, rows, strict=True)
    ]
    said = [_rows(contest), ranking_words(contest, measure), errors_words(contest, measure)]
    said += [verdict(contest, measure), _chose(contest)]
    return [*table, *(line.replace(OWN, called) for line in (*said, *contest.remarks) if line)]


def _rows(contest: Contest) -> str:
    """On which rows it was measured."""
    plan = contest.plan
    rounds = f", {plan.repeats} times over" if plan.repeats > 1 else ""
    done = "" if contest.complete else f"; {counted(contest.n_shared, 'fold')} done by all methods"
    return (
        f"Scores are of rows not trained on: {plan.folds} folds of {counted(contest.n_rows, 'row')}{rounds}{done}. "
        "All settings are chosen within each training part."
    )


def _chose(contest: Contest) -> str:
    """What was chosen in how many folds, where the drawing is trained as chosen there."""
    entries = contest.table[contest.table["method"] == contest.reference]
    times = [f"{kind} in {n}" for kind, n in entries["setting"].value_counts().items() if kind]
    return f"Within the training parts {contest.reference} chose {', '.join(times)} of {len(entries)}." if times else ""
