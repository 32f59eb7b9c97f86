"""Theorem 2 beside what it is about: the bound and its parts, and the measured gap between test and training.

The bound is (2A/N)(R + C Σ ℓ) (formulation, section 10). It bounds the complexity of the ball {R ≤ objective}, whose
exact value is estimated beside it, by random signs. Measured are the errors and the mean hinge loss max(0, 1 − y f).
All p are 1 and λ is 1, as the theorem has them; C is the same for all structures of a draw.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from experiment_data import Floats, Split, bundled
from experiment_known import KNOWN
from experiment_store import Key, Task, key_of
from experiment_tables import decades, markdown, write_chart
from scipy.stats import spearmanr
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from spnmkl import SPN, C_min, solve
from spnmkl.baselines import Method, baselines, compute_kernels
from spnmkl.certificate import quadratic_flows
from spnmkl.charts.look import colour_scale, layered
from spnmkl.inspection import complexity_bound
from spnmkl.kernels import cross_kernels
from spnmkl.problem import Problem

METHODS = {"SimpleMKL": "flat"} | {name: name for name in ("composite", "product of sums", "sums and product")}
_ROUNDS = 30


@dataclass(frozen=True)
class Settings:
    tol: float
    signs: int  # draws of random signs


@dataclass(frozen=True)
class Measured:
    """One structure at one C, `multiple` times the largest C_min of the structures; `complexity` is sampled."""

    set: str
    n: int
    seed: int
    structure: str
    multiple: float
    C: float
    n_test: int
    paths: int
    bound: float
    complexity: float
    A: float
    regularizer: float
    loss: float
    training_error: float
    test_error: float
    training_hinge: float
    test_hinge: float
    gap: float


KEY = 5
Draw = Callable[[int, int], Split]


def breast_cancer(seed: int, n: int) -> Split:
    """All rows that are not learned from are tested on."""
    data = bundled("breast_cancer")
    X, X_test, y, y_test = train_test_split(data.X, data.y, train_size=n, stratify=data.y, random_state=seed)
    scaler = StandardScaler().fit(X)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test)


def sets() -> dict[str, tuple[Draw, dict[str, SPN]]]:
    """Name → how rows are drawn, and structures over the same leaves."""
    known = {
        f"known: {KNOWN[name].title.lower()}": (KNOWN[name].split, KNOWN[name].methods())
        for name in ("recovery", "additive")
    }
    all_of = known | {"breast_cancer": (breast_cancer, baselines(bundled("breast_cancer").groups))}
    return {
        name: (draw, {title: methods[method].candidates[0] for method, title in METHODS.items()})
        for name, (draw, methods) in all_of.items()
    }


def hinge(y: Floats, f: Floats) -> float:
    return float(np.maximum(0, 1 - y * f).mean())


def error(y: Floats, f: Floats) -> float:
    return float((np.where(f > 0, 1.0, -1.0) != y).mean())


def unit_complexity(problem: Problem, signs: Floats) -> float:
    """The complexity of the ball of radius 1, (2/N) E √(½ max σᵀK(β)σ) over β ≥ 0 with cᵀβ = 1; over the given signs.

    The maximum of a concave function, homogeneous of degree 1: β_v ← β_v d_v/c_v, where d is its gradient.
    """
    roots = []
    for sigma in signs:
        beta = np.full(len(problem.c), 1 / problem.c.sum())
        for _ in range(_ROUNDS):
            flows = quadratic_flows(problem, sigma[None] * problem.Y, beta, problem.circuit)
            value = float(flows[problem.circuit.operation_start[-2] :].sum())  # ½ σᵀK(β)σ
            beta = problem.circuit.X.T @ flows / problem.c
            beta /= problem.c @ beta
        roots.append(np.sqrt(value))
    return 2 / problem.n * float(np.mean(roots))


@dataclass(frozen=True)
class Bound:
    settings: Settings
    seeds: int
    sizes: tuple[int, ...]
    multiples: tuple[float, ...]
    sets: tuple[str, ...]

    def tasks(self) -> Iterator[Task]:
        available = sets()
        for name, n, seed in product(self.sets, self.sizes, range(self.seeds)):
            draw, structures = available[name]
            keys = {
                key_of(name, n, seed, structure, multiple): (structure, multiple)
                for structure, multiple in product(structures, self.multiples)
            }
            yield Task(tuple(keys), partial(self._rows, name, n, seed, draw, structures, keys))

    def _rows(
        self,
        name: str,
        n: int,
        seed: int,
        draw: Draw,
        structures: Mapping[str, SPN],
        keys: Mapping[Key, tuple[str, float]],
        asked: Sequence[Key],
    ) -> Iterator[list[Measured]]:
        split = draw(seed, n)
        given = Given.of(split, structures)
        signs = np.random.default_rng(seed).choice([-1.0, 1.0], (self.settings.signs, n))
        units: dict[str, float] = {}
        for key in asked:
            structure, multiple = keys[key]
            solution = solve(
                structures[structure],
                given.matrices[structure],
                split.y,
                C=multiple * given.C,
                tol=self.settings.tol,
                n_threads=1,
                warn=False,
            )
            if structure not in units:
                units[structure] = unit_complexity(solution.problem(given.matrices[structure], 1), signs)
            bound = complexity_bound(solution, given.matrices[structure])
            f, f_test = (solution.decision_function(K[structure], 1) for K in (given.matrices, given.across))
            y, y_test = (np.where(labels == solution.classes[1], 1.0, -1.0) for labels in (split.y, split.y_test))
            yield [
                Measured(
                    name,
                    n,
                    seed,
                    structure,
                    multiple,
                    multiple * given.C,
                    len(y_test),
                    structures[structure].n_paths,
                    bound.value,
                    units[structure] * (bound.regularizer + bound.loss),
                    bound.A,
                    bound.regularizer,
                    bound.loss,
                    error(y, f),
                    error(y_test, f_test),
                    hinge(y, f),
                    hinge(y_test, f_test),
                    solution.gap,
                )
            ]


@dataclass(frozen=True)
class Given:
    """Per structure its matrices by leaf, of the training rows and across; and the largest C_min."""

    matrices: dict[str, dict[str, Floats]]
    across: dict[str, dict[str, Floats]]
    C: float

    @classmethod
    def of(cls, split: Split, structures: Mapping[str, SPN]) -> Given:
        by_label, fitted = compute_kernels(
            [Method(name, (spn,)) for name, spn in structures.items()], split.X, split.names
        )
        crossed = cross_kernels(fitted, split.X_test)
        matrices, across = (
            {name: {leaf: K[spn.label(leaf)] for leaf in spn.kernels} for name, spn in structures.items()}
            for K in (by_label, crossed)
        )
        smallest = [C_min(spn, matrices[name], split.y, tol=1e-2, n_threads=1) for name, spn in structures.items()]
        return cls(matrices, across, max(smallest))


def bound_lines(table: pd.DataFrame, settings: str, out: Path) -> list[str]:
    table = table.assign(
        hinge_gap=table["test_hinge"] - table["training_hinge"], error_gap=table["test_error"] - table["training_error"]
    )
    middle = sorted(table["multiple"].unique())[table["multiple"].nunique() // 2]
    largest = table["n"].max()
    lines = [
        "",
        "## The complexity bound",
        "",
        f"Theorem 2's bound, the sampled complexity of the same ball, and what is measured; {table['seed'].nunique()} "
        f"draws. Functions with values in [−1, 1] have a complexity of at most 2, so that a bound above 2 says nothing "
        f"of them. {settings}",
    ]
    for name, of_set in table.groupby("set", sort=False):
        stem = "bound_" + "_".join(str(name).replace(":", "").split())
        rows, values = of_set[of_set["multiple"] == middle], of_set[of_set["n"] == largest]
        write_chart(bound_chart(rows, "n", "rows to learn from"), out / f"{stem}_rows.svg")
        write_chart(bound_chart(values, "multiple", "C, as a multiple of C_min"), out / f"{stem}_C.svg")
        lines += [
            "",
            f"### {name}",
            "",
            f"At {middle:g} times C_min:",
            "",
            *markdown(summary(rows, "n"), "structure, rows"),
            "",
            f"With {largest} rows:",
            "",
            *markdown(summary(values, "multiple"), "structure, C / C_min"),
            "",
            f"![Bound and measured gaps by rows]({stem}_rows.svg)",
            "",
            f"![Bound and measured gaps by C]({stem}_C.svg)",
        ]
    lines += ["", "### How loose is it?", "", LOOSE, "", *markdown(looseness(table), "set")]
    lines += ["", "### Does it rank models?", "", RANKED, "", *markdown(ranked(table), "set")]
    return [*lines, "", CHOSEN, "", *markdown(chosen(table), "set")]


LOOSE = (
    "The ratios are medians over rows, C and structures of the means over the draws, where the hinge gap is above 0."
)
CHOSEN = "Test error, %, of the structure with the least bound at the same rows, draw and C, and of others there:"
RANKED = (
    "Spearman's rank correlation of the bound with the measured gaps and the test error: over the structures at the "
    "same rows, draw and C; over C at the same rows, draw and structure; over rows at the same C / C_min, draw and "
    "structure. Means over all such comparisons, where both differ; 1 is the same order, −1 the opposite one."
)


def summary(table: pd.DataFrame, along: str) -> pd.DataFrame:
    """Means over the draws."""
    columns = {
        "bound": "bound",
        "complexity": "sampled complexity",
        "A": "A",
        "regularizer": "R",
        "loss": "C Σ ℓ",
        "hinge_gap": "hinge, test − training",
        "error_gap": "error, test − training",
        "test_error": "test error",
    }
    means = table.groupby(["structure", along], sort=False)[list(columns)].mean()
    means.index = pd.Index([f"{structure}, {value:g}" for structure, value in means.index])
    return means.rename(columns=columns).map("{:.3g}".format)


def looseness(table: pd.DataFrame) -> pd.DataFrame:
    rows = {}
    for name, of_set in table.groupby("set", sort=False):
        means = of_set.groupby(["n", "multiple", "structure"])[["bound", "complexity", "hinge_gap"]].mean()
        means = means[means["hinge_gap"] > 0]
        rows[name] = {
            "least bound": f"{of_set['bound'].min():.1f}",
            "bounds below 2": f"{(of_set['bound'] < 2).sum()} of {len(of_set)}",
            "sampled complexities below 2": f"{(of_set['complexity'] < 2).sum()} of {len(of_set)}",
            "bound / sampled complexity": f"{(means['bound'] / means['complexity']).median():.1f}",
            "sampled complexity / hinge gap": f"{(means['complexity'] / means['hinge_gap']).median():.1f}",
            "bound / hinge gap": f"{(means['bound'] / means['hinge_gap']).median():.0f}",
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def chosen(table: pd.DataFrame) -> pd.DataFrame:
    """Means over rows, draws and C of the test error that each way to choose among the structures leads to."""
    together = table.groupby(["set", "n", "seed", "multiple"], sort=False)
    by_set = {
        title: table.loc[together[column].idxmin()].groupby("set", sort=False)["test_error"].mean()
        for column, title in (
            ("bound", "least bound"),
            ("complexity", "least sampled complexity"),
            ("test_error", "best of all"),
        )
    }
    by_set["mean of all"] = together["test_error"].mean().groupby("set", sort=False).mean()
    return (100 * pd.DataFrame(by_set)).map("{:.1f}".format)


def ranked(table: pd.DataFrame) -> pd.DataFrame:
    over = {"structure": ["n", "seed", "multiple"], "multiple": ["n", "seed", "structure"]}
    over |= {"n": ["multiple", "seed", "structure"]}
    told = {"structure": "structures", "multiple": "C", "n": "rows"}
    columns = {"hinge_gap": "hinge gap", "error_gap": "error gap", "test_error": "test error"}
    return pd.DataFrame(
        {
            name: {
                f"{words}, over {told[along]}": f"{correlation(of_set, held, column):.2f}"
                for along, held in over.items()
                for column, words in columns.items()
            }
            for name, of_set in table.groupby("set", sort=False)
        }
    ).T


def correlation(table: pd.DataFrame, held: list[str], column: str) -> float:
    """The mean of the rank correlations of the bound with a column, within groups that differ in one thing only."""
    found = [
        spearmanr(group["bound"], group[column]).statistic
        for _, group in table.groupby(held)
        if group["bound"].nunique() > 1 and group[column].nunique() > 1
    ]
    return float(np.mean(found)) if found else float("nan")


def bound_chart(table: pd.DataFrame, along: str, title: str) -> alt.LayerChart:
    kinds = {"bound": "Theorem 2", "complexity": "sampled complexity", "hinge_gap": "hinge loss, test − training"}
    means = table.groupby(["structure", along], sort=False)[list(kinds)].mean().rename(columns=kinds)
    long = means.reset_index().melt(["structure", along], var_name="kind", value_name="value")
    names = list(dict.fromkeys(table["structure"]))
    scale = alt.Scale(type="log", nice=False)
    key = alt.Legend(title=None, symbolType="stroke", symbolSize=300, labelLimit=220)
    dashes = alt.Scale(domain=list(kinds.values()), range=[[1, 0], [6, 3], [2, 2]])
    base = alt.Chart(long[long["value"] > 0]).encode(
        x=alt.X(f"{along}:Q", title=title, scale=scale, axis=alt.Axis(values=sorted(table[along].unique().tolist()))),
        y=alt.Y("value:Q", title="bound and gaps", scale=scale, axis=decades(long["value"])),
        color=alt.Color("structure:N", scale=colour_scale(names), sort=names, legend=key),
    )
    dash = alt.StrokeDash("kind:N", scale=dashes, sort=list(kinds.values()), legend=key)
    return layered(base.mark_line().encode(strokeDash=dash), base.mark_circle(size=30, opacity=1))
