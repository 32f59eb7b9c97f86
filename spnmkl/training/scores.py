"""How good the answers are, and how sure one can be of that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.errors import DataError
from spnmkl.problem import answers
from spnmkl.wording import counted, quoted

Z = 1.959963984540054  # 97.5 % of the standard normal distribution lie below it
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
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the accuracy, as if the rows were independent."""
        if not self.scored:
            return math.nan, math.nan
        n, p = self.n, self.accuracy
        middle = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
        half = Z / (1 + Z**2 / n) * math.sqrt(p * (1 - p) / n + Z**2 / (4 * n**2))
        return max(0.0, middle - half), min(1.0, middle + half)

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
    if math.isnan(share):
        return "not scored"
    return f"{100 * (share if share == 1 else min(share, 0.999)):.1f} %"


def mean_auc(auc: float | Mapping[Any, float]) -> float:
    """With several classes the mean of each against the rest."""
    return float(np.mean(list(auc.values()))) if isinstance(auc, Mapping) else auc
