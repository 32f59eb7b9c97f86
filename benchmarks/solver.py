"""Training time as a multiple of one SVC fit: `python benchmarks/solver.py [--sizes 500 1000 …] [--repeats 3]`.

The unit is one fit of scikit-learn's SVC(kernel="precomputed") on the average of the same 25 kernel matrices, same
rows, same C, one thread, timed in the same run. Seconds vary between machines and moments; the ratios are the result.
Working memory is the peak beyond the given matrices, in n×n matrices of float64.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
import tracemalloc
from collections.abc import Callable
from statistics import median

import numpy as np
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import spnmkl
from spnmkl import SPN, Kernel, Solution, solve, templates
from spnmkl.kernels import fit_kernels

C = 10.0


def kernels25(n_features: int) -> list[Kernel]:
    """10 rbf widths and polynomials of degree 1 to 3 on all features, rbf on 12 feature groups."""
    widths = [Kernel("rbf", gamma=float(g) / n_features) for g in np.logspace(-2, 2, 10)]
    powers = [Kernel("polynomial", degree=d, gamma=1 / n_features) for d in (1, 2, 3)]
    groups = np.array_split(np.arange(n_features), 12)
    return widths + powers + [Kernel("rbf", gamma=1 / len(g), features=g.tolist()) for g in groups]


def structures(n_features: int) -> dict[str, SPN]:
    leaves = kernels25(n_features)
    groups = {"widths": leaves[:10], "powers": leaves[10:13], "groups": leaves[13:]}
    return {
        "one layer": templates.flat(leaves),
        "two layers": templates.grouped(groups),
        "product of sums": templates.product_of_sums(groups),
    }


def seconds(work: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return median(times)


def working_memory(work: Callable[[], object], n: int) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / (8 * n * n)
    finally:
        tracemalloc.stop()


def measure(n: int, repeats: int, tol: float) -> None:
    X, y = make_classification(n, 30, n_informative=10, flip_y=0.1, random_state=0)
    X = StandardScaler().fit_transform(X)
    for name, spn in structures(X.shape[1]).items():
        K, _ = fit_kernels(spn, X)
        average = sum(K.values()) / len(K)
        with threadpool_limits(1):
            unit = seconds(lambda average=average: SVC(kernel="precomputed", C=C).fit(average, y), repeats)
        for threads in (1, 2):
            solutions: list[Solution] = []

            def train(
                spn: SPN = spn,
                K: dict[str, np.ndarray] = K,
                threads: int = threads,
                into: list[Solution] = solutions,
            ) -> None:
                into.append(solve(spn, K, y, C=C, tol=tol, n_threads=threads))

            with threadpool_limits(threads):
                ratio = seconds(train, repeats) / unit
                memory = working_memory(train, n)
            s = solutions[-1]
            print(
                f"| {name} | {n} | {spn.n_paths} | {threads} | {unit * 1e3:.0f} ms | {ratio:.1f} | "
                f"{s.history[-1].evaluations} | {s.gap:.1e} | {s.status} | {memory:.2f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1000, 2000, 4000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--tol", type=float, default=1e-3)
    options = parser.parse_args()
    print(
        f"spnmkl {spnmkl.__version__}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"{os.cpu_count()} cores, tol {options.tol:g}, C = {C:g}, median of {options.repeats}\n"
    )
    print("| structure | n | paths | threads | unit | units | evaluations | gap | status | working memory |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---|---:|")
    measure(100, 1, options.tol)  # compiles, or loads from cache; read the rows below it
    for n in options.sizes:
        measure(n, options.repeats, options.tol)


if __name__ == "__main__":
    main()
