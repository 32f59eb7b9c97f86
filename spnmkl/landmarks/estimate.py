"""What a classifier of all rows would lose on rows that it has not seen, from some that are held out for that.

Weights and landmarks come from the sample, so that rows outside of it are held out: the SVM is solved once more without
them, and they are answered by it. Strata are the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.program import Floats
from spnmkl.measures import Interval, Z, wilson
from spnmkl.problem import answers

_SHARE, _MOST = 0.2, 10_000  # of the rows outside of the sample that are held out, and how many at most
_FEWEST = 2  # of a class, without which it has no spread
Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Estimate:
    """Of rows like those trained on, which the classifier has not seen.

    Attributes
    ----------
    n_rows : int
        Held out to tell.
    loss, accuracy : float
        Σ_i C_i ℓ_i over as many unseen rows as were trained on, and the share of them that is answered rightly.
    loss_interval, accuracy_interval : (float, float)
        95 %: of a stratified mean by the normal distribution, of a share by Wilson's formula.
    """

    n_rows: int
    loss: float
    loss_interval: Interval
    accuracy: float
    accuracy_interval: Interval


def held_out_rows(codes: Rows, sample: Rows, rng: np.random.Generator) -> Rows:
    """Of every class a fifth of its rows outside of the sample, 10,000 in all at most; none where a class has too few.

    A class whose rows are all in the sample would be missing from the estimate, which then says nothing of all rows.
    """
    outside = np.setdiff1d(np.arange(len(codes)), sample)
    share = min(_SHARE, _MOST / max(1, len(outside)))
    there = [outside[codes[outside] == c] for c in range(codes.max() + 1)]
    wanted = [max(_FEWEST, round(share * len(rows))) for rows in there]
    if any(len(rows) < k for rows, k in zip(there, wanted, strict=True)):
        return np.empty(0, dtype=np.intp)
    return np.sort(np.concatenate([rng.choice(rows, k, replace=False) for rows, k in zip(there, wanted, strict=True)]))


def estimated(codes: Rows, Y: Floats, C: Floats, held: Rows, decision: Floats) -> Estimate:
    """From (1 or classes, held) decisions of an SVM that has not seen these rows.

    The total is Σ_c N_c · mean_c, with N_c all rows of a class; its variance is Σ_c N_c² s_c² / n_c.
    """
    losses = C[held] * np.maximum(0.0, 1.0 - Y[:, held] * decision).sum(axis=0)
    of, N = codes[held], np.bincount(codes).astype(float)
    F = decision[0] if len(decision) == 1 else decision.T
    right = answers(F, np.arange(len(N))) == of
    strata = [of == c for c in range(len(N))]
    n = np.array([rows.sum() for rows in strata])
    total = float(sum(N[c] * losses[rows].mean() for c, rows in enumerate(strata)))
    spread = np.sqrt(sum(N[c] ** 2 * losses[rows].var(ddof=1) / n[c] for c, rows in enumerate(strata)))
    share = N / N.sum()
    accuracy = float(sum(share[c] * right[rows].mean() for c, rows in enumerate(strata)))
    counts = float(1 / (share**2 / n).sum())  # rows of a simple draw that would tell as much; all where in proportion
    interval = max(0.0, total - Z * float(spread)), total + Z * float(spread)
    return Estimate(len(held), total, interval, accuracy, wilson(accuracy, counts))
