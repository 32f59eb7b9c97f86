"""What is said beside scores fits all of them: an uneven class is no reason to call a good model a guess."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from small_runs import small_dataset, trained

from spnmkl import SPN, Kernel, Product, Sum, templates
from spnmkl.data import Choices, SplitSettings
from spnmkl.kernels import FittedKernel, sampling
from spnmkl.reporting.doubts import doubts, lacks_products
from spnmkl.reporting.endings import headlines, score_text
from spnmkl.training.prepared import prepare
from spnmkl.training.run import Run
from spnmkl.training.scores import Measured, Scores, score
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

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


@cache
def over(kernel: Kernel) -> Run:
    """Trained over one kernel; the rows that were not trained on are answered much worse than the others."""
    prepared = prepare(templates.flat([kernel]), small_dataset(), Choices(), SplitSettings(test_share=0.3, seed=1))
    run = train(prepared, Settings(C=3.0), n_threads=1)
    validated = SimpleNamespace(best_C=3.0)
    return replace(run, train_scores=right(1.0), test_scores=right(0.7), cross_validation=validated)  # type: ignore[arg-type]


def right(share: float) -> Scores:
    """Of 100 rows, half of each class."""
    y = np.tile(CLASSES, 50)
    answered = np.where(np.arange(100) < 100 * share, y == CLASSES[1], y != CLASSES[1])
    return score(y, np.where(answered, 1.0, -1.0), CLASSES)


def test_only_kernels_that_look_closely_learn_by_heart_and_can_be_wider() -> None:
    (said,) = doubts(over(Kernel("rbf")))
    assert "far better (100.0 %) than test rows (70.0 %): it may have learned them by heart" in said
    assert "fewer and wider kernels, may help" in said
    for nearly_linear in (Kernel("linear"), Kernel("rbf", gamma=1e-3), Kernel("cosine")):
        (said,) = doubts(over(nearly_linear))
        assert "far better (100.0 %) than test rows (70.0 %): what counts" in said
        assert "by heart" not in said and "wider" not in said and "more rows, or fewer columns, may help" in said
    (said,) = doubts(replace(over(Kernel("rbf")), train_scores=right(0.9)))
    assert "far better" in said and "by heart" not in said, "a tenth of them are answered wrongly"


def test_it_is_looked_at_once_on_some_rows_before_their_mean_is_taken_out(monkeypatch: pytest.MonkeyPatch) -> None:
    run, sizes, own = replace(over(Kernel("rbf"))), list[tuple[int, int]](), FittedKernel.cross

    def counted(self: FittedKernel, X: np.ndarray) -> np.ndarray:
        sizes.append((len(X), self.n_reference))
        return own(self, X)

    monkeypatch.setattr(FittedKernel, "cross", counted)
    monkeypatch.setattr(sampling, "SAMPLE_ROWS", 20)
    assert doubts(run) == doubts(run) == doubts(run) and sizes == [(20, 20)]
    (said,) = doubts(over(Kernel("rbf", gamma=1e-3, normalize="centred")))
    assert "by heart" not in said and "wider" not in said, "centred, a kernel is near 0 whatever its width"


def test_given_matrices_are_not_advised_to_have_fewer_columns() -> None:
    run = over(Kernel("linear"))
    (said,) = doubts(replace(run, model=None))
    assert said.endswith("C was chosen by cross-validation already; more rows may help.")


def test_folds_say_whether_one_split_was_bad_luck() -> None:
    run = over(Kernel("rbf"))
    for value, interval, told in ((0.97, (0.9, 1.0), 0), (0.6, (0.5, 0.7), 1)):
        measured = Measured("accuracy", value, interval, 0.4)
        folds = SimpleNamespace(enough=True, measured=lambda name, found=measured: found)
        said = doubts(replace(run, fold_scores=folds))  # type: ignore[arg-type]
        assert sum("than rows held out over folds" in line for line in said) == len(said) == told


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "roc_auc"])
def test_the_headline_is_the_score_that_counts(scoring: str) -> None:
    run = shown(uneven(1.6), scoring=scoring)
    found, first = run.test_scores.measured(scoring), headlines(run)[0]
    assert first.number == found.text and "one split" in first.remark and found.guess_text in first.remark
    assert (scoring == "accuracy") == first.what.startswith("right of")
    assert found.text in score_text(run) and "on test" in score_text(run)


def test_a_sum_that_is_not_far_above_guessing_leads_to_the_search_for_products() -> None:
    told = "Suggest on Design searches for such products."
    sum_of_two = templates.flat([Kernel("rbf"), Kernel("linear")])
    run = over(Kernel("rbf"))
    assert any(told in said for said in doubts(replace(run, test_scores=right(0.55))))
    assert not any(told in said for said in doubts(replace(run, test_scores=right(0.7)))), "far enough"
    assert lacks_products(sum_of_two, ["a", "b"], 0.5, 0.5, "It")
    assert not lacks_products(sum_of_two, ["a"], 0.5, 0.5, "It"), "of one column there is none"
    multiplied = SPN(Sum(Product(Kernel("rbf")), Product(Kernel("rbf"), Kernel("linear"))))
    assert not lacks_products(multiplied, ["a", "b"], 0.5, 0.5, "It"), "it has one"
