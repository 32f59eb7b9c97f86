"""A training's history as plain arrays and names, and back: what model files and project files share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spnmkl.circuit.program import Floats
from spnmkl.solution import METHODS, Record

# "stalled" stands in files of earlier versions only.
STATUSES = (
    "optimal",
    "stationary",
    "iteration_limit",
    "time_limit",
    "interrupted",
    "precision",
    "memory",
    "stalled",
    "hand-set",
    "evidence",
)
NUMBERS = ("objective", "dual_bound", "gap", "circuit_size", "evaluations", "seconds")
_COUNTS = ("circuit_size", "evaluations")


def history_arrays(history: Sequence[Record], products: Sequence[str]) -> tuple[Floats, Floats]:
    """(iterations, NUMBERS) and, for the weights, (iterations, products)."""
    numbers = [[getattr(record, name) for name in NUMBERS] for record in history]
    weights = [[record.beta[v] for v in products] for record in history]
    return np.reshape(numbers, (-1, len(NUMBERS))).astype(float), np.reshape(weights, (-1, len(products))).astype(float)


def read_history(
    numbers: Floats, weights: Floats, methods: object, products: Sequence[str], solver: str
) -> tuple[Record, ...]:
    """Records from arrays of the right shape; a ValueError says what is wrong with `methods`.

    Files of earlier versions name no methods: there the solver was the method.
    """
    names = [solver if solver in METHODS else "newton"] * len(numbers) if methods is None else methods
    if not isinstance(names, list) or len(names) != len(numbers) or not set(map(str, names)) <= set(METHODS):
        raise ValueError(f"the history's methods are not {len(numbers)} of {', '.join(METHODS)}")
    records = []
    for k, (row, values, method) in enumerate(zip(numbers.tolist(), weights.tolist(), names, strict=True), 1):
        stored = dict(zip(NUMBERS, row, strict=True))
        counts = {name: int(stored.pop(name)) for name in _COUNTS}
        beta = dict(zip(products, values, strict=True))
        pruned = tuple(v for v in products if beta[v] <= 0)
        records.append(Record(iteration=k, beta=beta, pruned=pruned, method=method, **counts, **stored))
    return tuple(records)
