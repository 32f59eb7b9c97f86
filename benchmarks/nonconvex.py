"""How good the point found with p < 1 is: `python benchmarks/nonconvex.py [--starts 30] [--tol 1e-4] [--out FILE]`.

100 small problems whose objective is not convex: five families of structure × five choices of p × four data sets of 30
to 80 rows. Each is solved by `solve` and by the same descent from random weights, log-normal around those at which the
SVM fits, some of them nearly zero. Even seeds were looked at when the search was made, odd ones were not. One thread;
times are the processor's.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import spnmkl
from spnmkl import SPN, solve
from spnmkl.problem import Problem, build_problem
from spnmkl.solvers.start import fitting_weights

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from cases import FIGURE_1, drawn, flat
from random_structures import random_kernels, random_structure

Floats = NDArray[np.float64]
FAMILIES = ("flat", "grouped", "product of sums", "figure 1", "random")
POWERS = (0.3, 0.5, 0.7, "mixed", "sparse")
MIXED = (0.4, 0.7, 1.0, 1.5)
AS_GOOD = 1e-4  # relative
LONGEST, LONGEST_START = 20.0, 2.0  # seconds, after which the best so far counts
CONVERGED = ("stationary", "optimal")


@dataclass(frozen=True)
class Posed:
    """What `solve` takes."""

    spn: SPN
    kernels: dict[str, Floats]
    y: NDArray[np.int64]
    C: float
    p: Any

    @property
    def problem(self) -> Problem:
        return build_problem(self.spn, self.kernels, self.y, C=self.C, p=self.p, n_threads=1)[0]

    def solve(self, tol: float, start: dict[str, float] | None = None) -> spnmkl.Solution:
        end = time.perf_counter() + (LONGEST if start is None else LONGEST_START)
        options: dict[str, Any] = {"C": self.C, "p": self.p, "tol": tol, "start": start, "n_threads": 1, "warn": False}
        return solve(self.spn, self.kernels, self.y, stop=lambda: time.perf_counter() > end, **options)


@dataclass(frozen=True)
class Outcome:
    seed: int
    family: str
    p: str
    n: int
    C: float
    status: str
    objective: float
    best_start: float
    better_starts: float  # share of the random starts that end below
    converged_starts: float
    evaluations: int
    evaluations_per_start: float
    seconds: float
    seconds_per_start: float

    @property
    def excess(self) -> float:
        """How much worse than the best random start, relative; below 0 where better."""
        return self.objective / self.best_start - 1


def posed(seed: int) -> Posed:
    """One of the problems; drawn again until it is not convex."""
    rng = np.random.default_rng(seed)
    family, p = kind_of(seed)
    while True:
        spn = SPN.from_dict(structure(family, rng))
        n = int(rng.integers(30, 81))
        X, y = data(n, rng)
        case = Posed(spn, kernels(spn, X, rng), y, float(10 ** rng.uniform(-1, 2)), exponents(spn, p, rng))
        if not case.problem.bounded:
            return case


def kind_of(seed: int) -> tuple[str, Any]:
    """Every family with every p, for even and for odd seeds; one flat sum is convex with "sparse", so it has 0.9."""
    family, p = FAMILIES[seed // 2 % 5], POWERS[seed // 10 % 5]
    return family, 0.9 if (family, p) == ("flat", "sparse") else p


def structure(family: str, rng: Generator) -> dict[str, Any]:
    if family == "flat":
        return flat(int(rng.integers(6, 17)))
    if family == "figure 1":
        return FIGURE_1
    if family == "random":
        return random_structure(rng, shared=float(rng.choice([0.0, 0.3, 0.6])), min_paths=4, max_paths=60)
    sizes = rng.integers(2, 5, rng.integers(2, 5)).tolist()
    sums = {f"S{d}": [f"P{d}.{k}" for k in range(size)] for d, size in enumerate(sizes)}
    parts = [f"{name}>{' '.join(products)}" for name, products in sums.items()]
    parts += [f"{v}>K{v[1:]}" for products in sums.values() for v in products]
    if family == "grouped":
        parts = ["S>" + " ".join(f"P{name}" for name in sums), *(f"P{name}>{name}" for name in sums), *parts]
    else:
        parts = [f"P>{' '.join(sums)}", *parts]
    return drawn(", ".join(parts))


def data(n: int, rng: Generator) -> tuple[Floats, NDArray[np.int64]]:
    """Six columns, the last two of few values; two or three classes of a smooth score of some, with noise."""
    X = rng.normal(size=(n, 6))
    X[:, 4:] = rng.integers(0, 4, (n, 2))
    i, j, k = rng.choice(6, 3, replace=False)
    score = [
        np.sin(2 * X[:, i]) * np.cos(1.5 * X[:, j]),
        X[:, i] * X[:, j] + 0.3 * X[:, k],
        X[:, i] + 0.5 * X[:, j] ** 2,
        np.where(X[:, i] > X[:, j], 1.0, -1.0) * X[:, k],
        rng.normal(size=n),
    ][rng.integers(5)]
    score = score / (score.std() or 1.0) + rng.choice([0.1, 0.5, 1.0]) * rng.normal(size=n)
    cuts = np.quantile(score, [0.5] if rng.random() < 0.65 else [0.35, 0.7])
    return X, np.searchsorted(cuts, score)


def kernels(spn: SPN, X: Floats, rng: Generator) -> dict[str, Floats]:
    """Of the columns; every third time of unrelated random points, among which many choices are about as good."""
    if rng.random() < 1 / 3:
        return random_kernels(rng, spn.to_dict(), len(X))
    return {leaf: kernel(X, rng) for leaf in spn.kernels}


def kernel(X: Floats, rng: Generator) -> Floats:
    """rbf of a column or of all, linear, or the share of equal values in the columns of few values."""
    kind = rng.choice(["column", "all", "linear", "discrete"], p=[0.6, 0.1, 0.15, 0.15])
    if kind == "discrete":
        return (X[:, None, 4:] == X[None, :, 4:]).mean(axis=2)
    Z = X / X.std(axis=0)
    if kind == "linear":
        Z = Z[:, rng.choice(6, 2, replace=False)]
        return Z @ Z.T / np.mean((Z * Z).sum(axis=1))
    Z = Z[:, [rng.integers(6)]] if kind == "column" else Z / np.sqrt(6)
    return np.exp(-(10 ** rng.uniform(-1, 0.7)) * ((Z[:, None] - Z[None]) ** 2).sum(axis=2))


def exponents(spn: SPN, p: Any, rng: Generator) -> Any:
    return {v: float(rng.choice(MIXED)) for v in spn.products} if p == "mixed" else p


def random_start(problem: Problem, rng: Generator) -> dict[str, float]:
    """At about the Σ_m g_m of weights at which the SVM fits: smaller, most would fall to β = 0."""
    fitting = fitting_weights(problem, float(rng.choice([0.2, 0.5, 0.8])))
    spread, small = rng.choice([0.5, 1.5, 3.0]), rng.random(len(fitting)) < rng.uniform(0, 0.7)
    beta = fitting * np.exp(rng.normal(0, spread, len(fitting))) * np.where(small, 1e-4, 1.0)
    total = problem.circuit.path_weight_total
    return problem.beta_dict(beta * total(fitting) / total(beta) * np.exp(rng.normal(0, 1.0)))


def measured(seed: int, starts: int, tol: float) -> Outcome:
    case = posed(seed)
    family, p = kind_of(seed)
    problem, rng = case.problem, np.random.default_rng([seed, 1])
    begun = time.process_time()
    found = case.solve(tol)
    seconds, begun = time.process_time() - begun, time.process_time()
    others = [case.solve(tol, random_start(problem, rng)) for _ in range(starts)]
    spent = time.process_time() - begun
    values = np.array([other.objective for other in others])
    return Outcome(
        seed,
        family,
        str(p),
        problem.n,
        case.C,
        found.status,
        found.objective,
        float(values.min()),
        float((values < found.objective * (1 - AS_GOOD)).mean()),
        float(np.mean([other.status in CONVERGED for other in others])),
        found.history[-1].evaluations,
        float(np.mean([other.history[-1].evaluations for other in others])),
        seconds,
        spent / starts,
    )


def summary(name: str, outcomes: Sequence[Outcome]) -> str:
    excess = np.array([outcome.excess for outcome in outcomes])
    return (
        f"| {name} | {len(outcomes)} | {(excess <= AS_GOOD).mean():.0%} | {(excess < -AS_GOOD).mean():.0%} | "
        f"{excess.max():.1e} | {np.mean([o.status in CONVERGED for o in outcomes]):.0%} | "
        f"{np.mean([o.converged_starts for o in outcomes]):.0%} | {np.mean([o.evaluations for o in outcomes]):.0f} | "
        f"{np.mean([o.evaluations_per_start for o in outcomes]):.0f} | "
        f"{1e3 * np.mean([o.seconds for o in outcomes]):.0f} | "
        f"{1e3 * np.mean([o.seconds_per_start for o in outcomes]):.0f} |"
    )


HEAD = (
    "| problems | number | as good as the best start | better | worst excess | converged | starts converged | "
    "evaluations | per start | ms | per start |\n|---|" + 10 * "---:|"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 100), metavar=("FIRST", "END"))
    parser.add_argument("--starts", type=int, default=30)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--only", choices=("even", "odd"))
    parser.add_argument("--out", type=Path, help="a file for the outcomes, one JSON object a line")
    options = parser.parse_args()
    print(f"spnmkl {spnmkl.__version__}, {options.starts} starts, tol {options.tol:g}\n")
    outcomes = []
    with threadpool_limits(1):
        posed(0).solve(options.tol)  # compile, or load from cache
        for seed in range(*options.seeds):
            if options.only and seed % 2 != (options.only == "odd"):
                continue
            outcomes.append(outcome := measured(seed, options.starts, options.tol))
            if outcome.excess > AS_GOOD or outcome.status not in CONVERGED:
                print(
                    f"seed {seed}: {outcome.family}, p {outcome.p}, C {outcome.C:.3g}, {outcome.status}, "
                    f"{outcome.excess:+.1e}, {outcome.better_starts:.0%} of the starts better",
                    flush=True,
                )
    if options.out:
        options.out.write_text("".join(json.dumps(asdict(outcome)) + "\n" for outcome in outcomes))
    print("\n" + HEAD)
    groups = {"all": outcomes}
    groups |= {name: [o for o in outcomes if o.seed % 2 == odd] for odd, name in enumerate(("even", "odd"))}
    for key in ("family", "p"):
        groups |= {value: [o for o in outcomes if getattr(o, key) == value] for value in unique(outcomes, key)}
    for name, chosen in groups.items():
        if chosen:
            print(summary(name, chosen))


def unique(outcomes: Sequence[Outcome], key: str) -> list[str]:
    return list(dict.fromkeys(getattr(outcome, key) for outcome in outcomes))


if __name__ == "__main__":
    main()
