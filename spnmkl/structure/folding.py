"""A wide row of leaves under one sum, folded into a grid: in one row it could not be read on any screen."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spnmkl.structure.graph import SPN

Extent = Callable[[str], tuple[float, float]]  # how far a node reaches to the left and to the right

MOST_BESIDE = 16
BELOW_PRODUCT, BELOW_KERNEL = 58.0, 76.0  # from a row of the grid to the next
_GAP = 20.0
_ASPECT = 1.7  # width by height
# Rows are shifted by these parts of a cell: an edge to a lower row is not hidden behind the cells right above it.
_SHIFTS = (0.0, 0.5, 0.25, 0.75)


@dataclass(frozen=True)
class Fold:
    """Branches of a sum, each a product over a kernel of its own, in rows.

    For the layout the grid is a chain of blocks one below the other: `blocks[2 r]` stands for the products of row r,
    `blocks[2 r + 1]` for their kernels.
    """

    top: str
    rows: tuple[tuple[tuple[str, str], ...], ...]
    cell: tuple[float, float]

    @property
    def blocks(self) -> list[str]:
        return [f"\0{self.top}\0{k}" for k in range(2 * len(self.rows))]

    @property
    def extent(self) -> tuple[float, float]:
        """How far a block reaches to the left and to the right."""
        half = (max(map(len, self.rows)) + max(_SHIFTS)) * (sum(self.cell) + _GAP) / 2
        return half, half

    def places(self) -> Iterator[tuple[str, str, float]]:
        """Every product and kernel with its block, and how far it stands from the middle of it."""
        step, (left, right), longest = sum(self.cell) + _GAP, self.cell, max(map(len, self.rows))
        for r, row in enumerate(self.rows):
            first = (_SHIFTS[r % 4] - max(_SHIFTS) / 2 - (longest - 1) / 2) * step + (left - right) / 2
            for k, branch in enumerate(row):
                for node, block in zip(branch, self.blocks[2 * r : 2 * r + 2], strict=True):
                    yield node, block, first + k * step


def find_folds(spn: SPN, extent: Extent) -> list[Fold]:
    """Where a drawing is too wide to be read, in as many rows as give the grids together the shape of a screen."""
    wide = {s: branches for s in spn.sums if len(branches := _branches(spn, s)) > MOST_BESIDE}
    cells = {s: _cell(branches, extent) for s, branches in wide.items()}
    area = sum(len(branches) * (sum(cells[s]) + _GAP) for s, branches in wide.items())
    n_rows = max(2, round(math.sqrt(area / (_ASPECT * (BELOW_PRODUCT + BELOW_KERNEL)))))
    return [Fold(s, tuple(_split(branches, n_rows)), cells[s]) for s, branches in wide.items()]


def _branches(spn: SPN, s: str) -> list[tuple[str, str]]:
    """The products of a sum that have one kernel, of which nothing else makes use."""
    found = []
    for v in dict.fromkeys(spn.children(s)):
        below = spn.children(v)
        if spn.kind(v) == "product" and spn.parents(v) == (s,) and len(below) == 1:
            (leaf,) = below
            if spn.kind(leaf) == "kernel" and spn.parents(leaf) == (v,):
                found.append((v, leaf))
    return found


def _cell(branches: list[tuple[str, str]], extent: Extent) -> tuple[float, float]:
    nodes = [extent(v) for branch in branches for v in branch]
    return max(left for left, _ in nodes), max(right for _, right in nodes)


def _split(branches: list[tuple[str, str]], n_rows: int) -> Iterator[tuple[tuple[str, str], ...]]:
    """Rows of about one length, in order."""
    n_rows = min(n_rows, len(branches) // 3)
    ends = [len(branches) * r // n_rows for r in range(n_rows + 1)]
    return (tuple(branches[a:b]) for a, b in pairwise(ends))


def folded(below: Mapping[str, list[str]], folds: list[Fold]) -> dict[str, list[str]]:
    """The children, with the blocks of every grid in the place of what it holds."""
    if not folds:
        return dict(below)
    held = {v for fold in folds for row in fold.rows for branch in row for v in branch}
    kept = {v: [child for child in children if child not in held] for v, children in below.items() if v not in held}
    for fold in folds:
        first, *rest = fold.blocks
        position = next(k for k, child in enumerate(below[fold.top]) if child in held)
        kept[fold.top].insert(position, first)
        kept |= {block: [after] for block, after in zip(fold.blocks, rest, strict=False)} | {fold.blocks[-1]: []}
    return kept
