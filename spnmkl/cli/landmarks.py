"""Landmarks on the command line: where they are offered, what is proved with them, what they cannot be used with."""

from __future__ import annotations

import argparse

from spnmkl.data import Dataset, SplitSettings
from spnmkl.errors import ParameterError
from spnmkl.memory import available_memory
from spnmkl.reporting.sentences import certificate_sentence
from spnmkl.training.room import offer_of_landmarks
from spnmkl.training.train import Trained


def offered(args: argparse.Namespace, dataset: Dataset, split: SplitSettings) -> list[str]:
    """That there are landmarks, where there are more rows than the exact way has memory for and none were asked for."""
    n = int(dataset.frame[dataset.label].notna().sum()) * (1 - split.test_share)
    offer = offer_of_landmarks(round(n), available_memory()) if args.approximation is None else None
    return [] if offer is None else [offer]


def proved(trained: Trained) -> list[str]:
    """The certificate; of a training with landmarks, for which rows it is one."""
    found = None if trained.model is None else trained.model.approximation_
    return [certificate_sentence(trained.solution)] if found is None else found.sentences


def refuse_folds_of_landmarks(args: argparse.Namespace) -> None:
    if args.approximation is not None and (args.nested or args.share_folds):
        raise ParameterError(
            f"{'--nested' if args.nested else '--share-folds'} trains on folds of all rows without an approximation, "
            "which landmarks are there to avoid; hold rows out with --test-share instead."
        )
