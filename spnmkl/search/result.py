"""What a search suggests: drawings, best first, with what speaks for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import overload

import pandas as pd

from spnmkl.search.scores import Score
from spnmkl.structure import SPN
from spnmkl.wording import counted, number_text

OFTEN = 0.5  # of the subsamples: a branch that recurs less often is said to be unsure


@dataclass(frozen=True, eq=False)
class Suggestion:
    """A drawing, and what speaks for it; nothing here is an accuracy but the scores, of rows that no search saw.

    Attributes
    ----------
    spn : SPN
        The drawing, ready to be trained.
    formula : str
        The same in a line, without weights.
    log_evidence : float
        At its evidence weights, on the rows searched.
    over_flat : float
        Log evidence minus that of the flat sum over all kernels, before prices.
    criterion : float
        Log evidence minus the price of its free weights: what the search goes by.
    weights : dict from product to float
        Its evidence weights, those above 0.
    certified : dict from product to float
        Its certified weights at `C`, on the rows searched; empty where nothing was scored.
    C : float
        Chosen on the rows searched, by cross-validation; NaN where nothing was scored.
    score : Score
        With certified weights, on folds of the rows that the search did not see.
    evidence_score : Score
        Of the Gaussian process with evidence weights, on the same folds.
    recurs : dict from branch to float
        In which share of searches on subsamples a branch came out again that has half of its paths or more; of the
        flat sum, which no search has to find, nothing.
    is_flat : bool
        Whether it is the flat sum over all kernels.
    multiplies : bool
        Whether it has a product of kernels.
    sentence : str
        All of it in words.
    """

    spn: SPN
    formula: str
    log_evidence: float
    over_flat: float
    criterion: float
    weights: dict[str, float]
    certified: dict[str, float]
    C: float
    score: Score
    evidence_score: Score
    recurs: dict[str, float]
    is_flat: bool
    multiplies: bool
    sentence: str = ""

    def __repr__(self) -> str:
        """One line."""
        return f"Suggestion({self.formula}, log evidence {self.log_evidence:.1f}, {self.score})"


@dataclass(frozen=True, eq=False)
class Outer:
    """Scores of outer folds with the whole search inside each: of what it recommends, and of the flat sum."""

    search: Score
    flat: Score


@dataclass(frozen=True, eq=False)
class Suggestions(Sequence[Suggestion]):
    """Drawings, best first; the flat sum is always among them.

    Attributes
    ----------
    found : bool
        Whether a drawing with products beats the constant and the best flat sum by enough to believe in it.
    beats_constant : bool
        Whether any drawing does better than the sizes of the classes alone.
    leads : bool
        Whether the first drawing, with products or without, beats the flat sum over all kernels by as much as `found`
        asks for.
    sentence : str
        What came out, in words.
    refits : int
        Evidence refits of the search, without those on subsamples and outer folds.
    rows : int
        Rows that it was searched in.
    held_out : int
        Rows that the scores are from.
    subsamples : int
        Searches on parts of the rows, for `Suggestion.recurs`.
    outer : Outer or None
        Scores of outer folds, where they were asked for.
    ended : str
        "done", "budget" or "stopped".
    seconds : float
        What it took.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl.search import suggest
    >>> X, y = load_wine(return_X_y=True)
    >>> found = suggest(X[:, [0, 6, 9]], y, budget=8, subsamples=0)
    >>> any(suggestion.is_flat for suggestion in found)
    True
    """

    suggestions: tuple[Suggestion, ...]
    found: bool
    beats_constant: bool
    sentence: str
    refits: int
    rows: int
    held_out: int
    subsamples: int
    outer: Outer | None
    ended: str
    seconds: float
    views: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    leads: bool = False

    @overload
    def __getitem__(self, place: int) -> Suggestion: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Suggestion, ...]: ...
    def __getitem__(self, place: int | slice) -> Suggestion | tuple[Suggestion, ...]:
        """A suggestion by its place."""
        return self.suggestions[place]

    def __len__(self) -> int:
        """How many suggestions there are."""
        return len(self.suggestions)

    def __iter__(self) -> Iterator[Suggestion]:
        """Best first."""
        return iter(self.suggestions)

    def __repr__(self) -> str:
        """The sentence."""
        return f"Suggestions({self.sentence})"

    @property
    def best(self) -> Suggestion:
        """The first."""
        return self.suggestions[0]

    @property
    def flat(self) -> Suggestion:
        """The flat sum over all kernels."""
        return next(suggestion for suggestion in self.suggestions if suggestion.is_flat)

    @property
    def recommended(self) -> Suggestion:
        """The first where it was found, or leads as a sum of other kernels; else the flat sum over all kernels."""
        return self.best if self.found or self.leads else self.flat

    @property
    def table(self) -> pd.DataFrame:
        """One row per drawing."""
        return pd.DataFrame(
            {
                "drawing": one.formula,
                "log evidence": round(one.log_evidence, 2),
                "over flat": round(one.over_flat, 2),
                "weights": len(one.weights),
                "score": one.score.mean,
                "± score": one.score.error,
                "evidence score": one.evidence_score.mean,
                "least recurring branch": min(one.recurs.values(), default=float("nan")),
            }
            for one in self.suggestions
        )


def described(one: Suggestion, subsamples: int) -> str:
    """What speaks for a drawing, in a sentence."""
    if one.is_flat:
        return f"The flat sum of all kernels: log evidence {number_text(one.log_evidence, '.1f')}{_scored(one)}."
    more = "more" if one.over_flat >= 0 else "less"
    weights = counted(len(one.weights), "weight")
    said = f"{one.formula}: {abs(one.over_flat):.1f} {more} log evidence than the flat sum, with {weights}"
    return f"{said}{_recurring(one, subsamples)}{_scored(one)}."


def _scored(one: Suggestion) -> str:
    if not one.score.folds:
        return ""
    by = f"{one.score} with certified weights, {one.evidence_score} with evidence weights"
    return f"; on rows that were not searched {by}{one.score.beside_guessing}"


def _recurring(one: Suggestion, subsamples: int) -> str:
    if not subsamples or not one.recurs:
        return ""
    unsure = [branch for branch, share in one.recurs.items() if share < OFTEN]
    if unsure:
        return f"; unsure, since they recur in fewer than half of {subsamples} subsamples: {', '.join(unsure[:3])}"
    least = round(min(one.recurs.values()) * subsamples)
    if least == subsamples:
        return f"; every branch recurs in {'each of ' if subsamples > 1 else ''}{counted(subsamples, 'subsample')}"
    return f"; every branch recurs in at least {least} of {subsamples} subsamples"


def verdict(
    found: bool, beats_constant: bool, best: Suggestion, over: float, lead: float, asked: float, stopped: bool
) -> str:
    """The answer to the question whether products help, and to which drawing will do.

    `over` is what the best drawing with a product has more than the best sum, `lead` what `best` has more than the flat
    sum of all kernels.
    """
    until = "So far, as it was stopped: " if stopped else ""
    prices = "after the price of its weights"
    if not beats_constant:
        nothing = "no drawing is better than a constant"
        if stopped:
            return f"{until}{nothing}."
        return (
            f"No evidence for products in these data, nor for a sum: {nothing}, so that these columns tell nothing of "
            "the classes that their sizes do not."
        )
    if found:
        return (
            f"{until}Evidence for products: {best.formula} is {over:.1f} of log evidence above the best sum of single "
            f"kernels, {prices}."
        )
    nearly = (
        f"the best drawing with one is {over:.1f} of log evidence above the best sum of single kernels, {prices}, and "
        f"{asked:g} are asked for"
        if over > 0
        else "no drawing with one is better than the best sum of single kernels"
    )
    rest = "The flat sum of all kernels will do."
    if lead >= asked:
        rest = (
            f"Without products, {best.formula} is recommended: it is {lead:.1f} of log evidence above the flat sum of "
            f"all kernels, {prices}."
        )
    return f"{until}No evidence for products in these data: {nearly}. {rest}"
