"""Labels drawn from known structures: what is learned of them from more and more rows?

A label is the sign of a random function whose covariance is the structure's kernel with all weights 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from experiment_data import Floats, Split
from experiment_tables import markdown, spread, write_chart

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.baselines import Method, baselines
from spnmkl.charts.look import MOST_COLOURED, palette
from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.program import compile_circuit
from spnmkl.circuit.source import MatrixSource
from spnmkl.kernels import fit_kernels

sys.path.insert(0, str(Path(__file__).parents[1] / "sample_data"))
import make

TRUE, DRAWN, FLAT = "true structure", "nested groups", "SimpleMKL"
TEST_ROWS = 100
LEFT, RIGHT = [f"u{k}" for k in range(1, 5)], [f"v{k}" for k in range(1, 5)]
NESTED = {group: [f"{group}{k}" for k in range(1, 5)] for group in "abc"}


@dataclass(frozen=True)
class Known:
    """A structure that made labels.

    Attributes
    ----------
    draw : seed → a table of columns and, last, the label.
    groups : group → its columns; each column has one kernel, which is named after it and `suffix`.
    structures : besides the baselines, by name; the one named `question` has branches, of which the first `n_true`
        made the labels.
    formula, branches : for readers.
    scale : rows to learn from, as a multiple of what the other structures are given.
    """

    title: str
    formula: str
    draw: Callable[[int], pd.DataFrame]
    groups: Mapping[str, Sequence[str]]
    structures: Callable[[], dict[str, SPN]]
    question: str
    n_true: int
    branches: str
    suffix: str = ""
    scale: int = 1

    def methods(self) -> dict[str, Method]:
        """Flat and deep over the same leaves; the structure that made the labels; it among others."""
        groups = {
            group: [column_kernel(name, name + self.suffix) for name in names] for group, names in self.groups.items()
        }
        n_columns = sum(map(len, self.groups.values()))
        return baselines(groups, n_columns) | {name: Method(name, (spn,)) for name, spn in self.structures().items()}

    def split(self, seed: int, n: int) -> Split:
        """The first n rows to learn from, the last ones to test."""
        frame = self.draw(seed)
        X, y = frame.drop(columns="label"), frame["label"].to_numpy()
        end = len(y) - TEST_ROWS
        if n > end:
            raise SystemExit(f"The known structure has {end} rows to learn from, but --sizes asks for {n}.")
        return Split(X.to_numpy()[:n], y[:n], X.to_numpy()[end:], y[end:], list(X))


def column_kernel(name: str, label: str | None = None) -> Kernel:
    return Kernel("rbf", gamma=1.0, features=[name], label=label or name)


def added(names: Sequence[str]) -> Sum:
    return Sum(*(Product(column_kernel(name)) for name in names))


def drawn(truth: Callable[[], SPN], columns: Sequence[str], rows: int, seed: int) -> pd.DataFrame:
    """So many rows, uniform in a cube, without those whose label rounding could turn."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(rows * 9 // 8, len(columns))).round(3)
    K = covariance(truth(), X, columns)
    f = np.linalg.cholesky(K + 1e-8 * np.eye(len(X))) @ rng.normal(size=len(X))
    f -= np.median(f)
    clear = np.flatnonzero(np.abs(f) > 1e-3)[:rows]
    return pd.DataFrame(X, columns=list(columns)).assign(label=np.where(f > 0, "yes", "no")).iloc[clear]


def covariance(spn: SPN, X: Floats, columns: Sequence[str]) -> Floats:
    """The sum of the kernels of all paths."""
    circuit = compile_circuit(spn)
    matrices, _ = fit_kernels(spn, X, list(columns))
    source = MatrixSource({leaf: matrices[leaf] for leaf in circuit.leaves})
    return kernel_matrix(circuit, np.ones(circuit.n_terms), source, np.zeros((len(X), len(X))))


def nested(columns: Mapping[str, Sequence[str]]) -> list[Product]:
    """Per group, its first kernel times the sum of the others."""
    return [Product(column_kernel(first), added(rest), label=group) for group, (first, *rest) in columns.items()]


def nested_truth() -> SPN:
    return SPN(Sum(*nested({group: NESTED[group][:3] for group in "ab"})))


def nested_structures() -> dict[str, SPN]:
    groups = nested({group: names[:3] for group, names in NESTED.items()})
    sums = [Product(added(names), label=f"sum of {group}") for group, names in NESTED.items()]
    asked = SPN(Sum(*groups, *sums))
    return {DRAWN: SPN(Sum(*nested(NESTED))), TRUE: nested_truth(), "which of six branches": asked}


def additive_truth() -> SPN:
    return SPN(added([*LEFT[:2], *RIGHT[:2]]))


def additive_structures() -> dict[str, SPN]:
    asked = SPN(
        Sum(
            Product(added([*LEFT[:2], *RIGHT[:2]]), label="true"),
            Product(added([*LEFT[2:], *RIGHT[2:]]), label="noise"),
            Product(added(LEFT[:2]), added(RIGHT[:2]), label="product"),
            Product(added(LEFT[2:]), added(RIGHT[2:]), label="product of noise"),
        )
    )
    return {TRUE: additive_truth(), "which of four branches": asked}


KNOWN: dict[str, Known] = {
    "recovery": Known(
        "A product of views",
        "(K[u1] + K[u2])∘(K[v1] + K[v2]) over eight columns",
        make.known,
        {"left": make.LEFT, "right": make.RIGHT},
        lambda: {TRUE: make.true_structure(), "which of four branches": make.question()},
        "which of four branches",
        1,
        "the true product, the product of noise, two sums",
        " alone",
    ),
    "nested": Known(
        "Nested groups",
        "K[a1]∘(K[a2] + K[a3]) + K[b1]∘(K[b2] + K[b3]) over twelve columns",
        partial(drawn, nested_truth, [name for names in NESTED.values() for name in names], 700),
        NESTED,
        nested_structures,
        "which of six branches",
        2,
        "the true products of a and b, the same of c, which is noise, and the sums of a, b and c",
        scale=2,
    ),
    "additive": Known(
        "A flat sum",
        "K[u1] + K[u2] + K[v1] + K[v2] over eight columns",
        partial(drawn, additive_truth, [*LEFT, *RIGHT], 400),
        {"left": LEFT, "right": RIGHT},
        additive_structures,
        "which of four branches",
        1,
        "the true sum, the sum of noise, the product of the true columns, the product of noise",
    ),
}


def known_lines(section: str, table: pd.DataFrame, settings: str, out: Path) -> list[str]:
    known = KNOWN[section]
    groups = table.groupby(["method", "n"], sort=False)["accuracy"]
    curves = pd.DataFrame({"mean": groups.mean(), "error": groups.sem()}).reset_index()
    largest = curves[curves["n"] == curves["n"].max()].sort_values("mean", ascending=False, kind="stable")
    order = list(largest["method"])
    write_chart(curve_chart(curves, order[:MOST_COLOURED]), out / f"{section}.svg")
    asked = table[table["share"].notna()].groupby("n", sort=True)
    several = known.n_true > 1
    branch = pd.DataFrame(
        {
            f"{'their' if several else 'its'} share of the decision": (100 * asked["share"].mean()).map(
                "{:.0f} %".format
            ),
            f"{'carry' if several else 'carries'} most": asked["heaviest"].agg(
                lambda found: f"{found.sum():.0f} of {len(found)}"
            ),
        }
    )
    return [
        "",
        f"## Labels from a known structure: {known.title.lower()}",
        "",
        f"Labels drawn from {known.formula}; {table['split'].nunique()} draws, {table['n_test'].iloc[0]} test rows "
        "each. All but the true structure, the question and the RBF-SVM have one kernel per column.",
        "",
        settings,
        "",
        "### Accuracy, % on test rows, mean ± standard error over the draws",
        "",
        *markdown(spread(table, "accuracy", order), "trained on"),
        "",
        f"![Accuracy by rows]({section}.svg)",
        "",
        f"### Points of accuracy above {FLAT}, mean ± standard error of the differences within draws",
        "",
        *markdown(above(table, FLAT, order), "trained on"),
        "",
        f"### The true branch{'es' * several} among others ({known.branches})",
        "",
        *markdown(branch, "rows"),
    ]


def above(table: pd.DataFrame, reference: str, order: Sequence[str]) -> pd.DataFrame:
    """What every other method has more, in %, on the same draws."""
    scores = 100 * table.pivot_table(index=["set", "split"], columns="method", values="accuracy", sort=False)
    groups = scores.sub(scores[reference], axis=0).groupby("set", sort=False)
    means, errors = groups.mean(), groups.sem()

    def told(name: str, method: str) -> str:
        error = errors.loc[name, method]
        return f"{means.loc[name, method]:+.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")

    return pd.DataFrame({m: {name: told(name, m) for name in means.index} for m in order if m != reference})


def curve_chart(curves: pd.DataFrame, order: list[str]) -> alt.Chart:
    base = alt.Chart(curves[curves["method"].isin(order)].rename(columns={"method": "name"}))
    return base.mark_line(point=True).encode(
        x=alt.X("n:Q", title="rows to learn from", axis=alt.Axis(values=sorted(curves["n"].unique().tolist()))),
        y=alt.Y("mean:Q", title="test accuracy", scale=alt.Scale(zero=False), axis=alt.Axis(format="~%")),
        **palette(order, None),
    )
