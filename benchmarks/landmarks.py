"""Landmarks beside the exact solution, and on many rows: `python benchmarks/landmarks.py accuracy|rows [--out FOLDER]`.

`accuracy` trains on five sets exactly and by landmarks: for every number of landmarks m the accuracy on rows held out,
the share of them that are answered as by the exact model, and how far the objective over all rows is above the exact.
`rows` trains on many rows, in a process of its own, and measures processor seconds and the peak of its memory.
Ten kernels, one thread; synthetic sets have fixed seeds, digits is scikit-learn's.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification
from sklearn.preprocessing import StandardScaler

from spnmkl import SPN, Kernel, SPNMKLClassifier, templates

Data = tuple[NDArray[np.float64], NDArray]
TEST_ROWS = 2000
LANDMARKS = [100, 200, 500, 1000, 2000]
THREADS = 1


def kernels10(n_features: int) -> SPN:
    """Five rbf widths and a linear kernel on all columns, rbf on four groups of them."""
    groups = np.array_split(np.arange(n_features), 4)
    return templates.flat(
        [
            *(Kernel("rbf", gamma=float(g) / n_features) for g in np.logspace(-1.5, 1.0, 5)),
            Kernel("linear"),
            *(Kernel("rbf", gamma=1 / len(g), features=g.tolist()) for g in groups),
        ]
    )


def clusters(n: int) -> Data:
    return make_classification(
        n, 20, n_informative=10, n_redundant=4, n_clusters_per_class=4, flip_y=0.05, random_state=0
    )


def waves(n: int) -> Data:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 6))
    return X, np.sin(2 * X[:, 0]) + np.cos(2 * X[:, 1]) + 0.5 * X[:, 2] + 0.3 * rng.normal(size=n) > 0


def ball(n: int) -> Data:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 4))
    return X, (np.linalg.norm(X, axis=1) > 1.8) ^ (rng.random(n) < 0.05)


def three(n: int) -> Data:
    return make_classification(
        n, 12, n_informative=8, n_classes=3, n_clusters_per_class=2, flip_y=0.03, class_sep=1.2, random_state=3
    )


def digits(n: int) -> Data:
    X, y = load_digits(return_X_y=True)
    kept = X.std(axis=0) > 0
    order = np.random.default_rng(4).permutation(len(y))[:n]
    return X[order][:, kept], y[order]


SETS: dict[str, tuple[Callable[[int], Data], float]] = {
    "clusters": (clusters, 0.02),
    "waves": (waves, 0.02),
    "ball": (ball, 0.02),
    "three classes": (three, 0.02),
    "digits": (digits, 0.05),
}


def parted(name: str, n: int) -> tuple[Data, Data]:
    make = SETS[name][0]
    X, y = make(n + TEST_ROWS)
    X = StandardScaler().fit_transform(X)
    n = n if len(y) == n + TEST_ROWS else 2 * len(y) // 3
    return (X[:n], y[:n]), (X[n:], y[n:])


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    return work(), time.process_time() - started


def accuracy(name: str, n: int, sample_size: int) -> Iterator[dict[str, Any]]:
    (X, y), (X_new, y_new) = parted(name, n)
    settings: dict[str, Any] = {"C": SETS[name][1], "n_threads": THREADS}
    spn = kernels10(X.shape[1])
    exact, seconds = timed(lambda: SPNMKLClassifier(spn, **settings).fit(X, y))
    answers = exact.predict(X_new)
    shared = {"set": name, "rows": len(y), "sample": min(sample_size, len(y))}
    yield shared | {
        "landmarks": "exact",
        "accuracy": np.mean(answers == y_new),
        "as exact": 1.0,
        "objective above": 0.0,
        "seconds": seconds,
        "support vectors": len(exact.support_),
    }
    for m in [m for m in LANDMARKS if m <= sample_size]:
        model = SPNMKLClassifier(spn, approximation="nystroem", n_components=m, sample_size=sample_size, **settings)
        model, seconds = timed(lambda model=model: model.fit(X, y))
        found = model.predict(X_new)
        yield shared | {
            "landmarks": m,
            "accuracy": np.mean(found == y_new),
            "as exact": np.mean(found == answers),
            "objective above": model.approximation_.objective / exact.objective_ - 1,
            "svm gap": model.approximation_.svm_gap,
            "seconds": seconds,
        }


def on_many_rows(n: int, m: int, max_memory: float | None) -> dict[str, Any]:
    X, y = clusters(n + TEST_ROWS)
    X = StandardScaler().fit_transform(X)
    before = peak()
    model = SPNMKLClassifier(
        kernels10(X.shape[1]),
        C=0.02,
        approximation="nystroem",
        n_components=m,
        n_threads=THREADS,
        max_memory=max_memory,
    )
    _, seconds = timed(lambda: model.fit(X[:n], y[:n]))
    _, answering = timed(lambda: model.predict(X[n:]))
    found = model.approximation_
    assert found is not None
    return {
        "rows": n,
        "landmarks": m,
        "processor seconds": seconds,
        "memory before GB": before,
        "peak memory GB": peak(),
        "sample gap": found.sample_gap,
        "svm gap": found.svm_gap,
        "accuracy": model.score(X[n:], y[n:]),
        "seconds per 1,000 answers": answering / (TEST_ROWS / 1000),
    }


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def in_a_process(work: Callable[..., dict[str, Any]], *arguments: Any) -> dict[str, Any]:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["accuracy", "rows"])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--n", type=int, nargs="+", default=None, help="training rows; default 5000, or 20000 100000")
    parser.add_argument("--sample", type=int, default=2000, help="of accuracy; default 2000")
    parser.add_argument("--m", type=int, default=1000, help="landmarks of rows; default 1000")
    parser.add_argument("--max-memory", type=float, help="gigabytes for features in memory")
    parser.add_argument("--out", type=Path, help="a folder for the table, as CSV")
    args = parser.parse_args()
    found: list[dict[str, Any]] = []

    def told(row: dict[str, Any]) -> None:
        found.append(row)
        print("  ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()), flush=True)
        if args.out is not None:
            args.out.mkdir(parents=True, exist_ok=True)
            pd.DataFrame(found).to_csv(args.out / f"landmarks_{args.what}.csv", index=False)

    if args.what == "accuracy":
        for name in args.sets:
            for n in args.n or [5000]:
                for row in accuracy(name, n, args.sample):
                    told(row)
    else:
        for n in args.n or [20_000, 100_000]:
            told(in_a_process(on_many_rows, n, args.m, args.max_memory))


if __name__ == "__main__":
    main()
