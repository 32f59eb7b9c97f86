"""Structures to start from. Each function takes the kernels, or the columns, that it should use.

Wherever kernels are expected, three forms are understood:

- `Kernel` objects, used as they are;
- column names or positions: each column gets `prototype` (or every one of several prototypes) for itself;
- a mapping from a view's name to its columns: each view gets `prototype`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Literal

from spnmkl.errors import StructureError
from spnmkl.structure.graph import SPN
from spnmkl.structure.nodes import Kernel, Product, Sum, as_text, describe
from spnmkl.structure.validation import MAX_NODES

__all__ = [
    "TEMPLATES",
    "Template",
    "figure1",
    "flat",
    "grouped",
    "hierarchy",
    "pairwise_products",
    "polynomial",
    "product_of_sums",
    "taylor_exp",
]

Columns = Sequence[int | str]
Kernels = Sequence[Kernel] | Columns | Mapping[str, Columns]
Groups = Mapping[str, Kernels]
Prototype = Kernel | Sequence[Kernel]

# Widths come from the data: at the median distance a kernel has 1/e of its value at 0, whatever the number of columns.
RBF = Kernel("rbf", gamma="median")
SEVEN_WIDTHS = [
    Kernel("rbf", gamma="median" if times == 1 else f"{times:g}*median")
    for times in (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0)
]
MAX_DEGREE = 50


def flat(kernels: Kernels, *, prototype: Prototype = RBF, p: float = 1.0) -> SPN:
    """A weighted sum of kernels: SimpleMKL at p = 1, ℓ_p-norm MKL above.

    Parameters
    ----------
    kernels : sequence of Kernel, sequence of columns, or mapping from view to columns
        What to add; columns are names or positions.
    prototype : Kernel or sequence of Kernel, default=RBF
        What each column or view gets, by default rbf of the median width; of several, each.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        One product per kernel below one sum.

    Raises
    ------
    StructureError
        There is no kernel, or kernels and columns are mixed.

    Examples
    --------
    >>> from spnmkl import templates
    >>> templates.flat({"size": ["height", "width"], "colour": ["red", "green", "blue"]}).formula(latex=False)
    'K = β_size K_size + β_colour K_colour'
    """
    return SPN(_weighted_sum(_leaves(kernels, prototype), p))


def grouped(groups: Groups, *, prototype: Prototype = RBF, p: float = 1.0) -> SPN:
    """A weighted sum of groups, each a weighted sum of kernels: composite kernel learning.

    Parameters
    ----------
    groups : mapping from name to kernels
        Each group in any of the three forms that `flat` takes.
    prototype : Kernel or sequence of Kernel, default=RBF
        What each column or view gets, by default rbf of the median width; of several, each.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        A sum of products over sums; with p = 1 a group is pruned as a whole. A group of one kernel has one weight: it
        is that kernel below one product, since its sum would have a single child.

    Raises
    ------
    StructureError
        There is no group, or one without kernels.

    Examples
    --------
    >>> from spnmkl import templates
    >>> templates.grouped({"size": ["height", "width"], "colour": ["red", "green"]}).formula(latex=False)
    'K = β_size (β_height K_height + β_width K_width) + β_colour (β_red K_red + β_green K_green)'
    """
    kernels = _group_leaves(groups, prototype)
    return SPN(
        Sum(
            *(
                Product(leaves[0] if len(leaves) == 1 else _weighted_sum(leaves, p, name), p=p, label=name)
                for name, leaves in kernels.items()
            )
        )
    )


def product_of_sums(groups: Groups, *, prototype: Prototype = RBF, p: float = 1.0) -> SPN:
    """The entry-wise product of one weighted sum per group: every combination of one kernel from each.

    Parameters
    ----------
    groups : mapping from name to kernels
        Each group in any of the three forms that `flat` takes.
    prototype : Kernel or sequence of Kernel, default=RBF
        What each column or view gets, by default rbf of the median width; of several, each.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        A product over one sum per group.

    Raises
    ------
    StructureError
        There is no group, or one without kernels.

    Examples
    --------
    >>> from spnmkl import templates
    >>> templates.product_of_sums({"size": ["height", "width"], "colour": ["red", "green", "blue"]}).n_paths
    6
    """
    sums = (_weighted_sum(leaves, p, name) for name, leaves in _group_leaves(groups, prototype).items())
    return SPN(Product(*sums, p=p))


def hierarchy(kernels: Kernels, separator: str = "__", *, prototype: Prototype = RBF, p: float = 1.0) -> SPN:
    """A tree of sums along nested names, such as scene → object → part in ``car__wheel__shape``.

    Kernels are placed by their label, columns and views by their name. A step that leads to one branch only
    is merged with the next, since its sum would have a single child.

    Parameters
    ----------
    kernels : sequence of Kernel, sequence of columns, or mapping from view to columns
        The leaves; kernels need labels.
    separator : str, default="__"
        What stands between the parts of a name.
    prototype : Kernel or sequence of Kernel, default=RBF
        What each column or view gets, by default rbf of the median width; of several, each.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        As deep as the names.

    Raises
    ------
    StructureError
        There is no kernel, or one without a label.

    Examples
    --------
    >>> from spnmkl import templates
    >>> templates.hierarchy(["car__wheel", "car__door", "road"]).formula(latex=False)
    'K = β_car (β_car__wheel K_car__wheel + β_car__door K_car__door) + β_road K_road'
    """
    as_text(separator, "The separator of a hierarchy")
    trunk = _Branch([], 0)
    for leaf in _leaves(kernels, prototype):
        parts = _label(leaf).split(separator)
        branch = trunk
        for depth, part in enumerate(parts, 1):
            branch = branch.branches.setdefault(part, _Branch(parts, depth))
        branch.leaves.append(leaf)
    return SPN(_grown(trunk, separator, p))


def pairwise_products(
    kernels: Kernels, *, include_single: bool = False, prototype: Prototype = RBF, p: float = 1.0
) -> SPN:
    """A weighted sum over the products of all pairs of kernels, and over the single kernels if asked for.

    Parameters
    ----------
    kernels : sequence of Kernel, sequence of columns, or mapping from view to columns
        At least two.
    include_single : bool, default=False
        Whether each kernel is added by itself too.
    prototype : Kernel or sequence of Kernel, default=RBF
        What each column or view gets, by default rbf of the median width; of several, each.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        One product per pair below one sum.

    Raises
    ------
    StructureError
        There are fewer than two kernels, or so many that the drawing is too large.

    Examples
    --------
    >>> from spnmkl import templates
    >>> templates.pairwise_products(["a", "b", "c"]).formula(latex=False)
    'K = β₁K_a∘K_b + β₂K_a∘K_c + β₃K_b∘K_c'
    """
    leaves = _leaves(kernels, prototype, at_least=2)
    n_nodes = 1 + len(leaves) * (len(leaves) + 1) // 2 + len(leaves) * include_single
    if n_nodes > MAX_NODES:
        raise StructureError(
            f"All pairs of {len(leaves):,} kernels make {n_nodes:,} nodes; at most {MAX_NODES:,} are allowed."
        )
    singles = [Product(leaf, p=p) for leaf in leaves if include_single]
    return SPN(Sum(*singles, *(Product(*pair, p=p) for pair in combinations(leaves, 2))))


def polynomial(kernel: Kernel, degree: int = 3, *, p: float = 1.0) -> SPN:
    """A weighted sum of the entry-wise powers K, K∘K, … of one kernel.

    Parameters
    ----------
    kernel : Kernel
        What is raised to powers.
    degree : int, default=3
        The highest power, from 1 to 50.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        One product per power below one sum.

    Raises
    ------
    StructureError
        `kernel` is no Kernel, or the degree is out of range.

    Examples
    --------
    >>> from spnmkl import Kernel, templates
    >>> templates.polynomial(Kernel("linear"), degree=2).n_paths
    2
    """
    return _powers(kernel, degree, p)


def taylor_exp(kernel: Kernel, degree: int = 3, *, p: float = 1.0) -> SPN:
    """The powers in the Taylor series of exp(K), entry by entry.

    The coefficients are not part of the structure, they are what is learned: every power is one path of one
    product, so K(β) = Σ_j β_j K^j, and β_j = 1/j! gives exp(K) − 1 up to the terms left out. The constant 1
    is left to the classifier's intercept.

    Parameters
    ----------
    kernel : Kernel
        What is raised to powers.
    degree : int, default=3
        The highest power, from 1 to 50.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        One product per power below one sum.

    Raises
    ------
    StructureError
        `kernel` is no Kernel, or the degree is out of range.

    Examples
    --------
    >>> from spnmkl import Kernel, templates
    >>> templates.taylor_exp(Kernel("linear"), degree=4)
    SPN(1 sum, 4 products, 4 kernels)
    """
    return _powers(kernel, degree, p)


def figure1(kernels: Kernels | None = None, *, prototype: Prototype = RBF, p: float = 1.0) -> SPN:
    """Figure 1 of the paper: K = β₈(β₁K₁ + β₂K₂) + β₉(β₃K₃ + β₄K₄)∘(β₅K₅ + β₆K₆ + β₇K₇).

    Parameters
    ----------
    kernels : sequence of Kernel, sequence of columns, or mapping from view to columns, default=None
        Seven; None for seven rbf kernels, from 16 times as wide as the median distance to a quarter of it.
    prototype : Kernel or sequence of Kernel, default=RBF
        What each column or view gets, by default rbf of the median width; of several, each.
    p : float, default=1.0
        The exponent of every product.

    Returns
    -------
    SPN
        The drawing, with the products p1 to p9.

    Raises
    ------
    StructureError
        There are not seven kernels.

    Examples
    --------
    >>> from spnmkl import templates
    >>> templates.figure1().n_paths
    8
    """
    if kernels is None:
        kernels = SEVEN_WIDTHS
    leaves = _leaves(kernels, prototype)
    if len(leaves) != 7:
        raise StructureError(f"Figure 1 has 7 kernels; {len(leaves):,} were given.")
    b1, b2, b3, b4, b5, b6, b7 = (Product(leaf, p=p, id=f"p{i}") for i, leaf in enumerate(leaves, 1))
    b8 = Product(Sum(b1, b2), p=p, id="p8")
    b9 = Product(Sum(b3, b4), Sum(b5, b6, b7), p=p, id="p9")
    return SPN(Sum(b8, b9))


def _powers(kernel: Kernel, degree: int, p: float) -> SPN:
    if not isinstance(kernel, Kernel):
        raise StructureError(f"Powers are taken of one Kernel; found {describe(kernel)}.")
    if isinstance(degree, bool) or not isinstance(degree, int) or not 1 <= degree <= MAX_DEGREE:
        raise StructureError(f"The degree must be a whole number from 1 to {MAX_DEGREE}; found {describe(degree)}.")
    # A product needs as many leaves as its power; different powers share them.
    label = kernel.node.label or kernel.spec.kernel
    leaves = [kernel.on(kernel.spec.features, label) for _ in range(degree)]
    return SPN(Sum(*(Product(*leaves[:j], p=p) for j in range(1, degree + 1))))


@dataclass
class _Branch:
    """A shared beginning of names: the first `depth` of `parts`."""

    parts: list[str]
    depth: int
    branches: dict[str, _Branch] = field(default_factory=dict)
    leaves: list[Kernel] = field(default_factory=list)

    def name(self, separator: str) -> str | None:
        return separator.join(self.parts[: self.depth]) or None


def _grown(trunk: _Branch, separator: str, p: float) -> Sum:
    while len(trunk.branches) == 1 and not trunk.leaves:
        (trunk,) = trunk.branches.values()
    downwards = [trunk]
    for branch in downwards:
        downwards.extend(branch.branches.values())
    terms: dict[int, list[Product]] = {}
    for branch in reversed(downwards):
        own = [Product(leaf, p=p, label=leaf.node.label) for leaf in branch.leaves]
        for part in branch.branches.values():
            inner = terms.pop(id(part))
            own += inner if len(inner) == 1 else [Product(Sum(*inner), p=p, label=part.name(separator))]
        terms[id(branch)] = own
    return Sum(*terms[id(trunk)])


def _label(leaf: Kernel) -> str:
    if leaf.node.label is None:
        raise StructureError(f"A hierarchy places kernels by their labels; {leaf!r} has none: give label=.")
    return leaf.node.label


def _weighted_sum(leaves: list[Kernel], p: float, label: str | None = None) -> Sum:
    return Sum(*(Product(leaf, p=p, label=leaf.node.label) for leaf in leaves), label=label)


def _group_leaves(groups: Groups, prototype: Prototype) -> dict[str, list[Kernel]]:
    if not isinstance(groups, Mapping) or not groups:
        raise StructureError(
            "Groups must be a mapping from at least one name to its kernels or columns;"
            f" found {describe(groups) if groups else 'none'}."
        )
    return {name: _leaves(kernels, prototype) for name, kernels in groups.items()}


def _leaves(kernels: Kernels, prototype: Prototype, at_least: int = 1) -> list[Kernel]:
    if isinstance(kernels, str) or not isinstance(kernels, Iterable):
        raise StructureError(
            "Kernels must be a list of Kernel objects or columns, or a mapping from view names to columns;"
            f" found {describe(kernels)}."
        )
    leaves = _read(kernels, prototype)
    if len(leaves) < at_least:
        raise StructureError(
            f"The template needs at least {at_least} kernel{'s' * (at_least > 1)}; found {len(leaves)}."
        )
    return leaves


def _read(kernels: Kernels, prototype: Prototype) -> list[Kernel]:
    if isinstance(kernels, Mapping):
        return _applied(prototype, kernels.items())
    items = list(kernels)
    given = [item for item in items if isinstance(item, Kernel)]
    columns = [item for item in items if not isinstance(item, Kernel)]
    if given and columns:
        raise StructureError("Kernels and columns cannot be mixed in one list; put each column in a Kernel.")
    return given or _applied(prototype, ((str(column), [column]) for column in columns))


def _applied(prototype: Prototype, views: Iterable[tuple[str, Columns]]) -> list[Kernel]:
    """Every prototype on every view."""
    several = [prototype] if isinstance(prototype, Kernel) else list(prototype)
    if not several or not all(isinstance(one, Kernel) for one in several):
        raise StructureError("The prototype must be a Kernel or a list of at least one Kernel.")
    return [
        one.on(columns, name if len(several) == 1 else f"{name} {_title(one)}")
        for name, columns in views
        for one in several
    ]


def _title(kernel: Kernel) -> str:
    settings = ", ".join(f"{name}={value}" for name, value in kernel.spec.params)
    return kernel.node.label or kernel.spec.kernel + (f"({settings})" if settings else "")


@dataclass(frozen=True)
class Template:
    """A template as a list can show it.

    Attributes
    ----------
    name : str
        The name of its function.
    title : str
        What to call it.
    description : str
        One sentence.
    takes : {"kernels", "groups", "kernel"}
        What the first argument of its function is.
    function : callable
        What makes the structure.
    example : tuple
        Arguments of the function that show its shape.

    Examples
    --------
    >>> from spnmkl.structure.templates import TEMPLATES
    >>> TEMPLATES["flat"].title
    'Flat sum'
    """

    name: str
    title: str
    description: str
    takes: Literal["kernels", "groups", "kernel"]
    function: Callable[..., SPN]
    example: tuple[Any, ...] = (("a", "b", "c"),)

    def sketch(self) -> SPN:
        """The template over a few kernels, by which it is told apart from the others at a glance.

        Returns
        -------
        SPN
            Small enough for a card.
        """
        return self.function(*self.example)


_TWO_GROUPS = {"first": ("a", "b"), "second": ("c", "d")}
TEMPLATES: dict[str, Template] = {
    template.name: template
    for template in (
        Template("flat", "Flat sum", "A weighted sum of all kernels, as in SimpleMKL.", "kernels", flat),
        Template(
            "grouped", "Groups", "A weighted sum of groups of weighted kernels.", "groups", grouped, (_TWO_GROUPS,)
        ),
        Template(
            "hierarchy",
            "Hierarchy",
            "Sums nested along the parts of names, as deep as these are.",
            "kernels",
            hierarchy,
            (("car__wheel__shape", "car__wheel__size", "car__door", "road"),),
        ),
        Template(
            "product_of_sums",
            "Product of sums",
            "Multiplies one weighted sum per group, so that every combination of their kernels is a path.",
            "groups",
            product_of_sums,
            (_TWO_GROUPS,),
        ),
        Template(
            "pairwise_products",
            "Pairwise products",
            "A weighted sum over the products of all pairs of kernels.",
            "kernels",
            pairwise_products,
        ),
        Template(
            "polynomial",
            "Polynomial",
            "A weighted sum of the powers K, K∘K, … of one kernel.",
            "kernel",
            polynomial,
            (RBF, 3),
        ),
        Template(
            "taylor_exp",
            "Taylor series of exp(K)",
            "The powers of one kernel; with the weights 1, 1/2, 1/6, … their sum is its exponential.",
            "kernel",
            taylor_exp,
            (RBF, 4),
        ),
        Template(
            "figure1",
            "Figure 1",
            "The structure in the paper's Figure 1, over 7 kernels.",
            "kernels",
            figure1,
            (),
        ),
    )
}
