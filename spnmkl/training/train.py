"""One training: weights learned, rows scored."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.circuit.source import KernelSource, interruptible
from spnmkl.data import Dataset
from spnmkl.errors import Stopped
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import HeldOutShares
from spnmkl.landmarks import Approximation, warn_of_rough_svm
from spnmkl.solution import Record, Solution
from spnmkl.solvers.deadline import Deadline
from spnmkl.training.held_out import shares_on_folds, shares_on_test_rows
from spnmkl.training.learn import learn
from spnmkl.training.prepared import Prepared, Tick
from spnmkl.training.run import Run, deciding, used_columns
from spnmkl.training.scores import Scores, score, unscored
from spnmkl.training.settings import Settings
from spnmkl.training.trained_rows import described_rows
from spnmkl.training.whole import learning_part, on_all_rows

Rows = NDArray[np.intp]
SCORED_ROWS = 500  # at a time
MOMENT = 1.0  # seconds for the scores of a training that was stopped


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


def closed(records: Sequence[Record], tol: float) -> float:
    """How much of the way from the first gap to the one to prove is done, digit by digit; 0 where no bound is known."""
    gaps = [record.gap for record in records if math.isfinite(record.gap) and record.gap > 0]
    if not gaps or gaps[0] <= tol:
        return float(bool(gaps))
    return min(1.0, max(0.0, math.log(gaps[0] / min(gaps)) / math.log(gaps[0] / tol)))
