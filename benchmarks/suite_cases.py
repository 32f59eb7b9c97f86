"""The grid of the suite: tables × kernels × structures × p × C, and the part of it that is drawn by seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, product

import numpy as np
from suite_tables import HELD_OUT, LARGE, TABLES, Columns, Table, source_of, spread

from spnmkl import SPN, Kernel, templates

Groups = dict[str, list[Kernel]]

STRUCTURES = ("flat", "grouped", "product of sums")
POWERS = (1.0, 1.5, 2.0)
CS = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)
SEED, ROUNDS = 12, 8
# Tables with at least four columns of few distinct values, where a Hamming kernel says something.
CATEGORICAL = (
    *("german", "heart", "digits", "digits:even", "mfeat", "binary", "counts", "onehot", "categories"),
    *("classes27", "contradictory", "votes", "mixed", "words"),
)
LARGE_FAMILY = {
    "large_widths": "widths",
    "mfeat:large": "widths",
    "large_german": "columns",
    "large_discrete": "hamming",
}


@dataclass(frozen=True)
class Case:
    table: str
    family: str
    structure: str
    p: float
    C: float

    @property
    def name(self) -> str:
        return f"{self.table}/{self.family}/{self.structure}/p={self.p:g}/C={self.C:g}"

    @property
    def held_out(self) -> bool:
        return source_of(self.table) in HELD_OUT


def several_widths(table: Table) -> Groups:
    """As `solver.kernels25`: rbf of ten widths and three polynomials on all columns, rbf on up to twelve groups; or
    rbf of three widths and two polynomials on every view."""
    d = table.X.shape[1]
    if table.views is not None:
        return {name: _of_view(name, columns) for name, columns in table.views.items()}
    parts = np.array_split(np.arange(d), min(12, d))
    return {
        "widths": [Kernel("rbf", gamma=float(w) / d, label=f"rbf {w:.3g}") for w in np.logspace(-2, 2, 10)],
        "powers": [Kernel("polynomial", degree=k, gamma=1 / d, label=f"degree {k}") for k in (1, 2, 3)],
        "parts": [
            Kernel("rbf", gamma=1 / len(part), features=part.tolist(), label=f"from {part[0]}") for part in parts
        ],
    }


def _of_view(name: str, columns: Columns) -> list[Kernel]:
    unit = 1 / len(columns)
    rbf = [Kernel("rbf", gamma=w * unit, features=columns, label=f"{name} rbf {w:g}") for w in (0.25, 1, 4)]
    powers = [Kernel("polynomial", degree=k, gamma=unit, features=columns, label=f"{name} degree {k}") for k in (1, 2)]
    return rbf + powers


def one_per_column(table: Table) -> Groups:
    return _in_groups([Kernel("rbf", features=c, label=f"column {c[0]}") for c in spread(table.columns)], 3)


def by_hamming(table: Table) -> Groups:
    """Hamming kernels of single columns, of groups of columns and of all of them."""
    single = spread(table.categorical, 48)
    parts = [list(chain(*part)) for part in _split(single, min(6, len(single) // 2))]
    together = [*parts, list(chain(*single))]
    return _in_groups([Kernel("hamming", features=c, label=f"column {c[0]}") for c in single], 2) | {
        "together": [Kernel("hamming", features=c, label=f"{len(c)} from {c[0]}") for c in together]
    }


FAMILIES = {"widths": several_widths, "columns": one_per_column, "hamming": by_hamming}


def _split(items: Sequence, parts: int) -> list[list]:
    return [[items[k] for k in part] for part in np.array_split(np.arange(len(items)), parts)]


def _in_groups(kernels: list[Kernel], groups: int) -> Groups:
    return {f"group {k + 1}": part for k, part in enumerate(_split(kernels, groups))}


def drawing(case: Case, table: Table) -> SPN:
    groups = FAMILIES[case.family](table)
    if case.structure == "flat":
        return templates.flat([kernel for group in groups.values() for kernel in group])
    return (templates.grouped if case.structure == "grouped" else templates.product_of_sums)(groups)


def pairs() -> list[tuple[str, str]]:
    """Tables and families that go together, but for the large ones."""
    return [(t, f) for t in TABLES for f in FAMILIES if f != "hamming" or t in CATEGORICAL]


def full_grid() -> Iterator[Case]:
    """Everything, in the order of the seed: any beginning is balanced.

    A round takes one case of every table and family, and one of the large ones. Of those left to a pair the least
    used one is taken, so that C, p and structures are met equally often, over all and with each family and table.
    """
    rng = np.random.default_rng(SEED)
    left = {pair: list(product(STRUCTURES, POWERS, CS)) for pair in [*pairs(), *LARGE_FAMILY.items()]}
    used: Counter[tuple] = Counter()
    order = pairs()
    for turn in range(len(STRUCTURES) * len(POWERS) * len(CS) * len(LARGE)):
        large = list(LARGE_FAMILY.items())[turn % len(LARGE)]
        for table, family in [*(order[k] for k in rng.permutation(len(order))), large]:
            rest = left[table, family]
            if rest:
                chosen = _least_used(rest, table, family, used, rng)
                rest.remove(chosen)
                yield Case(table, family, *chosen)


def _least_used(
    rest: list[tuple[str, float, float]], table: str, family: str, used: Counter[tuple], rng: np.random.Generator
) -> tuple[str, float, float]:
    def marks(choice: tuple[str, float, float]) -> list[tuple]:
        structure, p, C = choice
        values = (
            {"s": structure},
            {"p": p},
            {"C": C},
            {"s": structure, "C": C},
            {"p": p, "C": C},
            {"s": structure, "p": p},
        )
        return [(who, *value.items()) for who in (table, family) for value in values]

    uses = np.array([sum(used[mark] for mark in marks(choice)) for choice in rest])
    chosen = rest[rng.choice(np.flatnonzero(uses == uses.min()))]
    used.update(marks(chosen))
    return chosen


def drawn() -> list[Case]:
    """The fixed part: so many rounds of the grid."""
    size = ROUNDS * (len(pairs()) + 1)
    return list(islice(full_grid(), size))


def also_precisely(case: Case) -> bool:
    """Whether the case is solved to 1e-6 too: half of them, by seed."""
    return int(np.random.default_rng([SEED, *case.name.encode()]).integers(2)) == 0
