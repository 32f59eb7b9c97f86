"""What does the search find in real sets, and is it worth anything? On the splits of `accuracy`.

The whole search is done on the training rows of a split, which nothing of the test rows enters, so that its accuracy is
that of the procedure. What it recommends and saves is the first drawing, where a product was found or where that leads
the flat sum over all kernels that the search builds with; else this flat sum, which stands beside it. `certified` is
the SVM with certified weights, C chosen as in `accuracy`; `process` the Gaussian process with evidence weights.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pandas as pd
from experiment_beside import views
from experiment_data import Choice, Data, Split, named_sets, split_of
from experiment_methods import possible_folds
from experiment_search import is_centred
from experiment_store import Key, Task, key_of
from experiment_tables import markdown

from spnmkl import SPN, fit_evidence
from spnmkl.baselines import Method
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.search import suggest

MOST_ROWS = 1000
OTHERS = ("RBF-SVM, tuned", "random forest", "boosting", "default")


@dataclass(frozen=True)
class Settings(Choice):
    budget: int = 100  # refits of a search


@dataclass(frozen=True)
class Sought:
    """One split; `search` is of the first drawing, `over` its criterion over that of the flat sum, and `leads` whether
    that is enough to be taken instead (`Suggestions.leads`).
    """

    set: str
    split: int
    n: int
    n_test: int
    found: bool
    beats_constant: bool
    over: float
    drawing: str
    centred: bool
    refits: int
    seconds: float
    search_certified: float
    search_process: float
    flat_certified: float
    flat_process: float
    leads: bool


KEY = 2


@dataclass(frozen=True)
class Real:
    settings: Settings
    splits: int
    sets: tuple[str, ...] | None = None

    def tasks(self, folder: Path | None) -> Iterator[Task]:
        """Split after split, so that what is there when it is interrupted is as much of every set."""
        sets = {name: load() for name, load in named_sets(folder, self.sets).items()}
        small = {name: data for name, data in sets.items() if len(data.y) <= MOST_ROWS}
        for k in range(self.splits):
            for name, data in small.items():
                yield Task((key_of(name, k),), partial(self._row, data, name, k))

    def _row(self, data: Data, name: str, k: int, asked: Sequence[Key]) -> Iterator[list[Sought]]:
        for _ in asked:
            yield [sought(data, name, k, self.settings)]


def sought(data: Data, name: str, k: int, settings: Settings) -> Sought:
    split = split_of(data, k, settings)
    started = time.perf_counter()
    found = suggest(
        split.X, split.y, views=views(data) or None, budget=settings.budget, held_out=0, subsamples=0, n_jobs=1
    )
    seconds = time.perf_counter() - started
    best, flat = found.best, found.flat
    return Sought(
        name,
        k,
        len(split.y),
        len(split.y_test),
        found.found,
        found.beats_constant,
        best.criterion - flat.criterion,
        best.formula,
        is_centred(best.spn),
        found.refits,
        seconds,
        *accuracies(best.spn, split, settings),
        *accuracies(flat.spn, split, settings),
        found.leads,
    )


def accuracies(spn: SPN, split: Split, choice: Choice) -> tuple[float, float]:
    """On the test rows, of an SVM with certified weights and of a Gaussian process with evidence weights."""
    inside, fitted = fit_kernels(spn, split.X)
    across = cross_kernels(fitted, split.X_test)
    by_label = {spn.label(leaf): leaf for leaf in spn.kernels}
    certified = Method("certified", (spn,)).fit(
        {label: inside[leaf] for label, leaf in by_label.items()},
        split.y,
        points=choice.points,
        folds=possible_folds(choice, split.y),
        tol=choice.tol,
        n_threads=1,
    )
    process = fit_evidence(spn, inside, split.y, n_threads=1)
    said = certified.predict({label: across[leaf] for label, leaf in by_label.items()}), process.predict(across)
    first, second = (float((labels == split.y_test).mean()) for labels in said)
    return first, second


def with_saved(table: pd.DataFrame) -> pd.DataFrame:
    """Also the accuracies of what is saved."""
    taken = table["found"] | table["leads"]
    kinds = ("certified", "process")
    return table.assign(
        **{f"saved_{kind}": table[f"search_{kind}"].where(taken, table[f"flat_{kind}"]) for kind in kinds}
    )


def real_lines(table: pd.DataFrame, beside: pd.DataFrame, settings: str) -> list[str]:
    table = with_saved(table)
    lines = [line_of(str(name), of_set, beside) for name, of_set in table.groupby("set", sort=False)]
    told = pd.DataFrame(lines, index=[str(name) for name in table["set"].unique()])
    return [
        "",
        "## Searching in real sets",
        "",
        settings,
        "",
        "Accuracy in % on test rows, means over the splits; (n) where another method has only n of them.",
        "",
        *markdown(told, "set"),
        "",
        *summed_up(table),
    ]


def line_of(name: str, table: pd.DataFrame, beside: pd.DataFrame) -> dict[str, object]:
    """Others on the same splits."""
    own = beside[(beside["set"] == name) & beside["split"].isin(table["split"])] if len(beside) else beside

    def other(method: str) -> str:
        values = own[own["method"] == method]["accuracy"] if len(own) else []
        if not len(values):
            return ""
        return f"{100 * values.mean():.1f}" + ("" if len(values) == len(table) else f" ({len(values)})")

    def both(who: str) -> str:
        return " / ".join(f"{100 * table[f'{who}_{kind}'].mean():.1f}" for kind in ("certified", "process"))

    return {
        "rows": int(table["n"].iloc[0]),
        "splits": len(table),
        "products said": int(table["found"].sum()),
        "another sum saved": int((table["leads"] & ~table["found"]).sum()),
        "saved, certified / process": both("saved"),
        "flat sum, certified / process": both("flat"),
        **{method: other(method) for method in OTHERS},
        "seconds, median": f"{table['seconds'].median():.0f}",
    }


def summed_up(table: pd.DataFrame) -> list[str]:
    """Means over sets, of those where products were said and of those where another sum is saved."""
    others = ~table["found"]
    saved = {"Products said": table["found"], "Another sum saved": others & table["leads"]}
    lines = []
    for words, rows in saved.items():
        part = table[rows]
        if not len(part):
            continue
        gains = {
            kind: (100 * (part[f"saved_{kind}"] - part[f"flat_{kind}"])).groupby(part["set"]).mean()
            for kind in ("certified", "process")
        }
        told = " and ".join(f"{gain.mean():+.1f} ({kind})" for kind, gain in gains.items())
        first = gains["certified"]
        lines.append(
            f"- {words} in {len(part)} splits of {part['set'].nunique()} sets: there the drawing has {told} points "
            f"over the flat sum, the mean over these sets; between {first.min():+.1f} ({first.idxmin()}) and "
            f"{first.max():+.1f} ({first.idxmax()}) with certified weights."
        )
    flat = table[others & ~table["leads"]]
    return [*lines, f"- The flat sum itself saved in {len(flat)} splits of {flat['set'].nunique()} sets."]
