"""One fold: C chosen for the whole drawing, then it, every view alone and all without it, scored on rows held out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.baselines import Learned
from spnmkl.baselines.labels import of_leaves
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.data import Split
from spnmkl.errors import ParameterError, Stopped
from spnmkl.evidence.machine import solve_by_evidence
from spnmkl.importance.by_evidence import Within, preferred, trained_by_evidence
from spnmkl.importance.folds import FoldData, Folds, Tick
from spnmkl.importance.restriction import FULL, Removals, weighed
from spnmkl.inspection import decision_parts
from spnmkl.measures import SCORINGS, check_counts, error_of_difference, right_rows
from spnmkl.parallel import Place, in_order, side_by_side
from spnmkl.parameters import CHOSEN, WEIGHTS, checked_threads, positive, weighing
from spnmkl.problem import answers, checked_source
from spnmkl.selection.results import UNFINISHED
from spnmkl.solution import Solution
from spnmkl.solvers import solve
from spnmkl.structure import SPN
from spnmkl.study.entrants import Entrants, drawings
from spnmkl.study.fold_training import inner_folds

LARGE = 4000  # rows from which on one training at a time has all threads, and all memory
Stop = Callable[[], bool] | None


@dataclass(frozen=True)
class ViewFold:
    """What one fold gave.

    Attributes
    ----------
    repeat, fold : int
        Which one, from 1.
    n_train, n_test : int
        Rows to learn from, and rows held out.
    C : float
        Of all trainings of this fold but those of `own_C`.
    full : float
        The score of the whole drawing.
    guessing : float
        What always answering the most frequent class gets or, by other measures, chance.
    alone, without : dict from view to float
        Scores; NaN where no kernel is left.
    parts : dict from view to float
        The mean over the rows of y·f of the paths through its kernels; see `spnmkl.inspection.decision_parts`.
    total, square : float
        The mean of y·f of all paths, and of its square.
    seconds : float
        How long it took.
    own_C : dict from what was trained to float
        Such as "genes alone": where at `C` all its weights would be zero, or at evidence weights all answers the same,
        and inner folds chose a C of its own.
    weights : {"certified", "evidence"}
        Those of all trainings of this fold.
    rows : tuple of float
        How many of the rows held out are of each class.
    full_right : tuple of float
        How many of these the whole drawing answers rightly.
    alone_right, without_right : dict from view to tuple of float
        The same of each view alone, and of all without it.
    drop_errors : dict from view to float
        The standard error, by how many rows there are, of the score of the whole less that without the view.

    Examples
    --------
    >>> from spnmkl.importance import ViewFold
    >>> fold = ViewFold(1, 1, 80, 20, 1.0, 0.9, 0.5, {"a": 0.8}, {"a": 0.7}, {"a": 1.0}, 1.0, 1.5, 0.1)
    >>> round(fold.full - fold.without["a"], 6)
    0.2
    """

    repeat: int
    fold: int
    n_train: int
    n_test: int
    C: float
    full: float
    guessing: float
    alone: Mapping[str, float]
    without: Mapping[str, float]
    parts: Mapping[str, float]
    total: float
    square: float
    seconds: float
    own_C: Mapping[str, float] = field(default_factory=dict)
    weights: str = "certified"
    rows: tuple[float, ...] = ()
    full_right: tuple[float, ...] = ()
    alone_right: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    without_right: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    drop_errors: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Values that JSON can hold; NaN is None.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return {name: _plain(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> ViewFold:
        """What `to_dict` gave.

        Parameters
        ----------
        stored : mapping
            As `to_dict` gave it.

        Returns
        -------
        ViewFold
            The same.

        Raises
        ------
        ParameterError
            It counts rows that cannot be.
        """
        by_name = {name: stored[name] for name in ("alone", "without", "parts")} | {
            name: stored.get(name, {}) for name in ("own_C", "drop_errors")
        }
        values: dict[str, Any] = read_counts(stored) | {"weights": weighing(stored.get("weights", "certified"))}
        values |= {name: {str(v): _number(x) for v, x in given.items()} for name, given in by_name.items()}
        # None of these are in a file of an earlier version.
        values |= {name: tuple(map(_number, stored.get(name, ()))) for name in ("rows", "full_right")}
        for name in ("alone_right", "without_right"):
            values[name] = {str(v): tuple(map(_number, n)) for v, n in stored.get(name, {}).items()}
        rest = [name for name in cls.__dataclass_fields__ if name not in values]
        found = cls(**values | {name: _number(stored[name]) for name in rest})
        rights = [found.full_right, *found.alone_right.values(), *found.without_right.values()]
        check_counts(found.n_test, found.rows, rights)
        if not all(0 <= error < math.inf for error in found.drop_errors.values()):
            raise ParameterError("The error of a drop in a stored fold is none; measure it again.")
        return found


def read_counts(stored: Mapping[str, Any]) -> dict[str, int]:
    """Which fold it is and of how many rows; all are divided by."""
    counts = {name: int(stored[name]) for name in ("repeat", "fold", "n_train", "n_test")}
    if min(counts.values()) < 1:
        raise ParameterError("A stored fold has no rows, or no number; measure it again.")
    return counts


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(x) for name, x in value.items()}
    return None if isinstance(value, float) and np.isnan(value) else value


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


@dataclass(frozen=True, eq=False)
class Measuring:
    """What all folds share.

    Attributes
    ----------
    C : None: chosen in every fold.
    settings : of `spnmkl.solve`, besides.
    weights : "certified" or "evidence", those of all trainings; "chosen": evidence weights where they lead on the
        inner folds of a fold, as `spnmkl.rivals` asks for, else certified ones.
    """

    removals: Removals
    folds: Folds
    C: float | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    n_threads: int | None = None
    weights: str = "certified"

    def __post_init__(self) -> None:
        weighing(self.weights, CHOSEN)

    @cached_property
    def who(self) -> Entrants:
        return drawings(self.removals.structures)

    @property
    def others(self) -> list[str]:
        """The structures besides the whole drawing."""
        return [name for name in self.removals.structures if name != FULL]

    @property
    def scoring(self) -> str:
        """By what C is chosen and everything is scored."""
        return self.folds.plan.scoring

    def steps(self) -> int:
        """Trainings of one fold, as many as are known before."""
        plan = self.folds.plan
        kinds = len(WEIGHTS) if self.weights == CHOSEN else 1
        values = plan.points if self.C is None else 1
        choosing = plan.inner * values if self.C is None or kinds > 1 else 0
        return kinds * (choosing + 1) + len(self.others)

    def measured(self, done: Collection[tuple[int, int]], say: Tick, stop: Stop) -> Iterator[ViewFold]:
        """Fold by fold, without those that are done; `say` is called often, and may raise to stop."""
        left = [split for split in self.folds.splits if split[:2] not in done]
        with closing(side_by_side(_measured, self, list(enumerate(left)), stop=stop, say=say)) as found:
            yield from in_order(found)

    def prepared(self, split: tuple[int, int, Split], say: Tick) -> tuple[FoldData, Tick]:
        """The kernels of a fold, and how to tell of what is done there."""
        plan, (repeat, fold, rows) = self.folds.plan, split
        where = f"fold {fold} of {plan.folds}" + (f", round {repeat} of {plan.repeats}" if plan.repeats > 1 else "")
        tell = partial(_tell, say, where)
        return self.folds.data(rows, self.who.pool, tell), tell

    def fold_scores(self, data: FoldData, say: Tick, stop: Stop) -> ViewFold:
        work, full, C = self.settled(data, say, stop)
        return work._fold_scores(data, full, C, say, stop)

    def _fold_scores(self, data: FoldData, full: Solution, C: float, say: Tick, stop: Stop) -> ViewFold:
        restricted = self.restricted_decisions(data, full, C, say, stop)
        decisions = {FULL: self.decision(full, data)} | {name: decision for name, (decision, _) in restricted.items()}
        measure, y, classes = SCORINGS[self.scoring], data.y_test, full.classes
        values = {name: measure.of(y, decision, classes) for name, decision in decisions.items()}
        rows, _ = right_rows(y, y, classes)
        right = {name: _right(y, decision, classes) for name, decision in decisions.items()}
        alone, without = (
            {view: name for view, name in names.items() if name is not None}
            for names in (self.removals.alone, self.removals.without)
        )
        spn, views = full.spn, self.removals.leaves
        parts = decision_parts(full, of_leaves(spn, data.cross), data.y_test, of_leaves(spn, data.kernels), views=views)
        nothing = float("nan")
        return ViewFold(
            0,
            0,
            len(data.y_train),
            len(data.y_test),
            C,
            values[FULL],
            measure.guess(rows),
            {view: nothing if name is None else values[name] for view, name in self.removals.alone.items()},
            {view: nothing if name is None else values[name] for view, name in self.removals.without.items()},
            {view: float(parts.views[view].mean()) if leaves else nothing for view, leaves in views.items()},
            float(parts.total.mean()),
            float((parts.total**2).mean()),
            0.0,
            {name: own for name in self.others if (own := restricted[name][1]) != C},
            self.weights,
            tuple(rows.tolist()),
            right[FULL],
            {view: right[name] for view, name in alone.items()},
            {view: right[name] for view, name in without.items()},
            {
                view: error_of_difference(self.scoring, y, decisions[FULL], decisions[name], classes)
                for view, name in without.items()
            },
        )

    def settled(self, data: FoldData, say: Tick, stop: Stop) -> tuple[Measuring, Solution, float]:
        """The whole drawing trained, the C that inner folds choose for it, and this with the weights they choose."""
        kinds = WEIGHTS if self.weights == CHOSEN else (self.weights,)
        works = {kind: replace(self, weights=kind) for kind in kinds}
        found = {kind: work._fitted(data, say, stop, len(kinds) > 1) for kind, work in works.items()}
        chosen = preferred(found) if len(kinds) > 1 else kinds[0]
        return works[chosen], found[chosen].solution, found[chosen].C

    def _fitted(self, data: FoldData, say: Tick, stop: Stop, compared: bool) -> Within:
        found = self._chosen(FULL, data, self.C, checked_threads(self.n_threads), stop, say, compared)
        say("all views")  # where it was stopped meanwhile, this was no training to the end
        return found

    def _chosen(
        self,
        name: str,
        data: FoldData,
        C: float | None,
        n_threads: int | None,
        stop: Stop,
        say: Tick | None = None,
        compared: bool = False,
    ) -> Within:
        """A structure trained at a C that inner folds choose for it, or at this one; scored there where compared."""
        plan, seed = self.folds.plan, self.folds.random_state
        within = C is None or compared
        inner: dict[str, Any] = {
            "folds": inner_folds(data.y_train, data.groups, plan.inner, seed) if within else 2,
            "scoring": plan.scoring,
            "groups": data.groups,
            "random_state": seed,
        }
        settings = {"n_threads": n_threads, "stop": stop, **self.asked()}
        if self.by_evidence:
            spn, source = self._kernels_of(name, data)
            wide = np.logspace(-2, 3, plan.points).tolist() if C is None else [C]
            found = trained_by_evidence(spn, source, data.y_train, wide, inner, say, settings, scored=compared)
        else:
            tick = None if say is None else partial(say, "choosing C")
            given = None if C is None else [C]
            fitted = self.who.over_kernels[name].fit(
                data.kernels, data.y_train, given, points=plan.points, tick=tick, scored=compared, **inner, **settings
            )
            assert isinstance(fitted.model, Learned)
            found = Within.at(fitted.C, fitted.model.solution, fitted.grid, fitted.scores)
        _check_ended(found.solution, stop)
        return found

    def _kernels_of(self, name: str, data: FoldData) -> tuple[SPN, KernelSource]:
        spn = self.who.over_kernels[name].candidates[0]
        return spn, checked_source(spn, of_leaves(spn, data.kernels), len(data.y_train))

    def restricted_decisions(
        self, data: FoldData, full: Solution, C: float, say: Tick, stop: Stop
    ) -> dict[str, tuple[Floats, float]]:
        """Structure → its decision on the rows held out, and its C; so many at once as there are threads."""
        threads = checked_threads(self.n_threads)
        at_once = 1 if len(data.y_train) > LARGE else max(1, min(threads, len(self.others)))
        found: dict[str, tuple[Floats, float]] = {}
        running = side_by_side(
            _restricted,
            (self, data, full, C),
            self.others,
            at_once=at_once,
            n_threads=max(1, threads // at_once),
            stop=stop,
        )
        with closing(running) as scores:
            for name, value in scores:
                found[name] = value
                say(name)
        if len(found) < len(self.others):
            raise Stopped
        return found

    def restricted(
        self, name: str, data: FoldData, full: Solution, C: float, stop: Stop, n_threads: int | None
    ) -> tuple[Solution, float]:
        """What is left of the drawing, trained, and its C; where most of it is left, from the weights of the whole.

        What tells little needs a larger C before it has any weight, or at evidence weights any but one answer. Below
        that it would score as guessing, which says nothing of what it can tell: then C is chosen for it, unless the
        whole tells nothing either. Where all that has weight in the whole is left, the best weights are the same.
        """
        spn, source = self._kernels_of(name, data)
        beta = {v: full.beta[v] for v in spn.products}
        if weighed(spn, beta) == weighed(full.spn, full.beta):
            return replace(full, spn=spn, beta=beta), C
        settings = self.asked() | {"C": C, "n_threads": n_threads, "stop": stop}
        if settings.pop("weights", None) == "evidence":
            known = beta if any(beta.values()) else None
            solution = solve_by_evidence(spn, source, data.y_train, start=known, **settings)
        else:
            near = name in self.removals.without.values() and any(beta.values())
            start = replace(full, spn=spn, beta=beta) if near else None
            solution = solve(spn, source, data.y_train, start=start, warn=False, **settings)
        _check_ended(solution, stop)
        if self.tells(solution, data) or not self.tells(full, data):
            return solution, C
        found = self._chosen(name, data, None, n_threads, stop)
        return found.solution, found.C

    def tells(self, solution: Solution, data: FoldData) -> bool:
        """Whether anything was learned: a weight above zero or, as evidence leaves some, more than one answer."""
        if not self.by_evidence or not any(solution.beta.values()):
            return any(solution.beta.values())
        decision = solution.decision_function(of_leaves(solution.spn, data.kernels))
        return len(np.unique(answers(decision, solution.classes))) > 1

    @property
    def by_evidence(self) -> bool:
        return self.weights == "evidence"

    def decision(self, solution: Solution, data: FoldData) -> Floats:
        return solution.decision_function(of_leaves(solution.spn, data.cross))

    @property
    def options(self) -> dict[str, Any]:
        """The settings that are not those of a plain training."""
        return {**self.settings, **({} if self.weights == "certified" else {"weights": self.weights})}

    def asked(self) -> dict[str, Any]:
        """The settings of every training."""
        return {"tol": self.folds.plan.tol, **self.options}


def _measured(
    work: Measuring, item: tuple[int, tuple[int, int, Split]], place: Place
) -> Iterator[tuple[int, ViewFold]]:
    number, split = item
    started = time.perf_counter()
    data, tell = work.prepared(split, place.say)
    found = work.fold_scores(data, tell, place.stop)
    yield number, replace(found, repeat=split[0], fold=split[1], seconds=time.perf_counter() - started)


def _restricted(
    given: tuple[Measuring, FoldData, Solution, float], name: str, place: Place
) -> Iterator[tuple[str, tuple[Floats, float]]]:
    work, data, full, C = given
    if not place.stop():
        solution, own = work.restricted(name, data, full, C, place.stop, place.n_threads)
        yield name, (work.decision(solution, data), own)


def _right(y: NDArray, decision: Floats, classes: NDArray) -> tuple[float, ...]:
    """(classes,) how many of the rows of each are answered rightly."""
    return tuple(right_rows(y, answers(decision, classes), classes)[1].tolist())


def _tell(say: Tick, where: str, words: str) -> None:
    say(f"{where}, {words}")


def _check_ended(solution: Solution, stop: Stop) -> None:
    """A training that was stopped is none."""
    if solution.status in UNFINISHED and stop is not None and stop():
        raise Stopped


def given_C(C: object) -> float | None:
    """A number, or None for "cv"."""
    if isinstance(C, str):
        if C != "cv":
            raise ParameterError(f'C must be a number above 0 or "cv", but it is {C!r}.')
        return None
    return positive(C, "C")
