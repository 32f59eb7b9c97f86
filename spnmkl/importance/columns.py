"""`column_importance`: which columns matter, by what is lost where they stand in the wrong rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spnmkl.circuit.program import Floats
from spnmkl.errors import DataError, ParameterError, Stopped
from spnmkl.importance.alike import column_groups
from spnmkl.importance.column_result import ColumnFold, ColumnImportance
from spnmkl.importance.folds import ArrayFolds, Tick
from spnmkl.importance.measuring import Measuring, Stop, given_C
from spnmkl.importance.permuting import SCREENS, FoldModel, Orders, shuffles
from spnmkl.importance.progress import ImportanceStep, Teller
from spnmkl.importance.restriction import FULL, Removals, seen_columns
from spnmkl.measures import SCORINGS, scoring_name
from spnmkl.parallel import Place, in_order, side_by_side
from spnmkl.parameters import checked_threads, count
from spnmkl.structure import SPN
from spnmkl.study.contest import Plan
from spnmkl.study.entrants import with_powers

ALIKE, PERMUTATIONS, MOST = 0.9, 5, 20
_TrainedFold = tuple[ColumnFold, FoldModel, Floats]  # and how much each group of columns changes its decision


def column_importance(
    structure: SPN,
    X: Any,
    y: ArrayLike,
    columns: Iterable[int | str] | None = None,
    *,
    C: float | str = "cv",
    cv: int = 5,
    repeats: int = 1,
    scoring: str = "accuracy",
    groups: ArrayLike | None = None,
    transformer: Any = None,
    weights: str = "certified",
    alike: float = ALIKE,
    most: int = MOST,
    permutations: int = PERMUTATIONS,
    random_state: int = 0,
    n_threads: int | None = None,
    callback: Callable[[ImportanceStep], object] | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> ColumnImportance:
    """Which columns a drawing uses, by permuting them on rows that were not trained on.

    Columns that are correlated are permuted together, since either could stand in for the other. All groups are
    screened by the gradient of the decision on the rows held out, or where a kernel has none by permuting blocks of
    columns; those that change the decision most are permuted, in every fold. Nothing is trained anew, so that this
    tells what the trained drawing uses, and not what others could replace; see `view_importance` for that.

    Parameters
    ----------
    structure : SPN
        The drawing.
    X : array or DataFrame of shape (n, n_features)
        The samples.
    y : array-like of shape (n,)
        Labels of any kind.
    columns : iterable of int or str, default=None
        Those to look at, such as the columns of a view; None: all that the drawing sees.
    C : float or "cv", default="cv"
        Weight of the loss; "cv": chosen in every fold by 3 inner folds over 8 values.
    cv : int, default=5
        How many folds, stratified and shuffled.
    repeats : int, default=1
        How many rounds of folds.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
        What is measured, and what C is chosen by.
    groups : array-like of shape (n,), default=None
        Which rows belong together; they are held out together.
    transformer : scikit-learn transformer, default=None
        Fitted anew on every training part; it must keep the columns.
    weights : {"certified", "evidence", "chosen"}, default="certified"
        Those of all trainings: the provably best; those of `fit_evidence`, which are not certified; or in every fold
        evidence weights where they are better on its inner folds by more than the error of the difference, else the
        former.
    alike : float, default=0.9
        Columns whose correlation is at least so strong, of either sign, are permuted together (single linkage).
    most : int, default=20
        How many groups of columns are permuted.
    permutations : int, default=5
        How often each is, in every fold.
    random_state : int, default=0
        Shuffles folds and columns.
    n_threads : int, default=None
        Cores to use; None for all.
    callback : callable, default=None
        Called with an `ImportanceStep` now and then; returning False stops and keeps the folds that are done.
    stop : callable, default=None
        Asked now and then, in several threads; once it is true the folds that are done are kept.
    **settings : dict
        Passed to `solve`: ``p``, ``lam``, ``tol``, ``class_weight``, …

    Returns
    -------
    ColumnImportance
        The table, a figure, and the method in words.

    Raises
    ------
    ParameterError
        A setting is out of range.
    DataError
        The rows, labels, groups or columns do not fit each other.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from spnmkl import Kernel, templates
    >>> from spnmkl.importance import column_importance
    >>> data = load_wine(as_frame=True)
    >>> spn = templates.flat([Kernel("rbf"), Kernel("linear")])
    >>> found = column_importance(spn, data.data, data.target, C=1.0, cv=3, most=3, transformer=StandardScaler())
    >>> len(found.table), found.screening
    (3, 'gradient')
    """
    plan = Plan(cv, repeats, tol=settings.pop("tol", Plan.tol), scoring=scoring_name(scoring))
    folds = ArrayFolds.of(X, y, groups, transformer, plan, random_state)
    drawn = with_powers(structure, settings.pop("p", None))
    only = Removals({FULL: drawn}, {}, {}, {})
    work = Measuring(only, folds, given_C(C), settings, n_threads, weights)
    wanted = None if columns is None else [folds.known[c] if isinstance(c, int) else c for c in columns]
    return measured_columns(ColumnWork(work, wanted, alike, most, permutations), callback, stop)


@dataclass(frozen=True, eq=False)
class ColumnWork:
    """What to permute, and how often; parameters as of `column_importance`."""

    work: Measuring
    columns: Sequence[Any] | None = None
    alike: float = ALIKE
    most: int = MOST
    permutations: int = PERMUTATIONS

    def __post_init__(self) -> None:
        for name in ("most", "permutations"):
            if count(getattr(self, name), name) is None:
                raise ParameterError(f"{name} must be a whole number of at least 1, but it is None.")

    def groups(self) -> list[tuple[Any, ...]]:
        """The columns that the drawing sees, of those to look at, in groups that are alike."""
        folds, spn = self.work.folds, self.work.removals.structures[FULL]
        seen = {column for leaf in spn.kernels for column in seen_columns(spn, leaf, folds.known)}
        if self.columns is not None:
            for column in self.columns:
                if column not in folds.known:
                    raise DataError(f"There is no column {column!r} to look at; name columns of the data.")
            seen &= set(self.columns)
        found = [column for column in folds.known if column in seen]
        if not found:
            raise DataError("No kernel of the drawing sees any of these columns; choose others.")
        return column_groups(folds.values(), found, self.alike)

    def orders(self, at: tuple[int, ...], rows: int, times: int) -> Orders:
        return shuffles(rows, times, (self.work.folds.random_state, *at))

    def trained(self, groups: Sequence[Sequence[Any]], say: Tick, stop: Stop) -> Iterator[_TrainedFold]:
        """Every fold, before any column is permuted."""
        items = range(len(self.work.folds.splits))
        with closing(side_by_side(_trained, (self, groups), items, stop=stop, say=say)) as found:
            yield from in_order(found)

    def trained_fold(self, number: int, groups: Sequence[Sequence[Any]], say: Tick, stop: Stop) -> _TrainedFold:
        split = self.work.folds.splits[number]
        data, tell = self.work.prepared(split, say)
        _, solution, C = self.work.settled(data, tell, stop)
        model = FoldModel.of(solution, data)
        full = model.score(model.decision, SCORINGS[self.work.scoring])
        n_train, n_test, margin = len(data.y_train), len(data.y_test), float(model.margins(model.decision).mean())
        fold = ColumnFold(split[0], split[1], n_train, n_test, C, full, margin, (), (), ())
        orders = self.orders((fold.repeat, fold.fold, 1), fold.n_test, SCREENS)
        screen = model.screened(groups, min(self.most, len(groups)), orders)
        model.forget_kernels()
        say(f"fold {fold.fold} of {self.work.folds.plan.folds}, screening {len(groups):,} groups of columns")
        return fold, model, screen

    def permuted(
        self, at: ColumnFold, model: FoldModel, groups: Sequence[Sequence[Any]], say: Tick, stop: Stop
    ) -> ColumnFold:
        """A fold with what is lost without each group."""
        orders = self.orders((at.repeat, at.fold), at.n_test, self.permutations)
        _ = model.cross  # once, before threads ask for it
        lost: dict[int, tuple[float, float, float]] = {}
        given = model, groups, orders, self.work.scoring
        running = side_by_side(
            _loss, given, range(len(groups)), at_once=checked_threads(self.work.n_threads), n_threads=1, stop=stop
        )
        with closing(running) as found:
            for k, values in found:
                lost[k] = values
                say(f"fold {at.fold} of {self.work.folds.plan.folds}, permuting columns")
        if len(lost) < len(groups):
            raise Stopped
        drops, margins, squares = np.array([lost[k] for k in range(len(groups))]).T.tolist()
        return replace(at, drops=tuple(drops), margins=tuple(margins), squares=tuple(squares))


def measured_columns(
    work: ColumnWork, callback: Callable[[ImportanceStep], object] | None = None, stop: Stop = None
) -> ColumnImportance:
    """Train all folds, screen, permute; parameters as of `column_importance`."""
    groups = work.groups()
    folds, tested = work.work.folds, min(work.most, len(groups))
    rest = len(groups) > tested
    found = ColumnImportance(
        tuple(tuple(map(str, group)) for group in groups),
        (),
        (),
        len(folds.splits),
        work.work.scoring,
        folds.rows,
        work.alike,
        work.permutations,
        weights=work.work.weights,
    )
    say = Teller(len(folds.splits) * (work.work.steps() + 1 + tested + rest), callback, stop)
    with suppress(Stopped):
        models, screens = [], []
        for fold, model, screen in work.trained(groups, say, stop):
            screens.append(screen)
            models.append((fold, model))
        if len(models) < len(folds.splits):
            raise Stopped
        order = np.argsort(-np.mean(screens, axis=0), kind="stable")[:tested]
        chosen = [groups[k] for k in order]
        others = [column for k, group in enumerate(groups) if k not in set(order.tolist()) for column in group]
        screening = "gradient" if all(model.differentiable for _, model in models) else "blocks"
        found = replace(found, tested=tuple(order.tolist()), screening=screening if rest else "none")
        asked = [*chosen, *([others] if rest else [])]
        with closing(side_by_side(_permuted, (work, asked), list(enumerate(models)), stop=stop, say=say)) as running:
            for done in in_order(running):
                found = replace(found, folds=(*found.folds, done))
                say.folds = len(found.folds)
    return found


def _trained(
    given: tuple[ColumnWork, Sequence[Sequence[Any]]], fold: int, place: Place
) -> Iterator[tuple[int, _TrainedFold]]:
    work, groups = given
    yield fold, work.trained_fold(fold, groups, place.say, place.stop)


def _permuted(
    given: tuple[ColumnWork, Sequence[Sequence[Any]]], item: tuple[int, tuple[ColumnFold, FoldModel]], place: Place
) -> Iterator[tuple[int, ColumnFold]]:
    (work, groups), (number, (fold, model)) = given, item
    yield number, work.permuted(fold, model, groups, place.say, place.stop)
    model.forget_kernels()


def _loss(
    given: tuple[FoldModel, Sequence[Sequence[Any]], Orders, str], k: int, place: Place
) -> Iterator[tuple[int, tuple[float, float, float]]]:
    model, groups, orders, scoring = given
    if not place.stop():
        yield k, model.loss(model.positions(groups[k]), orders, SCORINGS[scoring])
