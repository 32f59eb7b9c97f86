"""Methods over columns, from scikit-learn: what people used before, tuned on the same folds by the same measure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike, NDArray

from spnmkl.baselines.learners import (
    FOREST,
    LEARNERS,
    LEAVES,
    LINEAR,
    Learner,
    Setting,
    decision_values,
    probabilities,
    setting_words,
    used_columns,
)
from spnmkl.circuit.program import Floats
from spnmkl.errors import DataError
from spnmkl.measures import SCORINGS, scoring_name
from spnmkl.parallel import Place, goes_elsewhere, in_order, side_by_side
from spnmkl.problem import answers, check_labels
from spnmkl.selection.folds import fold_splits
from spnmkl.threads import single_threaded

LASSO, RANDOM_FOREST, BOOSTING, LATE_FUSION, RBF_SVM = ORDER = (
    "lasso",
    "random forest",
    "boosting",
    "late fusion",
    "RBF-SVM",
)
Tick = Callable[[], object]
Splits = Sequence[tuple[NDArray, NDArray]]


@dataclass(frozen=True, eq=False)
class Columns:
    """Rows as methods over columns see them.

    Attributes
    ----------
    X : ndarray of shape (rows, columns)
        Prepared numbers, none of them missing.
    views : dict from name to positions
        Which columns belong together; without any, late fusion cannot take part.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.baselines import Columns
    >>> Columns(np.zeros((3, 4)), {"left": [0, 1], "right": [2, 3]}).X.shape
    (3, 4)
    """

    X: Floats
    views: Mapping[str, Sequence[int] | NDArray[np.intp]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Inner:
    """The folds on which settings are chosen, and by what."""

    splits: Splits
    scoring: str
    classes: NDArray
    seed: int
    tick: Tick

    @property
    def unheard(self) -> _Inner:
        """Without who is told, for other processes."""
        return replace(self, tick=_no_tick)

    def score(self, y: NDArray, decision: Floats) -> float:
        return SCORINGS[self.scoring].of(y, decision, self.classes)


def _no_tick() -> None: ...


class ColumnModel(Protocol):
    """What training gives: decision values of rows, and how many columns it uses.

    Examples
    --------
    >>> from spnmkl.baselines import ColumnModel
    >>> sorted(name for name in vars(ColumnModel) if not name.startswith("_"))
    ['decision_function', 'used']
    """

    @property
    def used(self) -> int:
        """How many columns have a part in the decision."""
        ...

    def decision_function(self, X: Floats) -> Floats:
        """The decision values of new samples.

        Parameters
        ----------
        X : ndarray of shape (rows, columns)
            Columns prepared as those of training.

        Returns
        -------
        ndarray of shape (rows,), or (rows, classes) for more than two classes
            The values.
        """
        ...


@dataclass(frozen=True, eq=False)
class FittedColumns(ColumnModel):
    """A trained method over columns.

    Attributes
    ----------
    model : ColumnModel
        What was trained on all rows.
    classes : ndarray of shape (classes,)
        The labels, sorted.
    setting : dict
        What was chosen.
    validation : float
        The mean score on held-out folds with this setting; NaN for late fusion, whose views each have their own.
    at_end : bool
        Whether a value with an order was the first or the last of those to choose from.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl.baselines import Columns, column_methods
    >>> X, y = load_wine(return_X_y=True)
    >>> found = column_methods()["lasso"].fit(Columns((X - X.mean(axis=0)) / X.std(axis=0)), y, points=3, folds=3)
    >>> list(found.setting), found.predict((X[:2] - X.mean(axis=0)) / X.std(axis=0)).tolist()
    (['C'], [0, 0])
    """

    model: ColumnModel
    classes: NDArray
    setting: Setting
    validation: float
    at_end: bool = False

    @property
    def C(self) -> float:
        """The C that was chosen; NaN where the method has none."""
        return float(self.setting.get("C", float("nan")))

    @property
    def gap(self) -> float:
        """NaN: nothing is proven."""
        return float("nan")

    @property
    def setting_words(self) -> str:
        """What was chosen, in a line."""
        return setting_words(self.setting)

    @property
    def used(self) -> int:
        return self.model.used

    def decision_function(self, X: Floats) -> Floats:
        return self.model.decision_function(X)

    def predict(self, X: Floats) -> NDArray:
        """The classes of new samples.

        Parameters
        ----------
        X : ndarray of shape (rows, columns)
            Columns prepared as those of training.

        Returns
        -------
        ndarray of shape (rows,)
            Labels as given in training.
        """
        return answers(self.decision_function(X), self.classes)


@dataclass(frozen=True)
class ColumnMethod:
    """A method over columns; it takes the same folds, measure and number of values as `Method` does.

    Attributes
    ----------
    name : str
        What to call it.
    learner : Learner or None
        How it is trained with a setting, and which settings there are; None for late fusion, a model for each view.

    Examples
    --------
    >>> from spnmkl.baselines import column_methods
    >>> column_methods()["random forest"].name
    'random forest'
    """

    name: str
    learner: Learner | None

    def fit(
        self,
        columns: Columns,
        y: ArrayLike,
        *,
        points: int = 8,
        folds: int = 5,
        scoring: str = "accuracy",
        groups: ArrayLike | None = None,
        random_state: int | None = 0,
        tick: Tick | None = None,
    ) -> FittedColumns:
        """Choose by cross-validation, then train on all rows given.

        Where joblib was told to use several workers (``joblib.parallel_config``), settings are tried on them; the
        result is the same.

        Parameters
        ----------
        columns : Columns
            The training rows.
        y : array-like of shape (n,)
            Labels of any kind.
        points : int, default=8
            How many values of C, where the method has one.
        folds : int, default=5
            How many parts are held out in turn.
        scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
            By what to choose.
        groups : array-like of shape (n,), default=None
            Which rows belong together: they are held out together.
        random_state : int or None, default=0
            Shuffles the folds, which are the same for all methods, and draws the trees.
        tick : callable, default=None
            Called often, within trainings too; it may raise to stop.

        Returns
        -------
        FittedColumns
            The method trained with the best setting.

        Raises
        ------
        DataError
            Late fusion was given no views.
        """
        labels = check_labels(y)
        X = np.ascontiguousarray(columns.X, dtype=float)
        splits = list(fold_splits(labels, folds, groups, random_state))
        seed = 0 if random_state is None else random_state
        inner = _Inner(splits, scoring_name(scoring), np.unique(labels), seed, tick or (lambda: None))
        with single_threaded():
            if self.learner is not None:
                return _tuned(self.learner, X, labels, points, inner)
            return _fused(X, columns.views, labels, points, inner)


def column_methods() -> dict[str, ColumnMethod]:
    """The methods over columns by name, ready to be trained.

    Returns
    -------
    dict from name to ColumnMethod
        A lasso-penalised logistic regression, a random forest, gradient boosting, late fusion, and a support vector
        machine with an rbf kernel, C and width chosen.

    Examples
    --------
    >>> from spnmkl.baselines import column_methods
    >>> list(column_methods())
    ['lasso', 'random forest', 'boosting', 'late fusion', 'RBF-SVM']
    """
    learners: dict[str, Learner | None] = {LATE_FUSION: None, **LEARNERS}
    return {name: ColumnMethod(name, learners[name]) for name in ORDER}


@dataclass(frozen=True, eq=False)
class _Whole:
    """One model over all columns."""

    estimator: Any

    @property
    def used(self) -> int:
        return used_columns(self.estimator)

    def decision_function(self, X: Floats) -> Floats:
        return decision_values(self.estimator, X)


def _tuned(learner: Learner, X: Floats, y: NDArray, points: int, inner: _Inner) -> FittedColumns:
    grid = learner.grid(X, y, points)
    work = [(setting, split) for setting in grid for split in inner.splits]
    tried = _tried(
        [partial(_fold_scores, learner, X, y, setting, split, inner.unheard) for setting, split in work], inner
    )
    scores: dict[tuple[tuple[str, Any], ...], list[float]] = {}
    for found in tried:
        for setting, value in found:
            scores.setdefault(tuple(setting.items()), []).append(value)
    means = {setting: _mean(values) for setting, values in scores.items()}
    best = max(means, key=lambda setting: np.nan_to_num(means[setting], nan=-1.0))  # of equal ones, the first
    chosen = dict(best)
    model = learner.last(X, y, {**chosen, **learner.final}, inner.seed, inner.tick)
    return FittedColumns(_Whole(model), inner.classes, chosen, means[best], _at_end(chosen, means))


def _fold_scores(
    learner: Learner, X: Floats, y: NDArray, setting: Setting, split: tuple[NDArray, NDArray], inner: _Inner, tick: Tick
) -> list[tuple[Setting, float]]:
    """The score of every stage of a training on one fold."""
    train, test = split
    return [
        (stage, inner.score(y[test], decision_values(model, X[test])))
        for stage, model in learner.stages(X[train], y[train], setting, inner.seed, tick)
    ]


def _tried(works: Sequence[Callable[[Tick], Any]], inner: _Inner) -> Iterator[Any]:
    """What the works give, in their order; a tick cannot follow them to other processes."""
    if not goes_elsewhere() and effective_n_jobs(None) == 1:
        for work in works:
            yield work(inner.tick)
            inner.tick()
        return
    with closing(side_by_side(_worked, works, range(len(works)), at_once=effective_n_jobs(None))) as found:
        for one in in_order(found):
            yield one
            inner.tick()


def _worked(works: Sequence[Callable[[Tick], Any]], k: int, place: Place) -> Iterator[tuple[int, Any]]:
    yield k, works[k](partial(place.say, ""))


def _mean(scores: Sequence[float]) -> float:
    """Over the folds that could be scored, as for methods over kernels: an area needs rows of two classes."""
    known = [score for score in scores if not np.isnan(score)]
    return float(np.mean(known)) if known else float("nan")


def _at_end(chosen: Setting, means: Mapping[tuple[tuple[str, Any], ...], float]) -> bool:
    """Of C alone, as for methods over kernels: other settings have two or three values."""
    if "C" not in chosen:
        return False
    values = sorted({dict(setting)["C"] for setting in means})
    return chosen["C"] in (values[0], values[-1])


@dataclass(frozen=True, eq=False)
class _Fused:
    """Models of views, and the logistic regression over what they say."""

    models: Sequence[tuple[NDArray[np.intp], Any]]
    stack: Any

    @property
    def used(self) -> int:
        return sum(used_columns(model) for _, model in self.models)

    def decision_function(self, X: Floats) -> Floats:
        said = [probabilities(model, X[:, columns]) for columns, model in self.models]
        return decision_values(self.stack, np.hstack(said))


def _fused(X: Floats, views: Mapping[str, Any], y: NDArray, points: int, inner: _Inner) -> FittedColumns:
    if not views:
        raise DataError("Late fusion has a model for each view, but there is no view; name the columns of some.")
    models, outside, chosen = [], [], {}
    for view, given in views.items():
        columns = np.asarray(given, dtype=np.intp)
        learner, setting, held_out = _view_choice(X[:, columns], y, points, inner)
        models.append((columns, learner.last(X[:, columns], y, setting, inner.seed, inner.tick)))
        outside.append(held_out)
        chosen[view] = setting_words(setting)
        inner.tick()
    stack = LINEAR.last(np.hstack(outside), y, {"C": 1.0}, inner.seed, inner.tick)
    return FittedColumns(_Fused(models, stack), inner.classes, chosen, float("nan"))


def _view_choice(X: Floats, y: NDArray, points: int, inner: _Inner) -> tuple[Learner, Setting, Floats]:
    """A logistic regression or a forest, whichever does best on held-out rows, and what it says of these."""
    candidates = [(LINEAR, setting) for setting in LINEAR.grid(X, y, max(2, points - 2))]
    candidates += [(FOREST, {"leaf": leaf}) for leaf in LEAVES]
    best: tuple[float, Learner, Setting, Floats] | None = None
    for learner, setting in candidates:
        works = [partial(_held_out, learner, X, y, setting, split, inner.seed) for split in inner.splits]
        said = list(_tried(works, inner))
        held_out = np.empty((len(y), said[0][0].shape[1]))
        for (_, test), (P, _) in zip(inner.splits, said, strict=True):
            held_out[test] = P
        scores = [inner.score(y[test], D) for (_, test), (_, D) in zip(inner.splits, said, strict=True)]
        score = float(np.nan_to_num(_mean(scores), nan=-1.0))
        if best is None or score > best[0]:
            best = score, learner, setting, held_out
    assert best is not None
    return best[1:]


def _held_out(
    learner: Learner, X: Floats, y: NDArray, setting: Setting, split: tuple[NDArray, NDArray], seed: int, tick: Tick
) -> tuple[Floats, Floats]:
    """Probabilities and decision values of the rows of a fold."""
    train, test = split
    model = learner.last(X[train], y[train], setting, seed, tick)
    return probabilities(model, X[test]), decision_values(model, X[test])
