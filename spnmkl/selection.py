"""Choosing C: the regularisation path and cross-validation, warm-started, with the weights kept at every point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from spnmkl.circuit.program import Floats, compile_circuit
from spnmkl.circuit.source import KernelSource, MatrixSource
from spnmkl.errors import DataError, ParameterError
from spnmkl.problem import check_labels, checked_source, powers
from spnmkl.solution import Solution
from spnmkl.solvers import C_min, solve
from spnmkl.solvers.deadline import Deadline
from spnmkl.solvers.drive import check_callback
from spnmkl.structure import SPN

UNFINISHED = ("interrupted", "time_limit")  # how a training ends whose C is not done


@dataclass(frozen=True)
class PathPoint:
    """Progress of a path or a cross-validation: returning False from the callback stops it."""

    done: int
    total: int
    C: float
    solution: Solution
    fold: int | None = None
    score: float | None = None


@dataclass(frozen=True)
class RegularizationPath:
    """Solutions over a grid of C, smallest first."""

    C: Floats
    solutions: tuple[Solution, ...]

    @property
    def beta(self) -> dict[str, Floats]:
        """Product → its weight at every C."""
        return {v: np.array([s.beta[v] for s in self.solutions]) for v in self.solutions[0].beta}


@dataclass(frozen=True)
class CrossValidation:
    """Accuracy on held-out folds.

    Attributes
    ----------
    scores : (C, folds); NaN where it was stopped before.
    beta : product → (C, folds) weights, to see how stable they are.
    best_C : the smallest C of the best mean score; NaN where there is no score at all.
    """

    C: Floats
    scores: Floats
    beta: dict[str, Floats]
    best_C: float

    @property
    def mean(self) -> Floats:
        """(C,) over the folds done; NaN where there is none."""
        done = ~np.isnan(self.scores)
        total = np.where(done, self.scores, 0.0).sum(axis=1)
        return np.divide(total, done.sum(axis=1), out=np.full(len(total), np.nan), where=done.any(axis=1))

    @property
    def standard_error(self) -> Floats:
        """(C,) of the mean; NaN with fewer than two folds done."""
        done = ~np.isnan(self.scores)
        n = done.sum(axis=1)
        squares = np.where(done, (self.scores - self.mean[:, None]) ** 2, 0.0).sum(axis=1)
        return np.sqrt(np.divide(squares, n * (n - 1), out=np.full(len(n), np.nan), where=n > 1))

    def survival(self) -> dict[str, Floats]:
        """Product → share of the folds, at every C, in which it was not pruned."""
        done = ~np.isnan(self.scores)
        n = np.maximum(done.sum(axis=1), 1)
        return {v: np.where(done.any(axis=1), ((b > 0) & done).sum(axis=1) / n, np.nan) for v, b in self.beta.items()}


def regularization_path(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    C: Sequence[float] | None = None,
    *,
    callback: Callable[[PathPoint], object] | None = None,
    max_time: float | None = None,
    **settings: Any,
) -> RegularizationPath:
    """Solve over a grid of C, each from the solution before it.

    Parameters
    ----------
    C : by default 12 values from just above C_min to 1000 C_min where all p are 1, else from 0.01 to 1000.
    callback : called with a `PathPoint` after every C; returning False stops and keeps what is there.
    max_time : seconds for the whole path, after which what is there is kept: every C that was done, at least the first.
    settings : passed to `solve`.
    """
    check_callback(callback)
    deadline = Deadline(max_time, settings.get("stop"))
    source = checked_source(spn, kernels, len(check_labels(y)))
    grid = _grid(default_grid(spn, source, y, **settings) if C is None else C)
    solutions: list[Solution] = []
    for value in grid:
        solution = _solve_next(spn, source, y, value, solutions[-1] if solutions else None, settings, deadline)
        if solution.status in UNFINISHED and solutions:
            break  # no point of the path
        solutions.append(solution)
        point = PathPoint(len(solutions), len(grid), value, solutions[-1])
        if callback is not None and callback(point) is False:
            break
    return RegularizationPath(grid[: len(solutions)], tuple(solutions))


def cross_validate_C(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    C: Sequence[float] | None = None,
    *,
    folds: int = 5,
    groups: ArrayLike | None = None,
    random_state: int | None = 0,
    callback: Callable[[PathPoint], object] | None = None,
    max_time: float | None = None,
    **settings: Any,
) -> CrossValidation:
    """Accuracy of every C on held-out folds, stratified, and with whole groups held out where `groups` is given.

    Parameters
    ----------
    C : as for `regularization_path`.
    callback : called with a `PathPoint` after every C of every fold; returning False stops and keeps what is there.
    max_time : seconds for the whole, after which what is there is kept.
    settings : passed to `solve`.
    """
    check_callback(callback)
    deadline = Deadline(max_time, settings.get("stop"))
    labels = check_labels(y)
    source = checked_source(spn, kernels, len(labels))
    grid = _grid(default_grid(spn, source, y, **settings) if C is None else C)
    splits = list(fold_splits(labels, folds, groups, random_state))
    weights = settings.pop("sample_weight", None)
    if weights is not None and np.shape(weights) != labels.shape:
        raise DataError(
            f"sample_weight must hold one number per sample, {len(labels)} in all, but its shape is "
            f"{np.shape(weights)}."
        )
    scores = np.full((len(grid), len(splits)), np.nan)
    beta = {v: np.full_like(scores, np.nan) for v in spn.products}
    matrices = dict(zip(spn.kernels, source.tiles(spn.kernels, slice(None), slice(None)), strict=True))
    for fold, (train, test) in enumerate(splits):
        inside, across = MatrixSource(_blocks(matrices, train, train)), _blocks(matrices, test, train)
        fitted: Solution | None = None
        local = _fold_settings(settings, weights, labels, train)
        for k, value in enumerate(grid):
            fitted = _solve_next(spn, inside, labels[train], value, fitted, local, deadline)
            if fitted.status in UNFINISHED:
                return _cross_validation(grid, scores, beta)
            scores[k, fold] = (predicted(fitted, across) == labels[test]).mean()
            for v, b in fitted.beta.items():
                beta[v][k, fold] = b
            point = PathPoint(
                fold * len(grid) + k + 1, scores.size, value, fitted, fold=fold, score=float(scores[k, fold])
            )
            if callback is not None and callback(point) is False:
                return _cross_validation(grid, scores, beta)
    return _cross_validation(grid, scores, beta)


def predicted(solution: Solution, cross_kernels: Mapping[str, ArrayLike]) -> NDArray:
    """Class labels from a solution and cross-kernels."""
    decision = solution.decision_function(cross_kernels)
    codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    return solution.classes[codes]


def default_grid(spn: SPN, kernels: Mapping[str, ArrayLike] | KernelSource, y: ArrayLike, **settings: Any) -> Floats:
    if (powers(spn, compile_circuit(spn), settings.get("p")) != 1).any():
        return np.logspace(-2, 3, 11)
    passed = {k: settings[k] for k in ("lam", "p", "sample_weight", "class_weight", "n_threads") if k in settings}
    return C_min(spn, kernels, y, tol=1e-2, **passed) * np.logspace(0.1, 3, 12)


def _grid(C: Iterable[float]) -> Floats:
    grid = np.unique(np.asarray(list(C), dtype=float))
    if len(grid) == 0 or not np.isfinite(grid).all() or (grid <= 0).any():
        raise ParameterError(
            "C must hold at least one number, all finite and above 0; choose for example [0.1, 1, 10]."
        )
    return grid


def _fold_settings(
    settings: dict[str, Any], weights: ArrayLike | None, labels: NDArray, train: NDArray
) -> dict[str, Any]:
    """The settings over the rows of one fold, which may lack a class where whole groups are held out."""
    local = dict(settings)
    if weights is not None:
        local["sample_weight"] = np.asarray(weights)[train]
    if isinstance(by_class := settings.get("class_weight"), Mapping):
        lacking = set(labels.tolist()) - set(labels[train].tolist())
        local["class_weight"] = {c: weight for c, weight in by_class.items() if c not in lacking}
    return local


def _solve_next(
    spn: SPN,
    source: KernelSource,
    y: ArrayLike,
    C: float,
    last: Solution | None,
    settings: Mapping[str, Any],
    deadline: Deadline,
) -> Solution:
    start = last.beta if last is not None and any(last.beta.values()) else None
    # Weights that are all zero are expected at the lower end of a grid.
    return solve(spn, source, y, C=C, start=start, warn=False, max_time=deadline.left, **settings)


def fold_splits(
    y: NDArray, folds: int, groups: ArrayLike | None, random_state: int | None
) -> Iterable[tuple[NDArray, NDArray]]:
    """Training and test rows of every fold, stratified, and with whole groups held out where there are some."""
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if not isinstance(folds, (int, np.integer)) or folds < 2 or folds > smallest:
        raise ParameterError(
            f"folds must be a whole number from 2 to {smallest}, the size of the smallest class, but it is {folds!r}."
        )
    if groups is None:
        return StratifiedKFold(folds, shuffle=True, random_state=random_state).split(y, y)
    group = np.asarray(groups)
    if group.shape != y.shape:
        raise DataError(f"groups must hold one entry per sample, {len(y)} in all, but its shape is {group.shape}.")
    if folds > (n_groups := len(np.unique(group))):
        raise ParameterError(
            f"folds must be a whole number from 2 to {n_groups}, the number of groups, but it is {folds!r}."
        )
    return StratifiedGroupKFold(folds, shuffle=True, random_state=random_state).split(y, y, group)


def _blocks(matrices: Mapping[str, Floats], rows: NDArray, columns: NDArray) -> dict[str, Floats]:
    """The block of every matrix, cut once where leaves share it."""
    cut: dict[int, Floats] = {}
    for K in matrices.values():
        if K.ctypes.data not in cut:
            cut[K.ctypes.data] = K[np.ix_(rows, columns)]
    return {leaf: cut[K.ctypes.data] for leaf, K in matrices.items()}


def _cross_validation(grid: Floats, scores: Floats, beta: dict[str, Floats]) -> CrossValidation:
    result = CrossValidation(grid, scores, beta, np.nan)
    if np.isnan(scores).all():
        return result
    return replace(result, best_C=float(grid[int(np.nanargmax(result.mean))]))
