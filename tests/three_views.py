"""A table of word counts, counts and measurements, with rows that lack a view and two columns to adjust for."""

import numpy as np
import pandas as pd

from spnmkl.structure import SPN, Kernel, Product, Sum

VIEWS = {
    "report": tuple(f"report__w{k}" for k in range(30)),
    "rna": tuple(f"rna__g{k}" for k in range(8)),
    "lab": ("lab__a", "lab__b", "lab__c"),
}
LACKING = {"report": slice(3, None, 11), "rna": slice(0, None, 7)}


def three_views(n: int = 120, lacking: bool = True, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, batch, truth = rng.uniform(20, 80, n), rng.choice(["x", "y", "z"], n), rng.normal(size=n)
    words = rng.poisson(np.exp(np.outer(truth, rng.normal(size=30)) - 2.5))
    counts = rng.poisson(np.exp(4 + np.outer(truth, rng.normal(size=8)) + rng.normal(size=(n, 8))))
    lab = np.outer(truth, [1, 0, -1]) + rng.normal(size=(n, 3)) + age[:, None] / 20 + (batch == "x")[:, None]
    frame = pd.DataFrame(np.hstack([words, counts, lab]), columns=[c for columns in VIEWS.values() for c in columns])
    for view, rows in LACKING.items() if lacking else ():
        frame.loc[frame.index[rows], list(VIEWS[view])] = None
    return frame.assign(age=age, batch=batch, y=np.where(truth + 0.3 * rng.normal(size=n) > 0, "ill", "well"))


def one_kernel_a_view() -> SPN:
    return SPN(Sum(*(Product(Kernel("rbf", features=list(c), label=view)) for view, c in VIEWS.items())))
