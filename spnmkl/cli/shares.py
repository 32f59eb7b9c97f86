"""What carries the decision on rows that were not trained on: measured by `fit`, told by `inspect`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from spnmkl.cli.streams import read_model
from spnmkl.cli.terminal import Progress
from spnmkl.data import Dataset
from spnmkl.errors import Stopped
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import HeldOutShares, heaviest_paths
from spnmkl.reporting.sentences import inspection_lines, summary
from spnmkl.training.held_out import shares_on_folds, stored_shares
from spnmkl.training.prepared import Prepared
from spnmkl.training.settings import Settings
from spnmkl.training.train import Trained, after_a_moment


def measured_shares(
    trained: Trained,
    prepared: Prepared,
    dataset: Dataset,
    settings: Settings,
    args: argparse.Namespace,
    progress: Progress,
    stop: Callable[[], bool],
) -> HeldOutShares | None:
    """What carries the decision on the test rows, or on folds where these were asked for."""
    if not args.share_folds:
        return trained.held_out(prepared, args.threads, stop=after_a_moment(stop))
    try:
        return shares_on_folds(
            trained.solution,
            prepared.spn,
            dataset,
            prepared.choices,
            prepared.split,
            settings,
            prepared.train,
            folds=args.share_folds,
            n_threads=args.threads,
            max_memory=args.max_memory,
            tick=lambda words, done, total: progress.say(f"shares: {words}"),
            stop=stop,
        )
    except Stopped:
        return None


def _chosen(model: SPNMKLClassifier) -> list[str]:
    """What was chosen when it was trained, and why, where it was."""
    told = model.extra_.get("chosen")
    lines = [line for line in told if isinstance(line, str)] if isinstance(told, list) else []
    return ["chosen when it was trained:", *(f"  {line}" for line in lines)] if lines else []


def inspect_model(args: argparse.Namespace) -> int:
    model = read_model(args.model)
    paths, shares = heaviest_paths(model.solution_, args.paths), stored_shares(model, Path(args.model).name)
    if args.json:
        print(json.dumps(summary(model, paths, shares), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        print("\n".join([*inspection_lines(model, paths, shares), *_chosen(model)]))
    return 0
