"""What a table gets without a drawing and without settings."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from spnmkl import rivals
from spnmkl.circuit.source import MatrixSource
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.errors import Stopped
from spnmkl.given import default_structure
from spnmkl.kernels import fit_kernels
from spnmkl.rivals import ALONE, CERTIFIED, EVIDENCE, Choice, Rival, best_of, choose_rival, lead, smoothed
from spnmkl.solvers import deadline
from spnmkl.structure.defaults import Part, default_drawing
from spnmkl.training import default
from spnmkl.training.default import chosen_in_time, prepared_by_default, suited_drawing
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights

NONE = SplitSettings(0.0, 0)
AUTO = Choices("auto")


@pytest.fixture(autouse=True)
def folds_drawn_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To save time; the test of folds that are drawn again says how often."""
    monkeypatch.setattr(rivals, "MOST_REPEATS", 1)


def table(n: int = 80) -> Dataset:
    """Measurements, counts and a category, of which the measurements make the labels."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    counts = rng.poisson(np.exp(rng.normal(2.0, 1.5, size=(n, 4))))
    frame = pd.DataFrame(
        np.hstack([X, counts]), columns=[*(f"blood__{c}" for c in "abc"), *(f"rna__{c}" for c in "defg")]
    )
    frame = frame.astype(dict.fromkeys(frame.columns[3:], int)).assign(sex=rng.choice(["f", "m"], n))
    return Dataset(
        "t", frame.assign(y=np.where(X[:, 0] * X[:, 1] + X[:, 2] > 0, "case", "control")), "y"
    ).views_by_prefix()


def test_the_drawing_has_every_column_with_what_suits_it():
    spn = suited_drawing(table(), AUTO, NONE)
    by_label = {spn.label(leaf): spn.spec(leaf).kernel for leaf in spn.kernels}
    assert (
        by_label["rna cosine"] == "cosine" and by_label["others"] == "hamming" and by_label["blood linear"] == "linear"
    )
    assert {c for leaf in spn.kernels for c in spn.spec(leaf).features or ()} == set(table().features)


def test_what_is_not_given_is_chosen_and_said():
    dataset = table()
    found = prepared_by_default(dataset, AUTO, NONE, Settings(), n_threads=1)
    assert found.choice is not None and found.settings.C == found.choice.best.C
    assert found.settings.weights == found.choice.best.weights
    said = " ".join(found.sentences)
    assert "Preparation: " in said and "plain standardising" in said and "Weights: " in said and "C = " in said
    trained = learn_weights(found.prepared, found.settings, n_threads=1)
    assert trained.model is not None and trained.solution.status in ("optimal", "evidence")
    given = prepared_by_default(dataset, AUTO, NONE, Settings(C=2.0), weights="evidence", choose_C=False, n_threads=1)
    assert (given.settings.C, given.settings.weights, given.choice) == (2.0, "evidence", None)


def test_a_view_that_decides_is_found_by_the_choice():
    dataset = table(120)
    found = prepared_by_default(dataset, Choices(), NONE, Settings(), choose_steps=False, n_threads=1)
    assert found.choice is not None and found.choice.best.score > 0.75


def test_neighbours_count_half_along_an_axis():
    scores = np.array([[0.6, 0.7], [0.9, 0.9], [0.5, 0.5]])
    np.testing.assert_allclose(smoothed(scores), [[0.675, 0.75], [0.725, 0.75], [0.6, 0.6]])
    np.testing.assert_allclose(smoothed(scores.T, 1), smoothed(scores).T)


def rival(name: str, *folds: float) -> Rival:
    spn, weights = default_drawing([Part("")]), "evidence" if name == EVIDENCE else "certified"
    return Rival(name, spn, weights, 1.0, float(np.mean(folds)), 0.1, folds)


def test_rivals_are_compared_on_the_folds_that_both_have_and_of_equals_the_first_wins():
    often, once = rival(CERTIFIED, 0.5, 0.6, 0.9, 0.9), rival(ALONE, 0.6, 0.7)
    assert best_of([often, once], False, 2) is once, "its folds were the hard ones"
    same = rival(ALONE, *np.array(often.fold_scores) + 1e-15)
    assert best_of([often, same], False, 2) is often


def test_what_would_be_lost_must_be_led_by_more_than_the_error():
    """Weights without a certificate, and one kernel that tells nothing of views; of four folds drawn as two."""
    first = rival(CERTIFIED, 0.5, 0.6, 0.5, 0.6)
    little, much = (
        [x + d for x, d in zip(first.fold_scores, ahead, strict=True)] for ahead in ((-0.1, 0.2) * 2, (0.1, 0.2) * 2)
    )
    for name in (EVIDENCE, ALONE):
        assert best_of([first, rival(name, *little)], True, 2) is first
        assert best_of([first, found := rival(name, *much)], True, 2) is found
        assert lead(found, first, 2) == pytest.approx((0.15, np.std((0.1, 0.2) * 2, ddof=1) / 2**0.5))
    assert best_of([first, found := rival(ALONE, *little)], False, 2) is found, "it tells as much as the others"


def test_folds_of_few_rows_are_drawn_again_while_there_is_time(monkeypatch):
    """The same grid of C every time, on other folds; a second draw that time cuts off is left out."""
    weights = {"weights": "certified", "choose_C": False}
    prepared = prepared_by_default(table(), Choices(), NONE, Settings(), **weights).prepared
    monkeypatch.setattr(rivals, "MOST_REPEATS", 2)
    seen: list[tuple[Any, Any]] = []
    cross_validate_C = rivals.cross_validate_C

    def noted(spn: Any, source: Any, y: Any, C: Any, **options: Any) -> Any:
        seen.append((C, options["random_state"]))
        return cross_validate_C(spn, source, y, C, **options)

    monkeypatch.setattr(rivals, "cross_validate_C", noted)
    given: dict[str, Any] = {"folds": 2, "weights": "certified", "n_threads": 1}
    found = choose_rival(prepared.mapped, prepared.source, prepared.y_train, **given)
    assert found is not None and found.repeats == 2 and "drawn 2 times" in found.sentences[0]
    (first, seed), (again, other) = seen
    assert first is None and len(again) > 5 and seed != other
    given["stop"] = lambda: len(seen) > 3
    enough = choose_rival(prepared.mapped, prepared.source, prepared.y_train, **given)
    assert enough is not None and enough.repeats == 1 and "drawn" not in enough.sentences[0]


def test_what_takes_longest_is_tried_last_so_that_a_stop_leaves_the_others():
    X = np.random.default_rng(0).normal(size=(40, 2))
    spn, y, told = default_structure(X), X[:, 0] * X[:, 1] > 0, list[str]()
    source = MatrixSource(fit_kernels(spn, X)[0])
    given: dict[str, Any] = {"folds": 2, "n_threads": 1, "tick": told.append}
    whole = choose_rival(spn, source, y, **given)
    begun = [(k, words) for k, words in enumerate(told) if "training" not in words]
    names = [f"{CERTIFIED} (1 of 3)", f"{ALONE} (2 of 3)", f"{EVIDENCE} (3 of 3)"]
    assert [words for _, words in begun] == [f"choosing by cross-validation: {name}" for name in names]
    for (first, words), (after, _) in zip(begun, [*begun[1:], (len(told), "")], strict=True):
        n = after - first - 1
        assert told[first + 1 : after] == [f"{words}, training {k} of {n}" for k in range(1, n + 1)] and n > 10
    assert whole is not None and [rival.name for rival in whole.rivals] == [CERTIFIED, ALONE, EVIDENCE]
    all_told = len(told)
    left = choose_rival(spn, source, y, **given, stop=lambda: len(told) > all_told + begun[2][0])
    assert left is not None and left.rivals == whole.rivals[:2]
    assert (whole.unfinished, left.unfinished) == ((), (EVIDENCE,))

    def stopping(words: str) -> None:
        if EVIDENCE in words:
            raise Stopped

    again = choose_rival(spn, source, y, **given | {"tick": stopping})
    assert again is not None and again.rivals == left.rivals


@pytest.mark.parametrize("stopped", [True, False])
def test_stop_leaves_nothing_half_chosen(stopped):
    found = prepared_by_default(
        table(), Choices(), NONE, Settings(), choose_steps=False, n_threads=1, stop=lambda: stopped
    )
    assert (found.choice is None) == stopped
    assert found.settings.C == 1.0 or not stopped


def test_rivals_on_groups_hold_whole_groups_out():
    dataset = table()
    prepared = prepared_by_default(dataset, Choices(), NONE, Settings(), choose_C=False).prepared
    groups = np.arange(prepared.n) // 4
    found = choose_rival(
        prepared.mapped, prepared.source, prepared.y_train, groups=groups, folds=3, weights="evidence", n_threads=1
    )
    assert found is not None and [rival.name for rival in found.rivals] == ["evidence weights"] and found.folds == 3


def test_a_class_of_one_row_or_one_group_gets_evidence_weights():
    dataset = table()
    dataset.frame.loc[0, "y"] = "rare"
    found = prepared_by_default(dataset, Choices(), NONE, Settings(), n_threads=1)
    assert (found.choice, found.settings.weights, found.settings.C) == (None, "evidence", 1.0)
    assert "class 'rare' has 1 training row" in found.sentences[0] and "evidence weights" in found.sentences[1]
    assert learn_weights(found.prepared, found.settings, n_threads=1).solution.status == "evidence"


def test_both_ways_to_prepare_are_tried_within_half_of_the_time(monkeypatch):
    """The clock stands still but for what a choice takes."""
    now, given = [0.0], []
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])

    def slow(*args: Any, max_time: float, **options: Any) -> Choice:
        given.append(max_time)
        now[0] += 3.0
        rival = Rival("certified weights", args[0], "certified", 1.0, 0.5, 0.1)
        return Choice(rival, (rival,), "accuracy", 5, 80, 0.5)

    monkeypatch.setattr(default, "choose_rival", slow)
    prepared_by_default(table(), AUTO, NONE, Settings(), max_time=10.0)
    prepared_by_default(table(), AUTO, NONE, Settings(), max_time=4.0)
    assert given == [5.0, 2.0, 2.0]


def test_one_kernel_alone_leaves_time_for_evidence_weights(monkeypatch):
    """A clock that only its machines move: they take more than half of the time."""
    now = [0.0]
    monkeypatch.setattr(deadline.time, "monotonic", lambda: now[0])
    machines = rivals.validated

    def slow(*args: Any, **options: Any) -> Any:
        now[0] += 6.0
        return machines(*args, **options)

    monkeypatch.setattr(rivals, "validated", slow)
    how: dict[str, Any] = {"max_time": 20.0, "stop": lambda: False, "choose_steps": False, "n_threads": 1}
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
    found = chosen_in_time(Dataset("t", X.assign(y=X["a"] * X["b"] > 0), "y"), Choices(), NONE, Settings(), **how)
    assert found.choice is not None and found.choice.unfinished == (ALONE,)
    assert [rival.name for rival in found.choice.rivals] == [CERTIFIED, EVIDENCE]
    said = "10 s were too short for all of the choice: tried to the end were certified weights, evidence weights."
    assert found.sentences[-1] == said


def test_columns_of_no_view_have_a_name_of_their_own():
    frame = table().frame.rename(columns=lambda c: c.replace("blood", "others"))
    spn = suited_drawing(Dataset("t", frame, "y").views_by_prefix(), AUTO, NONE)
    labels = [spn.label(leaf) for leaf in spn.kernels]
    assert len(set(labels)) == len(labels) and "all others" in labels


def test_columns_that_are_left_out_are_not_drawn():
    dataset = table()
    dataset.frame.loc[3, ["blood__a", "blood__b", "blood__c", "rna__d"]] = np.nan
    spn = suited_drawing(dataset, Choices(missing="drop columns"), NONE)
    assert {c for leaf in spn.kernels for c in spn.spec(leaf).features or ()} == {*(f"rna__{c}" for c in "efg"), "sex"}


def test_rivals_are_told_by_the_numbers_that_decided():
    """Scores of their own, at one C and on other folds, may say the contrary."""
    best = replace(rival(CERTIFIED, 0.5, 0.6), score=0.56)
    less, more = (
        replace(rival(name, *folds), score=0.99) for name, folds in ((ALONE, (0.4, 0.54)), (EVIDENCE, (0.5, 0.64)))
    )
    said = Choice(best, (best, less, more), "accuracy", 2, 80, 0.55, telling=True).sentences
    assert said[0] == (
        "Weights: certified weights, accuracy 56.0 % on 2 folds of 80 training rows; on the folds that both have, "
        "averaged over neighbouring values of C, one kernel alone (rbf 1/64) had 8.0 ± 2.0 points less; "
        "evidence weights had 2.0 ± 2.0 points more, which is too little for weights without a certificate."
    )
    assert said[-1] == "Nothing here is shown to beat guessing, which reaches 55.0 %."
    one, other = rival(ALONE, 0.9, 0.4), rival(EVIDENCE, 0.7, 0.81)
    assert best_of([best, one, other], True, 2) is best
    said = Choice(best, (best, one, other), "accuracy", 2, 80, 0.5, telling=True).sentences[0]
    assert "had 10.0 ± 30.0 points more, which is too little for one kernel, which tells nothing of views; " in said
    assert said.endswith(
        "evidence weights had 20.5 ± 0.5 points more, but too little more than one kernel alone (rbf 1/64) for weights "
        "without a certificate."
    )
    curve = Choice(best, (best, less), "roc_auc", 2, 80, 0.5, telling=True).sentences[0]
    assert curve.endswith("one kernel alone (rbf 1/64) had 0.080 ± 0.020 less.")


def test_rivals_that_are_level_or_of_folds_that_agree_are_told_without_an_error_of_zero() -> None:
    first = rival(CERTIFIED, 0.8, 0.7, 0.8)
    for folds, told in (
        ((0.79, 0.69, 0.79), "had 1.0 points less on every fold"),
        ((0.8, 0.7, 0.8), "had the same, which is too little for weights without a certificate"),
        ((0.8, 0.8, 0.7), "had the same ± 5.8 points, which is too little for weights without a certificate"),
        ((0.9, np.nan, np.nan), "had 10.0 points more, which is too little for weights without a certificate"),
        ((np.nan, np.nan, np.nan), "there is none with evidence weights"),
    ):
        said = Choice(first, (first, rival(EVIDENCE, *folds)), "accuracy", 3, 80, 0.5).sentences[0]
        assert said.endswith(f"{told}.") and "nan" not in said and "± 0.0" not in said
    apart = Choice(first, (first, rival(EVIDENCE, 0.7, 0.6, 0.7)), "roc_auc", 3, 80, 0.5).sentences[0]
    assert apart.endswith("evidence weights had 0.100 less on every fold.")


def test_folds_that_agree_do_not_show_that_guessing_is_beaten(monkeypatch: pytest.MonkeyPatch) -> None:
    """52 of 100 rows right, in every fold as many, where half of them are of each class."""
    prepared = prepared_by_default(
        table(100), Choices(), NONE, Settings(), weights="certified", choose_C=False
    ).prepared
    y = np.repeat([0, 1], 50)
    even = rivals.cross_validate_C(prepared.mapped, prepared.source, y, [1.0], folds=5)
    monkeypatch.setattr(rivals, "cross_validate_C", lambda *_, **options: replace(even, scores=np.full((1, 5), 0.52)))
    found = choose_rival(prepared.mapped, prepared.source, y, weights="certified", C=1.0, n_threads=1)
    assert found is not None and found.best.error == pytest.approx(0.049, abs=2e-3), "√(0.52 · 0.48 / 100), nearly"
    assert found.sentences[-1] == "Nothing here is shown to beat guessing, which reaches 50.0 %."


@pytest.mark.parametrize(
    ("plain", "taken"),
    [
        ((EVIDENCE, 0.82, 0.62, 0.71), "as the columns suggest"),
        ((EVIDENCE, 0.85, 0.64, 0.75), "plain standardising"),
        ((CERTIFIED, 0.82, 0.62, 0.71), "plain standardising"),
        ((CERTIFIED, 0.79, 0.6, 0.7), "as the columns suggest"),
    ],
)
def test_preparations_are_chosen_by_the_rule_of_weights(
    plain: tuple[Any, ...], taken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What plain standardising has more must be enough for evidence weights, where the others are certified."""
    found = iter([rival(CERTIFIED, 0.8, 0.6, 0.72), rival(*plain)])
    monkeypatch.setattr(default, "choose_rival", lambda *_, **options: _alone(next(found)))
    said = prepared_by_default(table(), AUTO, NONE, Settings(), n_threads=1).sentences
    (told,) = (sentence for sentence in said if "on the folds that both have" in sentence)
    assert told.startswith(f"Preparation: {taken}; on the folds that both have, with ")
    assert ("which is too little for weights without a certificate" in told) == (
        plain[1] == 0.82 and plain[0] == EVIDENCE
    )


def _alone(one: Rival) -> Choice:
    return Choice(one, (one,), "accuracy", 3, 80, 0.5)
