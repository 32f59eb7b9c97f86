"""Which branch made the labels? Certified weights, shares and evidence asked the same question, on fresh draws.

Three truths (a product of views, nested groups, a flat sum), each as a random function whose covariance is the
structure's kernel (`process`) and as a fixed formula (`formula`), with labels as they are or a tenth of them flipped in
the training rows. The drawing offers the branches of `experiment_known`; a way of reading it is right where every true
branch has more than any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from experiment_data import Floats
from experiment_known import KNOWN, TRUE, covariance
from experiment_store import Key, Task, key_of
from experiment_tables import markdown

from spnmkl import cross_validate_C, fit_evidence, solve
from spnmkl.circuit.heaviest import heaviest_paths
from spnmkl.evidence.machine import machines
from spnmkl.inspection import Carried, HeldOutShares, decision_parts
from spnmkl.kernels import fit_kernels
from spnmkl.problem import answers
from spnmkl.solution import Solution
from spnmkl.solvers import C_min

TEST_ROWS, MOST_ROWS = 200, 400
FIRST_SEED = 7000  # far from those that anything was tuned on
FLIPPED = 0.1
WAYS = {
    "certified weight": "certified_weight",
    "share, training rows": "training_share",
    "share, test rows": "test_share",
    "evidence share": "evidence_share",
    "Δ evidence": "delta",
}
Columns = Mapping[str, Floats]


def _product(x: Columns) -> Floats:
    return (np.sin(2 * x["u1"]) + x["u2"]) * (np.cos(2 * x["v1"]) + x["v2"])


def _nested(x: Columns) -> Floats:
    return sum(np.sin(2 * x[f"{g}1"]) * (np.cos(2 * x[f"{g}2"]) + x[f"{g}3"]) for g in "ab")


def _sum(x: Columns) -> Floats:
    return np.sin(2 * x["u1"]) + x["u2"] + np.cos(2 * x["v1"]) + np.abs(x["v2"])


FORMULAS: dict[str, Callable[[Columns], Floats]] = {"recovery": _product, "nested": _nested, "additive": _sum}
MADE = ("process", "formula")


@dataclass(frozen=True)
class Settings:
    folds: int
    points: int
    tol: float


@dataclass(frozen=True)
class Asked:
    """One draw: per way, what the true branches have of the whole, and whether each has more than any other.

    `delta` is the least Δ evidence of a true branch, `delta_other` the largest of another; accuracies are of the test
    rows, whose labels are never flipped.
    """

    truth: str
    made: str
    flipped: float
    n: int
    seed: int
    certified_weight: float
    certified_weight_right: bool
    training_share: float
    training_share_right: bool
    test_share: float
    test_share_right: bool
    evidence_share: float
    evidence_share_right: bool
    delta: float
    delta_right: bool
    delta_other: float
    certified_accuracy: float
    evidence_accuracy: float
    process_accuracy: float
    C: float
    seconds_certified: float
    seconds_evidence: float


KEY = 5


@dataclass(frozen=True)
class Evidence:
    settings: Settings
    seeds: int
    sizes: tuple[int, ...]

    def tasks(self) -> Iterator[Task]:
        """Draw after draw, so that what is there when it is interrupted is as much of everything."""
        for seed in range(self.seeds):
            for truth in KNOWN:
                for made in MADE:
                    for flipped in (0.0, FLIPPED):
                        keys = {key_of(truth, made, flipped, n, seed): n for n in self.sizes}
                        yield Task(tuple(keys), partial(self._rows, truth, made, flipped, seed, keys))

    def _rows(
        self, truth: str, made: str, flipped: float, seed: int, sizes: Mapping[Key, int], asked: Sequence[Key]
    ) -> Iterator[list[Asked]]:
        drawn = draw(truth, made, flipped, seed)
        for key in asked:
            yield [answered(truth, made, flipped, seed, sizes[key], drawn, self.settings)]


@dataclass(frozen=True)
class Drawn:
    X: Floats
    y: np.ndarray  # of the first MOST_ROWS some flipped
    columns: tuple[str, ...]


def draw(truth: str, made: str, flipped: float, seed: int) -> Drawn:
    """The first rows are for training, the last for the test; the same for all sizes."""
    known = KNOWN[truth]
    columns = tuple(name for names in known.groups.values() for name in names)
    rng = np.random.default_rng([FIRST_SEED + seed, list(KNOWN).index(truth), MADE.index(made)])
    n = MOST_ROWS + TEST_ROWS
    X = rng.uniform(-1.7, 1.7, size=(n, len(columns)))
    if made == "process":
        K = covariance(known.structures()[TRUE], X, list(columns))
        f = np.linalg.cholesky(K + 1e-8 * np.eye(n)) @ rng.normal(size=n)
    else:
        f = FORMULAS[truth]({name.partition("__")[2] or name: X[:, j] for j, name in enumerate(columns)})
    y = f > np.median(f)
    turned = rng.random(MOST_ROWS) < flipped
    y[:MOST_ROWS] ^= turned
    return Drawn(X, y, columns)


def answered(truth: str, made: str, flipped: float, seed: int, n: int, drawn: Drawn, s: Settings) -> Asked:
    known = KNOWN[truth]
    spn = known.structures()[known.question]
    branches = spn.children(spn.root)
    train, test = np.arange(n), np.arange(MOST_ROWS, MOST_ROWS + TEST_ROWS)
    whole, _ = fit_kernels(spn, drawn.X, list(drawn.columns))
    inside, across = ({leaf: K[np.ix_(rows, train)] for leaf, K in whole.items()} for rows in (train, test))
    y, y_test = drawn.y[train], drawn.y[test]

    started = time.perf_counter()
    grid = C_min(spn, inside, y, tol=1e-2, n_threads=1) * np.logspace(0.4, 1.6, s.points)
    C = cross_validate_C(spn, inside, y, grid.tolist(), folds=s.folds, tol=10 * s.tol, n_threads=1).best_C
    certified = solve(spn, inside, y, C=C, tol=s.tol, n_threads=1)
    middle = time.perf_counter()
    found = fit_evidence(spn, inside, y, n_threads=1)
    delta = {v: found.delta(v) for v in branches}
    ended = time.perf_counter()

    parts = HeldOutShares.of_parts([decision_parts(certified, across, y_test, inside)], "test rows")
    carried = Carried(certified, inside)
    values = {
        "certified_weight": weights(certified, branches),
        "training_share": {v: carried.through([v]) for v in branches},
        "test_share": {v: parts.nodes[v].share for v in branches},
        "evidence_share": {v: found.shares[v] for v in branches},
        "delta": delta,
    }
    true, others = branches[: known.n_true], branches[known.n_true :]
    told: dict[str, float | bool] = {}
    for way, of in values.items():
        told[way] = min(of[v] for v in true) if way == "delta" else sum(of[v] for v in true)
        told[f"{way}_right"] = bool(min(of[v] for v in true) > max(of[v] for v in others))
    machine = next(machines(found, inside, y, [1.0], tol=s.tol, n_threads=1))
    return Asked(
        truth=truth,
        made=made,
        flipped=flipped,
        n=n,
        seed=seed,
        **told,  # type: ignore[arg-type]
        delta_other=max(delta[v] for v in others),
        certified_accuracy=accuracy(certified, across, y_test),
        evidence_accuracy=accuracy(machine, across, y_test),
        process_accuracy=float((found.predict(across) == y_test).mean()),
        C=C,
        seconds_certified=middle - started,
        seconds_evidence=ended - middle,
    )


def weights(solution: Solution, branches: Sequence[str]) -> dict[str, float]:
    """Of every branch the part of Σg: its paths meet it, and no other."""
    paths = heaviest_paths(solution.spn, solution.beta, 100)
    return {v: float(sum(path.share for path in paths if v in path.exponents)) for v in branches}


def accuracy(solution: Solution, across: Mapping[str, Floats], y: np.ndarray) -> float:
    return float((answers(solution.decision_function(across), solution.classes) == y).mean())


def evidence_lines(table: pd.DataFrame, settings: str) -> list[str]:
    lines = [
        "",
        "## Which branch made the labels: certified weights, shares and evidence",
        "",
        "Draws in which every true branch has more than any other; in brackets what the true branches have of the "
        "whole, on average (of Δ evidence the least that one has). "
        f"{table['seed'].nunique()} draws, {TEST_ROWS} test rows; at evidence weights the SVM has C = 1, else C is "
        "chosen by cross-validation.",
        "",
        settings,
    ]
    for (made, flipped), part in table.groupby(["made", "flipped"], sort=False):
        noise = f", {100 * flipped:g} % of the training labels flipped" if flipped else ""
        lines += ["", f"### Labels by a {made}{noise}", ""]
        lines += markdown(_right(part), "truth, rows")
    lines += ["", "### Accuracy in % on test rows, mean ± standard error over draws", ""]
    return [*lines, *markdown(_accuracies(table), "truth, rows, labels")]


def _right(part: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for (truth, n), cell in part.groupby(["truth", "n"], sort=False):
        told = {}
        for title, way in WAYS.items():
            right, mean = f"{cell[f'{way}_right'].sum()} of {len(cell)}", cell[way].mean()
            told[title] = f"{right} ({mean:.1f})" if way == "delta" else f"{right} ({100 * mean:.0f} %)"
        told["largest Δ of another"] = f"{cell['delta_other'].max():.1f}"
        rows[f"{KNOWN[truth].title.lower()}, {n}"] = told
    return pd.DataFrame(rows).T


def _accuracies(table: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for (truth, n, made, flipped), cell in table.groupby(["truth", "n", "made", "flipped"], sort=False):
        name = f"{KNOWN[truth].title.lower()}, {n}, {made}{', flipped' if flipped else ''}"
        columns = {"certified": "certified", "SVM at evidence weights": "evidence", "Gaussian process": "process"}
        rows[name] = {title: _spread(100 * cell[f"{column}_accuracy"]) for title, column in columns.items()}
    return pd.DataFrame(rows).T


def _spread(values: pd.Series) -> str:
    return f"{values.mean():.1f}" + (f" ± {values.sem():.1f}" if len(values) > 1 else "")
