"""How fast do methods that solve the same problem get there: gap against time, and against SVMs trained.

One layer over 25 kernels, p = 1, which is SimpleMKL's problem. Every method is asked for the same gap and stopped at
the same time. What it claims decides only which of its points are looked at: their objective is recomputed and
compared with one lower bound, which Newton's method proves. Points are taken as they are, not at their best scale.
SimpleMKL is told Σβ at the optimum, without which its problem would be another one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
import peers
from experiment_data import Floats
from experiment_store import Key, Task, key_of
from experiment_tables import decades, markdown, write_chart
from peer_methods import Asked, analytic, certified, simple_mkl
from sklearn.datasets import load_digits

from spnmkl import Solution, solve
from spnmkl.charts.look import palette
from spnmkl.inspection import refit
from spnmkl.solution import Record

TARGETS = (1e-1, 1e-2, 1e-3, 1e-4)
_PROOF, _PROGRESS = 1e-8, 0.7
_WARM_UP_ROWS = 40


def digits() -> peers.Data:
    X, y = load_digits(return_X_y=True)
    return peers.with_kernels(X, y % 2)


SETS: dict[str, Callable[[], peers.Data]] = {
    "breast cancer": peers.breast_cancer,
    "synthetic": peers.synthetic,
    "digits, even or odd": digits,
}


@dataclass(frozen=True)
class Settings:
    C: float
    tol: float
    seconds: float  # for one method on one set
    most_rows: int


@dataclass(frozen=True)
class Step:
    """A point that a method reached."""

    set: str
    method: str
    step: int
    n: int
    kernels: int
    seconds: float
    evaluations: int
    objective: float
    bound: float
    gap: float
    end: str  # of the method's last point


@dataclass
class Trace:
    """The points at which the claimed gap fell much, or below a target, and the best of all."""

    bound: float
    started: float = field(default_factory=time.perf_counter)
    evaluations: int = 0
    kept: list[tuple[float, int, float, Floats]] = field(default_factory=list)
    last: tuple[float, int, float, Floats] | None = None

    def note(self, beta: Floats, claimed: float, evaluations: int) -> None:
        gap = 1 - self.bound / claimed
        point = (time.perf_counter() - self.started, evaluations, gap, np.array(beta))
        if self.last is None or gap < self.last[2]:
            self.last = point
        before = self.kept[-1][2] if self.kept else np.inf
        if gap < _PROGRESS * before or any(gap <= target < before for target in TARGETS):
            self.kept.append(point)

    def points(self) -> list[tuple[float, int, float, Floats]]:
        assert self.last is not None
        return self.kept if self.kept[-1][2] == self.last[2] else [*self.kept, self.last]


Follow = Callable[[Floats, Floats, Settings, Solution, Trace], str]


def ours(kernels: Floats, y: Floats, settings: Settings, exact: Solution, trace: Trace, solver: str) -> str:
    def note(record: Record) -> None:
        trace.note(np.array(list(record.beta.values())), record.objective, record.evaluations)

    found = solve(
        exact.spn,
        dict(zip(exact.spn.kernels, kernels, strict=True)),
        y,
        C=settings.C,
        solver=solver,
        tol=settings.tol,
        max_iter=10**6,
        callback=note,
        n_threads=1,
        stop=lambda: late(trace, settings),
    )
    return {"optimal": "reached", "interrupted": "time"}.get(found.status, found.status)


def reduced_gradient(kernels: Floats, y: Floats, settings: Settings, exact: Solution, trace: Trace) -> str:
    total = sum(exact.beta.values())

    def watch(d: Floats, value: float) -> None:
        """On the simplex the SVM has C·Σβ, which makes its value Σβ times ours."""
        trace.evaluations += 1
        trace.note(total * d, value / total + total, trace.evaluations)

    simple_mkl(kernels, y, settings.C, Asked(settings.tol, total, settings.seconds, watch))
    return "time" if late(trace, settings) else "rests"


def alternation(kernels: Floats, y: Floats, settings: Settings, exact: Solution, trace: Trace) -> str:
    def watch(beta: Floats, value: float) -> None:
        trace.evaluations += 1
        trace.note(beta, value + beta.sum(), trace.evaluations)

    analytic(kernels, y, settings.C, Asked(settings.tol, seconds=settings.seconds, watch=watch))
    return "time" if late(trace, settings) else "rests"


def late(trace: Trace, settings: Settings) -> bool:
    return time.perf_counter() - trace.started > settings.seconds


METHODS: dict[str, Follow] = {
    "newton": partial(ours, solver="newton"),
    "paper (Algorithm 1)": partial(ours, solver="paper"),
    "SimpleMKL (our transcription)": reduced_gradient,
    "analytic updates (our transcription)": alternation,
}


def followed(set_name: str, method: str, kernels: Floats, y: Floats, settings: Settings, exact: Solution) -> list[Step]:
    trace = Trace(exact.dual_bound)
    end = METHODS[method](kernels, y, settings, exact, trace)
    matrices, points = dict(zip(exact.spn.kernels, kernels, strict=True)), trace.points()
    steps = []
    for k, (seconds, evaluations, _, beta) in enumerate(points):
        found = refit(exact, matrices, dict(zip(exact.beta, beta.tolist(), strict=True)), tol=_PROOF)
        told = end if k == len(points) - 1 else ""
        steps.append(
            Step(
                set_name,
                method,
                k,
                len(y),
                len(kernels),
                seconds,
                evaluations,
                found.objective,
                exact.dual_bound,
                found.gap,
                told,
            )
        )
    return steps


@dataclass(frozen=True)
class Convergence:
    settings: Settings
    sets: tuple[str, ...]

    def tasks(self) -> Iterator[Task]:
        for name in self.sets:
            keys = {key_of(name, method): method for method in METHODS}
            yield Task(tuple(keys), partial(self._steps, name, keys))

    def _steps(self, name: str, keys: dict[Key, str], asked: Sequence[Key]) -> Iterator[list[Step]]:
        data, s = SETS[name](), self.settings
        rows = slice(s.most_rows)
        few = slice(_WARM_UP_ROWS)
        kernels, y = np.ascontiguousarray(data.kernels[:, rows, rows]), data.y[rows]
        del data
        small, y_small = np.ascontiguousarray(kernels[:, few, few]), y[few]
        exact, exact_small = (certified(K, labels, s.C, _PROOF) for K, labels in ((kernels, y), (small, y_small)))
        for key in asked:
            followed(name, keys[key], small, y_small, Settings(s.C, 0.1, 1.0, s.most_rows), exact_small)
            yield followed(name, keys[key], kernels, y, s, exact)


def convergence_lines(table: pd.DataFrame, settings: dict[str, float], out: Path) -> list[str]:
    order = [method for method in METHODS if method in set(table["method"])]
    lines = [
        "",
        "## Convergence",
        "",
        f"One layer, p = 1, C = {settings['C']:g}; asked for a relative gap of {settings['tol']:g} in at most "
        f"{settings['seconds']:g} seconds, one thread. Gaps are recomputed, against one lower bound per set. An "
        "evaluation is one SVM on all rows (for newton and paper, one kernel formed on all rows).",
    ]
    for name, of_set in table.groupby("set", sort=False):
        stem = "convergence_" + "_".join(str(name).replace(",", "").split())
        for along in ("seconds", "evaluations"):
            write_chart(gap_chart(of_set, along, order), out / f"{stem}_{along}.svg")
        first = of_set.iloc[0]
        lines += [
            "",
            f"### {name}: {first['n']} rows, {first['kernels']} kernels",
            "",
            *markdown(reached(of_set, order), "seconds (evaluations) to a gap of"),
            "",
            f"![Gap against time]({stem}_seconds.svg)",
            "",
            f"![Gap against evaluations]({stem}_evaluations.svg)",
        ]
    return lines


def reached(of_set: pd.DataFrame, order: Sequence[str]) -> pd.DataFrame:
    """Per method when it first had each gap, and what it had at its end."""

    def told(steps: pd.DataFrame, target: float) -> str:
        there = steps[steps["gap"] <= target]
        return f"{there['seconds'].iloc[0]:.2f} ({there['evaluations'].iloc[0]})" if len(there) else "–"

    rows = {}
    for method in order:
        steps = of_set[of_set["method"] == method]
        last = steps.iloc[-1]
        ended = f"{max(last['gap'], 0):.0e}, {last['end']}, {last['seconds']:.2f} ({last['evaluations']})"
        rows[method] = {f"{target:g}": told(steps, target) for target in TARGETS} | {"in the end": ended}
    return pd.DataFrame.from_dict(rows, orient="index")


def gap_chart(of_set: pd.DataFrame, along: str, order: Sequence[str]) -> alt.Chart:
    shown = of_set.assign(name=of_set["method"], value=of_set["gap"].clip(1e-7, 1))
    title = {"seconds": "seconds", "evaluations": "SVMs on all rows"}[along]
    logarithmic = alt.Scale(type="log", nice=False)
    return (
        alt.Chart(shown)
        .mark_line(point=True)
        .encode(
            x=alt.X(f"{along}:Q", title=title, scale=logarithmic, axis=decades(shown[along])),
            y=alt.Y("value:Q", title="relative gap", scale=logarithmic, axis=decades(shown["value"])),
            **palette(list(order), None, orient="bottom", columns=2),
        )
    )
