"""Whether the estimate for unseen rows is right: `python benchmarks/coverage.py [--draws 100] [--rows 1000]`.

Trains by landmarks on many draws of the same data. Each training estimates loss and accuracy on unseen rows with 95 %
intervals; 20,000 rows that no draw has tell what these are. An interval that is what it says holds them in 95 of 100
draws. The mean error is in standard errors of the estimate: above 0 it is cautious (its SVM has not seen the rows that
are held out, the classifier has), below 0 it flatters, as it would where the common factor of the weights and their
steps, which have seen these rows, were fitted to them.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from landmarks import SETS, Data, kernels10
from sklearn.preprocessing import StandardScaler

from spnmkl import SPNMKLClassifier
from spnmkl.measures import Z
from spnmkl.problem import one_vs_rest

FRESH = 20_000


def coins(n: int) -> Data:
    """Labels that nothing tells: what was fitted to rows that are held out shows here most."""
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, 8)), rng.integers(0, 2, n)


MADE = {name: made for name, (made, _) in SETS.items() if name != "digits"} | {"coins": coins}


def draws(name: str, n: int, count: int, sample: int, m: int, C: float) -> pd.DataFrame:
    """One line for each training."""
    X, y = MADE[name](count * n + FRESH)
    X = StandardScaler().fit_transform(X)
    fresh, truth = X[count * n :], y[count * n :]
    found = []
    for k in range(count):
        rows = slice(k * n, (k + 1) * n)
        model = SPNMKLClassifier(
            kernels10(X.shape[1]),
            C=C,
            approximation="nystroem",
            n_components=m,
            sample_size=sample,
            random_state=k,
            n_threads=1,
        )
        approximation = model.fit(X[rows], y[rows]).approximation_
        assert approximation is not None
        told = approximation.estimate
        if told is None:
            continue
        loss, accuracy = over_fresh(model, fresh, truth, y[rows], C)
        spread = (told.loss_interval[1] - told.loss) / Z
        found.append(
            {
                "loss held": told.loss_interval[0] <= loss <= told.loss_interval[1],
                "accuracy held": told.accuracy_interval[0] <= accuracy <= told.accuracy_interval[1],
                "loss above": (told.loss - loss) / spread,
                "accuracy above": (told.accuracy - accuracy) / np.sqrt(accuracy * (1 - accuracy) / told.n_rows),
                "steps": approximation.steps,
                "rows": told.n_rows,
            }
        )
    return pd.DataFrame(found)


def over_fresh(
    model: SPNMKLClassifier, fresh: np.ndarray, truth: np.ndarray, y: np.ndarray, C: float
) -> tuple[float, float]:
    """Loss and accuracy of as many unseen rows as there were of each class."""
    F = np.atleast_2d(model.decision_function(fresh).T)
    codes, counts = np.searchsorted(model.classes_, truth), np.unique(y, return_counts=True)[1]
    losses = C * np.maximum(0.0, 1.0 - one_vs_rest(codes, len(counts)) * F).sum(axis=0)
    right = model.predict(fresh) == truth
    of = [codes == c for c in range(len(counts))]
    loss = sum(n * losses[rows].mean() for n, rows in zip(counts, of, strict=True))
    return float(loss), float(sum(n * right[rows].mean() for n, rows in zip(counts, of, strict=True)) / len(y))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="+", default=list(MADE), choices=list(MADE))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--sample", type=int, default=300)
    parser.add_argument("--m", type=int, default=100, help="landmarks")
    parser.add_argument("--C", type=float, default=0.1)
    parser.add_argument("--out", type=Path, help="a folder for coverage.csv")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| set | held out | weights moved | loss held | accuracy held | mean error of the loss, of the accuracy |")
    print("|---|" + 5 * "---:|", flush=True)
    for name in options.sets:
        found = draws(name, options.rows, options.draws, options.sample, options.m, options.C)
        print(
            f"| {name} | {found['rows'].median():.0f} | {found['steps'].gt(0).mean():.0%} | "
            f"{found['loss held'].mean():.0%} | {found['accuracy held'].mean():.0%} | "
            f"{found['loss above'].mean():+.2f}, {found['accuracy above'].mean():+.2f} |",
            flush=True,
        )
        if options.out is not None:
            options.out.mkdir(parents=True, exist_ok=True)
            found.to_csv(options.out / f"coverage_{name.replace(' ', '_')}.csv", index=False)


if __name__ == "__main__":
    main()
