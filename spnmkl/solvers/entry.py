"""What a user calls: `solve` poses the problem and follows a solver, `C_min` brackets the smallest useful C."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.source import KernelSource
from spnmkl.errors import ParameterError, Stopped
from spnmkl.parameters import Power, check_callback, count, solver_name, tolerance
from spnmkl.problem import Problem, build_problem
from spnmkl.solution import Solution
from spnmkl.solvers.deadline import Deadline
from spnmkl.solvers.follow import Callback, Run, refuse_what_is_not_finite
from spnmkl.solvers.smallest import smallest_C
from spnmkl.solvers.strategy import SOLVERS, Begin, iterates
from spnmkl.structure import SPN
from spnmkl.threads import single_threaded_blas

_AT_BOUND = 0.999  # of C: an α of a start that more C lets grow
DEFAULT_ITERATIONS = {"auto": 500, "interior": 500, "newton": 500, "paper": 2000}  # where max_iter is None


class TrivialSolutionWarning(UserWarning):
    """C is at or below C_min: all weights are zero and the classifier is constant.

    Examples
    --------
    >>> from spnmkl import TrivialSolutionWarning
    >>> issubclass(TrivialSolutionWarning, UserWarning)
    True
    """


def solve(
    spn: SPN,
    kernels: Mapping[str, ArrayLike] | KernelSource,
    y: ArrayLike,
    *,
    C: float = 1.0,
    lam: float = 1.0,
    p: Power = None,
    solver: str = "auto",
    tol: float = 1e-3,
    max_iter: int | None = None,
    max_time: float | None = None,
    sample_weight: ArrayLike | None = None,
    class_weight: Mapping[object, float] | str | None = None,
    callback: Callback | None = None,
    start: Mapping[str, float] | Solution | None = None,
    n_threads: int | None = None,
    warn: bool = True,
    stop: Callable[[], bool] | None = None,
) -> Solution:
    """Learn the weights of a sum-product network together with the SVM.

    Parameters
    ----------
    spn : SPN
        The structure; `spn.check()` must pass.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices, used as given; or a source that yields tiles, see `fit_tiles`.
    y : array-like of shape (n,)
        Labels of any kind; two classes, or more (one-vs-rest with one shared kernel).
    C : float, default=1.0
        Weight of the loss; what one tunes.
    lam : float, default=1.0
        Weight of λ Σ_v c_v β_v^{p_v}; where all p are equal only C need be tuned.
    p : float, mapping from product to float, "sparse" or None, default=None
        Exponents: None (the structure's own), one number for all, a mapping from product to number, or "sparse"
        (the smallest exponent each product has on its paths, at which inner nodes can vanish too).
    solver : {"auto", "newton", "interior", "paper"}, default="auto"
        "auto" is Newton's method, and path following where that struggles; "newton" and "interior" are one of them
        alone (p ≥ 1), "paper" is Algorithm 1, slow, for teaching.
    tol : float, default=1e-3
        Relative gap (P − D)/P to reach.
    max_iter : int, default=None
        Outer iterations; None: 500, or 2000 for "paper".
    max_time : float, default=None
        Seconds after which the solver ends as soon as it can, with the best weights so far, their gap and
        status "time_limit".
    sample_weight : array-like of shape (n,), default=None
        Scales C per sample.
    class_weight : mapping from class to float, "balanced" or None, default=None
        Scales C per class; "balanced" gives all classes the same total.
    callback : callable, default=None
        Called with a `Record` after every outer iteration; returning False stops.
    start : mapping from product to float, or Solution, default=None
        Weights to begin with, or a solution of the same samples, for example at a nearby C, whose α serves too.
    n_threads : int, default=None
        Cores to use; None for all.
    warn : bool, default=True
        Whether to warn where C is so small that all weights are zero. Python's own way to silence a warning would
        silence it in all threads.
    stop : callable, default=None
        Asked between iterations and within them; once it is true the solver ends as soon as it can, with the best
        weights so far and status "interrupted".

    Returns
    -------
    Solution
        Weights, SVM and certificate.

    Raises
    ------
    StructureError
        The structure is not valid, or too large to compile.
    KernelError
        A matrix is missing, of the wrong size, or no kernel.
    DataError
        The labels or weights do not fit.
    ParameterError
        A setting is out of range.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> solve(spn, kernels, y, C=1.0).status
    'optimal'
    """
    solver_name(solver, SOLVERS)
    tol, max_iter = tolerance(tol), count(max_iter, "max_iter")
    check_callback(callback)
    deadline = Deadline(max_time, stop)
    # What is not finite is looked for, and refused or not taken.
    with single_threaded_blas(), np.errstate(all="ignore"):
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
            stop=deadline,
        )
        begin = None if start is None else _begin(problem, start, classes)
        most = DEFAULT_ITERATIONS[solver] if max_iter is None else max_iter
        run = Run(problem, tol, callback, most, deadline, solver)
        status = run.follow(iterates(run.problem, solver, tol, begin))
        solution = run.solution(spn, np.array(y), classes, solver, status)
    if warn and run.best is not None and run.best.smallest_C is not None:
        warnings.warn(_trivial_sentence(C, run.best.smallest_C), TrivialSolutionWarning, stacklevel=2)
    return solution


def _begin(problem: Problem, start: Mapping[str, float] | Solution, classes: NDArray) -> Begin:
    """Weights by name; of a solution over the same samples and classes also α, scaled to this C.

    A class with no α at its C is not scaled: it stays optimal at any larger C.
    """
    if not isinstance(start, Solution):
        return Begin(problem.beta_array(start))
    beta, alpha = problem.beta_array(start.beta), np.atleast_2d(start.alpha)
    if alpha.shape != problem.Y.shape or not np.array_equal(start.classes, classes):
        return Begin(beta)
    grown = np.divide(problem.C, start.C, out=np.zeros(problem.n), where=start.C > 0)
    bound = (alpha >= _AT_BOUND * start.C)[:, start.C > 0].any(axis=1, keepdims=True)
    scaled = np.minimum(alpha * np.where(bound, np.maximum(grown, 1.0), 1.0), problem.C)
    return Begin(beta, scaled, struggled=start.history[-1:] != () and start.history[-1].method == "interior")


def _trivial_sentence(C: float, multiple: float) -> str:
    constant = "so every weight is zero and the classifier is constant"
    if not np.isfinite(multiple):
        return (
            f"The kernels tell no classes apart, {constant} at any C; use other kernels, or look for samples that are "
            "alike but labelled differently."
        )
    return f"C = {C:.3g} is at or below C_min, {constant}; C must be above {multiple * C:.4g}."


@single_threaded_blas()
@np.errstate(all="ignore")
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
    stop: Callable[[], bool] | None = None,
) -> float:
    """The smallest useful C where all p are 1: at or below it all weights are zero (formulation, section 7).

    Parameters
    ----------
    spn : SPN
        The structure.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernel matrices, or a source that yields tiles.
    y : array-like of shape (n,)
        Labels of any kind.
    lam : float, default=1.0
        Weight of the regulariser.
    p : float, mapping from product to float, "sparse" or None, default=None
        Exponents as for `solve`; all must be 1.
    sample_weight : array-like of shape (n,), default=None
        Scales C per sample.
    class_weight : mapping from class to float, "balanced" or None, default=None
        Scales C per class.
    tol : float, default=1e-3
        Relative width of the bracket to reach.
    n_threads : int, default=None
        Cores to use; None for all.
    stop : callable, default=None
        Asked while it works; once it is true the bracket so far is used.

    Returns
    -------
    float
        The lower end of a bracket of relative width `tol`, or as narrow as it becomes; infinity where the kernels tell
        no classes apart (but for rounding), so that no C is enough.

    Raises
    ------
    ParameterError
        Some p is not 1: then any C gives weights above 0.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import C_min, solve, templates
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> C = C_min(spn, kernels, y)
    >>> max(solve(spn, kernels, y, C=0.9 * C, warn=False).beta.values())
    0.0
    >>> max(solve(spn, kernels, y, C=1.1 * C).beta.values()) > 0
    True
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
        stop=stop,
    )
    if (problem.p != 1).any():
        raise ParameterError("C_min exists only where every p is 1; with other p any C gives weights above 0.")
    lowest = 0.0
    with suppress(Stopped):
        for bracket in smallest_C(problem if stop is None else problem.watched(stop)):
            lowest = bracket.low
            if bracket.high <= bracket.low * (1 + tol):
                break
    if not np.isfinite(lowest):
        refuse_what_is_not_finite(problem.source)
    return lowest
