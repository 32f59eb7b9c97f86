"""Repairs of a drawing: what is missing is added, and nothing else is changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from spnmkl.structure.nodes import PREFIX, Children, FreshIds, Kind, Node, Nodes
from spnmkl.structure.validation import top_sum, torn

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

FARTHEST = 1e6  # beyond, a position is a slip of the hand


def repair(spn: SPN) -> tuple[Nodes, Children]:
    """Apply the repairs that `find_issues` offers; without any the drawing is left as it is."""
    nodes, children = dict(spn._nodes), dict(spn._children)
    repairs = {issue.code for issue in spn.validate() if issue.repair}
    if not repairs:
        return nodes, children
    room = Room(nodes)
    ends, top = torn(spn), top_sum(spn)
    if "root_is_kernel" in repairs:
        _add(nodes, children, room, "product", spn.roots)
    elif "several_roots" in repairs and ends is not None:
        children[ends[0]] = (ends[1],)
    elif "several_roots" in repairs:
        top = top or _add(nodes, children, room, "sum", ())
        joined = tuple(root for root in spn.roots if root != top)
        children[top] += joined
        if nodes[top].x is None:
            nodes[top] = room.placed(nodes[top], [nodes[root] for root in joined], ahead=240)
    for parent in [v for v, node in nodes.items() if node.kind == "sum"]:
        insert_products(nodes, children, parent, room)
    return nodes, children


def insert_products(nodes: Nodes, children: Children, parent: str, room: Room) -> None:
    """Put a product between a sum and each child that is not one."""
    children[parent] = tuple(
        child if nodes[child].kind == "product" else _add(nodes, children, room, "product", (child,), nodes[parent])
        for child in children[parent]
    )


def _add(
    nodes: Nodes, children: Children, room: Room, kind: Kind, below: tuple[str, ...], above: Node | None = None
) -> str:
    new = room.fresh.next(PREFIX[kind])
    nodes[new] = room.placed(Node(kind), [nodes[v] for v in below], above)
    children[new] = below
    return new


class Room:
    """Ids and places that are not taken."""

    def __init__(self, nodes: Nodes) -> None:
        self.fresh = FreshIds(nodes)
        self.taken = {
            self._cell(node.x, node.y) for node in nodes.values() if node.x is not None and node.y is not None
        }

    @staticmethod
    def _cell(x: float, y: float) -> tuple[int, int]:
        return round(x / 40), round(y / 30)

    def placed(self, node: Node, below: list[Node], above: Node | None = None, ahead: float = 150) -> Node:
        """The node left of what is below it, halfway to what is above, on the next line that is free."""
        spots = [(v.x, v.y) for v in below if v.x is not None and v.y is not None]
        if not spots or len(spots) < len(below):
            return node
        x, y = min(x for x, _ in spots) - ahead, sum(y for _, y in spots) / len(spots)
        if above is not None:
            if above.x is None:
                return node
            x = (above.x + x + ahead) / 2
        if max(abs(x), abs(y)) > FARTHEST:
            return node
        while self._cell(x, y) in self.taken:
            y += 30
        self.taken.add(self._cell(x, y))
        return replace(node, x=x, y=y)
