"""How scikit-learn's models are trained with a setting, in steps between which they can be stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, l1_min_c

from spnmkl.baselines.standard import WIDTHS
from spnmkl.circuit.program import Floats

TREES = 300
TRIED = 100  # trees of a forest while its settings are chosen
STEP = 20  # trees between two looks at Stop
SHARES = "sqrt", 1 / 3  # of the columns, among which a split of a tree is sought
LEAVES = 1, 5  # rows in the smallest leaf of a tree
RATE = 0.1
ROUNDS = 10, 20, 40, 80, 160  # of boosting, of which one number is chosen
PACE = 40  # of them between two looks at Stop
SIZES = 4, 16  # leaves of a tree in boosting
FEWEST = 5, 20  # rows in a leaf there
LINEAR_C = -3, 2  # powers of ten
SVM_C = -2, 3
WAIT = 0.2  # seconds between two looks at Stop while libsvm or liblinear work
Setting = dict[str, Any]
Tick = Callable[[], object]
Stages = Iterator[tuple[Setting, Any]]


@dataclass(frozen=True)
class Learner:
    """A way to train: the settings to choose from, and the models that a training with one of them passes.

    Attributes
    ----------
    grid : from rows, labels and a number of points to settings.
    stages : from rows, labels, a setting, a seed and a tick to settings with models.
    final : what the model that is kept has beyond the setting that was chosen.
    """

    grid: Callable[[Floats, NDArray, int], list[Setting]]
    stages: Callable[[Floats, NDArray, Setting, int, Tick], Stages]
    final: Mapping[str, Any] = field(default_factory=dict)

    def last(self, X: Floats, y: NDArray, setting: Setting, seed: int, tick: Tick) -> Any:
        """The model with this setting."""
        model = None
        for _, model in self.stages(X, y, setting, seed, tick):  # noqa: B007
            pass
        return model


def setting_words(setting: Setting) -> str:
    """In a line: C 0.1, width 4."""
    return ", ".join(f"{k} {value if isinstance(value, str) else format(value, '.3g')}" for k, value in setting.items())


def decision_values(model: Any, X: Floats) -> Floats:
    """(rows,) of two classes, the second where positive; (rows, classes) of more, the largest one."""
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    P = model.predict_proba(X)
    return P[:, 1] - P[:, 0] if P.shape[1] == 2 else P


def probabilities(model: Any, X: Floats) -> Floats:
    """(rows, classes), without the first of two, which tells nothing more."""
    P = model.predict_proba(X)
    return P[:, 1:] if P.shape[1] == 2 else P


def used_columns(model: Any) -> int:
    """Those with a weight that is not zero, where the model has weights; else all."""
    parts = model.estimators_ if isinstance(model, OneVsRestClassifier) else [model]
    if isinstance(parts[0], LogisticRegression):
        return int(np.any([(part.coef_ != 0).any(axis=0) for part in parts], axis=0).sum())
    return int(model.n_features_in_)


def _fitted(model: Any, X: Floats, y: NDArray, tick: Tick) -> Any:
    """Trained beside this thread, which looks at Stop; after a Stop, what cannot be interrupted ends unseen."""
    wrong: list[BaseException] = []

    def work() -> None:
        try:
            model.fit(X, y)
        except BaseException as error:
            wrong.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    while worker.is_alive():
        worker.join(WAIT)
        tick()
    if wrong:
        raise wrong[0]
    return model


def _lasso_grid(X: Floats, y: NDArray, points: int) -> list[Setting]:
    """From just above the C below which every weight is zero."""
    smallest = _smallest_C(X, y)
    return [{"C": float(C)} for C in smallest * np.logspace(0.1, 3.5, points)]


def _smallest_C(X: Floats, y: NDArray) -> float:
    try:
        return float(l1_min_c(X, y, loss="log"))
    except ValueError:  # no column goes along with the classes, as in a balanced design: every weight is zero at any C
        return 1.0


def _lasso(X: Floats, y: NDArray, setting: Setting, seed: int, tick: Tick) -> Stages:
    one = LogisticRegression(C=setting["C"], l1_ratio=1, solver="liblinear", max_iter=1000, random_state=seed)
    model = one if len(np.unique(y)) == 2 else OneVsRestClassifier(one)
    yield setting, _fitted(model, X, y, tick)


def _linear_grid(X: Floats, y: NDArray, points: int) -> list[Setting]:
    return [{"C": float(C)} for C in np.logspace(*LINEAR_C, points)]


def _linear(X: Floats, y: NDArray, setting: Setting, seed: int, tick: Tick) -> Stages:
    yield setting, _fitted(LogisticRegression(C=setting["C"], max_iter=1000), X, y, tick)


def _svm_grid(X: Floats, y: NDArray, points: int) -> list[Setting]:
    return [{"C": float(C), "width": width} for width in WIDTHS for C in np.logspace(*SVM_C, points)]


def _svm(X: Floats, y: NDArray, setting: Setting, seed: int, tick: Tick) -> Stages:
    variance = float(X.var())
    gamma = setting["width"] / (X.shape[1] * variance) if variance else 1.0  # "scale", times a width
    yield setting, _fitted(SVC(C=setting["C"], gamma=gamma, break_ties=len(np.unique(y)) > 2), X, y, tick)


def _forest_grid(X: Floats, y: NDArray, points: int) -> list[Setting]:
    return [{"share": share, "leaf": leaf} for share in SHARES for leaf in LEAVES]


def _forest(X: Floats, y: NDArray, setting: Setting, seed: int, tick: Tick) -> Stages:
    model = RandomForestClassifier(
        0,
        max_features=setting.get("share", "sqrt"),
        min_samples_leaf=setting["leaf"],
        warm_start=True,
        random_state=seed,
    )
    trees = setting.get("trees", TRIED)
    for grown in (*range(STEP, trees, STEP), trees):
        model.set_params(n_estimators=grown).fit(X, y)
        tick()
    yield setting, model


def _boosting_grid(X: Floats, y: NDArray, points: int) -> list[Setting]:
    return [{"leaves": size, "leaf": fewest} for size in SIZES for fewest in FEWEST]


def _boosting(X: Floats, y: NDArray, setting: Setting, seed: int, tick: Tick) -> Stages:
    """Grown further from stage to stage; each is asked before the next."""
    model = HistGradientBoostingClassifier(
        learning_rate=RATE,
        max_leaf_nodes=setting["leaves"],
        min_samples_leaf=setting["leaf"],
        early_stopping=False,
        warm_start=True,
        random_state=seed,
    )
    last = setting.get("rounds", ROUNDS[-1])
    stages = [rounds for rounds in ROUNDS if rounds <= last]
    for rounds in sorted({*range(PACE, last, PACE), *stages}):
        model.set_params(max_iter=rounds).fit(X, y)
        tick()
        if rounds in stages:
            yield {**setting, "rounds": rounds}, model


LINEAR = Learner(_linear_grid, _linear)
FOREST = Learner(_forest_grid, _forest, {"trees": TREES})
LEARNERS: Mapping[str, Learner] = {
    "lasso": Learner(_lasso_grid, _lasso),
    "random forest": FOREST,
    "boosting": Learner(_boosting_grid, _boosting),
    "RBF-SVM": Learner(_svm_grid, _svm),
}
