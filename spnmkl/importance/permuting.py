"""A trained fold asked what it would say if some columns stood in the wrong rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from spnmkl.baselines.labels import of_leaves
from spnmkl.circuit.program import Floats
from spnmkl.importance.folds import FoldData
from spnmkl.inspection import decision_gradient
from spnmkl.kernels import FittedKernel, cross_kernels
from spnmkl.kernels.gradients import has_gradient
from spnmkl.measures import Measure
from spnmkl.solution import Solution
from spnmkl.threads import single_threaded_blas

Orders = NDArray[np.intp]
_ENTRIES = 4_000_000  # of permuted rows that are held at a time
_ROWS = 32  # whose gradients are held at a time
SCREENS = 3  # permutations that the screening looks at


def shuffles(n: int, times: int, seed: Sequence[int]) -> Orders:
    """(times, n) orders of the rows."""
    rng = np.random.default_rng(list(seed))
    return np.array([rng.permutation(n) for _ in range(times)])


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A drawing trained on one fold, with the rows held out.

    Attributes
    ----------
    fitted : dict from leaf to FittedKernel
        Of leaves with a positive weight that see columns.
    given : dict from leaf to ndarray of shape (rows, n)
        Cross-kernels of the other leaves, which no column changes.
    centre : ndarray of shape (classes,)
        The mean of the decision over the training rows.
    columns : dict from column to positions
    """

    solution: Solution
    fitted: Mapping[str, FittedKernel]
    given: Mapping[str, Floats]
    centre: Floats
    X: Floats
    y: NDArray
    columns: Mapping[Any, tuple[int, ...]]

    @classmethod
    def of(cls, solution: Solution, data: FoldData) -> FoldModel:
        leaves, label = solution.active_circuit()[0].leaves, solution.spn.label
        fitted = {leaf: data.fitted[label(leaf)] for leaf in leaves if label(leaf) in data.fitted}
        given = {leaf: data.cross[label(leaf)] for leaf in leaves if leaf not in fitted}
        inside = solution.decision_function(of_leaves(solution.spn, data.kernels))
        centre = np.atleast_1d(inside.mean(axis=0))
        return cls(solution, fitted, given, centre, data.X_test, data.y_test, data.columns)

    def positions(self, group: Sequence[Any]) -> list[int]:
        """Where a group of columns stands in X; none where preparation left it out."""
        return [k for column in group for k in self.columns.get(column, ())]

    @property
    def differentiable(self) -> bool:
        return not self.given and all(has_gradient(kernel.spec.kernel) for kernel in self.fitted.values())

    @cached_property
    def cross(self) -> dict[str, Floats]:
        with single_threaded_blas():
            return cross_kernels(self.fitted, self.X) if self.fitted else {}

    def forget_kernels(self) -> None:
        """Those of all folds together would take as much as a whole training; they come back when they are needed."""
        vars(self).pop("cross", None)

    @cached_property
    def decision(self) -> Floats:
        """(rows, classes) as they are, one column for two classes."""
        return self._decision({**self.cross, **self.given}, len(self.X))

    def permuted(self, positions: Sequence[int], orders: Orders) -> Iterator[Floats]:
        """(rows, classes) for each order, with the columns at these positions taken from the rows in that order."""
        moved = {leaf: kernel for leaf, kernel in self.fitted.items() if _sees(kernel, positions)}
        at_once = max(1, _ENTRIES // max(self.X.size, 1))
        m = len(self.X)
        for start in range(0, len(orders), at_once):
            some = orders[start : start + at_once]
            X = np.tile(self.X, (len(some), 1))
            X[:, positions] = self.X[some.ravel()[:, None], np.asarray(positions)]
            with single_threaded_blas():
                changed = cross_kernels(moved, X) if moved else {}
            for k in range(len(some)):
                own = {leaf: values[k * m : (k + 1) * m] for leaf, values in changed.items()}
                yield self._decision({**self.cross, **self.given, **own}, m)

    def loss(self, positions: Sequence[int], orders: Orders, measure: Measure) -> tuple[float, float, float]:
        """The score that is lost, the part of y·f that is, and its mean square over the rows; means over the orders."""
        before, margins, scores = self.score(self.decision, measure), np.zeros(len(self.X)), []
        for F in self.permuted(positions, orders):
            scores.append(self.score(F, measure))
            margins += self.margins(F)
        lost = self.margins(self.decision) - margins / len(orders)
        return float(before - np.mean(scores)), float(lost.mean()), float((lost**2).mean())

    def score(self, decision: Floats, measure: Measure) -> float:
        values = decision[:, 0] if decision.shape[1] == 1 else decision
        return measure.of(self.y, values, self.solution.classes)

    def margins(self, decision: Floats) -> Floats:
        """(rows,) y·f, less the mean of f over the training rows, summed over the classes."""
        classes = self.solution.classes
        own = self.y[:, None] == (classes if len(classes) > 2 else classes[1:])
        return np.asarray((np.where(own, 1.0, -1.0) * (decision - self.centre)).sum(axis=1))

    def _decision(self, cross: Mapping[str, Floats], rows: int) -> Floats:
        if not cross:  # all weights are zero
            return np.tile(np.atleast_1d(self.solution.intercept), (rows, 1))
        return self.solution.decision_function(cross, 1).reshape(rows, -1)

    def screened(self, groups: Sequence[Sequence[Any]], most: int, orders: Orders) -> Floats:
        """(groups,) by how much the decision would change, on the mean, if a group of columns were permuted."""
        places = [self.positions(group) for group in groups]
        if self.differentiable:
            return self._by_gradient(places, orders)
        return self._by_blocks(places, most, orders[:1])

    def _by_gradient(self, places: Sequence[Sequence[int]], orders: Orders) -> Floats:
        """To first order: |Σ_j ∂f/∂x_j (x'_j − x_j)| over the columns j of a group, mean over rows and classes."""
        at = [(k, group) for group, positions in enumerate(places) for k in positions]
        rows, groups = np.array(at, dtype=np.intp).reshape(-1, 2).T
        member = sp.csr_array((np.ones(len(at)), (rows, groups)), shape=(self.X.shape[1], len(places)))
        total = np.zeros(len(places))
        for start in range(0, len(self.X), _ROWS):
            some = slice(start, start + _ROWS)
            gradient = decision_gradient(self.solution, self.fitted, self.X[some])
            slopes = gradient if gradient.ndim == 3 else gradient[None]
            for order in orders:
                moves = self.X[order[some]] - self.X[some]
                for slope in slopes:
                    total += np.abs((slope * moves) @ member).sum(axis=0)
        return total / (len(orders) * self.decision.size)

    def _by_blocks(self, places: Sequence[Sequence[int]], most: int, orders: Orders) -> Floats:
        """Whole blocks of groups permuted, those that change the decision most split first, until so many are alone."""
        found, waiting = np.zeros(len(places)), list[tuple[float, int, int]]()

        def put(start: int, stop: int) -> None:
            positions = [k for place in places[start:stop] for k in place]
            if positions:
                changes = [np.abs(F - self.decision).mean() for F in self.permuted(positions, orders)]
                heappush(waiting, (-float(np.mean(changes)), start, stop))

        put(0, len(places))
        left = most
        while waiting and left:
            change, start, stop = heappop(waiting)
            if stop - start == 1:
                found[start], left = -change, left - 1
            else:
                middle = (start + stop) // 2
                put(start, middle)
                put(middle, stop)
        return found


def _sees(kernel: FittedKernel, positions: Sequence[int]) -> bool:
    return kernel.columns is None or not set(kernel.columns).isdisjoint(positions)
