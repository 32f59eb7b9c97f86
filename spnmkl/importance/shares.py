"""`held_out_shares`: what carries the decision of a drawing, on every row held out in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from typing import Any

from numpy.typing import ArrayLike, NDArray

from spnmkl.baselines.labels import of_leaves
from spnmkl.errors import Stopped
from spnmkl.importance.folds import ArrayFolds
from spnmkl.importance.measuring import Measuring, given_C
from spnmkl.importance.progress import ImportanceStep, Teller
from spnmkl.importance.restriction import FULL, Removals, removals
from spnmkl.inspection import DecisionParts, HeldOutShares, WeightedPath, decision_parts
from spnmkl.parallel import Place, in_order, side_by_side
from spnmkl.structure import SPN, Path
from spnmkl.study.contest import Plan
from spnmkl.study.entrants import with_powers
from spnmkl.wording import counted


def held_out_shares(
    structure: SPN,
    X: Any,
    y: ArrayLike,
    *,
    views: Mapping[str, Iterable[int | str]] | None = None,
    paths: Iterable[Path | WeightedPath] = (),
    C: float | str = "cv",
    cv: int = 5,
    groups: ArrayLike | None = None,
    transformer: Any = None,
    weights: str = "certified",
    random_state: int = 0,
    n_threads: int | None = None,
    callback: Callable[[ImportanceStep], object] | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> HeldOutShares:
    """Share out the decision on rows that were not trained on: by node, kernel, view and path.

    Every row is held out once. Its decision, without the intercept and less its mean over the rows trained on, is split
    over the paths; the share of some of them is their mean of y·f over all rows, divided by that of all paths. What a
    kernel learned by heart counts nothing there. Several classes are added up, each against the rest.

    Parameters
    ----------
    structure : SPN
        The drawing.
    X : array or DataFrame of shape (n, n_features)
        The samples.
    y : array-like of shape (n,)
        Labels of any kind.
    views : mapping from name to columns, default=None
        The columns of every view, by name or position; a view has the kernels that see columns of it alone.
    paths : iterable of Path or WeightedPath, default=()
        Single paths to tell apart, such as ``structure.paths()`` lists where there are not too many.
    C : float or "cv", default="cv"
        Weight of the loss; "cv": chosen in every fold by 3 inner folds over 8 values.
    cv : int, default=5
        How many folds, stratified and shuffled.
    groups : array-like of shape (n,), default=None
        Which rows belong together, such as those of one patient; they are held out together.
    transformer : scikit-learn transformer, default=None
        Fitted anew on every training part, such as ``StandardScaler()``; it must keep the columns.
    weights : {"certified", "evidence", "chosen"}, default="certified"
        Those of all trainings: the provably best; those of `fit_evidence`, which are not certified; or in every fold
        evidence weights where they are better on its inner folds by more than the error of the difference, else the
        former.
    random_state : int, default=0
        Shuffles the folds.
    n_threads : int, default=None
        Cores to use; None for all.
    callback : callable, default=None
        Called with an `ImportanceStep` after every training; returning False stops and keeps the folds that are done.
    stop : callable, default=None
        Asked within trainings; once it is true the folds that are done are kept.
    **settings : dict
        Passed to `solve`: ``p``, ``lam``, ``tol``, ``class_weight``, …

    Returns
    -------
    HeldOutShares
        Pooled over all rows, each share with its standard error over the rows and its spread over the folds; `why_none`
        says why where there are no shares.

    Raises
    ------
    ParameterError
        A setting is out of range.
    DataError
        The views, rows, labels or groups do not fit each other.
    Stopped
        It was stopped before the first fold was done.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from spnmkl import templates
    >>> from spnmkl.importance import held_out_shares
    >>> X, y = load_wine(return_X_y=True)
    >>> views = {"colour": [9, 10], "acids": [1, 5, 6]}
    >>> shares = held_out_shares(templates.flat(views), X, y, views=views, C=1.0, cv=3, transformer=StandardScaler())
    >>> shares.rows, round(sum(share.share for share in shares.views.values()), 6)
    ('3 folds of 178 rows', 1.0)
    """
    plan = Plan(cv, tol=settings.pop("tol", Plan.tol))
    folds = ArrayFolds.of(X, y, groups, transformer, plan, random_state)
    drawn = with_powers(structure, settings.pop("p", None))
    leaves = removals(drawn, views, folds.known).leaves if views else {}
    work = Measuring(Removals({FULL: drawn}, {}, {}, leaves), folds, given_C(C), settings, n_threads, weights)
    say = Teller(work.steps() * len(folds.splits), callback, stop)
    wanted, found, together = list(paths), list[DecisionParts](), list[NDArray]()
    running = side_by_side(_parts, (work, wanted), range(len(folds.splits)), stop=stop, say=say)
    with suppress(Stopped), closing(running) as parts:
        for k, one in in_order((k, (k, one)) for k, one in parts):
            found.append(one)
            if folds.groups is not None:
                together.append(folds.groups[folds.splits[k][2].test])
            say.folds = len(found)
    if not found:
        raise Stopped
    done = counted(len(found), "fold")
    where = f"{done} of {folds.rows}" if len(found) == cv else f"{done} of {cv}"
    return HeldOutShares.of_parts(found, where, together or None)


def _parts(
    given: tuple[Measuring, list[Path | WeightedPath]], fold: int, place: Place
) -> Iterator[tuple[int, DecisionParts]]:
    """The decision of a fold on the rows that it holds out, taken apart."""
    work, paths = given
    data, tell = work.prepared(work.folds.splits[fold], place.say)
    _, solution, _ = work.settled(data, tell, place.stop)
    spn = solution.spn
    cross, kernels = of_leaves(spn, data.cross), of_leaves(spn, data.kernels)
    yield fold, decision_parts(solution, cross, data.y_test, kernels, views=work.removals.leaves, paths=paths)
