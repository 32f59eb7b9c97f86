"""What the command line chooses by cross-validation: C of a given drawing, or all that was not given."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from spnmkl.cli.terminal import Progress
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.measures import SCORINGS
from spnmkl.solvers.deadline import Deadline
from spnmkl.training.choose import choose_C, nothing_done
from spnmkl.training.choosing import Choosing
from spnmkl.training.default import Default, chosen_in_time
from spnmkl.training.prepared import Prepared
from spnmkl.training.settings import Settings
from spnmkl.wording import counted

# Seconds, half of them for choosing: longer than on a page, because a command that is told how far it is can be waited
# for, and should answer the same on a slow machine.
LONGEST = 1200.0


def by_default(
    args: argparse.Namespace,
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    deadline: Deadline,
    progress: Progress,
    stop: Callable[[], bool],
) -> Default:
    """The drawing over all columns, with what was not asked for chosen by cross-validation."""
    return chosen_in_time(
        dataset,
        choices,
        split,
        settings,
        **_given(args),
        max_memory=args.max_memory,
        n_threads=args.threads,
        max_time=LONGEST if deadline.left is None else deadline.left,
        stop=stop,
        tick=progress.say,
    )


def chosen_by(args: argparse.Namespace, choices: Choices, settings: Settings, found: Default) -> Choosing | None:
    """The choice, to be made again in folds; None where there was none."""
    if found.choice is None:
        return None
    return Choosing(found.prepared.spn, choices, settings, max_time=args.max_time or LONGEST, **_given(args))


def _given(args: argparse.Namespace) -> dict[str, Any]:
    """What was asked for and is not chosen."""
    return {"weights": args.weights, "choose_C": args.C == "cv", "choose_steps": not args.prepare}


def best_C(
    prepared: Prepared, settings: Settings, deadline: Deadline, threads: int | None, progress: Progress
) -> tuple[Settings, str]:
    """The settings with the C of the best score on held-out folds, and that C in words."""
    progress.tell("choosing C by cross-validation: looking for the smallest C that is of use")
    limited = replace(settings, max_time=deadline.left)
    found = choose_C(prepared, limited, callback=progress.follow, n_threads=threads)
    if not found.best_C > 0:
        raise nothing_done(settings, "allow more with --max-time")
    done = np.isfinite(found.scores)
    measure = SCORINGS[found.scoring]
    best = f"{measure.title} {measure.text(float(found.mean[found.best_C == found.C][0]))}"
    folds = counted(int(done[found.best_C == found.C].sum()), "fold")
    cut = "" if done.all() else f"; stopped by --max-time after {done.sum()} of {counted(done.size, 'training')}"
    said = f"C = {found.best_C:.4g} by cross-validation: {best} on {folds}{cut}"
    return replace(settings, C=found.best_C), said
