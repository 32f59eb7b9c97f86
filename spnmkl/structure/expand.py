"""Structures made from structures: embedding, and the path-dependent view."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spnmkl.errors import StructureError
from spnmkl.structure.nodes import Children, FreshIds, Node, Nodes, unlabelled
from spnmkl.structure.repair import Room, insert_products

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN


def embed(outer: SPN, leaf: str, inner: SPN) -> tuple[Nodes, Children]:
    """`outer` with `inner` in the place of a leaf."""
    taken = set(outer.nodes) - {leaf}
    fresh = FreshIds(taken.union(inner.nodes))
    new = {i: fresh.like(i) if i in taken else i for i in inner.nodes}
    top = new[inner.root]
    nodes: Nodes = {}
    children: Children = {}
    for i in outer.nodes:
        if i != leaf:
            nodes[i] = outer._nodes[i]
            children[i] = tuple(top if child == leaf else child for child in outer.children(i))
            continue
        for j in inner.nodes:
            nodes[new[j]] = inner._nodes[j]
            children[new[j]] = tuple(new[child] for child in inner.children(j))
    if inner.kind(inner.root) == "sum":
        for parent in outer.parents(leaf):
            if outer.kind(parent) == "sum":
                insert_products(nodes, children, parent, Room(nodes))
    return nodes, children


def expand(spn: SPN, limit: int) -> tuple[Nodes, Children]:
    """One sum over one product per path, each over its own copies of the path's kernels."""
    if spn.n_paths > limit:
        count = f"{spn.n_paths:,}" if spn.n_paths < 10**12 else f"more than {10**12:,}"
        raise StructureError(
            f"The path-dependent view would have {count} products, one per path; at most {limit:,} are drawn."
        )
    fresh = FreshIds(spn.kernels)
    root = fresh.next("s")
    nodes: Nodes = {root: Node("sum")}
    children: dict[str, list[str]] = {root: []}
    for path in spn.paths():
        product = fresh.next("p")
        nodes[product], children[product] = Node("product", label=path.g(spn.names)), []
        children[root].append(product)
        for leaf in path.leaves:
            copy = fresh.like(leaf) if leaf in nodes else leaf
            node = replace(spn._nodes[leaf], label=spn.label(leaf), x=None, y=None)
            nodes[copy], children[copy] = unlabelled(copy, node), []
            children[product].append(copy)
    return nodes, {i: tuple(below) for i, below in children.items()}
