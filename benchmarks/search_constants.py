"""How much do the search's constants matter? `python benchmarks/search_constants.py [--draws 2] [--report-only]`.

The price of a free weight (1.5 of log evidence), the gain to go on (0.5) and the z to be refitted (2), one changed at a
time, on draws of the known structures with 200 rows (`experiment_search.py`: random functions, formulas, and permuted
labels) that nothing else was measured on. Lines of docs/experiments/full/search_constants.csv; a run goes on where it
ended, and the table is printed from them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from unittest.mock import patch

import pandas as pd
from experiment_report import as_command, note_run
from experiment_search import PERMUTED, TRUTHS, draw, searched
from experiment_store import Key, Store, Task, fill, key_of, read
from experiment_tables import markdown

from spnmkl.search import fits, moves, walk

FILE = Path(__file__).parents[1] / "docs" / "experiments" / "full" / "search_constants.csv"
ROWS, BUDGET, FIRST_DRAW = 200, 100, 500
AS_IT_IS = "as it is"
CHANGES = {
    AS_IT_IS: (fits, "PRICE", fits.PRICE),
    "price 0.75": (fits, "PRICE", 0.75),
    "price 2.5": (fits, "PRICE", 2.5),
    "gain 0": (walk, "GAIN", 0.0),
    "gain 2": (walk, "GAIN", 2.0),
    "z 1": (moves, "NOTICED", 1.0),
    "z 3": (moves, "NOTICED", 3.0),
}
MADE = ("process", "formula")


@dataclass(frozen=True)
class Found:
    changed: str
    truth: str
    made: str
    seed: int
    found: bool
    exact: bool
    alike: float
    refits: int
    seconds: float


def tasks(draws: int) -> Iterator[Task]:
    """Draw after draw, so that what is there when it is interrupted is as much of everything."""
    asked = [(truth, made) for truth in TRUTHS for made in MADE] + [("flat", PERMUTED)]
    for seed in range(FIRST_DRAW, FIRST_DRAW + draws):
        for truth, made in asked:
            keys = {key_of(changed, truth, made, seed): changed for changed in CHANGES}
            yield Task(tuple(keys), partial(_compute, keys, truth, made, seed))


def _compute(keys: dict[Key, str], truth: str, made: str, seed: int, asked: Sequence[Key]) -> Iterator[list[Found]]:
    X, y = draw(truth, made, seed)
    for key in asked:
        module, name, value = CHANGES[keys[key]]
        with patch.object(module, name, value):
            told, _ = searched(truth, made, ROWS, seed, BUDGET, X, y)
        yield [Found(keys[key], truth, made, seed, told.found, told.exact, told.alike, told.refits, told.seconds)]


def report(table: pd.DataFrame) -> list[str]:
    rows = {changed: _line(table[table["changed"] == changed]) for changed in CHANGES}
    return markdown(pd.DataFrame(rows).T, "constant")


def _line(cells: pd.DataFrame) -> dict[str, str]:
    """Counts over all draws of truths with products, of flat sums, and of permuted labels."""
    nothing = cells["made"] == PERMUTED
    flat = (cells["truth"] == "flat") & ~nothing
    with_products = cells[~flat & ~nothing]
    return {
        "products said where there are some": _count(with_products["found"]),
        "exactly right": _count(with_products["exact"]),
        "paths in common": f"{100 * with_products['alike'].mean():.0f} %",
        "products said of flat sums": _count(cells[flat]["found"]),
        "of permuted labels": _count(cells[nothing]["found"]),
        "refits, median": f"{cells['refits'].median():.0f}",
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
        note_run(options.out.parent, as_command(Path(__file__).name, sys.argv[1:], None))
        fill(Store(options.out, Found, 4), tasks(options.draws))
    print("\n".join(report(read(options.out))))


if __name__ == "__main__":
    main()
