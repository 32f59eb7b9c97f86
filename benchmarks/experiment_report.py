"""What `experiments.py` found, as tables, tests and pictures: from its table of results alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from pathlib import Path

import altair as alt
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from peers import machine, versions
from scipy import stats

from spnmkl.charts.files import to_svg
from spnmkl.charts.look import GREY, layered, palette

Floats = NDArray[np.float64]
PACKAGES = ("spnmkl", "numpy", "scipy", "scikit-learn", "numba", "MKLpy")
LEVEL = 0.05
# With five sets the smallest p of a two-sided signed-rank test is 1/16.
FEWEST_SETS = 6


def write_report(table: pd.DataFrame, choice: Mapping[str, object], command: str, out: Path) -> None:
    accuracy, recovery = (table[table["section"] == section] for section in ("accuracy", "recovery"))
    settings = ", ".join(f"{name.replace('_', ' ')} {value:g}" for name, value in choice.items())
    lines = [
        "# Results of benchmarks/experiments.py",
        "",
        f"Written by `{command}` from results.csv, which holds every single result.",
        "",
        f"{versions(PACKAGES)}; {machine()}. Settings: {settings}.",
        *(accuracy_lines(accuracy, out) if len(accuracy) else []),
        *(recovery_lines(recovery, out) if len(recovery) else []),
    ]
    (out / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def accuracy_lines(table: pd.DataFrame, out: Path) -> list[str]:
    ranked = complete(table, "accuracy")
    ranks = average_ranks(ranked)
    order = [*ranks.index, *(m for m in table["method"].unique() if m not in ranks)]
    lines = ["", "## Accuracy", "", *described(table)]
    for column, title in (("accuracy", "Accuracy"), ("auc", "Area under the ROC curve")):
        lines += ["", f"### {title}, % on test rows, mean ± standard error over the splits", ""]
        lines += markdown(spread(table, column, order), "set")
    lines += ["", "### Ranks of mean accuracy over the sets (1 is best)", "", *comparison(ranked, ranks)]
    if len(ranked) > 1:
        (out / "ranks.svg").write_text(to_svg(rank_chart(ranks, critical_difference(*ranked.shape[::-1]))))
        lines += ["", "![Average ranks](ranks.svg)"]
    return [*lines, "", "### What it took", "", *markdown(costs(table, order), "method")]


def described(table: pd.DataFrame) -> list[str]:
    sets = table.groupby("set", sort=False).agg(
        rows=("n", "first"), test=("n_test", "first"), classes=("classes", "first"), splits=("split", "nunique")
    )
    kernels = table[table["method"] == "average kernel"].groupby("set", sort=False)["kernels"].first()
    told = [
        f"{name} ({row.rows} + {row.test} rows, {row.classes} classes, {kernels[name]} kernels, {row.splits} splits)"
        for name, row in sets.iterrows()
    ]
    return [
        f"Sets, with rows to train + rows to test: {'; '.join(told)}.",
        "",
        "Splits of one set share rows, so that a standard error is smaller than that of as many new samples would be.",
    ]


def complete(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean per set and method, of the methods and sets that have all of each other."""
    means = table.pivot_table(index="set", columns="method", values=column, sort=False)
    everywhere = means.notna().sum()
    means = means[everywhere[everywhere == everywhere.max()].index]
    return means.dropna()


def average_ranks(means: pd.DataFrame) -> pd.Series:
    """Method → its rank averaged over the sets, best first; equal means share a rank."""
    return means.round(12).rank(axis=1, ascending=False).mean().sort_values(kind="stable")


def spread(table: pd.DataFrame, column: str, order: list[str]) -> pd.DataFrame:
    """Per set and method 'mean ± standard error' in %, the best mean of a set in bold."""
    groups = table.groupby(["set", "method"], sort=False)[column]
    means, errors = (100 * frame.unstack("method") for frame in (groups.mean(), groups.sem()))

    def told(name: str, method: str) -> str:
        mean, error = means.loc[name, method], errors.loc[name, method]
        if np.isnan(mean):
            return ""
        text = f"{mean:.1f}" + ("" if np.isnan(error) else f" ± {error:.1f}")
        return f"**{text}**" if round(mean, 9) == round(means.loc[name].max(), 9) else text

    return pd.DataFrame({m: {name: told(name, m) for name in means.index} for m in order})


def costs(table: pd.DataFrame, order: list[str]) -> pd.DataFrame:
    """Per method: the median time, the part of the kernels that it uses, how often C was at an end of its values."""
    used = table.assign(part=table["active"] / table["kernels"])
    groups = used.groupby("method")
    return pd.DataFrame(
        {
            "seconds, median": groups["seconds"].median().map("{:.2f}".format),
            "seconds, most": groups["seconds"].max().map("{:.2f}".format),
            "kernels used": (100 * groups["part"].mean()).map("{:.0f} %".format),
            "C at an end of its values": (100 * groups["at_end"].mean()).map("{:.0f} %".format),
            "largest gap": groups["gap"].max().map(lambda gap: "" if np.isnan(gap) else f"{gap:.1e}"),
        }
    ).loc[order]


def comparison(means: pd.DataFrame, ranks: pd.Series) -> list[str]:
    """Friedman's test over the sets, then pairs by Wilcoxon's with Holm's correction."""
    listed = markdown(pd.DataFrame({m: {"rank": f"{rank:.2f}"} for m, rank in ranks.items()}), "")
    n_sets, n_methods = means.shape
    if n_sets < FEWEST_SETS or n_methods < 3:
        return [
            *listed,
            "",
            f"Over {n_sets} sets and {n_methods} methods no test can tell; {FEWEST_SETS} sets are needed.",
        ]
    friedman = stats.friedmanchisquare(*(means[m] for m in means))
    pairs = pairwise(means)
    cd = critical_difference(n_methods, n_sets)
    apart = [f"{a} over {b}" for a, b in combinations(ranks.index, 2) if ranks[b] - ranks[a] >= cd]
    different = [f"{a} over {b} (p = {p:.2g})" for a, b, _, p in pairs if p <= LEVEL]
    first, second, raw, corrected = min(pairs, key=lambda pair: pair[2])
    return [
        *listed,
        "",
        f"Friedman's test over {n_sets} sets: χ² = {friedman.statistic:.2f}, p = {friedman.pvalue:.3g}.",
        "",
        f"Nemenyi's test, different at {LEVEL:g}, their ranks {cd:.2f} or more apart: {'; '.join(apart) or 'none'}.",
        "",
        f"Wilcoxon's signed-rank test, Holm's correction for {len(pairs)} pairs, different at {LEVEL:g}: "
        f"{'; '.join(different) or 'none'}. The least p is {raw:.2g} before and {corrected:.2g} after the correction "
        f"({first} over {second}); with {n_sets} sets it cannot be below {2 / 2**n_sets:.2g} before.",
    ]


def pairwise(means: pd.DataFrame) -> list[tuple[str, str, float, float]]:
    """Pairs of methods, the better by the median difference first; p of the signed-rank test, and p after Holm."""
    signs = stats.PermutationMethod(n_resamples=2**16, rng=0)  # all signs of up to 16 sets: exact, also with ties
    pairs, raw = [], []
    for a, b in combinations(means, 2):
        difference = (means[a] - means[b]).to_numpy().round(12)
        pairs.append((a, b) if np.median(difference) >= 0 else (b, a))
        raw.append(1.0 if not difference.any() else float(stats.wilcoxon(difference, method=signs).pvalue))
    return [(*pair, p, float(corrected)) for pair, p, corrected in zip(pairs, raw, holm(raw), strict=True)]


def holm(p: Iterable[float]) -> Floats:
    """p-values corrected for their number, step by step from the least."""
    raw = np.asarray(list(p))
    order = np.argsort(raw, kind="stable")
    stepwise = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(stepwise, 1.0)
    return corrected


def critical_difference(n_methods: int, n_sets: int) -> float:
    """Nemenyi: how far apart average ranks must be to differ (Demšar 2006)."""
    q = stats.studentized_range.ppf(1 - LEVEL, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def rank_chart(ranks: pd.Series, cd: float) -> alt.LayerChart:
    """A point per method in the middle of a bar as long as the critical difference: bars apart differ."""
    frame = pd.DataFrame({"name": ranks.index, "rank": ranks, "low": ranks - cd / 2, "high": ranks + cd / 2})
    y = alt.Y("name:N", sort=list(ranks.index), title=None, axis=alt.Axis(labelLimit=220))
    base = alt.Chart(frame).encode(y=y)
    title = "average rank, 1 is best; methods whose bars do not overlap differ (Nemenyi, 5 %)"
    points = base.mark_point(filled=True, size=80, opacity=1).encode(x=alt.X("rank:Q", title=title))
    bars = base.mark_rule(strokeWidth=2, color=GREY).encode(x=alt.X("low:Q", title=title), x2="high:Q")
    return layered(bars, points, height=26 * len(ranks) + 20)


def recovery_lines(table: pd.DataFrame, out: Path) -> list[str]:
    groups = table.groupby(["method", "n"], sort=False)["accuracy"]
    curves = pd.DataFrame({"mean": groups.mean(), "error": groups.sem()}).reset_index()
    largest = curves[curves["n"] == curves["n"].max()].sort_values("mean", ascending=False, kind="stable")
    order = list(largest["method"])
    (out / "recovery.svg").write_text(to_svg(curve_chart(curves, order)))
    asked = table[table["share"].notna()].groupby("n", sort=True)
    branch = pd.DataFrame(
        {
            "its share of the decision": (100 * asked["share"].mean()).map("{:.0f} %".format),
            "carries most": asked["heaviest"].agg(lambda found: f"{found.sum():.0f} of {len(found)}"),
        }
    )
    return [
        "",
        "## Labels from a known structure",
        "",
        f"Labels drawn from β(K[u1] + K[u2])∘(K[v1] + K[v2]) over eight columns; {table['split'].nunique()} draws, "
        f"{table['n_test'].iloc[0]} test rows each. All but the true structure and the RBF-SVM have one kernel per "
        "column.",
        "",
        "### Accuracy, % on test rows, mean ± standard error over the draws",
        "",
        *markdown(spread(table, "accuracy", order), "trained on"),
        "",
        "![Accuracy by rows](recovery.svg)",
        "",
        "### The true branch among four (true product, product of noise, two sums)",
        "",
        *markdown(branch, "rows"),
    ]


def curve_chart(curves: pd.DataFrame, order: list[str]) -> alt.Chart:
    base = alt.Chart(curves.rename(columns={"method": "name"}))
    return base.mark_line(point=True).encode(
        x=alt.X("n:Q", title="rows to learn from"),
        y=alt.Y("mean:Q", title="test accuracy", scale=alt.Scale(zero=False), axis=alt.Axis(format="~%")),
        **palette(order, None),
    )


def markdown(table: pd.DataFrame, corner: str) -> list[str]:
    head = [corner, *map(str, table.columns)]
    rows = [[str(index), *map(str, row)] for index, row in zip(table.index, table.to_numpy(), strict=True)]
    return [f"| {' | '.join(row)} |" for row in (head, ["---", *["---:"] * len(table.columns)], *rows)]
