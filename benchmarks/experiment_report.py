"""What `experiments.py` found, as tables, tests and pictures: from its files of results alone."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import altair as alt
import numpy as np
import pandas as pd
from experiment_beside import EVIDENCE
from experiment_bound import bound_lines
from experiment_convergence import convergence_lines
from experiment_evidence import evidence_lines
from experiment_known import KNOWN, known_lines
from experiment_real import OTHERS, real_lines, with_saved
from experiment_search import search_lines
from experiment_sparsity import sparsity_lines
from experiment_store import read
from experiment_tables import markdown, spread, write_chart
from numpy.typing import NDArray
from peers import machine, versions
from scipy import stats

from spnmkl.charts.look import GREY, layered
from spnmkl.measures import FEWEST
from spnmkl.study.significance import corrected_t_test, holm

Floats = NDArray[np.float64]
PACKAGES = ("spnmkl", "numpy", "scipy", "scikit-learn", "numba", "MKLpy")
RUNS = "runs.json"
LEVEL = 0.05
DEFAULT = "default"
SIMPLE = "SimpleMKL"
OURS = ("RBF-SVM", SIMPLE, "ℓ_4/3-MKL", DEFAULT)  # beside what users know
# With five sets the smallest p of a two-sided signed-rank test is 1/16.
FEWEST_SETS = 6


def note_run(out: Path, command: str) -> None:
    """Remember by what the results were computed: a report may be written later, elsewhere."""
    path = out / RUNS
    runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    run = {"command": command, "versions": versions(PACKAGES) + engine(), "machine": machine()}
    if run not in runs:
        path.write_text(json.dumps([*runs, run], indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def as_command(script: str, given: Sequence[str], data: Path | None) -> str:
    """What anyone can type, whose sets are in another folder."""
    return shlex.join(["python", f"benchmarks/{script}", *("FOLDER" if word == str(data) else word for word in given)])


def engine() -> str:
    """The last commit of the package, where git knows it: its version alone does not tell by what was computed."""
    asked = ["git", "-C", str(Path(__file__).parents[1]), "log", "-1", "--format=%h", "--", "spnmkl"]
    try:
        found = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
    return f", commit {found}" if found else ""


def write_report(out: Path) -> None:
    """From the files of a folder alone."""
    cells = pd.concat([read(out / file) for file in ("results.csv", "known.csv")], ignore_index=True)
    cells = cells if len(cells) else pd.DataFrame(columns=["section"])
    runs = json.loads((out / RUNS).read_text(encoding="utf-8")) if (out / RUNS).exists() else []
    lines = [
        "# Results of benchmarks/experiments.py",
        "",
        "Written from the CSV files beside it, which hold every single result. They were computed by",
        "",
        *(f"- `{run['command']}`: {run['versions']}; {run['machine']}." for run in runs),
    ]
    accuracy = cells[cells["section"] == "accuracy"]
    if len(accuracy):
        lines += ["", "## Accuracy", "", _settings(out / "choice.json"), "", *accuracy_lines(accuracy, out)]
    beside, default = read(out / "beside.csv"), by_default(read(out / "default.csv"))
    if len(beside):
        known = pd.concat([accuracy, default], ignore_index=True)
        lines += ["", "## Beside what users know", "", _settings(out / "beside.json"), "", *beside_lines(beside, known)]
    for name in KNOWN:
        if len(of_name := cells[cells["section"] == name]):
            described = out / ("known.json" if (out / "known.json").exists() else "choice.json")
            lines += known_lines(name, of_name, _settings(described), out)
    if len(steps := read(out / "convergence.csv")):
        lines += convergence_lines(steps, json.loads((out / "convergence.json").read_text()), out)
    if len(pruned := read(out / "sparsity.csv", ["p"])):
        lines += sparsity_lines(pruned, _settings(out / "sparsity.json"), out)
    if len(measured := read(out / "bound.csv")):
        lines += bound_lines(measured, _settings(out / "bound.json"), out)
    if len(asked := read(out / "evidence.csv")):
        lines += evidence_lines(asked, _settings(out / "evidence.json"))
    if len(sought := read(out / "search.csv")):
        lines += search_lines(sought, _settings(out / "search.json"))
    if len(sought := read(out / "real.csv")):
        others = pd.concat([beside, default], ignore_index=True)
        lines += [*real_lines(sought, others, _settings(out / "real.json")), *against_search(sought, others)]
    (out / "report.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _settings(path: Path) -> str:
    found = json.loads(path.read_text(encoding="utf-8"))
    told = (f"{name.replace('_', ' ')} {value:g}" for name, value in found.items())
    return f"Settings: {', '.join(told)}."


def accuracy_lines(table: pd.DataFrame, out: Path) -> list[str]:
    ranked = complete(table, "accuracy")
    ranks = average_ranks(ranked)
    order = [*ranks.index, *(m for m in table["method"].unique() if m not in ranks)]
    lines = described(table)
    for column, title in (("accuracy", "Accuracy"), ("auc", "Area under the ROC curve")):
        lines += ["", f"### {title}, % on test rows, mean ± standard error over the splits", ""]
        lines += markdown(spread(table, column, order), "set")
    lines += ["", "### Ranks of mean accuracy over the sets (1 is best)", "", *comparison(ranked, ranks)]
    if len(ranked) > 1:
        write_chart(rank_chart(ranks, critical_difference(*ranked.shape[::-1])), out / "ranks.svg")
        lines += ["", "![Average ranks](ranks.svg)"]
    return [*lines, "", "### What it took", "", *markdown(costs(table, order), "method")]


def by_default(table: pd.DataFrame) -> pd.DataFrame:
    """What `SPNMKLClassifier()` has on the same splits, which default.py computes."""
    return table[table["method"] == "SPNMKLClassifier()"].assign(method=DEFAULT) if len(table) else table


def beside_lines(beside: pd.DataFrame, known: pd.DataFrame) -> list[str]:
    """On the sets and splits that the outside methods have, some of ours as well; fewer splits of a cell are told."""
    ours = known[known["method"].isin(OURS)]
    most = beside.groupby(["set", "method"])["split"].nunique().groupby(level="set").max()
    table = pd.concat([beside, ours[ours["set"].isin(most.index)]], ignore_index=True)
    table = table[table["split"] < table["set"].map(most)]
    order = [*dict.fromkeys(beside["method"]), *(m for m in OURS if m in set(ours["method"]))]
    told = spread(table, "accuracy", order)
    told.insert(0, "splits", most.loc[told.index])
    lines = [
        "Accuracy, % on test rows, mean ± standard error over the splits; (n) where a method has only n of them, which",
        "is then not compared.",
        "",
        *markdown(told, "set"),
    ]
    return lines + tested(table, [(DEFAULT, m) for m in order if m != DEFAULT] + [(EVIDENCE, SIMPLE)])


def against_search(sought: pd.DataFrame, others: pd.DataFrame) -> list[str]:
    """What the drawing that is saved has more than the flat sum and than other methods, on the splits of a search."""
    sought = with_saved(sought)
    named = {f"{who}, {kind}": f"{who}_{kind}" for who in ("saved", "flat") for kind in ("certified", "process")}
    own = [
        sought[["set", "split", "n", "n_test"]].assign(method=name, accuracy=sought[column])
        for name, column in named.items()
    ]
    pairs = [("saved, certified", second) for second in ("flat, certified", *OTHERS)]
    return tested(pd.concat([*own, others], ignore_index=True), [*pairs, ("saved, process", "flat, process")])


def tested(table: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The pairs of methods of which both are there, a line each."""
    found = [row for pair in pairs if (row := against(table, *pair)) is not None]
    if not found:
        return []
    adjusted = holm([row["p"] for row in found])
    told = pd.DataFrame(found).assign(p=[f"{p:.2g}" for p in adjusted]).set_index("methods")
    return [
        "",
        f"Set by set, on the splits that both have (at least {FEWEST}): points of difference, and where the",
        f"corrected resampled t-test with Holm's correction over the sets tells one at {LEVEL:g}; p is",
        "Wilcoxon's over the sets, with Holm's correction over the lines.",
        "",
        *markdown(told, "methods"),
    ]


def against(table: pd.DataFrame, first: str, second: str) -> dict[str, Any] | None:
    """What one method has more than another, on the splits of every set that both have; p is over the sets."""
    rows = []
    for name, of_set in table[table["method"].isin((first, second))].groupby("set", sort=False):
        both = of_set.pivot(index="split", columns="method", values="accuracy").dropna()
        if both.shape[1] == 2 and len(both) >= FEWEST:
            difference = 100 * (both[first] - both[second])
            sizes = of_set[["n", "n_test"]].dropna().iloc[0]
            p = corrected_t_test(difference.to_numpy(), sizes["n_test"] / sizes["n"])
            rows.append({"set": name, "splits": len(both), "points": difference.mean(), "p": p})
    if not rows:
        return None
    found = pd.DataFrame(rows).assign(p=lambda frame: holm(frame["p"].tolist())).set_index("set")

    def listed(part: pd.DataFrame) -> str:
        told = (f"{name} ({row.points:+.1f}, p = {row.p:.2g})" for name, row in part.iterrows())
        return ", ".join(told) or "none"

    different, points = found[found["p"] <= LEVEL], found["points"]
    fewest, largest = found["splits"].min(), found["splits"].max()
    return {
        "methods": f"{first} − {second}",
        "sets": str(len(found)),
        "splits": f"{fewest}" if fewest == largest else f"{fewest} to {largest}",
        "mean": f"{points.mean():+.1f}",
        "least": f"{points.min():+.1f} ({points.idxmin()})",
        "most": f"{points.max():+.1f} ({points.idxmax()})",
        "p": signed_rank(points.to_numpy().round(9)),
        "better": listed(different[different["points"] > 0]),
        "worse": listed(different[different["points"] < 0]),
    }


def described(table: pd.DataFrame) -> list[str]:
    sets = table.groupby("set", sort=False).agg(
        rows=("n", "first"), test=("n_test", "first"), classes=("classes", "first"), splits=("split", "nunique")
    )
    kernels = table[table["method"] == "average kernel"].groupby("set", sort=False)["kernels"].first()
    told = [
        f"{name} ({row.rows} + {row.test} rows, {row.classes} classes, "
        + (f"{kernels[name]} kernels, " if name in kernels else "")
        + f"{row.splits} splits)"
        for name, row in sets.iterrows()
    ]
    return [
        f"Sets, with rows to train + rows to test: {'; '.join(told)}.",
        "",
        "Splits of one set share rows, so that a standard error is smaller than that of as many new samples would be.",
    ]


def complete(table: pd.DataFrame, column: str) -> pd.DataFrame:
    """Mean per set and method, of the methods that have most sets, over the splits that all of these have."""
    cells = table.pivot_table(index=["set", "split"], columns="method", values=column, sort=False)
    sets = cells.notna().groupby(level="set", sort=False).any().sum()
    return cells[sets[sets == sets.max()].index].dropna().groupby(level="set", sort=False).mean()


def average_ranks(means: pd.DataFrame) -> pd.Series:
    """Method → its rank averaged over the sets, best first; equal means share a rank."""
    return means.round(12).rank(axis=1, ascending=False).mean().sort_values(kind="stable")


def costs(table: pd.DataFrame, order: list[str]) -> pd.DataFrame:
    """Per method: the median time, the part of the kernels that it uses, how often C was at an end of its values."""
    used = table.assign(part=table["active"] / table["kernels"])
    groups = used.groupby("method")
    return pd.DataFrame(
        {
            "seconds, median": groups["seconds"].median().map("{:.2f}".format),
            "seconds, most": groups["seconds"].max().map("{:.2f}".format),
            "kernels or columns used": (100 * groups["part"].mean()).map("{:.0f} %".format),
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
    friedman = stats.friedmanchisquare(*(means[m].round(12) for m in means))  # as ranks are
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
    pairs, raw = [], []
    for a, b in combinations(means, 2):
        difference = (means[a] - means[b]).to_numpy().round(12)
        pairs.append((a, b) if np.median(difference) >= 0 else (b, a))
        raw.append(signed_rank(difference))
    return [(*pair, p, float(corrected)) for pair, p, corrected in zip(pairs, raw, holm(raw), strict=True)]


def signed_rank(difference: Floats) -> float:
    """p of Wilcoxon's two-sided test, exact also with ties; zeros do not count.

    scipy goes through all signs where there are ties, seconds for each pair; here the share of the signs that give
    each sum is built rank by rank.
    """
    seen = difference[difference != 0]
    ranks = (2 * stats.rankdata(np.abs(seen))).astype(int)  # halves, where there are ties, become whole
    share = np.ones(1)  # of all signs, whose ranks with a plus have each sum
    for rank in ranks:
        share = (np.pad(share, (0, rank)) + np.pad(share, (rank, 0))) / 2
    total = int(ranks[seen > 0].sum())
    return float(min(1.0, 2 * min(share[: total + 1].sum(), share[total:].sum())))


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
