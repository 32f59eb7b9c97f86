"""The SVM on all rows at weights that were learned on some of them, and what is proved and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from spnmkl.certificate import best_intercept
from spnmkl.circuit.program import Circuit, Floats, compile_circuit
from spnmkl.errors import Stopped
from spnmkl.kernels import FittedKernel, restrict_kernels
from spnmkl.landmarks.features import Landmarks, feature_blocks, landmarks
from spnmkl.landmarks.linear import Blocks, LinearSVM, solve_linear
from spnmkl.landmarks.result import Approximation
from spnmkl.problem import one_vs_rest
from spnmkl.solution import Solution
from spnmkl.threads import single_threaded_blas

Rows = NDArray[np.intp]
Stop = Callable[[], bool] | None
Tick = Callable[[str], object] | None
_ROUNDS, _SAME = 5, 0.02  # of the search for the weights' scale: so many at most, or until it changes by less
_FARTHEST = 100.0  # the scale is looked for within this factor of 1


@single_threaded_blas()
def approximate(
    solution: Solution,
    fitted: Mapping[str, FittedKernel],
    X: Floats,
    y: NDArray,
    C: Floats,
    *,
    lam: float,
    n_components: int,
    tol: float,
    max_bytes: float,
    seed: int = 0,
    n_threads: int = 1,
    stop: Stop = None,
    tick: Tick = None,
) -> tuple[Approximation, Blocks]:
    """The SVM on all rows, at the weights of a solution on a sample of them.

    Parameters
    ----------
    solution : Solution
        On the sample.
    fitted : mapping from leaf to FittedKernel
        Its kernels, with the rows of the sample as references.
    X, y : ndarray of shape (n, n_features) and (n,)
        All rows.
    C : ndarray of shape (n,)
        The weight of every row's loss.
    lam : float
        The weight of the regulariser for all rows.
    n_components : int
        Landmarks, drawn from the sample; all of it where it has fewer.
    tol : float
        Relative gap of the SVM.
    max_bytes : float
        What the features of all rows may take in memory; beyond, they lie on the disk.
    seed : int
        Of landmarks and of the order of rows.
    n_threads : int
    stop : callable, optional
        Once it is true the classifier is what there is by then: at worst the sample's own.
    tick : callable, optional
        Called with a word on what is done now.

    Returns
    -------
    approximation : Approximation
    blocks : list of ndarray of shape (rows, rank)
        The features of all rows; empty where they were not reached.
    """
    circuit, W = solution.active_circuit()
    Y = one_vs_rest(np.searchsorted(solution.classes, y), len(solution.classes))
    say = tick or (lambda words: None)
    whole = _Whole(solution, Y, C, lam, tol, seed, n_threads, stop, say)
    if not circuit.leaves:
        return whole.constant(), []
    n_sample = len(solution.y)
    picked = np.sort(np.random.default_rng(seed).permutation(n_sample)[:n_components])
    used = {leaf: fitted[leaf] for leaf in circuit.leaves}
    try:
        seen = landmarks(circuit, W, restrict_kernels(used, picked), n_threads)
        blocks = feature_blocks(
            seen,
            X,
            max_bytes,
            n_threads,
            stop,
            lambda done, n: say(f"landmarks: {done:,} of {n:,} rows"),
        )
    except Stopped:
        return whole.unseen(), []
    return whole.at_landmarks(seen, picked, blocks), blocks


@single_threaded_blas()
def held_out_decisions(
    blocks: Blocks, Y: Floats, C: Floats, splits: Iterable[tuple[Rows, Rows]], tol: float, stop: Stop = None
) -> Floats | None:
    """(1 or classes, n) decision values of SVMs on the features that have not seen a row: there its loss is free.

    None where that was stopped: an SVM that was hardly begun answers all rows alike.
    """
    F = np.empty(Y.shape)
    for _, test in splits:
        seen = C.copy()
        seen[test] = 0.0
        for f, y in zip(F, Y, strict=True):
            fit = solve_linear(blocks, y, seen, tol, stop=stop)
            if stop is not None and stop():
                return None
            f[test] = np.concatenate([Z @ fit.w for Z in blocks])[test] + fit.intercept
    return F


@dataclass(frozen=True)
class _Whole:
    """The problem on all rows."""

    solution: Solution
    Y: Floats
    C: Floats
    lam: float
    tol: float
    seed: int
    n_threads: int
    stop: Stop
    say: Callable[[str], object]

    def at_landmarks(self, seen: Landmarks, picked: Rows, blocks: Blocks) -> Approximation:
        t, fits = 1.0, self._machines(blocks, 1.0, None)
        if any(fit.passes == 0 for fit in fits) and self.stop is not None and self.stop():
            return self.unseen()
        for _ in range(_ROUNDS if not self.solution.by_evidence else 0):
            better = self._better_scale(sum(float(fit.w @ fit.w) for fit in fits) / 2)
            if abs(better / t - 1) <= _SAME or (self.stop is not None and self.stop()):
                break
            t, fits = better, self._machines(blocks, better, fits, better / t)
        primal = sum(fit.primal for fit in fits)
        norm = sum(float(fit.w @ fit.w) for fit in fits) / 2
        return self._found(
            picked,
            np.array([seen.T @ fit.w for fit in fits]) / t,
            np.array([fit.intercept for fit in fits]),
            t,
            objective=primal / t + self._regularizer(t),
            loss=(primal - norm) / t,
            svm_gap=(primal - sum(fit.dual for fit in fits)) / primal if primal > 0 else 0.0,
        )

    def _machines(
        self, blocks: Blocks, t: float, before: list[LinearSVM] | None, grown: float = 1.0
    ) -> list[LinearSVM]:
        """At tβ, for which K is t times as large: the same SVM as at β with tC, and 1/t of its objective."""

        def one(c: int) -> LinearSVM:
            self.say(f"SVM on all rows, class {c + 1} of {len(self.Y)}" if len(self.Y) > 1 else "SVM on all rows")
            start = None if before is None else before[c].scaled(grown)
            return solve_linear(blocks, self.Y[c], t * self.C, self.tol, start=start, seed=self.seed, stop=self.stop)

        if min(self.n_threads, len(self.Y)) == 1:
            return [one(c) for c in range(len(self.Y))]
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(one, range(len(self.Y))))

    def _better_scale(self, norm: float) -> float:
        """argmin over t of ½‖w‖²/t + λ Σ_v c_v (tβ_v)^{p_v}: eq. 22, for any p, at the function that was found."""
        cost, p = self._costs

        def slope(log_t: float) -> float:
            return float((cost * p * np.exp(p * log_t)).sum() - norm * np.exp(-log_t))

        ends = -np.log(_FARTHEST), np.log(_FARTHEST)
        if slope(ends[0]) >= 0 or slope(ends[1]) <= 0:
            return 1.0
        return float(np.exp(brentq(slope, *ends)))

    def _regularizer(self, t: float) -> float:
        cost, p = self._costs
        return float((cost * t**p).sum())

    @property
    def _costs(self) -> tuple[Floats, Floats]:
        """λ c_v β_v^{p_v} and p_v, of the weights above 0."""
        circuit: Circuit = compile_circuit(self.solution.spn)
        beta, p = (np.array([values[v] for v in circuit.products]) for values in (self.solution.beta, self.solution.p))
        active = beta > 0
        return (self.lam * circuit.total_exponents() * beta**p)[active], p[active]

    def constant(self) -> Approximation:
        """Where every weight is zero."""
        fits = [best_intercept(np.zeros(len(self.C)), y, self.C) for y in self.Y]
        loss = sum(found for _, found in fits)
        none = np.empty(0, dtype=np.intp)
        intercept = np.array([b for b, _ in fits])
        return self._found(none, np.empty((len(self.Y), 0)), intercept, 1.0, objective=loss, loss=loss, svm_gap=0.0)

    def unseen(self) -> Approximation:
        """Where the training was stopped before: the sample's own SVM, its support vectors the landmarks."""
        solution = self.solution
        return self._found(
            solution.support,
            np.ascontiguousarray(solution.signed_alpha[:, solution.support]),
            np.atleast_1d(np.asarray(solution.intercept, dtype=float)),
            1.0,
            objective=np.inf,
            loss=np.inf,
            svm_gap=np.inf,
        )

    def _found(
        self, picked: Rows, coefficients: Floats, intercept: Floats, scale: float, **values: float
    ) -> Approximation:
        return Approximation(
            n_rows=len(self.C),
            n_sample=len(self.solution.y),
            landmarks=picked,
            coefficients=coefficients,
            intercept=intercept,
            scale=scale,
            sample_gap=self.solution.gap,
            sample_status=self.solution.status,
            **values,
        )
