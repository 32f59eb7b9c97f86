"""The yardstick of the solver: `python benchmarks/suite.py run --out FILE`, then `… report FILE [--against OLDER]`.

The unit is one fit of scikit-learn's SVC(kernel="precomputed") at the same C on the average of the same kernel
matrices, elapsed, one thread, by turns with the training; several classes: one fit per class against the rest. The
cases are tables × kernels × structures × p × C (see `suite_cases.py`); `run` does a part drawn by seed, in an order
of which any beginning is balanced, and goes on where the file ends; `--full` does the rest as well. A training that
reaches the time limit counts as not certified, its units as a lower bound.

A third of the tables (`suite_tables.HELD_OUT`) is for `--held-out` alone: no threshold may be chosen on them.
`small`, `widths`, `classes` and `cv` print the other figures. To measure an older checkout, put it on PYTHONPATH.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

from suite_cases import Case, also_precisely, drawn, full_grid
from suite_measure import described, environment, measure, posed, warm_up
from suite_report import Line, by_processor, read, report
from suite_sections import SECTIONS
from suite_tables import LARGE, load

import spnmkl

TOLERANCES = (1e-3, 1e-6)


def wanted(options: argparse.Namespace) -> Iterator[Case]:
    """The cases asked for, in their order."""
    found = 0
    for case in full_grid() if options.full else drawn():
        if (
            (options.tables is None or case.table in options.tables)
            and all(word in case.name for word in options.only)
            and not (options.tuning and case.held_out)
            and not (options.held_out and not case.held_out)
            and not (options.no_large and case.table in LARGE)
        ):
            yield case
            found += 1
            if found == options.limit:
                return


def tolerances(case: Case, options: argparse.Namespace) -> list[float]:
    if options.tol is not None:
        return options.tol
    return [tol for tol in TOLERANCES if tol == TOLERANCES[0] or also_precisely(case)]


def run(options: argparse.Namespace) -> None:
    out = Path(options.out)
    done = {(line["case"], line["tol"]) for line in read(out)} if out.exists() else set()
    cases = [(case, [t for t in tolerances(case, options) if (case.name, t) not in done]) for case in wanted(options)]
    to_do = sum(len(tols) for _, tols in cases)
    print(f"{to_do} measurements of {spnmkl.__path__[0]} to do, {len(done)} done before", flush=True)
    warm_up()
    end = time.monotonic() + options.seconds
    missing: set[str] = set()
    with out.open("a", encoding="utf-8") as file:
        if out.stat().st_size and not out.read_bytes().endswith(b"\n"):
            file.write("\n")  # a crash cut the last line off
        for case, tols in cases:
            if time.monotonic() > end:
                print("the time is over; the same command goes on from here")
                return
            if tols and case.table not in missing and not _one(case, tols, file, options):
                missing.add(case.table)
                print(f"{case.table}: skipped, its file is not there", flush=True)


def _one(case: Case, tols: list[float], file: TextIO, options: argparse.Namespace) -> bool:
    """Measure a case and write its lines; False where its table is not there."""
    table = load(case.table, options.rows)
    if table is None:
        return False
    problem = posed(case, table)
    for tol in tols:
        line = described(case, problem) | {"tol": tol} | measure(problem, case, tol, options.cap, options.repeats)
        file.write(json.dumps(line | environment()) + "\n")
        file.flush()
        gap = "none" if line["gap"] is None else f"{line['gap']:.0e}"
        print(
            f"{case.name} tol {tol:g}: {line['units']:.1f} units of {1e3 * line['unit']:.0f} ms, {line['status']}, "
            f"gap {gap}, {line.get('iterations', 0)} iterations",
            flush=True,
        )
    return True


def told(name: str, options: argparse.Namespace) -> list[Line]:
    """The lines of a file that the report is about."""
    lines = [
        line
        for line in read(Path(name))
        if not (options.tuning and line["held_out"]) and not (options.held_out and not line["held_out"])
    ]
    return by_processor(lines) if options.processor else lines


def parsed(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    go = commands.add_parser("run", help="measure the drawn part of the grid, or all of it")
    go.add_argument("--out", required=True, help="JSON lines; what is there already is not measured again")
    go.add_argument("--full", action="store_true", help="the whole grid")
    go.add_argument("--limit", type=int, help="at most so many cases")
    go.add_argument("--only", nargs="+", default=[], metavar="WORD", help="cases whose name holds all of these")
    go.add_argument("--tables", nargs="+")
    go.add_argument("--tuning", action="store_true", help="only tables that may be tuned on")
    go.add_argument("--held-out", action="store_true", help="only tables kept out of tuning")
    go.add_argument("--no-large", action="store_true")
    go.add_argument("--tol", type=float, nargs="+", help="instead of 1e-3, and 1e-6 for half of the cases")
    go.add_argument("--cap", type=float, default=10.0, help="processor seconds for one training")
    go.add_argument("--seconds", type=float, default=3600.0, help="start no case after so many")
    go.add_argument("--repeats", type=int, default=3)
    go.add_argument("--rows", type=int, help="fewer rows than 1,000, to try things out")
    tell = commands.add_parser("report", help="summarise a file of results")
    tell.add_argument("file")
    tell.add_argument("--against", help="results of older code")
    tell.add_argument("--tuning", action="store_true", help="only tables that may be tuned on")
    tell.add_argument("--held-out", action="store_true", help="only tables kept out of tuning")
    for name, section in SECTIONS.items():
        extra = commands.add_parser(name, help=(section.__doc__ or "").splitlines()[0])
        extra.add_argument("--repeats", type=int, default=5)
    for command in (tell, *(commands.choices[name] for name in SECTIONS)):
        command.add_argument("--processor", action="store_true", help="processor time, where one thread works")
    options = parser.parse_args(arguments)
    if options.command == "run" and options.tables:
        known = {case.table for case in full_grid()}
        if unknown := set(options.tables) - known:
            parser.error(f"there is no table {', '.join(sorted(unknown))} among {', '.join(sorted(known))}")
    return options


def main(arguments: list[str]) -> None:
    options = parsed(arguments)
    if options.command == "run":
        run(options)
    elif options.command == "report":
        files = [told(name, options) for name in (options.file, options.against) if name is not None]
        print(report(*files))
    else:
        warm_up()
        SECTIONS[options.command](options.repeats, "processor" if options.processor else "elapsed")


if __name__ == "__main__":
    main(sys.argv[1:])
