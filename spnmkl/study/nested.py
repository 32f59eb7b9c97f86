"""How good a drawing is on rows not trained on: repeated cross-validation with C chosen inside, a score of no split.

The folds, the values of C and the folds to choose it on are those of a comparison of methods (`study.contest`), so that
the drawing has the same score there.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.errors import DataError, ParameterError
from spnmkl.measures import scoring_name
from spnmkl.parallel import Place, side_by_side
from spnmkl.parameters import count
from spnmkl.parameters import positive as positive_number
from spnmkl.structure import SPN
from spnmkl.study.contest import Plan, fitting_plan, outer_folds, training_rows
from spnmkl.study.entrants import OWN, Entrants, drawings, training_options, with_powers
from spnmkl.study.fold_training import SMALL, by_label, fitted
from spnmkl.training.choosing import Choosing
from spnmkl.training.default import Default, chosen_again
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.prepared import Tick, prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights

ROUNDS = 5
LABEL, GROUP = "label", "group"
_WORKED = 0.9  # of the time to choose in: with less, a choice that was cut short is made again


def nested_scores(
    structure: SPN,
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    C: float | str = "cv",
    folds: int = 5,
    rounds: int = 2,
    scoring: str = "accuracy",
    groups: ArrayLike | None = None,
    random_state: int = 0,
    max_time: float | None = None,
    callback: Callable[[FoldScores], object] | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> FoldScores:
    """How good a structure is on rows not trained on, by repeated cross-validation with C chosen inside.

    In every fold C is chosen on the training part alone (by three folds, of eight values), so that the score is that
    of choosing C and training, and of rows that neither has seen. Kernels are fitted on the training part, too.

    Parameters
    ----------
    structure : SPN
        The network.
    X : array-like or data frame of shape (n, n_features)
        The rows; columns are taken as they are.
    y : array-like of shape (n,)
        Labels of any kind.
    C : float or "cv", default="cv"
        "cv" chooses it in every training part; a number is used in all of them, and the score is that of this C.
    folds : int, default=5
        How many, at most as many as the smallest class has rows.
    rounds : int, default=2
        How often the folds are drawn anew.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
        By what C is chosen; see `cross_validate_C`.
    groups : array-like of shape (n,), default=None
        Which rows belong together: they are held out together.
    random_state : int, default=0
        Draws the folds.
    max_time : float, default=None
        Seconds after which no further round begins.
    callback : callable, default=None
        Called with what there is after every fold; returning False stops.
    stop : callable, default=None
        Asked within trainings too; once it is true, what there is comes back.
    **settings : dict
        Those of `solve` besides C, such as ``class_weight``.

    Returns
    -------
    FoldScores
        Its `measures` have means over the folds with their intervals.

    Raises
    ------
    SPNMKLError
        The structure, the labels, the groups or a setting do not fit.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import nested_scores, templates
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> found = nested_scores(spn, X / X.std(axis=0), y, folds=3, rounds=1)
    >>> bool(found.measured("balanced_accuracy").value > 0.8)
    True
    """
    asked = Settings(C=1.0 if C == "cv" else positive_number(C, "C"), scoring=scoring_name(scoring), **settings)
    found: FoldScores | None = None
    for found in resample(
        structure,
        _as_dataset(X, y, groups),
        Choices("as is"),
        SplitSettings(0.0, random_state),
        asked,
        chosen=C == "cv",
        plan=Plan(folds=folds, repeats=count(rounds, "rounds") or ROUNDS),
        seconds=math.inf if max_time is None else max_time,
        stop=stop,
    ):
        if callback is not None and callback(found) is False:
            break
    if found is None:
        raise ParameterError("No fold was done before it was stopped; allow more time.")
    return found


def _as_dataset(X: ArrayLike | pd.DataFrame, y: ArrayLike, groups: ArrayLike | None) -> Dataset:
    frame = X.copy() if isinstance(X, pd.DataFrame) else pd.DataFrame(np.asarray(X))
    frame.columns = [str(name) for name in frame.columns]
    added = {name: _free(name, frame) for name in (LABEL, GROUP)}
    for name, values in ((LABEL, y), (GROUP, groups)):
        if values is not None:
            if len(np.asarray(values)) != len(frame):
                raise DataError(f"X holds {len(frame)} rows, but there are {len(np.asarray(values))} {name}s.")
            frame[added[name]] = np.asarray(values)
    return Dataset("X", frame, added[LABEL], group=None if groups is None else added[GROUP])


def _free(name: str, frame: pd.DataFrame) -> str:
    while name in frame:
        name += "_"
    return name


def resample(
    spn: SPN,
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    *,
    chosen: bool,
    plan: Plan | None = None,
    seconds: float = math.inf,
    known: FoldScores | None = None,
    afresh: Choosing | bool = False,
    tick: Tick | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[FoldScores]:
    """What is known after every fold: of the training rows alone where there are test rows, which stay unseen.

    Parameters
    ----------
    chosen : bool
        Whether C is chosen anew in each training part; else it is that of the settings.
    plan : Plan, optional
        Folds and rounds, of which the data may allow fewer.
    seconds : float
        No round begins that would not be done by then; the first is done to its end.
    known : FoldScores, optional
        What is done already, by the same call.
    afresh : Choosing or bool
        Where more than C was chosen for the drawing: all of that is chosen anew in each training part, and the drawing
        with it, so that the score is that of choosing; True where that cannot be, and it is told.
    tick : callable, optional
        Called with a word now and then; it may raise to stop.
    stop : callable, optional
        Asked within trainings; once it is true nothing more comes.
    """
    say = tick or (lambda words: None)
    usual = plan or Plan(repeats=ROUNDS)
    asked = replace(usual, scoring=settings.scoring, tol=max(settings.tol, usual.tol))
    plan = fitting_plan(asked, spn, dataset, choices, split)
    folds = list(outer_folds(spn, dataset, choices, split, plan))
    anew = None if afresh is False else afresh is not True
    found = replace(_nothing_yet(spn, dataset, choices, split, settings, folds, chosen), afresh=anew)
    if known is not None and np.array_equal(known.rows, found.rows):  # of an earlier version: rows left out, too
        found = known
    drawn = drawings({OWN: with_powers(spn, settings.p)})
    choosing = afresh if isinstance(afresh, Choosing) else None
    work = _Nested(drawn, dataset, choices, split, settings, chosen, plan, choosing)
    for repeat in range(plan.repeats):
        left = [(r, fold, rows) for r, fold, rows in folds if r == repeat and not np.isfinite(found.C[r, fold])]
        begins = repeat > 0 and len(left) == plan.folds
        if begins and found.seconds * (repeat + 1) / repeat > seconds:
            return
        with closing(side_by_side(_decided, work, left, stop=stop, say=say)) as decided:
            for at, rows, decision, C, took in decided:
                found = found.with_fold(at, np.searchsorted(found.rows, rows), decision, C, took)
                yield found
        if stop is not None and stop():
            return


@dataclass(frozen=True)
class _Nested:
    """What all folds share."""

    drawn: Entrants
    dataset: Dataset
    choices: Choices
    split: SplitSettings
    settings: Settings
    chosen: bool
    plan: Plan
    choosing: Choosing | None


_Decision = tuple[NDArray[np.intp], Floats, float]  # the rows that a fold held out, what was decided on them, and the C


def _decided(
    work: _Nested, part: tuple[int, int, Split], place: Place
) -> Iterator[tuple[tuple[int, int], NDArray[np.intp], Floats, float, float]]:
    """Which fold, its rows, decisions and C, and the seconds that it took."""
    repeat, fold, rows = part
    started = time.perf_counter()
    where = f"round {repeat + 1}, fold {fold + 1} of {work.plan.folds}"
    decide = _as_drawn if work.choosing is None else _as_chosen
    for held, decision, C in decide(work, rows, where, place):
        yield (repeat, fold), held, decision, C, time.perf_counter() - started


def _as_chosen(work: _Nested, rows: Split, where: str, place: Place) -> Iterator[_Decision]:
    """By what is chosen on the training part, as it was for the run on all rows."""
    threads = 1 if len(rows.train) <= SMALL else None
    found = _chosen_in_time(work, rows, where, place, threads)
    settings = replace(found.settings, tol=work.plan.tol, max_time=None)
    place.say(f"{where}, learning the weights")
    trained = learn_weights(found.prepared, settings, n_threads=threads, stop=place.stop)
    scores = trained.test_scores(found.prepared, threads, stop=place.stop)
    if scores.scored and not place.stop():
        yield found.prepared.test, scores.decision, settings.C


def _chosen_in_time(work: _Nested, rows: Split, where: str, place: Place, threads: int | None) -> Default:
    """What is chosen; once more where it was cut short by time in which other work had the machine."""
    assert work.choosing is not None
    limit = math.inf if work.choosing.max_time is None else work.choosing.max_time / 2
    while True:
        began, waits = time.monotonic(), _Waits()
        asked: dict[str, Any] = {"stop": waits.of(place.stop), "tick": waits.of(_within(where, place.say))}
        found = chosen_again(work.choosing, work.dataset, work.split, rows, n_threads=threads, **asked)
        took = time.monotonic() - began
        if took < limit or took - waits.seconds >= _WORKED * limit or place.stop():
            return found


class _Waits:
    """How long answers took: where a work makes way for another one, it is its questions that wait."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*given: Any) -> Any:
            began = time.monotonic()
            try:
                return ask(*given)
            finally:
                self.seconds += time.monotonic() - began

        return asked


def _as_drawn(work: _Nested, rows: Split, where: str, place: Place) -> Iterator[_Decision]:
    within = _within(where, place.say)
    prepared = prepare(work.drawn.pool, work.dataset, work.choices, work.split, within, rows, math.inf)
    model, *_ = fitted(
        work.drawn.over_kernels[OWN],
        prepared,
        work.plan,
        where,
        place.say,
        place.stop,
        None if work.chosen else work.settings.C,
        **training_options(work.settings),
    )
    if not place.stop():
        decision = model.decision_function(by_label(prepared.spn, prepared.cross_test))
        yield prepared.test, decision, model.C


def _within(where: str, say: Tick) -> Tick:
    return lambda words: say(f"{where}, {words}")


def _nothing_yet(
    spn: SPN,
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    settings: Settings,
    folds: list[tuple[int, int, Split]],
    chosen: bool,
) -> FoldScores:
    rows, y, _ = training_rows(spn, dataset, choices, split)
    classes, rounds, n_folds = np.unique(y), folds[-1][0] + 1, folds[-1][1] + 1
    fold = np.empty((rounds, len(rows)), dtype=np.intp)
    for repeat, number, held in folds:
        fold[repeat, np.searchsorted(rows, held.test)] = number
    return FoldScores(
        y=y,
        classes=classes,
        rows=rows,
        fold=fold,
        decision=np.full(fold.shape if len(classes) == 2 else (*fold.shape, len(classes)), np.nan),
        C=np.full((rounds, n_folds), np.nan),
        chosen=chosen,
        scoring=settings.scoring,
        held_back=split.test_share > 0,
    )
