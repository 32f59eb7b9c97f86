"""Runs beside each other: what they were asked to do, what they learned and how good it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from spnmkl.data import Dataset, Preparation
from spnmkl.errors import SPNMKLError
from spnmkl.inspection import Share
from spnmkl.landmarks import stratified
from spnmkl.measures import SCORINGS
from spnmkl.reporting.endings import SOLVER_NAMES
from spnmkl.reporting.explain import children_text
from spnmkl.reporting.sentences import BY_EVIDENCE
from spnmkl.structure import SPN
from spnmkl.structure.layout import unplaced
from spnmkl.structure.text import node_text, one_line
from spnmkl.training.prepared import labelled_parts, prepare
from spnmkl.training.run import Run
from spnmkl.training.scores import Measured, mean_auc, range_text
from spnmkl.wording import counted, listed

ENDINGS = {
    "optimal": "certified optimal",
    "stationary": "stationary, not certified",
    "iteration_limit": "at the limit of iterations",
    "time_limit": "at the limit of time",
    "precision": "at the limit of precision",
    "memory": "at the limit of memory",
    "stalled": "no further progress",
    "interrupted": "stopped",
    "evidence": BY_EVIDENCE,
}


def runs_table(runs: Sequence[Run]) -> pd.DataFrame:
    """One row per run, with what one compares at first."""
    return pd.DataFrame(
        {
            "run": [run.name for run in runs],
            "data": [run.dataset_name for run in runs],
            "structure": [structure_text(run.spn) for run in runs],
            "C": [run.settings.C for run in runs],
            "p": [powers_text(run) for run in runs],
            "solver": [SOLVER_NAMES.get(run.solution.solver, run.solution.solver) for run in runs],
            "ended": [ending_text(run) for run in runs],
            "gap": [run.solution.gap if np.isfinite(run.solution.gap) else None for run in runs],
            "training": [_named(run.train_scores.measured(run.settings.scoring)) for run in runs],
            "test": [_named(run.test_scores.measured(run.settings.scoring)) for run in runs],
            "over folds": [over_folds_text(run) for run in runs],
            "pruned": [f"{_n_zero(run)} of {len(run.solution.beta):,}" for run in runs],
            "seconds": [run.seconds for run in runs],
        }
    )


def over_folds_text(run: Run) -> str:
    """84.2 % (78.1–90.3 %); with its name where it is no accuracy, and empty where there is none."""
    if run.measured is None:
        return ""
    found = run.measured.measured()
    interval = range_text(found.interval, found.percent)
    return _named(found) + (f" ({interval})" if interval else "")


def _named(found: Measured) -> str:
    """84.2 %; with its name where it is no accuracy."""
    return found.text if found.title == SCORINGS["accuracy"].title else f"{found.title} {found.text}"


def ending_text(run: Run) -> str:
    """How it ended, in two or three words."""
    if run.solution.status == "optimal" and not any(run.solution.beta.values()):
        return "certified, all weights zero"
    ended = ENDINGS.get(run.solution.status, run.solution.status)
    if run.solution.by_evidence and run.solution.status != "evidence":
        ended = f"{BY_EVIDENCE}, {ended}"
    return ended if run.approximated is None else f"{ended}, on a sample"


def structure_text(spn: SPN) -> str:
    return f"{counted(len(spn.kernels), 'kernel')}, {counted(len(spn.products), 'weight')}"


def powers_text(run: Run) -> str:
    """The p that was used, from the smallest to the largest where they differ."""
    low, high = min(run.solution.p.values()), max(run.solution.p.values())
    return f"{low:g}" if low == high else f"{low:.3g}–{high:.3g}"


def _n_zero(run: Run) -> int:
    return sum(weight <= 0 for weight in run.solution.beta.values())


def settings_table(runs: Sequence[Run], everything: bool = False) -> pd.DataFrame:
    """What the runs were asked to do, one column each: the rows in which they differ, or all."""
    described = [_described(run, letter) for run, letter in zip(runs, _letters(runs), strict=True)]
    table = pd.DataFrame(
        {run.name: list(values.values()) for run, values in zip(runs, described, strict=True)}, list(described[0])
    )
    return table if everything else table[table.nunique(axis=1) > 1]


def _letters(runs: Sequence[Run]) -> list[str]:
    """The same letter for drawings that differ in places alone."""
    distinct: dict[SPN, str] = {}
    return [distinct.setdefault(unplaced(run.spn), _letter(len(distinct))) for run in runs]


def _letter(k: int) -> str:
    return chr(ord("A") + k) if k < 26 else f"#{k + 1}"


def _described(run: Run, letter: str) -> dict[str, str]:
    settings, choices = run.settings, run.choices
    return {
        "data": run.dataset_name,
        "label": run.label,
        "columns used": f"{len(run.used.names):,}",
        "numbers": numbers_text(run),
        "missing values": choices.missing,
        "rows without a view": choices.absent,
        "adjusted for": listed(run.preparation.adjustment.names, 6) or "nothing",
        "categories": choices.categorical,
        "rows": f"{run.rows_text} to train, {run.n_test:,} to test",
        "test share": f"{100 * run.split.test_share:.3g} %",
        "seed of the split": str(run.split.seed),
        "structure": f"{letter}: {structure_text(run.spn)}",
        "C": f"{settings.C:.6g}",
        "λ": f"{settings.lam:g}",
        "p": ("as drawn: " if settings.p is None else "") + powers_text(run),
        "weights": settings.weights,
        "way": settings.way,
        "solver": SOLVER_NAMES.get(settings.solver, settings.solver),
        "tolerance": f"{settings.tol:g}",
        "most iterations": "the solver's own" if settings.max_iter is None else f"{settings.max_iter:,}",
        "most time": "any" if settings.max_time is None else f"{settings.max_time:g} s",
        "class weights": _class_weights(settings.class_weight),
        "score that counts": SCORINGS[settings.scoring].title,
    }


def numbers_text(run: Run) -> str:
    """What became of the numbers: one step for all, or one for each view."""
    steps = run.preparation.steps
    if len(set(steps.values())) <= 1:
        return next(iter(steps.values()), run.choices.numeric)
    return listed([f"{view or 'others'}: {step}" for view, step in steps.items()], 12)


def _class_weights(weights: Mapping[Any, float] | str | None) -> str:
    if weights is None:
        return "none"
    return weights if isinstance(weights, str) else listed([f"{c}: {w:g}" for c, w in weights.items()], 10)


def weights_beside(runs: Sequence[Run]) -> pd.DataFrame:
    """The weights of all runs, one column each, heaviest first; missing where a run has no such weight.

    A weight is the same in two runs if its product has the same name and multiplies the same kernels directly.
    """
    rows: dict[object, dict[str, Any]] = {}
    columns = [f"β of {run.name}" for run in runs]
    for run, column in zip(runs, columns, strict=True):
        names = run.spn.names
        for v in run.spn.products:
            first = {"weight": names[v], "multiplies": children_text(run.spn, v)}
            rows.setdefault(_product(run.spn, v), first)[column] = run.solution.beta[v]
    order = sorted(rows.values(), key=lambda row: -max(row.get(column, 0.0) for column in columns))
    return pd.DataFrame(order, columns=["weight", "multiplies", *columns])


def shares_beside(runs: Sequence[Run]) -> pd.DataFrame:
    """The held-out shares of views, or of kernels where there are no views, with their errors; one column a run."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for run in runs:
        for kind, name, share in _shares(run):
            rows.setdefault((kind, name), {"of": name})[run.name] = str(share)
    return pd.DataFrame(list(rows.values()), columns=["of", *(run.name for run in runs)])


def _shares(run: Run) -> Iterator[tuple[str, str, Share]]:
    """Those of views where there are any, else of kernels; largest first."""
    if run.held_out is None or not run.held_out.known:
        return
    found = [("view", one_line(view), share) for view, share in run.held_out.views.items()]
    found = found or [("kernel", node_text(run.spn, v), run.held_out.nodes[v]) for v in run.spn.kernels]
    yield from sorted(found, key=lambda entry: -entry[2].share)


def _product(spn: SPN, v: str) -> object:
    return v, frozenset(spn.spec(child) for child in spn.children(v) if spn.kind(child) == "kernel")


def only_here(spn: SPN, others: Sequence[SPN]) -> frozenset[str]:
    """Nodes that some other drawing has not, or has otherwise; and both ends of an edge that it has not."""
    found: set[str] = set()
    for other in others:
        same = _counterparts(spn, other)
        found |= set(spn.nodes) - set(same)
        for v, there in same.items():
            beside = other.children(there)
            added = [child for child in spn.children(v) if child in same and same[child] not in beside]
            found |= {v, *added} if added else set()
    return frozenset(found)


def _counterparts(spn: SPN, other: SPN) -> dict[str, str]:
    """Node → the same one of another drawing: by its id, as the root, or else by all that stands below it."""
    numbers: dict[object, int] = {}
    here, there = _below(spn, numbers), _below(other, numbers)
    same = {v: v for v in spn.nodes if v in there and _meaning(spn, v) == _meaning(other, v)}
    if spn.root not in same and other.root not in same and _meaning(spn, spn.root) == _meaning(other, other.root):
        same[spn.root] = other.root
    taken, left = set(same.values()), dict[int, list[str]]()
    for v in reversed(other.nodes):
        if v not in taken:
            left.setdefault(there[v], []).append(v)
    for v in spn.nodes:
        if v not in same and left.get(here[v]):
            same[v] = left[here[v]].pop()
    return same


def _below(spn: SPN, numbers: dict[object, int]) -> dict[str, int]:
    """Node → a number that equal nodes over equal children share, in all drawings that are numbered together."""
    found: dict[str, int] = {}
    for v in reversed(spn.topological_order()):
        key = _meaning(spn, v), tuple(sorted(found[child] for child in spn.children(v)))
        found[v] = numbers.setdefault(key, len(numbers))
    return found


def _meaning(spn: SPN, v: str) -> tuple[object, ...]:
    kind, label = spn.kind(v), spn.label(v)
    what = spn.spec(v) if kind == "kernel" else spn.p(v) if kind == "product" else None
    return kind, None if label == v else label, what


def scores_table(runs: Sequence[Run]) -> pd.DataFrame:
    """Accuracy on the rows held out, with Wilson's 95 % interval, beside the majority class and the training rows."""
    tests = [run.test_scores for run in runs]
    intervals = [scores.interval for scores in tests]
    return pd.DataFrame(
        {
            "run": [run.name for run in runs],
            "test": [scores.accuracy for scores in tests],
            "95 % interval": [_interval(low, high) for low, high in intervals],
            "low": [low for low, _ in intervals],
            "high": [high for _, high in intervals],
            "majority": [scores.majority[1] for scores in tests],
            "rows": [scores.n for scores in tests],
            "AUC": [mean_auc(scores.auc) for scores in tests],
            "training": [run.train_scores.accuracy for run in runs],
            "over folds": [over_folds_text(run) for run in runs],
        }
    )


def _interval(low: float, high: float) -> str:
    return "not scored" if np.isnan(low) else f"{100 * low:.1f}–{100 * high:.1f} %"


def same_test(one: Run, other: Run) -> bool:
    """Whether both were tested on the same rows."""
    return (
        one.dataset_name == other.dataset_name
        and one.label == other.label
        and np.array_equal(one.test, other.test)
        and np.array_equal(one.test_scores.y, other.test_scores.y)
    )


def agreement(one: Run, other: Run) -> str:
    """Where the answers of two runs on the same test rows differ, in a sentence."""
    for run in (one, other):
        if not run.test_scores.scored:
            return f"The answers cannot be compared: {run.name} is not scored, since its training was stopped."
    a, b = one.test_scores.right, other.test_scores.right
    return (
        f"Of {counted(len(a), 'test row')}, both are right on {int((a & b).sum()):,} and both wrong on "
        f"{int((~a & ~b).sum()):,}; only {one.name} is right on {int((a & ~b).sum()):,}, only {other.name} on "
        f"{int((~a & b).sum()):,}."
    )


def was_trained_on(run: Run, dataset: Dataset) -> bool:
    """Whether these are the data of a run: the same split, labels, columns and matrices."""
    try:
        return dataset.label == run.label and _same_rows(run, dataset) and _same_matrices(run, dataset)
    except SPNMKLError:
        return False


def _same_rows(run: Run, dataset: Dataset) -> bool:
    if not len(dataset.labelled_table.frame):
        return False
    parts, labels = labelled_parts(dataset, run.split)
    train, y = parts.train, labels[parts.train]
    kept = np.ones(len(train), dtype=bool)
    if run.preparation.columns:
        kept = run.preparation.kept(dataset.frame)[train]
    own, labels = train[kept], y[kept]
    if run.settings.sampled_rows is not None:
        drawn = stratified(labels, run.settings.sampled_rows, np.random.default_rng(run.split.seed)).rows
        own, labels = own[drawn], labels[drawn]
    if not (np.array_equal(own, run.train) and np.array_equal(labels, run.solution.y)):
        return False
    if not run.preparation.columns:
        return True
    return _same_preparation(Preparation.of(dataset, run.choices, train), run.preparation)


def _same_preparation(one: Preparation, other: Preparation) -> bool:
    """Whether means, scales and categories are the same up to rounding: other values would give others."""
    learned = [(p.columns, p.adjustment) for p in (one, other)]  # files of earlier releases hold no views
    leaves = [list(_leaves([*map(asdict, columns), asdict(adjustment)])) for columns, adjustment in learned]
    numbers = [[x for x in values if isinstance(x, float)] for values in leaves]
    others = [[x for x in values if not isinstance(x, float)] for values in leaves]
    return others[0] == others[1] and np.allclose(numbers[0], numbers[1], rtol=1e-9)


def _leaves(value: object) -> Iterator[object]:
    """Every number and text in something nested; the length of each part, so that none can stand for another."""
    if not isinstance(value, dict | list | tuple):
        yield value
        return
    parts = list(value.items()) if isinstance(value, dict) else value
    yield len(parts)
    for part in parts:
        yield from _leaves(part)


def _same_matrices(run: Run, dataset: Dataset) -> bool:
    """Whether the given matrices bring back the objective, which is a function of them."""
    if all(run.spn.spec(leaf).kernel != "precomputed" for leaf in run.spn.kernels):
        return True
    prepared = prepare(run.spn, dataset, run.choices, run.split)
    found = run.solution.certify(prepared.source).objective
    return bool(np.isclose(found, run.solution.objective, rtol=1e-6))
