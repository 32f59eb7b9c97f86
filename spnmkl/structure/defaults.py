"""The drawing of somebody who has not drawn one: a flat sum of kernels that suit what the columns are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from spnmkl.errors import StructureError
from spnmkl.structure.graph import SPN
from spnmkl.structure.nodes import Kernel, Product, Sum

Suits = Literal["distances", "angles", "categories", "matrix"]
Column = str | int

# Multiples of the median width. From the widest, which is as good as a square, to the narrowest that still finds rows
# of many columns alike; four times apart, since accuracy hardly changes within a factor of two.
WIDTHS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0)
FEWER_WIDTHS = (1 / 4, 1.0)  # of every view, where the columns of all have the others
MANY_VIEWS = 12  # from here on a view has one width: more could not be looked through
ALL = "all"
ALONE_P = 2.0
_ALIKE = "unit_variance"  # else a wide kernel is nearly constant, and its weight says little


@dataclass(frozen=True)
class Part:
    """Columns that belong together, and what kernel suits them.

    Attributes
    ----------
    name : str
        What to call them; "" for the whole table.
    columns : tuple of str or int, or None
        None for all that there are.
    suits : {"distances", "angles", "categories", "matrix"}
        Measurements, whose distances tell; counts and words, whose proportions do; values that are equal or not; or a
        given matrix of that name, of no columns.

    Examples
    --------
    >>> from spnmkl.structure.defaults import Part
    >>> Part("blood", ("glucose", "iron")).suits
    'distances'
    """

    name: str
    columns: tuple[Column, ...] | None = None
    suits: Suits = "distances"


def default_drawing(parts: Sequence[Part], median: float | None = None, *, several: bool = True) -> SPN:
    """A flat sum over views: every column takes part, and no view is multiplied with another.

    Measurements get rbf kernels of several widths, taken from their distances, and a linear one; counts and words the
    cosine and one rbf; categories the hamming kernel. Where several parts have numbers, those together get rbf kernels
    of several widths as well, labelled "all".

    Parameters
    ----------
    parts : sequence of Part
        The views, or the whole table as one.
    median : float, default=None
        1 / (the median squared distance of the whole table, as one part), which widths are multiples of; None: as the
        training rows have it.
    several : bool, default=True
        Whether there are several widths, and kernels over all parts: the most accurate choice, for weights that are
        chosen by cross-validation. Else one width for each part, whose weights can be read as those of the parts.

    Returns
    -------
    SPN
        One layer.

    Raises
    ------
    StructureError
        There is no part.

    Examples
    --------
    >>> from spnmkl.structure.defaults import Part, default_drawing
    >>> spn = default_drawing([Part("blood", ("glucose", "iron")), Part("sex", ("sex",), "categories")])
    >>> [spn.label(leaf) for leaf in spn.kernels]
    ['blood 1/64', 'blood 1/16', 'blood 1/4', 'blood', 'blood 4', 'blood linear', 'sex']
    """
    if not parts:
        raise StructureError("A drawing needs columns or matrices, but there are none; name a table that has them.")
    numbers = [part for part in parts if part.suits in ("distances", "angles")]
    together = len(numbers) > 1
    few = not several or len(parts) >= MANY_VIEWS
    widths = (1.0,) if few else FEWER_WIDTHS if together else WIDTHS
    leaves = [leaf for part in parts for leaf in _kernels(part, widths, median)]
    if together and several:
        columns = None if len(numbers) == len(parts) else _columns(numbers)
        leaves += _rbfs(columns, _free(ALL, parts), WIDTHS, median)
    return SPN(Sum(*(Product(leaf) for leaf in leaves)))


def each_alone(spn: SPN) -> dict[str, SPN]:
    """Of a flat drawing, each kernel alone that sees the columns of all the others, as a drawing with the same ids.

    Its weight has p = 2: with p = 1 no C would give the machines that a small C gives on the kernel as it is, since
    below C_min the weight is 0; with p = 2 every one of them is the certified optimum at some C.
    There is none beside kernels for categories or given matrices, which no other kernel can stand for.

    Parameters
    ----------
    spn : SPN
        One layer.

    Returns
    -------
    dict from label to SPN
        One path each.

    Examples
    --------
    >>> from spnmkl.structure.defaults import Part, default_drawing, each_alone
    >>> list(each_alone(default_drawing([Part("blood", ("glucose", "iron")), Part("scan", ("area", "mass"))])))
    ['all 1/64', 'all 1/16', 'all 1/4', 'all', 'all 4']
    """
    specs = {leaf: spn.spec(leaf) for leaf in spn.kernels}
    if any(spec.kernel in ("hamming", "precomputed") for spec in specs.values()):
        return {}
    seen = [spec.features for spec in specs.values()]
    everything = None if None in seen else max((features for features in seen if features is not None), key=len)
    return {spn.label(leaf): _alone(spn, leaf) for leaf, spec in specs.items() if spec.features == everything}


def by_width(alone: Iterable[SPN]) -> tuple[list[SPN], list[SPN]]:
    """Of drawings of one kernel those whose answers change little by little, widest first, and the others.

    A linear kernel is what rbf kernels come to be as they get wider.
    """
    widths: list[SPN] = []
    others: list[SPN] = []
    for spn in alone:
        kernel = spn.spec(spn.kernels[0]).kernel
        if kernel == "linear":
            widths.insert(0, spn)
        else:
            (widths if kernel == "rbf" else others).append(spn)
    return widths, others


def _alone(spn: SPN, leaf: str) -> SPN:
    stored, product = spn.to_dict(), spn.parents(leaf)[0]
    nodes = [node for node in stored["nodes"] if node["id"] in (spn.root, product, leaf)]
    return SPN.from_dict({**stored, "nodes": nodes, "edges": [[spn.root, product], [product, leaf]]}).with_p(ALONE_P)


def _kernels(part: Part, widths: Sequence[float], median: float | None) -> Iterator[Kernel]:
    features = None if part.columns is None else list(part.columns)
    if part.suits == "matrix":
        yield Kernel("precomputed", label=part.name)
    elif part.suits == "categories":
        yield Kernel("hamming", features=features, label=part.name or "categories", normalize=_ALIKE)
    elif part.suits == "angles":
        yield Kernel("cosine", features=features, label=_called(part.name, "cosine"), normalize=_ALIKE)
        yield from _rbfs(features, part.name, (1.0,), median)
    else:
        yield from _rbfs(features, part.name, widths, median)
        yield Kernel("linear", features=features, label=_called(part.name, "linear"), normalize=_ALIKE)


def _rbfs(features: Sequence[Column] | None, name: str, widths: Sequence[float], median: float | None) -> list[Kernel]:
    def rbf(width: float) -> Kernel:
        label, gamma = f"{name or 'rbf'}{_written(width)}", _gamma(width, median)
        return Kernel("rbf", gamma=gamma, features=features, label=label, normalize=_ALIKE)

    return [rbf(width) for width in widths]


def _gamma(width: float, median: float | None) -> float | str:
    if median is not None:
        return width * median
    return "median" if width == 1 else f"{width:g}*median"


def _written(width: float) -> str:
    return "" if width == 1 else f" 1/{1 / width:g}" if width < 1 else f" {width:g}"


def _called(name: str, kernel: str) -> str:
    return f"{name} {kernel}" if name else kernel


def _columns(parts: Sequence[Part]) -> list[Column]:
    return list(dict.fromkeys(column for part in parts for column in part.columns or ()))


def _free(wish: str, parts: Sequence[Part]) -> str:
    name = wish
    while any(part.name == name for part in parts):
        name = f"{name} of it"
    return name
