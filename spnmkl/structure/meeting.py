"""Which products stand for the paths through given nodes, and how often one path meets them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN


def products_through(spn: SPN, nodes: Iterable[str]) -> set[str] | None:
    """Products such that a path meets one of them just when it meets one of the nodes; None: every path does.

    A path that takes a product takes all of its children, so for a sum or a kernel these are its parents.
    """
    products: set[str] = set()
    for node in nodes:
        if spn.kind(node) == "product":
            products.add(node)
        elif node == spn.root:
            return None
        else:
            products.update(spn.parents(node))
    return products


def most_met(spn: SPN, nodes: Collection[str], place: Mapping[str, int]) -> int:
    """The most often that one path meets any of the nodes; `place` is the topological order."""
    above, waiting = set(nodes), list(nodes)
    while waiting:
        parents = set(spn.parents(waiting.pop())) - above
        above |= parents
        waiting += parents
    met: dict[str, int] = {}
    for v in sorted(above, key=place.__getitem__, reverse=True):
        below = [met[child] for child in spn.children(v) if child in met]
        met[v] = (v in nodes) + (max(below, default=0) if spn.kind(v) == "sum" else sum(below))
    return met.get(spn.root, 0)
