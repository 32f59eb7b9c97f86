"""What if the weights were others: the SVM at weights that are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from spnmkl.certificate import kkt_residuals, relative_gap
from spnmkl.inspection.shares import Kernels
from spnmkl.solution import Solution
from spnmkl.solvers.evaluator import Evaluator
from spnmkl.threads import single_threaded_blas


@single_threaded_blas()
def refit(solution: Solution, kernels: Kernels, beta: Mapping[str, float], tol: float = 1e-6) -> Solution:
    """The SVM at weights set by hand: what if.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.
    beta : mapping from product to float
        The weights to change; the others stay.
    tol : float, default=1e-6
        Relative gap of the SVM.

    Returns
    -------
    Solution
        With status "hand-set"; its gap is measured against the bound that is known.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import refit
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> solution = solve(spn, kernels, y)
    >>> without = refit(solution, kernels, {"p1": 0.0})
    >>> without.status, without.objective > solution.objective
    ('hand-set', True)
    """
    problem = solution.problem(kernels)
    weights = problem.beta_array(solution.beta | dict(beta))
    evaluator = Evaluator(problem)
    evaluator.alpha = np.atleast_2d(solution.alpha)
    point = evaluator.evaluate(weights, tol * max(solution.objective, 1e-300))
    witness = problem.beta_array(solution.witness_beta)
    residual = kkt_residuals(problem, weights, point.alpha, witness, point.objective)
    binary = len(point.alpha) == 1
    return replace(
        solution,
        beta=problem.beta_dict(weights),
        alpha=point.alpha[0] if binary else point.alpha,
        intercept=float(point.intercept[0]) if binary else point.intercept,
        objective=point.objective,
        gap=relative_gap(point.objective, solution.dual_bound),
        kkt_residual=problem.beta_dict(residual),
        status="hand-set",
        pruned={},
    )
