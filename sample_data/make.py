"""Generates the sample tables: ``python sample_data/make.py``. The same files every time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.structure import SPN, Kernel, Product, Sum
from spnmkl.structure.layout import arranged

FOLDER = Path(__file__).parent
Floats = NDArray[np.float64]

LEFT, RIGHT = [f"left__u{k}" for k in range(1, 5)], [f"right__v{k}" for k in range(1, 5)]


def true_structure() -> SPN:
    """K = β1(β2K[u1] + β3K[u2])∘(β4K[v1] + β5K[v2])."""
    left, right = (
        Sum(*(Product(Kernel("rbf", gamma=1.0, features=[name], label=name), label=name) for name in names), label=view)
        for view, names in (("left", LEFT[:2]), ("right", RIGHT[:2]))
    )
    return SPN(Product(left, right))


def question() -> SPN:
    """Four branches, of which the first made the labels: which one does training find?"""

    def added(names: list[str]) -> Sum:
        leaves = [Kernel("rbf", gamma=1.0, features=[name], label=name.partition("__")[2]) for name in names]
        return Sum(*map(Product, leaves))

    return arranged(
        SPN(
            Sum(
                Product(added(LEFT[:2]), added(RIGHT[:2]), label="true"),
                Product(added(LEFT[2:]), added(RIGHT[2:]), label="noise"),
                Product(added(LEFT), label="left"),
                Product(added(RIGHT), label="right"),
            )
        )
    )


def known(seed: int = 5) -> pd.DataFrame:
    """Labels drawn from the true structure: the sign of a random function whose covariance is its kernel."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1.7, 1.7, size=(450, 8)).round(3)
    K = [np.exp(-((X[:, [j]] - X[:, j]) ** 2)) for j in range(8)]
    covariance = (K[0] + K[1]) * (K[4] + K[5])
    f = np.linalg.cholesky(covariance + 1e-8 * np.eye(len(X))) @ rng.normal(size=len(X))
    f -= np.median(f)
    # Rows so close to the border that rounding could turn their label are left out.
    clear = np.flatnonzero(np.abs(f) > 1e-3)[:400]
    frame = pd.DataFrame(X, columns=[*LEFT, *RIGHT])
    return frame.assign(label=np.where(f > 0, "yes", "no")).iloc[clear]


def omics() -> pd.DataFrame:
    """Three kinds of measurement of 120 tumours, each of which sees the subtypes differently."""
    rng = np.random.default_rng(11)
    subtype = rng.permutation(np.repeat([0, 1, 2], [50, 40, 30]))
    # Activity of four pathways: the first marks subtype 0; the second and third mark 1 and 2 only together.
    Z = rng.normal(size=(120, 4))
    Z[:, 0] += 2.5 * (subtype == 0)
    side = rng.choice([-1, 1], 120)
    Z[:, 1] = np.where(subtype == 0, Z[:, 1], 1.8 * side + 0.4 * Z[:, 1])
    Z[:, 2] = np.where(subtype == 0, Z[:, 2], 1.8 * side * np.where(subtype == 1, 1, -1) + 0.4 * Z[:, 2])
    views = {
        "mrna": _measured(rng, Z, [0, 1, 3], "gene", 60, 8.0, 1.5),
        "mirna": _measured(rng, Z, [2, 3], "mir", 40, 4.0, 0.8),
        "protein": _measured(rng, Z, [0, 3], "p", 30, 0.0, 0.5),
    }
    frame = pd.concat([part.add_prefix(f"{view}__") for view, part in views.items()], axis=1)
    frame.insert(0, "sample", [f"S{k:03}" for k in range(1, 121)])
    return frame.assign(subtype=np.array(["luminal", "basal", "normal-like"])[subtype])


def _measured(
    rng: np.random.Generator, Z: Floats, pathways: list[int], stem: str, n: int, level: float, spread: float
) -> pd.DataFrame:
    """Features that follow some pathways, a third of them none."""
    loadings = np.zeros((Z.shape[1], n))
    for feature in range(2 * n // 3):
        loadings[pathways[feature % len(pathways)], feature] = rng.choice([-1, 1]) * rng.uniform(0.6, 1.2)
    X = level + spread * (Z @ loadings + rng.normal(size=(len(Z), n)))
    return pd.DataFrame(X.round(3), columns=[f"{stem}{k:02}" for k in range(1, n + 1)])


def clinic() -> pd.DataFrame:
    """Visits of 80 patients, with gaps; visits of one patient resemble each other."""
    rng = np.random.default_rng(23)
    patient = np.repeat(np.arange(80), rng.integers(2, 5, 80))
    n = len(patient)

    def personal(mean: float, between: float, within: float) -> Floats:
        return mean + between * rng.normal(size=80)[patient] + within * rng.normal(size=n)

    frame = pd.DataFrame(
        {
            "patient": [f"P{k + 1:02}" for k in patient],
            "person__age": rng.integers(30, 85, 80)[patient],
            "person__sex": rng.choice(["female", "male"], 80)[patient],
            "person__smoker": rng.choice(["never", "former", "current"], 80, p=[0.5, 0.3, 0.2])[patient],
            "body__bmi": personal(26, 3.5, 0.6).round(1),
            "body__systolic": personal(132, 12, 8).round(),
            "blood__glucose": personal(5.6, 0.8, 0.5).round(1),
            "blood__crp": np.exp(personal(0.8, 0.6, 0.5)).round(1),
            "blood__haemoglobin": personal(14, 1.1, 0.4).round(1),
            "care__ward": rng.choice(["A", "B", "C"], n, p=[0.5, 0.3, 0.2]),
            "care__treatment": rng.choice(["standard", "new"], 80)[patient],
        }
    )
    inflamed = np.log(frame["blood__crp"]) - 0.8
    risk = (
        3.0 * inflamed * np.where(frame["care__treatment"] == "new", -0.4, 1.0)
        + 1.5 * (frame["person__smoker"] == "current")
        + 0.25 * (frame["blood__glucose"] - 5.6)
        + 0.03 * (frame["person__age"] - 58)
        + 0.4 * rng.normal(size=80)[patient]
    )
    frame["relapse"] = np.where(risk + 0.2 * rng.normal(size=n) > 0.2, "yes", "no")
    for column, share in {
        "blood__crp": 0.08,
        "blood__haemoglobin": 0.12,
        "body__bmi": 0.05,
        "person__smoker": 0.06,
    }.items():
        frame.loc[rng.random(n) < share, column] = None
    return frame


def main() -> None:
    known().to_csv(FOLDER / "known.csv", index=False)
    (FOLDER / "known.json").write_text(true_structure().to_json(indent=1) + "\n", encoding="utf-8")
    (FOLDER / "known_drawing.json").write_text(question().to_json(indent=1) + "\n", encoding="utf-8")
    omics().to_csv(FOLDER / "omics.csv", index=False)
    clinic().to_csv(FOLDER / "clinic.csv", index=False)


if __name__ == "__main__":
    main()
