"""The barrier problem of path following (eq. 25): the rows and classes that count, and its points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spnmkl.certificate import balanced, best_intercept
from spnmkl.circuit.evaluate import kernel_matrix, term_responses
from spnmkl.circuit.program import Floats
from spnmkl.problem import Problem
from spnmkl.solvers.centring import Centre, Inside, centred
from spnmkl.solvers.shifted import ShiftedKernel

_UNSEEN = 0.1  # of the barrier's least curvature, over n: what a factor of K may leave out
_LEAST_CURVATURE = 8  # times μ/C²: μ/α² + μ/(C − α)² in the middle of the box


@dataclass
class PathPoint:
    """A centred pair and what one pass over the kernels tells there.

    Attributes
    ----------
    beta : (V,) weights, all above zero.
    alpha : (classes, all n), yᵀα = 0.
    kernel : K(β), in the one memory there is for it.
    centres : of every class that counts.
    W, R, flows, D : term weights, responses, f of eq. 7, and β ∂F/∂β.
    """

    beta: Floats
    alpha: Floats
    kernel: ShiftedKernel
    centres: list[Centre]
    W: Floats
    R: Floats
    flows: Floats
    D: Floats


class Barrier:
    """Holds one n×n buffer: K at the point evaluated last.

    Attributes
    ----------
    live : rows of positive weight; the others are left out.
    classes : those with live rows on both sides; the others cost nothing, and their α is 0.
    C, Y : on the live rows, and classes.
    n_bounds : N = 2nk + V, the bounds that are softened.
    X : (terms, V) exponents.
    evaluations : kernels K(β) formed.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.live: NDArray[np.intp] | slice = slice(None) if (problem.C > 0).all() else np.flatnonzero(problem.C > 0)
        self.C, Y = problem.C[self.live], problem.Y[:, self.live]
        self.classes = np.flatnonzero((Y.max(axis=1) > 0) & (Y.min(axis=1) < 0))
        self.Y = np.ascontiguousarray(Y[self.classes])
        self.n_bounds = 2 * self.Y.size + len(problem.p)
        self.X = problem.circuit.X.toarray()
        self.evaluations = 0
        self._K = np.empty((problem.n, problem.n))

    def kernel_at(self, beta: Floats, mu: float) -> ShiftedKernel:
        return ShiftedKernel(self._matrix_at(beta), self.problem.pause, self._noise(mu))

    def _matrix_at(self, beta: Floats) -> Floats:
        """K(β) on the rows that count."""
        circuit = self.problem.circuit
        self.evaluations += 1
        K = kernel_matrix(circuit, circuit.weights(beta), self.problem.source, self._K, self.problem.n_threads)
        if not np.isfinite(K.trace()):
            raise FloatingPointError("K")
        return K if isinstance(self.live, slice) else K[np.ix_(self.live, self.live)]

    def _noise(self, mu: float) -> float:
        """What a factor of K may leave out: far below the barrier's own curvature, which is at least 8μ/C²."""
        return _UNSEEN * _LEAST_CURVATURE * mu / (float(self.C.max()) ** 2 * len(self.C))

    def centred(self, kernel: ShiftedKernel, mu: float, begin: list[Inside | None], tol: float) -> list[Centre]:
        """Every class's centre, with decrements of tol μ√n."""
        allowed = tol * mu * len(self.C) ** 0.5
        return [centred(kernel, y, self.C, mu, c, allowed) for y, c in zip(self.Y, begin, strict=True)]

    def point(self, beta: Floats, kernel: ShiftedKernel, centres: list[Centre]) -> PathPoint:
        """One pass over the kernels."""
        problem, circuit = self.problem, self.problem.circuit
        alpha = balanced(self.on_all_rows(np.array([c.a for c in centres])), problem.Y)
        A, W = alpha * problem.Y, circuit.weights(beta)
        R = term_responses(circuit, W, problem.source, A, problem.n_threads)
        flows = W * np.einsum("tcn,cn->t", R, A) / 2  # eq. 7
        if not np.isfinite(flows).all():
            raise FloatingPointError("responses")
        return PathPoint(beta, alpha, kernel, centres, W, R, flows, self.X.T @ flows)

    def objective(self, beta: Floats, centres: list[Centre]) -> tuple[float, Floats]:
        """P (eq. 8) at the centres, where f is at hand; and the intercepts."""
        fits = [best_intercept(c.f, y, self.C) for c, y in zip(centres, self.Y, strict=True)]
        quadratic = sum(float((c.a * y) @ c.f) for c, y in zip(centres, self.Y, strict=True))
        value = quadratic / 2 + self.problem.regularizer(beta) + sum(loss for _, loss in fits)
        return value, self._of_all_classes([b for b, _ in fits])

    def objective_at(self, beta: Floats, kernel: ShiftedKernel, alpha: Floats) -> tuple[float, Floats]:
        """P (eq. 8) at any α, and the intercepts."""
        A = alpha * self.Y
        F = kernel.times(A.T).T
        fits = [best_intercept(f, y, self.C) for f, y in zip(F, self.Y, strict=True)]
        value = float((A * F).sum()) / 2 + self.problem.regularizer(beta) + sum(loss for _, loss in fits)
        return value, self._of_all_classes([b for b, _ in fits])

    def on_all_rows(self, alpha: Floats) -> Floats:
        full = np.zeros_like(self.problem.Y)
        full[np.ix_(self.classes, np.arange(self.problem.n)[self.live])] = alpha
        return full

    def _of_all_classes(self, intercepts: Sequence[float]) -> Floats:
        problem, nothing = self.problem, np.zeros(self.problem.n)
        full = np.array([best_intercept(nothing, y, problem.C)[0] for y in problem.Y])
        full[self.classes] = intercepts
        return full
