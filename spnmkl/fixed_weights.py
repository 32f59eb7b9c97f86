"""Support vector machines on a sum of kernels whose weights are given, over a grid of C."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.program import Floats
from spnmkl.measures import SCORINGS
from spnmkl.problem import one_vs_rest
from spnmkl.selection.folds import blocks, fold_splits
from spnmkl.solvers.sturdy import solve_closely
from spnmkl.threads import single_threaded_blas

Matrices = Mapping[str, Floats]
Stop = Callable[[], bool] | None
Weigh = Callable[[Sequence[Floats], NDArray], Floats]


@dataclass(frozen=True)
class Weighted:
    """Support vector machines, one-vs-rest, on a sum of kernels whose weights they do not choose."""

    weights: dict[str, float]
    signed_alpha: Floats  # (1 or classes, n)
    intercept: Floats

    @property
    def active(self) -> frozenset[str]:
        return frozenset(label for label, weight in self.weights.items() if weight > 0)

    def decision_function(self, cross: Matrices) -> Floats:
        F = self.signed_alpha @ combined(self.weights, cross).T + self.intercept[:, None]
        return F[0] if len(F) == 1 else F.T


def equal(kernels: Sequence[Floats], y: NDArray) -> Floats:
    return np.full(len(kernels), 1 / len(kernels))


def machines(
    kernels: Matrices,
    y: NDArray,
    weigh: Weigh,
    grid: Floats,
    tol: float,
    stop: Stop = None,
    often: Floats | None = None,
) -> Iterator[Weighted]:
    """The machines at every C, smallest first, each from the one before, to a relative gap of `tol`.

    `often` scales C by sample. Once `stop` says so they are not solved to the end, and of no use.
    """
    often = np.ones(len(y)) if often is None else often
    weights = dict(zip(kernels, map(float, weigh(list(kernels.values()), y)), strict=True))
    K = combined(weights, kernels)
    classes, codes = np.unique(y, return_inverse=True)
    Y = one_vs_rest(codes, len(classes))
    alpha = np.zeros_like(Y)
    for C in grid:
        with single_threaded_blas():
            solved = [solve_closely(K, row, C * often, a, tol, stop) for row, a in zip(Y, alpha, strict=True)]
        alpha = np.array([s.alpha for s in solved])
        yield Weighted(weights, alpha * Y, np.array([s.intercept for s in solved]))


def validated(
    kernels: Matrices,
    y: NDArray,
    weigh: Weigh,
    grid: Floats,
    tol: float,
    tick: Callable[[], object],
    *,
    folds: int,
    scoring: str = "accuracy",
    groups: ArrayLike | None = None,
    random_state: int | None,
    stop: Stop = None,
    often: Floats | None = None,
) -> Floats:
    """(C, folds) scores on held-out folds, the same as those of `cross_validate_C`; NaN where there is none."""
    scores = np.empty((len(grid), folds))
    for fold, (train, test) in enumerate(fold_splits(y, folds, groups, random_state)):
        inside, across = (blocks(kernels, rows, train) for rows in (train, test))
        classes = np.unique(y[train])
        for k, model in enumerate(
            machines(inside, y[train], weigh, grid, tol, stop, None if often is None else often[train])
        ):
            scores[k, fold] = SCORINGS[scoring].of(y[test], model.decision_function(across), classes)
            tick()
    return scores


def combined(weights: Mapping[str, float], kernels: Matrices) -> Floats:
    """Σ_m weights_m K_m; at least one weight is not zero."""
    used = [(weight, kernels[name]) for name, weight in weights.items() if weight]
    K = used[0][0] * used[0][1]
    for weight, matrix in used[1:]:
        K += weight * matrix
    return K
