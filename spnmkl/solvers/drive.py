"""`solve`: pose the problem, run a solver, keep the best point, and say "optimal" only with a recomputed gap."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.certificate import Dual, dual, kkt_residuals, primal, relative_gap, search_dual
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.errors import KernelError, ParameterError
from spnmkl.problem import Power, Problem, build_problem
from spnmkl.solution import Certificate, Record, Solution
from spnmkl.solvers.iterate import Iterate
from spnmkl.solvers.newton import newton
from spnmkl.solvers.nonconvex import nonconvex_iterates, zero_iterate
from spnmkl.solvers.paper import paper
from spnmkl.solvers.start import coarse, first_weights, smallest_C, trivial_objective
from spnmkl.structure import SPN
from spnmkl.structure.nodes import describe
from spnmkl.threads import single_threaded_blas

Callback = Callable[[Record], object]
Solver = Callable[[Problem, Floats, float], Iterator[Iterate]]
SOLVERS: dict[str, Solver] = {"newton": newton, "paper": paper}
_COARSE_TOL, _COARSE_ITERATIONS = 0.1, 30
_IMPOSSIBLE = -1e-6  # a gap below it, rounding aside, disproves the input
DEFAULT_ITERATIONS = {"newton": 500, "paper": 2000}


class TrivialSolutionWarning(UserWarning):
    """C is at or below C_min: all weights are zero and the classifier is constant."""


def solve(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    *,
    C: float = 1.0,
    lam: float = 1.0,
    p: Power = None,
    solver: str = "newton",
    tol: float = 1e-3,
    max_iter: int | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[object, float] | str | None = None,
    callback: Callback | None = None,
    start: Mapping[str, float] | None = None,
    n_threads: int | None = None,
    warn: bool = True,
    stop: Callable[[], bool] | None = None,
) -> Solution:
    """Learn the weights of a sum-product network together with the SVM.

    Parameters
    ----------
    spn : the structure; `spn.check()` must pass.
    kernels : leaf id → (n, n) kernel matrix, used as given; or a source that yields tiles.
    y : (n,) labels of any kind; two classes, or more (one-vs-rest with one shared kernel).
    C, lam : weights of the loss and of λ Σ_v c_v β_v^{p_v}; where all p are equal only C need be tuned.
    p : exponents: None (the structure's own), one number for all, a mapping from product to number, or "sparse"
        (the smallest exponent each product has on its paths, at which inner nodes can vanish too).
    solver : "newton", or "paper" (Algorithm 1, slow, for teaching).
    tol : relative gap (P − D)/P to reach.
    max_iter : outer iterations, by default 500 (newton) or 2000 (paper).
    sample_weight, class_weight : scale C per sample; class_weight may be "balanced".
    callback : called with a `Record` after every outer iteration; returning False stops.
    start : weights to begin with, for example of a solution at a nearby C.
    n_threads : by default all cores.
    warn : whether to warn where C is so small that all weights are zero. Python's own way to silence a warning would
        silence it in all threads.
    stop : asked between iterations and within them; once it is true the solver ends as soon as it can, with the best
        weights so far and status "interrupted".

    Returns
    -------
    Solution
    """
    if solver not in SOLVERS:
        raise ParameterError(f"solver must be one of {sorted(SOLVERS)}, but it is {solver!r}.")
    if not (isinstance(tol, (int, float, np.number)) and 0 < tol < 1):
        raise ParameterError(f"tol must be a number between 0 and 1, but it is {tol!r}; choose for example 1e-3.")
    if max_iter is not None and (not isinstance(max_iter, (int, np.integer)) or max_iter < 1):
        raise ParameterError(f"max_iter must be a whole number of at least 1, but it is {max_iter!r}.")
    check_callback(callback)
    with single_threaded_blas():
        problem, classes = build_problem(
            spn,
            kernels,
            y,
            C=C,
            lam=lam,
            p=p,
            sample_weight=sample_weight,
            class_weight=class_weight,
            n_threads=n_threads,
        )
        problem = replace(problem, stop=stop)
        begin = None if start is None else problem.beta_array(start)
        run = _Run(problem, tol, callback, DEFAULT_ITERATIONS[solver] if max_iter is None else int(max_iter))
        status = run.follow(_iterates(problem, solver, tol, begin))
        solution = run.solution(spn, np.array(y), classes, solver, status)
    if warn and run.best is not None and run.best.smallest_C is not None:
        warnings.warn(_trivial_sentence(run.best.smallest_C), TrivialSolutionWarning, stacklevel=2)
    return solution


def check_callback(callback: object) -> None:
    if callback is not None and not callable(callback):
        raise ParameterError(
            f"callback must be a function that takes one argument, or None, but it is {describe(callback)}."
        )


def _trivial_sentence(multiple: float) -> str:
    constant = "so every weight is zero and the classifier is constant"
    if not np.isfinite(multiple):
        return f"The kernels tell no two samples of different classes apart, {constant} at any C; use other kernels."
    much = f"{multiple:.3g} times"
    return f"C is at or below C_min, {much} the given C, {constant}; choose a C more than {much} as large."


@single_threaded_blas()
def C_min(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    *,
    lam: float = 1.0,
    p: Power = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[object, float] | str | None = None,
    tol: float = 1e-3,
    n_threads: int | None = None,
) -> float:
    """The smallest useful C where all p are 1: at or below it all weights are zero (formulation, section 7).

    Returns the lower end of a bracket of relative width `tol`.
    """
    problem, _ = build_problem(
        spn,
        kernels,
        y,
        lam=lam,
        p=p,
        sample_weight=sample_weight,
        class_weight=class_weight,
        n_threads=n_threads,
    )
    if (problem.p != 1).any():
        raise ParameterError("C_min exists only where every p is 1; with other p any C gives weights above 0.")
    for bracket in smallest_C(problem):
        if bracket.high <= bracket.low * (1 + tol):
            break
    return bracket.low


def _iterates(problem: Problem, solver: str, tol: float, begin: Floats | None) -> Iterator[Iterate]:
    method = SOLVERS[solver]
    positive = None if begin is None or not begin.any() else _usable_start(problem, solver, begin)
    if (problem.p == 1).all():
        yield from _lasso_iterates(
            problem, solver, tol, _coarse_weights(problem, solver) if positive is None else positive
        )
    elif positive is not None:
        yield from method(problem, positive, tol)
    elif problem.bounded:
        yield from method(problem, _coarse_weights(problem, solver), tol)
    else:
        yield from nonconvex_iterates(problem, method, tol)


def _usable_start(problem: Problem, solver: str, begin: Floats) -> Floats:
    """Weights above zero; Newton's method can bring back from zero whole components that may vanish, so these stay."""
    gone = np.ones(len(problem.homogeneous), dtype=bool)
    np.logical_and.at(gone, problem.components, begin <= 0)
    stays = (gone & problem.homogeneous)[problem.components] & (problem.bounded and solver == "newton")
    return np.where((begin > 0) | stays, begin, 1e-3 * begin.max())


def _coarse_weights(problem: Problem, solver: str) -> Floats:
    """Nearly optimal weights of a sample of the rows, where a step costs little; else equal ones at a good scale."""
    small = coarse(problem) if solver == "newton" and problem.bounded else None
    if small is None:
        return first_weights(problem)
    for k, iterate in enumerate(newton(small, beta := first_weights(small), _COARSE_TOL)):
        if iterate.objective >= trivial_objective(small) or k == _COARSE_ITERATIONS:
            break
        beta = iterate.beta
        if relative_gap(iterate.objective, iterate.dual.value) <= _COARSE_TOL or _asked_to_stop(problem):
            break
    return beta


def _asked_to_stop(problem: Problem) -> bool:
    return problem.stop is not None and problem.stop()


def _lasso_iterates(problem: Problem, solver: str, tol: float, beta: Floats) -> Iterator[Iterate]:
    """p = 1: a start that is no better than β = 0 asks whether C exceeds C_min at all."""
    trivial = trivial_objective(problem)
    for iterate in SOLVERS[solver](problem, beta, tol):
        if iterate.objective >= trivial:
            break
        yield iterate
    else:
        return
    for bracket in smallest_C(problem, max_rounds=100):
        if bracket.low >= 1:
            zero = zero_iterate(problem, bracket.a, 1)
            proof = search_dual(problem, bracket.a, bracket.beta)
            yield replace(zero, dual=proof, smallest_C=bracket.low)
            return
        if bracket.high < 1 or bracket.high < bracket.low * (1 + 0.1 * tol):
            break
    yield from SOLVERS[solver](problem, first_weights(problem, bracket.beta), tol)


class _Run:
    """Follows a solver: keeps the history and the best point, and decides when to stop."""

    def __init__(self, problem: Problem, tol: float, callback: Callback | None, max_iter: int) -> None:
        self.problem, self.tol, self.callback, self.max_iter = problem, tol, callback, max_iter
        self.history: list[Record] = []
        self.best: Iterate | None = None
        self.dual = Dual(-np.inf, np.zeros_like(problem.Y), np.ones(len(problem.p)))
        self.certificate: Certificate | None = None
        self.started = time.perf_counter()

    def follow(self, iterates: Iterator[Iterate]) -> str:
        for iterate in iterates:
            record = self.note(iterate)
            proceed = self.callback is None or self.callback(record) is not False
            proceed &= not _asked_to_stop(self.problem)
            if record.gap <= self.tol and self.certified().gap <= self.tol:
                if self.certified().gap < _IMPOSSIBLE:
                    raise KernelError(
                        "The lower bound exceeds the objective, which is possible only if a kernel is not positive "
                        "semidefinite; check the kernels, for example by their smallest eigenvalue."
                    )
                return "optimal"
            if not proceed:
                return "interrupted"
            if len(self.history) >= self.max_iter:
                return "stationary" if self.stationary else "iteration_limit"
        return "stationary" if self.stationary else "stalled"

    def rank(self, iterate: Iterate) -> float:
        """The objective; without a bound, a point that is not stationary must be better by more than the tolerance."""
        settled = self.problem.bounded or iterate.stationarity <= self.tol
        return iterate.objective if settled else iterate.objective * (1 + self.tol)

    @property
    def stationary(self) -> bool:
        """All that can be said where some p < 1 rules out a bound."""
        return not self.problem.bounded and self.best is not None and self.best.stationarity <= self.tol

    def note(self, iterate: Iterate) -> Record:
        if self.best is None or self.rank(iterate) < self.rank(self.best):
            self.best = iterate
        if iterate.dual.value > self.dual.value:
            self.dual = iterate.dual
        self.certificate = None
        record = Record(
            iteration=len(self.history) + 1,
            objective=iterate.objective,
            dual_bound=self.dual.value,
            gap=relative_gap(self.best.objective, self.dual.value),
            beta=self.problem.beta_dict(iterate.beta),
            pruned=tuple(v for v, b in zip(self.problem.circuit.products, iterate.beta, strict=True) if b <= 0),
            circuit_size=iterate.circuit_size,
            evaluations=iterate.evaluations,
            seconds=time.perf_counter() - self.started,
        )
        self.history.append(record)
        return record

    def certified(self) -> Certificate:
        assert self.best is not None
        if self.certificate is None:
            if self.dual.flows is None:
                self.dual = dual(self.problem, self.dual.alpha, self.dual.witness)
            P, D = primal(self.problem, self.best.beta, self.best.alpha).value, self.dual.value
            self.certificate = Certificate(P, D, relative_gap(P, D))
        return self.certificate

    def solution(self, spn: SPN, y: NDArray, classes: NDArray, solver: str, status: str) -> Solution:
        problem, best, proof = self.problem, self.best, self.certified()
        assert best is not None
        witness = self.dual.witness if best.witness is None else best.witness
        residual = kkt_residuals(problem, best.beta, best.alpha, witness, proof.objective, best.flows)
        binary = len(best.alpha) == 1
        return Solution(
            spn=spn,
            beta=problem.beta_dict(best.beta),
            alpha=best.alpha[0] if binary else best.alpha,
            intercept=float(best.intercept[0]) if binary else best.intercept,
            classes=classes,
            objective=proof.objective,
            dual_bound=proof.dual_bound,
            gap=proof.gap,
            kkt_residual=problem.beta_dict(residual),
            status=status,
            history=tuple(self.history),
            pruned=_pruned_at(self.history, problem.beta_dict(best.beta)),
            y=y,
            C=problem.C,
            lam=problem.lam,
            p=problem.beta_dict(problem.p),
            tol=self.tol,
            solver=solver,
            witness_alpha=self.dual.alpha[0] if binary else self.dual.alpha,
            witness_beta=problem.beta_dict(self.dual.witness),
        )


def _pruned_at(history: list[Record], beta: Mapping[str, float]) -> dict[str, int]:
    """For every weight that ended at zero, the iteration since which it is zero."""
    pruned: dict[str, int] = {}
    for v, weight in beta.items():
        if weight <= 0:
            last_positive = max((r.iteration for r in history if r.beta[v] > 0), default=0)
            pruned[v] = min(last_positive + 1, len(history))
    return pruned
