"""Templates filled with the columns of a table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from spnmkl.errors import StructureError
from spnmkl.structure import SPN, Kernel
from spnmkl.structure.templates import RBF, SEVEN_WIDTHS, TEMPLATES

SEPARATOR = "__"
# With more columns than these, one kernel for each could neither be drawn nor looked through.
MOST_LEAVES, MOST_IN_PAIRS = 30, 12


def fill_template(
    name: str,
    numeric: Sequence[str] = (),
    text: Collection[str] = (),
    views: Mapping[str, Sequence[str]] | None = None,
    matrices: Sequence[str] = (),
) -> SPN:
    """A template with an rbf kernel for numeric columns and a hamming kernel for text columns.

    Each view is a group where the template takes groups, and a kernel where it takes kernels; without views each
    column is a kernel. Where a kernel for each column would be too many, every view, or all columns, get an rbf and a
    linear kernel. Widths are the median distance in the data, however many columns there are.

    Parameters
    ----------
    name : str
        A key of `templates.TEMPLATES`.
    numeric, text : sequences of column names
        Without any, only templates of kernels over all columns can be filled.
    views : mapping from a view's name to its columns, optional
        None: columns named ``view__feature`` are grouped by view.
    matrices : sequence of str
        Names of precomputed kernel matrices, each a leaf with that label.
    """
    if name not in TEMPLATES:
        raise StructureError(f"There is no template {name!r}; choose one of {', '.join(TEMPLATES)}.")
    if not (numeric or text or matrices) and name not in ("figure1", "polynomial", "taylor_exp"):
        raise StructureError(f"Template {name!r} needs columns to fill it with; name a table that has them.")
    filling = _Filling(name, list(numeric), list(text), _complete_views([*numeric, *text], views), list(matrices))
    template = TEMPLATES[name]
    if template.takes == "kernel":
        return template.function(filling.one_kernel())
    if template.takes == "groups":
        return template.function(filling.groups(named=views is not None))
    if name == "hierarchy":
        return template.function(filling.branches())
    leaves = filling.kernels(MOST_IN_PAIRS if name == "pairwise_products" else MOST_LEAVES)
    if name == "figure1" and len(leaves) != 7:
        return template.function(filling.seven_widths() if leaves else None)
    return template.function(leaves)


def fill_kernels(
    numeric: Sequence[str],
    text: Collection[str] = (),
    views: Mapping[str, Sequence[str]] | None = None,
    matrices: Sequence[str] = (),
) -> list[Kernel]:
    """The kernels that the flat template adds."""
    views = _complete_views([*numeric, *text], views)
    return _Filling("flat", list(numeric), list(text), views, list(matrices)).kernels(MOST_LEAVES)


def group_by_prefix(columns: Sequence[str], separator: str = SEPARATOR) -> dict[str, list[str]]:
    """View → its columns; columns without a view are under their own names. Empty when there are no views."""
    groups: dict[str, list[str]] = {}
    for column in columns:
        groups.setdefault(column.partition(separator)[0] or column, []).append(column)
    return groups if any(separator in column for column in columns) else {}


def _complete_views(columns: list[str], views: Mapping[str, Sequence[str]] | None) -> dict[str, list[str]]:
    """Views of the columns there are; columns without one are under their own names, or together if they are many."""
    if views is None:
        return group_by_prefix(columns)
    known = set(columns)
    groups = {view: [c for c in members if c in known] for view, members in views.items()}
    groups = {view: members for view, members in groups.items() if members}
    together = {c for members in groups.values() for c in members}
    alone = [c for c in columns if c not in together]
    if groups and len(alone) > MOST_LEAVES:
        return {**groups, "others": alone}
    return {**groups, **{c: [c] for c in alone}} if groups else {}


@dataclass(frozen=True)
class _Filling:
    """The kernels that a template is filled with."""

    template: str
    numeric: list[str]
    text: list[str]
    views: dict[str, list[str]]
    matrices: list[str]

    def one_kernel(self) -> Kernel:
        if self.matrices and not self.numeric:
            return _precomputed(self.matrices[0])
        return Kernel("linear", features=self._numbers() if self.text else None)

    def kernels(self, most: int) -> list[Kernel]:
        """One for each view, or for each column, or an rbf and a linear one over all columns."""
        columns = [*self.numeric, *self.text]
        if self.views:
            leaves = [leaf for view, members in self.views.items() for leaf in self._of_view(view, members)]
        elif len(columns) <= most:
            leaves = [self._of_column(c) for c in columns]
        else:
            leaves = self._of_many("", columns)
        return leaves + [_precomputed(matrix) for matrix in self.matrices]

    def groups(self, named: bool) -> dict[str, list[Kernel]]:
        if not self.views and not self.matrices:
            how = (
                "needs views, groups of columns that belong together, but there are none; make some"
                if named
                else f"groups columns by the part of their name before {SEPARATOR!r}, but no column has one; "
                "rename them, such as colour__red"
            )
            raise StructureError(f"Template {self.template!r} {how}, or use flat.")
        groups = {view: self._in_view(view, members) for view, members in self.views.items()}
        return groups | {matrix: [_precomputed(matrix)] for matrix in self.matrices}

    def branches(self) -> list[Kernel]:
        """Leaves whose labels say where they belong."""
        if not self.views:
            return self.kernels(MOST_LEAVES)
        leaves = [
            leaf if len(members) == 1 else leaf.on(leaf.spec.features, _below(view, leaf.node.label or ""))
            for view, members in self.views.items()
            for leaf in self._in_view(view, members, SEPARATOR)
        ]
        return leaves + [_precomputed(matrix) for matrix in self.matrices]

    def seven_widths(self) -> list[Kernel]:
        numbers = self._numbers()
        seen = numbers if self.text else None  # without text columns, all of them, which need not be named
        return [kernel.on(seen) for kernel in SEVEN_WIDTHS]

    def _in_view(self, view: str, members: list[str], separator: str = " ") -> list[Kernel]:
        if self._columns_apart:
            return [self._of_column(c) for c in members]
        return self._of_many(view + separator, members)

    @cached_property
    def _columns_apart(self) -> bool:
        """Whether each column of a view has a kernel; of all views or of none, so that weights can be compared."""
        return all(len(members) <= MOST_LEAVES for members in self.views.values())

    def _of_column(self, column: str) -> Kernel:
        return (Kernel("hamming") if column in self._texts else RBF).on([column], column)

    def _of_view(self, view: str, members: list[str]) -> list[Kernel]:
        numbers, words = self._by_kind(members)
        leaves = [RBF.on(numbers, view)] if numbers else []
        return leaves + self._hamming(words, f"{view} text" if numbers else view)

    def _of_many(self, prefix: str, members: list[str]) -> list[Kernel]:
        numbers, words = self._by_kind(members)
        kinds = (RBF, Kernel("linear")) if numbers else ()
        leaves = [kernel.on(numbers, prefix + kernel.spec.kernel) for kernel in kinds]
        return leaves + self._hamming(words, prefix + "text")

    def _hamming(self, words: list[str], label: str) -> list[Kernel]:
        return [Kernel("hamming", features=words, label=label)] if words else []

    def _by_kind(self, members: list[str]) -> tuple[list[str], list[str]]:
        return [c for c in members if c not in self._texts], [c for c in members if c in self._texts]

    @cached_property
    def _texts(self) -> frozenset[str]:
        return frozenset(self.text)

    def _numbers(self) -> list[str]:
        if not self.numeric:
            raise StructureError(
                f"Template {self.template!r} needs numeric columns, but all columns are text; use flat."
            )
        return self.numeric


def _below(view: str, label: str) -> str:
    return label if label.startswith(view + SEPARATOR) else f"{view}{SEPARATOR}{label}"


def _precomputed(matrix: str) -> Kernel:
    return Kernel("precomputed", label=matrix)
