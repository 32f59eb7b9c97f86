"""The SVM on all rows at weights that were learned on some of them, and what is proved and what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from spnmkl.certificate import best_intercept
from spnmkl.circuit.evaluate import term_quadratics
from spnmkl.circuit.program import Circuit, Floats, compile_circuit
from spnmkl.errors import Stopped
from spnmkl.kernels import FittedKernel, TileSource, restrict_kernels
from spnmkl.landmarks.estimate import Estimate, estimated, held_out_rows
from spnmkl.landmarks.features import Landmarks, feature_blocks, landmarks
from spnmkl.landmarks.linear import Blocks, LinearSVM, solve_linear
from spnmkl.landmarks.result import Approximation
from spnmkl.problem import answers, one_vs_rest
from spnmkl.solution import Solution
from spnmkl.threads import single_threaded_blas

Rows = NDArray[np.intp]
Stop = Callable[[], bool] | None
Tick = Callable[[str], object] | None
_ROUNDS, _SAME = 5, 0.02  # of the search for the weights' scale: so many at most, or until it changes by less
_FARTHEST = 100.0  # the scale is looked for within this factor of 1
_STEPS, _PAYS = (
    3,
    0.01,
)  # of the weights on all rows: at most, each of which must lower the objective by this for certain


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
    sample: Rows | None = None,
    seed: int = 0,
    n_threads: int = 1,
    stop: Stop = None,
    tick: Tick = None,
) -> tuple[Approximation, Blocks, Floats]:
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
    sample : ndarray of int, optional
        Which of all rows the solution is on: of the others some are held out to estimate the loss on unseen rows.
        None where nothing is to be estimated, as where rows belong together.
    seed : int
        Of landmarks, of the order of rows, and of the rows held out.
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
    C : ndarray of shape (n,)
        At which the SVM on these features is the classifier.
    """
    circuit, _ = solution.active_circuit()
    codes = np.searchsorted(solution.classes, y)
    say = tick or (lambda words: None)
    whole = _Whole(solution, codes, C, lam, tol, sample, seed, n_threads, stop, say)
    if not circuit.leaves:
        return whole.constant(), [], C
    picked = np.sort(np.random.default_rng(seed).permutation(len(solution.y))[:n_components])
    used = restrict_kernels({leaf: fitted[leaf] for leaf in circuit.leaves}, picked)
    return whole.by_landmarks(_Rows(circuit, used, X, max_bytes), picked)


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
            f[test] = _decisions(blocks, fit)[test]
    return F


def _decisions(blocks: Blocks, fit: LinearSVM) -> Floats:
    return np.concatenate([Z @ fit.w for Z in blocks]) + fit.intercept


@dataclass(frozen=True)
class _Rows:
    """All rows, and what they are compared with."""

    circuit: Circuit
    used: Mapping[str, FittedKernel]  # with the landmarks as references
    X: Floats
    max_bytes: float


@dataclass(frozen=True)
class _Fitted:
    """The SVMs on all rows: their features are of the kernel at β, the SVMs at tβ."""

    beta: Floats
    seen: Landmarks
    t: float
    fits: Sequence[LinearSVM]
    objective: float

    @property
    def coefficients(self) -> Floats:
        """(1 or classes, m) of the kernel at tβ."""
        return np.array([self.seen.T @ fit.w for fit in self.fits]) / self.t

    @property
    def primal(self) -> float:
        return sum(fit.primal for fit in self.fits)

    @property
    def norm(self) -> float:
        """½ Σ ‖w‖² of the features."""
        return sum(float(fit.w @ fit.w) for fit in self.fits) / 2


@dataclass(frozen=True)
class _Whole:
    """The problem on all rows."""

    solution: Solution
    codes: Rows
    C: Floats
    lam: float
    tol: float
    sample: Rows | None
    seed: int
    n_threads: int
    stop: Stop
    say: Callable[[str], object]

    @cached_property
    def Y(self) -> Floats:
        return one_vs_rest(self.codes, len(self.solution.classes))

    @property
    def _stopped(self) -> bool:
        return self.stop is not None and self.stop()

    def by_landmarks(self, rows: _Rows, picked: Rows) -> tuple[Approximation, Blocks, Floats]:
        """At the weights of the sample, and then at better ones as long as that pays."""
        beta = np.array([self.solution.beta[v] for v in rows.circuit.products])
        blocks: Blocks = []
        best, steps = None, 0
        try:
            blocks, best = self._at(rows, beta, "")
            while steps < _STEPS and not self._stopped:
                beta, gain = self._better_weights(rows, best)
                if gain <= _PAYS * best.objective:
                    break
                del blocks  # there need not be room for both
                blocks, found = self._at(rows, beta, f"weights on all rows, step {steps + 1}: ", best.fits)
                if found.objective >= best.objective:
                    blocks = self._features(rows, best.seen, "")
                    break
                best, steps = found, steps + 1
        except Stopped:
            blocks = []
        if best is None:
            return self.unseen(), [], self.C
        return self._described(rows.circuit, best, picked, blocks, steps), blocks, best.t * self.C

    def _features(self, rows: _Rows, seen: Landmarks, words: str) -> Blocks:
        def tick(done: int, n: int) -> None:
            self.say(f"{words}landmarks: {done:,} of {n:,} rows")

        return feature_blocks(seen, rows.X, rows.max_bytes, self.n_threads, self.stop, tick)

    def _at(
        self, rows: _Rows, beta: Floats, words: str, before: Sequence[LinearSVM] | None = None
    ) -> tuple[Blocks, _Fitted]:
        """The features and SVMs at some weights, with these multiplied by the best common factor."""
        seen = landmarks(rows.circuit, rows.circuit.weights(beta), rows.used, self.n_threads)
        blocks = self._features(rows, seen, words)
        t, fits = 1.0, self._machines(blocks, self.C, before, f"{words}SVM on all rows")
        if any(fit.passes == 0 for fit in fits) and self._stopped:
            raise Stopped
        found = self._fitted(rows.circuit, beta, seen, t, fits)
        for _ in range(_ROUNDS if not self.solution.by_evidence else 0):
            better = self._better_scale(rows.circuit, found)
            if abs(better / t - 1) <= _SAME or self._stopped:
                break
            start = [fit.scaled(better / t) for fit in fits]
            t, fits = better, self._machines(blocks, better * self.C, start, f"{words}SVM on all rows")
            found = self._fitted(rows.circuit, beta, seen, t, fits)
        return blocks, found

    def _fitted(self, circuit: Circuit, beta: Floats, seen: Landmarks, t: float, fits: Sequence[LinearSVM]) -> _Fitted:
        """At tβ, for which K is t times as large: the same SVM as at β with tC, and 1/t of its objective."""
        price, _ = self._prices(circuit, t * beta)
        return _Fitted(beta, seen, t, fits, sum(fit.primal for fit in fits) / t + float(price.sum()))

    def _better_scale(self, circuit: Circuit, found: _Fitted) -> float:
        """argmin over t of ½‖w‖²/t + λ Σ_v c_v (tβ_v)^{p_v}: eq. 22, for any p, at the function that was found."""
        price, p = self._prices(circuit, found.beta)

        def slope(log_t: float) -> float:
            return float((price * p * np.exp(p * log_t)).sum() - found.norm * np.exp(-log_t))

        ends = -np.log(_FARTHEST), np.log(_FARTHEST)
        if slope(ends[0]) >= 0 or slope(ends[1]) <= 0:
            return 1.0
        return float(np.exp(brentq(slope, *ends)))

    def _better_weights(self, rows: _Rows, found: _Fitted) -> tuple[Floats, float]:
        """Weights at which the function that was found costs less, and how much less at least.

        With F_v = ½ Σ_m e_mv ‖f_m‖²/g_m and a_v the factor of β_v, Σ_v F_v / a_v + λ Σ_v c_v (a_v β_v)^{p_v} is an
        upper bound of complexity and price, since Π_v a_v^(−e_mv) ≤ Σ_v e_mv / a_v. It is met at a = 1, and smallest
        at a_v^{1 + p_v} = F_v / (λ p_v c_v β_v^{p_v}).
        """
        beta, circuit = found.t * found.beta, rows.circuit
        if self.solution.by_evidence:
            return beta, 0.0
        W = circuit.weights(beta)
        q = term_quadratics(circuit, W, TileSource(rows.used), found.coefficients, self.n_threads)
        F = circuit.X.T @ (W * q) / 2
        price, p = self._prices(circuit, beta)
        moved = (price > 0) & (F > 0)
        F, price, p = F[moved], price[moved], p[moved]
        a = (F / (p * price)) ** (1 / (1 + p))
        better = beta.copy()
        better[moved] *= a
        return better, float((F + price - F / a - price * a**p).sum())

    def _prices(self, circuit: Circuit, beta: Floats) -> tuple[Floats, Floats]:
        """λ c_v β_v^{p_v}, 0 for a weight of 0, and p_v; c of the whole drawing."""
        p = np.array([self.solution.p[v] for v in circuit.products])
        c = compile_circuit(self.solution.spn).total_exponents()
        return np.where(beta > 0, self.lam * c * np.where(beta > 0, beta, 1.0) ** p, 0.0), p

    def _described(self, circuit: Circuit, best: _Fitted, picked: Rows, blocks: Blocks, steps: int) -> Approximation:
        learned = np.array([self.solution.beta[v] for v in circuit.products])
        factors = np.divide(best.t * best.beta, learned, out=np.ones(len(learned)), where=learned > 0)
        return self._found(
            picked,
            best.coefficients,
            np.array([fit.intercept for fit in best.fits]),
            dict(zip(circuit.products, factors.tolist(), strict=True)),
            steps=steps,
            objective=best.objective,
            loss=(best.primal - best.norm) / best.t,
            svm_gap=(best.primal - sum(fit.dual for fit in best.fits)) / best.primal if best.primal > 0 else 0.0,
            right=self._right(np.array([_decisions(blocks, fit) for fit in best.fits])) if blocks else np.nan,
            estimate=self._estimate(blocks, best.t, best.fits) if blocks else None,
            alpha=np.array([fit.alpha for fit in best.fits]) / best.t,
        )

    def _right(self, F: Floats) -> float:
        """The share of all rows that (1 or classes, n) decisions answer rightly."""
        return float(
            (answers(F[0] if len(F) == 1 else F.T, np.arange(len(self.solution.classes))) == self.codes).mean()
        )

    def _estimate(self, blocks: Blocks, t: float, fits: Sequence[LinearSVM]) -> Estimate | None:
        """By the same SVM without some rows outside of the sample; None where that cannot be told, or was stopped."""
        held = np.empty(0, dtype=np.intp)
        if self.sample is not None:
            held = held_out_rows(self.codes, self.sample, np.random.default_rng(self.seed))
        if not len(held) or self._stopped:
            return None
        C = t * self.C
        C[held] = 0.0
        blind = self._machines(blocks, C, fits, "estimating the loss on unseen rows")
        if self._stopped:
            return None
        F = np.array([_decisions(blocks, fit)[held] for fit in blind])
        return estimated(self.codes, self.Y, self.C, held, F)

    def _machines(
        self, blocks: Blocks, C: Floats, before: Sequence[LinearSVM] | None = None, words: str = "SVM on all rows"
    ) -> list[LinearSVM]:
        def one(c: int) -> LinearSVM:
            which = f"{words}, class {c + 1} of {len(self.Y)}" if len(self.Y) > 1 else words

            def tick(fit: LinearSVM) -> None:
                with suppress(Stopped):  # `stop` is asked as well, and what there is by then is kept
                    self.say(f"{which}: pass {fit.passes}, gap {100 * fit.gap:.2g} %, to reach {100 * self.tol:.2g} %")

            self.say(which)
            start = None if before is None else before[c]
            return solve_linear(blocks, self.Y[c], C, self.tol, start=start, seed=self.seed, stop=self.stop, tick=tick)

        if min(self.n_threads, len(self.Y)) == 1:
            return [one(c) for c in range(len(self.Y))]
        with ThreadPoolExecutor(self.n_threads) as pool:
            return list(pool.map(one, range(len(self.Y))))

    def constant(self) -> Approximation:
        """Where every weight is zero."""
        fits = [best_intercept(np.zeros(len(self.C)), y, self.C) for y in self.Y]
        loss = sum(found for _, found in fits)
        none = np.empty(0, dtype=np.intp)
        intercept = np.array([b for b, _ in fits])
        right = self._right(np.tile(intercept[:, None], len(self.C)))
        empty = np.empty((len(self.Y), 0))
        alpha = np.tile(self.C, (len(self.Y), 1))
        return self._found(none, empty, intercept, {}, objective=loss, loss=loss, svm_gap=0.0, right=right, alpha=alpha)

    def unseen(self) -> Approximation:
        """Where the training was stopped before: the sample's own SVM, its support vectors the landmarks."""
        solution = self.solution
        return self._found(
            solution.support,
            np.ascontiguousarray(solution.signed_alpha[:, solution.support]),
            np.atleast_1d(np.asarray(solution.intercept, dtype=float)),
            {},
            objective=np.inf,
            loss=np.inf,
            svm_gap=np.inf,
        )

    def _found(
        self, picked: Rows, coefficients: Floats, intercept: Floats, factors: Mapping[str, float], **values: Any
    ) -> Approximation:
        return Approximation(
            n_rows=len(self.C),
            n_sample=len(self.solution.y),
            landmarks=picked,
            coefficients=coefficients,
            intercept=intercept,
            factors={v: factors.get(v, 1.0) for v in self.solution.beta},
            sample_gap=self.solution.gap,
            sample_status=self.solution.status,
            **values,
        )
