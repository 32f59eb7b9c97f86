"""Every view alone and all without it: against scikit-learn's own loops, by hand, stopped and taken up again."""

import json
import math
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from tolerances import ROUNDING

from spnmkl import SPN, DataError, Kernel, ParameterError, Product, SPNMKLClassifier, Sum, templates
from spnmkl.charts import to_svg
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.importance import (
    ImportanceStep,
    ViewFold,
    ViewImportance,
    column_importance,
    held_out_shares,
    measuring,
    view_importance,
)
from spnmkl.importance.folds import TableFolds, table_views
from spnmkl.importance.measuring import Measuring
from spnmkl.importance.restriction import FULL, removals, weighed
from spnmkl.importance.views import measured_views
from spnmkl.inspection import HeldOutShares, decision_parts
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.measures import corrected_interval, wilson
from spnmkl.selection import cross_validate_C
from spnmkl.selection.folds import fold_splits
from spnmkl.solvers import solve
from spnmkl.study.contest import Contest, Plan
from spnmkl.study.entrants import entrants
from spnmkl.study.significance import corrected_t_test

VIEWS = {"clear": [0, 1], "weak": [2, 3, 4], "noise": [5, 6, 7]}
SEED = 3


def table(n: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Labels that the first view tells well and the second a little; the third is noise, and columns have units."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 8))
    y = np.where(2 * X[:, 0] + X[:, 1] + 0.7 * X[:, 2] + 0.5 * rng.standard_normal(n) > 0, "yes", "no")
    return X * np.logspace(-1, 1, 8) + 5, y


def drawing() -> SPN:
    return templates.flat([Kernel("rbf", features=columns, label=view) for view, columns in VIEWS.items()])


@cache
def found() -> ViewImportance:
    X, y = table()
    return view_importance(drawing(), X, y, VIEWS, C=1.0, transformer=StandardScaler(), random_state=SEED)


def folds(y: np.ndarray, n: int = 5) -> StratifiedKFold:
    return StratifiedKFold(n, shuffle=True, random_state=SEED)


def by_scikit_learn(spn: SPN, weights: str = "certified", n: int = 5) -> np.ndarray:
    X, y = table()
    model = make_pipeline(StandardScaler(), SPNMKLClassifier(spn, C=1.0, weights=weights))
    return np.asarray(cross_val_score(model, X, y, cv=folds(y, n)))


@pytest.mark.parametrize("view", VIEWS)
def test_scores_are_those_of_cross_val_score(view: str) -> None:
    def of(*names: str) -> SPN:
        return templates.flat([Kernel("rbf", features=VIEWS[name], label=name) for name in names])

    others = [name for name in VIEWS if name != view]
    np.testing.assert_allclose([fold.full for fold in found().folds], by_scikit_learn(of(*VIEWS)))
    np.testing.assert_allclose([fold.alone[view] for fold in found().folds], by_scikit_learn(of(view)))
    np.testing.assert_allclose([fold.without[view] for fold in found().folds], by_scikit_learn(of(*others)))


def test_evidence_weights_are_those_of_every_training() -> None:
    X, y = table()
    given: dict[str, Any] = {
        "C": 1.0, "cv": 2, "transformer": StandardScaler(), "random_state": SEED, "weights": "evidence"
    }  # fmt: skip
    at = view_importance(drawing(), X, y, VIEWS, **given)
    rest = templates.flat([Kernel("rbf", features=VIEWS[name], label=name) for name in ("clear", "weak")])
    full = by_scikit_learn(drawing(), "evidence", 2)
    np.testing.assert_allclose([fold.full for fold in at.folds], full)
    np.testing.assert_allclose([fold.without["noise"] for fold in at.folds], by_scikit_learn(rest, "evidence", 2))
    assert at.key != found().key and at.weights == ViewImportance.from_dict(at.to_dict()).weights == "evidence"
    assert "at evidence weights" in at.headline and "at evidence weights" not in found().headline
    shares = held_out_shares(drawing(), X, y, views=VIEWS, **given)
    for view, row in at.table.set_index("view").iterrows():
        assert row["share"] == pytest.approx(shares.views[str(view)].share)
    columns = column_importance(drawing(), X, y, **given)
    np.testing.assert_allclose([fold.full for fold in columns.folds], full)
    assert columns.method.endswith("uses, at evidence weights.")
    with pytest.raises(ParameterError, match="weights must be one of"):
        view_importance(drawing(), X, y, VIEWS, weights="other")


def test_at_evidence_weights_a_view_that_answers_one_class_has_a_C_of_its_own() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 4))
    y = X[:, 0] + 0.3 * rng.standard_normal(100) > 0.8
    views = {"clear": [0, 1], "noise": [2, 3]}
    made = view_importance(templates.flat(views), X, y, views, C=0.05, cv=3, weights="evidence")
    assert any("noise alone" in fold.own_C for fold in made.folds)
    assert any("every answer would be the same in" in said for said in made.findings)


def test_a_view_alone_is_a_plain_svm() -> None:
    X, y = table()
    for fold, (train, test) in zip(found().folds, folds(y).split(X, y), strict=True):
        scaler = StandardScaler().fit(X[train])
        inside, outside = (scaler.transform(X[rows])[:, VIEWS["clear"]] for rows in (train, test))
        spn = templates.flat([Kernel("rbf", label="clear")])
        matrices, _ = fit_kernels(spn, inside)
        (weight,) = solve(spn, matrices, y[train], C=1.0).beta.values()
        machine = SVC(C=weight, gamma="scale", tol=1e-6).fit(inside, y[train])  # β K at C is K at β C
        assert fold.alone["clear"] == pytest.approx(machine.score(outside, y[test]))


def test_noise_has_no_importance_by_any_number() -> None:
    rows = found().table.set_index("view")
    noise, clear = rows.loc["noise"], rows.loc["clear"]
    assert noise["drop_low"] <= 0 <= noise["drop_high"] and abs(noise["drop"]) < 0.03
    assert noise["share_low"] < 0.1 and noise["alone_low"] < found().guessing
    assert clear["drop_low"] > 0 and clear["alone_low"] > found().guessing and clear["share"] > 0.6
    said = " ".join(found().findings)
    assert "falls, by more than chance, without clear" in said
    assert "are not shown to tell more than guessing" in said


def test_intervals_by_hand() -> None:
    row = found().table.set_index("view").loc["weak"]
    full, without = (
        np.array([fold.full for fold in found().folds]),
        np.array([fold.without["weak"] for fold in found().folds]),
    )
    reach = stats.t.ppf(0.975, 4) * np.sqrt(1 / 5 + 24 / 96)
    for values, name in ((without, "without"), (full - without, "drop")):
        assert row[name] == pytest.approx(values.mean())
        half = values.std(ddof=1) * reach
        assert half > 0
        assert row[f"{name}_high"] - row[f"{name}_low"] == pytest.approx(2 * half)
    assert found().full.low == pytest.approx(full.mean() - full.std(ddof=1) * reach)


def test_what_is_found_allows_for_how_many_views_are_tested() -> None:
    drops = {"sure": [0.2, 0.21, 0.19, 0.2, 0.22], "barely": [0.02, 0.07, 0.05, 0.06, 0.03], "even": [0.0] * 5}
    made = [
        ViewFold(
            1, k + 1, 800, 200, 1.0, 0.9, 0.5, dict.fromkeys(drops, 0.8), without, dict.fromkeys(drops, 1.0), 3, 9.1, 0
        )
        for k, without in enumerate({view: 0.9 - values[k] for view, values in drops.items()} for k in range(5))
    ]
    whole = ViewImportance(tuple(drops), tuple(made), 5, "accuracy", "1,000 rows")
    alone = corrected_t_test(drops["barely"], 0.25)
    assert alone < 0.05 < whole.adjusted["barely"] == pytest.approx(2 * alone)
    assert whole.adjusted["even"] == 1 and whole.table.set_index("view").loc["barely", "drop_low"] > 0
    assert whole.findings[0] == "The score falls, by more than chance, without sure."
    assert whole.findings[1].startswith("By itself, the loss without barely is more than chance; among 3 views")
    assert whole.findings[2].startswith("No loss is shown without even, though it tells something alone")


def leaning(rounds: int) -> ViewImportance:
    """A view right on 66 % of 180 rows, whose folds differ much, and one that guesses."""
    right = {"blood": (0.47, 0.83, 0.56, 0.78, 0.66), "noise": (0.53, 0.47, 0.5, 0.55, 0.5)}
    made = [
        ViewFold(r, k + 1, 144, 36, 1.0, 0.7, 0.5, {v: x[k] for v, x in right.items()}, dict.fromkeys(right, 0.7),
                 dict.fromkeys(right, 1.0), 3, 9.1, 0)
        for r in range(1, rounds + 1) for k in range(5)
    ]  # fmt: skip
    return ViewImportance(tuple(right), tuple(made), len(made), "accuracy", "180 rows")


def test_what_five_folds_leave_open_is_not_called_useless() -> None:
    assert stats.binomtest(round(0.66 * 180), 180, 0.5).pvalue < 0.001  # the same rows, taken together
    assert leaning(1).table.set_index("view").loc["blood", "alone_low"] < 0.5
    wide, silent, hint = leaning(1).findings
    before, after = (stats.t.ppf(0.975, k - 1) * np.sqrt(1 / k + 0.25) for k in (5, 25))
    assert wide == (
        "No loss is shown without blood; alone, blood (66 %) lies above guessing (50 %), but 5 folds leave too wide an "
        "interval to show it: that does not make it useless."
    )
    assert silent.endswith("noise; alone, noise (51 %) is not shown to tell more than guessing (50 %).")
    assert (
        hint == f"5 rounds of folds (repeats) make these intervals about {100 * (1 - after / before):.0f} % narrower."
    )
    assert leaning(5).table.set_index("view").loc["blood", "alone_low"] > 0.5
    assert "blood, though it tells something alone" in leaning(5).findings[0]


def test_further_rounds_begin_with_those_that_are_done() -> None:
    X, y = table(60)
    asked: dict[str, Any] = {"C": 1.0, "cv": 3, "transformer": StandardScaler(), "random_state": SEED}
    once = view_importance(drawing(), X, y, VIEWS, **asked)
    more = view_importance(drawing(), X, y, VIEWS, repeats=2, resume=once, **asked)
    assert more.folds[:3] == once.folds and [fold.repeat for fold in more.folds] == [1, 1, 1, 2, 2, 2]
    anew = view_importance(drawing(), X, y, VIEWS, repeats=2, **asked)
    assert more.table.equals(anew.table) and more.complete


@pytest.mark.parametrize("weights", ["certified", "evidence"])
def test_without_what_has_no_weight_nothing_is_trained_and_nothing_changes(
    weights: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "solve" if weights == "certified" else "solve_by_evidence"
    trained, train = [], getattr(measuring, name)
    monkeypatch.setattr(measuring, name, lambda spn, *rest, **given: trained.append(spn) or train(spn, *rest, **given))
    X, y = table(80)
    views = {"clear": [0, 1], "noise": [5, 6, 7]}
    spn, rest = (templates.flat({view: views[view] for view in some}) for some in (views, ["clear"]))
    X = StandardScaler().fit_transform(X)
    made = view_importance(spn, X, y, views, C=0.2, cv=3, random_state=SEED, weights=weights)
    left_out = [fold.parts["noise"] == 0 for fold in made.folds]
    assert any(left_out) and len(trained) == 2 * 3 - 2 * sum(left_out) + sum(left_out)  # of clear alone, which is all
    by_hand = cross_val_score(SPNMKLClassifier(rest, C=0.2, weights=weights), X, y, cv=folds(y, 3))
    np.testing.assert_allclose([fold.without["noise"] for fold in made.folds], by_hand)


def test_a_search_for_evidence_weights_tells_its_steps_and_can_be_stopped_within() -> None:
    X, y = table()
    told: list[ImportanceStep] = []

    def follow(step: ImportanceStep) -> bool:
        told.append(step)
        return "step 3" not in step.words

    made = view_importance(drawing(), X, y, VIEWS, cv=3, weights="evidence", callback=follow)
    assert not made.folds and told[-1].words == "fold 1 of 3, evidence weights, step 3" and told[-1].done == 0


def test_folds_that_agree_are_as_uncertain_as_one_row() -> None:
    low, high = corrected_interval([0.9] * 5, 0.25, finest=1 / 20)
    moved = corrected_interval([0.9, 0.9, 0.9, 0.9, 0.85], 0.25)
    assert high - low == pytest.approx(moved[1] - moved[0])
    assert np.isnan(corrected_interval([0.9, 0.8], 0.25)).all()
    assert np.isnan(corrected_interval([0.9, 0.8, np.nan], 0.25)).all()


def test_shares_are_those_of_the_rows_held_out() -> None:
    X, y = table()
    spn, parts = drawing(), []
    leaves = {spn.label(leaf): [leaf] for leaf in spn.kernels}
    for train, test in folds(y).split(X, y):
        scaler = StandardScaler().fit(X[train])
        matrices, fitted = fit_kernels(spn, scaler.transform(X[train]))
        solution = solve(spn, matrices, y[train], C=1.0)
        cross = cross_kernels(fitted, scaler.transform(X[test]))
        parts.append(decision_parts(solution, cross, y[test], matrices, views=leaves))
    shares = HeldOutShares.of_parts(parts, "5 folds")
    rows = found().table.set_index("view")
    for view, share in shares.views.items():
        assert rows.loc[view, "share"] == pytest.approx(share.share, abs=ROUNDING)
        assert rows.loc[view, "share_low"] <= share.share <= rows.loc[view, "share_high"]
    assert rows["share"].sum() == pytest.approx(1)


def test_without_a_decision_that_tells_there_are_no_shares() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 4)), np.repeat([0, 1], 30)
    result = view_importance(templates.flat({"a": [0, 1], "b": [2, 3]}), X, y, {"a": [0, 1], "b": [2, 3]}, C=1.0)
    assert not result.shares_known and result.table["share"].isna().all()
    assert "There are no shares" in " ".join(result.sentences)


def test_C_is_chosen_within_the_training_part() -> None:
    X, y = table(60)
    chosen = view_importance(drawing(), X, y, VIEWS, cv=3, transformer=StandardScaler())
    assert len({fold.C for fold in chosen.folds}) > 1  # each from its own rows
    for fold in chosen.folds[:1]:
        fixed = view_importance(drawing(), X, y, VIEWS, C=fold.C, cv=3, transformer=StandardScaler())
        assert fixed.folds[0].alone == fold.alone and fixed.folds[0].full == fold.full


def test_a_weak_view_has_a_C_of_its_own_where_that_of_the_whole_gives_it_no_weight() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat([-1, 1], 60)
    X = np.column_stack([3 * y, 0.9 * y]) + rng.standard_normal((120, 2))
    views = {"clear": [0], "weak": [1]}
    spn = templates.flat([Kernel("rbf", features=columns, label=view) for view, columns in views.items()])
    asked: dict[str, Any] = {"cv": 3, "transformer": StandardScaler()}
    whole = view_importance(spn, X, y, views, C=0.05, **asked)
    table = whole.table.set_index("view")
    assert table.loc["weak", "alone"] > 0.7 and table.loc["clear", "without"] > 0.7  # at C = 0.05 both would guess
    assert table.loc["clear", "drop"] < 0.35
    assert all(fold.own_C.keys() == {"weak alone"} and fold.own_C["weak alone"] > fold.C for fold in whole.folds)
    assert "above zero in weak alone (3 of 3 folds): there C was chosen anew" in whole.findings[0]
    stored = json.loads(json.dumps(whole.to_dict(), allow_nan=False))
    assert ViewImportance.from_dict(stored).findings == whole.findings
    for fold in stored["folds"]:
        del fold["own_C"]  # as it was written before
    assert ViewImportance.from_dict(stored).table.equals(whole.table)
    # Where the whole drawing has no weight at a C, nothing else is given a better one: a drop would be below zero.
    none = view_importance(spn, X, y, views, C=1e-3, **asked)
    assert not any(fold.own_C for fold in none.folds) and (none.table["drop"] == 0).all()


def test_stopped_and_taken_up_again() -> None:
    X, y = table()
    told: list[ImportanceStep] = []

    def until_two(step: ImportanceStep) -> bool:
        told.append(step)
        return step.folds < 2

    asked: dict[str, Any] = {"C": 1.0, "transformer": StandardScaler(), "random_state": SEED}
    part = view_importance(drawing(), X, y, VIEWS, callback=until_two, **asked)
    assert len(part.folds) == 2 and not part.complete
    assert "2 of 5 folds of 120 rows; it was stopped" in part.headline
    assert part.table["alone_low"].isna().all() and part.table["alone"].notna().all()
    assert 0 < told[-1].done <= told[-1].total
    stored = ViewImportance.from_dict(json.loads(json.dumps(part.to_dict(), allow_nan=False)))
    done: list[ImportanceStep] = []
    whole = view_importance(drawing(), X, y, VIEWS, resume=stored, callback=lambda step: done.append(step), **asked)
    assert whole.complete and all("fold 1" not in step.words and "fold 2" not in step.words for step in done)
    pd.testing.assert_frame_equal(whole.table, found().table)
    with pytest.raises(ParameterError, match="another question"):
        view_importance(drawing(), X, y, VIEWS, C=2.0, transformer=StandardScaler(), random_state=SEED, resume=stored)


def test_stop_is_asked_within_trainings() -> None:
    X, y = table()
    nothing = view_importance(drawing(), X, y, VIEWS, stop=lambda: True)
    assert nothing.folds == () and nothing.table["alone"].isna().all()
    assert nothing.headline == "It was stopped before the first fold was done."


class Spy(TransformerMixin, BaseEstimator):
    """Centres by what it is fitted on, and tells it."""

    seen: ClassVar[list[np.ndarray]] = []

    def fit(self, X: np.ndarray, y: np.ndarray | None = None) -> "Spy":
        Spy.seen.append(X[:, 0])
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return np.asarray(X - self.mean_)


def test_the_transformer_sees_training_rows_alone() -> None:
    X, y = table(60)
    Spy.seen.clear()
    view_importance(drawing(), X, y, VIEWS, C=1.0, cv=3, transformer=Spy(), random_state=SEED)
    expected = [X[train, 0] for train, _ in folds(y, 3).split(X, y)]
    assert len(Spy.seen) == 3 and all(np.array_equal(a, b) for a, b in zip(Spy.seen, expected, strict=True))


def test_groups_are_held_out_whole() -> None:
    X, y = table(120)
    patients = np.arange(120) // 4
    grouped = view_importance(drawing(), X, y, VIEWS, C=1.0, cv=4, groups=patients, transformer=StandardScaler())
    plain = view_importance(drawing(), X, y, VIEWS, C=1.0, cv=4, transformer=StandardScaler())
    assert sum(fold.n_test for fold in grouped.folds) == 120 and grouped.key != plain.key
    assert all(fold.n_test % 4 == 0 for fold in grouped.folds)


def test_rounds_draw_other_folds() -> None:
    X, y = table(60)
    twice = view_importance(drawing(), X, y, VIEWS, C=1.0, cv=3, repeats=2, transformer=StandardScaler())
    second = view_importance(drawing(), X, y, VIEWS, C=1.0, cv=3, transformer=StandardScaler(), random_state=1)
    assert [(f.repeat, f.fold) for f in twice.folds] == [(r, k) for r in (1, 2) for k in (1, 2, 3)]
    assert [f.alone for f in twice.folds[3:]] == [f.alone for f in second.folds]


def test_a_loaded_table_gives_the_same_numbers() -> None:
    X, y = table()
    names = [f"{view}__{k}" for view, columns in VIEWS.items() for k in columns]
    frame = pd.DataFrame(X, columns=names).assign(y=y)
    columns = {view: [names[k] for k in members] for view, members in VIEWS.items()}
    dataset = Dataset("table", frame, "y", views=columns)
    spn = templates.flat([Kernel("rbf", features=members, label=view) for view, members in columns.items()])
    rows = TableFolds.of(spn, dataset, Choices(), SplitSettings(0.0, SEED), Plan())
    work = Measuring(removals(spn, table_views(spn, dataset), rows.known), rows, C=1.0)
    result = measured_views(work)
    pd.testing.assert_frame_equal(result.table, found().table, rtol=1e-6)
    assert result.rows == "120 rows"
    split = TableFolds.of(spn, dataset, Choices(), SplitSettings(0.25, SEED), Plan())
    assert split.rows == "90 training rows"
    held_out = {tuple(rows.test) for _, _, rows in split.splits}
    assert len(set().union(*held_out)) == 90  # test rows stay unseen


def agreeing(rows: tuple[float, float], lost: int) -> ViewImportance:
    """Five folds that agree: 14 of 20 rows are right by all, `lost` less without a; a alone is right on 12 of them."""
    named = {"a": 14.0 - lost}
    made = [
        ViewFold(
            1, k, 80, 20, 1.0, 0.7, 0.5, {"a": 0.6}, {"a": named["a"] / 20}, {"a": 1.0}, 3, 9.1, 0,
            rows=rows, full_right=(7.0, 7.0), alone_right={"a": (6.0, 6.0)},
            without_right={"a": (named["a"] / 2,) * 2}, drop_errors={"a": 0.15},
        )
        for k in range(1, 6)
    ]  # fmt: skip
    return ViewImportance(("a",), tuple(made), 5, "accuracy", "100 rows")


def test_folds_that_agree_claim_no_more_than_their_rows() -> None:
    whole = agreeing((10.0, 10.0), lost=4)
    row = whole.table.iloc[0]
    assert (row["alone_low"], row["alone_high"]) == pytest.approx(wilson(0.6, 100))
    assert len(whole.full) == 3 and tuple(whole.full) == pytest.approx((0.7, *wilson(0.7, 100)))
    assert whole.full_by_rows and whole.full.low == wilson(0.7, 100)[0]
    error = 0.15 / math.sqrt(5)
    assert (row["drop_low"], row["drop_high"]) == pytest.approx((0.2 - 1.96 * error, 0.2 + 1.96 * error), rel=1e-3)
    assert whole.table.filter(like="by_rows").columns.tolist() == ["alone_by_rows", "without_by_rows", "drop_by_rows"]
    assert whole.table.filter(like="by_rows").dtypes.eq(bool).all() and row.filter(like="by_rows").all()
    assert whole.about_intervals.endswith("that of the number of rows, since folds differ by less.")
    assert whole.adjusted["a"] == pytest.approx(2 * stats.norm.sf(0.2 / error))
    restored = ViewImportance.from_dict(json.loads(json.dumps(whole.to_dict())))
    assert restored.table.equals(whole.table) and restored.full == whole.full
    svg = to_svg(whole.figure())
    assert "of the number of rows" in svg or "of the number of rows" in json.dumps(whole.figure().to_dict())


def test_more_rounds_are_not_said_to_narrow_what_rows_leave_open() -> None:
    """Two views, each of which is needed by itself, but not beside the other test: over folds that agree, and not."""
    whole = agreeing((10.0, 10.0), lost=4)
    named = ("alone", "without", "parts", "alone_right", "without_right")

    def both(fold: ViewFold, alone: float) -> ViewFold:
        twice = {name: dict.fromkeys("ab", getattr(fold, name)["a"]) for name in named}
        twice["alone"] = dict.fromkeys("ab", alone)
        return replace(fold, drop_errors=dict.fromkeys("ab", 0.2 / 2.1 * 5**0.5), **twice)

    for scores, said in (
        ((0.6,) * 5, "More rows would narrow the intervals; more rounds hardly would."),
        ((0.1, 1.0, 0.3, 0.9, 0.6), "5 rounds of folds (repeats) make those over folds about"),
    ):
        folds = tuple(map(both, whole.folds, scores))
        found = replace(whole, views=("a", "b"), folds=folds).findings
        unclear = replace(whole, folds=tuple(replace(fold, drop_errors={"a": 0.9}) for fold in whole.folds)).findings[0]
        assert unclear.endswith("the others may tell it too, or these rows are too few to see a loss.")
        assert found[0].startswith("By itself, the loss without any one of a, b") and found[1].startswith(said)


@pytest.mark.parametrize("begun", [6, 8, 10])
def test_part_of_a_second_round_has_no_other_rows(begun: int) -> None:
    """Folds that agree: no interval is narrower, and no p smaller, for rows that were held out twice."""
    once = agreeing((10.0, 10.0), lost=4)
    again = tuple(replace(fold, repeat=2) for fold in once.folds)
    more = replace(once, folds=(*once.folds, *again)[:begun], planned=10)
    pd.testing.assert_frame_equal(more.table, once.table)
    assert more.full == pytest.approx(once.full) and more.adjusted == pytest.approx(once.adjusted)
    assert more.held_out == pytest.approx(once.held_out) == 100


def test_folds_that_differ_more_than_their_rows_keep_their_own_interval() -> None:
    whole = agreeing((10.0, 10.0), lost=4)
    apart = [replace(f, alone={"a": x}) for f, x in zip(whole.folds, (0.3, 0.9, 0.4, 0.8, 0.6), strict=True)]
    found = replace(whole, folds=tuple(apart))
    low, high = corrected_interval([f.alone["a"] for f in apart], 0.25)
    assert (found.table["alone_low"][0], found.table["alone_high"][0]) == pytest.approx((max(low, 0), min(high, 1)))
    assert found.table.filter(like="by_rows").to_numpy().tolist() == [[False, True, True]]
    assert "here for 3 of 4 of them" in found.about_intervals
    earlier = {name: value for name, value in apart[0].to_dict().items() if "right" not in name and name != "rows"}
    assert ViewFold.from_dict(earlier).full_right == ()


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "roc_auc"])
def test_what_a_fold_stores_is_counted_on_its_rows(scoring: str) -> None:
    X, y = table()
    result = view_importance(drawing(), X, y, VIEWS, C=1.0, cv=3, scoring=scoring, transformer=StandardScaler())
    assert np.sum([fold.rows for fold in result.folds], axis=0).tolist() == [(y == c).sum() for c in np.unique(y)]
    for fold in result.folds:
        assert sum(fold.rows) == fold.n_test and set(fold.drop_errors) == set(VIEWS)
        rows, right = np.array(fold.rows), np.array(fold.full_right)
        if scoring == "accuracy":
            assert right.sum() / rows.sum() == pytest.approx(fold.full)
        if scoring == "balanced_accuracy":
            assert (right / rows).mean() == pytest.approx(fold.full)


@pytest.mark.parametrize("truth", [0.55, 0.75, 0.95])
def test_intervals_hold_the_score_on_new_rows_as_often_as_they_say(truth: float) -> None:
    """A view alone answers from the sign of one column, right with this probability: what it scores on all rows.

    Folds of 12 rows differ by chance, sometimes too little: over these alone 95 of 100 intervals would not hold it.
    """
    rng, draws = np.random.default_rng(int(100 * truth)), 200
    held, narrow = 0, 0
    for right in rng.binomial(12, truth, size=(draws, 5)):
        folds = [
            ViewFold(1, k, 48, 12, 1.0, x / 12, 0.5, {"a": x / 12}, {"a": math.nan}, {"a": 1.0}, 3, 9.1, 0,
                     rows=(12.0,), full_right=(float(x),), alone_right={"a": (float(x),)})
            for k, x in enumerate(right.tolist(), 1)
        ]  # fmt: skip
        row = ViewImportance(("a",), tuple(folds), 5, "accuracy", "60 rows").table.iloc[0]
        held += row["alone_low"] <= truth <= row["alone_high"]
        low, high = wilson(right.sum() / 60, 60)
        narrow += row["alone_high"] - row["alone_low"] < high - low - 1e-9
    assert not narrow and held >= 0.95 * draws - 2 * math.sqrt(0.95 * 0.05 * draws)


def test_rows_that_are_left_out_are_in_no_fold_and_not_counted() -> None:
    X, y = table()
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])]).assign(y=y)
    members = {view: [f"c{k}" for k in columns] for view, columns in VIEWS.items()}
    lacking = next(iter(members))
    frame.loc[:4, members[lacking]] = np.nan
    dataset = Dataset("table", frame, "y", views=members)
    choices = Choices(absent="drop rows")
    spn = templates.flat(members)
    folds = TableFolds.of(spn, dataset, choices, SplitSettings(0.0, SEED), Plan())
    assert folds.rows == "115 rows"
    assert sorted(np.concatenate([rows.test for _, _, rows in folds.splits])) == list(range(5, 120))
    who = entrants(spn, dataset, choices)
    assert Contest.of(who, Plan(), dataset, choices, SplitSettings(0.0, SEED)).n_rows == 115


def test_measures() -> None:
    X, y = table()
    y = np.where(np.arange(120) % 3 == 0, y, "no")
    asked: dict[str, Any] = {"C": 1.0, "cv": 3, "transformer": StandardScaler(), "random_state": SEED}
    for scoring, guessing in (("balanced_accuracy", 0.5), ("roc_auc", 0.5)):
        result = view_importance(drawing(), X, y, VIEWS, scoring=scoring, **asked)
        model = make_pipeline(StandardScaler(), SPNMKLClassifier(drawing(), C=1.0))
        expected = cross_val_score(model, X, y, cv=folds(y, 3), scoring=scoring)
        np.testing.assert_allclose([fold.full for fold in result.folds], expected)
        assert result.guessing == guessing
    with pytest.raises(ParameterError, match="scoring must be one of 'accuracy'"):
        view_importance(drawing(), X, y, VIEWS, scoring="F1", **asked)


def test_one_view_leaves_nothing_without_it() -> None:
    X, y = table(60)
    only = view_importance(templates.flat({"all": list(range(8))}), X, y, {"all": range(8)}, C=1.0, cv=3)
    assert only.table["without"].isna().all() and only.table["alone"].iloc[0] == only.full.mean
    assert "without it no kernel is left" in only.view_sentences[0]


def test_what_does_not_fit_is_said_in_one_sentence() -> None:
    X, y = table(60)
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    spn = templates.flat({"one": ["a", "b"], "two": ["c"]})
    with pytest.raises(DataError, match="View 'one' names column 'aa', which does not exist; the closest name is 'a'"):
        view_importance(spn, frame, y, {"one": ["aa"]})
    with pytest.raises(ParameterError, match="View 'one' has no column"):
        view_importance(spn, frame, y, {"one": []})
    with pytest.raises(ParameterError, match="views must map"):
        view_importance(spn, frame, y, {})
    with pytest.raises(DataError, match="The transformer gives 1 columns for 8"):
        view_importance(spn, frame, y, {"one": ["a"]}, transformer=First(), C=1.0)
    with pytest.raises(ParameterError, match='C must be a number above 0 or "cv"'):
        view_importance(spn, frame, y, {"one": ["a"]}, C="best")
    with pytest.raises(DataError, match="X has 59 rows, but y has 60"):
        view_importance(spn, frame[:59], y, {"one": ["a"]})


class First(TransformerMixin, BaseEstimator):
    def fit(self, X: Any, y: Any = None) -> "First":
        return self

    def transform(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, :1]


def labels_of(spn: SPN) -> list[str]:
    return [spn.label(leaf) for leaf in spn.kernels]


def test_products_keep_the_factors_that_are_left() -> None:
    a, b, c = (Kernel("rbf", features=[k], label=name) for k, name in enumerate("abc"))
    spn = SPN(Sum(Product(a), Product(b), Product(Sum(Product(a), Product(b)), c)))
    left = removals(spn, {"A": [0], "B": [1], "C": [2]}, range(3))
    alone_a, alone_c = left.structures["A alone"], left.structures["C alone"]
    assert labels_of(alone_c) == ["c"] and len(alone_c.products) == 1
    assert labels_of(alone_a) == ["a"] and alone_a.n_paths == 2  # a, and a where c was a factor
    without_c = left.structures["all without C"]
    assert sorted(labels_of(without_c)) == ["a", "b"] and without_c.n_paths == 4
    assert left.leaves == {"A": (spn.kernels[0],), "B": (spn.kernels[1],), "C": (spn.kernels[2],)}
    for part in left.structures.values():
        part.check()


def test_branches_that_become_the_same_are_one() -> None:
    a, b = Kernel("rbf", features=[0], label="a"), Kernel("rbf", features=[1], label="b")
    spn = SPN(Sum(Product(a), Product(a, b), Product(b)))
    left = removals(spn, {"A": [0], "B": [1]}, range(2))
    assert left.alone["A"] == left.without["B"] == "A alone"  # one training
    assert left.structures["A alone"].n_paths == 1 and set(left.structures) == {FULL, "A alone", "B alone"}
    squared = SPN(Sum(Product(a), Product(a, b, p=2)))
    assert (
        removals(squared, {"B": [1]}, range(2)).structures["all without B"].n_paths == 2
    )  # other exponents, other branch


def test_kernels_over_several_views_see_the_columns_that_are_left() -> None:
    spn = templates.flat([Kernel("rbf", label="all"), Kernel("linear", features=[0, 2], label="two")])
    left = removals(spn, {"A": [0, 1], "B": [2, 3]}, range(4))
    seen = {
        name: [part.spec(leaf).features for leaf in part.kernels]
        for name, part in left.structures.items()
        if name != FULL
    }
    assert seen == {"A alone": [(0, 1), (0,)], "B alone": [(2, 3), (2,)]}
    assert left.leaves == {"A": (), "B": ()} and left.without["A"] == "B alone"
    X, y = table(60)
    result = view_importance(spn, X[:, :4], y, {"A": [0, 1], "B": [2, 3]}, C=1.0, cv=3, transformer=StandardScaler())
    assert result.table["share"].isna().all() and "no share for 'A', 'B'" in result.remarks[1]
    alone = templates.flat([Kernel("rbf", features=[0, 1]), Kernel("linear", features=[0])])
    model = make_pipeline(StandardScaler(), SPNMKLClassifier(alone, C=1.0))
    splits = StratifiedKFold(3, shuffle=True, random_state=0)
    expected = cross_val_score(model, X[:, :4], y, cv=splits)
    np.testing.assert_allclose([fold.alone["A"] for fold in result.folds], expected)


def test_a_view_that_no_kernel_sees_costs_nothing() -> None:
    X, y = table(60)
    spn = templates.flat({"clear": VIEWS["clear"], "weak": VIEWS["weak"]})
    result = view_importance(spn, X, y, VIEWS, C=1.0, cv=3, transformer=StandardScaler())
    row = result.table.set_index("view").loc["noise"]
    assert np.isnan(row["alone"]) and row["drop"] == 0 and "No kernel sees 'noise'." in result.remarks
    assert "noise: no kernel sees it" in " ".join(result.sentences)


def test_views_of_a_table() -> None:
    frame = pd.DataFrame(np.eye(4), columns=["a__1", "a__2", "b__1", "z"]).assign(y=[0, 1, 0, 1])
    spn = templates.flat(
        [Kernel("rbf", features=["a__1"], label="one"), Kernel("rbf", features=["b__1", "z"], label="x")]
    )
    viewed = Dataset("t", frame, "y", views={"a": ["a__1", "a__2"], "b": ["b__1"]})
    assert table_views(spn, viewed) == {"a": ["a__1", "a__2"], "b": ["b__1"], "in no view": ["z"]}
    assert table_views(spn, Dataset("t", frame, "y")) == {"a__1": ["a__1"], "x": ["b__1", "z"]}
    widths = templates.flat([Kernel("rbf", features=["b__1", "z"], label=f"rbf 1/{k}", gamma=k) for k in (4, 64)])
    found = table_views(widths, Dataset("t", frame, "y"))
    assert found == {"b__1, z": ["b__1", "z"]}, "columns, not one of the kernels that see them"
    matrices = templates.flat([Kernel("precomputed", label="K"), Kernel("rbf", features=["z"], label="z")])
    assert table_views(matrices, Dataset("t", frame, "y")) == {"z": ["z"], "K": [("matrix", "K")]}


def test_the_figure_shows_the_table() -> None:
    chart = found().figure()
    spec = chart.to_dict()
    values = [row for rows in spec["datasets"].values() for row in rows]
    dots = [row for row in values if "kind" in row]
    rows = found().table.set_index("view")
    assert {(row["name"], row["kind"]): row["score"] for row in dots} == {
        (view, title): rows.loc[view, kind]
        for view in VIEWS
        for kind, title in (("alone", "alone"), ("without", "all without it"))
    }
    assert {row["at"] for row in values if "at" in row} == {found().full.mean, found().guessing}
    for grey in (False, True):
        svg = to_svg(found().figure(grey=grey))
        assert all(word in svg for word in ("clear", "all without it", "all together", "guessing", "of the decision"))


@pytest.mark.parametrize(
    "change",
    [
        {"rows": [10, 11]},
        {"full_right": [11, 3]},
        {"full_right": [7]},
        {"full_right": [7, None]},
        {"alone_right": {"a": [-1, 6]}},
        {"without_right": {"a": [5, 5, 0]}},
        {"rows": []},
        {"rows": [20], "full_right": [14], "alone_right": {"a": [12]}, "without_right": {"a": [10]}},
        {"drop_errors": {"a": -0.1}},
        {"drop_errors": {"a": None}},
    ],
)
def test_stored_counts_that_cannot_be_are_refused(change: dict[str, object]) -> None:
    stored = agreeing((10.0, 10.0), lost=4).to_dict()
    stored["folds"][0].update(change)
    with pytest.raises(ParameterError, match=r"cannot be as many|of different classes|is none"):
        ViewImportance.from_dict(stored)


def test_folds_that_counted_no_rows_open_beside_others() -> None:
    stored = agreeing((10.0, 10.0), lost=4).to_dict()
    for name in ("rows", "full_right", "alone_right", "without_right", "drop_errors"):
        del stored["folds"][0][name]
    assert not ViewImportance.from_dict(stored).table.filter(like="by_rows").any(axis=None)


@pytest.mark.parametrize("name", ["n_test", "n_train"])
def test_stored_folds_without_rows_are_refused(name: str) -> None:
    stored = found().to_dict()
    stored["folds"][0][name] = 0
    with pytest.raises(ParameterError, match="no rows"):
        ViewImportance.from_dict(stored)


def test_evidence_weights_are_taken_where_they_lead_within_a_fold() -> None:
    """Rings, over widths that certified weights cannot choose among; what both kinds give is known.

    In one of the folds evidence weights are better, but not by the error of the difference.
    """
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 3))
    y = np.where((X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4) ^ (rng.random(90) < 0.1), "out", "in")
    views = {"ring": [0, 1], "noise": [2]}
    kernels = [Kernel("rbf", features=[0, 1, 2], gamma=g, label=f"{g}") for g in (0.1, 30.0)]
    spn, asked = templates.flat(kernels), {"C": 3.0, "cv": 3}
    kinds = {kind: view_importance(spn, X, y, views, weights=kind, **asked).folds for kind in ("certified", "evidence")}
    chosen = view_importance(spn, X, y, views, weights="chosen", **asked)
    taken, level = set(), 0
    for k, (train, _) in enumerate(fold_splits(y, 3, None, 0)):
        matrices = fit_kernels(spn, X[train])[0]
        inner = {
            kind: cross_validate_C(spn, matrices, y[train], [3.0], folds=3, weights=kind, random_state=0).scores[0]
            for kind in kinds
        }
        ahead = inner["evidence"] - inner["certified"]
        best = "evidence" if ahead.mean() > stats.sem(ahead) else "certified"
        taken.add(best)
        level += 0 < ahead.mean() <= stats.sem(ahead)
        expected = replace(kinds[best][k], seconds=chosen.folds[k].seconds)
        assert chosen.folds[k].to_dict() == expected.to_dict() and expected.weights == best
    assert level and taken == {"certified", "evidence"}
    assert ViewImportance.from_dict(chosen.to_dict()).sentences == chosen.sentences
    assert chosen.key != view_importance(spn, X, y, views, **asked).key


def test_a_path_without_weight_that_goes_makes_the_others_cheaper() -> None:
    """With p below 1, one of two kernels below a product can have no weight; c_v of the product counts its path."""
    X, y = table()
    kernels = {"a": Kernel("linear", features=[0, 1], id="Ka"), "b": Kernel("linear", features=[5, 6, 7], id="Kb")}

    def nested(*names: str) -> SPN:
        return SPN(Sum(Product(Sum(*(Product(kernels[name], id=name, p=0.4) for name in names)), id="top", p=0.4)))

    whole, rest = nested("a", "b"), nested("a")
    matrices, _ = fit_kernels(whole, StandardScaler().fit_transform(X))
    full = solve(whole, matrices, y, C=0.1, warn=False)
    assert full.beta["a"] > 0 == full.beta["b"]
    left = solve(rest, {"Ka": matrices["Ka"]}, y, C=0.1, warn=False)
    # The shortcut would have kept the weights of the whole, which are not the best ones any more.
    assert left.objective < 0.95 * full.objective and left.beta["top"] > 2 * full.beta["top"]
    assert weighed(whole, full.beta) != weighed(rest, full.beta) == weighed(rest, left.beta)


def test_a_view_below_guessing_is_explained() -> None:
    made = [
        ViewFold(1, k + 1, 80, 20, 1.0, 0.7, 0.6, {"noise": x, "blood": 0.7}, {"noise": 0.7, "blood": x},
                 dict.fromkeys(("noise", "blood"), 1.0), 3, 9.1, 0)
        for k, x in enumerate((0.4, 0.5, 0.45, 0.5, 0.45))
    ]  # fmt: skip
    *_, last = ViewImportance(("noise", "blood"), tuple(made), 5, "accuracy", "100 rows").findings
    assert last == (
        "Alone, noise (46 %) lies below guessing (60 %): at the C of the whole drawing, what tells nothing learns "
        "training rows by heart, and scatters its answers on others. Read it as guessing."
    )
