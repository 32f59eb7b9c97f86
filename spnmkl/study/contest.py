"""Methods against each other: trained and tested on the same folds, each with settings chosen on the training part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.baselines import ColumnMethod, Fitted, Learned, Method
from spnmkl.baselines.labels import named_kernel
from spnmkl.circuit.program import Floats
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.errors import DataError
from spnmkl.fixed_weights import Weighted
from spnmkl.inspection import decision_shares
from spnmkl.measures import (
    FEWEST,
    SCORINGS,
    believed_error,
    error_by_rows,
    error_of_difference,
    one_round,
    right_rows,
    spread,
)
from spnmkl.parallel import Place, side_by_side
from spnmkl.selection.folds import fold_splits
from spnmkl.structure import SPN, templates
from spnmkl.study.entrants import OWN, Entrants, titled
from spnmkl.study.fold_training import ADVICE, LOST, Plan, Tick, by_label, fitted, inner_folds, trained
from spnmkl.study.significance import holm, larger_p, smallest_of_rows, smallest_visible
from spnmkl.training.choose import most_folds
from spnmkl.training.prepared import Prepared, labelled_parts, prepare, rows_used
from spnmkl.training.scores import mean_auc, score
from spnmkl.wording import quoted

LEVEL = 0.05
_COUNTS = "rows", "right"  # by class
_UNSHOWN = (*_COUNTS, "difference_errors")  # for errors and tests, not for a table
MEASURES = tuple(SCORINGS)


@dataclass(frozen=True)
class Entry:
    """One method on one fold; `kernels` are the base kernels, or columns, that it could use, `active` those it does.

    `setting` is what a method over columns chose, in words; `rows` are the rows tested of each class, `right` those
    that are answered rightly. `difference_errors` are the standard errors, by how many rows are tested, of every
    measure less that of the first method, in the order of `MEASURES`.
    """

    method: str
    repeat: int
    fold: int
    n_train: int
    n_test: int
    accuracy: float
    roc_auc: float
    kernels: int
    active: int
    C: float
    seconds: float
    gap: float
    balanced_accuracy: float = math.nan
    setting: str = ""
    rows: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    difference_errors: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class Portrait:
    """A method trained on all rows, or on some: its weights, and each product's share on training rows."""

    method: str
    spn: SPN
    beta: Mapping[str, float]
    C: float
    seconds: float
    shares: Mapping[str, float]
    rows: int = 0


@dataclass(frozen=True, eq=False)
class Contest:
    """What came out so far.

    Attributes
    ----------
    methods : all that take part, in their order; first the reference, which others are tested against.
    results : entries and portraits, as they came.
    total : how many there will be.
    remarks : what to know about it, in sentences.
    drawn : name → structure, for the methods that are drawings.
    over_columns : the methods that have columns and no kernels, so that there is nothing to draw of them.
    """

    plan: Plan
    methods: tuple[str, ...]
    results: tuple[Entry | Portrait, ...]
    total: int
    dataset_name: str
    n_rows: int
    remarks: tuple[str, ...] = ()
    reference: str = OWN
    drawn: Mapping[str, SPN] = field(default_factory=dict)
    over_columns: tuple[str, ...] = ()

    @classmethod
    def of(cls, who: Entrants, plan: Plan, dataset: Dataset, choices: Choices, split: SplitSettings) -> Contest:
        """Before anything has come out."""
        n = len(training_rows(who.pool, dataset, choices, split)[0])
        given = plan, tuple(who.methods), (), planned(who, plan), dataset.name, n, who.remarks
        return cls(*given, drawn=who.drawn, over_columns=who.over_columns)

    @property
    def complete(self) -> bool:
        return len(self.results) >= self.total

    @cached_property
    def portraits(self) -> dict[str, Portrait]:
        return {r.method: r for r in self.results if isinstance(r, Portrait)}

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per method and fold."""
        entries = [asdict(r) for r in self.results if isinstance(r, Entry)]
        entries.sort(key=lambda entry: (entry["repeat"], entry["fold"]))  # done elsewhere, they came as they would
        return pd.DataFrame(entries, columns=[name for name in Entry.__dataclass_fields__ if name not in _UNSHOWN])

    @cached_property
    def shared(self) -> pd.DataFrame:
        """The rows of the folds on which all methods are done; before the first of them, all rows."""
        folds = self.table.groupby(["repeat", "fold"])["method"].transform("count") == len(self.methods)
        return self.table[folds] if folds.any() else self.table

    @property
    def n_shared(self) -> int:
        """Folds on which all methods are done."""
        return len(self.shared) // len(self.methods) if len(self.shared) >= len(self.methods) else 0

    @property
    def test_by_train(self) -> float:
        """Of folds of all rows: where a method learns from fewer of them, training parts overlap no more than these."""
        return 1 / (self.plan.folds - 1)

    def scores(self, measure: str = "accuracy") -> pd.DataFrame:
        """(folds, methods) on the folds that all have in common."""
        wide = self.shared.pivot(index=["repeat", "fold"], columns="method", values=measure)
        return wide.reindex(columns=[m for m in self.methods if m in wide.columns])

    def summary(self, measure: str = "accuracy") -> pd.DataFrame:
        """One row per method that has a result: mean over folds, its standard error, and the test against `reference`.

        The error allows for training parts that overlap, as the test does: s √(1/k + n_test/n_train) over k folds. It
        is that of the number of rows where this is larger, since folds may agree by chance; for the same reason p is
        the larger of the corrected resampled t-test's and that of the number of rows.

        Returns
        -------
        DataFrame
            method, measure, folds, mean, error, by_rows (whether this is that of the rows), difference (to the
            reference), p, adjusted (Holm), verdict ("better", "worse", "no difference shown", "too few folds", "cannot
            be told", or "reference"), and means of other columns of `table`.
        """
        scores = self.scores(measure)
        others = self.shared.groupby("method")[["kernels", "active", "seconds", "gap", *MEASURES]].mean()
        n = scores.notna().sum()
        table = pd.DataFrame(
            {
                "method": list(scores.columns),
                "measure": measure,
                "folds": n.to_numpy(),
                "mean": scores.mean().to_numpy(),
            }
        )
        table["error"], table["by_rows"] = self._errors(scores, measure)
        table["difference"], table["p"] = self._tested(scores, measure)
        table["adjusted"] = holm(table["p"].tolist())
        table["verdict"] = [self._verdict(row) for row in table.to_dict("records")]
        table[others.columns] = others.reindex(scores.columns).to_numpy()
        return table

    def visible(self, measure: str = "accuracy") -> list[tuple[float, float]]:
        """From which mean difference on a test could tell one, by the folds and by how many rows there are: the larger
        counts. Of every method whose differences from the reference vary over the folds."""
        scores = self.scores(measure)
        if self.reference not in scores or self.n_shared < FEWEST:
            return []
        differences = scores.sub(scores[self.reference], axis=0)
        tests = scores.shape[1] - 1
        return [
            (
                smallest_visible(spread(d), self.n_shared, self.test_by_train, tests, LEVEL),
                smallest_of_rows(self._error_by_rows(str(m), d, measure), tests, LEVEL),
            )
            for m, d in differences.items()
            if spread(d) > 0
        ]

    def seconds_left(self, elapsed: float) -> float:
        """By what each method took on the folds so far; nan until all have done one, for they differ a hundredfold.

        `elapsed` is the time since the beginning: what was not training, such as kernels, is to come in proportion. At
        last every method over kernels trains on all rows, which takes longer than on a fold as their square does.
        """
        if not self.n_shared:
            return math.nan
        mean = self.table.groupby("method")["seconds"].mean().reindex(list(self.methods))
        folds = self.plan.folds * self.plan.repeats - self.table["method"].value_counts().reindex(list(self.methods))
        larger = (1 + self.test_by_train) ** 2
        pictured = {*self.portraits, *self.over_columns}
        whole = larger * pd.Series({m: m not in pictured for m in self.methods})
        others = elapsed / sum(r.seconds for r in self.results)
        return float((mean * (folds + whole)).sum() * max(others, 1.0))

    def _errors(self, scores: pd.DataFrame, measure: str) -> tuple[list[float], list[bool]]:
        """Of every mean, and whether it is that of the number of rows; a row counts once in all rounds."""
        found = []
        for method, values in scores.items():
            known = values.dropna()
            own = [self._entries[(str(method), *at)] for at in known.index]
            once = one_round(known.index.get_level_values("repeat"))
            counts = (np.sum([getattr(entry, name) for entry in own], axis=0) * once for name in _COUNTS)
            found.append(believed_error(measure, known.tolist(), self.test_by_train, *map(np.atleast_1d, counts)))
        return [error for error, _ in found], [by_rows for _, by_rows in found]

    @cached_property
    def _entries(self) -> dict[tuple[str, int, int], Entry]:
        return {(r.method, r.repeat, r.fold): r for r in self.results if isinstance(r, Entry)}

    def _error_by_rows(self, method: str, differences: pd.Series, measure: str) -> float:
        """Of their mean; NaN in a comparison of an earlier version, which did not count."""
        folds, k = differences.dropna().index, MEASURES.index(measure)
        errors = [self._entries[(method, *at)].difference_errors or (math.nan,) * len(MEASURES) for at in folds]
        return error_by_rows([own[k] for own in errors], folds.get_level_values("repeat"))

    def _tested(self, scores: pd.DataFrame, measure: str) -> tuple[list[float], list[float]]:
        if self.reference not in scores:
            return [math.nan] * scores.shape[1], [math.nan] * scores.shape[1]
        differences = {m: scores[m] - scores[self.reference] for m in scores.columns}
        tests = [
            math.nan
            if m == self.reference
            else larger_p(d, self.test_by_train, self._error_by_rows(str(m), d, measure))
            for m, d in differences.items()
        ]
        return [float(d.mean()) for d in differences.values()], tests

    def _verdict(self, row: Mapping[str, object]) -> str:
        if row["method"] == self.reference:
            return "reference"
        adjusted, difference = float(row["adjusted"]), float(row["difference"])  # type: ignore[arg-type]
        if self.n_shared < FEWEST or math.isnan(adjusted):
            return "too few folds" if self.n_shared < FEWEST else "cannot be told"
        if adjusted > LEVEL:
            return "no difference shown"
        return "better" if difference > 0 else "worse"


def planned(entrants: Entrants, plan: Plan) -> int:
    """How many results there will be."""
    return len(entrants.methods) * plan.folds * plan.repeats + len(entrants.over_kernels)


def fitting_plan(plan: Plan, spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings) -> Plan:
    """The plan with as many folds as the smallest class, and the groups of its rows, allow."""
    _, y, groups = training_rows(spn, dataset, choices, split)
    # Two are left to choose C.
    return replace(plan, folds=most_folds(y, groups, plan.folds, 3, lost=LOST, advice=ADVICE))


def training_rows(
    spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings
) -> tuple[NDArray, NDArray, NDArray | None]:
    """The rows to train on by position in the frame, their classes, and which of them belong together."""
    parts, y = labelled_parts(dataset, split)
    train = parts.train[rows_used(spn, dataset, choices)[parts.train]]
    groups = None if dataset.group is None else pd.factorize(dataset.frame[dataset.group].iloc[train])[0]
    return train, y[train], groups


def outer_folds(
    spn: SPN, dataset: Dataset, choices: Choices, split: SplitSettings, plan: Plan
) -> Iterator[tuple[int, int, Split]]:
    """Repeat, fold, and rows by position in the frame: of the training rows alone, so that test rows stay unseen."""
    rows, y, groups = training_rows(spn, dataset, choices, split)
    for repeat in range(plan.repeats):
        for fold, (train, test) in enumerate(fold_splits(y, plan.folds, groups, split.seed + repeat)):
            lost = np.setdiff1d(y, y[train])
            if len(lost):
                raise DataError(
                    f"Fold {fold + 1} holds every row of class {quoted(lost[0])}, because whole groups are held out; "
                    "choose another group column, or none."
                )
            if groups is not None:
                order = train[np.argsort(rows[train])]  # as `prepare` has them; it fails here, before long trainings
                inner_folds(y[order], pd.factorize(groups[order])[0], plan.inner, split.seed)
            yield repeat, fold, Split(np.sort(rows[train]), np.sort(rows[test]))


def compete(
    entrants: Entrants,
    dataset: Dataset,
    choices: Choices,
    split: SplitSettings,
    plan: Plan,
    tick: Tick | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Entry | Portrait]:
    """Every method on every fold, fold by fold, and at last every method over kernels on all training rows.

    Where joblib's configuration sends folds elsewhere, they come as they are done.

    Columns are prepared and kernels computed anew from each training part, once for all methods.

    Parameters
    ----------
    plan : Plan
        With folds that fit the data; see `fitting_plan`.
    tick : callable, optional
        Called often with a word on what is done; it may raise to stop.
    stop : callable, optional
        Asked within trainings; once it is true, `tick` should raise.
    """
    parts: list[_Part] = [*outer_folds(entrants.pool, dataset, choices, split, plan), None]
    given = entrants, dataset, choices, split, plan
    with closing(side_by_side(_results, given, parts, stop=stop, say=tick)) as found:
        yield from found


_Part = tuple[int, int, Split] | None  # a fold, or all training rows


def _results(
    given: tuple[Entrants, Dataset, Choices, SplitSettings, Plan], part: _Part, place: Place
) -> Iterator[Entry | Portrait]:
    (entrants, dataset, choices, split, plan), say, stop, options = given, place.say, place.stop, given[0].options
    if part is None:
        everything = prepare(entrants.pool, dataset, choices, split, say, max_memory=math.inf)
        yield from portraits(entrants.over_kernels, everything, plan, entrants.drawn, say, stop, options=options)
        return
    repeat, fold, rows = part
    where = f"fold {fold + 1} of {plan.folds}"
    where += f", round {repeat + 1} of {plan.repeats}" if plan.repeats > 1 else ""
    say(where)
    who = entrants.on(rows, dataset, choices, split)
    prepared = prepare(who.pool, dataset, choices, split, say, rows, math.inf)
    yield from fold_entries(who.methods, prepared, plan, (repeat, fold), where, say, stop, options)


def fold_entries(
    methods: Mapping[str, Method | ColumnMethod],
    prepared: Prepared,
    plan: Plan,
    at: tuple[int, int],
    where: str,
    say: Tick,
    stop: Callable[[], bool] | None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[Entry]:
    """Every method on one fold; the answers of the first are those that others are tested against, row by row."""
    first: Floats | None = None
    for name, method in methods.items():
        found, seconds = trained(
            method, prepared, plan, f"{where}, {titled(name)}", say, stop, **(options or {}).get(name, {})
        )
        scores = score(prepared.y_test, found.decision, found.classes)
        rows, right = right_rows(prepared.y_test, scores.predicted, found.classes)
        first = found.decision if first is None else first
        both = prepared.y_test, found.decision, first, found.classes
        yield Entry(
            name,
            at[0] + 1,
            at[1] + 1,
            prepared.n,
            len(prepared.test),
            scores.accuracy,
            mean_auc(scores.auc),
            found.offered,
            found.used,
            found.C,
            seconds,
            found.gap,
            scores.measured("balanced_accuracy").value,
            found.setting,
            tuple(map(int, rows)),
            tuple(map(int, right)),
            tuple(error_of_difference(measure, *both) for measure in MEASURES),
        )


def portraits(
    methods: Mapping[str, Method],
    prepared: Prepared,
    plan: Plan,
    drawn: Mapping[str, SPN],
    say: Tick,
    stop: Callable[[], bool] | None = None,
    where: str = "all training rows",
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> Iterator[Portrait]:
    kernels = by_label(prepared.spn, prepared.kernels)
    for name, method in methods.items():
        asked = (options or {}).get(name, {})
        found, seconds, _ = fitted(method, prepared, plan, f"{where}, {titled(name)}", say, stop, **asked)
        spn, beta = drawn_weights(method, found)
        shares: Mapping[str, float] = {}
        if isinstance(found.model, Learned) and any(beta.values()):
            own = {leaf: kernels[spn.label(leaf)] for leaf in spn.kernels}
            shares = decision_shares(found.model.solution, own).products
        whole = drawn.get(name, spn)
        beta = {v: beta.get(v, 0.0) for v in whole.products}  # where one kernel alone was chosen, the others have none
        yield Portrait(name, whole, beta, found.C, seconds, shares, prepared.n)


def drawn_weights(method: Method, found: Fitted) -> tuple[SPN, dict[str, float]]:
    """A trained method as a drawing: where it chose one of several kernels, all of them with the others at zero."""
    if isinstance(found.model, Learned):
        return found.spn, dict(found.model.solution.beta)
    assert isinstance(found.model, Weighted)
    specs = {spn.label(leaf): spn.spec(leaf) for spn in method.candidates for leaf in spn.kernels}
    flat = templates.flat([named_kernel(spec, label) for label, spec in specs.items()])
    return flat, {v: found.model.weights.get(flat.label(flat.children(v)[0]), 0.0) for v in flat.products}
