"""What a proof of the weights does not tell: whether the model is of any use for new rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from spnmkl.measures import SCORINGS, are_uneven
from spnmkl.structure import SPN
from spnmkl.training.run import Run
from spnmkl.training.scores import share_right
from spnmkl.wording import listed, quoted

LITTLE = 0.25  # of the way from guessing to all rows right, below which a sum may miss something
FAR_ABOVE = 0.15  # of the training accuracy over that of the test, to speak of it
NEARLY_ALL = 0.98  # of the training rows are right where a model may have learned them by heart
BALANCE = " If the rarer class matters as much, let classes count alike (class weights: balanced)"


def doubts(run: Run) -> list[str]:
    """Sentences for beside the scores; where every weight is zero the ending says what is wrong already."""
    if not any(run.solution.beta.values()):
        return list(_lacking(run))
    return [*_beside_guessing(run), *_lacking(run), *_by_heart(run), *_searched(run)]


def lacks_products(spn: SPN, columns: Sequence[str], score: float, guess: float, where: str) -> str:
    """Where products can be searched for, if a drawing has none and is not far above guessing; else empty."""
    factors: dict[str, int] = {}
    for v in reversed(spn.topological_order()):
        below = [factors[child] for child in spn.children(v)]
        factors[v] = 1 if spn.kind(v) == "kernel" else sum(below) if spn.kind(v) == "product" else max(below)
    if factors[spn.root] > 1 or len(columns) < 2 or not score - guess < LITTLE * (1 - guess):
        return ""
    return (
        "It is not far above guessing, and no product of columns or views is in this drawing: where two of them tell "
        f"the classes only together, a sum may miss it. {where} searches for such products."
    )


def _lacking(run: Run) -> Iterator[str]:
    scores = run.measured or (run.test_scores if run.test_scores.scored else None)
    if scores is not None:
        found = scores.measured(run.settings.scoring)
        said = lacks_products(run.spn, run.preparation.outputs, found.value, found.guess, "Suggest on Design")
        yield from [said] if said else []


def found_by_search(names: Sequence[str]) -> str:
    """Which of some drawings a search found in the rows that scores over folds are of, and what follows."""
    which = listed(names)
    return (
        f"{which[:1].upper()}{which[1:]}: found by Suggest on these rows, also those that folds hold out, so that the "
        "score over folds is a little too good. Suggest scores it on rows that it did not search, and with outer folds "
        "searches anew in each."
    )


def _searched(run: Run) -> Iterator[str]:
    """Test rows are honest as long as they are the ones that the search was kept from."""
    if run.searched is None or not run.searched.drew:
        return
    if run.measured is not None:
        yield found_by_search([f"the drawing of {run.name}"])
    if run.searched.split != run.split and run.test_scores.scored:
        yield (
            f"Suggest found the drawing of {run.name} when other rows were held out for the test, so that it saw some "
            "of these test rows: their score is a little too good, too."
        )


def _beside_guessing(run: Run) -> Iterator[str]:
    """By every measure, since accuracy alone cannot tell where one class is much more frequent."""
    folds, test = run.measured, run.test_scores
    if folds is None and not test.scored:
        return
    where = "on the test rows" if folds is None else "over folds"
    found = {name: (test if folds is None else folds).measured(name) for name in SCORINGS}
    right, better = found["accuracy"], [measure for measure in found.values() if measure.beats_guessing]
    if right.beats_guessing:
        return
    answer = quoted(str(run.train_scores.majority[0])[:24])
    always = f"always answering {answer} gives {right.guess_text}, and it is right in {right.text} {where}"
    if better:
        seen = " and ".join(f"its {m.title} is {m.text}, where guessing has {m.guess_text}" for m in better)
        by = "." if run.settings.scoring != "accuracy" else ", and choose C by balanced accuracy."
        advice = "" if run.settings.class_weight == "balanced" else BALANCE + by
        yield f"Accuracy does not show that it is better than guessing ({always}); other scores do: {seen}.{advice}"
        return
    worse = math.isfinite(right.interval[1]) and right.interval[1] < right.guess
    yield f"This {'is worse' if worse else 'may be no better'} than guessing: {always}. {_better_C(run, 'Another C')}"


def _by_heart(run: Run) -> Iterator[str]:
    """Of rows held out over folds, where there are such scores: one split may be far below them by chance."""
    folds, train = run.measured, run.train_scores.accuracy
    if folds is None and not run.test_scores.scored:
        return
    held = (run.test_scores if folds is None else folds).measured("accuracy")
    if not (train - held.value > FAR_ABOVE and train > held.interval[1]):
        return
    which = "test rows" if folds is None else "rows held out over folds"
    by_heart = "it may have learned them by heart, and " if train >= NEARLY_ALL and run.looks_closely else ""
    yield (
        f"It answers training rows far better ({share_right(train)}) than {which} ({share_right(held.value)}): "
        f"{by_heart}what counts is how it answers rows not trained on. {_better_C(run, 'A smaller C')}"
    )


def _better_C(run: Run, what: str) -> str:
    """What may still help: C where it was not chosen, else what C cannot do."""
    found, C = run.cross_validation, run.settings.C
    if found is None and not run.chose_C:
        return f"{what} may help: it was not chosen by cross-validation."
    if found is None or math.isclose(found.best_C, C, rel_tol=1e-6):
        if _could_be_balanced(run):
            return (
                "C was chosen by cross-validation already; classes are uneven, and their rows count alike: let the "
                "classes count alike (Classes: balanced, in All settings; --class-weight balanced)."
            )
        others = ", or fewer and wider kernels," if run.looks_closely else ", or fewer columns,"
        known = run.model is not None  # of given matrices nobody knows which columns they see
        return f"C was chosen by cross-validation already; more rows{others * known} may help."
    return f"Cross-validation found C = {found.best_C:.3g} better than this {C:.3g}."


def _could_be_balanced(run: Run) -> bool:
    """Whether the rows of a class outvote those of a rarer one."""
    return run.settings.class_weight is None and are_uneven(run.train_scores.rows)
