"""Kernels in tiles, one version against another: `python benchmarks/tiles.py --against FOLDER [--rows 5000 8000]`.

The 25 kernels of `scaling.py` are computed tile by tile whenever they are needed; every training to a certified gap of
1e-3 (C = 10) is a process of its own, which takes spnmkl from this folder or from FOLDER (another version, as
`git worktree add FOLDER COMMIT` makes one), by turns; without FOLDER this version alone. Processor time is told, since
other work on the machine does not change it much, and elapsed time. The last columns: processor time over that of the
other version, and how many times as fast it was as with the first number of threads. Every training tells on stderr,
once a minute and after every iteration, how far it is.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
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
HEAD = "| rows | threads | version | processor | elapsed | memory | gap | objective | status | ratio | speed |"
TOLD = 60.0  # seconds between two lines of progress


def train(n: int, threads: int) -> dict[str, Any]:
    case = by_rows(n)
    solve(case.spn, *replace(case, n=60).kernels(tiles=True), C=C, n_threads=threads)  # compiles, or reads from a cache
    kernels, y = case.kernels(tiles=True)
    before, begun, started = reset_peak(), time.process_time(), time.perf_counter()
    ended = threading.Event()

    def tell(record: Any = None) -> bool:
        found = (
            "" if record is None else f", iteration {record.iteration}: J {record.objective:.5g}, gap {record.gap:.1e}"
        )
        spent, memory = time.process_time() - begun, (peak() - before) / 2**20
        print(f"{n:,} rows, {threads} threads: {spent:,.0f} s, {memory:,.0f} MB{found}", file=sys.stderr, flush=True)
        return True

    def now_and_then() -> None:
        while not ended.wait(TOLD):
            tell()

    threading.Thread(target=now_and_then, daemon=True).start()
    solution = solve(case.spn, kernels, y, C=C, n_threads=threads, callback=tell)
    ended.set()
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
    done = subprocess.run(command, env=environment, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def compare(folders: dict[str, Path], n: int, threads: int, repeats: int, earlier: dict[str, float]) -> None:
    """One line for each version; `earlier` remembers what the first number of threads took."""
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
        alone = earlier.setdefault(name, own["elapsed"])
        print(
            f"| {n:,} | {threads} | {name} | {own['processor']:.1f} s | {own['elapsed']:.1f} s | "
            f"{own['memory']:,.0f} MB | {last['gap']:.1e} | {last['objective']:.5f} | {last['status']} | "
            f"{own['processor'] / first['processor']:.2f} | {alone / own['elapsed']:.2f} |",
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
    print(HEAD + "\n|" + (HEAD.count("|") - 1) * "---:|", flush=True)
    for n in options.rows:
        earlier: dict[str, float] = {}  # of each version, by the first number of threads
        for threads in options.threads:
            compare(folders | {"now": HERE}, n, threads, options.repeats, earlier)


if __name__ == "__main__":
    main()
