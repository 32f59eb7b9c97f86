"""Figure 1's structure on a sample set: ``python -m spnmkl.quickstart``."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

from spnmkl import SPN, Kernel, templates
from spnmkl.cli.commands import Progress
from spnmkl.data import Preparation
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import heaviest_paths
from spnmkl.reporting.sentences import accuracy_sentence, certificate_sentence, path_lines, weight_lines

SIZE = ["radius", "perimeter", "area"]
SURFACE = ["texture", "smoothness"]
SHAPE = ["compactness", "concavity", "concave points", "symmetry", "fractal dimension"]
UNCERTAINTY = ["texture error", "smoothness error", "symmetry error"]


def tumour_structure() -> SPN:
    """Either how uncertain the measurements are, or the size of the cells together with their shape or surface."""
    return templates.figure1(
        [
            Kernel("linear", features=UNCERTAINTY, label="error, linear"),
            Kernel("rbf", features=UNCERTAINTY, label="error, local"),
            Kernel("rbf", features=_columns("mean", SIZE), label="mean size"),
            Kernel("rbf", features=_columns("worst", SIZE), label="worst size"),
            Kernel("rbf", features=_columns("mean", SHAPE), label="mean shape"),
            Kernel("rbf", features=_columns("worst", SHAPE), label="worst shape"),
            Kernel("rbf", features=_columns("worst", SURFACE), label="worst surface"),
        ]
    )


def _columns(which: str, measures: list[str]) -> list[str]:
    return [f"{which} {measure}" for measure in measures]


def tumours() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]:
    """Breast cancer Wisconsin (diagnostic), as scikit-learn brings it: training and test rows and their labels."""
    data = load_breast_cancer(as_frame=True)
    labels = data.target_names[data.target]
    return tuple(train_test_split(data.data, labels, test_size=0.3, stratify=labels, random_state=0))


def main() -> None:
    train, test, y_train, y_test = tumours()
    preparation = Preparation.fit(train)
    spn = tumour_structure()
    print(f"Breast cancer: {len(train)} samples to train on, {len(test)} to test. Figure 1's structure:\n")
    print(f"  {spn.formula(latex=False)}\n")
    progress = Progress(sys.stdout, shown=True)
    model = SPNMKLClassifier(spn, C=0.3, callback=progress).fit(preparation.transform(train), y_train)
    progress.close()
    print(f"\n{certificate_sentence(model.solution_)}")
    print(accuracy_sentence("test accuracy", model.predict(preparation.transform(test)), y_test))
    print("\n".join(weight_lines(model.solution_, len(model.beta_))))
    print("heaviest paths (share of all g):")
    print("\n".join(path_lines(spn, heaviest_paths(model.solution_, 5))))


if __name__ == "__main__":
    main()
