"""Columns in the wrong rows: against scikit-learn's permutation importance, by brute force, and without a signal."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from tolerances import ROUNDING

from spnmkl import DataError, Kernel, ParameterError, SPNMKLClassifier, templates
from spnmkl.charts import to_svg
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.importance import ColumnFold, ColumnImportance, ImportanceStep, column_importance, permuting
from spnmkl.importance.alike import alike, column_groups
from spnmkl.importance.columns import ColumnWork, measured_columns
from spnmkl.importance.folds import FoldData, TableFolds
from spnmkl.importance.measuring import Measuring
from spnmkl.importance.permuting import FoldModel
from spnmkl.importance.restriction import FULL, Removals
from spnmkl.kernels import cross_kernels, fit_kernels
from spnmkl.measures import SCORINGS
from spnmkl.solvers import solve
from spnmkl.study.contest import Plan


def table(n: int = 90, columns: int = 8, classes: int = 2) -> tuple[pd.DataFrame, np.ndarray]:
    """Labels that the first two columns make; column c3 nearly repeats c0, upside down."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, columns))
    X[:, 3] = -X[:, 0] + 0.1 * rng.standard_normal(n)
    made = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n)
    return pd.DataFrame(X, columns=[f"c{k}" for k in range(columns)]), made.argsort().argsort() * classes // n


def drawing() -> Any:
    return templates.flat([Kernel("rbf", label="wide"), Kernel("linear", features=["c0", "c1", "c2"], label="few")])


ASKED: dict[str, Any] = {"C": 1.0, "cv": 3, "transformer": StandardScaler(), "random_state": 2}


def test_the_same_permutations_as_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()

    def as_scikit_learn(n: int, times: int, seed: object) -> np.ndarray:
        rng = np.random.RandomState(np.random.RandomState(5).randint(np.iinfo(np.int32).max + 1))
        index, order, found = np.arange(n), np.arange(n), []
        for _ in range(times):
            rng.shuffle(index)
            order = order[index]
            found.append(order)
        return np.array(found)

    monkeypatch.setattr("spnmkl.importance.columns.shuffles", as_scikit_learn)
    found = column_importance(drawing(), X, y, alike=1.0, permutations=4, **ASKED)
    assert found.screening == "none" and len(found.table) == 8
    drops = {found.groups[k][0]: [fold.drops[at] for fold in found.folds] for at, k in enumerate(found.tested)}
    splits = StratifiedKFold(3, shuffle=True, random_state=2).split(X, y)
    for fold, (train, test) in enumerate(splits):
        scaler = StandardScaler().set_output(transform="pandas").fit(X.iloc[train])
        model = SPNMKLClassifier(drawing(), C=1.0).fit(scaler.transform(X.iloc[train]), y[train])
        expected = permutation_importance(model, scaler.transform(X.iloc[test]), y[test], n_repeats=4, random_state=5)
        for k, column in enumerate(X.columns):
            assert drops[column][fold] == pytest.approx(expected.importances_mean[k], abs=ROUNDING)


def model_of(X: np.ndarray, y: np.ndarray, spn: Any, **given: Any) -> FoldModel:
    """Trained on two thirds of the rows."""
    train, test = np.arange(len(X)) % 3 > 0, np.arange(len(X)) % 3 == 0
    names = [f"c{k}" for k in range(X.shape[1])]
    kernels, fitted = fit_kernels(spn, X[train], names)
    by_label = {spn.label(leaf): leaf for leaf in spn.kernels}
    data = FoldData(
        {label: kernels[leaf] for label, leaf in by_label.items()},
        {label: cross_kernels(fitted, X[test])[leaf] for label, leaf in by_label.items()},
        {label: fitted[leaf] for label, leaf in by_label.items()},
        X[test],
        {name: (k,) for k, name in enumerate(names)},
        y[train],
        y[test],
        None,
    )
    return FoldModel.of(solve(spn, kernels, y[train], **given), data)


@pytest.mark.parametrize("classes", [2, 3])
def test_losses_by_brute_force(classes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table(classes=classes)
    model = model_of(X.to_numpy(), y, drawing())
    orders = permuting.shuffles(len(model.X), 3, [0])
    monkeypatch.setattr(permuting, "_ENTRIES", 1)  # one order at a time
    drop, lost, square = model.loss([0, 3], orders, SCORINGS["accuracy"])
    rows, scores = [], []
    for order in orders:
        moved = model.X.copy()
        moved[:, [0, 3]] = model.X[order][:, [0, 3]]
        decision = model.solution.decision_function(cross_kernels(model.fitted, moved)).reshape(len(moved), -1)
        signs = np.where(model.y[:, None] == np.arange(classes), 1, -1)[:, -decision.shape[1] :]
        answers = decision.argmax(axis=1) if classes > 2 else (decision[:, 0] > 0).astype(int)
        base = model.decision.argmax(axis=1) if classes > 2 else (model.decision[:, 0] > 0).astype(int)
        rows.append((signs * (model.decision - decision)).sum(axis=1))
        scores.append((base == model.y).mean() - (answers == model.y).mean())
    assert drop == pytest.approx(np.mean(scores))
    assert lost == pytest.approx(np.mean(rows)) and square == pytest.approx((np.mean(rows, axis=0) ** 2).mean())
    all_at_once = model.loss([0, 3], orders, SCORINGS["accuracy"])
    assert all_at_once == pytest.approx((drop, lost, square))


def test_a_linear_decision_loses_what_the_gradient_foretells() -> None:
    X, y = table()
    spn = templates.flat([Kernel("linear", normalize="none", label="linear")])
    model = model_of(X.to_numpy(), y, spn)
    orders = permuting.shuffles(len(model.X), 3, [0])
    groups = [["c0", "c3"], ["c1"], ["c2", "c4", "c5"], ["c6"], ["c7"]]
    foretold = model.screened(groups, 5, orders)
    changes = [
        np.mean([np.abs(F - model.decision).mean() for F in model.permuted(model.positions(group), orders)])
        for group in groups
    ]
    np.testing.assert_allclose(foretold, changes, rtol=1e-6)
    assert foretold.argmax() in (0, 1)


def test_blocks_find_what_permuting_each_would() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(120, 40)).astype(float)
    y = (codes[:, 7] == codes[:, 21]).astype(int)
    spn = templates.flat([Kernel("hamming", features=[f"c{k}" for k in (7, 21, *range(22, 40))], label="some")])
    model = model_of(codes, y, spn, C=10.0)
    assert not model.differentiable
    groups = [[f"c{k}"] for k in range(40)]
    orders = permuting.shuffles(len(model.X), 1, [0])
    found = model.screened(groups, 6, orders)
    each = np.array([np.abs(next(model.permuted([k], orders)) - model.decision).mean() for k in range(40)])
    assert (found > 0).sum() == 6 and not found[:7].any()
    np.testing.assert_allclose(found[found > 0], each[found > 0])
    assert set(np.flatnonzero(found)) & set(np.argsort(-each)[:4])


def test_screening_keeps_what_matters() -> None:
    X, y = table(columns=60)
    spn = templates.flat([Kernel("rbf", label="all")])
    few = column_importance(spn, X, y, most=5, **ASKED)
    every = column_importance(spn, X, y, most=60, **ASKED)
    assert few.screening == "gradient" and every.screening == "none" and every.rest is None
    assert few.table["columns"].iloc[:2].tolist() == every.table["columns"].iloc[:2].tolist()
    assert set(few.table["columns"].iloc[:2]) == {"c0, c3", "c1"}
    same = every.table.set_index("columns").loc[few.table["columns"]]
    np.testing.assert_allclose(few.table["margin"], same["margin"])  # the same permutations for all
    assert few.rest is not None and few.rest.mean < few.table["margin"].iloc[1]
    assert "c0, c3" in few.sentences[0] and "The other 54 columns together" in few.sentences[1]
    assert "screened by the gradient" in few.method and "(0.9 or more" not in few.method


def test_where_labels_mean_nothing_no_column_is_shown() -> None:
    rng, shown = np.random.default_rng(0), 0
    for _ in range(10):
        X, y = rng.standard_normal((60, 40)), rng.permutation(np.repeat([0, 1], 30))
        found = column_importance(templates.flat([Kernel("linear", label="all")]), X, y, C=10.0, cv=3, most=5)
        shown += bool((found.table["p_adjusted"] < 0.05).any())
    assert shown <= 2  # 0.5 expected; more than 2 with a probability of 1 %


def test_groups_are_chains_of_correlation() -> None:
    rng = np.random.default_rng(0)
    a, other = rng.standard_normal((2, 4000))
    b = a + 0.5 * rng.standard_normal(4000)
    c = b + 0.5 * rng.standard_normal(4000)
    V = np.column_stack([a, other, -b, c, np.ones(4000)])
    r = np.abs(np.corrcoef(V[:, :4].T))
    assert r[0, 3] < 0.85 < min(r[0, 2], r[2, 3])  # a and c are joined by b alone
    assert alike(V, 0.85).tolist() == [0, 1, 0, 0, 2]
    holes = V.copy()
    holes[0, 0] = np.nan
    assert alike(holes, 0.85).tolist() == [0, 1, 0, 0, 2]
    frame = pd.DataFrame(V[:, :3], columns=["a", "o", "b"]).assign(word="x")
    assert column_groups(frame[["a", "o", "b"]], ["a", "word", "b"], 0.85) == [("a", "b"), ("word",)]
    with pytest.raises(ParameterError, match="alike must be a correlation"):
        alike(V, 0.0)


def test_groups_against_scipys_single_linkage() -> None:
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    rng = np.random.default_rng(3)
    V = rng.standard_normal((50, 6)) @ rng.standard_normal((6, 40)) + 0.8 * rng.standard_normal((50, 40))
    distance = 1 - np.abs(np.corrcoef(V.T))
    np.fill_diagonal(distance, 0)
    expected = fcluster(linkage(squareform(distance, checks=False), "single"), 1 - 0.7, "distance")
    found = alike(V, 0.7)
    assert 1 < len(set(found.tolist())) < 40
    assert len(set(zip(found.tolist(), expected.tolist(), strict=True))) == len(set(found.tolist()))


def test_stopped_in_the_middle_and_kept() -> None:
    X, y = table()

    def until_one(step: ImportanceStep) -> bool:
        return step.folds < 1

    part = column_importance(drawing(), X, y, most=3, callback=until_one, **ASKED)
    assert len(part.folds) == 1 and not part.complete and "1 of 3 folds" in part.method
    assert part.table["margin_low"].isna().all()
    again = ColumnImportance.from_dict(json.loads(json.dumps(part.to_dict())))
    pd.testing.assert_frame_equal(again.table, part.table)
    nothing = column_importance(drawing(), X, y, stop=lambda: True, **ASKED)
    assert nothing.folds == () and nothing.table.empty and "stopped" in nothing.sentences[0]


def test_columns_of_a_loaded_table_with_text() -> None:
    X, y = table()
    frame = X.assign(word=np.where(X["c1"] > 0, "up", "down"), y=y)
    dataset = Dataset("table", frame, "y")
    spn = templates.flat(
        [Kernel("linear", features=["c0", "c4"], label="n"), Kernel("linear", features=["word"], label="t")]
    )
    folds = TableFolds.of(spn, dataset, Choices(categorical="one-hot"), SplitSettings(0.0), Plan(3))
    work = Measuring(Removals({FULL: spn}, {}, {}, {}), folds, C=1.0)
    found = measured_columns(ColumnWork(work))
    assert set(found.table["columns"]) == {"c0", "c4", "word"}
    assert found.table.set_index("columns").loc["word", "margin"] > 0.2


def test_what_does_not_fit_is_said_in_one_sentence() -> None:
    X, y = table()
    with pytest.raises(DataError, match="no column 'zz'"):
        column_importance(drawing(), X, y, ["zz"], **ASKED)
    with pytest.raises(DataError, match="No kernel of the drawing sees any"):
        column_importance(templates.flat({"a": ["c0"]}), X, y, ["c5"], **ASKED)
    with pytest.raises(ParameterError, match="most must be a whole number"):
        column_importance(drawing(), X, y, most=0, **ASKED)


def test_the_figure_shows_the_table() -> None:
    X, y = table()
    found = column_importance(drawing(), X, y, ["c0", "c1", "c2", "c3"], **ASKED)
    values = [row for rows in found.figure().to_dict()["datasets"].values() for row in rows if "margin" in row]
    assert {row["name"]: row["margin"] for row in values} == found.table.set_index("columns")["margin"].to_dict()
    assert {row["name"]: row["kind"] for row in values if row["name"] == "c2"} == {"c2": "not shown"}
    assert "where these columns stand in the wrong rows" in to_svg(found.figure(grey=True))


def test_kernels_of_one_fold_at_a_time_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    models, held = [], []
    make = FoldModel.of.__func__  # type: ignore[attr-defined]

    def of(cls: type[FoldModel], *given: Any) -> FoldModel:
        models.append(make(cls, *given))
        return models[-1]

    monkeypatch.setattr(FoldModel, "of", classmethod(of))
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = X[:, 0] > 0
    column_importance(
        templates.flat([Kernel("rbf")]), X, y, C=1.0, cv=3, most=1,
        callback=lambda step: held.append(sum("cross" in vars(model) for model in models)),
    )  # fmt: skip
    assert len(models) == 3 and max(held) == 1


def test_what_some_trainings_use_and_others_do_not_is_not_said_of_all() -> None:
    """Over rows both columns are used beyond doubt; the second by two of five trainings only."""
    used = [(0.30, 0.5), (0.28, 0.4), (0.31, 0.0), (0.29, 0.0), (0.30, 0.0)]
    made = [ColumnFold(1, k + 1, 80, 20, 1.0, 0.9, 1.0, x, x, (0.12, 0.25)) for k, x in enumerate(used)]
    found = ColumnImportance((("steady",), ("moody",)), (0, 1), tuple(made), 5, "accuracy", "100 rows", 0.9, 5)
    table = found.table.set_index("columns")
    assert (table["p_adjusted"] < 0.05).all() and table.loc["moody", "margin_low"] < 0 < table.loc[
        "steady", "margin_low"
    ]
    assert found.sentences[0].endswith("uses steady.")
    assert "moody by more than chance too" in found.sentences[1] and "another training may not" in found.sentences[1]
    drawn = found.figure().to_dict()
    kinds = {row["name"]: row["kind"] for rows in drawn["datasets"].values() for row in rows if "kind" in row}
    assert kinds == {"steady": "shown", "moody": "not shown"}


def test_part_of_a_second_round_is_no_other_rows() -> None:
    folds = [ColumnFold(1, k, 80, 20, 1.0, 0.9, 1.0, (0.1,), (0.1,), (0.2,)) for k in range(1, 6)]
    once = ColumnImportance((("a",),), (0,), tuple(folds), 10, "accuracy", "100 rows", 0.9, 5)
    more = replace(once, folds=(*folds, replace(folds[0], repeat=2)))
    assert more.table["p_adjusted"][0] == pytest.approx(once.table["p_adjusted"][0])
