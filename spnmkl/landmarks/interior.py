"""The SVM on features by an interior-point method: some dozen passes at any C, where coordinate descent crawls.

min ½ ‖Σ_i α_i y_i z_i‖² − Σ_i α_i over 0 ≤ α ≤ C, yᵀα = 0, by Mehrotra's predictor and corrector. The matrix of a step
is Q + D with Q_ij = y_i y_j z_iᵀz_j of low rank and D diagonal, so that rank × rank systems are enough (Woodbury's
formula): an iteration costs n · rank² for Zᵀ D⁻¹ Z, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from spnmkl.circuit.program import Floats

Blocks = Sequence[NDArray[np.float32]]
MOST_WORK = 1e11  # n · rank² of a step that is worth it: about ten seconds
_ITERATIONS = 60
_INSIDE = 0.05  # of C: how far from its bounds a start is moved
_BACK = 0.995  # of the way to the nearest bound
_RIDGE = 1e-12  # of the mean diagonal, added to the rank × rank matrix


def interior(
    blocks: Blocks,
    y: Floats,
    C: Floats,
    alpha: Floats,
    intercept: float,
    enough: Callable[[Floats, float], bool],
    stop: Callable[[], bool] | None = None,
) -> None:
    """From α on, until `enough` says so of an α and its intercept, which it is asked after every step."""
    work = _Interior(blocks, y, C, alpha, intercept)
    for _ in range(_ITERATIONS):
        if (stop is not None and stop()) or not work.step() or enough(work.alpha, work.b):
            return


class _Interior:
    """α, the multipliers s of α ≥ 0 and u of α ≤ C, and b that of yᵀα = 0; rows of C = 0 stay at 0."""

    def __init__(self, blocks: Blocks, y: Floats, C: Floats, alpha: Floats, intercept: float) -> None:
        self.blocks, self.y, self.b = blocks, y, intercept
        self.active = C > 0
        self.C = np.where(self.active, C, 1.0)
        self.alpha = np.where(self.active, np.clip(alpha, _INSIDE * self.C, (1 - _INSIDE) * self.C), 0.0)
        slope = y * (self._decide(self._sum(self.alpha)) + intercept) - 1.0
        level = max(1.0, float(np.abs(slope).mean()))
        self.s, self.u = np.maximum(slope, 0.0) + level, np.maximum(-slope, 0.0) + level

    def _sum(self, values: Floats) -> Floats:
        """Σ_i values_i y_i z_i."""
        signed, first, total = values * self.y, 0, np.zeros(self.blocks[0].shape[1])
        for Z in self.blocks:
            total += signed[first : first + len(Z)] @ Z
            first += len(Z)
        return total

    def _decide(self, w: Floats) -> Floats:
        return np.concatenate([Z @ w for Z in self.blocks])

    def step(self) -> bool:
        """One predictor and corrector; False where rounding leaves no way."""
        on, y = self.active, self.y
        room = self.C - self.alpha
        a, v = np.where(on, self.alpha, 1.0), np.where(on, room, 1.0)
        s, u = np.where(on, self.s, 0.0), np.where(on, self.u, 0.0)
        n = 2 * int(on.sum())
        inverse = np.where(on, 1.0 / (s / a + u / v + np.finfo(float).tiny), 0.0)
        try:
            solve = self._solver(inverse)
        except np.linalg.LinAlgError:
            return False
        dual = np.where(on, -(y * (self._decide(self._sum(self.alpha)) + self.b) - 1.0 - s + u), 0.0)
        along_y = solve(np.where(on, y, 0.0))
        curve = float(y @ along_y)

        def direction(low: Floats, high: Floats) -> tuple[Floats, float, Floats, Floats]:
            """Of α, b, s and u, for what α s and (C − α) u are to change by."""
            free = solve(np.where(on, dual + low / a - high / v, 0.0))
            db = float(y @ free + y @ self.alpha) / curve
            da = free - db * along_y
            return da, db, np.where(on, (low - s * da) / a, 0.0), np.where(on, (high + u * da) / v, 0.0)

        low, high = -a * s * on, -v * u * on
        mu = -float((low + high).sum()) / n
        da, _, ds, du = direction(low, high)
        length = self._length(a, v, s, u, da, ds, du, 1.0)
        ahead = float((a + length * da) @ (s + length * ds) + (v - length * da) @ (u + length * du)) / n
        centre = mu * min(1.0, max(0.0, ahead / mu)) ** 3
        da, db, ds, du = direction(
            np.where(on, low + centre - da * ds, 0.0), np.where(on, high + centre + da * du, 0.0)
        )
        length = self._length(a, v, s, u, da, ds, du, _BACK)
        if not np.isfinite(length) or length < 1e-10 or not np.isfinite(da).all():
            return False
        self.alpha = np.where(on, np.clip(self.alpha + length * da, 0.0, self.C), 0.0)
        self.b, self.s, self.u = self.b + length * db, self.s + length * ds, self.u + length * du
        return True

    def _length(
        self, a: Floats, v: Floats, s: Floats, u: Floats, da: Floats, ds: Floats, du: Floats, back: float
    ) -> float:
        """As far as all stay above 0, and no farther than 1."""
        on, longest = self.active, 1.0
        for value, change in ((a, da), (v, -da), (s, ds), (u, du)):
            down = on & (change < 0)
            if down.any():
                longest = min(longest, back * float((-value[down] / change[down]).min()))
        return longest

    def _solver(self, inverse: Floats) -> Callable[[Floats], Floats]:
        """x → (Q + D)⁻¹ x for the diagonal D, whose inverse is given; where that is 0 there is no row."""
        rank = self.blocks[0].shape[1]
        H, first, root = np.eye(rank), 0, np.sqrt(inverse)
        for Z in self.blocks:
            scaled = Z * root[first : first + len(Z), None]
            H += scaled.T @ scaled
            first += len(Z)
        H[np.diag_indices(rank)] += _RIDGE * np.trace(H) / rank
        factor = cho_factor(H, overwrite_a=True, check_finite=False)

        def solve(x: Floats) -> Floats:
            scaled = inverse * x
            return scaled - inverse * self.y * self._decide(cho_solve(factor, self._sum(scaled), check_finite=False))

        return solve
