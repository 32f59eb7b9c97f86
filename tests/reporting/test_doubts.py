"""What is said beside scores fits all of them: an uneven class is no reason to call a good model a guess."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from small_runs import trained

from spnmkl.reporting.doubts import doubts
from spnmkl.reporting.endings import headlines, score_text
from spnmkl.training.run import Run
from spnmkl.training.scores import Scores, score
from spnmkl.training.settings import Settings

CLASSES = np.array(["bright", "dull"])


def uneven(shift: float, seed: int = 0) -> Scores:
    """32 of 155 rows are dull; with no shift nothing tells them apart, and most answers are the frequent one."""
    rng = np.random.default_rng(seed)
    dull = np.arange(155) < 32
    return score(CLASSES[dull.astype(int)], rng.normal(np.where(dull, shift, 0.0)) - 1.5, CLASSES)


def shown(scores: Scores, **settings: object) -> Run:
    run = trained().run
    return replace(run, test_scores=scores, train_scores=scores, settings=Settings(**settings))


def test_a_model_that_ranks_well_is_not_called_a_guess() -> None:
    scores = uneven(1.6)
    auc = scores.measured("roc_auc")
    assert auc.interval[0] > 0.7 and not scores.measured("accuracy").beats_guessing, "as in the case that was reported"
    (said,) = doubts(shown(scores))
    assert "no better than guessing" not in said and f"area under the ROC curve is {auc.text}" in said
    assert "class weights: balanced" in said and "choose C by balanced accuracy" in said
    (said,) = doubts(shown(scores, class_weight="balanced", scoring="balanced_accuracy"))
    assert "class weights" not in said and "choose C by" not in said, "which is done already"


def test_one_that_tells_nothing_is() -> None:
    (said,) = doubts(shown(uneven(0.0)))
    assert "may be no better than guessing" in said or "is worse than guessing" in said
    assert "always answering 'bright'" in said and "on the test rows" in said


def test_uneven_classes_are_to_be_balanced_before_anything_else() -> None:
    def said(scores: Scores, **settings: object) -> str:
        run = shown(scores, scoring="balanced_accuracy", **settings)
        validated = SimpleNamespace(best_C=run.settings.C)
        return " ".join(doubts(replace(run, cross_validation=validated)))  # type: ignore[arg-type]

    advice, other = "--class-weight balanced", "more rows, or fewer and wider kernels"
    assert advice in said(uneven(0.0)) and other not in said(uneven(0.0))
    assert advice not in said(uneven(0.0), class_weight="balanced")
    assert other in said(uneven(0.0), class_weight="balanced")
    even = score(np.repeat(CLASSES, 50), np.tile([1.0, -1.0], 50), CLASSES)
    assert other in said(even) and advice not in said(even)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "roc_auc"])
def test_the_headline_is_the_score_that_counts(scoring: str) -> None:
    run = shown(uneven(1.6), scoring=scoring)
    found, first = run.test_scores.measured(scoring), headlines(run)[0]
    assert first.number == found.text and "one split" in first.remark and found.guess_text in first.remark
    assert (scoring == "accuracy") == first.what.startswith("right of")
    assert found.text in score_text(run) and "on test" in score_text(run)
