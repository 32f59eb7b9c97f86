"""Every sign and word of a result in one sentence, and worked out with the numbers of a run.

The app, the report and the documentation take their words from here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.solution import Solution
from spnmkl.structure import SPN
from spnmkl.structure.text import RAISED, shortened

LONGEST = 400  # letters of a worked example; a path through many products has more


@dataclass(frozen=True)
class Term:
    """A sign or a word, what to call it, and what it means in one sentence."""

    sign: str
    name: str
    sentence: str

    @property
    def title(self) -> str:
        return f"{self.sign}, {self.name}" if self.name else self.sign


GLOSSARY: Mapping[str, Term] = {
    "kernel": Term("K", "kernel", "A table of how alike every two samples are, seen through some columns."),
    "∘": Term(
        "∘",
        "product of kernels",
        "Multiplies two kernels entry by entry, so that two samples are alike only where both kernels say so.",
    ),
    "β": Term(
        "β",
        "weight",
        "A number of at least 0 that is learned at every product: how much of what stands below it is used.",
    ),
    "path": Term(
        "path", "", "A way through the drawing that takes one child at every sum and all children at every product."
    ),
    "g": Term(
        "g",
        "weight of a path",
        "The geometric mean of the weights β that a path meets, with exponents that add up to 1; it multiplies the "
        "product of the path's kernels.",
    ),
    "Σg": Term(
        "Σg",
        "all path weights",
        "The weights of all paths together; “of Σg” is the part of it that belongs to a path, or to all paths through "
        "a node, and does not look at the data.",
    ),
    "held-out": Term(
        "held-out share",
        "",
        "The part of what tells the classes apart, on rows that were not trained on, that comes through a path, node "
        "or view; what only fits the training rows has none, however heavy it is, and below 0 it pulls rows to the "
        "wrong side.",
    ),
    "K(β)": Term("K(β)", "learned kernel", "The kernel that is predicted with: Σ g K over all paths."),
    "pruned": Term(
        "pruned",
        "",
        "A weight that became exactly zero: every path through it is out, and where the result is certified that is "
        "proved to be best for the training rows at this C, which says nothing of new rows.",
    ),
    "p": Term(
        "p",
        "exponent of a weight",
        "Its price grows like β to the power of p: with 1 whole branches can be pruned, above 1 all stay, below 1 more "
        "are pruned but the result is no longer certified.",
    ),
    "λ": Term(
        "λ",
        "price of the weights",
        "How much weights cost beside errors and complexity; where all p are equal it only rescales C.",
    ),
    "c": Term(
        "c",
        "paths of a weight",
        "How much of the exponents of all paths a weight has: its price is λ c βᵖ, so that a weight that many paths "
        "share costs as much as these paths would alone.",
    ),
    "C": Term(
        "C",
        "price of an error",
        "What an error on a training row costs: a small C gives a simple, smooth answer with few weights, a large one "
        "fits the training rows closely.",
    ),
    "C_min": Term(
        "C_min",
        "smallest useful C",
        "At or below it errors are so cheap that learning nothing is best, and every weight is zero.",
    ),
    "objective": Term(
        "P",
        "objective",
        "What training makes as small as it can: complexity, price of the weights, and errors on training rows.",
    ),
    "q": Term(
        "q",
        "what a path makes of the samples",
        "The squared length of the function Σ αᵢ yᵢ K(xᵢ, ·) that the kernel K of a path alone makes of the support "
        "vectors xᵢ, with their classes yᵢ = ±1 and weights αᵢ.",
    ),
    "F": Term(
        "F(β)",
        "half of Σ g q",
        "Half of g q over all paths together: how much the weights take off the objective while the support vectors "
        "stay as they are.",
    ),
    "bound": Term("D", "lower bound", "A number that the objective of no weights whatever can be below."),
    "gap": Term(
        "gap",
        "",
        "The relative distance (P − D)/P between the objective reached and a bound that no weights can be below: by "
        "more than that, no other weights are better.",
    ),
    "evidence": Term(
        "log evidence",
        "",
        "How probable the labels are, as a logarithm, if the drawing with these weights were the covariance of a "
        "Gaussian process: what can fit many labels is charged for it, so that a sum and a product can be compared; it "
        "is computed on the training rows, and not certified.",
    ),
    "Δ evidence": Term(
        "Δ evidence",
        "",
        "By how much the log evidence falls when a part of the drawing is removed and the rest is fitted again: near 0 "
        "the labels do not need it, above 5 they do.",
    ),
    "KKT": Term(
        "KKT residual",
        "",
        "By how much the objective, relative to itself, would change with a small relative change of one weight; it is "
        "0 where no such change helps (the Karush-Kuhn-Tucker conditions).",
    ),
    "alignment": Term(
        "alignment",
        "",
        "How well a kernel agrees with the labels after centring: 1 where it is high within classes and low between "
        "them, near 0 where it has nothing to do with them.",
    ),
    "path-dependent view": Term(
        "path-dependent view",
        "",
        "The same combination drawn as one sum over all paths, each with a weight g of its own, as in the lower right "
        "of the paper's Figure 1.",
    ),
}


def explained(*names: str) -> str:
    """Terms with their sentences, as Markdown, for a help text."""
    return "\n\n".join(f"**{GLOSSARY[name].title}**: {GLOSSARY[name].sentence}" for name in names)


def glossary_page() -> str:
    """The page of the documentation."""
    terms = "\n\n".join(f"**{term.title}**\n: {term.sentence}" for term in GLOSSARY.values())
    return (
        "# Signs and words\n\n"
        "What stands in the app, in reports and in these pages, in one sentence each. The app works them out with the "
        "numbers\nof your own run: choose a path on *Inspect*, under *Weights and paths*.\n\n" + terms + "\n"
    )


def worked_g(spn: SPN, path: WeightedPath, beta: Mapping[str, float]) -> str:
    """The weight of a path with its numbers: g = β₉¹⁄² β₄¹⁄⁴ = 0.61¹⁄² · 0.9¹⁄⁴ = 0.76."""
    exponents = path.path.exponents
    numbers = " · ".join(f"{beta[v]:.3g}{_raised(e)}" for v, e in exponents.items())
    alone = len(exponents) == 1 and set(exponents.values()) == {1}
    middle = "" if alone else f" = {shortened(numbers, LONGEST)}"
    return f"g = {shortened(path.path.g(spn.names), LONGEST)}{middle} = {path.g:.3g}"


def _raised(exponent: Fraction) -> str:
    return "" if exponent == 1 else str(exponent).translate(RAISED)


def worked_share(path: WeightedPath) -> str:
    """Its part of all path weights: g / Σg = 0.42 / 1.9 = 22 %."""
    if not path.share > 0:
        return ""
    return f"g / Σg = {path.g:.3g} / {path.g / path.share:.3g} = {100 * path.share:.3g} %"


def worked_gap(solution: Solution) -> str:
    """The gap with its numbers: (P − D)/P = (12.34 − 12.33)/12.34 = 0.081 %."""
    P, D = solution.objective, solution.dual_bound
    if not (math.isfinite(D) and P > 0):
        known = "meant for evidence weights" if solution.by_evidence else "known"
        return f"No bound D is {known}, so that there is no gap."
    return f"(P − D)/P = ({P:.7g} − {D:.7g})/{P:.7g} = {100 * solution.gap:.2g} %"
