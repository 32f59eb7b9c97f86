"""Classes in pairs, or each against the rest: `python benchmarks/against_the_rest.py FOLDER [SET …] [--splits 4]`.

spnmkl has a classifier for each class against the rest; scikit-learn's SVC has one for each pair. What that costs with
many classes is measured by scikit-learn alone: SVC, and OneVsRestClassifier over it, both tuned on the same grid of C
and γ by three folds within the training rows. Sets are the CSV files of the folder (columns, the label last; text is a
column for each value), without those of two classes. Of each split at most 330 rows are drawn, 70 % of them to train
(231). Printed is the accuracy of each way on the test rows, and the difference with its standard error over splits.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

ROWS, TEST, FOLDS = 330, 0.3, 3
C = (0.1, 1.0, 10.0, 100.0, 1000.0)
WIDTHS = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8)  # γ times the number of columns
Arrays = tuple[NDArray[np.float64], NDArray]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sets", nargs="*", help="names of files without .csv; default: all")
    parser.add_argument("--splits", type=int, default=4)
    asked = parser.parse_args()
    for file in sorted(asked.folder.glob("*.csv")):
        if asked.sets and file.stem not in asked.sets:
            continue
        X, y = read(file)
        classes = len(np.unique(y))
        if classes < 3:
            continue
        scores = 100 * np.array([both(X, y, seed) for seed in range(asked.splits)])
        lost = scores[:, 0] - scores[:, 1]
        error = lost.std(ddof=1) / np.sqrt(len(lost)) if len(lost) > 1 else np.nan
        pairs, rest = scores.mean(axis=0)
        print(
            f"{file.stem}: {classes} classes, pairs {pairs:.1f}, against the rest {rest:.1f}, "
            f"lost {lost.mean():+.1f} ± {error:.1f}",
            flush=True,
        )


def read(file: Path) -> Arrays:
    frame = pd.read_csv(file).dropna()
    label = frame.columns[-1]
    return pd.get_dummies(frame.drop(columns=label)).to_numpy(float), frame[label].astype(str).to_numpy()


def both(X: NDArray[np.float64], y: NDArray, seed: int) -> tuple[float, float]:
    """The accuracy on the test rows of one split: by pairs, and against the rest."""
    if len(y) > ROWS:
        drawn, _ = train_test_split(np.arange(len(y)), train_size=ROWS, stratify=y, random_state=1000 + seed)
        X, y = X[drawn], y[drawn]
    train, test = train_test_split(np.arange(len(y)), test_size=TEST, stratify=y, random_state=seed)
    scaler = StandardScaler().fit(X[train])
    Z, T = scaler.transform(X[train]), scaler.transform(X[test])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    gamma = [width / X.shape[1] for width in WIDTHS]
    pairs = GridSearchCV(SVC(), {"C": C, "gamma": gamma}, cv=folds)
    rest = GridSearchCV(OneVsRestClassifier(SVC()), {"estimator__C": C, "estimator__gamma": gamma}, cv=folds)
    first, second = (search.fit(Z, y[train]).score(T, y[test]) for search in (pairs, rest))
    return first, second


if __name__ == "__main__":
    main()
