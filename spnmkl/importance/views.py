"""`view_importance`: every view alone and all without it, on the same folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from numpy.typing import ArrayLike

from spnmkl.errors import ParameterError, Stopped
from spnmkl.importance.folds import ArrayFolds, fingerprint
from spnmkl.importance.measuring import Measuring, Stop, given_C
from spnmkl.importance.progress import ImportanceStep, Teller
from spnmkl.importance.restriction import RULE, Removals, removals
from spnmkl.importance.result import ViewImportance
from spnmkl.measures import scoring_name
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.study.contest import Plan
from spnmkl.study.entrants import with_powers
from spnmkl.wording import name_some


def view_importance(
    structure: SPN,
    X: Any,
    y: ArrayLike,
    views: Mapping[str, Iterable[int | str]],
    *,
    C: float | str = "cv",
    cv: int = 5,
    repeats: int = 1,
    scoring: str = "accuracy",
    groups: ArrayLike | None = None,
    transformer: Any = None,
    weights: str = "certified",
    random_state: int = 0,
    n_threads: int | None = None,
    callback: Callable[[ImportanceStep], object] | None = None,
    stop: Callable[[], bool] | None = None,
    resume: ViewImportance | None = None,
    **settings: Any,
) -> ViewImportance:
    """Score every view alone, and all views without it, on rows that were not trained on.

    All trainings of a fold share its rows, its kernels, which are computed once, and one C, which inner folds choose
    for the whole drawing; what would have no weight above zero at that C, and so score as guessing whatever it tells,
    has one chosen for itself. Alone and without, a kernel sees the columns that are left and a product multiplies the
    factors that are left; what has none left is gone. Intervals allow for training parts that overlap (corrected
    resampled t, Nadeau and Bengio 2003); that of a drop is of the differences fold by fold. Since folds may agree by
    chance, they are never narrower than so many rows allow. They hold for one view at a time.

    Parameters
    ----------
    structure : SPN
        The drawing.
    X : array or DataFrame of shape (n, n_features)
        The samples.
    y : array-like of shape (n,)
        Labels of any kind.
    views : mapping from name to columns
        The columns of every view, by name or position. Columns of no view stay in all trainings without a view.
    C : float or "cv", default="cv"
        Weight of the loss; "cv": chosen in every fold by 3 inner folds over 8 values.
    cv : int, default=5
        How many folds, stratified and shuffled.
    repeats : int, default=1
        How many rounds of folds; more rounds, narrower intervals.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
        What is measured, and what C is chosen by.
    groups : array-like of shape (n,), default=None
        Which rows belong together, such as those of one patient; they are held out together.
    transformer : scikit-learn transformer, default=None
        Fitted anew on every training part, such as ``StandardScaler()``; it must keep the columns.
    weights : {"certified", "evidence", "chosen"}, default="certified"
        Those of all trainings: the provably best; those of `fit_evidence`, which are not certified; or in every fold
        evidence weights where they are better on its inner folds by more than the error of the difference, else the
        former.
    random_state : int, default=0
        Shuffles the folds; those of the k-th round are shuffled by ``random_state + k``.
    n_threads : int, default=None
        Cores to use; None for all.
    callback : callable, default=None
        Called with an `ImportanceStep` after every training; returning False stops and keeps the folds that are done.
    stop : callable, default=None
        Asked within trainings, in several threads; once it is true the folds that are done are kept.
    resume : ViewImportance, default=None
        What was measured of the same question before, perhaps with fewer repeats; its folds are not measured again.
    **settings : dict
        Passed to `solve`: ``p``, ``lam``, ``tol``, ``class_weight``, …

    Returns
    -------
    ViewImportance
        The table, the score of all together, a figure and sentences.

    Raises
    ------
    ParameterError
        A setting is out of range, or `resume` is of another question.
    DataError
        The views, rows, labels or groups do not fit each other.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from spnmkl import templates
    >>> from spnmkl.importance import view_importance
    >>> X, y = load_wine(return_X_y=True)
    >>> views = {"colour": [9, 10], "acids": [1, 5, 6]}
    >>> found = view_importance(templates.flat(views), X, y, views, C=1.0, cv=3, transformer=StandardScaler())
    >>> list(found.table.columns[:5])
    ['view', 'alone', 'alone_low', 'alone_high', 'without']
    >>> bool(found.full.mean > found.table["alone"].max() > found.guessing)
    True
    """
    plan = Plan(cv, repeats, tol=settings.pop("tol", Plan.tol), scoring=scoring_name(scoring))
    folds = ArrayFolds.of(X, y, groups, transformer, plan, random_state)
    drawn = with_powers(structure, settings.pop("p", None))
    work = Measuring(removals(drawn, views, folds.known), folds, given_C(C), settings, n_threads, weights)
    return measured_views(work, callback, stop, resume)


def measured_views(
    work: Measuring,
    callback: Callable[[ImportanceStep], object] | None = None,
    stop: Stop = None,
    resume: ViewImportance | None = None,
) -> ViewImportance:
    """All folds, or as many as there are when it is stopped; other parameters as of `view_importance`."""
    found = taken_over(work, resume)
    say = Teller(work.steps() * (found.planned - len(found.folds)), callback, stop, len(found.folds))
    with suppress(Stopped):
        for fold in work.measured({(f.repeat, f.fold) for f in found.folds}, say, stop):
            found = replace(found, folds=(*found.folds, fold))
            say.folds = len(found.folds)
    return found


def taken_over(work: Measuring, before: ViewImportance | None = None) -> ViewImportance:
    """The result before any fold, or with the folds that were measured before."""
    empty = ViewImportance(
        work.removals.views,
        (),
        len(work.folds.splits),
        work.scoring,
        work.folds.rows,
        remarks(work.removals),
        _key(work),
        work.weights,
    )
    if before is None:
        return empty
    if before.key != empty.key:
        raise ParameterError(
            "resume is of another question: the drawing, the views, the rows or the settings are not those it was "
            "measured with; measure anew, without resume."
        )
    return replace(empty, folds=before.folds)


def remarks(left: Removals) -> tuple[str, ...]:
    """What to know about the views of a drawing."""
    said = [RULE]
    if lost := [view for view, name in left.alone.items() if name is None]:
        said.append(f"No kernel sees {name_some(lost)}.")
    shared = [view for view, leaves in left.leaves.items() if not leaves and left.alone[view] is not None]
    if shared:
        said.append(
            f"There is no share for {name_some(shared)}: kernels that see such a view see columns of others too."
        )
    return tuple(said)


def _key(work: Measuring) -> str:
    """Of the first round alone: further ones are the same question, asked more often."""
    left, folds = work.removals, work.folds
    rows = [(fold, split.train.tobytes(), split.test.tobytes()) for repeat, fold, split in folds.splits if repeat == 1]
    structures = {name: unplaced(spn).to_json() for name, spn in left.structures.items()}
    plan = replace(folds.plan, repeats=1)
    asked = work.C if work.C is not None else math.inf, plan, sorted(work.options.items())
    return fingerprint(rows, structures, left.alone, left.without, asked)
