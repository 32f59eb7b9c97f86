"""How good decisions are, by the usual measures, and how sure one can be of each: on one split, or over folds."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.optimize import brentq

from spnmkl.circuit.program import Floats
from spnmkl.errors import ParameterError
from spnmkl.problem import answers
from spnmkl.wording import quoted

Z = 1.959963984540054  # 97.5 % of the standard normal distribution lie below it
LEVEL = 0.95
FEWEST = 3  # folds; with fewer nothing is said
UNEVEN = 3.0  # rows of the largest class by those of the smallest, from which on accuracy alone misleads
Scoring = Literal["accuracy", "balanced_accuracy", "roc_auc"]
Interval = tuple[float, float]
NOWHERE = math.nan, math.nan
ROUNDING = 1e-12  # of scores: what it makes of equal ones


def accuracy(y: NDArray, decision: Floats, classes: NDArray) -> float:
    """The share of the rows that are answered rightly."""
    return float((answers(decision, classes) == y).mean())


def balanced_accuracy(y: NDArray, decision: Floats, classes: NDArray) -> float:
    """The mean over classes of the share of their rows that are answered rightly, of those that have rows."""
    return float(recalls(y, answers(decision, classes), np.unique(y)).mean())


def auc(y: NDArray, decision: Floats, classes: NDArray) -> float:
    """The area under the ROC curve; with several classes the mean of each against the rest, of those that have one."""
    if decision.ndim == 1:
        return area(y == classes[1], decision)
    areas = [area(y == c, values) for c, values in zip(classes, decision.T, strict=True)]
    return float(np.nanmean(areas)) if np.isfinite(areas).any() else math.nan


@dataclass(frozen=True)
class Measure:
    """A measure by which C can be chosen: larger is better.

    `guess` is what answering without looking reaches at best, from how many rows each class has.
    """

    title: str
    of: Callable[[NDArray, Floats, NDArray], float]
    guess: Callable[[NDArray], float]
    percent: bool = True

    def text(self, value: float) -> str:
        return value_text(value, self.percent)

    def difference(self, value: float, error: float) -> str:
        """1.2 ± 0.8 points more, or less, or the same; without ± where one fold tells no error, or all folds agree."""
        size, unit, points = (100, ".1f", " points") if self.percent else (1, ".3f", "")
        much, off, none = (f"{size * abs(number):{unit}}" for number in (value, error, 0.0))
        if much == none:
            return "the same" if off in (none, "nan") else f"the same ± {off}{points}"
        around = f" ± {off}" if error > ROUNDING else ""
        on = " on every fold" if error <= ROUNDING else ""
        return f"{much}{around}{points} {'less' if value < 0 else 'more'}{on}"


LOSSES = ("log_loss", "neg_log_loss")
BY_LOSS = (
    "; log loss needs probabilities, which are calibrated once C is known, and choosing C by it gains nothing that "
    "could be measured: take 'accuracy', or GridSearchCV over SPNMKLClassifier(probability=True)"
)
SCORINGS: Mapping[str, Measure] = {
    "accuracy": Measure("accuracy", accuracy, lambda rows: float(rows.max() / rows.sum())),
    "balanced_accuracy": Measure("balanced accuracy", balanced_accuracy, lambda rows: 1 / len(rows)),
    "roc_auc": Measure("area under the ROC curve", auc, lambda rows: 0.5, percent=False),
}


def scoring_name(name: object) -> Scoring:
    """A measure by which C can be chosen; anything else is refused."""
    if isinstance(name, str) and name in SCORINGS:
        return name  # type: ignore[return-value]
    known = ", ".join(map(quoted, SCORINGS))
    raise ParameterError(f"scoring must be one of {known}, but it is {name!r}{BY_LOSS if name in LOSSES else ''}.")


def value_text(value: float, percent: bool = True) -> str:
    """One decimal of a percentage, and 100.0 only for all; three digits of other measures; NaN in words."""
    if math.isnan(value):
        return "not scored"
    if not percent:
        return f"{value:.3f}"
    return f"{100 * (value if value == 1 else min(value, 0.999)):.1f} %"


def interval_text(interval: Interval, percent: bool = True) -> str:
    """95 % interval 78–90 %; empty where there is none."""
    low, high = interval
    if not math.isfinite(low):
        return ""
    if not percent:
        return f"95 % interval {low:.2f}–{high:.2f}"
    return f"95 % interval {100 * low:.0f}–{100 * high:.0f} %"


def are_uneven(rows: ArrayLike) -> bool:
    """Whether some class has so many more rows than another that accuracy says little about the smaller one."""
    counts = np.asarray(rows)
    return bool(counts.max() >= UNEVEN * counts.min())


# What measures are made of


def recalls(y: NDArray, found: NDArray, classes: NDArray) -> Floats:
    """(classes,) the share of each class's rows that are answered rightly; NaN where it has none."""
    of = classes[:, None] == y
    rows = of.sum(axis=1)
    right = (of & (found == y)).sum(axis=1)
    return np.divide(right, rows, out=np.full(len(classes), np.nan), where=rows > 0)


def specificities(y: NDArray, found: NDArray, classes: NDArray) -> Floats:
    """(classes,) the share of the other classes' rows that are not given this one; NaN where there are none."""
    others = classes[:, None] != y
    rows = others.sum(axis=1)
    kept = (others & (classes[:, None] != found)).sum(axis=1)
    return np.divide(kept, rows, out=np.full(len(classes), np.nan), where=rows > 0)


def area(positive: NDArray[np.bool_], values: Floats) -> float:
    """The share of pairs of a positive and another row that are in order, ties counting half; NaN without a pair."""
    n, m = int(positive.sum()), int((~positive).sum())
    if not n or not m:
        return math.nan
    return float((stats.rankdata(values)[positive].sum() - n * (n + 1) / 2) / (n * m))


def row_losses(y: NDArray, probability: Floats, classes: NDArray) -> Floats:
    """(rows,) −log of the probability that was given to the true class."""
    P = np.clip(probability, np.finfo(float).eps, 1.0)
    of_true = P[np.arange(len(y)), np.searchsorted(classes, y)]
    return -np.log(of_true / P.sum(axis=1))


# How sure one can be of a measure on the rows of one split, as if these were independent


def wilson(share: float, n: float) -> Interval:
    """Wilson's 95 % interval of a share of n rows."""
    if not n or math.isnan(share):
        return NOWHERE
    middle = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def interval_of_mean(shares: Floats, n: NDArray) -> Interval:
    """Of the mean of independent shares, from the Wilson interval of each (the method of variance recovery)."""
    known = np.flatnonzero(n)
    if not len(known):
        return NOWHERE
    each = np.array([wilson(float(shares[k]), float(n[k])) for k in known])
    mean = float(shares[known].mean())
    below, above = (np.sqrt(((bound - shares[known]) ** 2).sum()) / len(known) for bound in each.T)
    return max(0.0, mean - float(below)), min(1.0, mean + float(above))


def interval_of_area(found: float, n: float, m: float) -> Interval:
    """Of an area under the ROC curve from n positive and m other rows (Newcombe 2006, method 5).

    The areas from which the one found lies 1.96 standard errors away; the error is Hanley and McNeil's at that area
    and not at the one found, so that an area of 1 is not taken for certain.
    """
    if math.isnan(found):
        return NOWHERE
    more = (n + m) / 2 - 1

    def error(true: float) -> float:
        both = 1 + more * (1 - true) / (2 - true) + more * true / (1 + true)
        return math.sqrt(true * (1 - true) * both / (n * m))

    def beyond(true: float) -> float:
        return abs(true - found) - Z * error(true)

    inside = min(max(found, 1e-9), 1 - 1e-9)  # at 0 and 1 the error is 0 as well
    low = brentq(beyond, 0.0, inside) if found > 1e-9 else 0.0
    high = brentq(beyond, inside, 1.0) if found < 1 - 1e-9 else 1.0
    return float(low), float(high)


def interval_of_mean_area(y: NDArray, decision: Floats, classes: NDArray) -> Interval:
    """Of the mean over several classes of the area of each against the rest, whose curves share their rows.

    The interval of each area is Newcombe's; they are combined by the method of variance recovery (Zou 2007), with the
    correlations between the areas that the placements of the rows have (DeLong, DeLong and Clarke-Pearson 1988).
    """
    codes, n = np.searchsorted(classes, y), len(y)
    known = [c for c in range(len(classes)) if 0 < (codes == c).sum() < n]
    if not known:
        return NOWHERE
    areas = np.array([area(codes == c, decision[:, c]) for c in known])
    parts = np.array([_placements(codes == c, decision[:, c]) for c in known])
    covariance = np.zeros((len(known), len(known)))
    for k in np.unique(codes):
        if (own := codes == k).sum() > 1:
            covariance += own.sum() * np.atleast_2d(np.cov(parts[:, own]))
    scale = np.sqrt(np.diagonal(covariance))
    both = np.outer(scale, scale)
    # An area of which no row tells how far it varies counts as varying with all others, which is the widest.
    correlation = np.divide(covariance, both, out=np.ones_like(both), where=both > 0)
    ends = np.array(
        [
            interval_of_area(a, int((codes == c).sum()), int((codes != c).sum()))
            for c, a in zip(known, areas, strict=True)
        ]
    )
    below, above = areas - ends[:, 0], ends[:, 1] - areas
    low, high = (math.sqrt(max(0.0, float(off @ correlation @ off))) / len(known) for off in (below, above))
    mean = float(areas.mean())
    return max(0.0, mean - low), min(1.0, mean + high)


def _placements(positive: NDArray[np.bool_], values: Floats) -> Floats:
    """(rows,) what each row has of the area: the share of the other side that it is in order with, by its own side."""
    n, m = int(positive.sum()), int((~positive).sum())
    ranks, parts = stats.rankdata(values), np.empty(len(values))
    parts[positive] = (ranks[positive] - stats.rankdata(values[positive])) / (m * n)
    parts[~positive] = 1 / m - (ranks[~positive] - stats.rankdata(values[~positive])) / (n * m)
    return parts


def interval_of_rows(scoring: str, value: float, rows: Floats, right: Floats) -> Interval:
    """The 95 % interval of a measure that follows from how many rows there are.

    Parameters
    ----------
    scoring : str
        The measure.
    value : float
        What was found of it.
    rows, right : (classes,) how many rows are of each class, and how many of these are answered rightly.
    """
    if math.isnan(value):
        return NOWHERE
    n, known = float(rows.sum()), rows > 0
    if scoring == "accuracy":
        return wilson(value, n)
    if scoring == "balanced_accuracy":
        return interval_of_mean(right[known] / rows[known], rows[known])
    # Areas of several classes are taken to vary together, which is the widest.
    ends = [interval_of_area(value, float(k), n - float(k)) for k in rows[known & (rows < n)]]
    low, high = np.mean(ends or [NOWHERE], axis=0)
    return float(low), float(high)


def error_of_rows(scoring: str, value: float, rows: Floats, right: Floats) -> float:
    """The standard error that follows from how many rows there are: half of `interval_of_rows` by 1.96."""
    low, high = interval_of_rows(scoring, value, rows, right)
    return (high - low) / (2 * Z)


def right_rows(y: NDArray, found: NDArray, classes: NDArray) -> tuple[Floats, Floats]:
    """(classes,) how many rows are of each class, and how many of these are answered rightly."""
    of = classes[:, None] == y
    return of.sum(axis=1).astype(float), (of & (found == y)).sum(axis=1).astype(float)


def check_counts(n: int, rows: Sequence[float], right: Iterable[Sequence[float]]) -> None:
    """Refuse counts by class on n rows that no fold can have, as a file may say; an older one has none."""
    known = [(found, of) for each in right for found, of in zip_longest(each, rows, fillvalue=math.nan)]
    if (rows and sum(rows) != n) or not all(0 <= found <= of for found, of in known):
        raise ParameterError("The rows of a stored fold, and those answered rightly, cannot be as many as it says.")


def error_of_difference(scoring: str, y: NDArray, first: Floats, second: Floats, classes: NDArray) -> float:
    """The standard error, by how many rows there are, of the difference of a measure of two decisions on them."""
    apart = _parts(scoring, y, first, classes) - _parts(scoring, y, second, classes)
    groups = [np.ones(len(y), dtype=bool)] if scoring == "accuracy" else [y == c for c in classes]
    return math.sqrt(sum(own.sum() * apart[own].var(ddof=1) for own in groups if own.sum() > 1))


def _parts(scoring: str, y: NDArray, decision: Floats, classes: NDArray) -> Floats:
    """(rows,) what each row has of a measure; of an area, by its own side (see `_placements`)."""
    right = answers(decision, classes) == y
    if scoring == "accuracy":
        return right / len(y)
    codes = np.searchsorted(classes, y)
    rows = np.bincount(codes, minlength=len(classes))
    if scoring == "balanced_accuracy":
        return right / (rows[codes] * np.count_nonzero(rows))
    sides = [decision] if decision.ndim == 1 else decision.T
    known = [(codes == c, side) for c, side in zip(range(len(classes))[-len(sides) :], sides, strict=True)]
    parts = [_placements(of, side) for of, side in known if 0 < of.sum() < len(y)]
    return np.mean(parts, axis=0) if parts else np.zeros(len(y))


def wider(folds: Interval, rows: Interval) -> tuple[Interval, bool]:
    """Folds may agree by chance: where rows leave more open, their interval; and whether it is theirs."""
    by_rows = bool(rows[1] - rows[0] > folds[1] - folds[0])
    return (rows if by_rows else folds), by_rows


def which_error(what: str, by_rows: Sequence[bool], of: str) -> str:
    """Whether `what` is over folds or by the number of rows, in a sentence about so many `of` these."""
    if all(by_rows):
        return f"{what}, that of the number of rows, since folds differ by less."
    of_rows = f", here for {sum(by_rows)} of {len(by_rows)} {of}" if any(by_rows) else ""
    return f"{what} over folds, or that of the number of rows where this is larger{of_rows}."


def interval_of_losses(losses: Floats) -> Interval:
    """Of a mean over rows, by Student's t."""
    if len(losses) < 2:
        return NOWHERE
    half = stats.t.ppf((1 + LEVEL) / 2, len(losses) - 1) * losses.std(ddof=1) / math.sqrt(len(losses))
    mean = float(losses.mean())
    return max(0.0, mean - float(half)), mean + float(half)


# Over folds, whose training parts overlap


def resampled_error(spread: Any, folds: Any, test_by_train: float) -> Any:
    """The standard error of a mean over folds: s √(1/k + n_test/n_train) (Nadeau and Bengio 2003)."""
    return spread * np.sqrt(1 / folds + test_by_train)


def one_round(rounds: Sequence[Hashable]) -> float:
    """The part of the folds that holds every row once, from which round each is: the last may lack folds."""
    return max(Counter(rounds).values()) / len(rounds) if len(rounds) else 1.0


def error_by_rows(errors: ArrayLike, rounds: Sequence[Hashable]) -> float:
    """The standard error, by how many rows there are, of a mean over folds from that of each; a row counts once."""
    e = np.asarray(errors, dtype=float)
    return math.sqrt(float(e @ e) / one_round(rounds)) / len(e) if len(e) else math.nan


def spread(values: ArrayLike) -> float:
    """The standard deviation over folds; exactly 0 where all are the same but for rounding."""
    v = np.asarray(values, dtype=float)
    s = float(v.std(ddof=1))
    return s if s > ROUNDING * np.abs(v).max() else 0.0


def believed_error(
    scoring: str, values: Sequence[float], test_by_train: float, rows: Floats, right: Floats
) -> tuple[float, bool]:
    """The standard error of a mean over folds, and whether it is that of the number of rows.

    A few folds may agree by chance: where their spread is less than so many rows can have, it is not believed.

    Parameters
    ----------
    scoring : the measure.
    values : of it, one per fold.
    test_by_train : n_test / n_train of a fold.
    rows, right : as of `interval_of_rows`, of all folds together, every row once.
    """
    if len(values) < 2:
        return math.nan, False
    error = float(resampled_error(spread(values), len(values), test_by_train))
    of_rows = error_of_rows(scoring, float(np.mean(values)), rows, right)
    return max(error, of_rows), of_rows > error


def corrected_interval(
    values: ArrayLike, test_by_train: float, finest: float = 0.0, level: float = 1 - LEVEL
) -> Interval:
    """The interval of the mean of fold results, or of differences of them, that the corrected resampled t-test gives.

    Where folds agree to the last row, they would give an interval of no width, which nobody should believe: it is never
    narrower than if one row more had changed sides in one of the folds.

    Parameters
    ----------
    values : one per fold.
    test_by_train : n_test / n_train of a fold.
    finest : by how much one row changes the result of a fold.
    level : of the test that rejects what lies outside.

    Returns
    -------
    tuple of float
        NaN where nothing can be told: fewer than three folds, or a fold without a result.
    """
    v = np.asarray(values, dtype=float)
    if len(v) < FEWEST or not np.isfinite(v).all():
        return NOWHERE
    s = max(spread(v), finest / math.sqrt(len(v)))
    half = float(stats.t.isf(level / 2, len(v) - 1)) * float(resampled_error(s, len(v), test_by_train))
    return float(v.mean()) - half, float(v.mean()) + half


def interval_over_folds(values: Floats, test_by_train: float, finest: float, most: float = 1.0) -> Interval:
    """The same of a measure from 0 to `most`, of the folds that have one."""
    low, high = corrected_interval(values[np.isfinite(values)], test_by_train, finest)
    return (low, high) if math.isnan(low) else (max(0.0, low), min(most, high))
