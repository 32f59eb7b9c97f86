"""Does structure help? `python benchmarks/experiments.py [--data FOLDER] [--short] [--out FOLDER]`.

Accuracy: every method of `spnmkl.baselines` on the same stratified splits (70 % train) of the same sets, with the same
base kernels; columns are standardised, kernels fitted, and C (and the kernel, where a method takes one) chosen by
cross-validation, on the training rows alone. Sets are those that scikit-learn brings and, with --data, every CSV file
of a folder (features first, `label` last; `NAME.views.json` names the columns of views). Recovery: labels drawn from a
known structure (`sample_data/make.py`), more and more rows to learn it from, always the same 100 rows to test.

Each result is appended to results.csv at once; what stands there is not computed again, so a run can be interrupted and
continued, also with more sets or splits. report.md and its pictures are written from that file at the end.
`seconds` is the time to choose C and train on ready matrices, one thread. MKLpy's EasyMKL takes part on sets of two
classes where MKLpy can be imported.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from experiment_report import write_report
from numpy.typing import NDArray
from peer_methods import Asked, mklpy
from sklearn.datasets import load_iris
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from spnmkl import Kernel
from spnmkl.baselines import Fitted, Learned, Method, baselines, compute_kernels
from spnmkl.data import load_sample
from spnmkl.inspection import decision_shares
from spnmkl.kernels import cross_kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "sample_data"))
import make

Floats = NDArray[np.float64]
Groups = dict[str, list[Kernel]]
TRUE, QUESTION = "true structure", "which of four branches"
TEST_ROWS = 100  # of the 400 that `make.known` draws


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
class Configuration:
    choice: Choice
    splits: int
    seeds: int
    sizes: tuple[int, ...]
    sets: tuple[str, ...] | None = None  # None: all there are


FULL = Configuration(Choice(5, 11, 1e-3, 2000), 20, 20, (50, 100, 200, 300))
SHORT = Configuration(Choice(2, 3, 1e-2, 70), 2, 2, (40, 80), ("iris", "wine"))


@dataclass(frozen=True)
class Cell:
    """One method on one split; `share` and `heaviest` are the true branch's, where the structure holds it."""

    section: str
    set: str
    split: int
    method: str
    n: int
    n_test: int
    classes: int
    kernels: int
    active: int
    accuracy: float
    auc: float
    validation: float
    C: float
    at_end: bool
    seconds: float
    gap: float
    share: float = float("nan")
    heaviest: float = float("nan")


@dataclass(frozen=True)
class Split:
    X: Floats
    y: NDArray
    X_test: Floats
    y_test: NDArray
    names: list[str] | None = None


@dataclass(frozen=True)
class Job:
    """The methods on one split, which is made when its turn comes."""

    section: str
    set: str
    split: int
    data: Callable[[], Split]
    methods: dict[str, Method]


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


def split_of(data: Data, split: int, choice: Choice) -> Split:
    rows = np.arange(len(data.y))
    if len(rows) > choice.most_rows:
        rows, _ = train_test_split(rows, train_size=choice.most_rows, stratify=data.y, random_state=0)
    train, test = train_test_split(rows, train_size=choice.train_size, stratify=data.y[rows], random_state=split)
    scaler = StandardScaler().fit(data.X[train])
    return Split(scaler.transform(data.X[train]), data.y[train], scaler.transform(data.X[test]), data.y[test])


def known_split(seed: int, n: int) -> Split:
    frame = make.known(seed)
    X, y = frame.drop(columns="label"), frame["label"].to_numpy()
    end = len(y) - TEST_ROWS
    if n > end:
        raise SystemExit(f"The known structure has {end} rows to learn from, but --sizes asks for {n}.")
    return Split(X.to_numpy()[:n], y[:n], X.to_numpy()[end:], y[end:], list(X))


def accuracy_methods(data: Data) -> dict[str, Method]:
    methods = baselines(data.groups, data.X.shape[1])
    if find_spec("MKLpy") is not None and len(np.unique(data.y)) == 2:
        methods["EasyMKL (MKLpy)"] = Method("EasyMKL (MKLpy)", methods["average kernel"].candidates, easy_mkl)
    return methods


def easy_mkl(kernels: Sequence[Floats], y: NDArray) -> Floats:
    """The weights, which do not depend on C; the machine on their sum is ours."""
    return mklpy(kernels, np.where(y == np.unique(y)[-1], 1.0, -1.0), 1.0, Asked(1e-3), "EasyMKL")


def known_methods() -> dict[str, Method]:
    """Flat and deep over the same eight leaves; the structure that made the labels; it among three others."""
    views = {"left": make.LEFT, "right": make.RIGHT}
    groups = {
        view: [Kernel("rbf", gamma=1.0, features=[name], label=f"{name} alone") for name in names]
        for view, names in views.items()
    }
    structures = {TRUE: make.true_structure(), QUESTION: make.question()}
    return baselines(groups, 8) | {name: Method(name, (spn,)) for name, spn in structures.items()}


def auc(y: NDArray, decision: Floats, classes: NDArray) -> float:
    """Area under the ROC curve; the mean of those of each class against the rest where there are more than two."""
    if decision.ndim == 1:
        return float(roc_auc_score(y == classes[1], decision))
    return float(np.mean([roc_auc_score(y == c, column) for c, column in zip(classes, decision.T, strict=True)]))


def cells(job: Job, methods: Mapping[str, Method], choice: Choice) -> Iterator[Cell]:
    """Some methods of a job, on kernels computed once."""
    split = job.data()
    matrices, fitted = compute_kernels(methods.values(), split.X, split.names)
    across = cross_kernels(fitted, split.X_test)
    folds = min(choice.folds, int(np.unique(split.y, return_counts=True)[1].min()))
    for method in methods.values():
        started = time.perf_counter()
        found = method.fit(matrices, split.y, points=choice.points, folds=folds, tol=choice.tol, n_threads=1)
        seconds = time.perf_counter() - started
        share, heaviest = true_branch(found, matrices) if method.name == QUESTION else (np.nan, np.nan)
        yield Cell(
            job.section,
            job.set,
            job.split,
            method.name,
            len(split.y),
            len(split.y_test),
            len(found.classes),
            len({spn.label(leaf) for spn in method.candidates for leaf in spn.kernels}),
            len(found.model.active),
            float((found.predict(across) == split.y_test).mean()),
            auc(split.y_test, found.decision_function(across), found.classes),
            found.validation,
            found.C,
            found.C in (found.grid[0], found.grid[-1]),
            seconds,
            found.model.solution.gap if isinstance(found.model, Learned) else np.nan,
            share,
            heaviest,
        )


def true_branch(found: Fitted, matrices: Mapping[str, Floats]) -> tuple[float, float]:
    """The share of the decision that the first branch carries, and whether none carries more."""
    assert isinstance(found.model, Learned)
    solution, spn = found.model.solution, found.spn
    shares = decision_shares(solution, {leaf: matrices[spn.label(leaf)] for leaf in spn.kernels}).products
    of_branches = [shares.get(v, 0.0) for v in spn.children(spn.root)]
    return of_branches[0], float(of_branches[0] == max(of_branches))


class Results:
    """The file of results: what stands there is done."""

    def __init__(self, folder: Path, choice: Choice) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path, described = folder / "results.csv", folder / "choice.json"
        if described.exists() and json.loads(described.read_text()) != asdict(choice):
            raise SystemExit(f"{folder} holds results of other settings ({described.name}); choose another --out.")
        described.write_text(json.dumps(asdict(choice)) + "\n")
        if not self.path.exists():
            self._append([field.name for field in fields(Cell)])
        whole = self.path.read_bytes()
        if not whole.endswith(b"\n"):  # interrupted in the middle of a line
            self.path.write_bytes(whole[: whole.rfind(b"\n") + 1])
        table = self.table()
        self.done = set(zip(table["section"], table["set"], table["split"], table["method"], strict=True))

    def table(self) -> pd.DataFrame:
        return pd.read_csv(self.path)

    def pending(self, job: Job) -> dict[str, Method]:
        return {m: method for m, method in job.methods.items() if (job.section, job.set, job.split, m) not in self.done}

    def add(self, cell: Cell) -> None:
        self._append(list(astuple(cell)))
        self.done.add((cell.section, cell.set, cell.split, cell.method))

    def _append(self, values: list) -> None:
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(values)


def jobs(configuration: Configuration, folder: Path | None, sections: Sequence[str]) -> Iterator[Job]:
    if "accuracy" in sections:
        available = all_sets(folder)
        for name in configuration.sets or available:
            if name not in available:
                raise SystemExit(f"There is no set {name!r} among {', '.join(available)}; name its folder by --data.")
            data = available[name]()
            methods = accuracy_methods(data)
            for k in range(configuration.splits):
                yield Job("accuracy", name, k, partial(split_of, data, k, configuration.choice), methods)
    if "recovery" in sections:
        methods = known_methods()
        for n in configuration.sizes:
            for seed in range(configuration.seeds):
                yield Job("recovery", f"{n} rows", seed, partial(known_split, seed, n), methods)


class Progress:
    """A line that is written over in a terminal, and one per result elsewhere."""

    def __init__(self, total: int) -> None:
        self.total, self.done, self.started = total, 0, time.perf_counter()

    def step(self, cell: Cell) -> None:
        self.done += 1
        spent = time.perf_counter() - self.started
        filled = 20 * self.done // self.total
        left = spent * (self.total - self.done) / self.done
        told = f"{cell.set}, split {cell.split + 1}, {cell.method}: {cell.accuracy:.3f}"
        line = f"[{'#' * filled:20}] {self.done}/{self.total}, {spent:.0f} s, about {left:.0f} s left; {told}"
        last = self.done == self.total or not sys.stderr.isatty()
        print(f"\r{line:<110}", end="\n" if last else "", file=sys.stderr, flush=True)


def run(configuration: Configuration, folder: Path | None, out: Path, sections: Sequence[str], command: str) -> None:
    results = Results(out, configuration.choice)
    pending = [(job, left) for job in jobs(configuration, folder, sections) if (left := results.pending(job))]
    if pending:
        warm_up = Choice(folds=2, points=2, tol=1e-2, most_rows=40)  # compiles, or reads what is compiled
        list(cells(Job("", "", 0, partial(known_split, 0, 40), known_methods()), known_methods(), warm_up))
    progress = Progress(sum(len(left) for _, left in pending))
    for job, left in pending:
        for cell in cells(job, left, configuration.choice):
            results.add(cell)
            progress.step(cell)
    write_report(results.table(), asdict(configuration.choice), command, out)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--short", action="store_true", help="a minute's test that everything works")
    parser.add_argument("--data", type=Path, help="folder with more sets")
    parser.add_argument("--sections", nargs="+", choices=["accuracy", "recovery"], default=["accuracy", "recovery"])
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--splits", type=int)
    parser.add_argument("--seeds", type=int, help="draws of the known structure")
    parser.add_argument("--sizes", type=int, nargs="+", help="rows to learn it from")
    parser.add_argument("--folds", type=int)
    parser.add_argument("--points", type=int, help="values of C")
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "docs" / "experiments")
    options = parser.parse_args(arguments)
    base = SHORT if options.short else FULL

    def given(holder: Choice | Configuration) -> dict[str, object]:
        """What holds for it, and where it was asked for otherwise, that."""
        asked = {field.name: getattr(options, field.name, None) for field in fields(holder)}
        return {
            name: getattr(holder, name) if value is None else tuple(value) if isinstance(value, list) else value
            for name, value in asked.items()
        }

    choice = Choice(**given(base.choice))
    command = " ".join(["python benchmarks/experiments.py", *(sys.argv[1:] if arguments is None else arguments)])
    run(Configuration(**given(base) | {"choice": choice}), options.data, options.out, options.sections, command)


if __name__ == "__main__":
    main()
