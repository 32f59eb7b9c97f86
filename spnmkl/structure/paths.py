"""Paths of a structure, one at a time, and how many there are (formulation, section 2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from spnmkl.errors import StructureError
from spnmkl.structure.formula import plain_symbol
from spnmkl.structure.text import RAISED

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

# Sharing below products lets a small drawing hold one path of 2^1000 leaves, or 2^(2^1000) paths.
MAX_PATH_LENGTH = 1_000_000
MAX_COUNT_BITS = 65_536


@dataclass(frozen=True)
class Path:
    """One way through the drawing: one child of every sum met, all children of every product.

    Attributes
    ----------
    leaves : tuple of str
        The kernels multiplied, as often as they are met.
    layers : tuple of tuple of str
        The products of every layer, as often as they are met.

    Examples
    --------
    >>> from spnmkl import templates
    >>> path = next(templates.figure1().paths())
    >>> path.leaves, path.layers
    (('k1',), (('p8',), ('p1',)))
    """

    leaves: tuple[str, ...]
    layers: tuple[tuple[str, ...], ...]

    @cached_property
    def exponents(self) -> Mapping[str, Fraction]:
        """e_mv of every product on the path; they add up to 1."""
        total: dict[str, Fraction] = {}
        for layer in self.layers:
            for v, times in Counter(layer).items():
                total[v] = total.get(v, Fraction(0)) + Fraction(times, len(self.layers) * len(layer))
        return total

    def g(self, symbols: Mapping[str, str] | None = None) -> str:
        """The path's weight written out, such as ``β₉¹⁄² β₄¹⁄⁴ β₆¹⁄⁴``.

        Parameters
        ----------
        symbols : mapping from str to str, default=None
            What each weight is called, such as `SPN.names`; by default after the ids of the products.

        Returns
        -------
        str
            The weights with their exponents.
        """
        return " ".join(
            (symbols[v] if symbols else plain_symbol("product", v)) + ("" if e == 1 else str(e).translate(RAISED))
            for v, e in self.exponents.items()
        )


def iterate_paths(spn: SPN) -> Iterator[Path]:
    """An odometer over the choices made at the sums, in the order they are met."""
    choices: list[int] = []
    while True:
        path, options = _follow(spn, choices)
        yield path
        while choices and choices[-1] + 1 == options[len(choices) - 1]:
            choices.pop()
        if not choices:
            return
        choices[-1] += 1


def _follow(spn: SPN, choices: list[int]) -> tuple[Path, list[int]]:
    """The path that makes these choices, then always the first (appended to them); the options there were."""
    leaves: list[str] = []
    layers: list[list[str]] = []
    options: list[int] = []
    # A product root is read as if a sum stood above it, so it lies in layer 1.
    stack = [(spn.root, 0 if spn.kind(spn.root) == "sum" else 1)]
    length = 0
    while stack:
        node, layer = stack.pop()
        kind, children = spn.kind(node), spn.children(node)
        length += 1
        if length + len(stack) > MAX_PATH_LENGTH:
            raise StructureError(
                f"A path of this structure meets more than {MAX_PATH_LENGTH:,} nodes, too many to list."
            )
        if kind == "kernel":
            leaves.append(node)
        elif kind == "product":
            layers += [[] for _ in range(layer - len(layers))]
            layers[layer - 1].append(node)
            stack.extend((child, layer) for child in reversed(children))
        else:
            options.append(len(children))
            if len(options) > len(choices):
                choices.append(0)
            stack.append((children[choices[len(options) - 1]], layer + 1))
    return Path(tuple(leaves), tuple(map(tuple, layers))), options


def count_paths(spn: SPN) -> int:
    count: dict[str, int] = {}
    for v in reversed(spn.topological_order()):
        below = [count[child] for child in spn.children(v)]
        if spn.kind(v) == "sum":
            count[v] = sum(below)
        elif spn.kind(v) == "product":
            count[v] = _bounded_product(below)
        else:
            count[v] = 1
    return count[spn.root]


def _bounded_product(factors: list[int]) -> int:
    result = 1
    for factor in factors:
        result *= factor
        if result.bit_length() > MAX_COUNT_BITS:
            raise StructureError(
                f"The structure has more than 2^{MAX_COUNT_BITS - 1:,} paths, too many even to count;"
                " share fewer nodes below its products."
            )
    return result


def count_layers(spn: SPN) -> int:
    """The most sums above any product, with one above a product root."""
    return max(product_layers(spn).values(), default=0)


def product_layers(spn: SPN) -> dict[str, int]:
    """Product → the most sums above it on any way from the root, with one above a product root."""
    root = spn.root
    above = dict.fromkeys(spn.nodes, 0)
    above[root] = 0 if spn.kind(root) == "sum" else 1
    for v in spn.topological_order():
        for child in spn.children(v):
            above[child] = max(above[child], above[v] + (spn.kind(v) == "sum"))
    return {v: above[v] for v in spn.products}


def drawn_path(spn: SPN, path: Path) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The nodes and edges of the drawing that a path takes, from the root down.

    The path is walked as `SPN.paths` walks it: the products of a layer come in the order in which they are met.
    """
    nodes: dict[str, None] = {}
    edges: dict[tuple[str, str], None] = {}
    met = [0] * len(path.layers)
    stack = [(spn.root, 0 if spn.kind(spn.root) == "sum" else 1)]
    while stack:
        node, layer = stack.pop()
        nodes[node] = None
        children = spn.children(node)
        if spn.kind(node) == "product":
            met[layer - 1] += 1
        elif spn.kind(node) == "sum":
            children, layer = (path.layers[layer][met[layer]],), layer + 1
        edges.update(dict.fromkeys((node, child) for child in children))
        stack.extend((child, layer) for child in reversed(children))
    return tuple(nodes), tuple(edges)
