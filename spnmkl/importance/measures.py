"""What a score can be, with what guessing gets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.errors import ParameterError
from spnmkl.training.scores import Scores, mean_auc

NARROW = 0.05


@dataclass(frozen=True)
class Measure:
    """A score between 0 and 1: its name, and how it is written."""

    title: str
    of: Callable[[Scores], float]
    guessing: Callable[[NDArray, Scores], float]
    percent: bool = True

    def text(self, value: float, digits: int = 0) -> str:
        """72 %, or 0.81."""
        return self.number(value, digits) + (" %" if self.percent else "")

    def number(self, value: float, digits: int = 0) -> str:
        return f"{100 * value:.{digits}f}" if self.percent else f"{value:.{digits + 2}f}"

    def with_interval(self, mean: float, low: float, high: float) -> str:
        """72 % (68–76); a narrow interval has a digit more."""
        if math.isnan(low):
            return self.text(mean)
        digits = int(high - low < NARROW)
        return f"{self.text(mean, digits)} ({self.number(low, digits)}–{self.number(high, digits)})"

    def points(self, value: float) -> str:
        """A difference; nearly nothing is 0 and not −0."""
        scaled, digits = (100 * value, 1) if self.percent else (value, 3)
        return f"{round(scaled, digits) + 0.0:.{digits}f}".replace("-", "−")


def _majority(y_train: NDArray, scores: Scores) -> float:
    """Of always answering the most frequent class of the training part."""
    classes, counts = np.unique(y_train, return_counts=True)
    return float((scores.y == classes[counts.argmax()]).mean())


def _balanced(scores: Scores) -> float:
    """The mean of the shares of every class's rows that are right, of the classes that are there."""
    recalls = scores.per_class["recall"].to_numpy()
    return float(np.nanmean(recalls))


MEASURES: Mapping[str, Measure] = {
    "accuracy": Measure("accuracy", lambda scores: scores.accuracy, _majority),
    "balanced_accuracy": Measure("balanced accuracy", _balanced, lambda _, scores: 1 / len(scores.classes)),
    "roc_auc": Measure(
        "area under the ROC curve", lambda scores: mean_auc(scores.auc), lambda _, scores: 0.5, percent=False
    ),
}


def measure(name: str) -> Measure:
    if name not in MEASURES:
        raise ParameterError(f"scoring must be one of {', '.join(map(repr, MEASURES))}, but it is {name!r}.")
    return MEASURES[name]
