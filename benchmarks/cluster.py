"""What sending folds to workers costs: `python benchmarks/cluster.py [--rows N] [--workers 1 2 4]`.

A cross-validation of five folds over 12 values of C, on this thread alone and on a local Dask cluster of so many worker
processes. Processor seconds are those of the worker processes and of this one; on a machine with fewer cores than
workers, or with other work, the time that passes says nothing of a speed-up. The scores must be the same.
"""

from __future__ import annotations

import argparse
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
    print("| where | processor s, workers | processor s, here | same scores |\n|---|---|---|---|", flush=True)
    began = time.process_time()
    alone = validated()
    print(f"| this thread | – | {time.process_time() - began:.1f} | – |", flush=True)
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
            before, began = client.run(time.process_time), time.process_time()
            found = validated()
            here, after = time.process_time() - began, client.run(time.process_time)
            there = sum(after[worker] - before[worker] for worker in before)
            same = (found.scores == alone.scores).all()
            print(f"| {workers} workers | {there:.1f} | {here:.1f} | {'yes' if same else 'NO'} |", flush=True)


if __name__ == "__main__":
    main()
