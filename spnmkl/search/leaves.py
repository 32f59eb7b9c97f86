"""What a search builds with: one kernel per column where these are few, else per view; and which view each is of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from spnmkl.errors import ParameterError, StructureError
from spnmkl.search.moves import POWERS, Pool
from spnmkl.structure import SPN, Kernel
from spnmkl.structure.nodes import describe
from spnmkl.structure.templates import RBF, Columns, flat

MOST_COLUMNS = 12  # with a kernel each: with 24 of noise, products were said to be found in 9 of 15 draws
MOST_LEAVES = 60  # their pairs are some thousand, which one screening goes through at once
ALL = "all columns"
WIDE = (Kernel("rbf", gamma="0.25*median"), RBF, Kernel("rbf", gamma="4*median"), Kernel("linear"))
Views = Mapping[str, Columns]


@dataclass(frozen=True, eq=False)
class Leaves:
    """The kernels of a search, by number, their names, and the views they belong to."""

    kernels: tuple[Kernel, ...]
    views: Mapping[str, tuple[int, ...]]
    free: bool = True  # whether they may be centred, too

    @property
    def centred(self) -> Leaves | None:
        """The same kernels around the mean of the rows, but for matrices; None where they are to stay as they are."""
        if not self.free:
            return None
        return Leaves(tuple(map(_centred, self.kernels)), self.views, free=False)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(kernel.node.label or kernel.spec.kernel for kernel in self.kernels)

    @property
    def pool(self) -> Pool:
        own = (k for k, kernel in enumerate(self.kernels) if kernel.spec.kernel in POWERS)
        return Pool(tuple(self.views.values()), len(self.kernels), frozenset(own))

    @property
    def flat(self) -> SPN:
        return flat(self.kernels)


def _centred(kernel: Kernel) -> Kernel:
    if kernel.spec.kernel == "precomputed":
        return kernel
    spec = kernel.spec
    return Kernel(
        spec.kernel, features=spec.features, normalize="centred", label=kernel.node.label, **dict(spec.params)
    )


def leaves_of(
    columns: Sequence[int | str], views: Views | None = None, kernels: Kernel | Sequence[Kernel] | None = None
) -> Leaves:
    """The kernels for some columns.

    Parameters
    ----------
    columns : all columns, by name or position.
    views : name → columns; None: one view of all of them. Columns in no view make one of their own.
    kernels : kernels with columns of their own, used as they are; or prototypes without, for each column or view.
    """
    named = _all_views(columns, views)
    given = [kernels] if isinstance(kernels, Kernel) else None if kernels is None else list(kernels)
    if given is not None and not (given and all(isinstance(kernel, Kernel) for kernel in given)):
        raise ParameterError(f"kernels must be a Kernel or a list of at least one, but it is {describe(kernels)}.")
    if given is not None and any(kernel.spec.features is not None for kernel in given):
        found = _placed(given, named)
    elif len(columns) <= MOST_COLUMNS:
        found = _by_column(named, given or [RBF])
    else:
        found = _by_view(named, given)
    if len(found.kernels) > MOST_LEAVES:
        raise ParameterError(
            f"A search builds with at most {MOST_LEAVES} kernels, but these are {len(found.kernels)}; give fewer "
            "kernels, or put columns together in views."
        )
    return found


def _all_views(columns: Sequence[int | str], views: Views | None) -> dict[str, list[int | str]]:
    if views is None:
        return {ALL: list(columns)}
    if not isinstance(views, Mapping) or not views:
        raise ParameterError(f"views must map names to columns, or be None, but it is {describe(views)}.")
    known: set[int | str] = set(columns)
    named: dict[str, list[int | str]] = {}
    for name, own in views.items():
        of_view: list[int | str] = [own] if isinstance(own, str) else list(own)
        for column in of_view:
            if column not in known:
                raise StructureError(f"View {name!r} names the column {describe(column)}, which X does not have.")
        if of_view:
            named[str(name)] = of_view
    rest = known.difference(*named.values())
    others = [column for column in columns if column in rest]
    if others:
        named[_free("others", named)] = others
    return named


def _free(name: str, taken: Iterable[str]) -> str:
    while name in taken:
        name = f"all {name}"
    return name


def _by_column(views: Mapping[str, Sequence[int | str]], prototypes: Sequence[Kernel]) -> Leaves:
    kernels: dict[int | str, list[Kernel]] = {}
    for own in views.values():
        for column in own:
            if column not in kernels:
                kernels[column] = _named(str(column), [column], prototypes)
    number = {id(kernel): k for k, kernel in enumerate(kernel for of in kernels.values() for kernel in of)}
    placed = {
        view: tuple(number[id(kernel)] for column in own for kernel in kernels[column]) for view, own in views.items()
    }
    return Leaves(tuple(kernel for of in kernels.values() for kernel in of), placed)


def _by_view(views: Mapping[str, Sequence[int | str]], prototypes: Sequence[Kernel] | None) -> Leaves:
    """Of one view several widths, so that there is something to add; of several views an rbf and a linear kernel."""
    usual = WIDE if len(views) == 1 else (RBF, Kernel("linear"))
    found: list[Kernel] = []
    placed = {}
    for view, own in views.items():
        several = _named(view, own, prototypes or usual)
        placed[view] = tuple(range(len(found), len(found) + len(several)))
        found += several
    return Leaves(tuple(found), placed)


def _named(name: str, columns: Sequence[int | str], prototypes: Sequence[Kernel]) -> list[Kernel]:
    if len(prototypes) == 1:
        return [prototypes[0].on(columns, name)]
    return [one.on(columns, f"{name} {one.node.label or _title(one)}") for one in prototypes]


def _title(kernel: Kernel) -> str:
    width = dict(kernel.spec.params).get("gamma")
    return kernel.spec.kernel if width in (None, "median") else f"{kernel.spec.kernel} {width}"


def _placed(kernels: Sequence[Kernel], views: Mapping[str, Sequence[int | str]]) -> Leaves:
    """Kernels as given: each in the first view that has all of its columns, or in one of those that span views."""
    placed: dict[str, list[int]] = {}
    for k, kernel in enumerate(kernels):
        own = set(kernel.spec.features or ())
        home = next((view for view, columns in views.items() if own and own <= set(columns)), ALL)
        placed.setdefault(home, []).append(k)
    labelled = [
        kernel if kernel.node.label else kernel.on(kernel.spec.features, f"K{k + 1}")
        for k, kernel in enumerate(kernels)
    ]
    return Leaves(tuple(labelled), {view: tuple(own) for view, own in placed.items()}, free=False)
