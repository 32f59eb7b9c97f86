"""Which way of finding weights answers rows held out best: rivals over the same kernels, on the same folds.

The choice is for somebody who has drawn nothing and set nothing (`spnmkl.structure.defaults`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.evidence.rows import among, sampled
from spnmkl.fixed_weights import equal, machines, validated
from spnmkl.measures import SCORINGS
from spnmkl.parameters import Power
from spnmkl.problem import check_labels, sample_weights
from spnmkl.selection import cross_validate_C
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.structure.defaults import each_alone
from spnmkl.wording import counted

MOST_ROWS = 2000  # to choose on: what is chosen hardly changes with more, and time grows with their square
GRID = np.logspace(-2, 4, 13)  # of C where weights do not depend on it; the widest kernels want the largest
_ROUGH = 1e-2  # tolerance of machines that are compared on held-out rows alone
CERTIFIED, EVIDENCE, ALONE = "certified weights", "evidence weights", "one kernel alone"

Tick = Callable[[str], object]


@dataclass(frozen=True)
class Rival:
    """A drawing, how its weights are found, and how well that did on the rows held out.

    Attributes
    ----------
    name : str
        "certified weights", "evidence weights" or "one kernel alone".
    spn : SPN
        The drawing, or what is left of it.
    weights : {"certified", "evidence"}
        As of `SPNMKLClassifier`.
    C : float
        The best for it.
    score, error : float
        Mean over the folds at that C, and its standard error.
    """

    name: str
    spn: SPN
    weights: str
    C: float
    score: float
    error: float

    @property
    def options(self) -> dict[str, Any]:
        """What a training takes from it; one kernel alone has the p it is drawn with, which its C is for."""
        own = {"C": self.C, "weights": self.weights}
        return own | {"p": None} if self.name == ALONE else own


@dataclass(frozen=True)
class Choice:
    """What was chosen by cross-validation, and among what.

    Attributes
    ----------
    best : Rival
        What was chosen.
    rivals : tuple of Rival
        All that were tried to the end, in the order of trying.
    scoring : str
        By what they were compared.
    folds : int
        How many there were.
    n_rows : int
        The rows that the folds are made of.
    guess : float
        What answering without looking reaches on them.
    """

    best: Rival
    rivals: tuple[Rival, ...]
    scoring: str
    folds: int
    n_rows: int
    guess: float

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was chosen and why, a sentence each: the weights, C, and where that is so, that it may be no use."""
        measure = SCORINGS[self.scoring]
        others = [rival for rival in self.rivals if rival is not self.best]
        where = f"on {self.folds} folds of {counted(self.n_rows, 'training row')}"
        told = f"{measure.title} {measure.text(self.best.score)} {where}"
        beside = "".join(f"; {self._called(rival)} had {measure.text(rival.score)}" for rival in others)
        beside += self._rule([rival for rival in others if rival.score >= self.best.score])
        said = [
            f"Weights: {self._called(self.best)}, {told}{beside}.",
            f"C = {self.best.C:.4g}, the best for them on the same folds; a score that chose is a little too good.",
        ]
        if not self.best.score - 2 * self.best.error > self.guess:
            said.append(f"Nothing here is shown to beat guessing, which reaches {measure.text(self.guess)}.")
        return tuple(said)

    def _rule(self, better: Sequence[Rival]) -> str:
        """Why what has no lower score was not taken."""
        if not better:
            return ""
        alone = self.best.name != ALONE and any(rival.name == ALONE for rival in better)
        more = ", and one kernel must be better by more than its error, since it tells nothing of views"
        told = more if alone and _telling(self.best.spn) else ""
        return f" (scores are compared after smoothing along C{told})"

    def _called(self, rival: Rival) -> str:
        if rival.name != ALONE:
            return rival.name
        return f"one kernel alone ({rival.spn.label(rival.spn.kernels[0])})"


def choose_rival(
    spn: SPN,
    source: KernelSource,
    y: ArrayLike,
    *,
    folds: int = 5,
    scoring: str = "accuracy",
    groups: ArrayLike | None = None,
    random_state: int | None = 0,
    weights: str | None = None,
    lam: float = 1.0,
    p: Power = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    n_threads: int | None = None,
    max_time: float | None = None,
    stop: Callable[[], bool] | None = None,
    tick: Tick | None = None,
) -> Choice | None:
    """Certified weights, evidence weights, or one of the kernels alone, each at its best C.

    Scores are smoothed along C before they are compared, since the best of many noisy ones is best by luck. On more
    than 2,000 rows a stratified sample of so many is used. Where the drawing has kernels of parts of the columns, one
    kernel over all of them must be better by more than its standard error: it could tell nothing of the parts. Of
    equals the first is taken: certified weights, then evidence weights.

    Parameters
    ----------
    spn : SPN
        A flat drawing.
    source : KernelSource
        Its kernels over all rows.
    y : array-like of shape (n,)
        Labels of any kind.
    folds, scoring, groups, random_state : int, str, array-like, int
        As of `cross_validate_C`.
    weights : {"certified", "evidence"}, default=None
        To try only this; None for all.
    lam, p : float, float
        As of `solve`, for certified weights.
    sample_weight, class_weight, n_threads, max_time, stop : array-like, mapping, int, float, callable
        As of `solve`.
    tick : callable, default=None
        Called with a word on what is done now.

    Returns
    -------
    Choice or None
        None where nothing was done within the time.
    """
    labels = check_labels(y)
    rows = sampled(np.unique(labels, return_inverse=True)[1], MOST_ROWS, np.random.default_rng(0), folds)
    labels = labels[rows]
    classes, codes = np.unique(labels, return_inverse=True)
    own = None if sample_weight is None else np.asarray(sample_weight, dtype=float)[rows]
    contest = _Contest(
        spn,
        among(source, list(spn.kernels), rows),
        labels,
        {
            "folds": folds,
            "scoring": scoring,
            "groups": None if groups is None else np.asarray(groups)[rows],
            "random_state": random_state,
        },
        {"lam": lam, "p": p, "sample_weight": own, "class_weight": class_weight, "n_threads": n_threads},
        sample_weights(len(labels), codes, classes, own, class_weight),
        Deadline(max_time, stop),
        tick or (lambda words: None),
    )
    found = list(contest.rivals(weights))
    if not found:
        return None
    behind = _telling(spn)
    best = max(found, key=lambda trial: trial[1] - (trial[0].error if behind and trial[0].name == ALONE else 0))[0]
    guess = float(SCORINGS[scoring].guess(np.bincount(codes)))
    return Choice(best, tuple(rival for rival, _ in found), scoring, folds, len(rows), guess)


def _telling(spn: SPN) -> bool:
    """Whether weights tell of parts of the columns, which one kernel over all of them could not."""
    return len({spn.spec(leaf).features for leaf in spn.kernels}) > 1


def smoothed(scores: Floats) -> Floats:
    """(C,) mean over the folds of every score and its neighbours along C, which count half."""
    mean = np.pad(np.nanmean(scores, axis=1), 1, mode="edge")
    return (mean[:-2] + 2 * mean[1:-1] + mean[2:]) / 4


Trial = tuple[Rival, float]  # and its best smoothed score


@dataclass(frozen=True)
class _Contest:
    spn: SPN
    source: KernelSource
    y: NDArray
    inner: dict[str, Any]  # how folds are made and scored
    settings: dict[str, Any]
    often: Floats  # how C is scaled by sample
    deadline: Deadline
    tick: Tick

    def rivals(self, weights: str | None) -> Iterator[Trial]:
        """Those tried to the end; what time cuts off is left out."""
        for kind, name in (("certified", CERTIFIED), ("evidence", EVIDENCE)):
            if weights in (None, kind) and not self.deadline():
                self.tick(f"choosing by cross-validation: {name}")
                yield from self._learned(kind, name)
        if weights != "evidence":
            self.tick(f"choosing by cross-validation: {ALONE}")
            yield from sorted(self._alone(), key=lambda trial: -trial[1])[:1]

    def _learned(self, kind: str, name: str) -> Iterator[Trial]:
        options = self.inner | self.settings | {"max_time": self.deadline.left, "stop": self.deadline.stop}
        C = None if kind == "certified" else GRID.tolist()
        found = cross_validate_C(self.spn, self.source, self.y, C, weights=kind, tol=_ROUGH, **options)
        if np.isfinite(found.scores).any(axis=0).any() and not self.deadline():
            yield _trial(name, self.spn, kind, found.C, found.scores)

    def _alone(self) -> Iterator[Trial]:
        """A machine on one kernel has no weight to learn, so that it takes next to no time."""
        if not isinstance(self.source, MatrixSource):
            return
        for spn in each_alone(self.spn).values():
            if self.deadline():
                return
            K = {spn.kernels[0]: self.source.matrices[spn.kernels[0]]}
            extra: dict[str, Any] = {"stop": self.deadline, "often": self.often}
            scores = validated(K, self.y, equal, GRID, _ROUGH, lambda: None, **self.inner, **extra)
            if self.deadline():
                return
            rival, score = _trial(ALONE, spn, "certified", GRID, scores)
            yield replace(rival, C=self._certified(spn, K, rival.C)), score

    def _certified(self, spn: SPN, K: dict[str, Floats], C: float) -> float:
        """The C at which certified weights make of one path the machine at this C (formulation, section 9)."""
        model = next(machines(K, self.y, equal, np.array([C]), _ROUGH, None, self.often))
        (matrix,), p = K.values(), float(spn.p(spn.products[0]))
        norm = float(((model.signed_alpha @ matrix) * model.signed_alpha).sum())
        beta = (norm / (2 * p * self.settings["lam"])) ** (1 / (p + 1))
        return C / beta if beta > 0 else C


def _trial(name: str, spn: SPN, weights: str, grid: Floats, scores: Floats) -> Trial:
    scores = scores[:, ~np.isnan(scores).all(axis=0)]
    smooth = smoothed(scores)
    k = int(smooth.argmax())
    error = float(scores[k].std(ddof=1) / np.sqrt(scores.shape[1])) if scores.shape[1] > 1 else np.nan
    return Rival(name, spn, weights, float(grid[k]), float(np.nanmean(scores[k])), error), float(smooth[k])
