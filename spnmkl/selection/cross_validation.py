"""Choosing C by cross-validation: a path in every fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource, interruptible, is_computed
from spnmkl.errors import DataError, Stopped
from spnmkl.evidence.entry import MOST_STEPS, fit_evidence
from spnmkl.evidence.machine import machines
from spnmkl.measures import SCORINGS, scoring_name
from spnmkl.memory import kernel_bytes
from spnmkl.parallel import Place, side_by_side
from spnmkl.parameters import check_callback, checked_threads, weighing
from spnmkl.problem import check_labels, checked_source
from spnmkl.selection.folds import fold_bytes, fold_splits, folds_at_once, matrix_bytes, parts
from spnmkl.selection.grid import WIDE, checked_grid, default_grid
from spnmkl.selection.path import below_bounds, carried, solve_next, walk
from spnmkl.selection.results import UNFINISHED, CrossValidation, PathPoint, summed_up
from spnmkl.solution import Solution
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas

_FOLD_ROWS = 300  # of which evidence is computed here: a step takes time with their cube, and C hardly depends on it
_FOLD_STEPS = 20  # of L-BFGS in a fold, from the weights of all rows: then evidence grows by less than scores can tell


def cross_validate_C(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    C: Sequence[float] | None = None,
    *,
    folds: int = 5,
    scoring: str = "accuracy",
    groups: ArrayLike | None = None,
    random_state: int | None = 0,
    callback: Callable[[PathPoint], object] | None = None,
    max_time: float | None = None,
    weights: str = "certified",
    **settings: Any,
) -> CrossValidation:
    """The score of every C on held-out folds, stratified, and with whole groups held out where `groups` is given.

    Folds are worked on together, on the threads that there are; the result does not depend on how many. A fold needs
    a copy of its part of the kernels: no more folds are taken at once than half of the free memory has room for.
    Kernels that are computed in tiles, as `spnmkl.kernels.fit_tiles` gives them, are so in every fold too, one fold
    after the other: the same but for rounding, later.

    Parameters
    ----------
    spn : SPN
        The structure.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices over all rows, or a source that yields tiles.
    y : array-like of shape (n,)
        Labels of any kind.
    C : sequence of float, default=None
        The grid; None: as for `regularization_path`, from just above the C_min of a fold.
    folds : int, default=5
        How many, from 2 to the size of the smallest class.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
        By what C is chosen: the share of the rows held out that are answered rightly; the mean of that share over
        classes, which suits classes of uneven size; or the area under the ROC curve, with several classes the mean of
        each against the rest. A fold without rows of two classes has no area, and NaN in its place.
    groups : array-like of shape (n,), default=None
        Which rows belong together, such as those of one patient; they are held out together.
    random_state : int or None, default=0
        Shuffles the folds.
    callback : callable, default=None
        Called with a `PathPoint` after every C of every fold, as they are done, in the caller's thread; a fold
        begins with a C in the lower part of the grid. Returning False stops and keeps what was told.
    max_time : float, default=None
        Seconds for the whole, after which what is there is kept.
    weights : {"certified", "evidence"}, default="certified"
        How every fold finds its weights: certified at every C, or as evidence weights of its rows (`fit_evidence`,
        begun at those of all rows), at which the SVM is solved for every C, from 0.01 to 1000 where no grid is given.
    **settings : dict
        Passed to `solve`; ``stop`` is asked in several threads. ``start``, with evidence weights: those of all rows by
        product, where they are known.

    Returns
    -------
    CrossValidation
        Scores, weights and the best C.

    Raises
    ------
    ParameterError
        The grid, the number of folds or the scoring does not fit.
    DataError
        Groups or weights do not fit the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import cross_validate_C, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> result = cross_validate_C(spn, kernels, y, [0.1, 1.0, 10.0], folds=3)
    >>> result.scores.shape
    (3, 3)
    """
    check_callback(callback)
    by_evidence = weighing(weights) == "evidence"
    scoring = scoring_name(scoring)
    deadline = Deadline(max_time, settings.pop("stop", None))
    labels = check_labels(y)
    n_threads = checked_threads(settings.pop("n_threads", None))
    source = checked_source(spn, kernels, len(labels), n_threads)
    splits = list(fold_splits(labels, folds, groups, random_state))
    share = 1 - 1 / folds
    if C is None and by_evidence:
        grid = WIDE
    elif C is None:
        grid = default_grid(spn, source, y, share, deadline, n_threads=n_threads, **settings)
    else:
        grid = checked_grid(C)
    counts = settings.pop("sample_weight", None)
    if counts is not None and np.shape(counts) != labels.shape:
        raise DataError(
            f"sample_weight must hold one number per sample, {len(labels)} in all, but its shape is {np.shape(counts)}."
        )
    held, at_once = source, 1
    if not is_computed(source):
        tiles = source.tiles(spn.kernels, slice(None), slice(None))
        held = MatrixSource(dict(zip(spn.kernels, tiles, strict=True)))
        each = fold_bytes(matrix_bytes(held.matrices), folds)
        at_once = folds_at_once(n_threads, folds, each, kernel_bytes(None))
    start = settings.pop("start", None) if by_evidence else None
    if by_evidence and start is None:
        start = _evidence_of_all(spn, held, labels, counts, n_threads, settings, deadline)
    work = _Folds(spn, held, labels, splits, grid, scoring, counts, settings, start)
    scores = np.full((len(grid), folds), np.nan)
    beta = {v: np.full_like(scores, np.nan) for v in spn.products}
    threads = max(1, n_threads // at_once)
    running = side_by_side(_fits, work, range(folds), at_once=at_once, n_threads=threads, stop=deadline)
    with single_threaded_blas(), closing(running) as fits:
        for done, (fold, k, fitted, score) in enumerate(fits, 1):
            scores[k, fold] = score
            for v, b in fitted.beta.items():
                beta[v][k, fold] = b
            point = PathPoint(done, scores.size, float(grid[k]), fitted, fold=fold, score=score)
            if callback is not None and callback(point) is False:
                break
    return summed_up(grid, scores, beta, scoring)


def _evidence_of_all(
    spn: SPN,
    source: KernelSource,
    y: NDArray,
    counts: ArrayLike | None,
    n_threads: int,
    settings: Mapping[str, Any],
    deadline: Deadline,
) -> dict[str, float]:
    """Weights to begin with in every fold: from there on it is a few steps, where three starts would be many."""
    steps = settings.get("max_iter") or MOST_STEPS
    return fit_evidence(
        spn,
        source,
        y,
        max_rows=_FOLD_ROWS,
        max_iter=steps,
        sample_weight=counts,
        n_threads=n_threads,
        stop=deadline,
    ).beta


class _Fit(NamedTuple):
    fold: int
    k: int  # of C
    solution: Solution
    score: float


@dataclass(frozen=True)
class _Folds:
    """What the folds of a cross-validation share; each is worked on alone."""

    spn: SPN
    source: KernelSource
    labels: NDArray
    splits: Sequence[tuple[NDArray, NDArray]]
    grid: Floats
    scoring: str
    weights: ArrayLike | None
    settings: dict[str, Any]
    start: dict[str, float] | None  # evidence weights of all rows, where weights are found by evidence

    def at_evidence(self, fold: int, place: Place) -> Iterator[_Fit]:
        """The weights once, then the SVM at every C."""
        train, test = self.splits[fold]
        inside, across = parts(self.source, train, test, place.stop)
        settings, y = self.own_settings(train, place), self.labels[train]
        steps, _ = settings.pop("max_iter", None), settings.pop("solver", None)
        found = fit_evidence(
            self.spn,
            inside,
            y,
            starts=1,
            start=self.start,
            max_rows=_FOLD_ROWS,
            max_iter=min(steps or MOST_STEPS, _FOLD_STEPS),
            sample_weight=settings.get("sample_weight"),
            n_threads=settings["n_threads"],
            stop=place.stop,
        )
        for k, fitted in enumerate(machines(found, inside, y, self.grid, stop=place.stop, **settings)):
            if fitted.status in UNFINISHED:
                return
            yield _Fit(fold, k, fitted, self.score(fitted, across, test, place))

    def certified(self, fold: int, place: Place) -> Iterator[_Fit]:
        train, test = self.splits[fold]
        inside, across = parts(self.source, train, test, place.stop)
        settings, fitted = self.own_settings(train, place), dict[int, Solution]()
        for k, near in walk(len(self.grid), lambda k: below_bounds(fitted[k])):
            C, last, known = float(self.grid[k]), None, None
            if near is not None:
                if place.stop():
                    return
                last = fitted[near]
                known = carried(last, C / float(self.grid[near]), _stoppable(inside, place), settings)
            fitted[k] = known or solve_next(
                self.spn, inside, self.labels[train], C, last, settings, Deadline(None, place.stop)
            )
            if fitted[k].status in UNFINISHED:
                return
            yield _Fit(fold, k, fitted[k], self.score(fitted[k], across, test, place))

    def score(self, fitted: Solution, across: KernelSource, test: NDArray, place: Place) -> float:
        decision = fitted.decision_function(_stoppable(across, place), place.n_threads)
        return SCORINGS[self.scoring].of(self.labels[test], decision, fitted.classes)

    def own_settings(self, train: NDArray, place: Place) -> dict[str, Any]:
        """The settings over the rows of one fold, which may lack a class where whole groups are held out."""
        own = self.settings | {"n_threads": place.n_threads}
        if self.weights is not None:
            own["sample_weight"] = np.asarray(self.weights)[train]
        if isinstance(by_class := own.get("class_weight"), Mapping):
            lacking = set(self.labels.tolist()) - set(self.labels[train].tolist())
            own["class_weight"] = {c: weight for c, weight in by_class.items() if c not in lacking}
        return own


def _fits(work: _Folds, fold: int, place: Place) -> Iterator[_Fit]:
    """Train on the fold's rows at every C, each from one beside it, and score on the rows held out."""
    if not place.stop():
        with suppress(Stopped):
            yield from work.certified(fold, place) if work.start is None else work.at_evidence(fold, place)


def _stoppable(part: KernelSource, place: Place) -> KernelSource:
    """A pass over matrices is short; one over tiles may take many seconds."""
    return part if isinstance(part, MatrixSource) else interruptible(part, place.stop)
