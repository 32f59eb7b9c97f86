"""What choosing C by log loss would gain: `python benchmarks/scoring.py [--data FOLDER] [--splits 5] [--rows 200]`.

Half of at most so many rows, stratified, are trained on. Folds of these give decisions of rows held out at every C of a
grid, and from them C is chosen by each measure; by log loss, the sigmoid that makes a fold's decisions probabilities is
learned from those of the other folds. Then the drawing, three widths of the rbf kernel and a linear one, is trained at
that C on all training rows, calibrated on the decisions held out, and scored on the rest: log loss, and accuracy.
Written are the means over splits, and how much larger than by log loss the log loss is, with its standard error.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from experiment_data import all_sets
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler

from spnmkl import Kernel, solve, templates
from spnmkl.calibration import probabilities, scaling
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.measures import SCORINGS, row_losses
from spnmkl.solvers import C_min

LOSS = "log loss"
FOLDS, POINTS = 5, 8
DRAWING = templates.flat([Kernel("linear"), *(Kernel("rbf", gamma=g) for g in ("0.25*scale", "scale", "4*scale"))])
Floats = NDArray[np.float64]


def decisions(X: Floats, y: NDArray, X_new: Floats, C: float) -> Floats:
    """(1 or classes, rows)"""
    kernels, fitted = fit_kernels(DRAWING, X)
    solution = solve(DRAWING, kernels, y, C=C, warn=False)
    return np.atleast_2d(solution.decision_function(cross_kernels(fitted, X_new)).T)


def held_out(X: Floats, y: NDArray, C: float, seed: int) -> tuple[Floats, NDArray[np.intp]]:
    """The decision of every row, by a training without it, and the fold that it is in."""
    classes, fold = np.unique(y), np.empty(len(y), dtype=np.intp)
    F = np.empty((1 if len(classes) == 2 else len(classes), len(y)))
    for k, (train, test) in enumerate(StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(X, y)):
        F[:, test], fold[test] = decisions(X[train], y[train], X[test], C), k
    return F, fold


def scored(F: Floats, fold: NDArray, y: NDArray) -> dict[str, float]:
    """Mean over the folds of every measure, larger is better; the sigmoid of a fold is that of the others."""
    classes, parts = np.unique(y), [fold == k for k in range(FOLDS)]
    found = {
        name: float(np.mean([measure.of(y[at], _shaped(F[:, at]), classes) for at in parts]))
        for name, measure in SCORINGS.items()
    }
    losses = [
        row_losses(y[at], probabilities(F[:, at], scaling(F[:, ~at], y[~at], classes)), classes).mean() for at in parts
    ]
    return found | {LOSS: -float(np.mean(losses))}


def _shaped(F: Floats) -> Floats:
    return F[0] if len(F) == 1 else F.T


def split_results(X: Floats, y: NDArray, seed: int, rows: int) -> dict[str, tuple[float, float]]:
    """Measure that chose C → log loss and accuracy on the rows that were not trained on."""
    if len(y) > rows:
        X, _, y, _ = train_test_split(X, y, train_size=rows, stratify=y, random_state=seed)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X)
    X, X_test, classes = scaler.transform(X), scaler.transform(X_test), np.unique(y)
    grid = C_min(DRAWING, fit_kernels(DRAWING, X)[0], y, tol=1e-2) * np.logspace(0.1, 2.5, POINTS)
    tried = [held_out(X, y, float(C), seed) for C in grid]
    scores = [scored(*one, y) for one in tried]
    found = {}
    for name in (*SCORINGS, LOSS):
        best = int(np.argmax([score[name] for score in scores]))
        F = decisions(X, y, X_test, float(grid[best]))
        P = probabilities(F, scaling(tried[best][0], y, classes))
        right = SCORINGS["accuracy"].of(y_test, _shaped(F), classes)
        found[name] = float(row_losses(y_test, P, classes).mean()), right
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200)
    args = parser.parse_args()
    more: dict[str, list[float]] = {name: [] for name in SCORINGS}
    for table, load in all_sets(args.data).items():
        data = load()
        counts = np.unique(data.y, return_counts=True)[1]
        if counts.min() * min(1.0, args.rows / len(data.y)) < 2 * FOLDS:
            continue
        found = [split_results(data.X, data.y, seed, args.rows) for seed in range(args.splits)]
        means = {name: np.mean([one[name] for one in found], axis=0) for name in (*SCORINGS, LOSS)}
        told = ", ".join(f"{name} {loss:.3f} ({100 * right:.1f} %)" for name, (loss, right) in means.items())
        print(f"{table} ({len(counts)} classes): {told}", flush=True)
        for name in SCORINGS:
            more[name].append(float(means[name][0] - means[LOSS][0]))
    for name, values in more.items():
        error = np.std(values, ddof=1) / np.sqrt(len(values))
        print(
            f"log loss by {name} less that by log loss: {np.mean(values):+.4f} ± {error:.4f} over {len(values)} tables"
        )


if __name__ == "__main__":
    main()
