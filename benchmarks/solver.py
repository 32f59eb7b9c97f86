"""Training time as a multiple of one SVC fit: `python benchmarks/solver.py [--sizes 500 1000 …] [--repeats 5]`.

The unit is one fit of scikit-learn's SVC(kernel="precomputed") on the average of the same 25 kernel matrices, same
rows, same C, one thread, timed by turns with the training; for digits, with 10 classes, one fit per class against the
rest. Seconds vary between machines and moments; the ratios are the result. Working memory is the peak beyond the given
matrices, in n×n matrices of float64.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import platform
import pstats
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from statistics import median

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import spnmkl
from spnmkl import SPN, Kernel, Solution, solve, templates
from spnmkl.kernels import fit_kernels

C = 10.0
STEPS = {
    "respond_to_kernels": "responses and quadratic forms of the kernels",
    "respond_rows": "responses and quadratic forms of the kernels",
    "_multiply": "responses and quadratic forms of the kernels",
    "fill_rows": "forming K",
    "apply_triangle": "the certificate's primal value",
    "_smo": "support vector machines",
    "solve_svm": "support vector machines",
    "cholesky": "curvature",
    "factorised": "curvature",
    "_gather": "curvature",
    "solved": "curvature",
    "bounded_qp": "curvature",
    "_one_pass": "checks of the matrices",
    "_shifted": "checks of the matrices",
    "_hash": "checks of the matrices",
    "_check_semidefinite": "checks of the matrices",
    "_factorises": "checks of the matrices",
    "matrices": "copy of a quarter of the rows",
}


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


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def working_memory(work: Callable[[], object], n: int) -> float:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / (8 * n * n)
    finally:
        tracemalloc.stop()


def synthetic(n: int) -> tuple[str, np.ndarray, np.ndarray]:
    X, y = make_classification(n, 30, n_informative=10, flip_y=0.1, random_state=0)
    return "synthetic", StandardScaler().fit_transform(X), y


def digits(n: int = 1000) -> tuple[str, np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    return "digits", StandardScaler().fit_transform(X)[rows], y[rows]


def fit_svc(K: np.ndarray, y: np.ndarray) -> None:
    classes = np.unique(y)
    for label in classes[1:] if len(classes) == 2 else classes:
        SVC(kernel="precomputed", C=C).fit(K, y == label)


def posed(X: np.ndarray, names: Sequence[str]) -> Iterator[tuple[str, SPN, dict[str, np.ndarray], np.ndarray]]:
    """The structures of these names, with their kernel matrices and the average of them."""
    for name, spn in structures(X.shape[1]).items():
        if name in names:
            K, _ = fit_kernels(spn, X)
            yield name, spn, K, sum(K.values()) / len(K)


def measure(data: tuple[str, np.ndarray, np.ndarray], options: argparse.Namespace) -> None:
    label, X, y = data
    for name, spn, K, average in posed(X, options.structures):
        for threads in options.threads:
            solutions: list[Solution] = []

            def train(spn: SPN = spn, K: dict[str, np.ndarray] = K, threads: int = threads) -> None:
                solutions[:] = [solve(spn, K, y, C=C, tol=options.tol, n_threads=threads)]  # noqa: B023

            units, times = [], []
            for _ in range(options.repeats):
                with threadpool_limits(1):
                    units.append(seconds(lambda average=average: fit_svc(average, y)))
                with threadpool_limits(threads):
                    times.append(seconds(train))
            memory = working_memory(train, len(y))
            unit, s = median(units), solutions[0]
            print(
                f"| {label} | {name} | {len(y)} | {threads} | {unit * 1e3:.0f} ms | {median(times) / unit:.1f} "
                f"({min(times) / unit:.1f}–{max(times) / unit:.1f}) | {s.history[-1].evaluations} | {s.gap:.0e} | "
                f"{s.status} | {memory:.2f} |",
                flush=True,
            )


def profile(data: tuple[str, np.ndarray, np.ndarray], options: argparse.Namespace) -> None:
    """Where the time of one training on one thread goes, in units."""
    label, X, y = data
    for name, spn, K, average in posed(X, options.structures):
        with threadpool_limits(1):
            solve(spn, K, y, C=C, tol=options.tol, n_threads=1)
            unit = min(seconds(lambda average=average: fit_svc(average, y)) for _ in range(options.repeats))
            profiler = cProfile.Profile()
            profiler.runcall(solve, spn, K, y, C=C, tol=options.tol, n_threads=1)
        spent: dict[str, float] = {}
        for (_, _, function), (_, _, own, _, _) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
            step = STEPS.get(function, "everything else")
            spent[step] = spent.get(step, 0.0) + own
        for step, own in sorted(spent.items(), key=lambda item: -item[1]):
            print(f"| {label} | {name} | {len(y)} | {step} | {own / unit:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="*", default=[500, 1000, 2000, 4000])
    parser.add_argument(
        "--structures", nargs="+", default=list(structures(30)), help="of: " + ", ".join(structures(30))
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--no-digits", action="store_true", help="leave out the 10 classes")
    parser.add_argument("--profile", action="store_true", help="say where the time goes instead")
    options = parser.parse_args()
    print(
        f"spnmkl {spnmkl.__version__}, Python {platform.python_version()}, numpy {np.__version__}, "
        f"{os.cpu_count()} cores, tol {options.tol:g}, C = {C:g}, median of {options.repeats} (least–most)\n"
    )
    for name, spn in structures(30).items():  # compile, or load from cache
        _, X, y = synthetic(100)
        solve(spn, fit_kernels(spn, X)[0], y, C=C)
        print(f"{name}: {spn.n_paths} paths")
    if options.profile:
        print("\n| data | structure | n | step | units |\n|---|---|---:|---|---:|")
        for n in options.sizes:
            profile(synthetic(n), options)
        return
    print("\n| data | structure | n | threads | unit | units | evaluations | gap | status | working memory |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---|---:|")
    for n in options.sizes:
        measure(synthetic(n), options)
    if not options.no_digits:
        measure(digits(), options)


if __name__ == "__main__":
    main()
