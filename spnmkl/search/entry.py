"""What a user calls: `suggest` keeps rows away, searches in the others, searches again in parts of them, and scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from spnmkl.errors import DataError, ParameterError
from spnmkl.evidence.rows import sampled
from spnmkl.measures import scoring_name
from spnmkl.parameters import check_callback, count, question, seed
from spnmkl.problem import one_vs_rest
from spnmkl.search.beside import each
from spnmkl.search.branches import Branch, branch_text, drawn, formula, multiplies, paths
from spnmkl.search.fits import Fitted, Ground, Workplace
from spnmkl.search.leaves import Leaves, leaves_of
from spnmkl.search.result import Outer, Suggestion, Suggestions, described, verdict
from spnmkl.search.rows import ArrayRows, Numbers, Rows, folds_of, held_out
from spnmkl.search.scores import FoldAnswers, chosen_C, decisions, fewer, over_folds, scored_on, unscored
from spnmkl.search.walk import FOUND, Asked, Walk, found_among, walk
from spnmkl.search.ways import BothWays, Way, criterion, flat_among, is_flat, lead_of, ranked
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN, Kernel
from spnmkl.structure.nodes import describe
from spnmkl.structure.templates import Columns
from spnmkl.wording import counted

MOST_ROWS = 500  # to search in, as `fit_evidence` has it
SUBSAMPLES, SUBSAMPLE = 6, 0.8  # searches for what recurs, and the share of the rows each has
_SEARCHING, _SUBSAMPLING = 0.5, 0.5  # of the time that is left; the rest is for what comes after, the scores


@dataclass(frozen=True)
class SearchStep:
    """How far a search has come, as its callback gets it; returning False there stops it.

    Attributes
    ----------
    words : str
        What is done now.
    refits, budget : int
        Evidence refits so far, of at most how many.
    spn : SPN or None
        The best drawing so far.
    formula : str
        The same in a line.
    over_flat : float
        Its log evidence minus that of the flat sum.

    Examples
    --------
    >>> from spnmkl.search import SearchStep
    >>> SearchStep("searching", 3, 100, None, "", 0.0).refits
    3
    """

    words: str
    refits: int
    budget: int
    spn: SPN | None
    formula: str
    over_flat: float


Callback = Callable[[SearchStep], object] | None


def suggest(
    X: ArrayLike | pd.DataFrame,
    y: ArrayLike,
    *,
    views: Mapping[str, Columns] | None = None,
    kernels: Kernel | Sequence[Kernel] | None = None,
    budget: int = 100,
    max_time: float | None = None,
    scoring: str = "accuracy",
    groups: ArrayLike | None = None,
    held_out: float = 0.25,
    subsamples: int = SUBSAMPLES,
    outer_folds: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
    callback: Callback = None,
    stop: Callable[[], bool] | None = None,
) -> Suggestions:
    """Drawings that the labels speak for, found by evidence; "no evidence for products" is an answer, too.

    From the flat sum over all kernels, products are added and what is not worth its price is taken out: pairs of
    kernels, blocks (sums of views multiplied, a view with itself too), branches times a kernel or a view. Candidates
    are screened by a score test and refitted by evidence (`fit_evidence`); see the page on searching. A part of the
    rows is kept away from all that, and all scores are of these rows.

    Parameters
    ----------
    X : array-like or data frame of shape (n, n_features)
        The rows; columns are taken as they are.
    y : array-like of shape (n,)
        Labels of any kind; two classes, or more.
    views : mapping from name to columns, default=None
        Which columns belong together; None: all of them.
    kernels : Kernel or sequence of Kernel, default=None
        Kernels with columns of their own, used as they are; or prototypes without columns, for every column where
        these are at most 12, else for every view. None: rbf of the median width, for views with a linear one beside it.
    budget : int, default=100
        Evidence refits of a search.
    max_time : float, default=None
        Seconds for all of it: at most half to search, so that there is time to score what was found.
    scoring : {"accuracy", "balanced_accuracy", "roc_auc"}, default="accuracy"
        What is told of the rows held out. The search does not look at it.
    groups : array-like of shape (n,), default=None
        Which rows belong together: they are held out together.
    held_out : float, default=0.25
        The share of the rows that the search does not see; 0: none, and no scores.
    subsamples : int, default=6
        Searches on 80 % of the rows each, to tell how often every branch recurs; 0: none.
    outer_folds : int, default=None
        How many outer folds to score the whole procedure in, with a search inside each; None: none.
    random_state : int, default=0
        Draws the rows held out, the folds and the subsamples.
    n_jobs : int, default=None
        How much runs side by side, as joblib has it: None for what its configuration says, −1 for all cores. The
        result does not depend on it. A backend that was chosen by ``joblib.parallel_config`` takes the work.
    callback : callable, default=None
        Called with a `SearchStep` after every fit; returning False stops.
    stop : callable, default=None
        Asked now and then; once it is true, the best so far comes back.

    Returns
    -------
    Suggestions
        Best first, the flat sum always among them.

    Raises
    ------
    SPNMKLError
        Rows, labels, views, kernels or a setting do not fit.

    Examples
    --------
    >>> import numpy as np
    >>> from spnmkl.search import suggest
    >>> X = np.random.default_rng(0).uniform(-1.7, 1.7, size=(160, 4))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> found = suggest(X, y, subsamples=0, budget=20)
    >>> found.found, found.best.formula
    (True, '0 × 1')
    """
    rows = ArrayRows.of(X, y, groups)
    leaves = leaves_of(rows.columns, views, kernels)
    settings = Settings(
        _natural(budget, "budget", 1),
        scoring_name(scoring),
        _natural(subsamples, "subsamples", 0),
        count(outer_folds, "outer_folds"),
        random_state,
        n_jobs,
    )
    seed(random_state)
    if isinstance(held_out, bool) or not isinstance(held_out, int | float) or not 0 <= held_out <= 0.5:
        raise ParameterError(f"held_out must be a share of the rows from 0 to 0.5, but it is {describe(held_out)}.")
    seen, kept = _kept_away(rows, held_out, random_state)
    return searched(rows, leaves, seen, kept, settings, Deadline(max_time, stop), callback, learn=True)


@dataclass(frozen=True)
class Settings:
    budget: int
    scoring: str
    subsamples: int = SUBSAMPLES
    outer_folds: int | None = None
    random_state: int = 0
    n_jobs: int | None = None


def _natural(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, but it is {describe(value)}.")
    return int(value)


def _kept_away(rows: Rows, share: float, random_state: int) -> tuple[Numbers, Numbers]:
    return held_out(rows, np.arange(len(rows.y)), share, random_state)


def searched(
    rows: Rows,
    leaves: Leaves,
    seen: Numbers,
    kept: Numbers,
    settings: Settings,
    deadline: Deadline,
    callback: Callback = None,
    *,
    learn: bool = False,
) -> Suggestions:
    """Search in the rows `seen`, score on those `kept` away; with `learn`, folds of these are trained on in turn."""
    check_callback(callback)
    question(deadline.stop)
    started, teller = time.perf_counter(), _Teller(settings.budget, callback, deadline)
    stop = teller.deadline
    searching = stop.early(_SEARCHING)
    done = both_ways(rows, leaves, seen, settings, searching, teller)
    cut = searching()
    subsampling = stop.early(_SUBSAMPLING)
    recurring = _subsampled(done, settings, subsampling, teller) if not subsampling() else []
    order = ranked(done, stop)
    suggestions = []
    flat_value, lead = flat_among(order, done)[1].value, lead_of(order, done)
    plain = [_suggestion(way, fitted, flat_value, recurring) for way, fitted in order]
    teller.say(f"scoring {counted(len(plain), 'drawing')} on rows that were not searched", done.best)
    given = rows, seen, kept, settings.scoring, settings.random_state, learn
    scores = dict(each(scored_on, given, [one.spn for one in plain], settings.n_jobs, stop))
    for k, one in enumerate(plain):
        has = scores.get(k, unscored(settings.scoring))
        one = replace(one, certified=has.beta, C=has.C, score=has.certified, evidence_score=has.evidence)
        suggestions.append(replace(one, sentence=described(one, len(recurring))))
    among = np.sort(np.concatenate([seen, kept])) if learn else seen  # test rows stay unseen there, too
    outer = _outer(rows, leaves, among, settings, stop, teller)
    said = verdict(done.found, done.beats_constant, suggestions[0], done.over_sums, lead, FOUND, cut)
    if stop() and not cut:
        said += " It was stopped after the search itself: what was not scored by then is not."
    return Suggestions(
        tuple(suggestions),
        done.found,
        done.beats_constant,
        said,
        done.refits,
        done.plain.walk.ground.Y.shape[1],
        len(kept),
        len(recurring),
        outer,
        "stopped" if cut or stop() else done.best.walk.ended,
        time.perf_counter() - started,
        {view: tuple(leaves.names[k] for k in own) for view, own in leaves.views.items()},
        lead >= FOUND,
    )


def both_ways(
    rows: Rows, leaves: Leaves, seen: Numbers, settings: Settings, stop: Asked, teller: _Teller | None = None
) -> BothWays:
    """The budget is shared between the two."""
    kinds = [leaves] if leaves.centred is None else [leaves, leaves.centred]
    ways: list[Way] = []
    left = settings.budget
    for k, kind in enumerate(kinds):
        if ways and (stop() or left < 1):
            break
        share = left // (len(kinds) - k) if len(kinds) > k + 1 else left
        ground = ground_of(rows, kind, seen, settings.random_state)
        follow = None if teller is None else teller.following(kind, ways)
        done = walk(ground, kind.pool, max(share, 1), stop, settings.n_jobs, follow)
        ways.append(Way(kind, done))
        left -= done.refits
    return BothWays(tuple(ways))


class _Teller:
    """Tells the callback how far it is, and stops everything once that returns False."""

    def __init__(self, budget: int, callback: Callback, deadline: Deadline) -> None:
        self.budget, self.callback = budget, callback
        self.enough, asked = False, deadline.stop
        self.refits = 0
        self.last: tuple[SPN | None, str, float] = None, "", 0.0
        self.deadline = Deadline(deadline.left, lambda: self.enough or (asked is not None and asked()))

    def following(self, leaves: Leaves, before: Sequence[Way]) -> Callable[[Walk], None]:
        def follow(walk: Walk) -> None:
            both = BothWays((*before, Way(leaves, walk)))
            self.say("searching", both.best, both.refits)

        return follow

    def say(self, words: str, way: Way | None = None, refits: int | None = None) -> None:
        if self.callback is None:
            return
        if refits is not None:
            self.refits = refits
        if way is not None and way.walk.best is not None:
            best, walk = way.walk.best, way.walk
            spn, text = drawn(best.branches, way.leaves.kernels), formula(best.branches, way.leaves.names)
            self.last = spn, text, best.value - (walk.flat or best).value
        if self.callback(SearchStep(words, self.refits, self.budget, *self.last)) is False:
            self.enough = True


def ground_of(rows: Rows, leaves: Leaves, seen: Numbers, random_state: int) -> Ground:
    """The kernels among the rows searched, a stratified sample where these are many, and their labels."""
    classes, codes = np.unique(rows.y[seen], return_inverse=True)
    if len(classes) < 2:
        raise DataError("y must hold at least two classes among the rows that are searched; give more rows.")
    some = seen[sampled(codes, MOST_ROWS, np.random.default_rng(random_state))]
    spn = leaves.flat
    found = rows.parts(spn, some, some[:0])
    place = {spn.label(leaf): leaf for leaf in spn.kernels}
    K = tuple(np.ascontiguousarray(found.inside[place[name]], dtype=float) for name in leaves.names)
    return Ground(K, one_vs_rest(np.searchsorted(classes, found.y_train), len(classes)))


def _subsampled(done: BothWays, settings: Settings, stop: Asked, teller: _Teller) -> list[tuple[Branch, ...]]:
    """What searches on parts of the rows find, with the leaves that suit all of them, each with the whole budget."""
    ground, pool = done.best.walk.ground, done.best.leaves.pool
    n = ground.Y.shape[1]
    codes = np.unique(ground.Y.T, axis=0, return_inverse=True)[1].ravel()
    drawn_rows = [
        sampled(codes, round(SUBSAMPLE * n), np.random.default_rng([settings.random_state, k + 1]))
        for k in range(settings.subsamples)
    ]
    found = []
    given = ground, pool, settings.budget
    for k, branches in each(found_among, given, drawn_rows, settings.n_jobs, stop):
        found += [] if branches is None else [branches]
        teller.say(f"searched in subsample {k + 1} of {len(drawn_rows)}")
    return found


def _suggestion(way: Way, fitted: Fitted, flat_value: float, recurring: Sequence[tuple[Branch, ...]]) -> Suggestion:
    leaves, nothing, whole = way.leaves, unscored("accuracy"), is_flat(fitted, way.leaves)
    recurs = {
        branch_text(branch, leaves.names): float(np.mean([_comes_in(branch, other) for other in recurring]))
        for branch in (fitted.branches if recurring and not whole else ())
    }
    return Suggestion(
        spn=drawn(fitted.branches, leaves.kernels),
        formula=formula(fitted.branches, leaves.names),
        log_evidence=fitted.value,
        over_flat=fitted.value - flat_value,
        criterion=criterion(way.walk, fitted),
        weights=Workplace(way.walk.ground, fitted.weights).active(fitted),
        certified={},
        C=float("nan"),
        score=nothing.certified,
        evidence_score=nothing.evidence,
        recurs=recurs,
        is_flat=whole,
        multiplies=any(map(multiplies, fitted.branches)),
    )


def _comes_in(branch: Branch, others: Sequence[Branch]) -> bool:
    """Whether some branch has at least half of the paths in common that either has."""
    own = paths(branch)
    return any(2 * len(own & paths(other)) >= len(own | paths(other)) for other in others)


def _outer(
    rows: Rows, leaves: Leaves, among: Numbers, settings: Settings, stop: Asked, teller: _Teller
) -> Outer | None:
    """In every fold the whole search on the others, then its drawing and the flat sum trained there and scored."""
    if settings.outer_folds is None or stop():
        return None
    answered: dict[str, list[FoldAnswers]] = {"search": [], "flat": []}
    folds = list(folds_of(rows, among, settings.outer_folds, settings.random_state))
    for k, (train, fold) in enumerate(folds):
        teller.say(f"outer fold {k + 1} of {len(folds)}, the whole search in it")
        done = both_ways(rows, leaves, train, settings, stop)
        if stop():
            break
        drawings = {"flat": leaves.flat, "search": _recommended(done, stop)}
        for name, spn in drawings.items():
            answered[name].append(_on_fold(rows, spn, train, fold, settings, stop))
    by_train = 1 / (len(folds) - 1)
    return Outer(*(over_folds(answered[name], by_train, settings.scoring) for name in ("search", "flat")))


def _recommended(done: BothWays, stop: Asked) -> SPN:
    """As `Suggestions.recommended` has it."""
    order = ranked(done, stop)
    way, one = order[0] if done.found or lead_of(order, done) >= FOUND else flat_among(order, done)
    return drawn(one.branches, way.leaves.kernels)


def _on_fold(rows: Rows, spn: SPN, train: Numbers, fold: Numbers, settings: Settings, stop: Asked) -> FoldAnswers:
    parts = rows.parts(spn, fewer(rows, train, settings.random_state), fold)
    C = chosen_C(spn, parts, settings.scoring, settings.random_state, stop)
    decision, _ = decisions(spn, parts, C, stop)
    return FoldAnswers.of(settings.scoring, parts, decision)
