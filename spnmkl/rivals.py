"""Which way of finding weights answers rows held out best: rivals over the same kernels, on the same folds.

The choice is for somebody who has drawn nothing and set nothing (`spnmkl.structure.defaults`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.errors import Stopped
from spnmkl.evidence.rows import among, sampled
from spnmkl.fixed_weights import equal, machines, validated
from spnmkl.measures import ROUNDING, SCORINGS, error_of_rows
from spnmkl.parameters import Power
from spnmkl.problem import check_labels, classes_of, sample_weights
from spnmkl.selection import PathPoint, cross_validate_C
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.structure.defaults import by_width, each_alone
from spnmkl.wording import counted

MOST_ROWS = 2000  # to choose on: what is chosen hardly changes with more, and time grows with their square
ENOUGH = 500  # rows held out, with the same row several times where there are fewer: folds are drawn again
MOST_REPEATS = 3
GRID = np.logspace(-2, 4, 13)  # of C where weights do not depend on it; the widest kernels want the largest
EVIDENCE_GRID = np.logspace(-1.5, 1.5, 7)  # around 1, since evidence has found how large the weights should be
_EARLY = 0.5  # of the time, after which the next is tried
_ROUGH = 1e-2  # tolerance of machines that are compared on held-out rows alone
CERTIFIED, EVIDENCE, ALONE = "certified weights", "evidence weights", "one kernel alone"
COMPARED = (CERTIFIED, ALONE, EVIDENCE)  # in this order, and of equals the first is taken

Tick = Callable[[str], object]
Counted = Callable[[int, int], None]  # how many trainings are done, of how many


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
        Mean over the folds at that C, and its standard error, or that of the number of rows where this is larger.
    fold_scores : tuple of float
        What rivals are compared by: its score on every fold, smoothed along C, in the order of drawing.
    """

    name: str
    spn: SPN
    weights: str
    C: float
    score: float
    error: float
    fold_scores: tuple[float, ...] = ()

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
        All that were tried to the end, in the order of comparing: certified weights, one kernel, evidence weights.
    scoring : str
        By what they were compared.
    folds : int
        How many there were.
    n_rows : int
        The rows that the folds are made of.
    guess : float
        What answering without looking reaches on them.
    repeats : int
        How often the folds were drawn; for evidence weights once.
    at_given_C : bool
        Whether C was given, and the kind of weights alone chosen.
    unfinished : tuple of str
        The names of rivals that time, or a stop, cut off.
    telling : bool
        Whether the drawing has kernels of parts of the columns, of which one kernel over all tells nothing.
    """

    best: Rival
    rivals: tuple[Rival, ...]
    scoring: str
    folds: int
    n_rows: int
    guess: float
    repeats: int = 1
    at_given_C: bool = False
    unfinished: tuple[str, ...] = ()
    telling: bool = False

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was chosen and why, a sentence each: the weights, C, and where that is so, that it may be no use."""
        measure = SCORINGS[self.scoring]
        again = f", drawn {self.repeats} times" if self.repeats > 1 and self.best.weights != "evidence" else ""
        where = f"on {self.folds} folds of {counted(self.n_rows, 'training row')}{again}"
        told = f"{measure.title} {measure.text(self.best.score)} {where}"
        others = [rival for rival in self.rivals if rival is not self.best]
        if others:
            averaged = "" if self.at_given_C else ", averaged over neighbouring values of C"
            told += f"; on the folds that both have{averaged}, {'; '.join(map(self.beside, others))}"
        C = "as given" if self.at_given_C else "the best for them on the same folds"
        said = [
            f"Weights: {self._called(self.best)}, {told}.",
            f"C = {self.best.C:.4g}, {C}; a score that chose is a little too good.",
        ]
        if not self.best.score - 2 * self.best.error > self.guess:
            said.append(f"Nothing here is shown to beat guessing, which reaches {measure.text(self.guess)}.")
        return tuple(said)

    def beside(self, rival: Rival) -> str:
        """How much more or less than the best it had, and why it was not taken if that is not less."""
        ahead, error = lead(rival, self.best, self.folds)
        if np.isnan(ahead):
            return f"there is none with {self._called(rival)}"
        told = f"{self._called(rival)} had {SCORINGS[self.scoring].difference(ahead, error)}"
        lacks = _lacks(rival, self.best, self.telling)
        if not lacks or ahead < -ROUNDING:
            return told
        third = [self._called(each) for each in self.rivals if each is not rival and each is not self.best]
        if ahead - error > ROUNDING and third:  # it must lead that one, too
            return f"{told}, but too little more than {third[0]} for {lacks}"
        return f"{told}, which is too little for {lacks}"

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
    C: float | None = None,
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

    The best of many noisy scores is best by luck. So scores are smoothed along C before they are compared, and along
    widths too where one kernel is sought among them; and folds of fewer than 500 rows are drawn several times, but
    for evidence weights, which take longest: those are compared on the first folds. On more than 2,000 rows a
    stratified sample of so many is used. Of what is level, that is taken by which nothing is lost: evidence weights,
    which have no certificate, must be better than each of the others by more than the standard error of the difference
    over the folds, and so must one kernel alone where the drawing has kernels of parts of the columns, of which it
    could tell nothing. Evidence weights are tried last, so that time cuts off nothing else first; one kernel alone has
    half of the time that certified weights left.

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
    C : float, default=None
        To choose the kind of weights at this C alone; one kernel alone, whose C means something else, takes no part.
    lam, p : float, float
        As of `solve`, for certified weights.
    sample_weight, class_weight, n_threads, max_time, stop : array-like, mapping, int, float, callable
        As of `solve`.
    tick : callable, default=None
        Called with a word on what is done now; where it raises `Stopped`, nothing more is tried.

    Returns
    -------
    Choice or None
        None where nothing was done within the time.
    """
    labels = check_labels(y)
    rows = sampled(classes_of(labels)[1], MOST_ROWS, np.random.default_rng(0), folds)
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
        C,
    )
    found = sorted(contest.rivals(weights), key=lambda rival: COMPARED.index(rival.name))
    if not found:
        return None
    best = best_of(found, _telling(spn), folds)
    guess = float(SCORINGS[scoring].guess(np.bincount(codes)))
    repeats = max(len(rival.fold_scores) for rival in found) // folds
    unfinished = tuple(name for name in contest.cut if name not in {rival.name for rival in found})
    at_C = C is not None
    return Choice(best, tuple(found), scoring, folds, len(rows), guess, repeats, at_C, unfinished, _telling(spn))


def _error(ahead: float, error: float) -> float:
    return error


def best_of(
    rivals: Sequence[Rival], telling: bool, folds: int, needed: Callable[[float, float], float] = _error
) -> Rival:
    """The last that is better than each before it; where it lacks what that has, by more than needed.

    `needed` is of how much it leads, and of the error of that over the folds. These may agree by chance; an error that
    is never less than rows allow makes no difference that could be measured (docs/experiments, 4.7).
    """

    def beats(rival: Rival, other: Rival) -> bool:
        ahead, error = lead(rival, other, folds)
        return ahead - (needed(ahead, error) if _lacks(rival, other, telling) else 0.0) > ROUNDING

    return [rival for k, rival in enumerate(rivals) if all(beats(rival, other) for other in rivals[:k])][-1]


def lead(rival: Rival, other: Rival, folds: int) -> tuple[float, float]:
    """By how much a rival is better on the folds that both have, and the standard error of that."""
    both = min(len(rival.fold_scores), len(other.fold_scores))
    ahead = np.subtract(rival.fold_scores[:both], other.fold_scores[:both])
    return _mean_and_error(ahead[np.isfinite(ahead)], folds)


def _mean_and_error(scores: Floats, folds: int) -> tuple[float, float]:
    """Folds drawn again share their rows, so that the error is no smaller than of those drawn once."""
    if len(scores) < 2:
        return float(scores.sum()) if len(scores) else np.nan, np.nan
    return float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(min(len(scores), folds)))


def _lacks(rival: Rival, other: Rival, telling: bool) -> str:
    """What would be lost by taking a rival instead of another."""
    if rival.weights == "evidence" and other.weights != "evidence":
        return "weights without a certificate"
    return "one kernel, which tells nothing of views" if telling and rival.name == ALONE != other.name else ""


def _telling(spn: SPN) -> bool:
    """Whether weights tell of parts of the columns, which one kernel over all of them could not."""
    return len({spn.spec(leaf).features for leaf in spn.kernels}) > 1


def smoothed(scores: Floats, axis: int = 0) -> Floats:
    """Of every score the mean with its neighbours along an axis, which count half; at an end it is its own."""
    ends = [(1, 1) if k == axis else (0, 0) for k in range(scores.ndim)]
    wide = np.moveaxis(np.pad(scores, ends, mode="edge"), axis, 0)
    return np.moveaxis((wide[:-2] + 2 * wide[1:-1] + wide[2:]) / 4, 0, axis)


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
    C: float | None = None  # given, not to be chosen
    cut: list[str] = field(default_factory=list)  # at whose end, if they came to one, time was over

    def rivals(self, weights: str | None) -> Iterator[Rival]:
        """Those tried to the end, evidence weights last: they take longest, and time may cut them off."""
        held = isinstance(self.source, MatrixSource)
        trials: tuple[tuple[str, bool, Callable[[_Contest], Callable[[Counted], Iterator[Rival]]]], ...] = (
            (CERTIFIED, weights != "evidence", lambda own: partial(own._learned, "certified", CERTIFIED)),
            (ALONE, weights != "evidence" and self.C is None and held, lambda own: own._alone),
            (EVIDENCE, weights != "certified", lambda own: partial(own._learned, "evidence", EVIDENCE)),
        )
        asked = [(name, tried) for name, wanted, tried in trials if wanted]
        for k, (name, tried) in enumerate(asked, 1):
            own = self._early() if name == ALONE else self
            if not self.deadline():
                words = f"choosing by cross-validation: {name}" + f" ({k} of {len(asked)})" * (len(asked) > 1)
                with suppress(Stopped):  # those before are kept
                    self.tick(words)
                    yield from tried(own)(own._counting(words))
            if own.deadline():
                self.cut.append(name)

    def _early(self) -> _Contest:
        """With half of the time that is left: at a large C a machine on one kernel of many rows may take seconds."""
        return replace(self, deadline=self.deadline.early(_EARLY))

    def _counting(self, words: str) -> Counted:
        def tell(done: int, total: int) -> None:
            if not self.deadline():  # once it is over, what there is by then is kept
                self.tick(f"{words}, training {done} of {total}")

        return tell

    @property
    def repeats(self) -> int:
        return min(MOST_REPEATS, -(-ENOUGH // len(self.y)))

    def _drawn(self, often: int) -> Iterator[dict[str, Any]]:
        """How folds are made, each time others; without a seed they are others anyway."""
        seed = self.inner["random_state"]
        for k in range(often):
            yield self.inner if k == 0 or seed is None else self.inner | {"random_state": _another(seed, k)}

    def _learned(self, kind: str, name: str, tell: Counted) -> Iterator[Rival]:
        settings = {"weights": kind, "tol": _ROUGH, "stop": self.deadline.stop, **self.settings}
        chosen = None if kind == "certified" else EVIDENCE_GRID
        grid = chosen if self.C is None else np.array([self.C])
        scores: list[Floats] = []
        often = self.repeats if kind == "certified" else 1
        for k, folds in enumerate(self._drawn(often)):
            follow = partial(_follow, tell, k, often)
            own = settings | folds | {"max_time": self.deadline.left, "callback": follow}
            found = cross_validate_C(self.spn, self.source, self.y, None if grid is None else grid.tolist(), **own)
            if self.deadline() or not np.isfinite(found.scores).any():
                break
            grid, scores = found.C, [*scores, found.scores]
        if grid is not None and scores:
            drawn = np.hstack(scores)
            smooth = smoothed(drawn)
            k = _first_best(smooth)
            yield self._rival(name, self.spn, kind, float(grid[k]), drawn[k], smooth[k])

    def _alone(self, tell: Counted) -> Iterator[Rival]:
        """The best of the kernels: a machine on one has no weight to learn."""
        widths, others = by_width(each_alone(self.spn).values())
        done, total = count(1), len(self.spn.kernels) * self.repeats * self.inner["folds"] * len(GRID)

        def tick() -> None:
            tell(next(done), total)

        rivals = [rival for spns in (widths, *([spn] for spn in others)) if spns for rival in self._widths(spns, tick)]
        if rivals:
            best = max(rivals, key=lambda rival: float(np.nanmean(rival.fold_scores)))
            yield replace(best, C=self._certified(best.spn, best.C))

    def _widths(self, spns: Sequence[SPN], tick: Callable[[], None]) -> Iterator[Rival]:
        """The best of kernels whose neighbours are much alike."""
        drawn: list[Floats] = []
        for folds in self._drawn(self.repeats):
            once = [self._machines(spn, folds, tick) for spn in spns if not self.deadline()]
            if self.deadline():
                break
            drawn.append(np.array(once))
        if drawn:
            scores = np.concatenate(drawn, axis=2)  # (widths, C, folds)
            smooth = smoothed(scores, 1)
            w, k = divmod(_first_best(smoothed(smooth)), len(GRID))
            yield self._rival(ALONE, spns[w], "certified", float(GRID[k]), scores[w, k], smooth[w, k])

    def _machines(self, spn: SPN, folds: dict[str, Any], tick: Callable[[], None]) -> Floats:
        extra: dict[str, Any] = {"stop": self.deadline, "often": self.often}
        return validated(self._kernel(spn), self.y, equal, GRID, _ROUGH, tick, **folds, **extra)

    def _kernel(self, spn: SPN) -> dict[str, Floats]:
        assert isinstance(self.source, MatrixSource)
        return {spn.kernels[0]: self.source.matrices[spn.kernels[0]]}

    def _certified(self, spn: SPN, C: float) -> float:
        """The C at which certified weights make of one path the machine at this C (formulation, section 9)."""
        K = self._kernel(spn)
        model = next(machines(K, self.y, equal, np.array([C]), _ROUGH, None, self.often))
        (matrix,), p = K.values(), float(spn.p(spn.products[0]))
        norm = float(((model.signed_alpha @ matrix) * model.signed_alpha).sum())
        beta = (norm / (2 * p * self.settings["lam"])) ** (1 / (p + 1))
        return C / beta if beta > 0 else C

    def _rival(self, name: str, spn: SPN, weights: str, C: float, scores: Floats, smooth: Floats) -> Rival:
        score, error = _mean_and_error(scores[np.isfinite(scores)], self.inner["folds"])
        rows = np.unique(self.y, return_counts=True)[1].astype(float)
        of_rows = error_of_rows(
            self.inner["scoring"], score, rows, score * rows
        )  # as if each class were answered alike
        return Rival(name, spn, weights, C, score, float(np.maximum(error, of_rows)), tuple(smooth.tolist()))


def _first_best(scores: Floats) -> int:
    """Of the best means over the last axis the first, where rounding makes no difference."""
    mean = np.nanmean(scores, axis=-1).ravel()
    return int(np.flatnonzero(mean >= mean.max() - ROUNDING)[0])


def _follow(tell: Counted, k: int, often: int, point: PathPoint) -> None:
    """In the k-th drawing of folds of so many."""
    tell(k * point.total + point.done, often * point.total)


def _another(seed: int, k: int) -> int:
    return int(np.random.SeedSequence((seed, k)).generate_state(1)[0])
