"""Scores over folds: the same as Compare's and as scikit-learn's, of rows that nothing has seen."""

import math
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from small_runs import small_dataset, small_structure

from spnmkl import DataError, Kernel, ParameterError, SPNMKLClassifier, nested_scores, templates
from spnmkl.calibration import probabilities, scaling
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.study import nested
from spnmkl.study.contest import Contest, Entry, Plan, by_label, compete, inner_folds, outer_folds, training_rows
from spnmkl.study.entrants import OWN, drawings, entrants
from spnmkl.study.nested import resample
from spnmkl.training.choosing import Choosing
from spnmkl.training.default import Default, prepared_by_default
from spnmkl.training.fold_scores import FoldScores
from spnmkl.training.prepared import labelled_parts, prepare
from spnmkl.training.settings import Settings
from spnmkl.training.train import learn_weights

SPLIT, QUICK = SplitSettings(0.25, 3), Plan(folds=3, repeats=2, inner=2, points=2)
FLAT = templates.flat({"colour": ["colour_0", "colour_1", "colour_2"], "shape": ["shape_0", "shape_1", "shape_2"]})


def resampled(dataset: Dataset, chosen: bool = True, **given: object) -> FoldScores:
    settings = given.pop("settings", Settings())
    split = given.pop("split", SPLIT)
    for found in resample(FLAT, dataset, Choices(), split, settings, chosen=chosen, plan=QUICK, **given):  # noqa: B007
        pass
    return found


@pytest.fixture(scope="module")
def two() -> FoldScores:
    return resampled(small_dataset())


@pytest.fixture(scope="module")
def three() -> FoldScores:
    return resampled(small_dataset(3, n=120))


def test_they_are_the_scores_of_a_comparison(two: FoldScores) -> None:
    who = drawings({OWN: FLAT})
    entries = [e for e in compete(who, small_dataset(), Choices(), SPLIT, QUICK) if isinstance(e, Entry)]
    assert [e.accuracy for e in entries] == two.values("accuracy").tolist()
    assert [e.balanced_accuracy for e in entries] == two.values("balanced_accuracy").tolist()
    assert [e.roc_auc for e in entries] == pytest.approx(two.values("roc_auc").tolist())
    assert [e.C for e in entries] == two.C.ravel().tolist()


def test_C_is_chosen_by_the_training_part_alone(two: FoldScores) -> None:
    dataset = small_dataset()
    repeat, fold, rows = list(outer_folds(FLAT, dataset, Choices(), SPLIT, QUICK))[4]
    who = drawings({OWN: FLAT})
    prepared = prepare(who.pool, dataset, Choices(), SPLIT, rows=replace(rows, test=rows.test[:0]))
    folds = inner_folds(prepared.y_train, None, 2, SPLIT.seed)
    alone = who.methods[OWN].fit(
        by_label(prepared.spn, prepared.kernels),
        prepared.y_train,
        points=2,
        folds=folds,
        random_state=SPLIT.seed,
        n_threads=1,
    )
    assert two.C[repeat, fold] == alone.C


def test_all_that_was_chosen_is_chosen_anew_by_the_training_part_alone() -> None:
    """Each fold as somebody has it who draws and sets nothing, with the labels of the rows held out turned around."""
    dataset, plan = small_dataset(n=60), replace(QUICK, folds=2, repeats=1)
    asked = Choosing(FLAT, Choices("auto"), Settings(), max_time=600.0)
    given = FLAT, dataset, Choices(), SPLIT, Settings()
    *_, found = resample(*given, chosen=True, plan=plan, afresh=asked)
    _, _, rows = list(outer_folds(FLAT, dataset, Choices(), SPLIT, plan))[1]
    labels = dataset.frame[dataset.label]
    one, two = sorted(set(labels.dropna()))
    turned = labels.where(~labels.index.isin(labels.index[rows.test]), labels.map({one: two, two: one}))
    unseen = replace(dataset, frame=dataset.frame.assign(**{str(dataset.label): turned}))
    best = prepared_by_default(unseen, Choices("auto"), SPLIT, Settings(), rows=rows, n_threads=1)
    scores = learn_weights(best.prepared, best.settings, n_threads=1).test_scores(best.prepared)
    held = np.searchsorted(found.rows, rows.test)
    np.testing.assert_allclose(found.decision[0, held], scores.decision, rtol=1e-6, atol=1e-9)
    assert found.C[0, 1] == best.settings.C
    assert found.how.endswith("C, weights and preparation chosen anew in each training part by accuracy")
    first = next(iter(resample(*given, chosen=True, plan=plan, afresh=True)))
    assert "weights and preparation once before on all of them, so that the score is a little too good" in first.how


def test_a_choice_that_other_work_cut_short_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A question that waits for other work to end takes the time that was given to choose in."""
    dataset, plan, clock, made = small_dataset(n=60), replace(QUICK, folds=2, repeats=1), [0.0], []
    monkeypatch.setattr(nested, "time", SimpleNamespace(monotonic=lambda: clock[0], perf_counter=lambda: clock[0]))

    def chosen(asked: Choosing, dataset: Dataset, split: SplitSettings, rows: Split, **given: Any) -> Default:
        made.append(rows)
        clock[0] += 5.0
        if given["stop"]():
            raise AssertionError("nobody stops it")
        clock[0] += 5.0
        return Default(prepare(FLAT, dataset, Choices(), split, rows=rows), Settings(), None, ())

    def waiting() -> bool:
        clock[0] += 100.0 if len(made) == 1 else 0.0
        return False

    monkeypatch.setattr(nested, "chosen_again", chosen)
    asked = Choosing(FLAT, Choices("auto"), Settings(), max_time=40.0)
    given = FLAT, dataset, Choices(), SPLIT, Settings()
    assert len(list(resample(*given, chosen=True, plan=plan, afresh=asked, stop=waiting))) == 2
    assert [made[0] is rows for rows in made] == [True, True, False]


def test_test_rows_take_no_part(two: FoldScores) -> None:
    dataset = small_dataset()
    parts, _ = labelled_parts(dataset, SPLIT)
    assert two.rows.tolist() == parts.train.tolist() and two.held_back
    changed = dataset.frame.copy()
    changed.loc[parts.test, "colour_0"] = 99.0
    again = resampled(replace(dataset, frame=changed))
    np.testing.assert_array_equal(again.decision, two.decision)


def test_without_test_rows_all_that_have_a_label_take_part() -> None:
    dataset = small_dataset()
    found = resampled(dataset, split=SplitSettings(0.0, 3), chosen=False)
    assert found.rows.tolist() == np.flatnonzero(dataset.frame["class"].notna()).tolist()
    assert "all rows" in found.how and "C = 1 as set by hand" in found.how


def test_a_given_C_is_what_scikit_learn_cross_validates() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=90) > 0.4, "yes", "no")
    spn = templates.flat([Kernel("rbf", gamma=0.3), Kernel("linear", features=[0])])
    found = nested_scores(spn, X, y, C=2.0, folds=4, rounds=2, random_state=5, tol=1e-6)
    for r in range(2):
        folds = StratifiedKFold(4, shuffle=True, random_state=5 + r)
        model = SPNMKLClassifier(spn, C=2.0, tol=1e-3)
        expected = cross_val_predict(model, X, y, cv=folds, method="decision_function")
        np.testing.assert_allclose(found.decision[r], expected, atol=0.05)
    values = [roc_auc_score(s.y == "yes", s.decision) for s in found.scores]
    assert found.measured("roc_auc").value == pytest.approx(np.mean(values))
    assert found.complete and found.n_rounds == 2 and (found.C == 2.0).all()


@pytest.mark.parametrize("name", ["two", "three"])
def test_measures_are_means_over_folds(name: str, request: pytest.FixtureRequest) -> None:
    found: FoldScores = request.getfixturevalue(name)
    expected = [balanced_accuracy_score(s.y, s.predicted) for s in found.scores]
    measured = found.measured("balanced_accuracy")
    assert measured.value == pytest.approx(np.mean(expected))
    assert measured.interval[0] < measured.value < measured.interval[1]
    assert measured.guess == pytest.approx(1 / len(found.classes))
    losses = []
    for r in range(2):
        parts = [found.held_out((r, k)) for k in range(3)]
        for k, rows in enumerate(parts):
            others = np.concatenate([part for j, part in enumerate(parts) if j != k])
            F = np.atleast_2d(found.decision[r].T)
            P = probabilities(F[:, rows], scaling(F[:, others], found.y[others], found.classes))
            losses.append(log_loss(found.y[rows], P, labels=found.classes))
    loss = next(m for m in found.measures() if m.title == "log loss")
    assert loss.value == pytest.approx(np.mean(losses))
    shares = np.unique(found.y, return_counts=True)[1] / len(found.y)
    assert loss.guess == pytest.approx(-(shares * np.log(shares)).sum())


def test_every_row_counts_once_in_the_scaling_however_often_it_was_held_out(two: FoldScores) -> None:
    once = replace(two, decision=two.decision[:1], C=two.C[:1], fold=two.fold[:1])
    twice = replace(two, decision=two.decision[[0, 0]], C=two.C[[0, 0]], fold=two.fold[[0, 0]])
    np.testing.assert_allclose(twice.calibration(), once.calibration(), rtol=1e-4)


def test_rounds_end_with_the_time_and_go_on_later(two: FoldScores) -> None:
    first = resampled(small_dataset(), seconds=0.0)
    assert first.n_rounds == 1 and not first.complete, "the first round is done to its end"
    assert first.how.startswith("3 folds; training rows only; C chosen anew in each training part by accuracy")
    rest = resampled(small_dataset(), known=first)
    np.testing.assert_array_equal(rest.decision, two.decision)
    assert rest.complete and rest.how.startswith("3 folds, 2 times;")


def test_what_was_stopped_keeps_whole_folds() -> None:
    asked = []

    def stop() -> bool:
        asked.append(1)
        return len(asked) > 40

    given = small_dataset(), Choices(), SPLIT, Settings()
    found = list(resample(FLAT, *given, chosen=True, plan=QUICK, stop=stop))
    assert len(found) < 6
    for n, part in enumerate(found, 1):
        assert part.n_done == n and np.isfinite(part.decision).sum() == sum(len(s.y) for s in part.scores)
    one = next(resample(FLAT, *given, chosen=True, plan=QUICK))
    assert not one.enough and one.calibration() is None
    assert all(map(math.isnan, one.measured().interval))
    assert not [m for m in one.measures() if m.title == "log loss"]


def test_settings_count_and_finer_tolerances_do_not(two: FoldScores) -> None:
    finer = resampled(small_dataset(), settings=Settings(tol=1e-5))
    np.testing.assert_array_equal(finer.decision, two.decision)
    weighed = resampled(small_dataset(), settings=Settings(class_weight={"dull": 5.0, "bright": 1.0}))
    assert not np.array_equal(weighed.decision, two.decision)
    auc = resampled(small_dataset(), settings=Settings(scoring="roc_auc"))
    assert auc.measured().title == "area under the ROC curve" and "by area under" in auc.how


def test_rows_with_missing_values_are_left_out_and_groups_held_out_whole() -> None:
    dataset = small_dataset()
    frame = dataset.frame.assign(patient=np.arange(90) // 3)
    frame.loc[[4, 5, 31], "shape_1"] = np.nan
    dataset = replace(dataset, frame=frame, group="patient")
    found = list(
        resample(small_structure(), dataset, Choices(missing="drop rows"), SPLIT, Settings(), chosen=False, plan=QUICK)
    )[-1]
    whole = training_rows(small_structure(), dataset, Choices(), SPLIT)[0]
    assert set(whole) - set(found.rows) == set(whole) & {4, 5, 31} != set()
    assert np.isfinite(found.decision).all() and found.described()["rows"] == len(found.rows)
    for fold in found.fold:
        for group in np.unique(found.rows // 3):
            assert len(np.unique(fold[found.rows // 3 == group])) == 1


def test_a_drawing_over_matrices_leaves_out_no_rows_for_their_columns() -> None:
    """As its training does; a comparison with a drawing over columns leaves them out for both."""
    dataset, choices, matrix = small_dataset(), Choices(missing="drop rows"), Kernel("precomputed", label="K")
    frame = dataset.frame.copy()
    frame.loc[:9, "shape_1"] = np.nan
    K = np.exp(-((frame["colour_0"].to_numpy()[:, None] - frame["colour_0"].to_numpy()) ** 2))
    dataset, given = replace(dataset, frame=frame, matrices={"K": K}), templates.flat([matrix])
    *_, found = resample(given, dataset, choices, SPLIT, Settings(), chosen=False, plan=QUICK)
    np.testing.assert_array_equal(np.sort(found.rows), np.sort(prepare(given, dataset, choices, SPLIT).train))
    assert np.isfinite(found.decision).all() and set(found.rows) & {*range(10)}
    both = entrants(given, dataset, choices, others={"columns": FLAT})
    for spn in (both.pool, FLAT):
        rows = training_rows(spn, dataset, choices, SPLIT)[0]
        assert len(rows) == Contest.of(both, QUICK, dataset, choices, SPLIT).n_rows and not set(rows) & {*range(10)}


def test_the_library_takes_frames_groups_and_a_wish_to_stop() -> None:
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["label", "b"])
    y, groups = (X["b"] > 0).to_numpy(), np.repeat(np.arange(20), 2)
    spn = templates.flat({"first": ["label"], "second": ["b"]})
    told: list[FoldScores] = []

    def twice(found: FoldScores) -> bool:
        told.append(found)
        return len(told) < 2

    found = nested_scores(spn, X, y, folds=3, groups=groups, callback=twice)
    assert found is told[-1] and found.n_done == 2
    with pytest.raises(ParameterError, match="No fold was done"):
        nested_scores(spn, X, y, stop=lambda: True)
    with pytest.raises(DataError, match="X holds 40 rows, but there are 39 labels"):
        nested_scores(spn, X, y[:39])


def test_what_is_stored_beside_a_model(two: FoldScores) -> None:
    told = two.described()
    assert told["rows"] == len(two.rows) and told["folds"] == 3 and told["rounds"] == 2 and told["C"] == "chosen"
    assert told["measures"]["accuracy"]["value"] == two.measured("accuracy").value
    assert {"sensitivity", "specificity", "log_loss"} <= told["measures"].keys()
    part = next(islice(resample(FLAT, small_dataset(), Choices(), SPLIT, Settings(), chosen=False, plan=QUICK), 1))
    assert part.described()["measures"]["accuracy"]["low"] is None
