"""Scores that do not depend on one split: what was said of rows held out, over folds that are drawn again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.calibration import probabilities, scaling
from spnmkl.circuit.program import Floats
from spnmkl.measures import FEWEST, SCORINGS, interval_over_folds, interval_text, row_losses
from spnmkl.training.scores import Measured, Scores, score
from spnmkl.wording import counted

FLATTERED = ", so that the score is a little too good"
ROUND = tuple[int, int]  # which round, which fold of it


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Decisions on rows held out. Each round draws folds anew, and every row is in one of them.

    Attributes
    ----------
    y : ndarray of shape (n,)
        The classes of the rows.
    classes : ndarray
    rows : ndarray of shape (n,)
        Positions of the rows in the data set's frame.
    fold : ndarray of shape (rounds, n)
        The fold in which a row was held out.
    decision : ndarray of shape (rounds, n) or (rounds, n, classes)
        NaN where the fold is not done, and for rows that could not be used.
    C : ndarray of shape (rounds, folds)
        What each training used; NaN where it is not done.
    chosen : bool
        Whether C was chosen anew in each training part, or given.
    afresh : bool or None
        Where more than C was chosen for the run: whether all of that was chosen anew in each training part, or once
        before, on all of these rows.
    scoring : str
        By what it was chosen, and which score is looked at first.
    held_back : bool
        Whether there are test rows besides, which took no part.
    seconds : float
        How long it took.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import nested_scores, templates
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> found = nested_scores(spn, X / X.std(axis=0), y, C=1.0, folds=3, rounds=1)
    >>> found.n_done, len(found.values("accuracy"))
    (3, 3)
    """

    y: NDArray
    classes: NDArray
    rows: NDArray[np.intp]
    fold: NDArray[np.intp]
    decision: Floats
    C: Floats
    chosen: bool
    scoring: str = "accuracy"
    held_back: bool = False
    seconds: float = 0.0
    afresh: bool | None = None

    @property
    def n_folds(self) -> int:
        return self.C.shape[1]

    @cached_property
    def done(self) -> list[ROUND]:
        return [(int(r), int(k)) for r, k in np.argwhere(np.isfinite(self.C))]

    @property
    def n_done(self) -> int:
        return len(self.done)

    @property
    def n_rounds(self) -> int:
        """Rounds of which every fold is done."""
        return int(np.isfinite(self.C).all(axis=1).sum())

    @property
    def complete(self) -> bool:
        return self.n_done == self.C.size

    @property
    def enough(self) -> bool:
        """Whether every row was held out once, or so many folds are done that an interval can be told."""
        return self.n_rounds > 0 or self.n_done >= FEWEST

    @property
    def test_by_train(self) -> float:
        return 1 / (self.n_folds - 1)

    def held_out(self, at: ROUND) -> NDArray[np.intp]:
        """The rows that a fold held out and that could be answered."""
        mine = self.fold[at[0]] == at[1]
        decision = self.decision[at[0]]
        return np.flatnonzero(mine & np.isfinite(decision if decision.ndim == 1 else decision[:, 0]))

    @cached_property
    def scores(self) -> list[Scores]:
        """Of every fold that is done."""
        rows = {at: self.held_out(at) for at in self.done}
        return [score(self.y[held], self.decision[at[0]][held], self.classes) for at, held in rows.items()]

    def values(self, scoring: str) -> Floats:
        """A measure in every fold that is done."""
        measure = SCORINGS[scoring]
        return np.array([measure.of(s.y, s.decision, self.classes) for s in self.scores])

    def measured(self, scoring: str | None = None) -> Measured:
        """A measure over all folds: its mean, the interval of the corrected resampled t, and what guessing gives."""
        name = scoring or self.scoring
        measure = SCORINGS[name]
        rows = (self.classes == self.y[:, None]).sum(axis=0)
        return self._over_folds(measure.title, self.values(name), measure.guess(rows), percent=measure.percent)

    def measures(self, positive: Any = None) -> list[Measured]:
        """All that is usually told of a classifier; `positive` as for `Scores.measures`."""
        return [*map(self.measured, SCORINGS), *self._rates(positive), *self._loss()]

    def _rates(self, positive: Any) -> Iterator[Measured]:
        each = [list(s._rates(positive)) for s in self.scores]
        for same in zip(*each, strict=True):
            yield self._over_folds(same[0].title, np.array([m.value for m in same]), math.nan)

    def _loss(self) -> Iterator[Measured]:
        means = np.array([losses.mean() for losses in self._row_losses()])
        if not len(means):
            return
        shares = (self.classes == self.y[:, None]).mean(axis=0)
        blind = float(-(shares * np.log(shares)).sum())
        yield self._over_folds("log loss", means, blind, percent=False, smaller=True)

    def _row_losses(self) -> Iterator[Floats]:
        for rows, P in self.held_out_probabilities():
            yield row_losses(self.y[rows], P, self.classes)

    def _over_folds(self, title: str, values: Floats, guess: float, **looks: bool) -> Measured:
        known = values[np.isfinite(values)]
        mean = float(known.mean()) if len(known) else math.nan
        most = math.inf if looks.get("smaller") else 1.0
        finest = 0.0 if looks.get("smaller") else self.n_folds / len(self.y)
        return Measured(title, mean, interval_over_folds(values, self.test_by_train, finest, most), guess, **looks)

    def _decisions(self, r: int, rows: NDArray[np.intp]) -> Floats:
        """(1 or classes, rows), as a scaling takes them."""
        return np.atleast_2d(self.decision[r][rows].T)

    def held_out_probabilities(self) -> Iterator[tuple[NDArray[np.intp], Floats]]:
        """Rows and their probabilities, fold by fold of whole rounds; the scaling is learned from the other folds."""
        for r in np.flatnonzero(np.isfinite(self.C).all(axis=1)):
            parts = [self.held_out((int(r), k)) for k in range(self.n_folds)]
            for k, rows in enumerate(parts):
                others = np.concatenate([part for j, part in enumerate(parts) if j != k])
                scale = scaling(self._decisions(int(r), others), self.y[others], self.classes)
                yield rows, probabilities(self._decisions(int(r), rows), scale)

    def calibration(self) -> Floats | None:
        """The scaling that makes decisions probabilities, from all whole rounds; None before the first is done."""
        whole = np.flatnonzero(np.isfinite(self.C).all(axis=1))
        if not len(whole):
            return None
        rows = [np.concatenate([self.held_out((int(r), k)) for k in range(self.n_folds)]) for r in whole]
        F = np.concatenate([self._decisions(int(r), held) for r, held in zip(whole, rows, strict=True)], axis=1)
        y = np.concatenate([self.y[held] for held in rows])
        return scaling(F, y, self.classes, share=1 / len(whole))

    def with_fold(self, at: ROUND, rows: NDArray[np.intp], decision: Floats, C: float, seconds: float) -> FoldScores:
        """With one more fold; `rows` are positions among these rows."""
        decisions, used = self.decision.copy(), self.C.copy()
        decisions[at[0], rows], used[at] = decision, C
        return replace(self, decision=decisions, C=used, seconds=self.seconds + seconds)

    @property
    def how(self) -> str:
        """Which trainings these are, in words: 5 folds, 4 times; training rows only; C chosen anew in each."""
        times = f", {self.n_rounds} times" if self.n_rounds > 1 else ""
        folds = counted(self.n_folds, "fold") + times
        if not self.complete and self.n_done != self.n_rounds * self.n_folds:
            folds = f"{self.n_done} folds of {self.C.size}" if self.n_rounds == 0 else f"{self.n_done} folds"
        which = "training rows only" if self.held_back else "all rows"
        return f"{folds}; {which}; {self.about_C}"

    @property
    def about_C(self) -> str:
        """What was chosen in the training parts; what was chosen before, on rows held out too, flatters the score."""
        anew = f"chosen anew in each training part by {SCORINGS[self.scoring].title}"
        used = self.C[np.isfinite(self.C)]
        given = f"C = {used[0]:.3g} as set by hand" if len(used) else "C as set by hand"
        if self.afresh:
            return f"C, weights and preparation {anew}" if self.chosen else f"{given}, weights and preparation {anew}"
        before = "" if self.afresh is None else f", but weights and preparation once before on all of them{FLATTERED}"
        return f"C {anew}{before}" if self.chosen else f"{given}{before}"

    def sentence(self) -> str:
        """The score that counts, in words, with what it is worth and how it came about."""
        found = self.measured()
        interval = interval_text(found.interval, found.percent)
        worth = "; ".join(filter(None, [interval, f"guessing gives {found.guess_text}"]))
        title = f"{found.title[:1].upper()}{found.title[1:]}"
        return f"{title} {found.text} on rows held out ({worth}), mean over {self.how}"

    def described(self) -> dict[str, Any]:
        """What is stored beside a model, as JSON can hold it."""
        found = {m.title.split(",")[0].replace(" ", "_"): _plain(m) for m in self.measures()}
        return {
            "rows": len(self.y),
            "of": "training rows" if self.held_back else "all rows",
            "folds": self.n_folds,
            "rounds": self.n_rounds,
            "folds_done": self.n_done,
            "C": "chosen" if self.chosen else "given",
            "chosen_afresh": self.afresh,
            "scoring": self.scoring,
            "measures": found,
        }


def _plain(found: Measured) -> Mapping[str, float | None]:
    low, high = found.interval
    numbers = {"value": found.value, "low": low, "high": high, "guess": found.guess}
    return {name: value if math.isfinite(value) else None for name, value in numbers.items()}
