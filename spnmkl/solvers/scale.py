"""The first scale of equal weights, found on some rows: K(tβ) = tK(β), so that one kernel serves all scales."""

from __future__ import annotations

import numpy as np

from spnmkl.certificate import best_intercept
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.centring import Centre, Inside, centred
from spnmkl.solvers.iterate import constant_loss
from spnmkl.solvers.shifted import ShiftedKernel
from spnmkl.solvers.start import balanced_step, better_scale

_ROWS, _CLASSES, _ROUNDS = 250, 4, 8


class Scale:
    """A good t for tβ, β = 1, given K(β) on all rows.

    Attributes
    ----------
    t : the scale.
    value : about the objective there, on all rows; a sample may be separable where the whole is not.
    centres : where to begin, per class; None where only some rows were looked at.
    """

    def __init__(self, problem: Problem, Y: Floats, C: Floats, K: Floats) -> None:
        self.problem, self.Y, self.C, self.K = problem, Y, C, K
        self.rows = slice(0, None, balanced_step(Y, C, max(1, len(C) // _ROWS)) or 1)
        self.classes = slice(0, None, len(Y) // _CLASSES + 1 if len(Y) > _CLASSES else 1)
        self.centres: list[Inside | None] = [None] * len(Y)
        self.t, self.value = self._search()

    def _search(self) -> tuple[float, float]:
        problem, ones = self.problem, np.ones(len(self.problem.p))
        C = self.C[self.rows] * (self.C.sum() / self.C[self.rows].sum())
        Y = np.ascontiguousarray(self.Y[self.classes, self.rows])
        of_all = len(self.Y) / len(Y)
        p = float(problem.p.min())
        regularizer, slope = problem.regularizer(ones), float(problem.regularizer_slope(ones).sum())
        everything = constant_loss(self.Y, self.C)
        kernel = ShiftedKernel(self.K[self.rows, self.rows].copy(), problem.pause)
        level = float(kernel.diagonal.mean())
        if not level > 0:
            return 1.0, everything
        t = 1.0 / level
        kernel.scale(t)
        value, centres = everything, list[Centre]()
        begin: list[Inside | None] = [None] * len(Y)
        for k in range(_ROUNDS):
            mu = 0.1 * value / (2 * Y.size * of_all)
            centres = [centred(kernel, y, C, mu, c, 0.2 * len(C) * mu) for y, c in zip(Y, begin, strict=True)]
            F, loss = _value(centres, Y, C)
            now = (F + loss) * of_all + regularizer * _power(t, p)
            change = better_scale(F * of_all, slope * _power(t, p), p)
            settled = abs(np.log(change)) < 0.5 and now > 0.2 * value
            value = min(value, now)
            if settled or k == _ROUNDS - 1:
                break
            t *= change
            kernel.scale(change)
            begin = [None] * len(Y) if max(change, 1 / change) > 3 else list(centres)
        if self.rows.step == 1 and len(Y) == len(self.Y):
            self.centres = list(centres)
            return t, value
        return t, min(everything, max(value, self._on_all_rows(centres, Y, t) * of_all + regularizer * _power(t, p)))

    def _on_all_rows(self, centres: list[Centre], Y: Floats, t: float) -> float:
        A = np.array([c.a for c in centres]) * Y
        F = t * (self.K[:, self.rows] @ A.T).T
        losses = [best_intercept(f, y, self.C)[1] for f, y in zip(F, self.Y[self.classes], strict=True)]
        return sum(losses) + 0.5 * float((A * F[:, self.rows]).sum())


def _value(centres: list[Centre], Y: Floats, C: Floats) -> tuple[float, float]:
    """½ Σ (α∘y)ᵀK(α∘y) and the loss."""
    F = 0.5 * sum(float((c.a * y) @ c.f) for c, y in zip(centres, Y, strict=True))
    return F, sum(best_intercept(c.f, y, C)[1] for c, y in zip(centres, Y, strict=True))


def _power(t: float, p: float) -> float:
    return float(np.exp(np.clip(p * np.log(t), -700.0, 700.0)))
