"""One chart of every kind, from small tables in which names may be anything."""

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd

from spnmkl import charts
from spnmkl.charts.look import AnyChart
from spnmkl.selection import CrossValidation, RegularizationPath
from spnmkl.solution import Record, Solution

HOSTILE = ("</script><script>alert(1)</script>", "a.b[0]:Q 'x' \"y\" \\", "{{7*7}} & <b>é</b>")


def record(k: int, names: Sequence[str]) -> Record:
    gap = 10.0 ** (1 - k)
    beta = {v: float(i + 1 + 0.1 * k) for i, v in enumerate(names)}
    return Record(k, 10.0 + gap, 10.0, gap, beta, (), 5, k, 0.1 * k)


def records(names: Sequence[str], n: int = 5) -> list[Record]:
    return [record(k, names) for k in range(1, n + 1)]


def validation(names: Sequence[str]) -> CrossValidation:
    C = np.array([0.1, 1.0, 10.0])
    scores = np.array([[0.8, 0.7], [0.9, 0.95], [0.85, np.nan]])
    return CrossValidation(C, scores, {v: scores * (i + 1) for i, v in enumerate(names)}, 1.0)


def path(names: Sequence[str]) -> RegularizationPath:
    solutions = []
    for k in range(3):
        solution = object.__new__(Solution)  # only its weights are looked at
        object.__setattr__(solution, "beta", {v: k * (i + 1.0) for i, v in enumerate(names)})
        solutions.append(solution)
    return RegularizationPath(np.array([0.1, 1.0, 10.0]), tuple(solutions))


def ranking(names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "kind": ["view"] * len(names),
            "id": list(names),
            "name": list(names),
            "held-out share": np.linspace(0.9, -0.1, len(names)),
            "standard error": np.full(len(names), 0.05),
            "part of Σg": np.linspace(0.8, 0.2, len(names)),
            "Σg ± over folds": np.full(len(names), 0.3),
            "survival": np.full(len(names), 0.8),
        }
    )


def projection(names: Sequence[str], n: int = 30) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    classes = [names[k % len(names)] for k in range(n)]
    right = np.arange(n) % 5 > 0
    return pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "y": rng.normal(size=n),
            "class": classes,
            "predicted": [c if r else names[0] for c, r in zip(classes, right, strict=True)],
            "decision": rng.normal(size=n),
            "part": ["train" if k % 3 else "test" for k in range(n)],
            "right": right,
            "row": np.arange(n) + 1,
        }
    )


def balance(names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({"class": names, "rows": range(2, 2 + len(names)), "share": 1 / len(names)})


def confusion(names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(np.arange(len(names) ** 2).reshape(len(names), -1), names, names)


def roc(names: Sequence[str]) -> pd.DataFrame:
    parts = [
        pd.DataFrame({"false positive rate": [0, 0.2, 1], "true positive rate": [0, 0.7, 1], "class": name})
        for name in names
    ]
    return pd.concat(parts, ignore_index=True)


def pushes(names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({"what": names, "class": names[-1], "push": np.linspace(-1, 1, len(names))})


def summary(names: Sequence[str]) -> pd.DataFrame:
    verdicts = ["reference", "better", "worse", "no difference shown"]
    return pd.DataFrame(
        {
            "method": names,
            "mean": np.linspace(0.7, 0.99, len(names)),
            "error": [np.nan, *np.full(len(names) - 1, 0.02)],
            "verdict": [verdicts[k % 4] for k in range(len(names))],
        }
    )


def learning(names: Sequence[str]) -> pd.DataFrame:
    parts = [summary(names).assign(rows=rows) for rows in (40, 80)]
    return pd.concat(parts)


def heatmap(names: Sequence[str]) -> AnyChart:
    size = 2 * len(names)
    return charts.heatmap_chart(np.eye(size), range(2, size + 1, 2), names)


# Kind → the chart in which the names stand.
CHARTS: dict[str, Callable[[Sequence[str]], AnyChart]] = {
    "class balance": lambda names: charts.class_balance_chart(balance(names)),
    "convergence": lambda names: charts.convergence_chart(records(names), 1e-3),
    "compared": lambda names: charts.compare_convergence_chart({name: records(names) for name in names}, 1e-3),
    "weights": lambda names: charts.weights_chart(records(names), {}),
    "folds": lambda names: charts.cv_chart(validation(names)),
    "stability": lambda names: charts.stability_chart(validation(names), {}),
    "path": lambda names: charts.path_chart(path(names), {}, 1.0, 0.2),
    "confusion": lambda names: charts.confusion_chart(confusion(names)),
    "roc": lambda names: charts.roc_chart(roc(names), names),
    "projection": lambda names: charts.projection_chart(projection(names), names),
    "ranking": lambda names: charts.ranking_chart(ranking(names)),
    "pushes": lambda names: charts.pushes_chart(pushes(names), names),
    "heat map": heatmap,
    "methods": lambda names: charts.methods_chart(summary(names), names[0]),
    "methods in grey": lambda names: charts.methods_chart(summary(names), names[0], "roc_auc", grey=True),
    "learning": lambda names: charts.learning_chart(learning(names)),
}
NAMELESS = ("convergence", "folds")
