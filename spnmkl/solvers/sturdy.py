"""SVMs for descents that no path following can take over: where SMO crawls, from the centre at a small μ.

Of kernels of low rank SMO may take millions of steps; a centre takes some dozen factorisations whatever the rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from spnmkl.circuit.program import Floats
from spnmkl.solvers.centring import around, centred, snapped
from spnmkl.solvers.evaluator import Evaluator
from spnmkl.solvers.factor import Pause, at_once
from spnmkl.solvers.shifted import ShiftedKernel
from spnmkl.solvers.svm import Stop, SVMSolution, solve_svm

_STEPS_PER_ROW, _CHEAP_STEPS = 25, 10_000  # of SMO, healthy ones take 1 to 7 per row
_LEVELS = (1 / 8, 1 / 300, 1e-4)  # of the gap asked for, over n: μ
_CENTRED = 0.05  # of μ√n: the decrement of a centre


class SturdyEvaluator(Evaluator):
    """An evaluator whose SVMs are solved whatever the rank of K."""

    def _solve_svms(self, beta: Floats, gap: float) -> list[SVMSolution]:
        problem, classes = self.problem, range(len(self.problem.Y))

        def one(c: int) -> SVMSolution:
            share = gap / len(classes)
            return solve_sturdily(self.K, problem.Y[c], problem.C, self.alpha[c], share, problem.stop, problem.pause)

        if problem.n_threads == 1 or len(classes) == 1:
            fits = [one(c) for c in classes]
        else:
            with ThreadPoolExecutor(problem.n_threads) as pool:
                fits = list(pool.map(one, classes))
        self._keep(beta, fits)
        return fits


def solve_sturdily(
    K: Floats, y: Floats, C: Floats, alpha: Floats, gap: float, stop: Stop = None, pause: Pause = at_once
) -> SVMSolution:
    """As `solve_svm`, whatever the rank of K: what is missing where rounding is the limit shows in primal − dual."""
    most = max(_CHEAP_STEPS, _STEPS_PER_ROW * len(y))
    fit = solve_svm(K, y, C, alpha, gap, most, stop)
    if fit.steps < most:
        return fit
    for near in _near_optimum(K, y, C, fit.alpha, gap, pause):
        if fit.primal - fit.dual <= gap or (stop is not None and stop()):
            break
        fit = min(fit, solve_svm(K, y, C, near, gap, most, stop), key=lambda found: found.primal - found.dual)
    return fit


def solve_closely(K: Floats, y: Floats, C: Floats, alpha: Floats, tol: float, stop: Stop = None) -> SVMSolution:
    """Solved from α until primal − dual is at most `tol` of the primal value, which is not known before."""
    for digits in range(1, 15):
        found = solve_sturdily(K, y, C, alpha, 10.0**-digits * C.sum(), stop)
        if found.primal - found.dual <= tol * found.primal or (stop is not None and stop()):
            break
        alpha = found.alpha
    return found


def _near_optimum(K: Floats, y: Floats, C: Floats, alpha: Floats, gap: float, pause: Pause) -> Iterator[Floats]:
    """Ever better α for SMO to go on from: at its bounds where a centre, whose gap is at most 2nμ, is near them."""
    live = np.flatnonzero(C > 0)
    if not (y[live] > 0).any() or not (y[live] < 0).any():
        return  # one side alone is told by a constant
    kernel = ShiftedKernel(K if len(live) == len(C) else np.ascontiguousarray(K[np.ix_(live, live)]), pause)
    y, bounds, n = y[live], C[live], len(live)
    inside = around(kernel, y, bounds, _LEVELS[0] * gap / n, alpha[live])
    for share in _LEVELS:
        mu = share * gap / n
        try:
            inside = centred(kernel, y, bounds, mu, inside, _CENTRED * mu * n**0.5)
        except FloatingPointError:
            return
        found = np.zeros_like(C)
        found[live] = snapped(inside, y, bounds)
        yield found
