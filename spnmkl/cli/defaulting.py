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
from spnmkl.reporting.doubts import lacks_products
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.training.choose import choose_C, nothing_done
from spnmkl.training.choosing import Choosing
from spnmkl.training.default import Default, chosen_in_time
from spnmkl.training.prepared import Prepared
from spnmkl.training.settings import Settings
from spnmkl.wording import counted, listed

# Seconds, half of them for choosing: longer than on a page, because a command that is told how far it is can be waited
# for, and should answer the same on a slow machine.
LONGEST = 1200.0
_NAMED = 12  # kernels of a drawing that are told


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


def drawn(spn: SPN) -> str:
    """What is trained where nobody drew; a width is told as a multiple of gamma, as the labels of kernels have it."""
    labels = [spn.label(leaf) for leaf in spn.kernels]
    widths = any("*" in str(dict(spn.spec(leaf).params).get("gamma")) for leaf in spn.kernels)
    what = f"one kernel, {labels[0]}" if len(labels) == 1 else f"a sum of {counted(len(labels), 'kernel')}: "
    what += listed(labels[:_NAMED] + [f"{len(labels) - _NAMED} more"] * (len(labels) > _NAMED)) * (len(labels) > 1)
    told = "; a number below 1 makes an rbf kernel wider than the median distance, one above 1 narrower" * widths
    return f"Drawing: {what}{told}."


def lacking(found: Default) -> list[str]:
    """What the drawing may miss, where the choice did not get far above guessing."""
    if found.choice is None:
        return []
    best, columns = found.choice.best, found.prepared.preparation.outputs
    said = lacks_products(found.prepared.spn, columns, best.score, found.choice.guess, "spnmkl suggest")
    return [said] if said else []


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
