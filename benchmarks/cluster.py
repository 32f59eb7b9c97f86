"""What sending folds to workers costs: `python benchmarks/cluster.py [--rows N] [--workers 1 2 4]`.

A cross-validation of five folds over 12 values of C, on this thread alone and on a local Dask cluster of so many worker
processes. Processor seconds are those of the worker processes and of this one: what they grow by is lost. Elapsed ones
tell a speed-up where the machine does nothing else and has as many cores as workers. The scores must be the same.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

import numpy as np
from distributed import Client, LocalCluster
from joblib import parallel_config

from spnmkl import cross_validate_C, templates
from spnmkl.cluster.connecting import started
from spnmkl.kernels import fit_kernels
from spnmkl.selection import CrossValidation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(options.rows, 6))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=options.rows) > 0
    spn = templates.flat({"a": [0, 1], "b": [2, 3], "c": [4, 5]})
    kernels = fit_kernels(spn, X)[0]

    def validated() -> CrossValidation:
        return cross_validate_C(spn, kernels, y, n_threads=1)

    def now(words: str) -> None:
        print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)

    now("compiling, or reading from a cache")
    validated()
    now("on this thread")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(
        "| where | elapsed s | processor s, workers | processor s, here | same scores |\n|---|" + 4 * "---:|",
        flush=True,
    )
    started_at, began = time.monotonic(), time.process_time()
    alone = validated()
    spent = time.process_time() - began
    print(f"| this thread | {time.monotonic() - started_at:.1f} | – | {spent:.1f} | – |", flush=True)
    for workers in options.workers:
        now(f"starting {workers} workers")
        with (
            started(LocalCluster, workers) as cluster,
            Client(cluster) as client,
            parallel_config("dask", client=client),
        ):
            now("once, so that every worker has imported and read what it needs")
            validated()
            now("and again, measured")
            before, began, started_at = client.run(time.process_time), time.process_time(), time.monotonic()
            found = validated()
            elapsed = time.monotonic() - started_at
            here, after = time.process_time() - began, client.run(time.process_time)
            there = sum(after[worker] - before[worker] for worker in before)
            same = (found.scores == alone.scores).all()
            told = f"{elapsed:.1f} | {there:.1f} | {here:.1f} | {'yes' if same else 'NO'}"
            print(f"| {workers} workers | {told} |", flush=True)


if __name__ == "__main__":
    main()
