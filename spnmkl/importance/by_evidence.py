"""One structure at evidence weights: they are found once, and inner folds, begun at them, choose C."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.evidence import fit_evidence
from spnmkl.evidence.entry import MOST_STEPS
from spnmkl.evidence.machine import machines
from spnmkl.importance.folds import Tick
from spnmkl.rivals import Rival, best_of, smoothed
from spnmkl.selection import cross_validate_C
from spnmkl.solution import Record, Solution
from spnmkl.structure import SPN


@dataclass(frozen=True, eq=False)
class Within:
    """What was trained on the training part of a fold, at which C, and its scores on inner folds to compare it by."""

    solution: Solution
    C: float
    folds: tuple[float, ...]

    @classmethod
    def at(cls, C: float, solution: Solution, grid: Floats, scores: Floats) -> Within:
        """With the scores at C out of those over a grid, (C, folds), smoothed along it."""
        return cls(solution, C, tuple(smoothed(scores)[grid == C].ravel().tolist()))


def trained_by_evidence(
    spn: SPN,
    source: KernelSource,
    y: NDArray,
    grid: Sequence[float],
    inner: Mapping[str, Any],
    say: Tick | None,
    settings: Mapping[str, Any],
    *,
    scored: bool = False,
) -> Within:
    """The machine at the C of the grid that is best in the inner folds; scored there also where there is one C."""

    def step(record: Record) -> None:
        if say is not None:
            say(f"evidence weights, step {record.iteration}")

    def tick(point: object) -> None:
        if say is not None:
            say("choosing C")

    own = {name: value for name, value in settings.items() if name not in ("weights", "solver", "max_iter")}
    steps = settings.get("max_iter") or MOST_STEPS
    passed: dict[str, Any] = {name: own.get(name) for name in ("n_threads", "stop", "sample_weight")}
    found = fit_evidence(spn, source, y, max_iter=steps, callback=step, **passed)
    C, values, scores = float(grid[0]), np.array(grid[:1]), np.full((1, 1), np.nan)
    if len(grid) > 1 or scored:
        given = {**own, "max_iter": steps, "weights": "evidence", "start": found.beta}
        tried = cross_validate_C(spn, source, y, grid, callback=tick, **inner, **given)
        C, values, scores = tried.best_C, tried.C, tried.scores
    return Within.at(C, next(machines(found, source, y, [C], **own)), values, scores)


def preferred(found: Mapping[str, Within]) -> str:
    """The kind of weights to take, by the rule of a choice for somebody who has drawn nothing."""
    rivals = [Rival(kind, one.solution.spn, kind, one.C, math.nan, math.nan, one.folds) for kind, one in found.items()]
    return best_of(rivals, False, max(len(one.fold_scores) for one in rivals)).weights
