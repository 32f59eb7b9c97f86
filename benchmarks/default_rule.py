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
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from default import CHOICE, views_of
from default import FILE as DEFAULTS
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
APART = (0.0, 0.05, 0.1)  # share of the rows that two rivals answer otherwise
VIEWS = ", views"
USUAL = "1 errors"
Rule = Callable[[float, float], float]
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
    return found | ({VIEWS: default_drawing(parts)} if len(parts) > 1 else {})


def lines(name: str, k: int, spn: SPN, split: Split) -> Iterator[Line]:
    folds = possible_folds(CHOICE, split.y)
    found = choose_rival(spn, MatrixSource(fit_kernels(spn, split.X)[0]), split.y, folds=folds, n_threads=1)
    assert found is not None
    telling = len({spn.spec(leaf).features for leaf in spn.kernels}) > 1
    for rival in found.rivals:
        model = SPNMKLClassifier(rival.spn, n_threads=1, **rival.options).fit(split.X, split.y)
        right = float((model.predict(split.X_test) == split.y_test).mean())
        scores = " ".join(f"{score:.6f}" for score in rival.fold_scores)
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
                    fold_scores=tuple(map(float, line.folds.split())))
            for _, row in of_split.iterrows() for line in [Line(**row)]
        ]  # fmt: skip
        rivals.sort(key=lambda rival: COMPARED.index(rival.name))
        for rule, needed in rules_of(n_rows(name)).items():
            best = best_of(rivals, bool(of_split["telling"].iloc[0]), CHOICE.folds, needed).name
            found.append((name, k, rule, 100 * right[best], best))
    return pd.DataFrame(found, columns=["set", "split", "rule", "accuracy", "best"])


def rules_of(n: int) -> dict[str, Rule]:
    """A lead of so many errors over the folds; or of one, which is never less than that of n rows of which two rivals
    answer so many otherwise, at least those that the lead consists of."""
    return {f"{errors:g} errors": partial(_errors, errors) for errors in ERRORS} | {
        f"1 error, of rows if {100 * apart:g} % differ": partial(_of_rows, n, apart) for apart in APART
    }


def _errors(errors: float, ahead: float, error: float) -> float:
    return errors * error


def _of_rows(n: int, apart: float, ahead: float, error: float) -> float:
    return max(error, np.sqrt(max(max(apart, ahead) - ahead**2, 0.0) / n))


def n_rows(name: str) -> int:
    """To train, as `default.py` has them."""
    known = read(DEFAULTS).groupby("set")["n"].first()
    return int(known.get(name.removesuffix(VIEWS), round(CHOICE.train_size * MADE_ROWS)))


def report(file: Path) -> None:
    found = rules(read(file))
    of_sets = found.pivot_table(index="set", columns="rule", values="accuracy")
    taken = found.pivot(index=["set", "split"], columns="rule", values="best")
    first, *_ = names = list(dict.fromkeys(found["rule"]))
    print("| lead | mean over sets | certified | others than at 1 | most lost on a set, beside 0 | most gained |")
    print("|---|---:|---:|---:|---|---|")
    for rule in names:
        gain = of_sets[rule] - of_sets[first]
        ends = [f"{gain[name]:+.1f} ({name})" for name in (gain.idxmin(), gain.idxmax())]
        shares = f"{of_sets[rule].mean():.2f} | {100 * (taken[rule] != EVIDENCE).mean():.0f} %"
        print(f"| {rule} | {shares} | {(taken[rule] != taken[USUAL]).sum()} | {' | '.join(ends)} |")
    print(f"\n{len(of_sets)} sets, {len(taken)} splits.")


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
