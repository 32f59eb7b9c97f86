"""What can be wrong with a kernel leaf, in plain words: one source for `fit` and for the drawing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any

from spnmkl.errors import KernelError
from spnmkl.kernels import registry
from spnmkl.kernels.normalization import NORMALIZATIONS
from spnmkl.structure import SPN, Issue, KernelSpec
from spnmkl.structure.text import leaf_name

_COMPARED_NAMES = 500


@dataclass(frozen=True)
class DataColumns:
    """The columns of the data: how many, and where each name stands."""

    n: int
    positions: Mapping[str, tuple[int, ...]] | None = None

    @classmethod
    def of(cls, feature_names: Sequence[str] | None, n_features: int) -> "DataColumns":
        if feature_names is None:
            return cls(n_features)
        positions: dict[str, tuple[int, ...]] = {}
        for position, name in enumerate(feature_names):
            positions[name] = (*positions.get(name, ()), position)
        return cls(n_features, positions)

    def problem(self, feature: int | str) -> str | None:
        if isinstance(feature, int):
            beyond = f"the data have {self.n} columns; use positions from 0 to {self.n - 1}"
            return None if 0 <= feature < self.n else beyond
        if self.positions is None:
            return "the columns have no names; give its position, or pass a data frame"
        found = len(self.positions.get(feature, ()))
        if found > 1:
            return f"{found} columns have that name; give its position"
        return None if found == 1 else f"no column has that name; {self._suggestion(feature)}"

    def _suggestion(self, feature: str) -> str:
        names = [str(name) for name in islice(self.positions or (), _COMPARED_NAMES)]
        close = get_close_matches(feature, names, n=1)
        return f"the closest name is {close[0]!r}" if close else "check its spelling"

    def resolve(self, features: tuple[int | str, ...] | None) -> tuple[int, ...] | None:
        """Positions of features without problem; None for all columns in their order."""
        if features is None:
            return None
        named = self.positions or {}
        columns = tuple(f if isinstance(f, int) else named[f][0] for f in features)
        return None if columns == tuple(range(self.n)) else columns


def validate_kernels(
    spn: SPN, feature_names: Sequence[str] | None = None, n_features: int | None = None
) -> list[Issue]:
    """List what is wrong with the kernels of a structure, besides what `SPN.validate` lists.

    Columns are checked when the data are known: give their names, their number, or both.

    Parameters
    ----------
    spn : SPN
        The structure.
    feature_names : sequence of str, default=None
        Names of the columns.
    n_features : int, default=None
        Number of the columns.

    Returns
    -------
    list of Issue
        Empty where every kernel can be computed.

    Examples
    --------
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import validate_kernels
    >>> [issue.code for issue in validate_kernels(templates.flat(["height"]), feature_names=["heigth"])]
    ['unknown_column']
    """
    if n_features is None and feature_names is not None:
        n_features = len(feature_names)
    columns = None if n_features is None else DataColumns.of(feature_names, n_features)
    return [
        Issue(code, "warning" if code == "needs_matrix" else "error", (leaf,), message)
        for leaf in spn.kernels
        for code, message in _problems(spn.spec(leaf), kernel_of(spn.spec(leaf), leaf_name(spn, leaf)), columns)
    ]


def kernel_of(spec: KernelSpec, leaf: str | None = None) -> str:
    """What messages call a kernel."""
    return f"Kernel {spec.kernel!r}" + ("" if leaf is None else f" of leaf {leaf!r}")


def check_spec(spec: KernelSpec, who: str, columns: DataColumns) -> None:
    """Raise the first problem of a specification, if there is one."""
    if spec.features == ():
        raise KernelError(f"{who} sees no column; list at least one, or leave the list out to use all.")
    for _, message in _problems(spec, who, columns):
        raise KernelError(message)


def _problems(spec: KernelSpec, who: str, columns: DataColumns | None) -> Iterator[tuple[str, str]]:
    """Code and sentence of each problem."""
    kernel = registry.find(spec.kernel)
    if kernel is None:
        yield "unknown_kernel", registry.unknown_kernel(who)
    else:
        yield from _parameter_problems(kernel.schema, dict(spec.params), who)
    if spec.normalize not in NORMALIZATIONS:
        known = ", ".join(NORMALIZATIONS)
        yield "unknown_normalization", f"{who} has no normalisation {spec.normalize!r}; use one of {known}."
    if kernel is not None and kernel.function is None:
        yield (
            "needs_matrix",
            f"{who} needs its matrix, which cannot be computed from columns;"
            " pass it to spnmkl.solve under the leaf's id.",
        )
    elif columns is not None:
        yield from _column_problem(spec.features or (), who, columns)


def _parameter_problems(
    schema: tuple[registry.Parameter, ...], params: dict[str, Any], who: str
) -> Iterator[tuple[str, str]]:
    known = {parameter.name: parameter for parameter in schema}
    for name, value in params.items():
        if name not in known:
            takes = ", ".join(known) or "none"
            yield "unknown_parameter", f"{who} has no parameter {name!r}; it takes {takes}."
        elif not known[name].accepts(value):
            expected = known[name].expected()
            yield "bad_parameter", f"{who} needs {name} to be {expected}; found {value!r}."


def _column_problem(features: tuple[int | str, ...], who: str, columns: DataColumns) -> Iterator[tuple[str, str]]:
    """The first column that cannot be had; a renamed table would give hundreds."""
    for feature in features:
        problem = columns.problem(feature)
        if problem is not None:
            yield "unknown_column", f"{who} asks for column {feature!r}, but {problem}."
            return
