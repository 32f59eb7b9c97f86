"""Choosing C: the regularisation path and cross-validation, warm-started, with the weights kept at every point."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from spnmkl.circuit.program import Floats, compile_circuit
from spnmkl.circuit.source import ComputedSource, KernelSource, MatrixSource, interruptible, is_computed
from spnmkl.errors import DataError, ParameterError, Stopped
from spnmkl.memory import kernel_bytes
from spnmkl.parameters import check_callback, checked_threads, seed
from spnmkl.problem import answers, check_labels, checked_source, powers
from spnmkl.solution import Solution
from spnmkl.solvers import C_min, solve
from spnmkl.solvers.deadline import Deadline, Stop
from spnmkl.structure import SPN
from spnmkl.threads import as_they_come, single_threaded_blas

__all__ = [
    "CrossValidation",
    "PathPoint",
    "RegularizationPath",
    "cross_validate_C",
    "default_grid",
    "regularization_path",
]

UNFINISHED = ("interrupted", "time_limit")  # how a training ends whose C is not done
_AT_BOUND = 0.999  # of C: an α that more C might let grow


@dataclass(frozen=True)
class PathPoint:
    """Progress of a path or a cross-validation, as its callback gets it; returning False there stops it.

    Attributes
    ----------
    done, total : int
        How many trainings are done, of how many.
    C : float
        Of this training.
    solution : Solution
        What it found.
    fold : int or None
        Of a cross-validation.
    score : float or None
        Accuracy on the rows held out.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import regularization_path, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> told = []
    >>> path = regularization_path(spn, kernels, y, [0.1, 1.0], callback=told.append)
    >>> [(point.done, point.total, float(point.C)) for point in told]
    [(1, 2, 0.1), (2, 2, 1.0)]
    """

    done: int
    total: int
    C: float
    solution: Solution
    fold: int | None = None
    score: float | None = None


@dataclass(frozen=True)
class RegularizationPath:
    """Solutions over a grid of C, smallest first.

    Attributes
    ----------
    C : ndarray of shape (C,)
        The grid, or as much of it as was done.
    solutions : tuple of Solution
        One for each C.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import regularization_path, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> path = regularization_path(spn, kernels, y, [0.1, 1.0, 10.0])
    >>> {product: len(weights) for product, weights in path.beta.items()}
    {'p1': 3, 'p2': 3}
    """

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
    C : ndarray of shape (C,)
        The grid, smallest first.
    scores : ndarray of shape (C, folds)
        NaN where it was stopped before.
    beta : dict from product to ndarray of shape (C, folds)
        The weights, to see how stable they are.
    best_C : float
        The smallest C of the best mean score, of those with the most folds done; NaN where there is no score.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import cross_validate_C, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> result = cross_validate_C(spn, kernels, y, [0.1, 1.0, 10.0], folds=3)
    >>> result.mean.shape, result.best_C in result.C
    ((3,), True)
    """

    C: Floats
    scores: Floats
    beta: dict[str, Floats]
    best_C: float

    @property
    def mean(self) -> Floats:
        """The mean score at every C over the folds done, an ndarray of shape (C,); NaN where there is none."""
        done = ~np.isnan(self.scores)
        total = np.where(done, self.scores, 0.0).sum(axis=1)
        return np.divide(total, done.sum(axis=1), out=np.full(len(total), np.nan), where=done.any(axis=1))

    @property
    def standard_error(self) -> Floats:
        """The standard error of the mean at every C, an ndarray of shape (C,); NaN with fewer than two folds done."""
        done = ~np.isnan(self.scores)
        n = done.sum(axis=1)
        squares = np.where(done, (self.scores - self.mean[:, None]) ** 2, 0.0).sum(axis=1)
        return np.sqrt(np.divide(squares, n * (n - 1), out=np.full(len(n), np.nan), where=n > 1))

    def survival(self) -> dict[str, Floats]:
        """In how many of the folds a product was not pruned.

        Returns
        -------
        dict from product to ndarray of shape (C,)
            The share of the folds done.
        """
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
    spn : SPN
        The structure.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices, or a source that yields tiles.
    y : array-like of shape (n,)
        Labels of any kind.
    C : sequence of float, default=None
        The grid; None: 12 values from just above C_min to 1000 C_min where all p are 1, else 11 from 0.01 to 1000.
    callback : callable, default=None
        Called with a `PathPoint` after every C; returning False stops and keeps what is there.
    max_time : float, default=None
        Seconds for the whole path, after which what is there is kept: every C that was done, at least the first.
    **settings : dict
        Passed to `solve`: ``lam``, ``p``, ``solver``, ``tol``, ``sample_weight``, ``class_weight``, …

    Returns
    -------
    RegularizationPath
        The solutions, smallest C first.

    Raises
    ------
    ParameterError
        The grid is empty or holds what is no positive number.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import regularization_path, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> path = regularization_path(spn, kernels, y)
    >>> len(path.C), {solution.status for solution in path.solutions}
    (12, {'optimal'})
    """
    check_callback(callback)
    deadline = Deadline(max_time, settings.pop("stop", None))
    source = checked_source(spn, kernels, len(check_labels(y)))
    grid = _grid(default_grid(spn, source, y, stop=deadline, **settings) if C is None else C)
    solutions: list[Solution] = []
    for value in grid:
        if solutions and deadline():
            break
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

    Folds are worked on together, on the threads that there are; the result does not depend on how many. A fold needs
    a copy of its part of the kernels: no more folds are taken at once than half of the free memory has room for.
    Kernels that are computed in tiles, as `spnmkl.kernels.fit_tiles` gives them, are so in every fold too, one fold
    after the other: the same but for rounding, later.

    Parameters
    ----------
    spn : SPN
        The structure.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices over all rows, or a source that yields tiles.
    y : array-like of shape (n,)
        Labels of any kind.
    C : sequence of float, default=None
        The grid; None: as for `regularization_path`, from just above the C_min of a fold.
    folds : int, default=5
        How many, from 2 to the size of the smallest class.
    groups : array-like of shape (n,), default=None
        Which rows belong together, such as those of one patient; they are held out together.
    random_state : int or None, default=0
        Shuffles the folds.
    callback : callable, default=None
        Called with a `PathPoint` after every C of every fold, as they are done, in the caller's thread; a fold
        begins with a C in the lower part of the grid. Returning False stops and keeps what was told.
    max_time : float, default=None
        Seconds for the whole, after which what is there is kept.
    **settings : dict
        Passed to `solve`; ``stop`` is asked in several threads.

    Returns
    -------
    CrossValidation
        Scores, weights and the best C.

    Raises
    ------
    ParameterError
        The grid or the number of folds does not fit.
    DataError
        Groups or weights do not fit the labels.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import cross_validate_C, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> result = cross_validate_C(spn, kernels, y, [0.1, 1.0, 10.0], folds=3)
    >>> result.scores.shape
    (3, 3)
    """
    check_callback(callback)
    stop, halt = settings.pop("stop", None), threading.Event()
    deadline = Deadline(max_time, lambda: halt.is_set() or (stop is not None and stop()))
    labels = check_labels(y)
    n_threads = checked_threads(settings.pop("n_threads", None))
    source = checked_source(spn, kernels, len(labels), n_threads)
    splits = list(fold_splits(labels, folds, groups, random_state))
    share = 1 - 1 / folds
    grid = _grid(default_grid(spn, source, y, share, deadline, n_threads=n_threads, **settings) if C is None else C)
    weights = settings.pop("sample_weight", None)
    if weights is not None and np.shape(weights) != labels.shape:
        raise DataError(
            f"sample_weight must hold one number per sample, {len(labels)} in all, but its shape is "
            f"{np.shape(weights)}."
        )
    held, at_once = source, 1
    if not is_computed(source):
        tiles = source.tiles(spn.kernels, slice(None), slice(None))
        held = MatrixSource(dict(zip(spn.kernels, tiles, strict=True)))
        each = fold_bytes(_kernel_bytes(held.matrices), folds)
        at_once = folds_at_once(n_threads, folds, each, kernel_bytes(None))
    settings["n_threads"] = max(1, n_threads // at_once)
    work = _Folds(spn, held, labels, splits, grid, weights, settings, deadline)
    scores = np.full((len(grid), folds), np.nan)
    beta = {v: np.full_like(scores, np.nan) for v in spn.products}
    works = [partial(work.fits, fold) for fold in range(folds)]
    with single_threaded_blas(), closing(as_they_come(works, at_once, halt)) as fits:
        for done, (fold, k, fitted, score) in enumerate(fits, 1):
            scores[k, fold] = score
            for v, b in fitted.beta.items():
                beta[v][k, fold] = b
            point = PathPoint(done, scores.size, float(grid[k]), fitted, fold=fold, score=score)
            if callback is not None and callback(point) is False:
                break
    return _cross_validation(grid, scores, beta)


class _Fit(NamedTuple):
    fold: int
    k: int  # of C
    solution: Solution
    score: float


@dataclass(frozen=True)
class _Folds:
    """What the folds of a cross-validation share; each is worked on alone."""

    spn: SPN
    source: KernelSource
    labels: NDArray
    splits: Sequence[tuple[NDArray, NDArray]]
    grid: Floats
    weights: ArrayLike | None
    settings: dict[str, Any]
    deadline: Deadline

    def fits(self, fold: int) -> Iterator[_Fit]:
        """Train on the fold's rows at every C, each from one beside it, and score on the rows held out."""
        if self.deadline():
            return
        with suppress(Stopped):
            yield from self._fits(fold)

    def _fits(self, fold: int) -> Iterator[_Fit]:
        train, test = self.splits[fold]
        inside, across = parts(self.source, train, test)
        settings, fitted = self.own_settings(train), dict[int, Solution]()
        for k, near in walk(len(self.grid), lambda k: below_bounds(fitted[k])):
            C, last, known = float(self.grid[k]), None, None
            if near is not None:
                if self.deadline():
                    return
                last = fitted[near]
                known = carried(last, C / float(self.grid[near]), self.stoppable(inside), settings)
            fitted[k] = known or _solve_next(self.spn, inside, self.labels[train], C, last, settings, self.deadline)
            if fitted[k].status in UNFINISHED:
                return
            right = predicted(fitted[k], self.stoppable(across), settings["n_threads"]) == self.labels[test]
            yield _Fit(fold, k, fitted[k], float(right.mean()))

    def stoppable(self, part: KernelSource) -> KernelSource:
        """A pass over matrices is short; one over tiles may take many seconds."""
        return part if isinstance(part, MatrixSource) else interruptible(part, self.deadline)

    def own_settings(self, train: NDArray) -> dict[str, Any]:
        """The settings over the rows of one fold, which may lack a class where whole groups are held out."""
        own = dict(self.settings)
        if self.weights is not None:
            own["sample_weight"] = np.asarray(self.weights)[train]
        if isinstance(by_class := own.get("class_weight"), Mapping):
            lacking = set(self.labels.tolist()) - set(self.labels[train].tolist())
            own["class_weight"] = {c: weight for c, weight in by_class.items() if c not in lacking}
        return own


def parts(source: KernelSource, train: NDArray, test: NDArray) -> tuple[KernelSource, KernelSource]:
    """The kernels between training rows, and between those held out and them: cut matrices, or tiles of a source."""
    if isinstance(source, MatrixSource):
        inside, across = (MatrixSource(blocks(source.matrices, rows, train)) for rows in (train, test))
        return inside, across
    assert is_computed(source)
    whole, n = source.among(np.concatenate([train, test])), len(train)
    assert is_computed(whole)
    return _Inside(whole, 0, n, n), _Window(whole, n, len(test), n)


class _Window:
    """Some rows of a computed source, and its first columns."""

    def __init__(self, source: ComputedSource, first: int, n_rows: int, n_columns: int) -> None:
        self.source, self.first, self.shape = source, first, (n_rows, n_columns)

    def tiles(self, leaves: Sequence[str], rows: slice, columns: slice) -> list[Floats]:
        start, stop, step = rows.indices(self.shape[0])
        within = slice(*columns.indices(self.shape[1]))
        return self.source.tiles(leaves, slice(start + self.first, stop + self.first, step), within)

    def rows_per_tile(self) -> int:
        return self.source.rows_per_tile()


class _Inside(_Window):
    """The first rows and columns, which can be asked for the rows that count alone."""

    def among(self, rows: NDArray[np.intp]) -> KernelSource:
        return self.source.among(rows)

    def together(self, leaves: Sequence[str]) -> list[list[str]]:
        return self.source.together(leaves)


def walk(n: int, settled: Callable[[int], bool]) -> Iterator[tuple[int, int | None]]:
    """An order of n values of C, smallest first, each with the one that its training starts from.

    Both ends are costly to begin at: the weights just above C_min, and α far above. So it begins at a third and goes
    up, where α grows with its bounds, then down. Once that is `settled` and stays as it is for any larger C, the
    largest comes next, and those between from above.
    """
    first = n // 3
    yield first, None
    last, above = first, list(range(first + 1, n))
    while above:
        k = above.pop(-1 if last > above[-1] or settled(last) else 0)
        yield k, last
        last = k
    for k in reversed(range(first)):
        yield k, k + 1


def below_bounds(solution: Solution) -> bool:
    """Whether all α are: then no sample is on the wrong side of its margin, and more C changes nothing."""
    return not (solution.alpha >= _AT_BOUND * solution.C)[..., solution.C > 0].any()


def carried(last: Solution, change: float, kernels: KernelSource, settings: Mapping[str, Any]) -> Solution | None:
    """The same classifier at C times `change` < 1, where it is proved to be good enough there; else None.

    It may be where no α is above the new bounds, and where it is constant, since then α shrinks with C.
    """
    C, shrunk = change * last.C, 1.0 if any(last.beta.values()) else change
    alpha = shrunk * last.alpha
    if change >= 1 or last.status != "optimal" or (alpha > C).any():
        return None
    moved = replace(last, C=C, alpha=alpha, witness_alpha=shrunk * last.witness_alpha)
    proof = moved.certify(kernels, settings["n_threads"])
    if proof.gap > last.tol:
        return None
    values: dict[str, Any] = asdict(proof)
    pruned = tuple(v for v, b in last.beta.items() if b <= 0)
    record = replace(last.history[-1], iteration=1, beta=last.beta, pruned=pruned, evaluations=0, seconds=0.0, **values)
    return replace(moved, history=(record,), pruned=dict.fromkeys(pruned, 1), **values)


def folds_at_once(n_threads: int, n_folds: int, bytes_each: float, room: float) -> int:
    """How many folds are worked on together, where each has kernels of its own in a room of so many bytes.

    The fewest that keep all threads busy to the end: of five folds on two threads first three, then two.
    """
    busy = range(min(n_threads, n_folds), n_folds + 1)
    fewest = next(k for k in busy if n_folds % k == 0 or n_folds % k >= n_threads)
    return max(1, min(fewest, int(min(room / max(bytes_each, 1.0), n_folds))))


def fold_bytes(whole: float, n_folds: int) -> float:
    """Of a fold's own kernels, where those over all rows take so many: its rows by its rows, and by those held out."""
    return whole * (1 - 1 / n_folds)


def predicted(
    solution: Solution, cross_kernels: Mapping[str, ArrayLike] | KernelSource, n_threads: int | None = None
) -> NDArray:
    """Class labels from a solution and cross-kernels."""
    return answers(solution.decision_function(cross_kernels, n_threads), solution.classes)


def default_grid(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    share: float = 1.0,
    stop: Stop | None = None,
    **settings: Any,
) -> Floats:
    """The values of C that a path or a cross-validation takes where none are given.

    Parameters
    ----------
    spn : SPN
        The structure.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices, or a source that yields tiles.
    y : array-like of shape (n,)
        Labels of any kind.
    share : float, default=1.0
        For trainings on this share of the rows, whose C_min is about as much larger.
    stop : callable, default=None
        Asked while C_min is sought.
    **settings : dict
        Those of `solve` that C_min depends on.

    Returns
    -------
    ndarray of shape (C,)
        The grid, smallest first.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import templates
    >>> from spnmkl.kernels import fit_kernels
    >>> from spnmkl.selection import default_grid
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]}, p=2)
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> [float(C) for C in default_grid(spn, kernels, y)[[0, -1]]]
    [0.01, 1000.0]
    """
    if (powers(spn, compile_circuit(spn), settings.get("p")) != 1).any():
        return np.logspace(-2, 3, 11)
    passed = {k: settings[k] for k in ("lam", "p", "sample_weight", "class_weight", "n_threads") if k in settings}
    # The bracket's lower end comes close early, and the grid begins a quarter above it.
    smallest = C_min(spn, kernels, y, tol=0.1, stop=stop, **passed)
    return (smallest / share if 0 < smallest < np.inf else 1.0) * np.logspace(0.1, 3, 12)


def _grid(C: Iterable[float]) -> Floats:
    grid = np.unique(np.asarray(list(C), dtype=float))
    if len(grid) == 0 or not np.isfinite(grid).all() or (grid <= 0).any():
        raise ParameterError(
            "C must hold at least one number, all finite and above 0; choose for example [0.1, 1, 10]."
        )
    return grid


def _solve_next(
    spn: SPN,
    source: KernelSource,
    y: ArrayLike,
    C: float,
    last: Solution | None,
    settings: Mapping[str, Any],
    deadline: Deadline,
) -> Solution:
    # Weights that are all zero are expected at the lower end of a grid.
    return solve(spn, source, y, C=C, start=last, warn=False, max_time=deadline.left, stop=deadline.stop, **settings)


def fold_splits(
    y: NDArray, folds: int, groups: ArrayLike | None, random_state: int | None
) -> Iterable[tuple[NDArray, NDArray]]:
    """Training and test rows of every fold, stratified, and with whole groups held out where there are some."""
    seed(random_state)
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


def _kernel_bytes(matrices: Mapping[str, Floats]) -> int:
    """Those that leaves share count once."""
    return sum({K.ctypes.data: K.nbytes for K in matrices.values()}.values())


def blocks(matrices: Mapping[str, Floats], rows: NDArray, columns: NDArray) -> dict[str, Floats]:
    """The block of every matrix, cut once where leaves share it."""
    cut: dict[int, Floats] = {}
    for K in matrices.values():
        if K.ctypes.data not in cut:
            cut[K.ctypes.data] = block = np.empty((len(rows), len(columns)))
            _cut(K, rows, columns, block)
    return {leaf: cut[K.ctypes.data] for leaf, K in matrices.items()}


@njit(nogil=True, cache=True)
def _cut(K, rows, columns, block):  # type: ignore[no-untyped-def]
    """K[np.ix_(rows, columns)], which takes numpy twenty times as long."""
    for i in range(len(rows)):
        row = K[rows[i]]
        for j in range(len(columns)):
            block[i, j] = row[columns[j]]


def _cross_validation(grid: Floats, scores: Floats, beta: dict[str, Floats]) -> CrossValidation:
    result = CrossValidation(grid, scores, beta, np.nan)
    if np.isnan(scores).all():
        return result
    # Stopped early, a C may have been scored on fewer folds than another: only those with the most are compared.
    folds = (~np.isnan(scores)).sum(axis=1)
    mean = np.where(folds == folds.max(), result.mean, -np.inf)
    return replace(result, best_C=float(grid[int(mean.argmax())]))
