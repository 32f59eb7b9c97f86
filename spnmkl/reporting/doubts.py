"""What a proof of the weights does not tell: whether the model is of any use for new rows."""

from __future__ import annotations

import math
from collections.abc import Iterator

from spnmkl.measures import SCORINGS, are_uneven
from spnmkl.training.run import Run
from spnmkl.training.scores import share_right
from spnmkl.wording import quoted

FAR_ABOVE = 0.15  # of the training accuracy over that of the test, to speak of it
BALANCE = " If the rarer class matters as much, let classes count alike (class weights: balanced)"


def doubts(run: Run) -> list[str]:
    """Sentences for beside the scores; none where every weight is zero, since the ending says so already."""
    if not any(run.solution.beta.values()):
        return []
    return [*_beside_guessing(run), *_by_heart(run)]


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
    test, train = run.test_scores, run.train_scores
    if not test.scored or not train.accuracy - test.accuracy > FAR_ABOVE or train.accuracy <= test.interval[1]:
        return
    yield (
        f"It answers training rows far better ({share_right(train.accuracy)}) than test rows "
        f"({share_right(test.accuracy)}): it may have learned them by heart, and what counts is how it answers rows "
        f"not trained on. {_better_C(run, 'A smaller C')}"
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
        return "C was chosen by cross-validation already; more rows, or fewer and wider kernels, may help."
    return f"Cross-validation found C = {found.best_C:.3g} better than this {C:.3g}."


def _could_be_balanced(run: Run) -> bool:
    """Whether the rows of a class outvote those of a rarer one."""
    return run.settings.class_weight is None and are_uneven(run.train_scores.rows)
