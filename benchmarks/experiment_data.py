"""The sets of the experiments with their base kernels, and their splits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from spnmkl import Kernel
from spnmkl.data import load_sample

Floats = NDArray[np.float64]
Groups = dict[str, list[Kernel]]


@dataclass(frozen=True)
class Data:
    """Numbers, labels, and base kernels by group: its views, or kinds of kernel where it has one view."""

    X: Floats
    y: NDArray
    groups: Groups


@dataclass(frozen=True)
class Choice:
    """How a cell is computed: results of different choices do not belong in one file."""

    folds: int
    points: int  # values of C
    tol: float
    most_rows: int
    train_size: float = 0.7


@dataclass(frozen=True)
class Split:
    X: Floats
    y: NDArray
    X_test: Floats
    y_test: NDArray
    names: list[str] | None = None


def kinds_of_kernel(n_features: int) -> Groups:
    """Rbf of five widths and polynomials of degree 1 to 3 on all columns, rbf on up to eight groups of columns."""
    parts = np.array_split(np.arange(n_features), min(8, n_features))
    return {
        "widths": [Kernel("rbf", gamma=w / n_features, label=f"rbf {w:g}") for w in (0.01, 0.1, 1, 10, 100)],
        "powers": [Kernel("polynomial", degree=d, gamma=1 / n_features, label=f"degree {d}") for d in (1, 2, 3)],
        "columns": [
            Kernel("rbf", gamma=1 / len(part), features=part.tolist(), label=f"columns {part[0]} to {part[-1]}")
            for part in parts
        ],
    }


def kernels_of_views(views: Mapping[str, Sequence[int]]) -> Groups:
    """Rbf of three widths and polynomials of degree 1 and 2 on every view."""

    def kernels(name: str, columns: list[int]) -> list[Kernel]:
        unit = 1 / len(columns)
        rbf = [Kernel("rbf", gamma=w * unit, features=columns, label=f"{name} rbf {w:g}") for w in (0.25, 1, 4)]
        powers = [
            Kernel("polynomial", degree=d, gamma=unit, features=columns, label=f"{name} degree {d}") for d in (1, 2)
        ]
        return rbf + powers

    return {name: kernels(name, list(columns)) for name, columns in views.items()}


def bundled(name: str) -> Data:
    data = load_sample(name)
    frame = data.frame.drop(columns=data.label)
    views = {view: [frame.columns.get_loc(column) for column in columns] for view, columns in data.views.items()}
    return Data(frame.to_numpy(float), data.frame[data.label].to_numpy(), kernels_of_views(views))


def iris() -> Data:
    X, y = load_iris(return_X_y=True)
    return Data(X, y, kinds_of_kernel(X.shape[1]))


def from_file(path: Path) -> Data:
    frame = pd.read_csv(path)
    X, y = frame.drop(columns="label"), frame["label"].astype(str).to_numpy()
    prefixes = list(dict.fromkeys(column.partition("__")[0] for column in X if "__" in column))
    if prefixes:
        views = {v: [k for k, column in enumerate(X) if column.startswith(f"{v}__")] for v in prefixes}
        return Data(X.to_numpy(float), y, kernels_of_views(views))
    return Data(X.to_numpy(float), y, kinds_of_kernel(X.shape[1]))


def all_sets(folder: Path | None) -> dict[str, Callable[[], Data]]:
    """scikit-learn's, then those of the folder that are not among them."""
    sets: dict[str, Callable[[], Data]] = {"iris": iris}
    sets |= {name: partial(bundled, name) for name in ("breast_cancer", "wine", "digits")}
    files = [] if folder is None else sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")])
    return sets | {name: partial(from_file, f) for f in files if (name := f.name.partition(".")[0]) not in sets}


def named_sets(folder: Path | None, names: Sequence[str] | None) -> dict[str, Callable[[], Data]]:
    """Those asked for, or all."""
    available = all_sets(folder)
    for name in names or ():
        if name not in available:
            raise SystemExit(f"There is no set {name!r} among {', '.join(available)}; name its folder by --data.")
    return {name: available[name] for name in names or available}


def split_of(data: Data, split: int, choice: Choice) -> Split:
    rows = np.arange(len(data.y))
    if len(rows) > choice.most_rows:
        rows, _ = train_test_split(rows, train_size=choice.most_rows, stratify=data.y, random_state=0)
    train, test = train_test_split(rows, train_size=choice.train_size, stratify=data.y[rows], random_state=split)
    scaler = StandardScaler().fit(data.X[train])
    return Split(scaler.transform(data.X[train]), data.y[train], scaler.transform(data.X[test]), data.y[test])
