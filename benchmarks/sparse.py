"""Sparse rows: `python benchmarks/sparse.py [--rows 169 3000] [--words 300000 780000]`.

Trains a linear, a cosine and an rbf kernel on rows of 100,000 columns of which few are not 0, as counts of words are,
each number of rows in a process of its own: processor seconds and the peak of its memory. One thread, fixed seeds.
"""

from __future__ import annotations

import argparse
import resource
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from spnmkl import Kernel, SPNMKLClassifier, templates

COLUMNS, TOPIC = 100_000, 200  # words, and how many of them each of the two classes likes better
LIKED = 0.05  # of the words of a row: of its topic
NEW_ROWS = 100


def counts(n: int, words: int, seed: int = 0) -> tuple[csr_array, NDArray]:
    """How often n rows have each of all words, so many together; a word comes about as often as 1/rank, and a class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    per_row = round(words / n)
    common = np.floor(COLUMNS ** rng.random((n, per_row))).astype(int) - 1
    liked = rng.integers(TOPIC, size=common.shape) + TOPIC * (1 + y[:, None])
    found = np.where(rng.random(common.shape) < LIKED, liked, common)
    rows = np.repeat(np.arange(n), per_row)
    return csr_array((np.ones(found.size), (rows, found.ravel())), shape=(n, COLUMNS)), y


def measured(n: int, words: int) -> dict[str, Any]:
    X, y = counts(n + NEW_ROWS, round(words * (1 + NEW_ROWS / n)))
    spn = templates.flat([Kernel("linear"), Kernel("cosine"), Kernel("rbf", gamma="median")])
    SPNMKLClassifier(spn, n_threads=1).fit(X[:60], y[:60])  # imports, and compiles or reads from a cache
    before, began = peak(), time.process_time()
    model = SPNMKLClassifier(spn, C=1.0, n_threads=1).fit(X[:n], y[:n])
    fitted = time.process_time()
    right = float(np.mean(model.predict(X[n:]) == y[n:]))
    return {
        "rows": n,
        "columns": COLUMNS,
        "entries": X[:n].nnz,
        "fit s": fitted - began,
        f"{NEW_ROWS} answers s": time.process_time() - fitted,
        "gap": model.gap_,
        "right on new rows": right,
        "GB before": before,
        "peak GB": peak(),
        "as dense rows GB": 8e-9 * n * COLUMNS,
    }


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[169, 3000])
    parser.add_argument("--words", type=int, nargs="+", default=[300_000, 780_000], help="drawn, for each of them")
    args = parser.parse_args()
    for n, words in zip(args.rows, args.words, strict=True):
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            row = pool.submit(measured, n, words).result()
        print("  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v:,}" for k, v in row.items()), flush=True)


if __name__ == "__main__":
    main()
