"""Rows predicted per second, against scikit-learn's SVC: `python benchmarks/prediction.py [--rows 20000]`.

Trained on 1,000 rows of the data of `solver.py`. SVC has one rbf kernel on all features and one thread; the model has
the kernels that training left of 25, computed in tiles for the support vectors only. By turns, median of 5.
"""

from __future__ import annotations

import argparse
from statistics import median

import numpy as np
from sklearn.svm import SVC
from solver import C, seconds, structures, synthetic

from spnmkl import SPNMKLClassifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    _, X, y = synthetic(1000)
    new = np.random.default_rng(0).normal(size=(options.rows, X.shape[1]))
    svc = SVC(C=C).fit(X, y)
    print("| structure | kernels left | support vectors | threads | rows/s | SVC's rows/s (support vectors) | ratio |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, spn in structures(X.shape[1]).items():
        for threads in (1, 2):
            model = SPNMKLClassifier(spn, C=C, n_threads=threads).fit(X, y)
            model.decision_function(new[:100])
            ours, theirs = [], []
            for _ in range(options.repeats):
                theirs.append(seconds(lambda: svc.decision_function(new)))
                ours.append(seconds(lambda model=model: model.decision_function(new)))
            rate, unit = options.rows / median(ours), options.rows / median(theirs)
            print(
                f"| {name} | {len(model.kernels_)} | {len(model.support_)} | {threads} | {rate:,.0f} | {unit:,.0f} "
                f"({len(svc.support_)}) | {rate / unit:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
