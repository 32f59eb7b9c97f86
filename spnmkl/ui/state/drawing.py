"""The drawing of one tab: the structure, its history, and the protocol with the canvas (no Streamlit here)."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spnmkl.errors import StructureError
from spnmkl.structure import SPN
from spnmkl.structure.layout import arranged

MAX_CANVAS_NODES = 2000
MAX_HISTORY = 200
FARTHEST = 1e6
_NEW_ID = re.compile(r"[spk][1-9][0-9]{0,8}")
_DEFAULTS: dict[str, dict[str, Any]] = {"sum": {}, "product": {"p": 1.0}, "kernel": {"kernel": "rbf"}}
_PLACED = ("id", "x", "y")


@dataclass
class Drawing:
    """A structure that is being drawn.

    The canvas edits freely on one *revision* and sends the whole drawing; `receive` takes it. Whatever comes from
    elsewhere (a template, the panel, undo) is `push`ed as a new revision, which replaces what the canvas shows.
    """

    spn: SPN
    past: list[SPN] = field(default_factory=list)
    future: list[SPN] = field(default_factory=list)
    epoch: str = field(default_factory=lambda: uuid.uuid4().hex[:8])
    pushes: int = 0
    acknowledged: str = ""
    said: str = ""
    fit: bool = True
    select: tuple[str, ...] = ()

    @property
    def revision(self) -> str:
        return f"{self.epoch}.{self.pushes}"

    def receive(self, message: object) -> bool:
        """Take an edit of the canvas; False when it is stale or seen already.

        The browser is not trusted: what cannot be a drawing is answered with the drawing as it was.
        """
        if not isinstance(message, Mapping) or message.get("revision") != self.revision:
            return False
        try:
            ticket = f"{self.revision}/{_sequence(message)}"
            if ticket == self.acknowledged:
                return False
            changed = read_message(self.spn, message)
        except StructureError as error:
            self._show(self.spn, str(error))
            return False
        self.acknowledged = ticket
        if changed == self.spn:
            return False
        self._remember()
        self.spn = changed
        return True

    def push(self, spn: SPN, said: str = "", *, fit: bool = False, select: Sequence[str] = ()) -> None:
        """Put a new drawing on the canvas; nodes without a position are arranged."""
        self._remember()
        self._show(placed(spn), said, fit, select)

    def undo(self) -> None:
        if self.past:
            self.future.append(self.spn)
            self._show(self.past.pop(), "Undone.")

    def redo(self) -> None:
        if self.future:
            self.past.append(self.spn)
            self._show(self.future.pop(), "Done again.")

    def _remember(self) -> None:
        self.past = [*self.past, self.spn][-MAX_HISTORY:]
        self.future = []

    def _show(self, spn: SPN, said: str, fit: bool = False, select: Sequence[str] = ()) -> None:
        self.spn, self.said, self.fit, self.select = spn, said, fit, tuple(select)
        self.pushes += 1


def placed(spn: SPN) -> SPN:
    """The drawing itself where every node has a position, else arranged in layers."""
    return spn if all(spn.position(v) is not None for v in spn.nodes) else arranged(spn)


def check_size(spn: SPN) -> None:
    """What is larger than the canvas holds is refused with a reason."""
    _check_count(len(spn.nodes))


def _check_count(n_nodes: int) -> None:
    if n_nodes > MAX_CANVAS_NODES:
        raise StructureError(f"The canvas holds at most {MAX_CANVAS_NODES:,} nodes, and this would make {n_nodes:,}.")


def read_message(spn: SPN, message: Mapping[str, Any]) -> SPN:
    """The drawing that the canvas describes: known nodes keep all but their place, new ones get defaults."""
    nodes, edges = message.get("nodes"), message.get("edges")
    if not isinstance(nodes, list) or not isinstance(edges, list):
        raise StructureError("The canvas sent no drawing; reload the page.")
    _check_count(len(nodes))
    known = {node["id"]: node for node in spn.to_dict()["nodes"]}
    return SPN.from_dict(
        {
            "format": "spnmkl/structure",
            "version": 1,
            "nodes": [_read_node(node, known) for node in nodes],
            "edges": [_read_edge(edge) for edge in edges],
        }
    )


def _sequence(message: Mapping[str, Any]) -> int:
    sequence = message.get("sequence")
    if type(sequence) is not int or not 0 <= sequence < 2**53:
        raise StructureError("The canvas sent a drawing without a number; reload the page.")
    return sequence


def _read_node(node: object, known: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    if not isinstance(node, Mapping):
        raise StructureError("The canvas sent a node that is none; reload the page.")
    id, kind = node.get("id"), node.get("kind")
    x, y = _coordinate(node.get("x")), _coordinate(node.get("y"))
    if not isinstance(id, str) or not isinstance(kind, str):
        raise StructureError("The canvas sent a node without a name or a kind; reload the page.")
    if id in known and known[id]["kind"] == kind:
        return {**known[id], "x": x, "y": y}
    if not _NEW_ID.fullmatch(id) or kind not in _DEFAULTS:
        raise StructureError("The canvas sent a node with an unknown kind or name; reload the page.")
    twin = known.get(str(node.get("copy")), {})
    look = {key: value for key, value in twin.items() if key not in _PLACED} if twin.get("kind") == kind else {}
    return {"kind": kind, **_DEFAULTS[kind], **look, "id": id, "x": x, "y": y}


def _coordinate(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= FARTHEST:
        raise StructureError("The canvas sent a position that is no number; reload the page.")
    return round(float(value), 1)


def _read_edge(edge: object) -> list[str]:
    if not (isinstance(edge, list) and len(edge) == 2 and all(isinstance(end, str) for end in edge)):
        raise StructureError("The canvas sent an edge that is none; reload the page.")
    return list(edge)
