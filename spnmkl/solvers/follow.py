"""Follows a solver: keeps the best point and the best bound, and says "optimal" only with a recomputed gap."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from spnmkl.certificate import Dual, both_sides, dual, kkt_residuals, primal, relative_gap
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource, MatrixSource, is_computed
from spnmkl.errors import KernelError, SPNMKLError, Stopped
from spnmkl.kernels.matrices import GIVEN, not_finite
from spnmkl.problem import Problem
from spnmkl.rounding import lower_bound
from spnmkl.solution import Certificate, Record, Solution
from spnmkl.solvers.budget import NoRoom
from spnmkl.solvers.deadline import Deadline
from spnmkl.solvers.iterate import Iterate, trivial_iterate
from spnmkl.structure import SPN

Callback = Callable[[Record], object]
_IMPOSSIBLE = -1e-6  # a gap below it, rounding aside, disproves the input
_MOST_DOUBTED = 10  # iterations in a row that are good enough for a solver but, for rounding, not certified
_QUICK = 20_000_000  # kernel entries that are read in a tenth of a second
_COMPUTED_ENTRIES = 10_000_000, 200_000_000  # computed for a bound after a stop, if there is time for them
_AFTER_STOP = 1.5  # seconds


def refuse_what_is_not_finite(source: KernelSource) -> None:
    """Matrices are checked once while they live; what is written into one later may have slipped through."""
    for leaf, K in source.matrices.items() if isinstance(source, MatrixSource) else ():
        if not np.isfinite(K.sum()):
            raise not_finite(f"Kernel matrix {leaf!r}", GIVEN)


class Run:
    """Follows a solver: keeps the history and the best point, and decides when to stop."""

    def __init__(
        self, problem: Problem, tol: float, callback: Callback | None, max_iter: int, deadline: Deadline, solver: str
    ) -> None:
        self.unwatched, self.problem = problem, problem.watched(deadline)
        self.tol, self.callback, self.max_iter = tol, callback, max_iter
        self.deadline, self.first_method = deadline, "newton" if solver == "auto" else solver
        self.history: list[Record] = []
        self.best: Iterate | None = None
        # α = 0 proves that the optimum is at least 0.
        bound = 0.0 if problem.bounded else -np.inf
        self.dual = Dual(bound, np.zeros_like(problem.Y), np.ones(len(problem.p)))
        self.sure = self.dual  # the best bound that is not of single precision
        self.certificate: Certificate | None = None
        self.told: tuple[Dual, float] | None = None  # a bound, and what is left of it by rounding
        self.stopped, self.doubted = False, 0
        self.started = time.perf_counter()

    def follow(self, iterates: Iterator[Iterate]) -> str:
        """How it ended."""
        try:
            return self.followed(iterates)
        except NoRoom as lack:
            if self.best is None:
                raise SPNMKLError(str(lack)) from None
            return self.deadline.status or "memory"
        except Stopped:
            self.stopped = True
            refused = self.best is None and self.hear(self.note(self.nothing()))
            return "interrupted" if refused else self.deadline.status or "interrupted"

    def hear(self, record: Record) -> bool:
        """Tell the callback; whether it refuses to go on."""
        return self.callback is not None and self.callback(record) is False

    def nothing(self) -> Iterate:
        """What there is before the first point: a constant classifier and no bound but 0."""
        return trivial_iterate(self.problem, self.dual.alpha, self.dual, 0, self.first_method)

    def followed(self, iterates: Iterator[Iterate]) -> str:
        for iterate in iterates:
            record = self.note(iterate)
            early = "interrupted" if self.hear(record) else self.deadline.status
            if record.gap <= self.tol and self.certified().gap <= self.tol:
                if self.certified().gap < _IMPOSSIBLE:
                    raise KernelError(
                        "The lower bound exceeds the objective, which is possible only if a kernel is not positive "
                        "semidefinite; check the kernels, for example by their smallest eigenvalue."
                    )
                return "optimal"
            if early is not None:
                self.stopped = True
                return early
            self.doubted = self.doubted + 1 if record.gap <= self.tol else 0
            if self.doubted == _MOST_DOUBTED:
                break
            if len(self.history) >= self.max_iter:
                return "stationary" if self.stationary else "iteration_limit"
        if self.best is None:
            self.hear(self.note(self.nothing()))
        if self.deadline.status is None and not self.stationary:
            refuse_what_is_not_finite(self.unwatched.source)
        return self.deadline.status or ("stationary" if self.stationary else "precision")

    def rank(self, iterate: Iterate) -> float:
        """The objective; without a bound, a point that is not stationary must be better by more than the tolerance."""
        settled = self.problem.bounded or iterate.stationarity <= self.tol
        return iterate.objective if settled else iterate.objective * (1 + self.tol)

    @property
    def stationary(self) -> bool:
        """All that can be said where some p < 1 rules out a bound."""
        return not self.problem.bounded and self.best is not None and self.best.stationarity <= self.tol

    def note(self, iterate: Iterate) -> Record:
        if not np.isfinite(iterate.objective):
            refuse_what_is_not_finite(self.unwatched.source)
        if self.best is None or iterate.final or self.rank(iterate) < self.rank(self.best):
            self.best = iterate
        if iterate.dual.value > self.dual.value:
            self.dual = iterate.dual
        if not iterate.single and iterate.dual.value > self.sure.value:
            self.sure = iterate.dual
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
            method=iterate.method,
        )
        self.history.append(record)
        return record

    def certified(self) -> Certificate:
        assert self.best is not None
        if self.certificate is None:
            if self.best.single and self.dual.flows is None:
                best = self.best
                inner = np.where(best.beta > 0, best.beta, self.dual.witness if best.witness is None else best.witness)
                exact, self.dual, flows = both_sides(self.problem, best.beta, best.alpha, inner, self.dual)
                self.best = replace(best, witness=inner, flows=flows)
            else:
                if self.dual.flows is None:
                    self.dual = dual(self.problem, self.dual.alpha, self.dual.witness)
                exact = primal(self.problem, self.best.beta, self.best.alpha)
            if self.dual.value > self.sure.value:
                self.sure = self.dual
            P = exact.value
            if self.best.single:
                self.best = replace(self.best, objective=P, intercept=exact.intercept)
            if self.told is None or self.told[0] is not self.dual or self.told[1] > P:
                self.told = self.dual, lower_bound(self.problem, self.dual, P, self.tol)
            D = self.told[1]
            self.certificate = Certificate(P, D, relative_gap(P, D))
        return self.certificate

    def ending(self) -> tuple[Iterate, Certificate, Floats]:
        """The best point, what is proved of it, and its residuals; what was stopped makes no long pass for them."""
        assert self.best is not None
        if self.problem.n**2 * len(self.problem.circuit.leaves) <= _QUICK:
            keeps = is_computed(self.unwatched.source) and self.sure is self.dual and not self.best.single
            self.problem, self.stopped = self.unwatched, self.stopped and keeps
        problem = self.problem
        if not self.stopped:
            with suppress(Stopped):
                proof, best = self.certified(), self.best
                witness = self.dual.witness if best.witness is None else best.witness
                return best, proof, kkt_residuals(problem, best.beta, best.alpha, witness, proof.objective, best.flows)
        if is_computed(self.unwatched.source) and self.certificate is None:
            self.bound_by_some_rows()
        best, self.dual = self.best, self.sure
        P, D = best.objective, self.dual.value
        proof = self.certificate or Certificate(P, D, relative_gap(P, D))
        return best, proof, np.full(len(problem.p), best.stationarity)

    def bound_by_some_rows(self) -> None:
        """In double precision by part of the α that single precision ended with: any α proves a bound."""
        found, ends = self.dual, time.perf_counter() + _AFTER_STOP
        problem = self.unwatched.watched(lambda: time.perf_counter() > ends)
        rows = np.flatnonzero(found.alpha.any(axis=0))
        if not (rows.size and problem.bounded):
            return
        with suppress(Stopped):
            for entries in _COMPUTED_ENTRIES:
                most = max(2, int((entries / len(problem.circuit.leaves)) ** 0.5))
                alpha, some = np.zeros_like(found.alpha), rows[:: max(1, -(-len(rows) // most))]
                alpha[:, some] = found.alpha[:, some]
                proof = dual(problem, alpha, found.witness)
                value = lower_bound(problem, proof, np.inf, self.tol)
                self.sure = max(self.sure, replace(proof, value=value), key=lambda proof: proof.value)

    def solution(self, spn: SPN, y: NDArray, classes: NDArray, solver: str, status: str) -> Solution:
        problem = self.problem
        best, proof, residual = self.ending()
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
            pruned=_pruned_at(self.history, problem.beta_dict(best.beta)) if best.evaluations else {},
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
