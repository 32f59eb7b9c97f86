"""What is pruned, and what it costs: accuracy and weights above zero over the exponent p, flat and deep."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd
from experiment_data import Choice, Data, Groups, named_sets, split_of
from experiment_methods import auc, possible_folds
from experiment_store import Key, Task, key_of
from experiment_tables import markdown, spread, write_chart

from spnmkl import SPN, templates
from spnmkl.baselines import Learned, Method, compute_kernels, sums_and_product
from spnmkl.charts.look import palette
from spnmkl.kernels import cross_kernels
from spnmkl.structure.derivations import derive

POWERS: dict[str, float | str] = {
    "sparse": "sparse",
    "0.5": 0.5,
    "1": 1.0,
    "1.1": 1.1,
    "4/3": 4 / 3,
    "2": 2.0,
    "4": 4.0,
}
FLAT = "flat"


@dataclass(frozen=True)
class Pruned:
    """One structure and one p on one split; products are active where their weight is above zero."""

    set: str
    split: int
    structure: str
    p: str
    n: int
    n_test: int
    products: int
    active_products: int
    kernels: int
    active_kernels: int
    accuracy: float
    auc: float
    validation: float
    C: float
    at_end: bool
    status: str
    gap: float
    seconds: float


KEY = 4


def structures(groups: Groups) -> dict[str, SPN]:
    kernels = [kernel for group in groups.values() for kernel in group]
    return {
        FLAT: templates.flat(kernels),
        "composite": templates.grouped(groups),
        "sums and product": sums_and_product(groups),
    }


def cases(groups: Groups, powers: Sequence[str]) -> dict[tuple[str, str], tuple[Method, Mapping[str, Any]]]:
    """(structure, p) → the method, and what `solve` is told.

    "sparse" is left out where it is one number for all: 1 on a flat sum, 0.5 on a composite.
    """
    found: dict[tuple[str, str], tuple[Method, Mapping[str, Any]]] = {}
    for name, spn in structures(groups).items():
        mixed = len(set(derive(spn).smallest_exponents().values())) > 1
        for power in powers:
            p = POWERS[power]
            if isinstance(p, str) or p < 1:  # C is chosen from the values that p = 1 has
                if mixed or p != "sparse":
                    found[name, power] = Method(name, (spn,)), {"p": p}
            else:
                found[name, power] = Method(name, (spn.with_p(p),)), {}
    return found


@dataclass(frozen=True)
class Sparsity:
    choice: Choice
    splits: int
    powers: tuple[str, ...]
    sets: tuple[str, ...] | None = None

    def tasks(self, folder: Path | None) -> Iterator[Task]:
        for name, load in named_sets(folder, self.sets).items():
            data = load()
            of_set = cases(data.groups, self.powers)
            for k in range(self.splits):
                keys = {key_of(name, k, *case): case for case in of_set}
                yield Task(tuple(keys), partial(self._rows, name, data, k, keys))

    def _rows(
        self, name: str, data: Data, k: int, keys: Mapping[Key, tuple[str, str]], asked: Sequence[Key]
    ) -> Iterator[list[Pruned]]:
        split, of_set = split_of(data, k, self.choice), cases(data.groups, self.powers)
        matrices, fitted = compute_kernels([of_set[keys[key]][0] for key in asked], split.X)
        across, folds = cross_kernels(fitted, split.X_test), possible_folds(self.choice, split.y)
        for key in asked:
            method, settings = of_set[keys[key]]
            started = time.perf_counter()
            found = method.fit(
                matrices,
                split.y,
                points=self.choice.points,
                folds=folds,
                tol=self.choice.tol,
                n_threads=1,
                **settings,
            )
            seconds = time.perf_counter() - started
            assert isinstance(found.model, Learned)
            solution = found.model.solution
            yield [
                Pruned(
                    name,
                    k,
                    *keys[key],
                    len(split.y),
                    len(split.y_test),
                    len(solution.beta),
                    sum(weight > 0 for weight in solution.beta.values()),
                    len(found.spn.kernels),
                    len(found.model.active),
                    float((found.predict(across) == split.y_test).mean()),
                    auc(split.y_test, found.decision_function(across), found.classes),
                    found.validation,
                    found.C,
                    found.at_end,
                    solution.status,
                    solution.gap,
                    seconds,
                )
            ]


def sparsity_lines(table: pd.DataFrame, settings: str, out: Path) -> list[str]:
    kept = table.assign(kept=table["active_products"] / table["products"])
    powers = [power for power in POWERS if power in set(kept["p"])]
    charts = {"accuracy": "test accuracy, mean over the sets", "kept": "products kept, mean over the sets"}
    for column, title in charts.items():
        write_chart(power_chart(kept, column, title, powers), out / f"sparsity_{column}.svg")
    lines = [
        "",
        "## Sparsity",
        "",
        f"{table['split'].nunique()} splits of each set; C chosen by cross-validation for every structure and p. With "
        'p = 0.5 and "sparse" the problem is not convex: what is found is a stationary point. "sparse" '
        f"is p = 1 on a flat sum and p = 0.5 on a composite. {settings}",
        "",
        "![Accuracy over p](sparsity_accuracy.svg)",
        "",
        "![Products kept over p](sparsity_kept.svg)",
    ]
    for name, of_structure in kept.groupby("structure", sort=False):
        by_p = of_structure.assign(method=of_structure["p"])
        lines += ["", f"### {name}: accuracy, % on test rows, mean ± standard error over the splits, by p", ""]
        lines += markdown(spread(by_p, "accuracy", [p for p in powers if p in set(by_p["p"])]), "set")
        lines += ["", f"### {name}: products kept of all, median over the splits, by p", ""]
        lines += markdown(medians(by_p, powers), "set")
    return [*lines, "", "### What it took", "", *markdown(costs(kept, powers), "p")]


def medians(of_structure: pd.DataFrame, powers: Sequence[str]) -> pd.DataFrame:
    groups = of_structure.groupby(["set", "p"], sort=False)
    text = groups["active_products"].median().map("{:g}".format) + " of " + groups["products"].first().map(str)
    table = text.unstack("p")
    return table[[p for p in powers if p in table]]


def costs(table: pd.DataFrame, powers: Sequence[str]) -> pd.DataFrame:
    groups = table.groupby("p", sort=False)
    return pd.DataFrame(
        {
            "seconds, median": groups["seconds"].median().map("{:.2f}".format),
            "seconds, most": groups["seconds"].max().map("{:.2f}".format),
            "C at an end of its values": (100 * groups["at_end"].mean()).map("{:.0f} %".format),
            "optimal or stationary": groups["status"].agg(
                lambda status: f"{status.isin(['optimal', 'stationary']).sum()} of {len(status)}"
            ),
        }
    ).loc[list(powers)]


def power_chart(table: pd.DataFrame, column: str, title: str, powers: list[str]) -> alt.Chart:
    means = table.groupby(["structure", "p"], sort=False)[column].mean().reset_index()
    base = alt.Chart(means.rename(columns={"structure": "name", column: "value"}))
    zero = column == "kept"
    return base.mark_line(point=True).encode(
        x=alt.X("p:O", sort=powers, title="p", axis=alt.Axis(labelAngle=0)),
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=zero), axis=alt.Axis(format="~%")),
        **palette(list(dict.fromkeys(means["structure"])), None),
    )
