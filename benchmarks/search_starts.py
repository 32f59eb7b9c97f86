"""Do templates as starts help a search? `python benchmarks/search_starts.py [--draws 2] [--report-only]`.

With them and without, on draws of the known structures with 200 rows (`experiment_search.py`: random functions and
formulas) that nothing else was measured on, with a quarter of the usual budget and with all of it; and on more draws of
flat sums and permuted labels, in which nothing may be found. Lines of docs/experiments/full/search_starts.csv; a run
goes on where it ended, and the table is printed from them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pandas as pd
from experiment_search import PERMUTED, TRUTHS, draw, searched
from experiment_store import Key, Store, Task, fill, key_of, read
from experiment_tables import markdown

from spnmkl.search import moves, walk

FILE = Path(__file__).parents[1] / "docs" / "experiments" / "full" / "search_starts.csv"
ROWS, BUDGETS, FIRST_DRAW = 200, (25, 100), 600
NOTHING = 6  # draws in which nothing may be found
STARTS = {"without templates": lambda pool: (), "with templates": moves.templates}
PRODUCTS = [(truth, made) for truth in TRUTHS if truth != "flat" for made in ("process", "formula")]
NONE = [("flat", made) for made in ("process", "formula", PERMUTED)]


@dataclass(frozen=True)
class Found:
    starts: str
    truth: str
    made: str
    budget: int
    seed: int
    found: bool
    exact: bool
    alike: float
    refits: int
    seconds: float


def tasks(draws: int) -> Iterator[Task]:
    for k in range(max(draws, NOTHING)):
        for truth, made in [*(PRODUCTS if k < draws else []), *NONE]:
            seed = FIRST_DRAW + k
            keys = {
                key_of(starts, truth, made, budget, seed): (starts, budget) for starts in STARTS for budget in BUDGETS
            }
            yield Task(tuple(keys), partial(_compute, keys, truth, made, seed))


def _compute(
    keys: dict[Key, tuple[str, int]], truth: str, made: str, seed: int, asked: Sequence[Key]
) -> Iterator[list[Found]]:
    X, y = draw(truth, made, seed)
    for key in asked:
        starts, budget = keys[key]
        with patch.object(walk, "templates", STARTS[starts]):
            told, _ = searched(truth, made, ROWS, seed, budget, X, y)
        result = told.found, told.exact, told.alike, told.refits, told.seconds
        yield [Found(starts, truth, made, budget, seed, *result)]


def report(table: pd.DataFrame) -> list[str]:
    cells = {
        (f"{starts}, {budget} refits"): of_both
        for budget in BUDGETS
        for starts in STARTS
        if len(of_both := table[(table["starts"] == starts) & (table["budget"] == budget)])
    }
    return markdown(pd.DataFrame({name: _line(of_both) for name, of_both in cells.items()}).T, "search")


def _line(cells: pd.DataFrame) -> dict[str, str]:
    permuted, flat = cells["made"] == PERMUTED, (cells["truth"] == "flat") & (cells["made"] != PERMUTED)
    products = cells[cells["truth"] != "flat"]
    return {
        "products said where there are some": _count(products["found"]),
        "exactly right": _count(products["exact"]),
        "paths in common": f"{100 * products['alike'].mean():.0f} %",
        "products said of flat sums": _count(cells[flat]["found"]),
        "of permuted labels": _count(cells[permuted]["found"]),
        "refits, median where there are products": f"{products['refits'].median():.0f}",
    }


def _count(said: pd.Series) -> str:
    return f"{int(said.sum())} of {len(said)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    if not options.report_only:
        fill(Store(options.out, Found, 5), tasks(options.draws))
    print("\n".join(report(read(options.out))))


if __name__ == "__main__":
    main()
