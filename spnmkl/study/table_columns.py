"""The rows of a fold as methods over columns see them: the columns that kernels see, codes of text unfolded."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.baselines import Columns
from spnmkl.circuit.program import Floats
from spnmkl.data.prepared_columns import CodedColumn
from spnmkl.training.prepared import NO_VIEW, Prepared


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The columns of the training rows, with their views, and those of the test rows."""

    train: Columns
    test: Floats


def table_columns(prepared: Prepared) -> TableColumns:
    """Every column once; a code, which is no quantity, as a column of 0 and 1 for each value of the training rows."""
    coded = {column.name for column in prepared.preparation.columns if isinstance(column, CodedColumn)}
    inside: list[Floats] = []
    across: list[Floats] = []
    positions: dict[str, list[int]] = {}
    for column in prepared.preparation.columns:
        for name in column.outputs:
            train, test = (X[name].to_numpy(dtype=float) for X in (prepared.X_train, prepared.X_test))
            values = np.unique(train) if column.name in coded else None
            for X, parts in ((train, inside), (test, across)):
                parts.append(X[:, None] if values is None else (X[:, None] == values).astype(float))
            width, first = inside[-1].shape[1], sum(part.shape[1] for part in inside[:-1])
            positions.setdefault(column.name, []).extend(range(first, first + width))
    return TableColumns(Columns(np.hstack(inside), _views(prepared, positions)), np.hstack(across))


def _views(prepared: Prepared, positions: dict[str, list[int]]) -> dict[str, NDArray[np.intp]]:
    """The views that have columns left; those of no view are one more."""
    known = {view: [name for name in names if name in positions] for view, names in prepared.view_columns.items()}
    inside = {name for names in known.values() for name in names}
    if known:
        known[NO_VIEW] = [name for name in positions if name not in inside]
    return {
        view: np.array([k for name in names for k in positions[name]], dtype=np.intp)
        for view, names in known.items()
        if names
    }
