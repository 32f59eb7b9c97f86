"""The SVM on features: dual coordinate descent over blocks of rows, with an intercept that no one regularises.

The features are in single precision and may lie on a disk; all sums over them are in double. LIBLINEAR would need a
copy of them in double, regularises its intercept, and keeps its multipliers, without which there is no gap, to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numba import njit
from numpy.typing import NDArray

from spnmkl.certificate import balanced, best_intercept
from spnmkl.circuit.program import Floats, Indices
from spnmkl.landmarks.interior import MOST_WORK, interior

Blocks = Sequence[NDArray[np.float32]]
Stop = Callable[[], bool] | None
_MOST_PASSES = 1000  # over all rows
_PATIENCE = 20  # passes before an interior-point method takes over, where the rows are not too many for it
_ROUNDS, _FREE_PASSES = 3, 10  # after each of those: Newton steps, and before each passes over the free rows
_MOST_FREE = 1.2  # of the rank: rows of a Newton step, where more cannot all lie on their margins
_RIDGE = 1e-9  # of the mean diagonal of its matrix
_SHORTER, _TRIALS = 0.3, 5  # of a step that gains nothing
_SIGMA = 0.3  # of the mean ‖z‖²: how firmly a pass keeps to yᵀα = 0


@dataclass(frozen=True)
class LinearSVM:
    """min ½‖w‖² + Σ_i C_i max(0, 1 − y_i (wᵀz_i + b)): dual ≤ optimum ≤ primal."""

    w: Floats
    intercept: float
    alpha: Floats
    primal: float
    dual: float
    passes: int

    def beside(self, other: LinearSVM) -> LinearSVM:
        """The better of both on either side, which need not come from one point, after the passes of the other."""
        point = other if other.primal <= self.primal else self
        return replace(point, dual=max(self.dual, other.dual), passes=other.passes)

    @property
    def gap(self) -> float:
        """Relative to the primal value."""
        return (self.primal - self.dual) / self.primal if self.primal > 0 else 0.0

    def scaled(self, factor: float) -> LinearSVM:
        """A start for so many times the C."""
        return replace(self, alpha=factor * self.alpha)


def solve_linear(
    blocks: Blocks,
    y: Floats,
    C: Floats,
    tol: float,
    *,
    start: LinearSVM | None = None,
    seed: int = 0,
    stop: Stop = None,
    most_passes: int = _MOST_PASSES,
    tick: Callable[[LinearSVM], object] | None = None,
) -> LinearSVM:
    """Until primal − dual ≤ tol · primal, from a start over the same rows; the gap says what was reached otherwise.

    The constraint yᵀα = 0 that a free intercept brings is kept by the method of multipliers: b is the multiplier, and a
    pass moves b by σ with yᵀα. Primal and dual are those of the problem itself, at the best b and at a balanced α.
    `tick` is called with the best so far after every pass.
    """
    work = _Descent(blocks, y, C, np.random.default_rng(seed))
    if start is not None:
        work.begin(np.clip(start.alpha, 0.0, C), start.intercept)
    best = work.judged()
    light = len(y) * float(blocks[0].shape[1]) ** 2 <= MOST_WORK

    def judge() -> None:
        nonlocal best
        best = best.beside(work.judged())
        if tick is not None:
            tick(best)

    def open_still() -> bool:
        return best.primal - best.dual > tol * best.primal and not (stop is not None and stop())

    while open_still() and work.passes < most_passes and not (light and work.passes >= _PATIENCE):
        work.one_pass(stop)
        judge()

    def enough(alpha: Floats, intercept: float) -> bool:
        work.begin(alpha, intercept)
        work.passes += 1
        judge()
        return not open_still()

    if open_still() and work.passes < most_passes:
        interior(blocks, y, C, best.alpha, best.intercept, enough, stop)
    return best


class _Descent:
    """α, w = Σ α_i y_i z_i and b, kept together."""

    def __init__(self, blocks: Blocks, y: Floats, C: Floats, rng: np.random.Generator) -> None:
        self.blocks, self.y, self.C, self.rng = blocks, y, C, rng
        self.rows = list(_places(blocks))
        self.squares = np.concatenate([np.einsum("ij,ij->i", Z, Z, dtype=np.float64) for Z in blocks])
        self.sigma = _SIGMA * (float(self.squares.mean()) or 1.0)
        self.alpha, self.w, self.b, self.passes = np.zeros(len(y)), np.zeros(blocks[0].shape[1]), 0.0, 0

    def begin(self, alpha: Floats, intercept: float) -> None:
        self.alpha, self.b = alpha.copy(), intercept
        self.w = self._sum(self.alpha * self.y)

    def _sum(self, A: Floats) -> Floats:
        """Σ_i A_i z_i, in double."""
        return np.sum([A[rows] @ Z for rows, Z in zip(self.rows, self.blocks, strict=True)], axis=0)

    def one_pass(self, stop: Stop) -> None:
        """All rows once, those between their bounds more often, and then a better multiplier."""
        self._descend([np.arange(len(Z)) for Z in self.blocks], stop)
        for _ in range(_ROUNDS):
            for _ in range(_FREE_PASSES):
                free = (self.alpha > 0) & (self.alpha < self.C)
                self._descend([np.flatnonzero(free[rows]) for rows in self.rows], stop)
            self._newton()
        self.b += self.sigma * float(self.alpha @ self.y)
        self.w = self._sum(self.alpha * self.y)  # without what rounding has gathered
        self.passes += stop is None or not stop()  # whole ones

    def _newton(self) -> None:
        """All free α at once towards y_i f_i = 1, cut at their bounds, as far as the dual with σ(yᵀα)²/2 gains."""
        free = (self.alpha > 0) & (self.alpha < self.C)
        if not 0 < free.sum() <= _MOST_FREE * (len(self.w) + 1):
            return
        Z = np.concatenate([Z[free[rows]] for rows, Z in zip(self.rows, self.blocks, strict=True)]).astype(np.float64)
        y, a, C = self.y[free], (self.alpha * self.y)[free], self.C[free]
        missing, Q = y - Z @ self.w - self.b, Z @ Z.T + self.sigma
        ridge = _RIDGE * np.trace(Q) / len(Q)
        direction = np.linalg.solve(Q + ridge * np.eye(len(Q)), missing)
        for k in range(_TRIALS):
            step = y * np.clip(y * (a + _SHORTER**k * direction), 0.0, C) - a
            if missing @ step - step @ Q @ step / 2 > 0:
                self.alpha[free] = np.clip(y * (a + step), 0.0, C)
                self.w += step @ Z
                self.b += self.sigma * float(step.sum())
                return

    def _descend(self, chosen: Sequence[Indices], stop: Stop) -> None:
        """Over chosen rows of every block, block by block, both in random order."""
        for k in self.rng.permutation(len(self.blocks)):
            if stop is not None and stop():
                break
            rows, order = self.rows[k], self.rng.permutation(chosen[k])
            self.b = _coordinates(
                self.blocks[k],
                order,
                self.y[rows],
                self.C[rows],
                self.squares[rows],
                self.sigma,
                self.alpha[rows],
                self.w,
                self.b,
            )

    def judged(self) -> LinearSVM:
        """The primal value at w and the best intercept, the dual one at a balanced α."""
        f = np.concatenate([Z @ self.w for Z in self.blocks])
        intercept, loss = best_intercept(f, self.y, self.C)
        even = balanced(self.alpha[None], self.y[None])[0]
        v = self._sum(even * self.y)
        return LinearSVM(
            self.w.copy(),
            intercept,
            self.alpha.copy(),
            float(self.w @ self.w / 2 + loss),
            float(even.sum() - v @ v / 2),
            self.passes,
        )


def _places(blocks: Blocks) -> Iterator[slice]:
    first = 0
    for Z in blocks:
        yield slice(first, first + len(Z))
        first += len(Z)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _coordinates(Z, order, y, C, squares, sigma, alpha, w, b):  # type: ignore[no-untyped-def]
    """One α_i after the other to its best value in [0, C_i], with w and b, which is returned."""
    for i in order:
        z, f = Z[i], 0.0
        for k in range(len(w)):
            f += w[k] * z[k]
        slope, before = y[i] * (f + b) - 1.0, alpha[i]
        after = min(max(before - slope / (squares[i] + sigma), 0.0), C[i])
        if after != before:
            step = (after - before) * y[i]
            alpha[i] = after
            b += sigma * step
            for k in range(len(w)):
                w[k] += step * z[k]
    return b
