"""Kernels in tiles, one version against another: `python benchmarks/tiles.py --against FOLDER [--rows 5000 8000]`.

The 25 kernels of `scaling.py` are computed tile by tile whenever they are needed; every training to a certified gap of
1e-3 (C = 10) is a process of its own, which takes spnmkl from this folder or from FOLDER (another version, as
`git worktree add FOLDER COMMIT` makes one), by turns. Processor time is told, since other work on the machine does not
change it much; with several threads elapsed time as well. The last column is this version's time over the other's.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from peers import THREADS, peak, reset_peak
from scaling import by_rows
from solver import C

from spnmkl import solve

HERE = Path(__file__).parents[1]
HEAD = "| rows | threads | version | processor | elapsed | memory | gap | objective | ratio |\n|" + 9 * "---:|"


def train(n: int, threads: int) -> dict[str, Any]:
    case = by_rows(n)
    solve(case.spn, *replace(case, n=60).kernels(tiles=True), C=C, n_threads=threads)  # compiles, or reads from a cache
    kernels, y = case.kernels(tiles=True)
    before, begun, started = reset_peak(), time.process_time(), time.perf_counter()
    solution = solve(case.spn, kernels, y, C=C, n_threads=threads)
    spent, elapsed = time.process_time() - begun, time.perf_counter() - started
    memory = (peak() - before) / 2**20
    return {
        "processor": spent,
        "elapsed": elapsed,
        "memory": memory,
        "gap": solution.gap,
        "objective": solution.objective,
        "bound": solution.dual_bound,
        "status": solution.status,
    }


def trained(folder: Path, n: int, threads: int) -> dict[str, Any]:
    """In a process of its own, by the package in a folder."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": str(folder)}
    command = [sys.executable, __file__, "--one", str(n), str(threads)]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def compare(folders: dict[str, Path], n: int, threads: int, repeats: int) -> None:
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in folders}
    for _ in range(repeats):
        for name, folder in folders.items():
            found[name].append(trained(folder, n, threads))
    middle = {
        name: {key: median(run[key] for run in runs) for key in ("processor", "elapsed", "memory")}
        for name, runs in found.items()
    }
    for name, runs in found.items():
        own, last, first = middle[name], runs[-1], middle[next(iter(folders))]
        print(
            f"| {n:,} | {threads} | {name} | {own['processor']:.1f} s | {own['elapsed']:.1f} s | "
            f"{own['memory']:,.0f} MB | {last['gap']:.1e} | {last['objective']:.5f} | "
            f"{own['processor'] / first['processor']:.2f} |",
            flush=True,
        )
    bounds, objectives = ([run[key] for runs in found.values() for run in runs] for key in ("bound", "objective"))
    assert max(bounds) <= min(objectives), "a bound of one version disproves another"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--one", type=int, nargs=2, metavar=("ROWS", "THREADS"), help=argparse.SUPPRESS)
    parser.add_argument("--against", type=Path, help="folder of another version")
    parser.add_argument("--rows", type=int, nargs="+", default=[5000, 8000])
    parser.add_argument("--threads", type=int, nargs="+", default=[1])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(train(*options.one)))
        return
    folders = {"before": options.against.resolve()} if options.against else {}
    print(HEAD)
    for n in options.rows:
        for threads in options.threads:
            compare(folders | {"now": HERE}, n, threads, options.repeats)


if __name__ == "__main__":
    main()
