"""A drawing without some of its nodes, still valid."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN


def without(spn: SPN, id: str) -> SPN | None:
    """The drawing without a node, what only it led to, and what is empty then; None where nothing would be left.

    A valid drawing stays valid, and nothing else changes.
    """
    children = {v: list(spn.children(v)) for v in spn.nodes}
    gone = [id]
    for v in gone:  # grows: parents that have lost their last child
        for parent in spn.parents(v):
            children[parent].remove(v)
            if not children[parent]:
                gone.append(parent)
    if set(spn.roots) <= set(gone):
        return None
    kept = _reached([root for root in spn.roots if root not in gone], children)
    stored = spn.to_dict()
    nodes = [node for node in stored["nodes"] if node["id"] in kept]
    edges = [[v, child] for v, below in children.items() if v in kept for child in below]
    return type(spn).from_dict({**stored, "nodes": nodes, "edges": edges})


def _reached(starts: list[str], children: dict[str, list[str]]) -> set[str]:
    reached, stack = set(starts), list(starts)
    while stack:
        new = [child for child in children[stack.pop()] if child not in reached]
        reached.update(new)
        stack.extend(new)
    return reached
