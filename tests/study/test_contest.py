"""Methods compared on the same folds: against scikit-learn's folds and scaling, scipy's tests, and by brute force."""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import islice, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from small_runs import COLOUR, SHAPE, small_dataset, small_structure

from spnmkl import SPN, DataError, Kernel, Product, Sum
from spnmkl.baselines import ColumnMethod, Columns, column_methods, compute_kernels
from spnmkl.baselines.columns import RBF_SVM
from spnmkl.charts import methods_chart
from spnmkl.data import Choices, Dataset, Split, SplitSettings
from spnmkl.kernels import cross_kernels
from spnmkl.measures import error_of_rows
from spnmkl.structure import templates
from spnmkl.study import lesson as lesson_module
from spnmkl.study.contest import (
    Contest,
    Entry,
    Plan,
    Portrait,
    compete,
    fitting_plan,
    outer_folds,
    planned,
    training_rows,
)
from spnmkl.study.contest_words import about, against, errors_words, ranking_words, verdict
from spnmkl.study.entrants import ACROSS, OWN, Drawn, Entrants, entrants, titled
from spnmkl.study.fold_training import inner_folds
from spnmkl.study.lesson import BRANCHES, FLAT, TRUE, Lesson, accuracy_finding, lesson, weights_finding
from spnmkl.study.significance import corrected_t_test, holm, larger_p, smallest_of_rows, smallest_visible
from spnmkl.study.table_columns import table_columns
from spnmkl.training.default import suited_drawing
from spnmkl.training.prepared import NO_VIEW, prepare
from spnmkl.training.settings import Settings
from spnmkl.ui.state.jobs import Stopped

PLAN = Plan(folds=3, inner=2, points=2)
SPLIT = SplitSettings(test_share=0.3, seed=1)


@cache
def small_entrants(classes: int = 2) -> Entrants:
    return entrants(small_structure(), small_dataset(classes), Choices())


def test_kernels_of_a_default_suit_the_training_part_of_each_fold() -> None:
    """A view of counts, but for one fraction: without that row in the training part, proportions suit it."""
    rng = np.random.default_rng(0)
    counts = pd.DataFrame(rng.poisson(np.exp(rng.normal(2.0, 1.5, size=(60, 4)))), columns=list("abcd")).astype(float)
    counts.loc[0, "a"] = 0.25
    dataset, choices, split = Dataset("t", counts.assign(y=np.resize(["u", "v"], 60)), "y"), Choices("auto"), SPLIT
    everything = Split(np.arange(60), np.arange(0))
    who = entrants(
        Drawn.by_default(suited_drawing(dataset, choices, split, everything), Settings(p=2.0)), dataset, choices
    )
    assert {spec.kernel for spec in map(who.drawn[OWN].spec, who.drawn[OWN].kernels)} == {"rbf", "linear"}
    fold = who.on(Split(np.arange(1, 60), np.arange(1)), dataset, choices, split)
    spn = fold.drawn[OWN]
    assert {spn.spec(leaf).kernel for leaf in spn.kernels} == {"rbf", "cosine"}
    assert {spn.p(v) for v in spn.products} == {2.0} and fold.options == who.options
    assert set(fold.methods) <= set(who.methods)
    mine = entrants(small_structure(), small_dataset(), Choices())
    assert mine.on(everything, small_dataset(), Choices(), split) is mine


@cache
def small_contest(classes: int) -> Contest:
    dataset, who = small_dataset(classes), small_entrants(classes)
    slow = {"random forest", "boosting", "late fusion"}
    others = {*who.methods} - slow if classes == 2 else {RBF_SVM, "lasso"}  # these tell enough
    who = who.among(others)
    return replace(
        Contest.of(who, PLAN, dataset, Choices(), SPLIT), results=tuple(compete(who, dataset, Choices(), SPLIT, PLAN))
    )


def test_without_correction_it_is_the_t_test() -> None:
    differences = np.random.default_rng(0).normal(0.3, 1.0, size=9)
    assert corrected_t_test(differences, 0.0) == pytest.approx(stats.ttest_1samp(differences, 0.0).pvalue)


def test_the_corrected_test_by_hand() -> None:
    d = np.array([0.02, 0.03, -0.01, 0.05, 0.02])
    t = np.mean(d) / np.sqrt((1 / 5 + 1 / 4) * np.sum((d - np.mean(d)) ** 2) / 4)
    assert corrected_t_test(d, 0.25) == pytest.approx(2 * (1 - stats.t.cdf(t, 4)))
    assert corrected_t_test(d, 0.25) == corrected_t_test(-d, 0.25) > corrected_t_test(d, 0.0)


@pytest.mark.parametrize(
    ("differences", "p"),
    [([0.0] * 5, 1.0), ([0.1, 0.2], np.nan), ([], np.nan), ([0.1] * 5, np.nan), ([0.1, np.nan, 0.2], np.nan)],
)
def test_where_nothing_can_be_told(differences: list[float], p: float) -> None:
    np.testing.assert_equal(corrected_t_test(differences, 0.25), p)


def test_holm_rejects_as_its_definition_does() -> None:
    p = np.random.default_rng(1).uniform(0, 0.1, size=7)
    adjusted = holm(p.tolist())
    for level in np.linspace(0.001, 0.5, 200):
        rejected = set()
        for rank, k in enumerate(np.argsort(p)):  # one by one, until the first that is not
            if p[k] > level / (len(p) - rank):
                break
            rejected.add(k)
        assert rejected == set(np.flatnonzero(adjusted <= level))
    np.testing.assert_array_equal(holm([np.nan, 0.01, np.nan]), [np.nan, 0.01, np.nan])


def test_a_difference_of_the_smallest_visible_size_has_the_level_as_its_p() -> None:
    noise = np.array([0.02, -0.03, 0.01, 0.04, -0.01, 0.02])
    d = noise - noise.mean()
    size = smallest_visible(d.std(ddof=1), 6, 0.2, tests=4)
    assert 4 * corrected_t_test(d + size, 0.2) == pytest.approx(0.05)
    of_rows = smallest_of_rows(0.05, tests=4)
    assert of_rows > size and 4 * larger_p(d + of_rows, 0.2, 0.05) == pytest.approx(0.05)
    assert larger_p(d + size, 0.2, np.nan) == larger_p(d + size, 0.2, 0.001) == corrected_t_test(d + size, 0.2)
    assert np.isnan(larger_p([0.1] * 5, 0.2, 0.5)) and smallest_of_rows(np.nan, 4) == 0


def test_every_method_has_every_base_kernel_once() -> None:
    who = small_entrants()
    spn = small_structure()
    labels = {label for group in who.groups.values() for label in group}
    assert len(labels) == len({spn.spec(leaf) for leaf in spn.kernels})
    assert who.groups["colour"] == ("near colours", "far")
    assert who.groups[ACROSS] == ("everything",)
    assert next(iter(who.methods)) == OWN and RBF_SVM in who.methods and "composite" in who.methods
    for name in ("average kernel", "SimpleMKL", "composite", "product of sums"):
        (flat,) = who.over_kernels[name].candidates
        assert {flat.label(leaf) for leaf in flat.kernels} == labels
    pool = {who.pool.label(leaf): who.pool.spec(leaf) for leaf in who.pool.kernels}
    assert all(
        pool[candidate.label(leaf)] == candidate.spec(leaf)
        for method in who.over_kernels.values()
        for candidate in method.candidates
        for leaf in candidate.kernels
    )


def test_kernels_without_names_or_with_one_name_are_told_apart() -> None:
    twice = SPN(
        Sum(
            Product(Kernel("rbf", gamma=1.0, features=COLOUR, label="a")),
            Product(Kernel("rbf", gamma=2.0, features=COLOUR, label="a")),
            Product(Kernel("linear", features=COLOUR)),
        )
    )
    who = entrants(twice, small_dataset(), Choices(), others={"SimpleMKL": templates.flat(COLOUR[:1])})
    assert len({label for group in who.groups.values() for label in group}) == 3
    assert set(who.groups) == {"rbf", "linear"}  # one view only, so by kind
    assert list(who.drawn) == [OWN, "SimpleMKL (2)"]


def test_runs_of_any_name_stand_beside_the_drawing() -> None:
    spn = small_structure()
    names = [OWN, "SimpleMKL", "SimpleMKL (2)", "ℓ2-MKL", "ℓ_2-MKL"]
    others = {name: templates.flat([*COLOUR, *SHAPE][: k + 1]) for k, name in enumerate(names)}
    who = entrants(spn, small_dataset(), Choices(), others=others)
    assert who.drawn[OWN] == spn and list(who.drawn.values())[1:] == list(others.values())
    assert len(who.methods) == len(small_entrants().methods) + len(names) == len(set(map(titled, who.methods)))


def test_one_kind_of_one_view_has_no_groups() -> None:
    flat = templates.flat([Kernel("rbf", gamma=g, features=COLOUR, label=f"{g}") for g in (0.1, 1.0)])
    who = entrants(flat, small_dataset(), Choices())
    assert "composite" not in who.methods and "SimpleMKL" in who.methods
    assert "need groups" in who.remarks[0]
    alone = entrants(templates.flat([Kernel("rbf", features=COLOUR, label="a")]), small_dataset(), Choices())
    assert list(alone.methods) == [OWN, "average kernel", *column_methods()]


def test_methods_over_columns_have_text_as_a_column_for_each_value_of_the_training_rows() -> None:
    frame = small_dataset().frame.assign(word=(["red", "blue", "green"] * 45)[: len(small_dataset().frame)])
    dataset = Dataset("text", frame, "class")
    spn = templates.flat([Kernel("rbf", features=COLOUR, label="a"), Kernel("hamming", features=["word"], label="b")])
    who = entrants(spn, dataset, Choices())
    assert "late fusion" not in who.methods and "text as a column of 0 and 1" in who.remarks[-1]
    red = np.flatnonzero(frame["word"] == "red")
    others = np.setdiff1d(np.arange(len(frame)), red)
    prepared = prepare(who.pool, dataset, Choices(), SPLIT, rows=Split(others, red))
    columns = table_columns(prepared)
    expected = OneHotEncoder(handle_unknown="ignore").fit(frame[["word"]].iloc[others])
    scaler = StandardScaler().fit(frame[[*COLOUR, *SHAPE]].iloc[others])
    for rows, X in ((others, columns.train.X), (red, columns.test)):
        unfolded = expected.transform(frame[["word"]].iloc[rows]).toarray()
        np.testing.assert_array_equal(np.sort(X[:, len(COLOUR) + len(SHAPE) :]), np.sort(unfolded))
        np.testing.assert_allclose(
            X[:, : len(COLOUR) + len(SHAPE)], scaler.transform(frame[[*COLOUR, *SHAPE]].iloc[rows])
        )
    who = who.among(["lasso"])
    assert len(on_one_fold(who, dataset)) == len(who.methods)


def test_late_fusion_has_the_columns_of_each_view() -> None:
    dataset = small_dataset()
    prepared = prepare(small_entrants().pool, dataset, Choices(), SPLIT)
    rows = table_columns(prepared)
    names = np.array(prepared.features)
    assert {view: names[positions].tolist() for view, positions in rows.train.views.items()} == {
        "colour": COLOUR,
        "shape": SHAPE,
    }
    loose = table_columns(prepare(small_entrants().pool, dataset.with_views({"colour": COLOUR}), Choices(), SPLIT))
    assert {view: len(positions) for view, positions in loose.train.views.items()} == {
        "colour": len(COLOUR),
        NO_VIEW: len(SHAPE),
    }


def test_a_drawing_is_trained_as_its_settings_say() -> None:
    """Evidence weights beside certified ones of the same drawing; the other methods are left as they are."""
    dataset, spn = small_dataset(), small_structure()
    own, run = Drawn.of(spn, Settings()), Drawn.of(spn, Settings(weights="evidence", C=7.0))
    who = entrants(own, dataset, Choices(), others={"Run 1": run}).among([])
    assert list(who.methods) == [OWN, "Run 1"] and dict(who.options)["Run 1"]["weights"] == "evidence"
    first, second = on_one_fold(who, dataset)
    assert isinstance(first, Entry) and isinstance(second, Entry)
    prepared = prepare(
        who.pool, dataset, Choices(), SPLIT, rows=next(outer_folds(who.pool, dataset, Choices(), SPLIT, SMALL))[2]
    )
    matrices = {who.pool.label(leaf): K for leaf, K in prepared.kernels.items()}
    expected = who.over_kernels["Run 1"].fit(
        matrices, prepared.y_train, points=2, folds=2, random_state=SPLIT.seed, weights="evidence", n_threads=1
    )
    assert second.C == expected.C and np.isfinite(first.gap) and not np.isfinite(second.gap)


def test_given_matrices_are_groups_of_their_own() -> None:
    plain = small_dataset().labelled()
    X = plain.frame[COLOUR + SHAPE].to_numpy()
    matrices = {"left": X[:, :3] @ X[:, :3].T, "right": X[:, 3:] @ X[:, 3:].T}
    dataset = Dataset("matrices", plain.frame[["class"]], "class", matrices=matrices)
    who = entrants(templates.flat([Kernel("precomputed", label=name) for name in matrices]), dataset, Choices())
    assert dict(who.groups) == {"left": ("left",), "right": ("right",)}
    assert not who.over_columns and "because the kernels are given matrices" in who.remarks[-1]
    assert len(on_one_fold(who, dataset)) == len(who.methods)


SMALL = Plan(2, inner=2, points=2)


def on_one_fold(who: Entrants, dataset: Dataset) -> list[object]:
    return list(islice(compete(who, dataset, Choices(), SPLIT, SMALL), len(who.methods)))


def by_hand(name: str, classes: int) -> Iterator[tuple[np.ndarray, float]]:
    """Which rows a method answers rightly, and its C, per fold, from scikit-learn's folds and scaling."""
    dataset, method = small_dataset(classes), small_entrants(classes).methods[name]
    rows, y, _ = training_rows(small_structure(), dataset, Choices(), SPLIT)
    X = dataset.frame[COLOUR + SHAPE].to_numpy()[rows]
    for train, test in StratifiedKFold(3, shuffle=True, random_state=SPLIT.seed).split(X, y):
        scaler = StandardScaler().fit(X[train])
        if isinstance(method, ColumnMethod):
            learned = method.fit(
                Columns(scaler.transform(X[train])), y[train], points=2, folds=2, random_state=SPLIT.seed
            )
            yield learned.predict(scaler.transform(X[test])) == y[test], learned.C
            continue
        kernels, fitted = compute_kernels([method], scaler.transform(X[train]), COLOUR + SHAPE)
        found = method.fit(kernels, y[train], points=2, folds=2, random_state=SPLIT.seed, n_threads=1)
        answers = found.predict(cross_kernels(fitted, scaler.transform(X[test])))
        yield answers == y[test], found.C


@pytest.mark.parametrize(
    ("name", "classes"),
    [*((name, 2) for name in (OWN, "SimpleMKL", "average kernel", "best kernel", "lasso")), (OWN, 3), (RBF_SVM, 3)],
)
def test_the_numbers_are_the_librarys(name: str, classes: int) -> None:
    table = small_contest(classes).table
    found = table[table["method"] == name]
    expected = [(right.mean(), C) for right, C in by_hand(name, classes)]
    np.testing.assert_allclose(found[["accuracy", "C"]], expected)


def test_errors_of_differences_are_of_rows_that_two_methods_answer_otherwise() -> None:
    entries = [entry for entry in small_contest(2).results if isinstance(entry, Entry)]
    own = [right for right, _ in by_hand(OWN, 2)]
    for name in ("average kernel", "lasso"):
        errors = [entry.difference_errors for entry in entries if entry.method == name]
        apart = [right.astype(float) - beside for (right, _), beside in zip(by_hand(name, 2), own, strict=True)]
        assert any(np.ptp(d) > 0 for d in apart)
        expected = [d.std(ddof=1) / np.sqrt(len(d)) for d in apart]
        np.testing.assert_allclose([of_accuracy for of_accuracy, *_ in errors], expected)
    assert {entry.difference_errors for entry in entries if entry.method == OWN} == {(0.0, 0.0, 0.0)}


def test_the_summary_by_hand() -> None:
    contest = small_contest(2)
    summary, table = contest.summary().set_index("method"), contest.table
    scores = {m: part["accuracy"].to_numpy() for m, part in table.groupby("method")}
    for name, values in scores.items():
        assert summary.loc[name, "mean"] == pytest.approx(values.mean())
        p, n, z = values.mean(), contest.n_rows, stats.norm.isf(0.025)
        of_rows = np.sqrt(p * (1 - p) / n + (z / 2 / n) ** 2) / (1 + z**2 / n)  # Wilson's half width by z
        errors = values.std(ddof=1) * np.sqrt(1 / 3 + 21 / 42), of_rows
        assert summary.loc[name, "error"] == pytest.approx(max(errors))
        assert summary.loc[name, "by_rows"] == (errors[1] > errors[0])
    ratio = table["n_test"].mean() / table["n_train"].mean()
    assert ratio == 21 / 42
    rivals = [m for m in contest.methods if m != OWN]
    p = []
    for m in rivals:
        d = scores[m] - scores[OWN]
        errors = [r.difference_errors[0] for r in contest.results if isinstance(r, Entry) and r.method == m]
        of_rows = 2 * stats.norm.sf(abs(d.mean()) / (np.linalg.norm(errors) / 3)) if any(errors) else 0.0
        p.append(np.maximum(corrected_t_test(d, ratio), of_rows))
    np.testing.assert_allclose(summary.loc[rivals, "adjusted"], holm(p))
    assert summary.loc[OWN, "verdict"] == "reference" and contest.complete and contest.n_shared == 3


def test_portraits_have_the_weights_of_their_method() -> None:
    drawn = small_contest(2).portraits
    assert list(drawn) == [name for name in small_contest(2).methods if name not in (RBF_SVM, "lasso")]
    assert drawn[OWN].spn == small_structure() and set(drawn[OWN].beta) == set(small_structure().products)
    best, average = drawn["best kernel"], drawn["average kernel"]
    assert sorted(best.beta.values()) == [0.0] * 4 + [1.0] and set(average.beta.values()) == {1 / 5}


def made_up(scores: dict[str, list[float]], total: int = 99, repeats: int = 1) -> Contest:
    entries = [
        Entry(m, 1, k + 1, 80, 20, value, value, 3, 2, 1.0, 0.5, 0.0)
        for m, values in scores.items()
        for k, value in enumerate(values)
    ]
    return Contest(Plan(repeats=repeats), tuple(scores), tuple(entries), total, "made up", 100)


def test_verdicts_and_their_words() -> None:
    own = [0.90, 0.91, 0.89, 0.92, 0.90]
    worse = [value - 0.2 - 0.001 * k for k, value in enumerate(own)]
    alike = [0.91, 0.90, 0.90, 0.91, 0.90]
    contest = made_up({OWN: own, "poor": worse, "alike": alike})
    summary = contest.summary().set_index("method")
    assert summary["verdict"].to_dict() == {OWN: "reference", "poor": "worse", "alike": "no difference shown"}
    said = verdict(contest, "accuracy")
    assert "better than poor" in said and "your drawing and alike: with 5 folds" in said
    assert against(summary.loc["poor"].to_dict()).startswith("▼ worse, p-value ")
    assert ranking_words(contest, "accuracy") == "Your drawing, alike share the highest mean, 90.4 ± 0.8 %."


def test_the_same_difference_on_every_fold_is_no_verdict() -> None:
    own = [0.90, 0.95, 0.85, 0.90, 0.80]
    even = [value - 0.1 for value in own]  # but for rounding
    contest = made_up({OWN: own, "even": even, "wild": [0.6, 0.9, 0.9, 0.7, 0.9]})
    assert contest.summary()["verdict"].tolist() == ["reference", "cannot be told", "no difference shown"]
    said = verdict(contest, "accuracy")
    assert "from even by more than chance cannot be told" in said and "drawing and wild:" in said
    unscored = made_up({OWN: [*own[:4], np.nan], "other": own})
    assert "other by more than chance cannot be told: some folds have no such score" in verdict(unscored, "roc_auc")
    ((of_folds, of_rows),) = contest.visible()
    assert of_folds > 0.01 and not of_rows, "of the wild one, in a comparison that counted no rows"


def test_folds_that_agree_have_the_error_of_their_rows() -> None:
    """Two folds of 30 rows, 23 right in both: their spread is 0, but 46 of 60 rows leave 5 points open."""
    told = []
    for rounds in (1, 2):
        entries = [
            Entry(m, repeat, fold, 30, 30, 23 / 30, 0.8, 3, 2, 1.0, 0.5, 0.0, 23 / 30, "", (15, 15), (12, 11))
            for repeat in range(1, rounds + 1)
            for fold in (1, 2)
            for m in (OWN, "other")
        ]
        contest = Contest(Plan(2, rounds), (OWN, "other"), tuple(entries), 4 * rounds, "made up", 60)
        summary = contest.summary()
        assert summary["by_rows"].all()
        told.append(summary["error"].tolist())
        assert "± is one standard error, that of the number of rows" in errors_words(contest, "accuracy")
        assert "of so many rows" in str(methods_chart(summary, OWN).to_dict())
        assert contest.summary("balanced_accuracy")["error"].min() > 0.04 < contest.summary("roc_auc")["error"].min()
    assert told[0] == pytest.approx([error_of_rows("accuracy", 46 / 60, np.array([30, 30]), np.array([24, 22]))] * 2)
    assert told[0] == pytest.approx(told[1]), "a second round has no other rows"
    apart = [replace(entry, accuracy=0.9 if entry.fold == 1 else 0.3) for entry in entries]
    contest = replace(contest, results=tuple(apart))
    assert not contest.summary()["by_rows"].any() and not errors_words(contest, "accuracy")
    assert not made_up({OWN: [0.9, 0.9], "other": [0.9, 0.8]}).summary()["by_rows"].any(), "kept by an older release"


def leading(wins: int, losses: int, rounds: int = 1) -> Contest:
    """Five folds of 30 rows, on which the drawing is right on so many rows more, in the last fold on one more only."""
    entries = []
    for repeat, fold in product(range(1, rounds + 1), range(1, 6)):
        won = np.repeat([1.0, -1.0, 0.0], [wins - (fold == 5), losses, 30 - wins - losses + (fold == 5)])
        error = won.std(ddof=1) / np.sqrt(30)
        for m, right in ((OWN, 24 + won.sum()), ("other", 24)):
            errors = (error * (m != OWN),) * 3
            entries.append(
                Entry(m, repeat, fold, 120, 30, right / 30, 0.8, 3, 2, 1.0, 0.5, 0.0, right / 30, "", (30,),
                      (int(right),), errors)
            )  # fmt: skip
    return Contest(Plan(5, rounds), (OWN, "other"), tuple(entries), 99, "made up", 150)


def test_folds_that_agree_are_no_more_than_chance_where_their_rows_are_not() -> None:
    """9 of 150 rows more: over folds as good as certain, but methods that differ on 39 rows have it by chance."""
    contest = leading(wins=5, losses=3)
    differences = contest.scores()["other"] - contest.scores()[OWN]
    assert corrected_t_test(differences, 0.25) < 0.01
    summary = contest.summary().set_index("method")
    error = np.sqrt((39 - 9 * 9 / 150) / 150**2)  # as if all rows were of one fold
    assert summary.loc["other", "p"] == pytest.approx(2 * stats.norm.sf(9 / 150 / error), rel=0.1)
    assert summary.loc["other", "verdict"] == "no difference shown"
    assert verdict(contest, "accuracy").endswith(
        "a difference must reach 8 points to show; more rows tell smaller ones."
    )
    for rounds in (2, 3):
        again = leading(5, 3, rounds).summary().set_index("method")
        assert again.loc["other", "p"] == pytest.approx(summary.loc["other", "p"]), "a second round has no other rows"
    clear = leading(wins=2, losses=0).summary().set_index("method")
    assert clear.loc["other", "verdict"] == "worse" and clear.loc["other", "p"] < 0.01
    earlier = [replace(entry, rows=(), right=(), difference_errors=()) for entry in contest.results]  # type: ignore[arg-type]
    kept = replace(contest, results=tuple(earlier))
    assert kept.summary()["p"].tolist()[1] == corrected_t_test(differences, 0.25), "nobody counted rows"


def test_part_of_a_second_round_counts() -> None:
    rng = np.random.default_rng(0)
    entries = [
        Entry(m, repeat, fold, 80, 20, value, value, 3, 2, 1.0, 0.5, 0.0)
        for repeat, fold in [*((1, k) for k in range(1, 6)), (2, 1), (2, 2)]
        for m, value in ((OWN, 0.9 + 0.01 * rng.standard_normal()), ("poor", 0.7))
    ]
    contest = Contest(Plan(repeats=2), (OWN, "poor"), tuple(entries), 22, "made up", 100)
    assert len(contest.scores()) == contest.n_shared == 7
    assert contest.summary()["verdict"].tolist() == ["reference", "worse"]


def test_only_folds_that_all_have_done_count() -> None:
    contest = made_up({OWN: [0.9, 0.8, 0.7], "other": [0.6, 0.7]})
    assert contest.n_shared == 2 and contest.summary()["mean"].tolist() == pytest.approx([0.85, 0.65])
    assert contest.summary()["verdict"].tolist() == ["reference", "too few folds"]
    assert "too few" in verdict(contest, "accuracy")
    first = made_up({OWN: [0.9], "other": []})
    assert first.n_shared == 0 and first.summary()["method"].tolist() == [OWN]
    assert made_up({OWN: [], "other": []}).summary().empty


def test_the_time_left_is_told_from_the_first_fold_on_and_near_the_truth() -> None:
    """Of methods of which the last takes a thousand times as long as another; a fifth of the time is kernels."""
    seconds = {OWN: 1.0, "average": 0.1, "slow": 100.0}
    fold = [Entry(m, 1, k, 80, 20, 0.9, 0.9, 3, 2, 1.0, s, 0.0) for k in range(1, 6) for m, s in seconds.items()]
    spn = templates.figure1()
    last = [Portrait(m, spn, {}, 1.0, 1.25**2 * s, {}) for m, s in seconds.items()]
    clock = np.cumsum([1.25 * r.seconds for r in (*fold, *last)])
    for done in range(1, len(clock) + 1):
        contest = Contest(Plan(), tuple(seconds), (*fold, *last)[:done], 18, "made up", 100)
        left = contest.seconds_left(clock[done - 1])
        if done < 3:
            assert np.isnan(left)
        else:
            assert left == pytest.approx(clock[-1] - clock[done - 1], rel=0.05, abs=1e-9)
    assert [about(seconds) for seconds in (3.0, 42.0, 130.0, 9000.0)] == [
        "a few seconds",
        "about 40 s",
        "about 2 min",
        "about 2 h",
    ]


def test_it_can_be_stopped_at_any_time() -> None:
    found: list[object] = []
    asked = 0

    def tick(words: str) -> None:
        nonlocal asked
        asked += 1
        if len(found) == 5 and "best kernel" not in words:
            raise Stopped

    with pytest.raises(Stopped):
        for result in compete(small_entrants(), small_dataset(), Choices(), SPLIT, PLAN, tick):
            found.append(result)
    assert len(found) == 5 and asked > 20


def test_groups_are_held_out_whole_and_missing_classes_are_named() -> None:
    frame = small_dataset().frame.assign(patient=np.arange(90) // 3)
    spn, dataset = small_structure(), Dataset("groups", frame, "class", group="patient")
    for _, _, rows in outer_folds(spn, dataset, Choices(), SPLIT, replace(PLAN, repeats=2)):
        assert not set(frame["patient"].iloc[rows.train]) & set(frame["patient"].iloc[rows.test])
    lonely = frame.assign(patient=np.where(frame["class"] == "dull", np.arange(90) % 2, 2 + np.arange(90) % 20))
    with pytest.raises(DataError, match="holds every row of class 'dull'"):
        list(outer_folds(spn, Dataset("lonely", lonely, "class", group="patient"), Choices(), SPLIT, PLAN))


def grouped_classes(*groups: int, rows: int = 5) -> Dataset:
    """Classes of so many groups each, of so many rows each."""
    owners = np.repeat([f"c{c}" for c, n in enumerate(groups) for _ in range(n)], rows)
    X = np.random.default_rng(0).standard_normal((len(owners), 2)) + (owners == "c1")[:, None]
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=owners, g=np.arange(len(owners)) // rows)
    return Dataset("grouped", frame.sample(frac=1, random_state=0).reset_index(drop=True), "y", group="g")


def test_a_class_of_few_groups_has_as_many_folds() -> None:
    no_test, few, spn = SplitSettings(test_share=0.2), grouped_classes(5, 9), templates.flat(["a"])
    _, y, groups = training_rows(spn, few, Choices(), no_test)
    assert groups is not None
    assert fitting_plan(Plan(), spn, few, Choices(), no_test).folds == min(
        len(np.unique(groups[y == c])) for c in ("c0", "c1")
    )
    plan = fitting_plan(Plan(inner=3, points=2), spn, few, Choices(), no_test)
    who = entrants(spn, few, Choices())
    who = replace(who, methods={OWN: who.methods[OWN]})
    assert len(list(compete(who, few, Choices(), no_test, plan))) == planned(who, plan)
    with pytest.raises(DataError, match=r"training rows of class 'c0' are of [12] groups?, but 3 are needed"):
        fitting_plan(Plan(), spn, grouped_classes(3, 9), Choices(), no_test)
    y, groups = np.array(["a", "b"] * 2 + ["b"] * 4), np.array([0, 0, 0, 0, 1, 2, 3, 4])
    with pytest.raises(DataError, match="class 'a' are of 1 group, but 2 are needed"):
        inner_folds(y, groups, 3, 0)


def test_folds_are_as_many_as_the_smallest_class_allows() -> None:
    frame, spn = small_dataset().frame, small_structure()
    rare = frame.assign(**{"class": ["rare"] * 4 + ["usual"] * 86})
    assert fitting_plan(Plan(), spn, Dataset("rare", rare, "class"), Choices(), SPLIT).folds == 3
    single = frame.assign(**{"class": ["rare"] * 2 + ["usual"] * 88})
    with pytest.raises(DataError, match=r"class 'rare' has [12] training rows?, but 3 are needed"):
        fitting_plan(Plan(), spn, Dataset("single", single, "class"), Choices(), SPLIT)


def test_the_guided_experiment_finds_the_true_branch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lesson_module, "SIZES", (100,))
    monkeypatch.setattr(lesson_module, "PLAN", Plan(folds=2, inner=2, points=3))
    few = lesson_module.lesson_data().take(np.arange(220))  # the whole takes half a minute
    monkeypatch.setattr(lesson_module, "lesson_data", lambda: few)
    found = Lesson(tuple(lesson()))
    assert [r.method for r in found.results if isinstance(r, Portrait)] == [BRANCHES, TRUE, FLAT, BRANCHES]
    mean = found.curve.set_index("method")["mean"]
    assert mean[TRUE] > mean[FLAT] + 0.02
    assert accuracy_finding(found).startswith("With 100 rows")
    assert [r.rows for r in found.results if isinstance(r, Portrait)] == [100, 220, 220, 220]
    branches = found.portraits[BRANCHES]
    shares = {branches.spn.label(v): branches.shares[v] for v in branches.spn.children(branches.spn.root)}
    assert max(shares, key=shares.__getitem__) == "true" and shares["true"] > 0.5
    assert weights_finding(branches).startswith("The branch “true” has the largest share on training rows, ")
    for name in (TRUE, FLAT):  # what the page says of both
        assert all(weight > 0 for weight in found.portraits[name].beta.values())


def test_the_table_can_be_read_back() -> None:
    table = small_contest(2).table
    assert len(table) == len(small_contest(2).methods) * 3
    assert list(pd.unique(table["method"])) == list(small_contest(2).methods)
    assert table["gap"].max() <= 1e-3 and (table["active"] <= table["kernels"]).all()
