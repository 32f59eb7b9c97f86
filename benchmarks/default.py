"""Is the default good? `python benchmarks/default.py --data FOLDER [--sets …] [--splits 20] [--report-only]`.

`SPNMKLClassifier()`, which draws and chooses by itself, beside scikit-learn's RBF-SVM with C and γ tuned by grid search
(54 pairs, SVC, one against one): the same stratified splits (70 % to train) of every set that scikit-learn brings and
every CSV file of a folder, the same 5 folds within the training rows for both. On sets with views also what
`spnmkl fit` does, which has kernels for every view. Seconds are of the processor, one thread. Results are lines of
docs/experiments/full/default.csv, added when they are known; a run goes on where it ended. The table is printed from
them: mean accuracy, the difference, its corrected resampled t-test with Holm's correction over the sets, and the ratio
of the times.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from experiment_data import Choice, Data, Split, all_sets, kinds_of_kernel, split_of
from experiment_methods import possible_folds
from experiment_report import as_command, note_run
from experiment_store import Key, Store, Task, fill, key_of, read
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from spnmkl import SPNMKLClassifier
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.study.significance import corrected_t_test, holm
from spnmkl.training.default import prepared_by_default
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights

CHOICE = Choice(folds=5, points=0, tol=1e-3, most_rows=2000)
C = np.logspace(-2, 3, 6)
GAMMA = np.logspace(-2, 2, 9)  # over the number of columns
ALL_DIGITS = "digits, all rows"
SVM, OURS, VIEWS = "RBF-SVM", "SPNMKLClassifier()", "spnmkl fit"
FILE = Path(__file__).parents[1] / "docs" / "experiments" / "full" / "default.csv"


@dataclass(frozen=True)
class Cell:
    set: str
    split: int
    method: str
    n: int
    n_test: int
    accuracy: float
    seconds: float
    chosen: str


Fitted = tuple[np.ndarray, str]  # predictions of the test rows, and what was chosen


def rbf_svm(split: Split, data: Data) -> Fitted:
    folds = StratifiedKFold(possible_folds(CHOICE, split.y), shuffle=True, random_state=0)
    grid = {"C": C, "gamma": GAMMA / split.X.shape[1]}
    found = GridSearchCV(SVC(), grid, cv=folds).fit(split.X, split.y)
    return found.predict(split.X_test), "C = {C:g}, γ = {gamma:.3g}".format(**found.best_params_)


def classifier(split: Split, data: Data) -> Fitted:
    model = SPNMKLClassifier(n_threads=1).fit(split.X, split.y)
    return model.predict(split.X_test), model.choice_.best.name if model.choice_ else "nothing"


def fit_with_views(split: Split, data: Data) -> Fitted:
    """Columns are standardised already, which standardising again does not change."""
    names = [f"x{k}" for k in range(split.X.shape[1])]
    views = {name: tuple(names[k] for k in columns) for name, columns in views_of(data).items()}
    frame = pd.DataFrame(split.X, columns=names).assign(label=split.y)
    dataset = Dataset("table", frame, "label").with_views(views)
    found = prepared_by_default(
        dataset, Choices("standardize"), SplitSettings(0.0, 0), Settings(), choose_steps=False, n_threads=1
    )
    model = learn_weights(found.prepared, found.settings, n_threads=1).model
    assert model is not None and found.choice is not None
    return model.predict(pd.DataFrame(found.prepared.preparation.transform(
        pd.DataFrame(split.X_test, columns=names)))), found.choice.best.name  # fmt: skip


def views_of(data: Data) -> dict[str, Sequence[int]]:
    """The columns of each view, where the groups of kernels are views."""
    seen = {name: kernels[0].spec.features for name, kernels in data.groups.items()}
    return {} if None in seen.values() else {name: [int(k) for k in columns or ()] for name, columns in seen.items()}


def methods(data: Data) -> dict[str, Callable[[Split, Data], Fitted]]:
    found: dict[str, Callable[[Split, Data], Fitted]] = {SVM: rbf_svm, OURS: classifier}
    return found | ({VIEWS: fit_with_views} if len(views_of(data)) > 1 else {})


def all_digits() -> Data:
    X, y = load_digits(return_X_y=True)
    return Data(X, y, kinds_of_kernel(X.shape[1]))


def loaders(folder: Path | None, names: Sequence[str] | None) -> dict[str, Callable[[], Data]]:
    """Those asked for, or all; digits also with all its rows, of which the sample has 500."""
    available = all_sets(folder) | {ALL_DIGITS: all_digits}
    if unknown := [name for name in names or () if name not in available]:
        raise SystemExit(f"There is no set {unknown[0]!r} among {', '.join(available)}; name its folder by --data.")
    return {name: available[name] for name in names or available}


def tasks(
    folder: Path | None, sets: Sequence[str] | None, splits: int, asked: Sequence[str] | None = None
) -> Iterator[Task]:
    for k in range(splits):
        for name, load in loaders(folder, sets).items():
            data = load()
            of_set = {method: fit for method, fit in methods(data).items() if asked is None or method in asked}
            keys = {key_of(name, k, method): method for method in of_set}

            def compute(
                asked: Sequence[Key], data: Data = data, name: str = name, k: int = k,
                keys: dict[Key, str] = keys, of_set: dict[str, Callable[[Split, Data], Fitted]] = of_set,
            ) -> Iterator[list[Cell]]:  # fmt: skip
                split = split_of(data, k, CHOICE)
                for key in asked:
                    started = time.process_time()
                    predicted, chosen = of_set[keys[key]](split, data)
                    seconds = time.process_time() - started
                    right = float((predicted == split.y_test).mean())
                    yield [Cell(name, k, keys[key], len(split.y), len(split.y_test), right, seconds, chosen)]

            yield Task(tuple(keys), compute)


def report(file: Path) -> None:
    table = read(file)
    lines = []
    for method in (OURS, VIEWS):
        rows = [row for name in dict.fromkeys(table["set"]) if (row := compared(table, name, method)) is not None]
        adjusted = holm([row["p"] for row in rows])
        lines += [row | {"p, Holm": p} for row, p in zip(rows, adjusted, strict=True)]
    print("| set | splits | RBF-SVM | default | difference | p, Holm | times as long | chosen |")
    print("|---|---:|---:|---:|---:|---:|---:|---|")
    for row in lines:
        name = f"{row['set']}{', views' if row['method'] == VIEWS else ''}"
        scores = f"{row['svm']:.1f} | {row['ours']:.1f} | {row['difference']:+.1f} | {row['p, Holm']:.2f}"
        print(f"| {name} | {row['splits']} | {scores} | {row['ratio']:.1f} | {row['chosen']} |")
    ours = [row for row in lines if row["method"] == OURS]
    print(
        f"\nMean over {len(ours)} sets: RBF-SVM {np.mean([row['svm'] for row in ours]):.2f} %, default "
        f"{np.mean([row['ours'] for row in ours]):.2f} %."
    )


def compared(table: pd.DataFrame, name: str, method: str) -> dict[str, object] | None:
    of_set = table[table["set"] == name]
    both = of_set.pivot(index="split", columns="method", values=["accuracy", "seconds"])
    if method not in both["accuracy"] or SVM not in both["accuracy"]:
        return None
    both = both.dropna(subset=[("accuracy", method), ("accuracy", SVM)])
    accuracy, seconds = both["accuracy"] * 100, both["seconds"]
    difference = accuracy[method] - accuracy[SVM]
    first = of_set.iloc[0]
    kinds = of_set[of_set["method"] == method]["chosen"].value_counts()
    return {
        "set": name,
        "method": method,
        "splits": len(both),
        "svm": accuracy[SVM].mean(),
        "ours": accuracy[method].mean(),
        "difference": difference.mean(),
        "p": corrected_t_test(difference.to_numpy(), first["n_test"] / first["n"]),
        "ratio": seconds[method].sum() / seconds[SVM].sum(),
        "chosen": ", ".join(f"{kind} {count}" for kind, count in kinds.items()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with more sets")
    parser.add_argument("--sets", nargs="+", help="by default all")
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--methods", nargs="+", choices=(SVM, OURS, VIEWS), help="by default all")
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    if not options.report_only:
        note_run(options.out.parent, as_command(Path(__file__).name, sys.argv[1:], options.data))
        wanted = tasks(options.data, options.sets, options.splits, options.methods)
        fill(Store(options.out, Cell, 3), wanted)
    report(options.out)


if __name__ == "__main__":
    main()
