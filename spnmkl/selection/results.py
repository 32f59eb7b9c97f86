"""What a path over C and a cross-validation give, and tell as they go."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from spnmkl.circuit.program import Floats
from spnmkl.solution import Solution

UNFINISHED = ("interrupted", "time_limit")  # how a training ends whose C is not done


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
        On the rows held out.

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
    """Scores on held-out folds.

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
    scoring : str
        What the scores are; see `cross_validate_C`.

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
    scoring: str = "accuracy"

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


def summed_up(grid: Floats, scores: Floats, beta: dict[str, Floats], scoring: str) -> CrossValidation:
    result = CrossValidation(grid, scores, beta, np.nan, scoring)
    if np.isnan(scores).all():
        return result
    # Stopped early, a C may have been scored on fewer folds than another: only those with the most are compared.
    folds = (~np.isnan(scores)).sum(axis=1)
    mean = np.where(folds == folds.max(), result.mean, -np.inf)
    return replace(result, best_C=float(grid[int(mean.argmax())]))
