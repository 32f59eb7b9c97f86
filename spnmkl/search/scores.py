"""How good a drawing is on rows that its search did not see."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.errors import DataError, SPNMKLError, Stopped
from spnmkl.evidence import fit_evidence
from spnmkl.evidence.rows import sampled
from spnmkl.measures import SCORINGS, believed_error, right_rows, which_error
from spnmkl.parallel import Place
from spnmkl.problem import answers
from spnmkl.search.rows import Numbers, Parts, Rows, folds_of
from spnmkl.selection import cross_validate_C
from spnmkl.solvers import C_min, solve
from spnmkl.structure import SPN
from spnmkl.training.choose import most_folds

MOST_TRAINED = 1000  # rows to train on for a score
FOLDS, INNER, POINTS = 5, 3, 6
TOL = 3e-3  # of the gap while C is chosen
_REACH = np.logspace(0.2, 2.2, POINTS)  # values of C, as multiples of C_min
Stop = Callable[[], bool]


@dataclass(frozen=True)
class Score:
    """A mean over folds that neither search nor training saw, and its standard error; NaN where nothing was scored.

    Attributes
    ----------
    mean, error : float
        Of the measure; the error allows for training parts that overlap, and is never less than so few rows allow.
    folds : int
        How many.
    scoring : str
        The measure.
    guess : float
        What answering without looking reaches at best on these rows; NaN where it is not known.
    by_rows : bool
        Whether the error is that of the number of rows, since folds differ by less.

    Examples
    --------
    >>> from spnmkl.search import Score
    >>> str(Score(0.875, 0.021, 5, "accuracy"))
    'accuracy 87.5 ± 2.1 %'
    """

    mean: float = math.nan
    error: float = math.nan
    folds: int = 0
    scoring: str = "accuracy"
    guess: float = math.nan
    by_rows: bool = False

    def __str__(self) -> str:
        """The measure, its mean and its error; "not scored" where there is none."""
        measure = SCORINGS[self.scoring]
        if math.isnan(self.mean):
            return "not scored"
        if not measure.percent:
            return f"{measure.title} {self.mean:.3f}" + ("" if math.isnan(self.error) else f" ± {self.error:.3f}")
        error = "" if math.isnan(self.error) else f" ± {100 * self.error:.1f}"
        return f"{measure.title} {100 * self.mean:.1f}{error} %"

    @property
    def beside_guessing(self) -> str:
        """What guessing reaches, for behind a score; empty where it is not known."""
        return "" if math.isnan(self.guess) else f"; guessing has {SCORINGS[self.scoring].text(self.guess)}"


def errors_words(scores: Iterable[Score]) -> str:
    """What stands behind ±, in a sentence; empty where there is none."""
    by_rows = [score.by_rows for score in scores if not math.isnan(score.error)]
    return which_error("± is one standard error", by_rows, "scores") if by_rows else ""


@dataclass(frozen=True, eq=False)
class FoldAnswers:
    """What was answered in a fold, and how good that is."""

    value: float
    y: NDArray
    found: NDArray

    @classmethod
    def of(cls, scoring: str, parts: Parts, decision: Floats) -> FoldAnswers:
        classes = np.unique(parts.y_train)
        return cls(SCORINGS[scoring].of(parts.y_test, decision, classes), parts.y_test, answers(decision, classes))


@dataclass(frozen=True, eq=False)
class Scored:
    """A drawing's scores: with certified weights at a C chosen on the rows searched, and of the Gaussian process."""

    certified: Score
    evidence: Score
    C: float
    beta: dict[str, float]


def unscored(scoring: str) -> Scored:
    nothing = Score(scoring=scoring)
    return Scored(nothing, nothing, math.nan, {})


def scored_on(given: tuple[Rows, Numbers, Numbers, str, int, bool], spn: SPN, place: Place) -> Scored:
    """As `scored`, with what all drawings share."""
    rows, seen, kept, scoring, random_state, learn = given
    return scored(rows, spn, seen, kept, scoring, random_state, learn, place.stop)


def scored(
    rows: Rows, spn: SPN, seen: Numbers, kept: Numbers, scoring: str, random_state: int, learn: bool, stop: Stop
) -> Scored:
    """On the rows kept away, in folds; with `learn`, each fold by a model that learned from the other folds too.

    C is chosen on the rows that were searched.
    """
    if not len(kept) or stop():
        return unscored(scoring)
    seen = fewer(rows, seen, random_state)
    whole = rows.parts(spn, seen, kept)
    try:
        C = chosen_C(spn, whole, scoring, random_state, stop)
    except (Stopped, SPNMKLError):
        return unscored(scoring)
    solution = solve(spn, whole.inside, whole.y_train, C=C, warn=False, n_threads=1, stop=stop)
    certified: list[FoldAnswers] = []
    process: list[FoldAnswers] = []
    n_test: list[float] = []
    for others, fold in _folds(rows, kept, random_state):
        if stop():
            break
        train = np.sort(np.concatenate([seen, others])) if learn else seen
        parts = rows.parts(spn, train, fold)
        if len(np.unique(parts.y_test)) < 2 and scoring == "roc_auc":
            continue
        for done, found in zip((certified, process), decisions(spn, parts, C, stop), strict=True):
            done.append(FoldAnswers.of(scoring, parts, found))
        n_test.append(len(fold) / len(train))
    beta = {product: float(weight) for product, weight in solution.beta.items()}
    by_train = float(np.mean(n_test)) if n_test else 0.0
    return Scored(over_folds(certified, by_train, scoring), over_folds(process, by_train, scoring), C, beta)


def _folds(rows: Rows, kept: Numbers, random_state: int) -> list[tuple[Numbers, Numbers]]:
    """All as one, without an error, where a class has one row among them, or all are of one group."""
    try:
        return list(folds_of(rows, kept, FOLDS, random_state))
    except DataError:
        return [(kept[:0], kept)]


def fewer(rows: Rows, among: Numbers, random_state: int) -> Numbers:
    """A stratified sample where there are more rows than a score needs."""
    codes = np.unique(rows.y[among], return_inverse=True)[1]
    return among[sampled(codes, MOST_TRAINED, np.random.default_rng(random_state))]


def chosen_C(spn: SPN, parts: Parts, scoring: str, random_state: int, stop: Stop) -> float:
    smallest = C_min(spn, parts.inside, parts.y_train, tol=0.1, n_threads=1, stop=stop)
    grid = (smallest if 0 < smallest < np.inf else 1.0) * 1.5 * _REACH
    found = cross_validate_C(
        spn,
        parts.inside,
        parts.y_train,
        grid.tolist(),
        folds=most_folds(parts.y_train, parts.groups, INNER, every_class=False),
        scoring=scoring,
        groups=parts.groups,
        random_state=random_state,
        tol=TOL,
        n_threads=1,
        stop=stop,
    )
    if not found.best_C > 0:
        raise Stopped
    return float(found.best_C)


def decisions(spn: SPN, parts: Parts, C: float, stop: Stop) -> tuple[Floats, Floats]:
    """Of the rows across: by the SVM with certified weights, and by the Gaussian process with evidence weights."""
    machine = solve(spn, parts.inside, parts.y_train, C=C, warn=False, n_threads=1, stop=stop)
    process = fit_evidence(spn, parts.inside, parts.y_train, starts=1, n_threads=1, stop=stop)
    return machine.decision_function(parts.across), process.decision_function(parts.across)


def over_folds(folds: Sequence[FoldAnswers], test_by_train: float, scoring: str) -> Score:
    """The mean, and its error, which allows for training parts that overlap; folds that could not be scored are left
    out."""
    known = [fold for fold in folds if not math.isnan(fold.value)]
    if not known:
        return Score(scoring=scoring)
    values, y = [fold.value for fold in known], np.concatenate([fold.y for fold in known])
    mean, guess = float(np.mean(values)), SCORINGS[scoring].guess(np.unique(y, return_counts=True)[1])
    if len(values) < 2:
        return Score(mean, math.nan, 1, scoring, guess)
    counts = right_rows(y, np.concatenate([fold.found for fold in known]), np.unique(y))
    error, by_rows = believed_error(scoring, values, test_by_train, *counts)
    return Score(mean, error, len(values), scoring, guess, by_rows)
