"""Methods over columns against scikit-learn's own grid search and stacking on the same folds."""

from functools import cache
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, StackingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, l1_min_c

from spnmkl.baselines import Columns, FittedColumns, column_methods
from spnmkl.baselines import learners as learners_module
from spnmkl.errors import DataError, Stopped
from spnmkl.threads import single_threaded

POINTS, FOLDS, SEED = 3, 3, 5
VIEWS = {"left": [0, 1], "right": [2, 3, 4]}
METHODS = column_methods()


@pytest.fixture(autouse=True)
def few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many that trees are still grown in several steps."""
    monkeypatch.setattr(learners_module, "TRIED", 6)
    monkeypatch.setattr(learners_module, "STEP", 4)
    monkeypatch.setattr(learners_module, "ROUNDS", (2, 6))
    monkeypatch.setattr(learners_module, "PACE", 3)
    monkeypatch.setitem(learners_module.FOREST.final, "trees", 9)


@cache
def rows(classes: int = 2, n: int = 90) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Columns, labels and groups of three rows each."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(n, 5))
    signal = X[:, 0] + X[:, 2] * X[:, 3] + 0.3 * rng.normal(size=n)
    return X, np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes)), np.arange(n) // 3


def fitted(name: str, classes: int = 2, **options: Any) -> FittedColumns:
    X, y, _ = rows(classes)
    asked = {"points": POINTS, "folds": FOLDS, "random_state": SEED, **options}
    return METHODS[name].fit(Columns(X, VIEWS), y, **asked)


def searched(model: Any, grid: Any, classes: int, groups: bool = False, scoring: str = "accuracy") -> GridSearchCV:
    X, y, group = rows(classes)
    kind = StratifiedGroupKFold if groups else StratifiedKFold
    splits = list(kind(FOLDS, shuffle=True, random_state=SEED).split(X, y, group if groups else None))
    with single_threaded():
        return GridSearchCV(model, grid, cv=splits, scoring=scoring).fit(X, y)


def new_rows() -> np.ndarray:
    return np.random.default_rng(9).normal(size=(200, 5))


def lasso(classes: int) -> tuple[Any, Any]:
    X, y, _ = rows(classes)
    one = LogisticRegression(l1_ratio=1, solver="liblinear", max_iter=1000, random_state=SEED)
    grid = (l1_min_c(X, y, loss="log") * np.logspace(0.1, 3.5, POINTS)).tolist()
    return (one, {"C": grid}) if classes == 2 else (OneVsRestClassifier(one), {"estimator__C": grid})


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(("groups", "scoring"), [(False, "accuracy"), (True, "balanced_accuracy")])
def test_the_lasso_is_scikit_learns(classes: int, groups: bool, scoring: str) -> None:
    search = searched(*lasso(classes), classes, groups, scoring)
    found = fitted("lasso", classes, groups=rows(classes)[2] if groups else None, scoring=scoring)
    assert next(iter(search.best_params_.values())) == found.C
    assert found.validation == pytest.approx(search.best_score_)
    np.testing.assert_array_equal(found.predict(new_rows()), search.predict(new_rows()))
    best = search.best_estimator_
    coefficients = best.coef_ if classes == 2 else np.vstack([part.coef_ for part in best.estimators_])
    assert found.model.used == (coefficients != 0).any(axis=0).sum()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_svm_is_scikit_learns(classes: int) -> None:
    """By hand: no grid of scikit-learn's has widths that follow the training rows of each fold."""
    X, y, _ = rows(classes)
    search: dict[tuple[float, float], list[float]] = {}
    widths, grid = (1 / 16, 1 / 4, 1.0, 4.0, 16.0), np.logspace(-2, 3, POINTS).tolist()
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y):
        for width in widths:
            gamma = width / (X.shape[1] * X[train].var())
            for C in grid:
                score = SVC(C=C, gamma=gamma, break_ties=classes > 2).fit(X[train], y[train]).score(X[test], y[test])
                search.setdefault((C, width), []).append(score)
    best = max(((C, w) for w in widths for C in grid), key=lambda pair: np.mean(search[pair]))
    found = fitted("RBF-SVM", classes)
    assert (found.setting["C"], found.setting["width"]) == best
    plain = SVC(C=best[0], gamma=best[1] / (X.shape[1] * X.var()), break_ties=classes > 2).fit(X, y)
    np.testing.assert_array_equal(found.predict(new_rows()), plain.predict(new_rows()))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_forest_grown_in_steps_is_scikit_learns(classes: int) -> None:
    X, y, _ = rows(classes)
    grid = {"max_features": ["sqrt", 1 / 3], "min_samples_leaf": [1, 5]}
    search = searched(RandomForestClassifier(6, random_state=SEED), grid, classes)
    found = fitted("random forest", classes)
    assert found.setting == {
        "share": search.best_params_["max_features"],
        "leaf": search.best_params_["min_samples_leaf"],
    }
    trees = learners_module.FOREST.final["trees"]
    plain = RandomForestClassifier(trees, random_state=SEED, **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(found.predict(new_rows()), plain.predict(new_rows()))


@pytest.mark.parametrize("classes", [2, 3])
def test_boosting_grown_in_stages_is_scikit_learns(classes: int) -> None:
    model = HistGradientBoostingClassifier(learning_rate=0.1, early_stopping=False, random_state=SEED)
    order = [{"max_leaf_nodes": [s], "min_samples_leaf": [f], "max_iter": [2, 6]} for s in (4, 16) for f in (5, 20)]
    search = searched(model, order, classes)
    found = fitted("boosting", classes)
    best = search.best_params_
    assert found.setting == {
        "leaves": best["max_leaf_nodes"],
        "leaf": best["min_samples_leaf"],
        "rounds": best["max_iter"],
    }
    np.testing.assert_array_equal(found.predict(new_rows()), search.predict(new_rows()))


@pytest.mark.parametrize("classes", [2, 3])
def test_late_fusion_is_scikit_learns_stacking_of_the_best_model_of_each_view(classes: int) -> None:
    X, y, _ = rows(classes)
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(X, y))
    grids = [{"C": np.logspace(-3, 2, 2).tolist()}, {"min_samples_leaf": [1, 5]}]
    models = [LogisticRegression(max_iter=1000), RandomForestClassifier(6, random_state=SEED)]
    parts = []
    for view, columns in VIEWS.items():
        searches = [
            GridSearchCV(model, grid, cv=splits).fit(X[:, columns], y)
            for model, grid in zip(models, grids, strict=True)
        ]
        best = max(searches, key=lambda search: search.best_score_).best_estimator_
        only = ColumnTransformer([(view, "passthrough", columns)])
        parts.append((view, make_pipeline(only, best)))
    stacked = StackingClassifier(parts, LogisticRegression(max_iter=1000), cv=splits).fit(X, y)
    found = fitted("late fusion", classes)
    np.testing.assert_allclose(found.decision_function(new_rows()), stacked.decision_function(new_rows()), atol=1e-6)
    assert set(found.setting) == set(VIEWS) and found.model.used == 5


def test_late_fusion_needs_views() -> None:
    X, y, _ = rows()
    with pytest.raises(DataError, match="there is no view"):
        METHODS["late fusion"].fit(Columns(X), y, folds=2)


@pytest.mark.parametrize("name", METHODS)
def test_it_stops_within_a_training(name: str) -> None:
    """The third tick comes before the first setting is done on all folds, in a forest before its first fold is."""
    ticks = 0

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        if ticks == 3:
            raise Stopped

    with pytest.raises(Stopped):
        fitted(name, tick=tick)
    assert ticks == 3


@pytest.mark.parametrize("name", ["lasso", "late fusion"])
def test_workers_of_joblib_find_the_same(name: str) -> None:
    alone = fitted(name)
    with joblib.parallel_config("threading", n_jobs=2):
        together = fitted(name)
    assert alone.setting == together.setting
    np.testing.assert_array_equal(alone.decision_function(new_rows()), together.decision_function(new_rows()))


def test_a_column_that_never_changes_is_no_obstacle() -> None:
    X, y, _ = rows()
    for name in ("lasso", "RBF-SVM"):
        found = METHODS[name].fit(Columns(np.zeros_like(X)), y, points=2, folds=2)
        assert len(set(found.predict(np.zeros((3, 5))))) == 1


def test_a_fold_that_has_no_area_is_left_out() -> None:
    """Of six groups one has one class alone, and is a fold of its own."""
    X, y, _ = rows()
    groups = np.arange(len(y)) // 15
    y = np.where(groups == 0, 1, y)
    folds = StratifiedGroupKFold(6, shuffle=True, random_state=SEED).split(X, y, groups)
    splits = [(train, test) for train, test in folds if len(set(y[test])) == 2]
    one = LogisticRegression(l1_ratio=1, solver="liblinear", max_iter=1000, random_state=SEED)
    grid = {"C": (l1_min_c(X, y, loss="log") * np.logspace(0.1, 3.5, POINTS)).tolist()}
    search = GridSearchCV(one, grid, cv=splits, scoring="roc_auc").fit(X, y)
    found = METHODS["lasso"].fit(
        Columns(X), y, points=POINTS, folds=6, groups=groups, scoring="roc_auc", random_state=SEED
    )
    assert len(splits) == 5 and search.best_params_["C"] == found.C
    assert found.validation == pytest.approx(search.best_score_, rel=1e-9)


def test_a_design_without_main_effects_is_no_obstacle() -> None:
    X = np.array([[a, b] for a in (-1.0, 1.0) for b in (-1.0, 1.0)] * 6)
    found = METHODS["lasso"].fit(Columns(X), X[:, 0] * X[:, 1] > 0, points=2, folds=2)
    assert found.model.used == 0
