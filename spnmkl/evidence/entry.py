"""What a user calls: `fit_evidence` checks what is given, takes the rows, and searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import ArrayLike

from spnmkl.circuit.source import KernelSource
from spnmkl.errors import ParameterError
from spnmkl.evidence.rows import among, sampled
from spnmkl.evidence.search import Fit, Search, best_point
from spnmkl.evidence.solution import EvidenceSolution
from spnmkl.parameters import check_callback, count, question, seed
from spnmkl.problem import build_problem
from spnmkl.solution import Record
from spnmkl.solvers.deadline import Deadline
from spnmkl.structure import SPN
from spnmkl.structure.nodes import describe
from spnmkl.threads import single_threaded_blas

MOST_ROWS, STARTS, MOST_STEPS = 500, 3, 200


def fit_evidence(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    *,
    starts: int = STARTS,
    start: Mapping[str, float] | None = None,
    max_rows: int | None = MOST_ROWS,
    max_iter: int = MOST_STEPS,
    max_time: float | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: int | None = 0,
    callback: Callable[[Record], object] | None = None,
    n_threads: int | None = None,
    stop: Callable[[], bool] | None = None,
) -> EvidenceSolution:
    """The weights of a drawing under which the labels are most probable, with what a kernel can fit charged for.

    The drawing is the covariance of a Gaussian process classifier (logistic link; more than two classes: one process
    for each against the rest, one shared kernel), and Laplace's approximation of the log probability of the labels is
    maximised over all weights and a constant (formulation, section 13). Unlike the certified objective it compares a
    sum with a product, and kernels of several widths. It is not convex: what is found is the best of several
    starts, not provably the best. The exponents p of the drawing mean nothing here.

    Parameters
    ----------
    spn : SPN
        The structure; `spn.check()` must pass.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices, used as given; or a source that yields tiles, see `fit_tiles`.
    y : array-like of shape (n,)
        Labels of any kind; two classes, or more.
    starts : int, default=3
        Weights to begin with: equal ones, and shaken ones; the best of them after a few steps is followed.
    start : mapping from product to float, default=None
        Weights to begin with before these, such as those of a drawing with more in it; it is the first of `starts`.
    max_rows : int, default=500
        Rows to compute on, a stratified sample where there are more; None: all. A step takes time with their cube.
    max_iter : int, default=200
        Steps of L-BFGS from the best start.
    max_time : float, default=None
        Seconds after which it ends with the best weights so far and status "time_limit".
    sample_weight : array-like of shape (n,), default=None
        How often every row counts: 2 is as if it came twice, 0 as if it were absent.
    random_state : int or None, default=0
        For the sample and the shaken starts.
    callback : callable, default=None
        Called with a `Record` after every step, whose objective is minus the log evidence; returning False stops.
    n_threads : int, default=None
        Cores to use; None for all.
    stop : callable, default=None
        Asked now and then; once it is true it ends with the best weights so far and status "interrupted".

    Returns
    -------
    EvidenceSolution
        Weights, log evidence, and what every part is worth.

    Raises
    ------
    StructureError
        The structure is not valid, or too large to compile.
    KernelError
        A matrix is missing, of the wrong size, or no kernel.
    DataError
        The labels do not fit.
    ParameterError
        A setting is out of range.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import fit_evidence, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> fit_evidence(spn, kernels, y).status
    'converged'
    """
    check_callback(callback)
    question(stop)
    seed(random_state)
    starts, steps = (_at_least_one(value, name) for value, name in ((starts, "starts"), (max_iter, "max_iter")))
    most = count(max_rows, "max_rows")
    deadline = Deadline(max_time, stop)
    with single_threaded_blas(), np.errstate(all="ignore"):
        problem, classes = build_problem(
            spn, kernels, y, sample_weight=sample_weight, n_threads=n_threads, stop=deadline
        )
        labels, rng = np.asarray(y), np.random.default_rng(random_state)
        rows = sampled(np.searchsorted(classes, labels), most or len(labels), rng)
        source = among(problem.source, problem.circuit.leaves, rows)
        Y = np.ascontiguousarray(problem.Y[:, rows])
        counts = None if sample_weight is None else problem.C[rows]
        search = Search(spn, problem.circuit, source, Y, counts, problem.n_threads, deadline, callback)
        given = None if start is None else problem.beta_array(start)
        point, status = best_point(search, starts, rng, steps, given)
        beta = search.canonical(point.beta)
    a = np.zeros(problem.Y.shape)
    a[:, rows] = point.a
    return EvidenceSolution(
        spn=spn,
        beta=problem.beta_dict(beta),
        log_evidence=point.value,
        constant=point.constant,
        history=tuple(search.history),
        status=(deadline.status or "interrupted") if status == "stopped" else status,
        rows=rows,
        classes=classes,
        a=a,
        fit=Fit(search, point),
    )


def _at_least_one(value: object, name: str) -> int:
    number = count(value, name)
    if number is None:
        raise ParameterError(f"{name} must be a whole number of at least 1, but it is {describe(value)}.")
    return number
