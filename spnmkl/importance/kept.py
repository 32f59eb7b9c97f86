"""What was measured of a run, kept with it as plain data, so that a project holds it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from spnmkl.importance.column_result import ColumnImportance
from spnmkl.importance.result import ViewImportance
from spnmkl.training.run import Run

VIEWS, COLUMNS = "views", "columns"


def view_of(run: Run) -> ViewImportance | None:
    stored = (run.importance or {}).get(VIEWS)
    return None if stored is None else ViewImportance.from_dict(stored)


def columns_of(run: Run) -> dict[str, ColumnImportance]:
    """View → which of its columns matter."""
    stored = (run.importance or {}).get(COLUMNS, {})
    return {str(view): ColumnImportance.from_dict(found) for view, found in stored.items()}


def with_views(run: Run, found: ViewImportance) -> Run:
    return replace(run, importance={**(run.importance or {}), VIEWS: found.to_dict()})


def with_columns(run: Run, view: str, found: ColumnImportance) -> Run:
    before = (run.importance or {}).get(COLUMNS, {})
    return replace(run, importance={**(run.importance or {}), COLUMNS: {**before, view: found.to_dict()}})


def checked(stored: object) -> Mapping[str, Any] | None:
    """What a file says was measured; refused where it is not what `with_views` and `with_columns` give."""
    if stored is None:
        return None
    if not isinstance(stored, Mapping) or not set(stored) <= {VIEWS, COLUMNS}:
        raise ValueError("the importance of views is not one")
    if stored.get(VIEWS) is not None:
        ViewImportance.from_dict(stored[VIEWS])
    for found in stored.get(COLUMNS, {}).values():
        ColumnImportance.from_dict(found)
    return stored
