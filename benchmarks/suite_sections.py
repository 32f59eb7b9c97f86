"""The suite's other figures: small problems, several widths, several classes, cross-validation."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from suite_cases import Case
from suite_measure import Problem, Took, fit_svc, make_cold, posed, problem_of, timed, train
from suite_tables import MOST_ROWS, Table, load, table_of
from threadpoolctl import threadpool_limits

from spnmkl import Kernel, Solution, cross_validate_C, solve, templates
from spnmkl.selection import CrossValidation

CAP = 60.0
SMALL_ROWS, SMALL_COLUMNS = 200, 10
GRID = np.logspace(-1.5, 2.5, 12)
CROSS_VALIDATED = (
    *(("breast_cancer", "widths"), ("smooth", "columns"), ("heart", "columns")),
    *(("wine", "widths"), ("counts", "hamming"), ("digits:even", "widths")),
)


def rows_of(table: Table, n: int, seed: int = 0) -> Table:
    if n >= len(table.y):
        return table
    kept, _ = train_test_split(np.arange(len(table.y)), train_size=n, stratify=table.y, random_state=seed)
    return replace(table, X=table.X[kept], y=table.y[kept])


def synthetic(n: int, seed: int) -> Table:
    return table_of(*make_classification(n, 30, n_informative=10, flip_y=0.1, random_state=seed))


def warm_start(solution: Solution) -> Any:
    """What `start` takes: the solution itself where it does, else its weights."""
    takes_solution = "Solution" in str(inspect.signature(solve).parameters["start"].annotation)
    return solution if takes_solution else solution.beta


def heading(*titles: str) -> None:
    print("| " + " | ".join(titles) + " |\n|---|" + "---:|" * (len(titles) - 1), flush=True)


def small(repeats: int, clock: str) -> None:
    """Ten column kernels, n = 200, C = 3, tol 1e-3, one thread: cold with checks, and warm from C = 2.5."""
    heading("table", "one SVC, ms", "cold, ms", "warm, ms", "cold, units", "warm, units", "status")
    rows = []
    for name, table in _small_tables():
        columns = table.columns[:SMALL_COLUMNS]
        spn = templates.flat([Kernel("rbf", features=c, label=f"column {c[0]}") for c in columns])
        unit, cold, warm, status = _cold_and_warm(problem_of(spn, table), repeats, clock)
        rows.append([1e3 * unit, 1e3 * cold, 1e3 * warm, cold / unit, warm / unit])
        print(f"| {name} | {_cells(rows[-1])} | {status} |", flush=True)
    print(f"| **median of {len(rows)}** | {_cells(np.median(rows, axis=0))} | |")
    print(f"| **worst** | {_cells(np.max(rows, axis=0))} | |")


def _cells(figures: Iterable[float]) -> str:
    return " | ".join(f"{figure:.1f}" for figure in figures)


def _small_tables() -> Iterator[tuple[str, Table]]:
    for seed in range(3):
        yield f"synthetic, seed {seed}", synthetic(SMALL_ROWS, seed)
    for name in ("smooth", "counts", "mixed", "breast_cancer", "german", "ionosphere"):
        table = load(name)
        if table is None:
            continue
        for seed in range(2):
            yield f"{name}, seed {seed}", rows_of(table, SMALL_ROWS, seed)


def _cold_and_warm(problem: Problem, repeats: int, clock: str) -> tuple[float, float, float, str]:
    settings: dict[str, Any] = {"tol": 1e-3, "n_threads": 1}
    ends: list[Solution] = []
    units, colds, warms = [], [], []

    def once(**more: Any) -> float:
        return getattr(timed(lambda: ends.append(train(problem, 3.0, CAP, **settings, **more))), clock)

    with threadpool_limits(1):
        for _ in range(repeats):
            units += [getattr(timed(lambda: fit_svc(problem, 3.0)), clock) for _ in range(3)]
            make_cold(problem.kernels)
            colds.append(once())
            warms.append(once(start=warm_start(train(problem, 2.5, CAP, **settings))))
    return median(units), median(colds), median(warms), _statuses(ends)


def _statuses(ends: list[Solution]) -> str:
    return ", ".join(sorted({end.status for end in ends}))


def widths(repeats: int, clock: str) -> None:
    """Several widths, n = 1000 and 2000, C = 10, tol 1e-3, on one and two threads."""
    heading("table", "structure", "n", "unit, ms", "units, 1 thread", "units, 2 threads", "status")
    found: list[list[float]] = []
    for name, table in _wide_tables():
        for structure in ("flat", "grouped", "product of sums"):
            problem = posed(Case(name, "widths", structure, 1.0, 10.0), table)
            unit, units, status = _by_turns(problem, 10.0, (1, 2), repeats, clock)
            found.append(units)
            print(
                f"| {name} | {structure} | {len(table.y)} | {1e3 * unit:.0f} | {units[0]:.1f} | {units[1]:.1f} | "
                f"{status} |",
                flush=True,
            )
    mean, worst = np.exp(np.log(found).mean(axis=0)), np.max(found, axis=0)
    print(f"| **geometric mean of {len(found)}** | | | | {mean[0]:.1f} | {mean[1]:.1f} | |")
    print(f"| **worst** | | | | {worst[0]:.1f} | {worst[1]:.1f} | |")


def _wide_tables() -> Iterator[tuple[str, Table]]:
    for seed in range(3):
        for n in (1000, 2000):
            yield f"synthetic, seed {seed}", synthetic(n, seed)
    for name in ("digits:even", "german"):
        table = load(name, MOST_ROWS)
        if table is not None:
            yield name, table


def _by_turns(
    problem: Problem, C: float, threads: tuple[int, ...], repeats: int, clock: str
) -> tuple[float, list[float], str]:
    """The unit in seconds, the units of a training on so many threads each, and the statuses.

    The processor's clock adds up what two threads do, so these are always timed by the other.
    """
    units: list[Took] = []
    times: dict[int, list[Took]] = {t: [] for t in threads}
    ends: list[Solution] = []
    for _ in range(repeats):
        for t in threads:
            with threadpool_limits(1):
                units.append(timed(lambda: fit_svc(problem, C)))
            make_cold(problem.kernels)
            with threadpool_limits(t):
                times[t].append(timed(lambda t=t: ends.append(train(problem, C, CAP, tol=1e-3, n_threads=t))))

    def ratio(t: int) -> float:
        by = clock if t == 1 else "elapsed"
        return median(getattr(took, by) for took in times[t]) / median(getattr(took, by) for took in units)

    return median(getattr(took, clock) for took in units), [ratio(t) for t in threads], _statuses(ends)


def classes(repeats: int, clock: str) -> None:
    """Several classes, one thread: digits (10) at C = 10 with several widths; 27 classes at C = 5 on columns."""
    heading("table", "kernels", "structure", "n", "classes", "C", "unit, ms", "units", "status")
    for name, family, C in (("digits", "widths", 10.0), ("classes27", "columns", 5.0), ("classes27", "widths", 5.0)):
        table = load(name, MOST_ROWS)
        assert table is not None
        for structure in ("flat", "grouped", "product of sums"):
            problem = posed(Case(name, family, structure, 1.0, C), table)
            unit, units, status = _by_turns(problem, C, (1,), max(1, repeats // 2), clock)
            print(
                f"| {name} | {family} | {structure} | {len(table.y)} | {len(np.unique(table.y))} | {C:g} | "
                f"{1e3 * unit:.0f} | {units[0]:.1f} | {status} |",
                flush=True,
            )


def cv(repeats: int, clock: str) -> None:
    """cross_validate_C over 12 values and 5 folds, in trainings on all rows at the chosen C, on two cores.

    Two cores at work have no common processor time, so that elapsed time counts whatever is asked for. Stopped at a
    limit, a choice is marked by ≥.
    """
    heading("table", "kernels", "n", "chosen C", "one training, s", "cross-validation, s", "trainings")
    ratios = []
    for name, family in CROSS_VALIDATED:
        table = load(name, 400)
        if table is None:
            continue
        problem = posed(Case(name, family, "flat", 1.0, 1.0), table)
        found, once, whole = _cross_validated(problem, max(1, repeats // 2))
        ratios.append(whole / once)
        bound = "≥ " if np.isnan(found.scores).any() else ""
        print(
            f"| {name} | {family} | {len(table.y)} | {found.best_C:.3g} | {once:.2f} | {bound}{whole:.2f} | "
            f"{bound}{whole / once:.1f} |",
            flush=True,
        )
    print(f"| **median of {len(ratios)}**, worst | | | | | | {median(ratios):.1f}, {max(ratios):.1f} |")


def _cross_validated(problem: Problem, repeats: int) -> tuple[CrossValidation, float, float]:
    """What was found, the seconds of one training at the chosen C, and those of the choice."""
    found: list[CrossValidation] = []
    once, whole = [], []

    def choose() -> None:
        limit = Deadline(time.monotonic() + CAP)
        args = (problem.spn, problem.kernels, problem.y, GRID)
        found.append(cross_validate_C(*args, folds=5, n_threads=2, stop=limit))

    for _ in range(repeats):
        make_cold(problem.kernels)
        whole.append(timed(choose).elapsed)
        for _ in range(3):  # short, and what the choice is divided by
            make_cold(problem.kernels)
            once.append(timed(lambda: train(problem, found[-1].best_C, CAP, tol=1e-3, n_threads=2)).elapsed)
    return found[-1], median(once), median(whole)


@dataclass(frozen=True)
class Deadline:
    """Whether it has passed; unlike a closure it can be sent to another process."""

    moment: float

    def __call__(self) -> bool:
        return time.monotonic() >= self.moment


SECTIONS: dict[str, Callable[[int, str], None]] = {"small": small, "widths": widths, "classes": classes, "cv": cv}
