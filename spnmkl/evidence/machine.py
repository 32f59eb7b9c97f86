"""Support vector machines on the kernel with evidence weights: models like any other, but never certified."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from spnmkl.certificate import primal
from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.program import Floats
from spnmkl.circuit.source import KernelSource
from spnmkl.evidence.entry import MOST_STEPS, STARTS, fit_evidence
from spnmkl.evidence.solution import EvidenceSolution
from spnmkl.problem import Problem, build_problem
from spnmkl.solution import Record, Solution
from spnmkl.solvers.deadline import Deadline
from spnmkl.solvers.sturdy import solve_closely
from spnmkl.solvers.svm import SVMSolution
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas

Kernels = Mapping[str, ArrayLike] | KernelSource


def solve_by_evidence(
    spn: SPN,
    kernels: Kernels,
    y: ArrayLike,
    *,
    C: float = 1.0,
    start: Mapping[str, float] | None = None,
    max_iter: int | None = None,
    max_time: float | None = None,
    callback: Callable[[Record], object] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> Solution:
    """The SVM on the kernel with evidence weights; settings as of `spnmkl.solve`.

    Its solver is "evidence", and so is its status where the search for the weights came to its end. C and the weights
    of classes are the SVM's alone; the weight of a sample is how often evidence counts it. Weights to `start` from,
    which were found for much the same, take the place of shaken ones; equal ones are tried beside them.
    """
    deadline = Deadline(max_time, stop)
    found = fit_evidence(
        spn,
        kernels,
        y,
        starts=STARTS if start is None else 2,
        start=start,
        max_iter=max_iter or MOST_STEPS,
        max_time=deadline.left,
        sample_weight=settings.get("sample_weight"),
        callback=callback,
        n_threads=n_threads,
        stop=stop,
    )
    return next(machines(found, kernels, y, [C], n_threads=n_threads, stop=deadline, **settings))


def machines(
    found: EvidenceSolution,
    kernels: Kernels,
    y: ArrayLike,
    grid: Iterable[float],
    *,
    tol: float = 1e-3,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
    **settings: Any,
) -> Iterator[Solution]:
    """The machine at every C, smallest first, each from the one before; the kernel is formed once.

    Once `stop` says so they are not solved to the end, and say so themselves.
    """
    K = alpha = None
    for C in grid:
        with single_threaded_blas(), np.errstate(all="ignore"):
            problem, classes = build_problem(found.spn, kernels, y, C=C, n_threads=n_threads, **settings)
            beta = problem.beta_array(found.beta)
            if K is None or alpha is None:
                circuit = problem.circuit.restricted(beta > 0)
                K = np.zeros((problem.n, problem.n))
                if circuit.n_terms:
                    kernel_matrix(circuit, circuit.weights(beta), problem.source, K, problem.n_threads)
                alpha = np.zeros_like(problem.Y)
            solved = _solved(K, problem, alpha, tol, stop)
            alpha = np.array([fit.alpha for fit in solved])
            objective = primal(problem, beta, alpha).value
        one = len(alpha) == 1
        intercept = np.array([fit.intercept for fit in solved])
        yield Solution(
            spn=found.spn,
            beta=found.beta,
            alpha=alpha[0] if one else alpha,
            intercept=float(intercept[0]) if one else intercept,
            classes=classes,
            objective=objective,
            dual_bound=-np.inf,
            gap=np.inf,
            kkt_residual=dict.fromkeys(found.beta, np.nan),
            status=_status(found, stop),
            history=found.history,
            pruned={v: len(found.history) for v, weight in found.beta.items() if weight == 0},
            y=np.array(y),
            C=problem.C,
            lam=problem.lam,
            p=problem.beta_dict(problem.p),
            tol=tol,
            solver="evidence",
            witness_alpha=np.zeros_like(alpha[0] if one else alpha),
            witness_beta=dict.fromkeys(found.beta, 1.0),
        )


def _solved(
    K: Floats, problem: Problem, alpha: Floats, tol: float, stop: Callable[[], bool] | None
) -> list[SVMSolution]:
    """The machine of every class."""

    def one(c: int) -> SVMSolution:
        return solve_closely(K, problem.Y[c], problem.C, alpha[c], tol, stop)

    with ThreadPoolExecutor(min(problem.n_threads, len(alpha))) as pool:
        return list(pool.map(one, range(len(alpha))))


def _status(found: EvidenceSolution, stop: Callable[[], bool] | None) -> str:
    if found.status != "converged":
        return found.status
    late = stop is not None and stop()
    return (getattr(stop, "status", None) or "interrupted") if late else "evidence"
