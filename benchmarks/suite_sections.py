"""The suite's other figures: small problems, several widths, several classes, cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from suite_cases import Case
from suite_measure import Problem, fit_svc, make_cold, posed, problem_of, timed, train
from suite_tables import MOST_ROWS, Table, load, table_of
from threadpoolctl import threadpool_limits

from spnmkl import Kernel, Solution, cross_validate_C, solve, templates

CAP = 60.0
SMALL_ROWS, SMALL_COLUMNS = 200, 10


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


def small(repeats: int) -> None:
    """Ten column kernels, n = 200, C = 3, tol 1e-3, one thread: cold with checks, and warm from C = 2.5."""
    heading("table", "one SVC, ms", "cold, ms", "warm, ms", "cold, units", "warm, units", "status")
    rows = []
    for name, table in _small_tables():
        columns = table.columns[:SMALL_COLUMNS]
        spn = templates.flat([Kernel("rbf", features=c, label=f"column {c[0]}") for c in columns])
        unit, cold, warm, status = _cold_and_warm(problem_of(spn, table), repeats)
        rows.append((unit, cold, warm))
        print(f"| {name} | {_small_cells(unit, cold, warm)} | {status} |", flush=True)
    print(f"| **median of {len(rows)}** | {_small_cells(*np.median(rows, axis=0))} | |")
    print(f"| **worst** | {_small_cells(*np.max(rows, axis=0))} | |")


def _small_cells(unit: float, cold: float, warm: float) -> str:
    times = " | ".join(f"{1e3 * seconds:.1f}" for seconds in (unit, cold, warm))
    return f"{times} | {cold / unit:.1f} | {warm / unit:.1f}"


def _small_tables() -> Iterator[tuple[str, Table]]:
    for seed in range(3):
        yield f"synthetic, seed {seed}", synthetic(SMALL_ROWS, seed)
    for name in ("smooth", "counts", "mixed", "breast_cancer", "german", "ionosphere"):
        table = load(name)
        if table is None:
            continue
        for seed in range(2):
            yield f"{name}, seed {seed}", rows_of(table, SMALL_ROWS, seed)


def _cold_and_warm(problem: Problem, repeats: int) -> tuple[float, float, float, str]:
    settings: dict[str, Any] = {"tol": 1e-3, "n_threads": 1}
    ends: list[Solution] = []
    units, colds, warms = [], [], []
    with threadpool_limits(1):
        for _ in range(repeats):
            units.append(timed(lambda: fit_svc(problem, 3.0)).elapsed)
            make_cold(problem.kernels)
            colds.append(timed(lambda: ends.append(train(problem, 3.0, CAP, **settings))).elapsed)
            before = warm_start(train(problem, 2.5, CAP, **settings))
            warms.append(timed(lambda s=before: ends.append(train(problem, 3.0, CAP, start=s, **settings))).elapsed)
    statuses = ", ".join(sorted({end.status for end in ends}))
    return median(units), median(colds), median(warms), statuses


def widths(repeats: int) -> None:
    """Several widths, n = 1000 and 2000, C = 10, tol 1e-3, on one and two threads."""
    heading("table", "structure", "n", "unit, ms", "units, 1 thread", "units, 2 threads", "status")
    found: list[list[float]] = []
    for name, table in _wide_tables():
        for structure in ("flat", "grouped", "product of sums"):
            problem = posed(Case(name, "widths", structure, 1.0, 10.0), table)
            unit, units, status = _by_turns(problem, 10.0, (1, 2), repeats)
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


def _by_turns(problem: Problem, C: float, threads: tuple[int, ...], repeats: int) -> tuple[float, list[float], str]:
    """The unit in seconds, the units of a training on so many threads each, and the statuses."""
    units: list[float] = []
    times: dict[int, list[float]] = {t: [] for t in threads}
    ends: list[Solution] = []
    for _ in range(repeats):
        for t in threads:
            with threadpool_limits(1):
                units.append(timed(lambda: fit_svc(problem, C)).elapsed)
            make_cold(problem.kernels)
            with threadpool_limits(t):
                work = timed(lambda t=t: ends.append(train(problem, C, CAP, tol=1e-3, n_threads=t)))
            times[t].append(work.elapsed)
    unit = median(units)
    return unit, [median(times[t]) / unit for t in threads], ", ".join(sorted({end.status for end in ends}))


def classes(repeats: int) -> None:
    """Several classes, one thread: digits (10) at C = 10 with several widths; 27 classes at C = 5 on columns."""
    heading("table", "kernels", "structure", "n", "classes", "C", "unit, ms", "units", "status")
    for name, family, C in (("digits", "widths", 10.0), ("classes27", "columns", 5.0), ("classes27", "widths", 5.0)):
        table = load(name, MOST_ROWS)
        assert table is not None
        for structure in ("flat", "grouped", "product of sums"):
            problem = posed(Case(name, family, structure, 1.0, C), table)
            unit, units, status = _by_turns(problem, C, (1,), max(1, repeats // 2))
            print(
                f"| {name} | {family} | {structure} | {len(table.y)} | {len(np.unique(table.y))} | {C:g} | "
                f"{1e3 * unit:.0f} | {units[0]:.1f} | {status} |",
                flush=True,
            )


def cv(repeats: int) -> None:
    """cross_validate_C over 12 values and 5 folds, in trainings on all rows at the chosen C, on two cores."""
    heading("table", "kernels", "n", "chosen C", "one training, s", "cross-validation, s", "trainings")
    grid = np.logspace(-1.5, 2.5, 12)
    ratios = []
    for name, family in (
        *(("breast_cancer", "widths"), ("smooth", "columns"), ("heart", "columns")),
        *(("wine", "widths"), ("counts", "hamming"), ("digits:even", "widths")),
    ):
        table = load(name, 600)
        if table is None:
            continue
        problem = posed(Case(name, family, "flat", 1.0, 1.0), table)
        chosen: list[float] = []

        def select(problem: Problem = problem, chosen: list[float] = chosen) -> None:
            found = cross_validate_C(problem.spn, problem.kernels, problem.y, grid, folds=5, warn=False, n_threads=2)
            chosen.append(found.best_C)

        once, whole = [], []
        for _ in range(max(1, repeats // 2)):
            make_cold(problem.kernels)
            whole.append(timed(select).elapsed)
            make_cold(problem.kernels)
            once.append(timed(lambda p=problem, C=chosen[-1]: train(p, C, CAP, tol=1e-3, n_threads=2)).elapsed)
        ratios.append(median(whole) / median(once))
        print(
            f"| {name} | {family} | {len(table.y)} | {chosen[-1]:.3g} | {median(once):.2f} | {median(whole):.2f} | "
            f"{ratios[-1]:.1f} |",
            flush=True,
        )
    print(f"| **median of {len(ratios)}**, worst | | | | | | {median(ratios):.1f}, {max(ratios):.1f} |")


SECTIONS: dict[str, Callable[[int], None]] = {"small": small, "widths": widths, "classes": classes, "cv": cv}
