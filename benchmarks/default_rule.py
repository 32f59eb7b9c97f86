"""Must evidence weights lead by more than chance? `python benchmarks/default_rule.py --data FOLDER [--out FILE]`.

For every split (seeds from 1000 on, none of those that `default.py` reports) of the smaller sets and of made ones: the
scores of every rival on the folds, and the accuracy on the test rows of each of them, trained. From these lines, added
to FILE when they are known, rules are told: which of the rivals each would have taken, and what that answers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from default import CHOICE, views_of
from experiment_data import Data, Split, kinds_of_kernel, named_sets, split_of
from experiment_methods import possible_folds
from experiment_report import as_command, note_run
from experiment_store import Key, Store, Task, fill, key_of, read

from spnmkl import SPN, Kernel, Product, SPNMKLClassifier, Sum
from spnmkl.circuit.source import MatrixSource
from spnmkl.given import default_structure
from spnmkl.kernels import fit_kernels
from spnmkl.rivals import CERTIFIED, COMPARED, EVIDENCE, Rival, best_of, choose_rival
from spnmkl.structure.defaults import Part, default_drawing

SETS = ("iris", "wine", "heart", "sonar", "glass", "wpbc", "liver", "ionosphere", "tcga_brca", "breast_cancer")
FILE = Path(__file__).parents[1] / "docs" / "experiments" / "full" / "default_rule.csv"
FIRST = 1000  # seed
ERRORS = (0.0, 0.5, 1.0, 2.0)  # of the difference, by which it must lead
MADE_ROWS = 300
NOBODY = Rival(CERTIFIED, SPN(Sum(Product(Kernel("linear")))), "certified", 1.0, 0.0, 0.0)


@dataclass(frozen=True)
class Line:
    set: str
    split: int
    name: str
    score: float
    error: float
    folds: str
    telling: bool
    accuracy: float


def made() -> dict[str, Callable[[], Data]]:
    """Labels of a line, of products of signs, of circles, of a mixture of four, of weak and of noisy columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(MADE_ROWS, 6))
    centres, which = rng.normal(size=(8, 6)), rng.integers(8, size=MADE_ROWS)
    flipped = rng.random(MADE_ROWS) < 0.15
    labels = {
        "a line": X[:, 0] + X[:, 1] > 0,
        "two signs": X[:, 0] * X[:, 1] > 0,
        "a circle": (X[:, :2] ** 2).sum(1) > 1.4,
        "weak": X[:, 0] + 2 * rng.normal(size=MADE_ROWS) > 0,
        "a noisy circle": ((X[:, :3] ** 2).sum(1) > 2.4) ^ flipped,
    }
    mixture = Data(centres[which] * 1.5 + X, which % 4, kinds_of_kernel(6))
    return {name: lambda y=y: Data(X, y.astype(int), kinds_of_kernel(6)) for name, y in labels.items()} | {
        "a mixture": lambda: mixture
    }


def drawings(data: Data, split: Split) -> dict[str, SPN]:
    """Of all columns, and where there are views, of these."""
    parts = [Part(name, tuple(columns)) for name, columns in views_of(data).items()]
    found = {"": default_structure(split.X)}
    return found | ({", views": default_drawing(parts)} if len(parts) > 1 else {})


def lines(name: str, k: int, spn: SPN, split: Split) -> Iterator[Line]:
    folds = possible_folds(CHOICE, split.y)
    found = choose_rival(spn, MatrixSource(fit_kernels(spn, split.X)[0]), split.y, folds=folds, n_threads=1)
    assert found is not None
    telling = len({spn.spec(leaf).features for leaf in spn.kernels}) > 1
    for rival in found.rivals:
        model = SPNMKLClassifier(rival.spn, n_threads=1, **rival.options).fit(split.X, split.y)
        right = float((model.predict(split.X_test) == split.y_test).mean())
        scores = " ".join(f"{score:.6f}" for score in rival.folds)
        yield Line(name, k, rival.name, rival.score, rival.error, scores, telling, right)


def tasks(folder: Path | None, sets: Sequence[str], splits: int) -> Iterator[Task]:
    named = [name for name in sets if name not in made()]
    loaders = (named_sets(folder, named) if named else {}) | {name: f for name, f in made().items() if name in sets}
    for k in range(FIRST, FIRST + splits):
        for name, load in loaders.items():

            def compute(
                asked: Sequence[Key], name: str = name, load: Callable[[], Data] = load, k: int = k
            ) -> Iterator[list[Line]]:
                data = load()
                split = split_of(data, k, CHOICE)
                of_all = (drawings(data, split)).items()
                yield [line for suffix, spn in of_all for line in lines(name + suffix, k, spn, split)]

            yield Task((key_of(name, k),), compute)


def rules(table: pd.DataFrame) -> pd.DataFrame:
    """What each rule would have taken on every split, and what that answers there, in %."""
    found = []
    for (name, k), of_split in table.groupby(["set", "split"], sort=False):
        right = dict(zip(of_split["name"], of_split["accuracy"], strict=True))
        rivals = [
            replace(NOBODY, name=line.name, weights="evidence" if line.name == EVIDENCE else "certified",
                    folds=tuple(map(float, line.folds.split())))
            for _, row in of_split.iterrows() for line in [Line(**row)]
        ]  # fmt: skip
        rivals.sort(key=lambda rival: COMPARED.index(rival.name))
        for errors in ERRORS:
            best = best_of(rivals, bool(of_split["telling"].iloc[0]), CHOICE.folds, errors).name
            found.append((name, k, errors, 100 * right[best], best != EVIDENCE))
    return pd.DataFrame(found, columns=["set", "split", "errors", "accuracy", "certified"])


def report(file: Path) -> None:
    found = rules(read(file))
    of_sets = found.pivot_table(index="set", columns="errors", values="accuracy")
    certified = found.groupby("errors")["certified"].mean()
    print("| errors | mean over sets | certified | most lost on a set, beside 0 | most gained |")
    print("|---:|---:|---:|---|---|")
    for errors in ERRORS:
        gain = of_sets[errors] - of_sets[ERRORS[0]]
        ends = [f"{gain[name]:+.1f} ({name})" for name in (gain.idxmin(), gain.idxmax())]
        shares = f"{of_sets[errors].mean():.2f} | {100 * certified[errors]:.0f} %"
        print(f"| {errors:g} | {shares} | {' | '.join(ends)} |")
    print(f"\n{len(of_sets)} sets, {len(found) // len(ERRORS)} splits.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="folder with more sets")
    parser.add_argument(
        "--sets", nargs="+", default=[*SETS, *made()], help="by default the smaller ones, and made ones"
    )
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--out", type=Path, default=FILE)
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    if not options.report_only:
        note_run(options.out.parent, as_command(Path(__file__).name, sys.argv[1:], options.data))
        fill(Store(options.out, Line, 2), tasks(options.data, options.sets, options.splits))
    report(options.out)


if __name__ == "__main__":
    main()
