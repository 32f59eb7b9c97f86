"""Scores over folds and probabilities on the command line: what `spnmkl fit --nested` and `--probabilities` add."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from numpy.typing import NDArray

from spnmkl.cli.terminal import Progress, tell
from spnmkl.data import Dataset
from spnmkl.measures import SCORINGS
from spnmkl.reporting.sentences import measure_lines
from spnmkl.study.contest import Plan
from spnmkl.study.contest_words import about
from spnmkl.study.nested import resample
from spnmkl.training.calibrate import with_probabilities
from spnmkl.training.choosing import Choosing
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.prepared import Prepared
from spnmkl.training.run import calibrated
from spnmkl.training.settings import Settings
from spnmkl.training.train import Trained


def scored_over_folds(
    trained: Trained,
    prepared: Prepared,
    dataset: Dataset,
    settings: Settings,
    args: argparse.Namespace,
    progress: Progress,
    stop: Callable[[], bool],
    choosing: Choosing | None = None,
) -> tuple[Trained, FoldScores | None]:
    """What was trained, with scores and probabilities as far as they were asked for and there was time.

    In every fold what was chosen for it is chosen anew, C or all of `choosing`.
    """
    if args.nested and not stop():
        plan = Plan(folds=args.nested[0], repeats=args.nested[1])
        given = prepared.spn, dataset, prepared.choices, prepared.split, settings
        how: dict[str, Any] = {"chosen": args.C == "cv", "afresh": choosing or False}
        found = _followed(resample(*given, **how, plan=plan, tick=progress.say, stop=stop), progress)
        return (trained, None) if found is None else (replace(trained, model=calibrated(trained.model, found)), found)
    if args.probabilities:
        progress.say("calibrating probabilities")
        trained = with_probabilities(trained, prepared, settings, args.threads, stop)
        if trained.model is not None and trained.model.calibration_ is None:
            tell("No probabilities: the training was stopped before they were calibrated.")
    return trained, None


def _followed(scores: Iterable[FoldScores], progress: Progress) -> FoldScores | None:
    """The last of them; after each is told how many folds are done, and how long the others may take."""
    began, found = progress.clock(), None
    for done, found in enumerate(scores, 1):
        left = (progress.clock() - began) / done * (found.C.size - done)
        to_come = f"; {about(left)} left" if done < found.C.size else ""
        progress.tell(f"scores over folds: {done} of {found.C.size} folds done{to_come}")
    return found


def about_positive(classes: NDArray, args: argparse.Namespace) -> list[str]:
    """Of two classes, which one sensitivity is about where nobody said it, and how to say it."""
    if len(classes) != 2 or args.positive is not None:
        return []
    first, second = (str(name) for name in classes)
    return [
        f"sensitivity is of {second!r}, the second by name; where {first!r} is the class to be found, say "
        f"--positive {shlex.quote(first)}"
    ]


def over_folds(found: FoldScores | None, args: argparse.Namespace) -> list[str]:
    """The scores that `--nested` asked for, or why there are none."""
    if found is None:
        return ["no scores over folds: stopped before the first was done"] if args.nested else []
    return [found.sentence(), *measure_lines(found.measures(args.positive), SCORINGS[found.scoring].title)]
