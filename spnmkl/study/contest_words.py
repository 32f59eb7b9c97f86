"""A comparison of methods in plain words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

import pandas as pd

from spnmkl.baselines.learners import FEWEST as FEWEST_ROWS
from spnmkl.baselines.learners import LEAVES, SHARES, SIZES, TREES
from spnmkl.baselines.learners import ROUNDS as BOOSTED
from spnmkl.baselines.standard import WIDTHS
from spnmkl.charts.comparison import MARKS
from spnmkl.measures import FEWEST, SCORINGS, which_error
from spnmkl.study.contest import LEVEL, Contest
from spnmkl.study.entrants import OWN, titled
from spnmkl.wording import counted

WHAT = {
    OWN: "the structure as it is drawn, its weights learned",
    "average kernel": "all base kernels with equal weights",
    "best kernel": "the one base kernel that does best",
    "SimpleMKL": "a sum with learned weights, most of them zero",
    "ℓ_4/3-MKL": "a sum with learned weights, norm 4/3: less sparse",
    "ℓ_2-MKL": "a sum with learned weights, norm 2: not sparse",
    "ℓ_4-MKL": "a sum with learned weights, norm 4: nearly equal",
    "composite": "a learned sum of groups, each a learned sum",
    "product of sums": "the learned sums of the groups, multiplied",
    "sums and product": "each group alone and their product, whichever helps",
    "lasso": "logistic regression with a lasso penalty: many weights are zero",
    "random forest": f"{TREES} trees, each on a sample of the rows, that vote",
    "boosting": "small trees, each on what those before got wrong",
    "late fusion": "a model for each view, their out-of-fold probabilities stacked",
    "RBF-SVM": "one rbf kernel on all columns, as in scikit-learn's SVC",
}
OF_C = "C, of {points} values"
TUNED = {
    "best kernel": "C, of {points} values, and the kernel",
    "random forest": f"columns per split, rows in a leaf: {len(SHARES) * len(LEAVES)} settings",
    "boosting": f"trees and their number: {len(SIZES) * len(FEWEST_ROWS) * len(BOOSTED)} settings",
    "late fusion": "the model of each view, of {points}",
    "RBF-SVM": f"C, of {{points}} values, and γ, of {len(WIDTHS)}",
}
ROUNDS = 1, 2, 5
MOST_ROUNDS = ROUNDS[-1]
SAID = {
    "too few folds": "–",
    "reference": "the reference",
    "better": f"{MARKS['better']} better",
    "worse": f"{MARKS['worse']} worse",
}
TEST_HELP = (
    "The corrected resampled t-test (Nadeau and Bengio 2003) on the differences fold by fold: it allows for training "
    "parts that overlap. Folds may agree by chance: where a test by the number of rows has a larger p-value, that "
    "counts (but in a comparison that an earlier version kept). It is adjusted by Holm's method, since several methods "
    f"are tested at once; a difference is marked where it is below {LEVEL}."
)
ERROR_HELP = (
    "One standard error of the mean over the folds, which allows for training parts that overlap, or that of the "
    "number of rows where this is larger, since folds may agree by chance; the test of the differences does the same."
)


def tuned_words(method: str, points: int) -> str:
    """What a method chooses on folds within the training part."""
    return TUNED.get(method, OF_C).format(points=points)


def ranking_words(contest: Contest, measure: str) -> str:
    """Who has the highest mean, and where the reference stands."""
    summary = contest.summary(measure).sort_values("mean", ascending=False, kind="stable")
    if not len(summary) or not contest.n_shared:
        return ""
    best = summary.iloc[0]
    leaders = list(map(titled, summary.loc[summary["mean"] >= best["mean"] - 1e-12, "method"]))
    verb = "has" if len(leaders) == 1 else "share"
    said = f"{', '.join(leaders)} {verb} the highest mean, {score_text(best, measure)}"
    said = said[:1].upper() + said[1:]
    own = summary[summary["method"] == contest.reference]
    if len(own) and best["mean"] > own["mean"].iloc[0] + 1e-12:
        said += f"; {contest.reference} has {score_text(own.iloc[0], measure)}"
    return said + "."


def score_text(row: Mapping[Hashable, Any] | pd.Series, measure: str) -> str:
    """98.1 ± 0.6 %"""
    scale, digits, unit = (100, 1, " %") if SCORINGS[measure].percent else (1, 3, "")
    error = "" if math.isnan(row["error"]) else f" ± {scale * row['error']:.{digits}f}"
    return f"{scale * row['mean']:.{digits}f}{error}{unit}"


def errors_words(contest: Contest, measure: str) -> str:
    """What stands behind ±, in a sentence; empty where there is none."""
    summary = contest.summary(measure)
    by_rows = summary.loc[summary["error"].notna(), "by_rows"].tolist()
    return which_error("± is one standard error", by_rows, "methods") if any(by_rows) else ""


def verdict(contest: Contest, measure: str) -> str:
    """What the tests tell, in a sentence or two."""
    summary = contest.summary(measure)
    rivals = summary[summary["method"] != contest.reference]
    if contest.n_shared < FEWEST:
        return f"{counted(contest.n_shared, 'fold')} done by all methods: too few to tell differences from chance."
    parts = []
    for found, word in (("worse", "better"), ("better", "worse")):
        names = [titled(method) for method in rivals.loc[rivals["verdict"] == found, "method"]]
        if names:
            parts.append(f"By more than chance, your drawing is {word} than {', '.join(names)}.")
    if even := rivals.loc[rivals["verdict"] == "cannot be told", "method"].map(titled).tolist():
        lacking = contest.scores(measure).isna().any(axis=None)
        why = "some folds have no such score" if lacking else "the difference is the same on every fold"
        parts.append(f"Whether your drawing differs from {', '.join(even)} by more than chance cannot be told: {why}.")
    if unclear := rivals.loc[rivals["verdict"] == "no difference shown", "method"].map(titled).tolist():
        parts.append(
            f"No difference is shown between your drawing and {_named(unclear, len(rivals))}{_limit(contest, measure)}."
        )
    return " ".join(parts)


def _named(methods: list[str], of: int) -> str:
    if len(methods) == 1:
        return methods[0]
    return "any of the others" if len(methods) == of else f"the other {len(methods)}"


def _limit(contest: Contest, measure: str) -> str:
    """From which size on differences would show."""
    seen = contest.visible(measure)
    if not seen:
        return ""
    percent, sizes = SCORINGS[measure].percent, [max(size) for size in seen]
    low, high = (f"{100 * size:.0f}" if percent else f"{size:.2f}" for size in (min(sizes), max(sizes)))
    unit = " points" if percent else ""
    reach = f"{low}{unit}" if low == high else f"{low} to {high}{unit}, depending on the method,"
    rounds = contest.plan.repeats < MOST_ROUNDS and any(of_folds > of_rows for of_folds, of_rows in seen)
    more = f"; more {'rounds' if rounds else 'rows'} tell smaller ones"  # the same rows again leave as much open
    return f": with {counted(contest.n_shared, 'fold')}, a difference must reach {reach} to show{more}"


def against(row: Mapping[Hashable, Any]) -> str:
    """The verdict on one method, for a table."""
    said = SAID.get(row["verdict"], row["verdict"])
    return said if math.isnan(row["adjusted"]) else f"{said}, p-value {row['adjusted']:.2g}"


def about(seconds: float) -> str:
    """One digit that counts."""
    if seconds < 5:
        return "a few seconds"
    unit, length = next((u, s) for u, s in (("h", 3600), ("min", 60), ("s", 1)) if seconds >= 2 * s or s == 1)
    digits = -int(math.log10(max(seconds / length, 1)))
    return f"about {round(seconds / length, digits):,.0f} {unit}"
