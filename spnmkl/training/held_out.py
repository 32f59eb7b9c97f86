"""What carries the decision of a training on rows that it did not see: its test rows, or folds of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from copy import copy
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.circuit.source import interruptible
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.errors import DataError, ModelFileError, Stopped
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import DecisionParts, HeldOutShares, decision_parts, heaviest_paths
from spnmkl.parallel import Place, in_order, side_by_side
from spnmkl.selection.folds import fold_splits
from spnmkl.selection.results import UNFINISHED
from spnmkl.solution import Solution
from spnmkl.structure import SPN, Path
from spnmkl.training.choose import FOLDS, most_folds
from spnmkl.training.learn import learn
from spnmkl.training.prepared import Prepared, Rows, leaves_by_view, prepare
from spnmkl.training.settings import Settings
from spnmkl.wording import counted

MOST_PATHS = 100  # whose shares are kept
LOST, ADVICE = "Shares cannot be measured on folds", "add rows, or leave the class out"
STORED = "held_out"  # in what a model file keeps beside the model


def shares_on_test_rows(
    solution: Solution,
    prepared: Prepared,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> HeldOutShares | None:
    """The shares of nodes, views and the heaviest paths on the rows held out; None without such rows, or stopped."""
    if not len(prepared.test):
        return None
    try:
        parts = _parts(solution, prepared, prepared.views, _heaviest(solution), n_threads, stop)
    except Stopped:
        return None
    groups = None if prepared.test_groups is None else [prepared.test_groups]
    return HeldOutShares.of_parts([parts], counted(len(prepared.test), "test row"), groups)


def shares_on_folds(
    solution: Solution,
    spn: SPN,
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    rows: Rows,
    *,
    folds: int = FOLDS,
    n_threads: int | None = None,
    max_memory: float | None = None,
    tick: Callable[[str, int, int], object] | None = None,
    stop: Callable[[], bool] | None = None,
) -> HeldOutShares:
    """The same on every row that was trained on, held out in turn; preparation, kernels and weights anew in each fold.

    Parameters
    ----------
    solution : Solution
        Of the whole: its heaviest paths are told apart.
    spn, dataset, choices, split, settings
        As it was trained; the split tells the seed.
    rows : ndarray of int
        The rows it was trained on, by position in the data set's frame.
    folds : int
        Fewer where the smallest class or the groups allow no more.
    tick : callable, optional
        Called with a word, the folds done, and all of them; it may raise to stop.
    stop : callable, optional
        Asked within trainings; true raises `Stopped`.
    """
    say = tick or (lambda words, done, total: None)
    y, groups = solution.y, None if dataset.group is None else pd.factorize(dataset.frame[dataset.group].iloc[rows])[0]
    folds = most_folds(y, groups, folds, lost=LOST, advice=ADVICE, every_class=False)
    work = _Folds(spn, dataset, choices, split, settings, max_memory, _heaviest(solution), folds)
    items, done = list[tuple[int, Split]](), 0
    for k, (train, test) in enumerate(fold_splits(y, folds, groups, split.seed)):
        seen = np.isin(y[test], y[train])  # of a class that all its groups hold out nothing was learned
        items.append((k, Split(np.sort(rows[train]), np.sort(rows[test[seen]]))))
    found, together = [], []
    running = side_by_side(
        _fold_parts, work, items, n_threads=n_threads, stop=stop, say=lambda words: say(words, done, folds)
    )
    with closing(running) as parts:
        for one, test_groups in in_order(parts):
            done += 1
            if one is not None:
                found.append(one)
                together.append(test_groups)
    if done < folds:
        raise Stopped
    say("done", folds, folds)
    if not found:
        raise DataError(f"{LOST}: no fold has rows of the classes that were learned; {ADVICE}.")
    which = "training row" if split.test_share else "row"
    known = None if dataset.group is None else [group for group in together if group is not None]
    return HeldOutShares.of_parts(found, f"{folds} folds of {counted(len(rows), which)}", known)


@dataclass(frozen=True, eq=False)
class _Folds:
    """What all folds share."""

    spn: SPN
    dataset: Dataset
    choices: Choices
    split: SplitSettings
    settings: Settings
    max_memory: float | None
    paths: list[Path]
    folds: int


def _fold_parts(
    work: _Folds, item: tuple[int, Split], place: Place
) -> Iterator[tuple[int, tuple[DecisionParts | None, NDArray | None]]]:
    """The decision on the rows that a fold holds out, taken apart, and the groups of these rows."""
    number, rows = item

    def word(words: str) -> None:
        place.say(f"fold {number + 1} of {work.folds}, {words}")

    prepared = prepare(work.spn, work.dataset, work.choices, work.split, word, rows, work.max_memory)
    word("training")
    kernels, settings = (prepared.mapped, prepared.source, prepared.y_train), work.settings
    fold = learn(*kernels, settings, n_threads=place.n_threads, stop=place.stop, warn=False)
    if fold.status in UNFINISHED and place.stop():
        raise Stopped
    word("splitting the decision")
    found = None
    if len(np.unique(prepared.y_train)) > 1 and len(prepared.test):
        views = leaves_by_view(work.spn, work.dataset)
        found = _parts(fold, prepared, views, work.paths, place.n_threads, place.stop)
    yield number, (found, prepared.test_groups)


def _parts(
    solution: Solution,
    prepared: Prepared,
    views: Mapping[str, tuple[str, ...]],
    paths: list[Path],
    n_threads: int | None,
    stop: Callable[[], bool] | None,
) -> DecisionParts:
    cross, source = prepared.test_tiles, prepared.source
    if stop is not None:
        cross, source = interruptible(cross, stop), interruptible(source, stop)
    return decision_parts(solution, cross, prepared.y_test, source, views=views, paths=paths, n_threads=n_threads)


def _heaviest(solution: Solution) -> list[Path]:
    return [path.path for path in heaviest_paths(solution, MOST_PATHS)]


def keeping_shares(model: SPNMKLClassifier | None, shares: HeldOutShares | None) -> SPNMKLClassifier | None:
    """A copy of the model that takes its shares into its file."""
    if model is None or shares is None:
        return model
    copied = copy(model)
    copied.extra_ = model.extra_ | {STORED: shares.to_dict()}
    return copied


def stored_shares(model: SPNMKLClassifier, name: str) -> HeldOutShares | None:
    """What was kept with a model; None where nothing was."""
    if (stored := model.extra_.get(STORED)) is None:
        return None
    try:
        shares = HeldOutShares.from_dict(stored)
    except ValueError as error:
        raise ModelFileError(f"The model file {name!r} is damaged: {error}; save the model again.") from None
    if shares.nodes.keys() != set(model.solution_.spn.nodes):
        raise ModelFileError(
            f"The model file {name!r} is damaged: its held-out shares are of another drawing; save the model again."
        )
    return shares
