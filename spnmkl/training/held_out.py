"""What carries the decision of a training on rows that it did not see: its test rows, or folds of the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy

import numpy as np
import pandas as pd

from spnmkl.circuit.source import interruptible
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.errors import DataError, ModelFileError, Stopped
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import DecisionParts, HeldOutShares, decision_parts, heaviest_paths
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
    views, paths, found, together = leaves_by_view(spn, dataset), _heaviest(solution), [], []
    for k, (train, test) in enumerate(fold_splits(y, folds, groups, split.seed)):
        seen = np.isin(y[test], y[train])  # of a class that all its groups hold out nothing was learned
        parts = Split(np.sort(rows[train]), np.sort(rows[test[seen]]))

        def word(words: str, k: int = k) -> None:
            say(f"fold {k + 1} of {folds}, {words}", k, folds)

        prepared = prepare(spn, dataset, choices, split, word, parts, max_memory)
        word("training")
        fold = learn(
            prepared.mapped,
            prepared.source,
            prepared.y_train,
            settings,
            n_threads=n_threads,
            stop=stop,
            warn=False,
        )
        if stop is not None and fold.status in UNFINISHED and stop():
            raise Stopped
        word("splitting the decision")
        if len(np.unique(prepared.y_train)) > 1 and len(prepared.test):
            found.append(_parts(fold, prepared, views, paths, n_threads, stop))
            together.append(prepared.test_groups)
        del prepared  # free before the next kernels are computed
    say("done", folds, folds)
    if not found:
        raise DataError(f"{LOST}: no fold has rows of the classes that were learned; {ADVICE}.")
    which = "training row" if split.test_share else "row"
    known = None if dataset.group is None else [group for group in together if group is not None]
    return HeldOutShares.of_parts(found, f"{folds} folds of {counted(len(rows), which)}", known)


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
