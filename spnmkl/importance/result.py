"""Every view alone and all without it: the folds that were measured, as a table, a figure and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import altair as alt
import numpy as np
import pandas as pd

from spnmkl.charts.importance import importance_chart
from spnmkl.circuit.program import Floats
from spnmkl.errors import ParameterError
from spnmkl.importance.measuring import ViewFold
from spnmkl.importance.words import OF_ROWS, finding_sentences, full_sentence, interval_sentence, view_sentence
from spnmkl.inspection.held_out import ERRORS
from spnmkl.measures import (
    SCORINGS,
    Measure,
    Z,
    corrected_interval,
    error_by_rows,
    interval_of_rows,
    one_round,
    scoring_name,
    wider,
)
from spnmkl.parameters import CHOSEN, weighing
from spnmkl.study.significance import holm, larger_p

FORMAT = "spnmkl/view-importance"
COLUMNS = ("alone", "without", "drop", "share")


class Interval(NamedTuple):
    """A mean over folds with its 95 % interval.

    Attributes
    ----------
    mean : float
        Over the folds.
    low, high : float
        The ends of the interval; NaN where there are too few folds to tell.

    Examples
    --------
    >>> from spnmkl.importance import Interval
    >>> Interval(0.8, 0.75, 0.85).low
    0.75
    """

    mean: float
    low: float
    high: float


class _Told(NamedTuple):
    """An interval, and whether it is that of the number of rows, being wider: folds may agree by chance."""

    interval: Interval
    by_rows: bool = False


@dataclass(frozen=True, eq=False)
class ViewImportance:
    """What every view is worth on rows that were not trained on.

    Attributes
    ----------
    views : tuple of str
        Their names, in the order given.
    folds : tuple of ViewFold
        What was measured, fold by fold.
    planned : int
        How many folds there would be.
    scoring : str
        What was measured: "accuracy", "balanced_accuracy" or "roc_auc".
    rows : str
        Which rows the folds are of, in words.
    remarks : tuple of str
        What to know about it, in sentences.
    key : str
        Tells this question from others, so that only its own folds are taken over.
    weights : {"certified", "evidence", "chosen"}
        Those of all trainings.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from spnmkl import templates
    >>> from spnmkl.importance import ViewImportance, view_importance
    >>> X, y = load_wine(return_X_y=True)
    >>> views = {"colour": [9, 10], "acids": [1, 5, 6]}
    >>> found = view_importance(templates.flat(views), X, y, views, C=1.0, cv=3, transformer=StandardScaler())
    >>> found.table["view"].tolist(), len(found.folds), found.complete
    (['colour', 'acids'], 3, True)
    >>> ViewImportance.from_dict(found.to_dict()).table.equals(found.table)
    True
    """

    views: tuple[str, ...]
    folds: tuple[ViewFold, ...]
    planned: int
    scoring: str
    rows: str
    remarks: tuple[str, ...] = ()
    key: str = ""
    weights: str = "certified"

    @property
    def complete(self) -> bool:
        """Whether all folds are done."""
        return len(self.folds) >= self.planned

    @property
    def full(self) -> Interval:
        """The score of the whole drawing."""
        return self._full.interval

    @property
    def full_by_rows(self) -> bool:
        """Whether its interval is that of the number of rows, because this is wider: folds may agree by chance."""
        return self._full.by_rows

    @property
    def _full(self) -> _Told:
        return self._score([fold.full for fold in self.folds], [fold.full_right for fold in self.folds])

    @property
    def guessing(self) -> float:
        """What always answering the most frequent class gets or, by other measures, chance."""
        return _mean([fold.guessing for fold in self.folds])

    @property
    def rounds(self) -> int:
        """How many rounds of folds were begun."""
        return len(set(self._rounds))

    @property
    def _rounds(self) -> list[int]:
        return [fold.repeat for fold in self.folds]

    @property
    def held_out(self) -> float:
        """How many rows were held out, each counted once."""
        return sum(fold.n_test for fold in self.folds) * one_round(self._rounds)

    @property
    def shares_known(self) -> bool:
        """Whether the mean of y·f on rows not trained on lies above 0 by twice its error, so that it has shares."""
        return self._total > ERRORS * self._total_error

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per view: `view`, `alone`, `without`, `drop`, `share`, each with `_low` and `_high`.

        `drop` is the score of the whole drawing less that without the view; its interval is that of the differences
        fold by fold. `share` is its part of the decision on the rows held out; NaN where no kernel sees this view
        alone, or where the decision does not tell these rows apart. `alone_by_rows`, `without_by_rows` and
        `drop_by_rows` tell whether an interval is not that over folds but, being wider, that of the number of rows.
        """
        flags = [f"{name}_by_rows" for name in OF_ROWS]
        return pd.DataFrame([self._row(view) for view in self.views], columns=["view", *_with_ends(COLUMNS), *flags])

    @property
    def sentences(self) -> tuple[str, ...]:
        """The whole in words: all together, every view, what follows, and what the intervals are."""
        return (self.headline, *self.view_sentences, *self.findings, *filter(None, [self.about_intervals]))

    @property
    def headline(self) -> str:
        """All views together, on which rows, and on how many folds that stands."""
        return full_sentence(self)

    @property
    def view_sentences(self) -> tuple[str, ...]:
        """Each view in a sentence."""
        return tuple(view_sentence(row, self.measure) for row in self.table.to_dict("records"))

    @property
    def findings(self) -> tuple[str, ...]:
        """Which views the drawing cannot do without, as far as these folds tell."""
        return tuple(finding_sentences(self))

    @property
    def about_intervals(self) -> str:
        """Whether intervals are over folds or, being wider, those of the number of rows; empty where there are none."""
        return interval_sentence(self)

    @property
    def measure(self) -> Measure:
        """How the score is called and written."""
        return SCORINGS[self.scoring]

    @property
    def adjusted(self) -> dict[str, float]:
        """View → p of the test that leaving it out costs nothing, by Holm's method, since all views are tested at once.

        NaN where nothing can be told: without the view no kernel is left, or there are fewer than three folds.
        """
        drops = {view: [fold.full - fold.without[view] for fold in self.folds] for view in self.views}
        if not self.folds:
            return dict.fromkeys(self.views, math.nan)
        tests = [self._test(view, np.array(values)) for view, values in drops.items()]
        return dict(zip(drops, holm(tests).tolist(), strict=True))

    def figure(self, grey: bool = False) -> alt.LayerChart:
        """Dots and intervals: each view alone and all without it, and a line at all together.

        Parameters
        ----------
        grey : bool, default=False
            Without colours, for print.

        Returns
        -------
        altair.LayerChart
            For `spnmkl.charts.to_svg` and `to_png`.
        """
        return importance_chart(
            self.table, self.full, self.guessing, title=self.measure.title, percent=self.measure.percent, grey=grey
        )

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold, to keep what was measured and go on later.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return {
            "format": FORMAT,
            "version": 1,
            "views": list(self.views),
            "folds": [fold.to_dict() for fold in self.folds],
            "planned": self.planned,
            "scoring": self.scoring,
            "rows": self.rows,
            "remarks": list(self.remarks),
            "key": self.key,
            "weights": self.weights,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ViewImportance:
        """What `to_dict` gave.

        Parameters
        ----------
        stored : mapping
            As `to_dict` gave it.

        Returns
        -------
        ViewImportance
            The same.

        Raises
        ------
        ParameterError
            It is none.
        """
        if not isinstance(stored, Mapping) or stored.get("format") != FORMAT or stored.get("version") != 1:
            raise ParameterError("This is no stored view importance of version 1; pass what to_dict gave.")
        views = tuple(map(str, stored["views"]))
        folds = tuple(ViewFold.from_dict(fold) for fold in stored["folds"])
        if any(set(named) != set(views) for fold in folds for named in (fold.alone, fold.without, fold.parts)):
            raise ParameterError("A fold of this view importance has other views than the whole; measure it again.")
        if len({len(fold.rows) for fold in folds if fold.rows}) > 1:
            raise ParameterError("Folds of this view importance count rows of different classes; measure it again.")
        remarks = tuple(map(str, stored["remarks"]))
        planned, rows, key = int(stored["planned"]), str(stored["rows"]), str(stored["key"])
        weights = weighing(stored.get("weights", "certified"), CHOSEN)
        return cls(views, folds, planned, scoring_name(stored["scoring"]), rows, remarks, key, weights)

    def _row(self, view: str) -> dict[str, Any]:
        full = np.array([fold.full for fold in self.folds])
        alone, without = (np.array([getattr(f, name)[view] for f in self.folds]) for name in ("alone", "without"))
        found = {
            "alone": self._score(alone, [fold.alone_right.get(view, ()) for fold in self.folds]),
            "without": self._score(without, [fold.without_right.get(view, ()) for fold in self.folds]),
            "drop": self._drop(view, full - without),
            "share": _Told(self._share(view)),
        }
        values = [value for told in found.values() for value in told.interval]
        flags = {f"{name}_by_rows": found[name].by_rows for name in OF_ROWS}
        return {"view": view} | dict(zip(_with_ends(COLUMNS), values, strict=True)) | flags

    def _score(self, values: Sequence[float] | Floats, right: Sequence[tuple[float, ...]]) -> _Told:
        """With an interval that is never narrower than so many rows, of which so many are right, allow."""
        mean, (low, high) = _mean(values), self._ends(values)
        folds = (max(low, 0.0), min(high, 1.0)) if low == low else (low, high)
        if not all(right) or not right:
            return _Told(Interval(mean, *folds))
        # Each row counts once, however often it was held out.
        once, rows = one_round(self._rounds), [fold.rows for fold in self.folds]
        all_rows, all_right = (np.sum(n, axis=0) * once for n in (rows, right))
        ends, by_rows = wider(folds, interval_of_rows(self.scoring, mean, all_rows, all_right))
        return _Told(Interval(mean, *ends), by_rows)

    def _drop(self, view: str, values: Floats) -> _Told:
        mean, half = _mean(values), Z * self._drop_error(view)
        ends, by_rows = wider(self._ends(values), (mean - half, mean + half))
        return _Told(Interval(mean, *ends), by_rows)

    def _drop_error(self, view: str) -> float:
        """By how many rows there are, each of which counts once; NaN where that is not known."""
        return error_by_rows([fold.drop_errors.get(view, math.nan) for fold in self.folds], self._rounds)

    def _test(self, view: str, drops: Floats) -> float:
        """The larger p: over folds, or of the rows."""
        return larger_p(drops, self.test_by_train, self._drop_error(view), self._finest)

    def _ends(self, values: Sequence[float] | Floats, finest: float | None = None) -> tuple[float, float]:
        if not self.folds:
            return math.nan, math.nan
        return corrected_interval(values, self.test_by_train, self._finest if finest is None else finest)

    @property
    def _finest(self) -> float:
        """What one row changes."""
        return 1 / _mean([fold.n_test for fold in self.folds])

    @property
    def test_by_train(self) -> float:
        """Rows held out for each row to learn from."""
        return _mean([fold.n_test for fold in self.folds]) / _mean([fold.n_train for fold in self.folds])

    @property
    def _weights(self) -> Floats:
        n = np.array([fold.n_test for fold in self.folds], dtype=float)
        return n / n.sum() if len(n) else n

    @property
    def _total(self) -> float:
        """The mean of y·f over the rows held out."""
        return float(self._weights @ [fold.total for fold in self.folds]) if self.folds else math.nan

    @property
    def _total_error(self) -> float:
        """Its standard error, of rows that count once, however often they were held out."""
        if not self.folds:
            return math.nan
        variance = float(self._weights @ [fold.square for fold in self.folds]) - self._total**2
        return math.sqrt(max(variance, 0.0) / max(self.held_out - 1, 1.0))

    def _share(self, view: str) -> Interval:
        """Σ part / Σ total, and the interval of this ratio to first order."""
        parts = np.array([fold.parts[view] for fold in self.folds])
        if not self.shares_known or np.isnan(parts).any():
            return Interval(math.nan, math.nan, math.nan)
        share = float(self._weights @ parts) / self._total
        around = (parts - share * np.array([fold.total for fold in self.folds])) / self._total
        low, high = self._ends(around, finest=0.0)
        return Interval(share, share + low, share + high)


def _with_ends(columns: Sequence[str]) -> list[str]:
    return [f"{name}{end}" for name in columns for end in ("", "_low", "_high")]


def _mean(values: Sequence[float] | Floats) -> float:
    return float(np.mean(values)) if len(values) else math.nan
