"""Landmarks on the command line: where they are offered, what is proved with them, what they cannot be used with."""

from __future__ import annotations

import argparse

from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import DataError, ParameterError
from spnmkl.memory import available_memory
from spnmkl.reporting.sentences import certificate_sentence
from spnmkl.solvers.deadline import Deadline
from spnmkl.training.prepared import Prepared, Tick, kept
from spnmkl.training.room import ExactRoom
from spnmkl.training.settings import Settings
from spnmkl.training.train import Trained
from spnmkl.training.whole import certified_on_all_rows


def offered(dataset: Dataset, split: SplitSettings, choices: Choices, settings: Settings) -> list[str]:
    """That there are landmarks, where the exact way may not have the memory; where it cannot, it is refused."""
    if settings.approximation is not None:
        return []
    labelled = dataset.frame[dataset.label].notna().to_numpy() & kept(dataset, choices)
    n = round(int(labelled.sum()) * (1 - split.test_share))
    room = ExactRoom(n, settings, available_memory())
    words = room.words()
    if words is not None and not room.fits(room.least):
        raise DataError(words)
    return [] if words is None else [words]


def proved(trained: Trained) -> list[str]:
    """The certificate; of a training with landmarks, for which rows it is one."""
    found = None if trained.model is None else trained.model.approximation_
    return [certificate_sentence(trained.solution)] if found is None else found.sentences


def certified(
    trained: Trained, prepared: Prepared, settings: Settings, args: argparse.Namespace, deadline: Deadline, say: Tick
) -> Trained:
    """What was trained, with the certificate for all rows that `--certify` asks for."""
    if args.certify and trained.model is not None:
        found = trained.model.approximation_
        given = prepared, settings, trained.solution, found, args.certify
        found = certified_on_all_rows(*given, args.threads, deadline, say)
        trained.model.approximation_ = found
    return trained


def refuse_unsuited(args: argparse.Namespace) -> None:
    """What landmarks cannot be used with, and what is for them alone."""
    if args.certify and args.approximation is None:
        raise ParameterError(
            "--certify is for --approximation nystroem; without it the certificate is one for all rows anyway."
        )
    if args.approximation is not None and (args.nested or args.share_folds):
        raise ParameterError(
            f"{'--nested' if args.nested else '--share-folds'} trains on folds of all rows without an approximation, "
            "which landmarks are there to avoid; hold rows out with --test-share instead."
        )
