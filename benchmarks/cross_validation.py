"""Choosing C as a multiple of one training: `python benchmarks/cross_validation.py [--data FOLDER] [--tables …]`.

`cross_validate_C` over twelve values and five folds, elapsed, in units of one training on all rows at the C it chose,
with the same threads, timed by turns; matrices are given, and their checks are part of both. One kernel per column,
and rbf kernels of several widths over all columns, in one layer with p = 1. FOLDER holds tables such as german.csv
with a column `label`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from spnmkl import SPN, Kernel, cross_validate_C, solve, templates
from spnmkl.kernels import fit_kernels
from spnmkl.threads import default_threads

T = TypeVar("T")
Table = tuple[NDArray[np.float64], NDArray]
WIDTHS = np.logspace(-1.5, 1.5, 10)


def tables(folder: Path | None) -> Iterator[tuple[str, Table]]:
    yield "breast_cancer", load_breast_cancer(return_X_y=True)
    digits = load_digits()
    yield "digits, even or odd", (digits.data, digits.target % 2)
    for file in sorted(folder.glob("*.csv")) if folder else []:
        frame = pd.read_csv(file)
        if "label" in frame and len(frame) < 3000:
            rest = pd.get_dummies(frame.drop(columns="label")).to_numpy(float)
            yield file.stem, (rest, frame["label"].to_numpy())


def structures(n_features: int) -> dict[str, SPN]:
    columns = [Kernel("rbf", gamma=0.5, features=[k]) for k in range(min(n_features, 64))]
    return {
        "columns": templates.flat(columns),
        "widths": templates.flat([Kernel("rbf", gamma=float(g) / n_features) for g in WIDTHS]),
    }


def timed(work: Callable[..., T], *args: Any, **settings: Any) -> tuple[float, T]:
    started = time.perf_counter()
    found = work(*args, **settings)
    return time.perf_counter() - started, found


def measured(spn: SPN, X: NDArray, y: NDArray, args: argparse.Namespace) -> str:
    """Chosen C, seconds of one training and of the cross-validation, and their ratio."""
    single, whole = [], []
    for _ in range(args.repeats):
        kernels = fit_kernels(spn, X)[0]  # anew, since what was found of a matrix is kept while it lives
        seconds, found = timed(cross_validate_C, spn, kernels, y, max_time=args.max_time, n_threads=args.threads)
        whole.append(seconds)
        kernels = fit_kernels(spn, X)[0]
        single.append(timed(solve, spn, kernels, y, C=found.best_C, n_threads=args.threads)[0])
        done = np.isfinite(found.scores)
        if not done.all():
            break
    cut = "" if done.all() else f" (cut: {done.sum()} of {done.size})"
    one, many = median(single), median(whole)
    return f"{len(kernels)} | {len(y)} | {found.best_C:.3g} | {one:.3f} | {many:.2f}{cut} | {many / one:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--tables", nargs="+")
    parser.add_argument("--kinds", nargs="+", default=["columns", "widths"])
    parser.add_argument("--rows", type=int, default=1000, help="at most; drawn by seed 0")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--max-time", type=float, default=300.0, help="seconds for one cross-validation")
    parser.add_argument("--threads", type=int, default=default_threads())
    args = parser.parse_args()
    print("| table | kernels | how many | rows | chosen C | one training, s | cross-validation, s | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (X, y) in tables(args.data):
        if args.tables and name.split(",")[0] not in args.tables:
            continue
        keep = np.random.default_rng(0).permutation(len(y))[: args.rows]
        samples = StandardScaler().fit_transform(X[keep])
        for kind in args.kinds:
            result = measured(structures(X.shape[1])[kind], samples, y[keep], args)
            print(f"| {name} | {kind} | {result} |", flush=True)


if __name__ == "__main__":
    main()
