"""One structure at evidence weights: they are found once, and inner folds, begun at them, choose C."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import NDArray

from spnmkl.circuit.source import KernelSource
from spnmkl.evidence import fit_evidence
from spnmkl.evidence.entry import MOST_STEPS
from spnmkl.evidence.machine import machines
from spnmkl.importance.folds import Tick
from spnmkl.selection import cross_validate_C
from spnmkl.solution import Record, Solution
from spnmkl.structure import SPN


def trained_by_evidence(
    spn: SPN,
    source: KernelSource,
    y: NDArray,
    grid: Sequence[float],
    inner: Mapping[str, Any],
    say: Tick | None,
    settings: Mapping[str, Any],
) -> tuple[Solution, float]:
    """The machine at the C of the grid that is best in the inner folds, and that C."""

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
    C = float(grid[0])
    if len(grid) > 1:
        given = {**own, "max_iter": steps, "weights": "evidence", "start": found.beta}
        C = cross_validate_C(spn, source, y, grid, callback=tick, **inner, **given).best_C
    return next(machines(found, source, y, [C], **own)), C
