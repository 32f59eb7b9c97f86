"""A certificate for all rows: how far at most the optimum of the exact problem lies below what landmarks found.

P: the classifier is one that the exact problem allows. Its w = Σ_j a_j φ(x_j) over the landmarks lies in the feature
space of K(β), where ‖w‖² is aᵀK(L, L)a, and the optimum is over all w there. Nothing in this is approximated.

D: the α of the landmarks' SVM is within its bounds and balanced, and so feasible for the dual of the exact problem.
Eq. 10 holds for any such α and any β̃ > 0, with the exact kernels among all rows of α > 0: one pass over them, in tiles,
where K is a sum of kernels, and at most two otherwise. What rounding may hide is counted as in every certificate.

A pass also tells exactly how much each weight would rather be at this α (eq. 5): what the sample could not know costs D
at once, and P hardly. At weights moved so the landmarks' SVM has another α, and another pass a better bound.

The kernels are those of the classifier: where a normalisation takes more than a row itself, as the sample had it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from spnmkl.certificate import Dual, balanced, best_intercept, dual, relative_gap
from spnmkl.circuit.evaluate import apply_kernel, apply_to_samples, term_quadratics
from spnmkl.circuit.program import Floats, compile_circuit
from spnmkl.circuit.source import KernelSource, interruptible
from spnmkl.circuit.spread import Spread
from spnmkl.errors import DataError, Stopped
from spnmkl.kernels import CrossSource, FittedKernel, TileSource, fit_tiles, kernels_between, restrict_kernels
from spnmkl.landmarks.features import feature_blocks, landmarks
from spnmkl.landmarks.linear import LinearSVM, solve_linear
from spnmkl.landmarks.result import Approximation
from spnmkl.parallel import goes_elsewhere
from spnmkl.problem import Problem, classes_of, one_vs_rest
from spnmkl.rounding import lower_bound
from spnmkl.solution import Certificate, Solution
from spnmkl.solvers.bound import improved_witness, search_dual
from spnmkl.threads import single_threaded_blas

_SEARCHED = 10  # rounds of the search for β̃ at the landmarks, which costs nothing beside a pass over all rows
_LEAST = 1e-9  # of the largest β̃: the bound needs β̃ > 0
_ENTERS = 0.02  # of the largest weight, times D_v over its price: what a weight of zero begins with
_WORTH_A_PASS = 0.02  # of the gap: after a pass that gains less steps are shorter, and another one is the last


@single_threaded_blas()
def certified(
    found: Approximation | None,
    solution: Solution,
    X: Floats,
    y: NDArray,
    C: Floats,
    *,
    sample: NDArray[np.intp],
    feature_names: Sequence[str] | None,
    lam: float,
    max_bytes: float,
    passes: int,
    n_threads: int = 1,
    stop: Callable[[], bool] | None = None,
    tick: Callable[[str], object] | None = None,
) -> tuple[Approximation, Certificate]:
    """The certificate for all rows, and what was found with it; the bound is −∞ where it was stopped, or none is known.

    Parameters
    ----------
    found : Approximation
        With the α of all rows, as `approximate` gives it.
    solution : Solution
        On the sample.
    X, y, C, lam, max_bytes, n_threads
        As of `approximate`. What comes out is true for whatever rows are given.
    sample : ndarray of int
        Which of the rows the solution is on, in its order.
    feature_names : sequence of str or None
        Of the columns, for leaves that use them.
    passes : int
        Over the exact kernels, at most: between two of them the SVM is solved at weights that the last one tells.
    stop : callable, optional
        Once it is true the bound is the best so far, or none.
    tick : callable, optional
        Called with a word on what is done now; it may raise `Stopped`.
    """
    if found is None or found.alpha is None:
        raise NotFittedError(
            "There is nothing to certify for all rows: that needs what a classifier keeps that was fitted with "
            "approximation='nystroem' and saw all rows, and a file does not hold it; fit it anew. Without an "
            "approximation solution_.certify(kernels) is the proof."
        )
    say, stop = tick or (lambda words: None), stop or (lambda: False)
    _, fitted = fit_tiles(solution.spn, X[sample], feature_names)
    whole = _Whole(found, solution, fitted, X, C, lam, max_bytes, n_threads, stop, say)
    Y, P, D = whole.labels(y), found.objective, -np.inf
    with suppress(Stopped):
        P = whole.primal(Y)
        D = whole.bound(Y, P, whole.limited(passes))
    proof = Certificate(P, D, relative_gap(P, D))
    return replace(found, certificate=proof), proof


@dataclass(frozen=True)
class _Whole:
    """The exact problem on all rows, and what was found without it."""

    found: Approximation
    solution: Solution
    fitted: Mapping[str, FittedKernel]
    X: Floats
    C: Floats
    lam: float
    max_bytes: float
    n_threads: int
    stop: Callable[[], bool]
    say: Callable[[str], object]

    def labels(self, y: NDArray) -> Floats:
        classes, codes = classes_of(y)
        if not (np.array_equal(classes, self.solution.classes) and len(y) == self.found.n_rows):
            raise DataError(
                f"The rows to certify are not those of the training: {len(y):,} of {len(classes)} classes, while it "
                f"had {self.found.n_rows:,} of {len(self.solution.classes)}; pass the same X, y and sample_weight."
            )
        return one_vs_rest(codes, len(classes))

    def primal(self, Y: Floats) -> float:
        """P of eq. 8 in double precision: ½ aᵀK(L, L)a, the price of β and the loss at the best intercept."""
        self.say("certificate: the objective over all rows")
        circuit, W = self.found.over(self.solution).active_circuit()
        A, F, square = self.found.coefficients, np.zeros(Y.shape), 0.0
        if circuit.leaves and A.any():
            used = restrict_kernels({leaf: self.fitted[leaf] for leaf in circuit.leaves}, self.found.landmarks)
            square = float((A * apply_to_samples(circuit, W, TileSource(used), A, self.n_threads)).sum())
            F = apply_kernel(circuit, W, interruptible(CrossSource(used, self.X), self.stop), A, self.n_threads)
        loss = sum(best_intercept(f, y, self.C)[1] for f, y in zip(F, Y, strict=True))
        problem = self._problem(TileSource(self.fitted), Y, self.C)
        return square / 2 + problem.regularizer(self._weights(problem)) + loss

    def bound(self, Y: Floats, objective: float, passes: int) -> float:
        """The best D of some passes, with what rounding may hide counted against it."""
        if self.solution.by_evidence or self.found.alpha is None:
            return -np.inf  # chosen by another criterion: a bound on this one would say nothing of them
        proved: list[tuple[Problem, Dual]] = []
        with suppress(Stopped):
            self._passes(Y, objective, passes, proved)
        bounds = [0.0] if proved else [-np.inf]
        for problem, best in proved[-1:]:
            tol = max(self.solution.tol, relative_gap(objective, best.value))
            bounds.append(lower_bound(problem, best, objective, tol))
        return max(bounds)

    def _passes(self, Y: Floats, objective: float, passes: int, proved: list[tuple[Problem, Dual]]) -> None:
        """Bounds that get better, with the problems that they are of, until passes gain no more."""
        assert self.found.alpha is not None
        circuit = compile_circuit(self.solution.spn)
        beta, alpha = self._witness(self._problem(TileSource(self.fitted), Y, self.C)), self.found.alpha
        bold = True
        for k in range(passes):
            even = balanced(np.clip(alpha, 0.0, self.C), Y)
            if not even.any():
                return
            problem, even = self._among(even, Y, f"pass {k + 1} of {passes}")
            if not problem.bounded:
                return
            found, before = self._best(problem, even, beta, objective), proved[-1][1].value if proved else 0.0
            if found.value > before or not proved:
                proved.append((problem, found))
            best = proved[-1][1]
            self.say(f"certificate: after pass {k + 1} at most {relative_gap(objective, best.value):.2%} lower")
            gained = found.value - before > _WORTH_A_PASS * (objective - before)
            if k + 1 == passes or best.flows is None or not (gained or bold):
                return
            bold = bold and gained
            beta = _moved(proved[-1][0], best, bold)
            alpha = self._solved(circuit.weights(beta), Y, alpha)

    def _among(self, alpha: Floats, Y: Floats, words: str) -> tuple[Problem, Floats]:
        """The exact problem among the rows of α > 0, which are all that a bound needs, and α there."""
        rows = np.flatnonzero(alpha.any(axis=0))
        tiles = TileSource(kernels_between(self.fitted, self.X[rows]))
        source = self._followed(tiles, f"certificate, {words}: kernels among {len(rows):,} rows")
        problem = self._problem(source, np.ascontiguousarray(Y[:, rows]), self.C[rows])
        return problem, np.ascontiguousarray(alpha[:, rows])

    def _solved(self, W: Floats, Y: Floats, alpha: Floats) -> Floats:
        """(1 or classes, n) α of the landmarks' SVM at other weights, from another α on."""
        used = restrict_kernels(self.fitted, self.found.landmarks)
        seen = landmarks(compile_circuit(self.solution.spn), W, used, self.n_threads)

        def tick(done: int, n: int) -> None:
            self.say(f"certificate: landmarks, {done:,} of {n:,} rows")

        Z = feature_blocks(seen, self.X, self.max_bytes, self.n_threads, self.stop, tick)
        self.say("certificate: SVM on all rows")
        starts = [
            LinearSVM(np.empty(0), b, a, np.inf, -np.inf, 0) for a, b in zip(alpha, self.found.intercept, strict=True)
        ]
        tol = self.solution.tol
        fits = [solve_linear(Z, y, self.C, tol, start=s, stop=self.stop) for y, s in zip(Y, starts, strict=True)]
        return np.array([fit.alpha for fit in fits])

    def limited(self, passes: int) -> int:
        """One where the classifier has no landmarks to solve anything with."""
        return passes if len(self.found.landmarks) else 1

    def _best(self, problem: Problem, alpha: Floats, witness: Floats, objective: float) -> Dual:
        """One pass, after which the best β̃ is known where K is a sum of kernels; else another pass at a better one."""
        if problem.circuit.mixture is not None:
            return search_dual(problem, alpha, witness, target=objective)
        first = search_dual(problem, alpha, witness, rounds=1)
        with suppress(Stopped):  # what the first one gave is a bound
            if first.flows is not None:
                return max(first, dual(problem, alpha, improved_witness(problem, witness, first.flows)), key=_value)
        return first

    def _witness(self, problem: Problem) -> Floats:
        """A β̃ > 0 that suits the classifier, as far as the landmarks alone can tell."""
        circuit, A = problem.circuit, self.found.coefficients
        proved = np.array([self.found.factors[v] * self.solution.witness_beta[v] for v in circuit.products])
        beta = self._weights(problem)
        witness = np.where(beta > 0, beta, proved)
        witness = np.maximum(witness, _LEAST * (witness.max(initial=0.0) or 1.0))
        if problem.linear or circuit.mixture is not None or not A.any():
            return witness
        among = TileSource(restrict_kernels(self.fitted, self.found.landmarks))
        for _ in range(_SEARCHED):
            W = circuit.weights(witness)
            flows = W * term_quadratics(circuit, W, among, A, self.n_threads) / 2
            witness = improved_witness(problem, witness, np.maximum(flows, 0.0))
        return witness

    def _problem(self, source: KernelSource, Y: Floats, C: Floats) -> Problem:
        circuit = compile_circuit(self.solution.spn)
        p = np.array([self.solution.p[v] for v in circuit.products])
        return Problem(circuit, source, Y, C, self.lam, p, self.n_threads)

    def _weights(self, problem: Problem) -> Floats:
        return problem.beta_array(self.found.over(self.solution).beta)

    def _followed(self, tiles: TileSource, words: str) -> KernelSource:
        """The kernels, whose passes can be stopped and tell how far they are, by workers where there are some."""
        if goes_elsewhere():
            return Spread(tiles, self.stop, lambda done, of: self.say(f"{words}, part {done} of {of}"))
        every, done = len(tiles.fitted) * tiles.shape[0] * (tiles.shape[0] + 1) / 2, 0

        def seen(entries: int) -> None:
            nonlocal done
            done += entries
            self.say(f"{words}, {min(100.0, 100 * (done % every) / every):.0f} %")

        return interruptible(tiles, self.stop, seen)


def _moved(problem: Problem, found: Dual, bold: bool) -> Floats:
    """Weights that suit this α better, all of them above 0: eq. 5 solved as if D_v were as it is, or half of the way.

    One that is next to 0 and would rather be above begins the higher, the more it would.
    """
    assert found.flows is not None
    beta, p = found.witness, problem.p
    ratio = (problem.circuit.X.T @ found.flows) / np.maximum(problem.regularizer_slope(beta), np.finfo(float).tiny)
    least = np.where(ratio > 1, np.minimum(_ENTERS * ratio, 1.0), _LEAST) * beta.max()
    return np.maximum(beta * np.maximum(ratio, _LEAST) ** (1 / p if bold else 1 / (1 + p)), least)


def _value(found: Dual) -> float:
    return found.value
