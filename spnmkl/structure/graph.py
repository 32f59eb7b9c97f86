"""The drawing itself: an immutable rooted graph of sums, products and kernels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from numbers import Integral
from typing import TYPE_CHECKING, Any

from spnmkl.errors import ParameterError, StructureError
from spnmkl.notebook import drawing
from spnmkl.structure.expand import embed, expand
from spnmkl.structure.formula import symbols, write_formula
from spnmkl.structure.nodes import (
    Children,
    Expression,
    KernelSpec,
    Kind,
    Node,
    Nodes,
    as_number,
    describe,
    read_expression,
)
from spnmkl.structure.paths import Path, count_layers, count_paths, iterate_paths
from spnmkl.structure.repair import repair
from spnmkl.structure.serialization import (
    read_dict,
    read_json,
    read_networkx,
    read_node,
    write_dict,
    write_json,
    write_networkx,
    write_node,
)
from spnmkl.structure.text import name_nodes
from spnmkl.structure.validation import Issue, find_issues

if TYPE_CHECKING:
    import networkx as nx

    from spnmkl.structure.sparsity import Prunable


class SPN:
    """A sum-product network over kernels.

    Sums add their children, a product is a learned weight β ≥ 0 times the entry-wise product of its children,
    leaves are base kernels. An SPN never changes; every method that alters something returns a new one.
    Drawings that are not valid are accepted, so that they can be shown and repaired: see `validate`, `check`.

    Parameters
    ----------
    expression : Sum, Product or Kernel
        Objects that occur in several places of the expression are shared nodes. Nodes without an ``id=`` are
        numbered s1, p1, k1, … in depth-first order. A kernel given twice to one product becomes two equal
        leaves.

    Raises
    ------
    StructureError
        The expression is none, or two nodes have the same id.

    Examples
    --------
    >>> from spnmkl import SPN, Sum, Product, Kernel
    >>> spn = SPN(Sum(Product(Kernel("linear")), Product(Kernel("rbf", gamma=0.5))))
    >>> spn
    SPN(1 sum, 2 products, 2 kernels)
    >>> spn.formula(latex=False)
    'K = β₁K₁ + β₂K₂'
    """

    _nodes: Nodes
    _children: Children

    def __init__(self, expression: Expression) -> None:
        self._nodes, self._children = read_expression(expression)

    @classmethod
    def _of(cls, nodes: Nodes, children: Children) -> SPN:
        spn = cls.__new__(cls)
        spn._nodes, spn._children = nodes, children
        return spn

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SPN:
        """Read the dictionary form of the structure format.

        Parameters
        ----------
        data : mapping
            As `to_dict` gives it; `from_json` lists the keys.

        Returns
        -------
        SPN
            The drawing, also one that is not valid.
        """
        return cls._of(*read_dict(data))

    @classmethod
    def from_json(cls, text: str | bytes) -> SPN:
        """Read the structure format, version 1.

        ``{"format": "spnmkl/structure", "version": 1, "nodes": […], "edges": [[parent, child], …]}``, each
        node with its ``id`` and ``kind`` and, where they apply, ``label``, ``p``, ``kernel``, ``params``,
        ``features``, ``normalize``, ``x``, ``y``. Any other key is refused, so that a misspelt one cannot go
        unnoticed.

        Parameters
        ----------
        text : str or bytes
            JSON, as `to_json` gives it.

        Returns
        -------
        SPN
            The drawing, also one that is not valid.

        Raises
        ------
        StructureError
            The text is not in the format.
        """
        return cls._of(*read_json(text))

    @classmethod
    def from_networkx(cls, graph: nx.DiGraph) -> SPN:
        """Read a directed graph whose nodes carry the keys of the structure format as attributes.

        Parameters
        ----------
        graph : networkx.DiGraph
            Edges go from parent to child.

        Returns
        -------
        SPN
            The drawing, also one that is not valid.
        """
        return cls._of(*read_networkx(graph))

    def to_dict(self) -> dict[str, Any]:
        """The drawing in the structure format, as a dictionary.

        Returns
        -------
        dict
            What `from_dict` reads.
        """
        return write_dict(self._nodes, self._children)

    def to_json(self, indent: int | None = None) -> str:
        """The drawing in the structure format, as text.

        Parameters
        ----------
        indent : int, default=None
            Spaces per level; None for a single line.

        Returns
        -------
        str
            What `from_json` reads.
        """
        return write_json(self._nodes, self._children, indent)

    def to_networkx(self) -> nx.DiGraph:
        """A new graph that may be changed freely.

        Returns
        -------
        networkx.DiGraph
            Nodes with the keys of the structure format, edges from parent to child.
        """
        return write_networkx(self._nodes, self._children)

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The structure as a frozen networkx graph."""
        from networkx import freeze

        return freeze(self.to_networkx())

    @property
    def nodes(self) -> tuple[str, ...]:
        """All ids in order of definition."""
        return tuple(self._nodes)

    @cached_property
    def sums(self) -> tuple[str, ...]:
        """Ids of the sums."""
        return self._of_kind("sum")

    @cached_property
    def products(self) -> tuple[str, ...]:
        """Ids of the products, each of which has a weight."""
        return self._of_kind("product")

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Ids of the leaves."""
        return self._of_kind("kernel")

    def _of_kind(self, kind: Kind) -> tuple[str, ...]:
        return tuple(i for i, node in self._nodes.items() if node.kind == kind)

    def _node(self, id: str) -> Node:
        try:
            return self._nodes[id]
        except (KeyError, TypeError):
            raise StructureError(f"There is no node {id!r} in this structure.") from None

    def kind(self, id: str) -> Kind:
        """What a node is.

        Parameters
        ----------
        id : str
            A node.

        Returns
        -------
        {"sum", "product", "kernel"}
            Its kind.
        """
        return self._node(id).kind

    def label(self, id: str) -> str:
        """The label of a node, or its id where it has none.

        Parameters
        ----------
        id : str
            A node.

        Returns
        -------
        str
            What to call it.
        """
        return self._node(id).label or id

    @cached_property
    def names(self) -> Mapping[str, str]:
        """What every weight and every kernel is called, wherever it is written: β₃, β_colour, K₄, K[left eye].

        The label, or the id where there is none or it would stand for two.
        """
        return symbols(self)

    def p(self, id: str) -> float:
        """The exponent of a product's weight in the regulariser.

        Parameters
        ----------
        id : str
            A product.

        Returns
        -------
        float
            Its p.
        """
        return self._require(id, "product", "has a p").p

    def spec(self, id: str) -> KernelSpec:
        """What a leaf computes.

        Parameters
        ----------
        id : str
            A kernel.

        Returns
        -------
        KernelSpec
            Kernel, parameters, columns and normalisation.
        """
        spec = self._require(id, "kernel", "has a specification").spec
        assert spec is not None
        return spec

    def position(self, id: str) -> tuple[float, float] | None:
        """Where the node is drawn, if that is known.

        Parameters
        ----------
        id : str
            A node.

        Returns
        -------
        tuple of float, or None
            x to the right, y downwards.
        """
        node = self._node(id)
        return None if node.x is None or node.y is None else (node.x, node.y)

    def _require(self, id: str, kind: Kind, what: str) -> Node:
        node = self._node(id)
        if node.kind != kind:
            raise StructureError(f"Only a {kind} {what}; the node {id!r} is a {node.kind}.")
        return node

    def children(self, id: str) -> tuple[str, ...]:
        """The children in drawn order.

        Parameters
        ----------
        id : str
            A node.

        Returns
        -------
        tuple of str
            Their ids.
        """
        self._node(id)
        return self._children[id]

    def parents(self, id: str) -> tuple[str, ...]:
        """The nodes directly above.

        Parameters
        ----------
        id : str
            A node.

        Returns
        -------
        tuple of str
            Their ids; none for the root.
        """
        self._node(id)
        return self._parents[id]

    @cached_property
    def _parents(self) -> Children:
        parents: dict[str, list[str]] = {i: [] for i in self._nodes}
        for parent, children in self._children.items():
            for child in children:
                parents[child].append(parent)
        return {i: tuple(above) for i, above in parents.items()}

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """Every node without a parent; a valid structure has exactly one."""
        return tuple(i for i, above in self._parents.items() if not above)

    @property
    def root(self) -> str:
        """The one node without a parent."""
        if len(self.roots) != 1:
            found = f"{len(self.roots):,}: {name_nodes(self, self.roots)}" if self.roots else "none"
            raise StructureError(f"A structure needs exactly one root (a node without a parent); found {found}.")
        return self.roots[0]

    @cached_property
    def _sorted(self) -> tuple[str, ...]:
        """Kahn's order; nodes on a cycle or below one are left out."""
        waiting = {i: len(above) for i, above in self._parents.items()}
        order = list(self.roots)
        for node in order:
            for child in self._children[node]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    order.append(child)
        return tuple(order)

    def topological_order(self) -> tuple[str, ...]:
        """All ids, parents before children, always in the same order.

        Returns
        -------
        tuple of str
            The ids.

        Raises
        ------
        StructureError
            The drawing has a cycle.
        """
        if len(self._sorted) < len(self._nodes):
            raise StructureError(next(issue.message for issue in self.validate() if issue.code == "cycle"))
        return self._sorted

    def validate(self) -> list[Issue]:
        """Everything wrong or doubtful about the drawing, the most fundamental first.

        Returns
        -------
        list of Issue
            Empty for a drawing without errors and warnings.
        """
        return list(self._issues)

    @cached_property
    def _issues(self) -> tuple[Issue, ...]:
        return tuple(find_issues(self))

    def check(self) -> None:
        """Raise a `StructureError` unless the drawing is valid.

        Raises
        ------
        StructureError
            The first error that `validate` lists.
        """
        errors = [issue for issue in self._issues if issue.severity == "error"]
        if errors:
            n = len(errors) - 1
            more = f" ({n:,} more error{'s' * (n > 1)}: see validate().)" if n else ""
            raise StructureError(errors[0].message + more)

    def repaired(self) -> SPN:
        """Apply the repairs that `validate` offers; it offers them where they leave a valid drawing.

        Returns
        -------
        SPN
            The repaired drawing, or the drawing itself.
        """
        return self._of(*repair(self))

    def prunable(self, p: float | Mapping[str, float] | str | None = None) -> dict[str, Prunable]:
        """Which products can be pruned under their p.

        Parameters
        ----------
        p : float, mapping from product to float, "sparse" or None, default=None
            The exponents to judge by; None for those of the structure.

        Returns
        -------
        dict from product to Prunable
            Whether it can vanish, with which others, and why.
        """
        from spnmkl.structure.sparsity import prunable

        return prunable(self, p)

    def replace(self, id: str, **changes: Any) -> SPN:
        """Change one node by the keys of the structure format.

        Parameters
        ----------
        id : str
            The node.
        **changes : float, str, dict or list
            ``label``, ``p``, ``kernel``, ``params``, ``features``, ``normalize``, ``x``, ``y``, …

        Returns
        -------
        SPN
            The drawing with this node changed.
        """
        changed = read_node(id, {**write_node(self._node(id)), **changes})
        return self._of({**self._nodes, id: changed}, self._children)

    def with_p(self, p: float | Mapping[str, float]) -> SPN:
        """Set the p of all products, or of those in a mapping.

        Parameters
        ----------
        p : float or mapping from product to float
            The exponents.

        Returns
        -------
        SPN
            The drawing with these exponents.
        """
        given = dict(p) if isinstance(p, Mapping) else dict.fromkeys(self.products, p)
        nodes = dict(self._nodes)
        for id, value in given.items():
            node = self._require(id, "product", "has a p")
            nodes[id] = dataclasses.replace(node, p=as_number(value, f"The p of product {id!r}"))
        return self._of(nodes, self._children)

    def embed(self, leaf: str, spn: SPN) -> SPN:
        """Replace a kernel leaf by another structure.

        Nodes of `spn` whose id is taken are numbered on; a product is put between two sums.

        Parameters
        ----------
        leaf : str
            The kernel to replace.
        spn : SPN
            What to put there.

        Returns
        -------
        SPN
            The larger drawing.
        """
        self._require(leaf, "kernel", "can be replaced by a structure")
        if not isinstance(spn, SPN):
            raise StructureError(f"Only an SPN can be embedded; found {describe(spn)}.")
        return self._of(*embed(self, leaf, spn))

    @cached_property
    def n_paths(self) -> int:
        """The exact number of paths, without listing them."""
        return count_paths(self)

    @cached_property
    def n_layers(self) -> int:
        """The number of layers of the deepest path."""
        return count_layers(self)

    def paths(self, limit: int | None = None) -> Iterator[Path]:
        """The paths one by one; asking for the first of 10^30 costs nothing.

        Parameters
        ----------
        limit : int, default=None
            The most to give; None for all.

        Returns
        -------
        iterator of Path
            In the order in which sums choose their children.

        Raises
        ------
        StructureError
            The drawing is not valid.
        """
        self.check()
        return islice(iterate_paths(self), None if limit is None else _whole(limit))

    def expanded(self, limit: int = 1000) -> SPN:
        """The path-dependent view: a sum over one product per path, labelled with the path's g.

        Parameters
        ----------
        limit : int, default=1000
            Refused above so many paths.

        Returns
        -------
        SPN
            Each product stands over its own copies of the path's kernels.

        Raises
        ------
        StructureError
            The drawing is not valid or has more paths.
        """
        self.check()
        return self._of(*expand(self, _whole(limit)))

    def formula(self, latex: bool = True, limit: int = 300) -> str:
        """The drawing as a formula, with the raw weights β.

        What is learned is K(β) = Σ_m g_m(β) K_m, in which each weight has its exponent; see `paths`.

        Parameters
        ----------
        latex : bool, default=True
            LaTeX, or plain Unicode.
        limit : int, default=300
            Cut with an ellipsis after so many nodes.

        Returns
        -------
        str
            The formula.
        """
        self.topological_order()
        return write_formula(self, latex, limit)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SPN):
            return NotImplemented
        return self._nodes == other._nodes and self._children == other._children

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((frozenset(self._nodes.items()), frozenset(self._children.items())))

    def __reduce__(self) -> tuple[Any, ...]:
        return SPN._of, (self._nodes, self._children)

    def __repr__(self) -> str:
        kinds = {"sum": self.sums, "product": self.products, "kernel": self.kernels}
        counts = (f"{len(ids):,} {kind}{'s' * (len(ids) != 1)}" for kind, ids in kinds.items())
        return f"SPN({', '.join(counts)})"

    def _repr_svg_(self) -> str | None:
        """The picture that a notebook shows."""
        return drawing(self)


def _whole(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, Integral) or limit < 0:
        raise ParameterError(f"limit must be a whole number of at least 0, but it is {limit!r}.")
    return int(limit)
