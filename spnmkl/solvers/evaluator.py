"""J(β) and its derivatives: the kernel is formed in one buffer, the SVMs start from the last α."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spnmkl.certificate import balanced
from spnmkl.circuit.evaluate import kernel_matrix, term_responses
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.problem import Problem
from spnmkl.solvers.budget import Budget, unfinished
from spnmkl.solvers.shifted import ShiftedKernel
from spnmkl.solvers.start import better_scale
from spnmkl.solvers.svm import SVMSolution, solve_svm

_RESCALINGS, _SCALE_OFF = 4, 0.05  # steps to a better multiple of β; a change of it that is not worth one
_RANK_TOL = 1e-9  # of the mean diagonal entry


@dataclass(frozen=True)
class Point:
    """J at β (eq. 4): value ≤ J(β) ≤ objective, both with the regulariser."""

    beta: Floats
    alpha: Floats
    intercept: Floats
    value: float
    objective: float

    @property
    def svm_error(self) -> float:
        return self.objective - self.value


@dataclass(frozen=True)
class Slope:
    """First derivatives at a point, on the terms of `circuit`.

    Attributes
    ----------
    responses : (terms, classes, n) R[t, c, i] = Σ_j (∂K_ij/∂W_t)(α_c∘y_c)_j.
    quadratics : (terms,) q_t of eq. 7, summed over the classes.
    flows : (terms,) f_t of eq. 7.
    """

    circuit: Circuit
    responses: Floats
    quadratics: Floats
    flows: Floats

    @property
    def D(self) -> Floats:
        """(V,) ∂F/∂log β_v = ½ Σ_m e_mv g_m q_m, eq. 7."""
        return self.circuit.X.T @ self.flows


class Evaluator:
    """Holds one n×n buffer: K at the point evaluated last, which is at a better multiple of β if `rescale` is set.

    Attributes
    ----------
    K : (n, n), in single precision where the problem's kernels are.
    last : Point
        What was evaluated last; where SMO's budget ended that, as far as it came.
    below : (n, n) what lies one row below, in single precision. Its lower triangle is K without its upper one and its
        diagonal: room for a factor, until K is mirrored again. None in double precision.
    """

    def __init__(self, problem: Problem, rescale: bool = False, budget: Budget | None = None) -> None:
        self.problem, self.budget = problem, budget
        memory = np.empty((problem.n + problem.single, problem.n), np.float32 if problem.single else np.float64)
        self.K: NDArray[Any] = memory[: problem.n]
        self.below = memory[1:] if problem.single else None
        self.alpha = np.zeros_like(problem.Y)
        self.evaluations = 0
        self.rescale = rescale and problem.convex and bool((problem.p == problem.p[0]).all())
        self._circuits: dict[bytes, Circuit] = {}

    def active(self, alive: NDArray[np.bool_]) -> Circuit:
        if alive.all():
            return self.problem.circuit
        key = alive.tobytes()
        if key not in self._circuits:
            self._circuits = {key: self.problem.circuit.restricted(alive)}  # only the newest is ever asked for again
        return self._circuits[key]

    def evaluate(self, beta: Floats, svm_gap: float) -> Point:
        """Solve the SVM of every class at β, or at a better multiple of it, to an absolute gap of `svm_gap` in total.

        K(tβ) = tK(β), so that another scale costs no pass over the kernels.
        """
        problem, circuit = self.problem, self.active(beta > 0)
        self.evaluations += 1
        kernel_matrix(circuit, circuit.weights(beta), problem.source, self.K, problem.n_threads)
        fits = self._solve_svms(beta, svm_gap)
        for _ in range(_RESCALINGS):
            t = self._better_scale(beta, fits)
            if abs(t - 1.0) < _SCALE_OFF:
                break
            beta = t * beta
            self.K *= t
            self.alpha = balanced(np.minimum(self.alpha / t, problem.C), problem.Y)
            fits = self._solve_svms(beta, svm_gap)
        return self.last

    def refined(self, point: Point, svm_gap: float) -> Point:
        """The point evaluated last, with its SVMs solved further: no pass over the kernels."""
        self._solve_svms(point.beta, svm_gap)
        return self.last

    def _keep(self, beta: Floats, fits: list[SVMSolution]) -> None:
        self.alpha = np.array([fit.alpha for fit in fits])
        regularizer = self.problem.regularizer(beta)
        self.last = Point(
            beta,
            self.alpha,
            np.array([fit.intercept for fit in fits]),
            sum(fit.dual for fit in fits) + regularizer,
            sum(fit.primal for fit in fits) + regularizer,
        )

    def _solve_svms(self, beta: Floats, gap: float) -> list[SVMSolution]:
        every, budget = range(len(self.problem.Y)), self.budget
        gap /= len(every)
        most = None if budget is None else budget.per_svm
        fits = self._fits(every, gap, most)
        self._keep(beta, fits)
        if budget is not None and most is not None and not budget.spend(fits, gap, self._has_high_rank):
            self._go_on(fits, gap, most, budget.per_svm)
            self._keep(beta, fits)
        return fits

    def _go_on(self, fits: list[SVMSolution], gap: float, done: int, most: int) -> None:
        """With the SVMs that ended only because of their limit of steps."""
        cut = [c for c, fit in enumerate(fits) if most > fit.steps and unfinished(fit, done, gap)]
        if cut:
            for c, fit in zip(cut, self._fits(cut, gap, most - done), strict=True):
                fits[c] = replace(fit, steps=fit.steps + done)

    def _fits(self, classes: Sequence[int], gap: float, most: int | None) -> list[SVMSolution]:
        problem = self.problem

        def one(c: int) -> SVMSolution:
            return solve_svm(self.K, problem.Y[c], problem.C, self.alpha[c], gap, most, stop=problem.stop)

        if problem.n_threads == 1 or len(classes) == 1:
            return [one(c) for c in classes]
        with ThreadPoolExecutor(problem.n_threads) as pool:
            return list(pool.map(one, classes))

    def _has_high_rank(self) -> bool:
        """Whether K has no factor of low rank, which would make path following cheap."""
        return ShiftedKernel(self.K, self.problem.pause, _RANK_TOL * float(self.K.trace()) / len(self.K)).G is None

    def _better_scale(self, beta: Floats, fits: list[SVMSolution]) -> float:
        """Eq. 22 for the present w, F = ½ Σ_m g_m q_m; 1 where there is none, or none is asked for."""
        p, slope = self.problem.p, float(self.problem.regularizer_slope(beta).sum())
        F = sum(float(fit.alpha.sum()) - fit.dual for fit in fits)
        return better_scale(F, slope, float(p[0])) if self.rescale and F > 0 and slope > 0 else 1.0

    def differentiate(self, alpha: Floats, beta: Floats, circuit: Circuit) -> Slope:
        A, W = alpha * self.problem.Y, circuit.weights(beta)
        R = term_responses(circuit, W, self.problem.source, A, self.problem.n_threads)
        q = np.einsum("tcn,cn->t", R, A)
        return Slope(circuit, R, q, W * q / 2)  # eq. 7
