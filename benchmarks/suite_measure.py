"""One case measured: a training by turns with one SVC fit on the average of the same kernels.

Only what every version of the package has is imported, so that an older checkout can be measured by the same file.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from suite_cases import CS, STRUCTURES, Case, drawing
from suite_tables import Floats, Table, load
from threadpoolctl import threadpool_info, threadpool_limits

import spnmkl
from spnmkl import SPN, Solution, solve
from spnmkl.kernels import fit_kernels

Matrices = dict[str, Floats]
# One step of SVC looks at n entries a few times: about ten seconds for each class.
SVC_ENTRIES = 5e9
# A long unit is not repeated; a short one is fitted three times a turn, as its time is noise otherwise.
LONG_UNIT, SHORT_UNIT = 2.0, 0.02


@dataclass(frozen=True)
class Took:
    elapsed: float
    processor: float


@dataclass
class Problem:
    """What both sides get."""

    spn: SPN
    kernels: Matrices
    average: Floats
    y: np.ndarray


def timed(work: Callable[[], object]) -> Took:
    elapsed, processor = time.perf_counter(), time.process_time()
    work()
    return Took(time.perf_counter() - elapsed, time.process_time() - processor)


def posed(case: Case, table: Table) -> Problem:
    return problem_of(drawing(case, table), table)


def problem_of(spn: SPN, table: Table) -> Problem:
    kernels, _ = fit_kernels(spn, table.X)
    average = np.zeros((len(table.y), len(table.y)))
    for K in kernels.values():
        average += K
    average /= len(kernels)
    return Problem(spn, kernels, average, table.y)


def make_cold(kernels: Matrices) -> None:
    """Replace every matrix by a new one, one at a time: whatever was remembered of the old ones is of no use."""
    for leaf in kernels:
        kernels[leaf] = kernels[leaf].copy()


def fit_svc(problem: Problem, C: float) -> bool:
    """One SVC, or one per class against the rest; whether all of them ended by themselves."""
    classes = np.unique(problem.y)
    ended = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for label in classes[1:] if len(classes) == 2 else classes:
            svc = SVC(kernel="precomputed", C=C, max_iter=int(SVC_ENTRIES / len(problem.y)))
            ended &= svc.fit(problem.average, problem.y == label).fit_status_ == 0
    return ended


class Cap:
    """Whether so many processor seconds are over; that clock is slow beside many threads, so it is asked rarely."""

    def __init__(self, seconds: float) -> None:
        self.end, self.next_look = time.process_time() + seconds, time.monotonic() + seconds / 20

    def __call__(self) -> bool:
        now = time.monotonic()
        if now < self.next_look:
            return False
        self.next_look = now + 0.1
        return time.process_time() >= self.end


def train(problem: Problem, C: float, cap: float = math.inf, **settings: Any) -> Solution:
    """`solve` with a limit of processor seconds.

    By `stop`, which every version has, and not by `max_time`: on a machine that others use the same case would reach
    an elapsed limit at one time and not at another.
    """
    if math.isfinite(cap):
        settings["stop"] = Cap(cap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return solve(problem.spn, problem.kernels, problem.y, C=C, **settings)


def measure(problem: Problem, case: Case, tol: float, cap: float, repeats: int = 3) -> dict[str, Any]:
    """Unit, training, unit, training, …, unit; fewer turns where they are long."""
    units: list[Took] = []
    trainings: list[Took] = []
    outcomes: list[Solution | Exception] = []
    ended: list[bool] = []

    def unit() -> None:
        if units and units[0].processor > LONG_UNIT:
            return
        units.append(timed(lambda: ended.append(fit_svc(problem, case.C))))
        for _ in range(2 if units[-1].processor < SHORT_UNIT else 0):
            units.append(timed(lambda: fit_svc(problem, case.C)))

    def training() -> None:
        try:
            outcomes.append(train(problem, case.C, cap, p=case.p, tol=tol, n_threads=1))
        except Exception as error:  # a failure is a result
            outcomes.append(error)

    with threadpool_limits(1):
        unit()
        while len(trainings) < repeats and (not trainings or enough_time(trainings, cap)):
            make_cold(problem.kernels)
            trainings.append(timed(training))
            unit()
    return result(outcomes, trainings, units, all(ended), tol, cap)


def enough_time(trainings: list[Took], cap: float) -> bool:
    """Whether one more is worth it: three below a second, two below a quarter of the cap."""
    first = trainings[0].processor
    return first < 1 or (len(trainings) < 2 and first < cap / 4)


def result(
    outcomes: list[Any], trainings: list[Took], units: list[Took], ended: bool, tol: float, cap: float
) -> dict[str, Any]:
    seconds, unit = median(t.elapsed for t in trainings), median(t.elapsed for t in units)
    processor, unit_processor = median(t.processor for t in trainings), median(t.processor for t in units)
    return outcome(outcomes[-1], tol) | {
        "capped": max(t.processor for t in trainings) >= cap,
        "seconds": seconds,
        "unit": unit,
        "units": seconds / unit,
        "processor": processor,
        "unit_processor": unit_processor,
        "processor_units": processor / max(unit_processor, 1e-9),
        "seconds_all": [t.elapsed for t in trainings],
        "unit_all": [t.elapsed for t in units],
        "unit_ended": ended,
        "cap": cap,
    }


def outcome(solution: Any, tol: float) -> dict[str, Any]:
    if isinstance(solution, Exception):
        return {"status": f"{type(solution).__name__}: {solution}", "gap": None, "certified": False}
    records = solution.history
    spoiled = any(not math.isfinite(r.objective) for r in records)
    return {
        "status": solution.status,
        "gap": finite(solution.gap),
        "certified": bool(solution.status == "optimal" and solution.gap <= tol),
        "objective": finite(solution.objective),
        "iterations": len(records),
        "evaluations": records[-1].evaluations if records else 0,
        "not_finite": spoiled,
    }


def finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def warm_up() -> None:
    """Compile, or load from the cache, whatever the structures need."""
    table = load("wine", 60)
    assert table is not None
    for structure in STRUCTURES:
        for family in ("widths", "columns"):
            for C in (CS[1], CS[-2]):
                train(posed(Case("wine", family, structure, 1.0, C), table), C, 5.0, p=1.0, tol=1e-5, n_threads=1)


def described(case: Case, problem: Problem) -> dict[str, Any]:
    return {
        "case": case.name,
        "table": case.table,
        "family": case.family,
        "structure": case.structure,
        "p": case.p,
        "C": case.C,
        "held_out": case.held_out,
        "n": len(problem.y),
        "kernels": len(problem.kernels),
        "classes": len(np.unique(problem.y)),
    }


def environment() -> Mapping[str, Any]:
    """Which code on which processor's arithmetic."""
    cores = sorted({str(info.get("architecture")) for info in threadpool_info() if info["user_api"] == "blas"})
    return {"version": spnmkl.__version__, "arithmetic": ", ".join(cores)}
