"""What was lost where columns stood in the wrong rows, as a table, a figure and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from scipy import stats

from spnmkl.charts.importance import columns_chart
from spnmkl.circuit.program import Floats
from spnmkl.errors import ParameterError
from spnmkl.importance.measuring import read_counts
from spnmkl.importance.result import Interval
from spnmkl.importance.words import at_weights
from spnmkl.measures import SCORINGS, Measure, corrected_interval, one_round, scoring_name
from spnmkl.parameters import CHOSEN, weighing
from spnmkl.wording import counted, listed, whole_percent

SEVERAL = ("drops", "margins", "squares")
FORMAT = "spnmkl/column-importance"
LEVEL = 0.05
NAMED = 3  # columns of a group that are named before "and so many more"
SCREENED = {
    "gradient": "by the gradient of the decision on the rows held out",
    "blocks": "by permuting blocks of columns, since a kernel here has no gradient",
}


@dataclass(frozen=True)
class ColumnFold:
    """What one fold gave.

    Attributes
    ----------
    repeat, fold : int
        Which one, from 1.
    n_train, n_test : int
        Rows to learn from, and rows held out.
    C : float
        That was chosen or given.
    full, margin : float
        The score, and the mean of y·f, with all columns in their place.
    drops, margins : tuple of float
        What is lost of both without every group that was permuted; the last is all other columns together.
    squares : tuple of float
        The mean over the rows of the square of what they lose of y·f.

    Examples
    --------
    >>> from spnmkl.importance import ColumnFold
    >>> ColumnFold(1, 1, 80, 20, 1.0, 0.9, 1.2, (0.1,), (0.6,), (0.5,)).drops
    (0.1,)
    """

    repeat: int
    fold: int
    n_train: int
    n_test: int
    C: float
    full: float
    margin: float
    drops: tuple[float, ...]
    margins: tuple[float, ...]
    squares: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class ColumnImportance:
    """Which columns a trained drawing uses, on rows that were not trained on.

    Attributes
    ----------
    groups : tuple of tuples of str
        All columns that were looked at, those that are alike together.
    tested : tuple of int
        Which groups were permuted, by their screening value, largest first.
    folds : tuple of ColumnFold
        What was measured, fold by fold.
    planned : int
        How many folds there would be.
    scoring : str
        What was measured.
    rows : str
        Which rows the folds are of, in words.
    alike : float
        From which correlation on columns were permuted together.
    permutations : int
        How often each group was permuted in every fold.
    screening : {"gradient", "blocks", "none"}
        How the groups that were permuted were found; "none" where all were.
    weights : {"certified", "evidence", "chosen"}
        Those of the trained drawing.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import StandardScaler
    >>> from spnmkl import Kernel, templates
    >>> from spnmkl.importance import ColumnImportance, column_importance
    >>> data = load_wine(as_frame=True)
    >>> spn = templates.flat([Kernel("rbf")])
    >>> found = column_importance(spn, data.data, data.target, C=1.0, cv=3, transformer=StandardScaler())
    >>> ColumnImportance.from_dict(found.to_dict()).table.equals(found.table)
    True
    """

    groups: tuple[tuple[str, ...], ...]
    tested: tuple[int, ...]
    folds: tuple[ColumnFold, ...]
    planned: int
    scoring: str
    rows: str
    alike: float
    permutations: int
    screening: str = "none"
    weights: str = "certified"

    @property
    def complete(self) -> bool:
        """Whether all folds are done."""
        return len(self.folds) >= self.planned

    @property
    def measure(self) -> Measure:
        """How the score is called and written."""
        return SCORINGS[self.scoring]

    @property
    def n_columns(self) -> int:
        """How many columns were looked at."""
        return sum(map(len, self.groups))

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per group of columns that was permuted, the one that costs most first.

        `columns` names the group and `members` all of it; `drop` is the score that is lost, `margin` the part of the
        decision (of the mean of y·f) that is, each with `_low` and `_high`. The margin is finer than the score: it sees
        rows that come closer to the border without changing sides. Intervals hold for one group at a time. Of many
        groups the best always look good: `p_adjusted` is the probability that any of all that were looked at would lose
        so much of its margin by chance (a t-test over the rows held out, times the number of groups).
        """
        rows: list[dict[str, Any]] = [
            {"columns": _title(self.groups[group]), "members": "; ".join(self.groups[group])}
            | {"n_columns": len(self.groups[group])}
            | _with_ends("drop", self._drop(k))
            | _with_ends("margin", self._margin(k))
            | {"p_adjusted": self._adjusted(k)}
            for k, group in enumerate(self.tested if self.folds else ())
        ]
        names = [
            "columns",
            "members",
            "n_columns",
            *(f"{n}{e}" for n in ("drop", "margin") for e in ("", "_low", "_high")),
            "p_adjusted",
        ]
        found = pd.DataFrame(rows, columns=names)
        return found.sort_values("margin", ascending=False, kind="stable", ignore_index=True)

    @property
    def rest(self) -> Interval | None:
        """The part of the decision that is lost where all other columns are permuted together; None: there are none."""
        return self._margin(len(self.tested)) if self.folds and len(self.tested) < len(self.groups) else None

    @property
    def method(self) -> str:
        """How it was measured, in sentences."""
        joined = self.n_columns - len(self.groups)
        groups = (
            f"{counted(self.n_columns, 'column')} in {counted(len(self.groups), 'group')}: those with a correlation of "
            f"{self.alike:g} or more, of either sign, are permuted together."
            if joined
            else f"{counted(self.n_columns, 'column')}, of which no two have a correlation of {self.alike:g} or more."
        )
        screened = (
            f" All were screened {SCREENED[self.screening]}, and the {len(self.tested)} that change it most were taken."
            if self.screening in SCREENED
            else ""
        )
        done = counted(len(self.folds), "fold") if self.complete else f"{len(self.folds)} of {self.planned} folds"
        return (
            f"{groups}{screened} Each was permuted {self.permutations} times on the rows held out, in {done} of "
            f"{self.rows}. Nothing was trained anew: this is what the trained drawing uses"
            f"{at_weights(self.weights)}."
        )

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, and how."""
        if not self.folds:
            return ("It was stopped before the first fold was done.",)
        table = self.table
        used = table[(table["p_adjusted"] < LEVEL) & (table["margin"] > 0)]
        alike = ~(used["margin_low"] <= 0)
        sure, here = used.loc[alike, "columns"].tolist(), used.loc[~alike, "columns"].tolist()
        said = []
        if sure:
            said.append(f"By more than chance, the decision on rows not trained on uses {listed(sure)}.")
        if here:
            said.append(
                f"These trainings use {listed(here)} by more than chance too, but some much more than others: another "
                "training may not, and the interval holds 0."
            )
        if not said:
            said.append(
                f"Of none of {counted(len(self.groups), 'group')} of columns is it shown by more than chance that the "
                "decision on rows not trained on uses it."
            )
        if self.rest is not None and math.isfinite(self.rest.mean):
            n = self.n_columns - sum(len(self.groups[k]) for k in self.tested)
            said.append(f"The other {counted(n, 'column')} together: {_percent(self.rest)} of the decision.")
        return (*said, self.method)

    def figure(self, grey: bool = False) -> alt.LayerChart:
        """Dots and intervals: the part of the decision that is lost without each group of columns.

        Parameters
        ----------
        grey : bool, default=False
            Without colours, for print.

        Returns
        -------
        altair.LayerChart
            For `spnmkl.charts.to_svg` and `to_png`.
        """
        return columns_chart(self.table, title=self.measure.title, percent=self.measure.percent, grey=grey)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        names = ("planned", "scoring", "rows", "alike", "permutations", "screening", "weights")
        return {
            "format": FORMAT,
            "version": 1,
            "groups": [list(group) for group in self.groups],
            "tested": list(self.tested),
            "folds": [asdict(fold) for fold in self.folds],
        } | {name: getattr(self, name) for name in names}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ColumnImportance:
        """What `to_dict` gave.

        Parameters
        ----------
        stored : mapping
            As `to_dict` gave it.

        Returns
        -------
        ColumnImportance
            The same.

        Raises
        ------
        ParameterError
            It is none.
        """
        if not isinstance(stored, Mapping) or stored.get("format") != FORMAT or stored.get("version") != 1:
            raise ParameterError("This is no stored column importance of version 1; pass what to_dict gave.")
        groups = tuple(tuple(map(str, group)) for group in stored["groups"])
        tested = tuple(map(int, stored["tested"]))
        folds = tuple(_read_fold(fold) for fold in stored["folds"])
        each = len(tested) + (len(tested) < len(groups))
        if not all(0 <= k < len(groups) for k in tested) or any(
            len(getattr(fold, name)) != each for fold in folds for name in SEVERAL
        ):
            raise ParameterError("The folds of this column importance do not fit its groups; measure it again.")
        return cls(
            groups,
            tested,
            folds,
            int(stored["planned"]),
            scoring_name(stored["scoring"]),
            str(stored["rows"]),
            float(stored["alike"]),
            int(stored["permutations"]),
            str(stored["screening"]),
            weighing(stored.get("weights", "certified"), CHOSEN),
        )

    def _drop(self, k: int) -> Interval:
        values = np.array([fold.drops[k] for fold in self.folds])
        return Interval(float(values.mean()), *self._ends(values, 1 / self._mean("n_test")))

    def _margin(self, k: int) -> Interval:
        """Of the mean of y·f over all rows held out, to first order; NaN where that is not above 0."""
        whole = np.array([fold.margin for fold in self.folds])
        lost = np.array([fold.margins[k] for fold in self.folds])
        if whole.mean() <= 0:
            return Interval(math.nan, math.nan, math.nan)
        part = float(lost.mean() / whole.mean())
        low, high = self._ends((lost - part * whole) / whole.mean(), 0.0)
        return Interval(part, part + low, part + high)

    def _adjusted(self, k: int) -> float:
        n = np.array([fold.n_test for fold in self.folds], dtype=float)
        mean, square = (n @ [getattr(f, name)[k] for f in self.folds] / n.sum() for name in ("margins", "squares"))
        rows = n.sum() * one_round([f.repeat for f in self.folds])  # each counts once, however often it was held out
        if square <= mean**2:
            return 1.0 if not mean else math.nan
        t = mean / math.sqrt((square - mean**2) / (rows - 1))
        return float(min(1.0, len(self.groups) * 2 * stats.t.sf(abs(t), rows - 1)))

    def _ends(self, values: Floats, finest: float) -> tuple[float, float]:
        return corrected_interval(values, self._mean("n_test") / self._mean("n_train"), finest)

    def _mean(self, name: str) -> float:
        return float(np.mean([getattr(fold, name) for fold in self.folds]))


def _read_fold(stored: Mapping[str, Any]) -> ColumnFold:
    values: dict[str, Any] = read_counts(stored)
    values |= {name: float(stored[name]) for name in ("C", "full", "margin")}
    return ColumnFold(**values | {name: tuple(map(float, stored[name])) for name in SEVERAL})


def _title(group: Sequence[str]) -> str:
    return listed(list(group), NAMED)


def _with_ends(name: str, found: Interval) -> dict[str, float]:
    return {name: found.mean, f"{name}_low": found.low, f"{name}_high": found.high}


def _percent(found: Interval) -> str:
    ends = f" ({whole_percent(found.low)} to {whole_percent(found.high)})" if math.isfinite(found.low) else ""
    return whole_percent(found.mean) + ends
