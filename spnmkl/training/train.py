"""One training, and what is kept of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.calibration import probabilities, relearned, scaling
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, interruptible
from spnmkl.data import Choices, Dataset, Preparation, SplitSettings
from spnmkl.errors import Stopped
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import HeldOutShares
from spnmkl.landmarks import Approximation, warn_of_rough_svm
from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.selection.folds import fold_splits
from spnmkl.selection.results import UNFINISHED
from spnmkl.solution import Record, Solution
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.training.branches import BranchEvidence
from spnmkl.training.choose import FOLDS, most_folds
from spnmkl.training.choosing import Choosing
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.held_out import keeping_shares, shares_on_folds, shares_on_test_rows
from spnmkl.training.learn import learn
from spnmkl.training.prepared import Prepared, Tick
from spnmkl.training.scores import Scores, score, unscored
from spnmkl.training.settings import Settings
from spnmkl.training.trained_rows import described_rows
from spnmkl.training.whole import learning_part, on_all_rows, refitted_by_landmarks
from spnmkl.wording import counted

Rows = NDArray[np.intp]
SCORED_ROWS = 500  # at a time
LOST_PROBABILITIES = "Probabilities cannot be calibrated"
MOMENT = 1.0  # seconds for the scores of a training that was stopped


@dataclass(frozen=True, eq=False, kw_only=True)
class Run:
    """A training that was done. It holds no n×n matrix; `prepare` computes them again when they are needed.

    Attributes
    ----------
    spn : SPN
        As drawn; `solution.spn` has the same nodes over the columns that kernels see.
    model : SPNMKLClassifier or None
        For new rows, with the preparation beside it; None where a leaf is a given matrix.
    train_scores, test_scores : Scores
        Unscored where the training was stopped and they would have taken long.
    seconds : float
        Of solving, without the kernels.
    train, test : ndarray of int
        Positions of the rows in the data set's frame; where weights were learned on a sample, `train` is that sample.
    views : dict from view to leaves
    held_out : HeldOutShares or None
        What carries the decision on rows not trained on: the test rows, or folds; None where it was not measured.
    fold_scores : FoldScores or None
        Of other trainings by the same drawing and settings, on folds of the training rows.
    importance : mapping or None
        What views and columns are worth, as `spnmkl.importance` writes it.
    branches : mapping from sum to BranchEvidence
        What evidence says of the branches below it, where it was asked.
    choosing : Choosing or None
        What was chosen for it by cross-validation, where all of it can be chosen again.
    positive : optional
        Of two classes the one whose rows are to be found, for sensitivity and specificity; None for the second.
    """

    name: str = "Run"
    spn: SPN
    settings: Settings
    choices: Choices
    split: SplitSettings
    dataset_name: str
    label: str
    solution: Solution
    model: SPNMKLClassifier | None
    train_scores: Scores
    test_scores: Scores
    seconds: float
    train: Rows
    test: Rows
    views: Mapping[str, tuple[str, ...]]
    preparation: Preparation
    cross_validation: CrossValidation | None = None
    path: RegularizationPath | None = None
    held_out: HeldOutShares | None = None
    fold_scores: FoldScores | None = None
    importance: Mapping[str, Any] | None = None
    branches: Mapping[str, BranchEvidence] = field(default_factory=dict)
    choosing: Choosing | None = None
    positive: Any = None

    @property
    def reasons(self) -> tuple[str, ...]:
        """What was chosen for it by cross-validation, and why; nothing where it was trained as set."""
        if self.choosing is not None:
            return self.choosing.sentences
        told = None if self.model is None else self.model.extra_.get("chosen")
        return tuple(line for line in told if isinstance(line, str)) if isinstance(told, list) else ()

    @property
    def chose_C(self) -> bool:
        """Whether its C is the one that cross-validation found best, and not one that was set by hand."""
        found = self.cross_validation
        return bool(self.reasons) or (found is not None and found.best_C == self.settings.C)

    @property
    def measured(self) -> FoldScores | None:
        """The scores over folds, once there are enough of them to go by."""
        return self.fold_scores if self.fold_scores is not None and self.fold_scores.enough else None

    @property
    def test_probabilities(self) -> Floats | None:
        """(test rows, classes), where decisions were calibrated on rows held out."""
        if self.model is None or self.model.calibration_ is None or not self.test_scores.scored:
            return None
        return probabilities(np.atleast_2d(self.test_scores.decision.T), self.model.calibration_)

    def with_held_out(self, shares: HeldOutShares | None) -> Run:
        """With shares measured on rows not trained on, which its model keeps too."""
        return replace(self, held_out=shares, model=keeping_shares(self.model, shares))

    def with_fold_scores(self, found: FoldScores) -> Run:
        """With scores over folds, and probabilities calibrated on the decisions they are made of."""
        return replace(self, fold_scores=found, model=calibrated(self.model, found))

    def with_branches(self, found: BranchEvidence) -> Run:
        """With what evidence says of the branches below a sum; of another training it is left as it is."""
        return replace(self, branches={**self.branches, found.node: found}) if self.solution is found.solution else self

    @property
    def used(self) -> Preparation:
        """Of the columns that the learned weights left in use."""
        return used_columns(self.solution, self.preparation)

    @cached_property
    def approximated(self) -> Approximation | None:
        """What is known of all training rows, where weights were learned on a sample of them."""
        return None if self.model is None else self.model.approximation_

    @cached_property
    def deciding(self) -> Solution:
        return deciding(self.solution, self.model)

    @property
    def n_train(self) -> int:
        """The rows that weights were learned on."""
        return len(self.train)

    @property
    def train_words(self) -> str:
        """Which rows these are: 400 training rows, or 400 sampled training rows."""
        return counted(self.n_train, f"{self.train_kind} row")

    @property
    def train_kind(self) -> str:
        return "training" if self.approximated is None else "sampled training"

    @property
    def rows_text(self) -> str:
        """How many rows it was trained on: 400, or 10,000 (weights on a sample of 400)."""
        found = self.approximated
        return f"{self.n_train:,}" if found is None else f"{found.n_rows:,} (weights on a sample of {self.n_train:,})"

    @property
    def n_test(self) -> int:
        return len(self.test)


@dataclass(frozen=True, eq=False)
class Trained:
    """What was learned from prepared rows.

    Attributes
    ----------
    solution : Solution
    model : SPNMKLClassifier or None
        For new rows, with what is needed to read them; None where a leaf is a given matrix.
    seconds : float
        Of solving, without the kernels.
    """

    solution: Solution
    model: SPNMKLClassifier | None
    seconds: float

    def train_scores(
        self,
        prepared: Prepared,
        n_threads: int | None = None,
        tick: Tick | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Scores:
        """On the rows that weights were learned on, which may be a sample of the training rows; as of `train`."""
        if self.model is None or (prepared.trained_on.in_memory and prepared.whole is None):
            return self._by_kernels(prepared.y_train, prepared.source, n_threads, stop)
        # Its support vectors and kernels may be fewer than those that would be computed anew.
        return self._by_rows(self.model, prepared.y_train, prepared.X_train, tick, stop)

    def test_scores(
        self,
        prepared: Prepared,
        n_threads: int | None = None,
        tick: Tick | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Scores:
        """On the rows held out; parameters as of `train`."""
        if self.model is None:
            return self._by_kernels(prepared.y_test, prepared.test_source, n_threads, stop)
        return self._by_rows(self.model, prepared.y_test, prepared.X_test, tick, stop)

    def held_out(
        self,
        prepared: Prepared,
        n_threads: int | None = None,
        tick: Tick | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> HeldOutShares | None:
        """What carries the decision on the rows held out; parameters as of `train`."""
        (tick or (lambda words: None))("splitting the decision on the test rows")
        return shares_on_test_rows(self.deciding, prepared, n_threads, stop)

    @property
    def deciding(self) -> Solution:
        return deciding(self.solution, self.model)

    def _by_kernels(
        self, y: NDArray, source: KernelSource, n_threads: int | None, stop: Callable[[], bool] | None
    ) -> Scores:
        try:
            decision = self.solution.decision_function(
                source if stop is None else interruptible(source, stop), n_threads
            )
        except Stopped:
            return unscored(y, self.solution.classes)
        return score(y, decision, self.solution.classes)

    def _by_rows(
        self,
        model: SPNMKLClassifier,
        y: NDArray,
        X: pd.DataFrame,
        tick: Tick | None,
        stop: Callable[[], bool] | None,
    ) -> Scores:
        """Piece by piece, with a chance to stop before each."""
        say, parts = tick or (lambda words: None), []
        for start in range(0, len(X), SCORED_ROWS):
            say(f"scoring row {start + 1:,} of {len(X):,}")
            if stop is not None and stop():
                return unscored(y, self.solution.classes)
            parts.append(model.decision_function(X.iloc[start : start + SCORED_ROWS]))
        return score(y, np.concatenate(parts), self.solution.classes)


def deciding(solution: Solution, model: SPNMKLClassifier | None) -> Solution:
    """What decides: the solution or, where it is that of a sample, the classifier of all rows over the sample."""
    found = None if model is None else model.approximation_
    return solution if found is None else found.over(solution)


def learn_weights(
    prepared: Prepared,
    settings: Settings,
    callback: Callable[[Record], object] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    warn: bool = False,
    tick: Tick | None = None,
) -> Trained:
    """Learn the weights over prepared kernels, and make the model for new rows; parameters as of `train`."""
    started = time.perf_counter()
    deadline, part = Deadline(settings.max_time, stop), learning_part(prepared, settings)
    solution = learn(
        prepared.mapped,
        prepared.source,
        prepared.y_train,
        part.settings,
        sample_weight=part.weight,
        callback=callback,
        n_threads=n_threads,
        stop=stop,
        warn=warn,
    )
    found = on_all_rows(prepared, settings, solution, part, n_threads, deadline, tick)
    if warn and found is not None and not (stop is not None and stop()):
        warn_of_rough_svm(found, settings.tol)
    return Trained(solution, _model(prepared, settings, solution, n_threads, found), time.perf_counter() - started)


def train(
    prepared: Prepared,
    settings: Settings,
    callback: Callable[[Record], object] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    tick: Tick | None = None,
) -> Run:
    """Learn the weights, and score them on the rows held out.

    Parameters
    ----------
    prepared : Prepared
    settings : Settings
    callback : callable, optional
        Called with a `Record` after every iteration; returning False stops and keeps the best weights so far.
    n_threads : int, optional
        By default all cores.
    stop : callable, optional
        Asked more often than the callback is called; true ends the training as soon as possible. What cannot be scored
        in a moment then is left unscored; `score_run` does it later.
    tick : callable, optional
        Called with a word now and then while rows are scored, after the training; it may raise to stop.
    """
    trained = learn_weights(prepared, settings, callback, n_threads, stop, tick=tick)
    late = after_a_moment(stop)
    test_scores = trained.test_scores(prepared, n_threads, tick, late)
    train_scores = trained.train_scores(prepared, n_threads, tick, late)
    return Run(
        spn=prepared.spn,
        settings=settings,
        choices=prepared.choices,
        split=prepared.split,
        dataset_name=prepared.dataset_name,
        label=prepared.label,
        solution=trained.solution,
        model=trained.model,
        train_scores=train_scores,
        test_scores=test_scores,
        seconds=trained.seconds,
        train=prepared.train,
        test=prepared.test,
        views=prepared.views,
        preparation=prepared.preparation,
    ).with_held_out(trained.held_out(prepared, n_threads, tick, late))


def score_run(
    run: Run,
    prepared: Prepared,
    n_threads: int | None = None,
    tick: Tick | None = None,
    stop: Callable[[], bool] | None = None,
) -> Run:
    """The run with the scores that it lacks, because its training was stopped; parameters as of `train`."""
    trained = Trained(run.solution, run.model, run.seconds)
    test, train = run.test_scores, run.train_scores
    scored = replace(
        run,
        test_scores=test if test.scored else trained.test_scores(prepared, n_threads, tick, stop),
        train_scores=train if train.scored else trained.train_scores(prepared, n_threads, tick, stop),
    )
    return scored.with_held_out(run.held_out or trained.held_out(prepared, n_threads, tick, stop))


def with_shares(run: Run, prepared: Prepared, n_threads: int | None = None) -> Run:
    """The run with its shares on the test rows, which files of earlier versions lack; itself where there is no such."""
    if run.held_out is not None or not run.n_test:
        return run
    return run.with_held_out(Trained(run.solution, run.model, run.seconds).held_out(prepared, n_threads))


def measured_on_folds(
    run: Run,
    dataset: Dataset,
    tick: Callable[[str, int, int], object] | None = None,
    stop: Callable[[], bool] | None = None,
    n_threads: int | None = None,
) -> Run:
    """The run with shares measured on folds of its training rows; parameters as of `shares_on_folds`."""
    shares = shares_on_folds(
        run.solution,
        run.spn,
        dataset,
        run.choices,
        run.split,
        run.settings,
        run.train,
        n_threads=n_threads,
        tick=tick,
        stop=stop,
    )
    return run.with_held_out(shares)


def after_a_moment(stop: Callable[[], bool] | None) -> Callable[[], bool]:
    """The same wish to stop, granted a moment from now at the earliest: what takes no longer is done to its end."""
    begun = time.perf_counter()
    return lambda: stop is not None and time.perf_counter() - begun > MOMENT and stop()


def _model(
    prepared: Prepared,
    settings: Settings,
    solution: Solution,
    n_threads: int | None,
    approximated: Approximation | None = None,
) -> SPNMKLClassifier | None:
    """What predicts new rows, with what is needed to read them."""
    if prepared.fitted.keys() != set(prepared.spn.kernels):
        return None
    options = settings.model_options() | {"n_threads": n_threads, "max_memory": prepared.max_memory}
    model = SPNMKLClassifier.from_solution(solution, prepared.fitted, prepared.features, approximated, **options)
    seen = list(used_columns(solution, prepared.preparation).outputs)
    model.extra_ = prepared.described()
    X, ids = (prepared.X_train, prepared.ids) if prepared.whole is None else (prepared.whole.X, None)
    model.extra_["trained_on"] = described_rows(X[seen].to_numpy(), ids)
    return model


def calibrated(model: SPNMKLClassifier | None, found: FoldScores) -> SPNMKLClassifier | None:
    """A copy of the model with these scores, which predicts probabilities where every row was held out once."""
    if model is None:
        return None
    copied = copy(model)
    copied.extra_ = model.extra_ | {"scores": found.described()}
    if (scale := found.calibration()) is not None:
        copied.set_params(probability=True)
        copied.calibration_ = scale
    return copied


def with_probabilities(
    trained: Trained,
    prepared: Prepared,
    settings: Settings,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> Trained:
    """What was trained, with probabilities calibrated on trainings that have not seen a row; as it was if stopped."""
    solution, model = trained.solution, trained.model
    if model is None or solution.status in UNFINISHED:
        return trained
    rows = prepared if prepared.whole is None else prepared.whole
    folds = most_folds(rows.y, rows.groups, FOLDS, lost=LOST_PROBABILITIES, advice="leave them out")
    splits = fold_splits(rows.y, folds, rows.groups, prepared.split.seed)
    if (found := model.approximation_) is None:
        options = settings.solver_options() | {"n_threads": n_threads, "stop": stop}
        F = relearned(solution, prepared.source, splits, None, options)
    else:
        F = refitted_by_landmarks(prepared, settings, solution, found, splits, n_threads, stop)
    if F is None:
        return trained
    copied = copy(model)
    copied.set_params(probability=True)
    copied.calibration_ = scaling(F, rows.y, solution.classes)
    return replace(trained, model=copied)


def closed(records: Sequence[Record], tol: float) -> float:
    """How much of the way from the first gap to the one to prove is done, digit by digit; 0 where no bound is known."""
    gaps = [record.gap for record in records if math.isfinite(record.gap) and record.gap > 0]
    if not gaps or gaps[0] <= tol:
        return float(bool(gaps))
    return min(1.0, max(0.0, math.log(gaps[0] / min(gaps)) / math.log(gaps[0] / tol)))


def used_columns(solution: Solution, preparation: Preparation) -> Preparation:
    """The preparation of the columns that kernels on paths of positive weight see."""
    outputs, spn = preparation.outputs, solution.spn
    specs = {spn.spec(leaf) for leaf in solution.active_circuit()[0].leaves}
    features = [outputs if spec.features is None else spec.features for spec in specs if spec.kernel != "precomputed"]
    seen = {outputs[f] if isinstance(f, int) else f for group in features for f in group}
    return preparation.among(seen)
