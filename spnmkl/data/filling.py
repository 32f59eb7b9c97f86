"""Templates filled with the columns of a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel
from spnmkl.structure.templates import TEMPLATES

SEPARATOR = "__"
# Multiples of 1 / columns, the width at which standardised columns neither all look alike nor all differ.
WIDTHS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)


def fill_template(name: str, numeric: Sequence[str] = (), text: Collection[str] = ()) -> SPN:
    """A template with an rbf kernel for numeric columns and a hamming kernel for text columns.

    Columns named ``view__feature`` are grouped by view: each view is a group where the template takes groups,
    and a kernel where it takes kernels; without views each column is a kernel.

    Parameters
    ----------
    name : str
        A key of `templates.TEMPLATES`.
    numeric, text : sequences of column names
        Without any, only templates of kernels over all columns can be filled.
    """
    if name not in TEMPLATES:
        raise StructureError(f"There is no template {name!r}; choose one of {', '.join(TEMPLATES)}.")
    template, columns = TEMPLATES[name], [*numeric, *text]
    views = group_by_prefix(columns)
    if template.takes == "kernel":
        return template.function(Kernel("linear", features=_numeric(name, numeric) if columns else None))
    if not columns and name != "figure1":
        raise StructureError(f"Template {name!r} needs columns to fill it with; name a table that has them.")
    if template.takes == "groups":
        return template.function(
            {view: [_leaf([c], c, text) for c in group] for view, group in _groups(name, views).items()}
        )
    if name == "hierarchy":
        return template.function([_leaf([c], c, text) for c in columns])
    leaves = _kernels(columns, views, text)
    if name == "figure1" and len(leaves) != 7:
        return template.function(_widths(_numeric(name, numeric)) if columns else None)
    return template.function(leaves)


def group_by_prefix(columns: Sequence[str], separator: str = SEPARATOR) -> dict[str, list[str]]:
    """View → its columns; columns without a view are under their own names. Empty when there are no views."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.partition(separator)[0] or column, []).append(column)
    return groups if any(separator in column for column in columns) else {}


def _groups(name: str, views: dict[str, list[str]]) -> dict[str, list[str]]:
    if not views:
        raise StructureError(
            f"Template {name!r} groups columns by the part of their name before {SEPARATOR!r}, but no column has one; "
            "rename them, such as colour__red, or use flat."
        )
    return views


def _kernels(columns: list[str], views: dict[str, list[str]], text: Collection[str]) -> list[Kernel]:
    leaves = []
    for view, group in (views or {c: [c] for c in columns}).items():
        words = [c for c in group if c in text]
        numbers = [c for c in group if c not in text]
        both = bool(words and numbers)
        leaves += [_leaf(numbers, view, text)] if numbers else []
        leaves += [_leaf(words, f"{view} text" if both else view, text)] if words else []
    return leaves


def _leaf(columns: list[str], label: str, text: Collection[str]) -> Kernel:
    return Kernel("hamming" if columns[0] in text else "rbf", features=columns, label=label)


def _widths(numeric: Sequence[str]) -> list[Kernel]:
    return [Kernel("rbf", gamma=width / len(numeric), features=numeric) for width in WIDTHS]


def _numeric(name: str, numeric: Sequence[str]) -> Sequence[str]:
    if not numeric:
        raise StructureError(f"Template {name!r} needs numeric columns, but all columns are text; use flat.")
    return numeric
