"""Probabilities beside what came true: rows of similar probability together."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.measures import wilson
from spnmkl.training.run import Run
from spnmkl.wording import counted, quoted

BINS, FEWEST_ROWS = 10, 8  # groups at most, and rows in each at least


def reliability(y: NDArray, probability: Floats, classes: NDArray) -> pd.DataFrame:
    """Groups of as many rows each, by probability: `predicted`, `observed`, its 95 % interval `low` and `high`, `rows`.

    Of two classes the probability is that of the second; of several, that of the answer given.
    """
    if len(classes) == 2:
        given, true = probability[:, 1], y == classes[1]
    else:
        given, true = probability.max(axis=1), classes[probability.argmax(axis=1)] == y
    parts = np.array_split(np.argsort(given, kind="stable"), max(1, min(BINS, len(y) // FEWEST_ROWS)))
    shares = [(float(given[rows].mean()), float(true[rows].mean()), len(rows)) for rows in parts]
    return pd.DataFrame(
        [(p, share, *wilson(share, n), n) for p, share, n in shares],
        columns=["predicted", "observed", "low", "high", "rows"],
    )


def run_reliability(run: Run) -> tuple[pd.DataFrame, str, str] | None:
    """The table of a run, of which rows it is, and of what the probabilities are; None without probabilities.

    Of rows held out in folds, by a scaling that other folds gave, where every row was; else of the test rows.
    """
    classes = run.solution.classes
    of = f"probability of {quoted(str(classes[1])[:24])}" if len(classes) == 2 else "probability of the answer"
    folds = run.fold_scores
    if folds is not None and folds.n_rounds:
        found = [part for _, part in zip(range(folds.n_folds), folds.held_out_probabilities(), strict=False)]
        rows = np.concatenate([rows for rows, _ in found])
        table = reliability(folds.y[rows], np.concatenate([P for _, P in found]), classes)
        return table, f"{counted(len(rows), 'training row')}, each held out once and scaled by the other folds", of
    if (P := run.test_probabilities) is None or not run.n_test:
        return None
    return reliability(run.test_scores.y, P, classes), counted(run.n_test, "test row"), of
