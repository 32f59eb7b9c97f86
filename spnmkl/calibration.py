"""Probabilities from decision values: trainings that have not seen a sample, and Platt's scaling of what they say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.evidence.machine import solve_by_evidence
from spnmkl.parallel import Place, side_by_side
from spnmkl.problem import one_vs_rest
from spnmkl.selection.folds import parts
from spnmkl.solution import Solution
from spnmkl.solvers import solve
from spnmkl.solvers.sturdy import solve_sturdily

Rows = NDArray[np.intp]
Splits = Iterable[tuple[Rows, Rows]]


def relearned(
    solution: Solution, source: KernelSource, splits: Splits, weight: Floats | None, settings: Mapping[str, Any]
) -> Floats | None:
    """(1 or classes, n) decision values of trainings that have not seen a row; None where one of them was stopped.

    Weights are learned anew in every fold: had they seen the row, it would be answered better than a new one.
    """
    F, items = np.empty(solution.signed_alpha.shape), list(splits)
    others = {name: value for name, value in settings.items() if name not in ("stop", "n_threads")}
    given, left = (solution, source, weight, others), len(items)
    running = side_by_side(_relearned, given, items, n_threads=settings.get("n_threads"), stop=settings.get("stop"))
    with closing(running) as found:
        for test, decision in found:
            F[:, test] = decision
            left -= 1
    return None if left else F


def _relearned(
    given: tuple[Solution, KernelSource, Floats | None, dict[str, Any]], rows: tuple[Rows, Rows], place: Place
) -> Iterator[tuple[Rows, Floats]]:
    """The rows that a fold holds out, and what is decided on them; nothing where it was stopped."""
    (solution, source, weight, settings), (train, test), y = given, rows, given[0].y
    inside, across = parts(source, train, test)
    own = settings | {"sample_weight": None if weight is None else weight[train]}
    own |= {"n_threads": place.n_threads, "stop": place.stop}
    if solution.by_evidence:
        own.pop("solver", None)
        found = solve_by_evidence(solution.spn, inside, y[train], **own)
    else:
        found = solve(solution.spn, inside, y[train], warn=False, start=solution.beta, **own)
    if found.status != "interrupted" and not found.untried:
        yield test, np.atleast_2d(found.decision_function(across, place.n_threads).T)


def refitted(K: Floats, solution: Solution, splits: Splits) -> Floats:
    """The same with the weights as they are, on the learned kernel: only the SVM has not seen a row."""
    Y = codes_against_rest(solution.y, solution.classes)
    gap, F = solution.tol * solution.objective / len(Y), np.empty_like(Y)
    for train, test in splits:
        F[:, test] = _held_out(K, Y, solution.C, train, test, gap)
    return F


def _held_out(K: Floats, Y: Floats, C: Floats, train: Rows, test: Rows, gap: float) -> Floats:
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    F = []
    for y in np.ascontiguousarray(Y[:, train]):  # the SVM's loops would be compiled again for other strides
        fit = solve_sturdily(K_train, y, C[train], np.zeros(len(train)), gap)
        F.append(K_test @ (fit.alpha * y) + fit.intercept)
    return np.array(F)


def codes_against_rest(y: NDArray, classes: NDArray) -> Floats:
    """(1 or classes, rows) of ±1: each class against the rest, or of two the second against the first."""
    return one_vs_rest(np.searchsorted(classes, y), len(classes))


def scaling(F: Floats, y: NDArray, classes: NDArray, weight: Floats | None = None, share: float = 1.0) -> Floats:
    """(1 or classes, 2) slope and offset of the logit of each class, from (1 or classes, rows) decision values.

    Several classes share one scaling: then the class of the largest decision value is the most probable one. `share`
    is what a row counts, less than 1 where there are several decisions on each.
    """
    Y = codes_against_rest(y, classes)
    each = np.full(len(y), share) if weight is None else share * weight / weight.mean()
    return np.tile(platt(F.ravel(), (Y > 0).ravel(), np.tile(each, len(Y))), (len(Y), 1))


def probabilities(F: Floats, scale: Floats) -> Floats:
    """(rows, classes) from (1 or classes, rows) decision values and their scaling; every row sums to 1."""
    slope, offset = scale.T[..., None]
    P = expit(slope * F + offset)
    if len(P) == 1:
        return np.column_stack([1 - P[0], P[0]])
    P = np.maximum(P, np.finfo(float).tiny)
    return (P / P.sum(axis=0)).T


def platt(f: Floats, positive: NDArray[np.bool_], weight: Floats) -> Floats:
    """(slope, offset) of logit P(y = 1 | f), fitted to Platt's smoothed targets by maximum likelihood."""
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    scale = np.abs(f).max() or 1.0
    Z = np.column_stack([f / scale, np.ones(len(f))])

    def loss(theta: Floats) -> float:
        z = Z @ theta
        return weight @ (np.logaddexp(0, z) - target * z)

    def gradient(theta: Floats) -> Floats:
        return Z.T @ (weight * (expit(Z @ theta) - target))

    def hessian(theta: Floats) -> Floats:
        s = expit(Z @ theta)
        return (Z.T * (weight * s * (1 - s))) @ Z

    start = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])
    slope, offset = minimize(loss, start, jac=gradient, hess=hessian, method="trust-exact").x
    return np.array([slope / scale, offset])
