"""A table of two views: one carries the labels, the other is noise under a kernel so narrow that it fits any labels."""

from functools import cache

import numpy as np
import pandas as pd

from spnmkl import SPN, Kernel, Product, Sum
from spnmkl.data import Choices, Dataset, SplitSettings
from spnmkl.training.prepared import Prepared, prepare
from spnmkl.training.run import Run
from spnmkl.training.settings import Settings
from spnmkl.training.train import train

SIGNAL, NOISE = ["signal_a", "signal_b"], [f"noise_{k}" for k in range(8)]
SETTINGS, SPLIT = Settings(C=10.0), SplitSettings(0.3, 0)
MOST = 3.0  # per cent that noise may seem to have, in a sample of this size


def noisy_dataset(n: int = 240) -> Dataset:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(n, 10)), columns=SIGNAL + NOISE)
    score = frame["signal_a"] + frame["signal_b"] + 0.5 * rng.normal(size=n)
    frame["class"] = np.where(score > 0, "case", "control")
    return Dataset("noisy", frame, "class", views={"signal": tuple(SIGNAL), "noise": tuple(NOISE)})


def noisy_structure() -> SPN:
    return SPN(
        Sum(
            Product(Kernel("linear", features=SIGNAL, id="k1", label="signal"), id="p1"),
            Product(Kernel("rbf", gamma=2.0, features=NOISE, id="k2", label="noise"), id="p2"),
        )
    )


@cache
def noisy_run() -> tuple[Dataset, Prepared, Run]:
    dataset = noisy_dataset()
    prepared = prepare(noisy_structure(), dataset, Choices(), SPLIT)
    return dataset, prepared, train(prepared, SETTINGS, n_threads=1)
