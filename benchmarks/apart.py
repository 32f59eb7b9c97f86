"""Why do learned sums lose on a set? `python benchmarks/apart.py --data FOLDER [--set vehicle] [--splits 5]`.

The kernels of `SPNMKLClassifier()` (rbf of five widths and a linear one, over all columns), and one thing changed at a
time: the exponent of certified weights, classes that share weights or have their own, the narrow widths left out,
evidence weights, equal ones, and the kernels alone. C is chosen by 5 folds within the training rows of each split (the
splits of default.py). Every line of docs/experiments/full/apart.csv has the accuracy on the test rows at that C, the
best that any C of the grid has there (which nobody could choose), and how the weights spread over widths, at the C
chosen. The table is printed from these lines; a run goes on where it ended.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from default import CHOICE
from experiment_data import Data, Floats, Split, named_sets, split_of
from experiment_report import as_command, note_run
from experiment_store import Key, Store, Task, fill, key_of, read
from experiment_tables import markdown

from spnmkl import SPN, cross_validate_C, fit_evidence, regularization_path
from spnmkl.evidence.machine import machines as at_evidence
from spnmkl.fixed_weights import equal, machines, validated
from spnmkl.given import default_structure
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.problem import answers
from spnmkl.rivals import EVIDENCE_GRID, GRID
from spnmkl.structure.defaults import each_alone

FILE = Path(__file__).parents[1] / "docs" / "experiments" / "full" / "apart.csv"
NARROW, MIDDLE = ("rbf 4", "rbf"), ("rbf 1/4",)  # the others are wide
OWN, LEFT_OUT = "certified, each class its own weights", "certified, without the narrow widths"
AVERAGE = "equal weights"
CERTIFIED = {"certified": 1.0, "certified, p = 4/3": 4 / 3, "certified, p = 2": 2.0}
EVIDENCE, ALONE = "evidence", "alone: "
FOLDS, TOL = 5, 1e-2
Matrices = dict[str, Floats]


@dataclass(frozen=True)
class Cell:
    set: str
    split: int
    way: str
    C: float
    accuracy: float
    best: float
    narrow: float
    middle: float
    wide: float


@dataclass(frozen=True)
class Course:
    """What a way comes to at every C: answers of the test rows, scores on the folds, and weights by label."""

    grid: Floats
    scores: Floats
    decisions: Sequence[Floats]
    weights: Sequence[dict[str, float]]


@dataclass(frozen=True)
class Case:
    """The kernels of one split, by the label of each."""

    spn: SPN
    inside: Matrices
    across: Matrices
    split: Split

    @classmethod
    def of(cls, split: Split) -> Case:
        spn = default_structure(split.X)
        inside, fitted = fit_kernels(spn, split.X)
        return cls(spn, inside, cross_kernels(fitted, split.X_test), split)

    def certified(self, p: float, y: np.ndarray | None = None, without: Sequence[str] = ()) -> Course:
        spn, y = kept(self.spn, without).with_p(p), self.split.y if y is None else y
        inside, across = ({leaf: K[leaf] for leaf in spn.kernels} for K in (self.inside, self.across))
        found = cross_validate_C(spn, inside, y, folds=FOLDS, tol=TOL, n_threads=1)
        path = regularization_path(spn, inside, y, found.C.tolist(), tol=TOL, n_threads=1).solutions
        weights = [{spn.label(spn.children(v)[0]): b for v, b in one.beta.items()} for one in path]
        return Course(found.C, found.scores, [one.decision_function(across, 1) for one in path], weights)

    def evidence(self) -> Course:
        y = self.split.y
        scores = cross_validate_C(
            self.spn, self.inside, y, EVIDENCE_GRID.tolist(), folds=FOLDS, tol=TOL, weights="evidence", n_threads=1
        ).scores
        found = fit_evidence(self.spn, self.inside, y, n_threads=1)
        weights = {self.spn.label(self.spn.children(v)[0]): b for v, b in found.beta.items()}
        path = list(at_evidence(found, self.inside, y, EVIDENCE_GRID, n_threads=1))
        decisions = [one.decision_function(self.across, 1) for one in path]
        return Course(EVIDENCE_GRID, scores, decisions, [weights] * len(path))

    def fixed(self, leaves: Sequence[str]) -> Course:
        inside, across = ({leaf: K[leaf] for leaf in leaves} for K in (self.inside, self.across))
        y = self.split.y
        scores = validated(inside, y, equal, GRID, TOL, lambda: None, folds=FOLDS, random_state=0)
        decisions = [one.decision_function(across) for one in machines(inside, y, equal, GRID, TOL)]
        return Course(GRID, scores, decisions, [dict.fromkeys(map(self.spn.label, leaves), 1.0)] * len(GRID))


def kept(spn: SPN, without: Sequence[str]) -> SPN:
    """The drawing without the kernels of some labels, with the ids it has."""
    gone = {leaf for leaf in spn.kernels if spn.label(leaf) in without}
    gone |= {spn.parents(leaf)[0] for leaf in gone}
    stored = spn.to_dict()
    nodes = [node for node in stored["nodes"] if node["id"] not in gone]
    return SPN.from_dict(
        {**stored, "nodes": nodes, "edges": [edge for edge in stored["edges"] if not gone & {*edge[:2]}]}
    )


def ways(case: Case) -> dict[str, partial[Course]]:
    found = {name: partial(case.certified, p) for name, p in CERTIFIED.items()}
    found |= {LEFT_OUT: partial(case.certified, 1.0, None, NARROW), EVIDENCE: partial(case.evidence)}
    found[AVERAGE] = partial(case.fixed, list(case.spn.kernels))
    alone = {label: list(one.kernels) for label, one in each_alone(case.spn).items()}
    return found | {f"{ALONE}{label}": partial(case.fixed, leaves) for label, leaves in alone.items()}


def cell(name: str, k: int, way: str, case: Case) -> Cell:
    return own_weights(name, k, case) if way == OWN else told(name, k, way, ways(case)[way](), case.split)


def told(name: str, k: int, way: str, path: Course, split: Split) -> Cell:
    classes = np.unique(split.y)
    right = [float((answers(F, classes) == split.y_test).mean()) for F in path.decisions]
    at = int(path.scores.mean(axis=1).argmax())
    return Cell(name, k, way, float(path.grid[at]), right[at], max(right), *shares(path.weights[at]))


def own_weights(name: str, k: int, case: Case) -> Cell:
    """One machine for each class against the rest, each with the weights and the C that are best for it."""
    split, decisions, weights = case.split, [], []
    classes = np.unique(split.y)
    for one in classes:
        path = case.certified(1.0, split.y == one)
        at = int(path.scores.mean(axis=1).argmax())
        decisions.append(path.decisions[at])
        weights.append(shares(path.weights[at]))
    right = float((answers(np.array(decisions).T, classes) == split.y_test).mean())
    return Cell(name, k, OWN, float("nan"), right, float("nan"), *np.mean(weights, axis=0))


def shares(weights: dict[str, float]) -> tuple[float, float, float]:
    """Of the weights on narrow, middle and wide kernels; all have variance 1 over the training rows."""
    total = sum(weights.values()) or 1.0
    narrow, middle = (sum(weights.get(label, 0.0) for label in labels) / total for labels in (NARROW, MIDDLE))
    return narrow, middle, 1 - narrow - middle


def tasks(name: str, data: Data, splits: int) -> Iterator[Task]:
    names = [*ways(Case.of(split_of(data, 0, CHOICE))), OWN]
    for k in range(splits):
        keys = {key_of(name, k, way): way for way in names}

        def compute(asked: Sequence[Key], k: int = k, keys: dict[Key, str] = keys) -> Iterator[list[Cell]]:
            case = Case.of(split_of(data, k, CHOICE))
            for key in asked:
                yield [cell(name, k, keys[key], case)]

        yield Task(tuple(keys), compute)


def report(table: pd.DataFrame) -> list[str]:
    rows = {
        (name, way): {
            "splits": len(cells),
            "accuracy": f"{100 * cells['accuracy'].mean():.1f} ± {100 * cells['accuracy'].sem():.1f}",
            "best at any C": "" if cells["best"].isna().all() else f"{100 * cells['best'].mean():.1f}",
            "C, median": "" if cells["C"].isna().all() else f"{cells['C'].median():.2g}",
            **{part: f"{100 * cells[part].mean():.0f} %" for part in ("narrow", "middle", "wide")},
        }
        for (name, way), cells in table.groupby(["set", "way"], sort=False)
    }
    frame = pd.DataFrame(rows).T
    frame.index = pd.Index([f"{name}, {way}" for name, way in rows])
    return markdown(frame, "set, weights")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with more sets")
    parser.add_argument("--set", default="vehicle")
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    if not options.report_only:
        note_run(options.out.parent, as_command(Path(__file__).name, sys.argv[1:], options.data))
        data = named_sets(options.data, [options.set])[options.set]()
        fill(Store(options.out, Cell, 3), tasks(options.set, data, options.splits))
    print("\n".join(report(read(options.out))))


if __name__ == "__main__":
    main()
