"""A comparison of methods in plain words."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from typing import Any

from spnmkl.charts.comparison import MARKS
from spnmkl.data.words import counted
from spnmkl.runs.contest import LEVEL, Contest
from spnmkl.runs.entrants import OWN
from spnmkl.runs.significance import FEWEST

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
    "RBF-SVM": "one rbf kernel on all columns, its width chosen",
}
SAID = {
    "reference": "the reference",
    "better": f"{MARKS['better']} better",
    "worse": f"{MARKS['worse']} worse",
}
TEST_HELP = (
    "The corrected resampled t-test (Nadeau and Bengio 2003) on the differences fold by fold: it allows for training "
    "parts that overlap. p is adjusted by Holm's method, since several methods are tested at once; a difference is "
    f"marked where it is below {LEVEL}."
)


def verdict(contest: Contest, measure: str) -> str:
    """What the tests tell, in a sentence or two."""
    summary = contest.summary(measure)
    rivals = summary[summary["method"] != contest.reference]
    if contest.n_shared < FEWEST:
        return f"{counted(contest.n_shared, 'fold')} of all methods: too few to tell differences from chance."
    parts = []
    for word, sign in (("better", "is better than"), ("worse", "is worse than")):
        other = "worse" if word == "better" else "better"
        names = rivals.loc[rivals["verdict"] == other, "method"].tolist()
        if names:
            parts.append(f"Your drawing {sign} {', '.join(names)}, by more than chance.")
    unclear = int((~rivals["verdict"].isin(["better", "worse"])).sum())
    if unclear:
        seen = contest.visible(measure)
        size = f"about {100 * seen:.1f} points" if measure == "accuracy" else f"about {seen:.3f}"
        limit = (
            f": with {counted(contest.n_shared, 'fold')}, only differences of {size} and more would show"
            if math.isfinite(seen) and seen > 0
            else ""
        )
        which = "any method" if unclear == len(rivals) else f"the other {unclear}"
        parts.append(f"No difference is shown between your drawing and {which}{limit}.")
    return " ".join(parts)


def against(row: Mapping[Hashable, Any]) -> str:
    said = SAID.get(row["verdict"], row["verdict"])
    return said if math.isnan(row["adjusted"]) else f"{said}, p = {row['adjusted']:.2g}"
