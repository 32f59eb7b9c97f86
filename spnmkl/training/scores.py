"""How good the answers are, and how sure one can be of that."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.errors import DataError
from spnmkl.measures import (
    NOWHERE,
    SCORINGS,
    Interval,
    interval_of_area,
    interval_of_losses,
    interval_of_mean,
    interval_of_mean_area,
    recalls,
    row_losses,
    specificities,
    value_text,
    wilson,
)
from spnmkl.problem import answers
from spnmkl.wording import counted, quoted

NOT_SCORED = "not scored: stopped"
# The columns of `Scores.roc`.
FALSE, TRUE, CLASS = "false positive rate", "true positive rate", "class"


def score(y: ArrayLike, decision: ArrayLike, classes: ArrayLike) -> Scores:
    """Compare decisions with the classes that were right.

    Parameters
    ----------
    y : (rows,) the true classes.
    decision : (rows,) for two classes, positive for the second; (rows, classes) otherwise.
    classes : all classes in the order of the decisions.
    """
    labels, values, names = np.asarray(y), np.asarray(decision, dtype=float), np.asarray(classes)
    shape = (len(labels),) if len(names) == 2 else (len(labels), len(names))
    if values.shape != shape or not len(labels):
        raise DataError(
            f"Scores need one row or more and decisions of shape {shape}, but there are {counted(len(labels), 'row')} "
            f"and decisions of shape {values.shape}; pass what decision_function gives for the same rows."
        )
    unknown = ~np.isin(labels, names)
    if unknown.any():
        raise DataError(
            f"Class {quoted(labels[unknown][0])} does not occur in training, so that no answer can be right; leave "
            f"its {counted(int(unknown.sum()), 'row')} out."
        )
    return Scores(labels, values, names)


def unscored(y: ArrayLike, classes: ArrayLike) -> Scores:
    """The place of scores that were not made, since somebody wanted to end: nothing is counted from a part of them."""
    labels, names = np.asarray(y), np.asarray(classes)
    shape = (len(labels),) if len(names) == 2 else (len(labels), len(names))
    return Scores(labels, np.full(shape, np.nan), names)


@dataclass(frozen=True, eq=False)
class Scores:
    """True classes beside decisions, and all that is counted from them. An undefined number is NaN."""

    y: NDArray
    decision: Floats
    classes: NDArray

    @property
    def n(self) -> int:
        return len(self.y)

    @cached_property
    def scored(self) -> bool:
        """Whether there are decisions; without them no answer is right or wrong, and every measure is NaN."""
        return not np.isnan(self.decision).all()

    @cached_property
    def predicted(self) -> NDArray:
        return answers(self.decision, self.classes) if self.scored else np.full(self.n, None)

    @cached_property
    def right(self) -> NDArray[np.bool_]:
        """(n,) whether each answer is right."""
        return np.asarray(self.predicted == self.y)

    @cached_property
    def margin(self) -> Floats:
        """(n,) by how much the decision for the true class exceeds that for any other; for two classes, ±f."""
        if self.decision.ndim == 1:
            return np.where(self.y == self.classes[1], self.decision, -self.decision)
        true = self.classes == self.y[:, None]
        return np.where(true, self.decision, -np.inf).max(axis=1) - np.where(true, -np.inf, self.decision).max(axis=1)

    @property
    def accuracy(self) -> float:
        return float(self.right.mean()) if self.scored else math.nan

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval of the accuracy, as if the rows were independent."""
        return wilson(self.accuracy, self.n)

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """(classes,) how many rows each class has."""
        return (self.classes == self.y[:, None]).sum(axis=0)

    def measured(self, scoring: str) -> Measured:
        """One of the measures by which C can be chosen, with its interval and what guessing gives."""
        measure = SCORINGS[scoring]
        guess = measure.guess(self.rows)
        if not self.scored:
            return Measured(measure.title, math.nan, NOWHERE, guess, measure.percent)
        value = measure.of(self.y, self.decision, self.classes)
        return Measured(measure.title, value, self._interval(scoring, value), guess, measure.percent)

    def _interval(self, scoring: str, value: float) -> Interval:
        if scoring == "accuracy":
            return self.interval
        if scoring == "balanced_accuracy":
            return interval_of_mean(recalls(self.y, self.predicted, self.classes), self.rows)
        if len(self.classes) > 2:
            return interval_of_mean_area(self.y, self.decision, self.classes)
        return interval_of_area(value, int(self.rows[1]), int(self.rows[0]))

    def measures(self, positive: Any = None, probability: Floats | None = None) -> list[Measured]:
        """All that is usually told of a classifier.

        Parameters
        ----------
        positive : optional
            Of two classes, the one whose rows are to be found; by default the second.
        probability : (rows, classes), optional
            For the log loss, which needs them.
        """
        return [*map(self.measured, SCORINGS), *self._rates(positive), *self._loss(probability)]

    def _rates(self, positive: Any) -> Iterator[Measured]:
        if not self.scored:
            return
        of, outside = recalls(self.y, self.predicted, self.classes), specificities(self.y, self.predicted, self.classes)
        if len(self.classes) > 2:  # the mean sensitivity is the balanced accuracy
            yield Measured("specificity, mean over classes", float(np.nanmean(outside)), NOWHERE)
            return
        at = int(np.flatnonzero(self.classes == positive)[0]) if positive in self.classes.tolist() else 1
        for title, k in (("sensitivity", at), ("specificity", 1 - at)):
            which = f"{title}, right of {quoted(str(self.classes[k])[:24])}"
            yield Measured(which, float(of[k]), wilson(float(of[k]), int(self.rows[k])))

    def _loss(self, probability: Floats | None) -> Iterator[Measured]:
        if probability is None or not self.scored:
            return
        losses = row_losses(self.y, probability, self.classes)
        shares = self.rows[self.rows > 0] / self.n
        blind = float(-(shares * np.log(shares)).sum())
        yield Measured("log loss", float(losses.mean()), interval_of_losses(losses), blind, percent=False, smaller=True)

    @property
    def majority(self) -> tuple[Any, float]:
        """The most frequent class of these rows, and the accuracy of always answering it."""
        counts = (self.classes == self.y[:, None]).sum(axis=0)
        return self.classes[counts.argmax()], float(counts.max() / self.n)

    @cached_property
    def confusion(self) -> pd.DataFrame:
        """How often each true class (row) was given each answer (column)."""
        answers = self.classes == self.predicted[:, None]
        counts = (self.classes == self.y[:, None]).astype(int).T @ answers.astype(int)
        return pd.DataFrame(counts, pd.Index(self.classes, name="true"), pd.Index(self.classes, name="predicted"))

    @cached_property
    def per_class(self) -> pd.DataFrame:
        """Precision, recall, F1 and the number of rows of every class."""
        counts = self.confusion.to_numpy()
        hits = np.diagonal(counts).astype(float) if self.scored else np.full(len(counts), np.nan)
        answers, rows = counts.sum(axis=0), (self.classes == self.y[:, None]).sum(axis=0)
        measures = {"precision": answers, "recall": rows, "f1": (answers + rows) / 2}
        return pd.DataFrame(
            {name: _ratio(hits, of) for name, of in measures.items()} | {"rows": rows}, pd.Index(self.classes)
        )

    @cached_property
    def curves(self) -> dict[Any, tuple[Floats, Floats]]:
        """Class → false and true positive rates; for two classes that of the second, else each against the rest."""
        columns = {1: self.decision} if self.decision.ndim == 1 else dict(enumerate(self.decision.T))
        if not self.scored:
            return {self.classes[c]: (np.full(2, np.nan), np.full(2, np.nan)) for c in columns}
        return {self.classes[c]: _curve(self.y == self.classes[c], values) for c, values in columns.items()}

    @property
    def auc(self) -> float | dict[Any, float]:
        """The area under the ROC curve: for two classes a number, else one for each class against the rest."""
        areas = {c: float(np.trapezoid(true, false)) for c, (false, true) in self.curves.items()}
        return areas[self.classes[1]] if self.decision.ndim == 1 else areas

    def roc(self) -> pd.DataFrame:
        """The ROC curves point by point, without those of classes that have all or none of the rows."""
        parts = [
            pd.DataFrame({FALSE: false, TRUE: true, CLASS: c})
            for c, (false, true) in self.curves.items()
            if np.isfinite([false, true]).all()
        ]
        return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=[FALSE, TRUE, CLASS])

    def sentence(self, part: str = "test") -> str:
        """The accuracy in words, with what it is worth."""
        if not self.scored:
            return f"{counted(self.n, part + ' row')} {NOT_SCORED}"
        low, high = self.interval
        answer, share = self.majority
        return (
            f"{share_right(self.accuracy)} of {counted(self.n, part + ' row')} right (95 % interval "
            f"{100 * low:.0f}–{100 * high:.0f} %); always answering {quoted(answer)} gives {share_right(share)}"
        )


@dataclass(frozen=True)
class Measured:
    """A measure of some answers, its 95 % interval, and what answering without looking reaches at best; or NaN."""

    title: str
    value: float
    interval: Interval
    guess: float = math.nan
    percent: bool = True
    smaller: bool = False  # is better

    @property
    def text(self) -> str:
        return value_text(self.value, self.percent)

    @property
    def guess_text(self) -> str:
        return "" if math.isnan(self.guess) else value_text(self.guess, self.percent)

    @property
    def beats_guessing(self) -> bool:
        """Whether even the worse end of the interval is better than guessing; without an interval nobody knows."""
        low, high = self.interval
        return high < self.guess if self.smaller else low > self.guess


def measures_table(found: list[Measured]) -> pd.DataFrame:
    """Measures as text: `measure`, `value`, `95 % interval`, and what `guessing` gives."""
    return pd.DataFrame(
        {
            "measure": [m.title for m in found],
            "value": [m.text for m in found],
            "95 % interval": [range_text(m.interval, m.percent) for m in found],
            "guessing": [m.guess_text for m in found],
        }
    )


def range_text(interval: Interval, percent: bool = True) -> str:
    """74.1–93.0 %; empty where there is none."""
    low, high = interval
    if not math.isfinite(low):
        return ""
    return f"{100 * low:.1f}–{100 * high:.1f} %" if percent else f"{low:.3f}–{high:.3f}"


def _ratio(part: NDArray, of: NDArray) -> Floats:
    return np.divide(part, of, out=np.full(len(part), np.nan), where=of > 0)


def _curve(positive: NDArray[np.bool_], values: Floats) -> tuple[Floats, Floats]:
    """False and true positive rates from the highest threshold down, without points that lie on a straight line."""
    order = np.argsort(-values, kind="stable")
    steps = np.flatnonzero(np.append(np.diff(values[order]) != 0, True))  # rows of one value pass together
    true = np.concatenate([[0], np.cumsum(positive[order])[steps]])
    false = np.concatenate([[0], steps + 1 - true[1:]])
    corners = np.ones(len(true), dtype=bool)
    corners[1:-1] = (np.diff(true, 2) != 0) | (np.diff(false, 2) != 0)
    true, false = true[corners], false[corners]
    return _ratio(false, np.full(len(false), false[-1])), _ratio(true, np.full(len(true), true[-1]))


def share_right(share: float) -> str:
    """One decimal, and 100.0 only for all; NaN in words."""
    return value_text(share)


def mean_auc(auc: float | Mapping[Any, float]) -> float:
    """With several classes the mean of each against the rest."""
    return float(np.mean(list(auc.values()))) if isinstance(auc, Mapping) else auc
