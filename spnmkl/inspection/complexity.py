"""Theorem 2's bound on the complexity of what was learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from spnmkl.certificate import best_intercept
from spnmkl.circuit.evaluate import apply_kernel
from spnmkl.circuit.source import MatrixSource, diagonals
from spnmkl.errors import ParameterError
from spnmkl.inspection.shares import Kernels
from spnmkl.solution import Solution


@dataclass(frozen=True)
class ComplexityBound:
    """Theorem 2: (2A/N) (R + C Σ ℓ), the complexity of the ball {R ≤ objective}. Not a generalisation guarantee.

    Attributes
    ----------
    value : float
        The bound.
    A : float
        (Σ_i Σ_m K_m(x_i, x_i))^½.
    regularizer : float
        R(β, w) with λ = 1 and p = 1.
    loss : float
        Σ_i C_i ℓ_i.
    n : int
        The number of samples.

    Examples
    --------
    >>> from spnmkl.inspection import ComplexityBound
    >>> ComplexityBound(value=0.5, A=2.0, regularizer=3.0, loss=1.0, n=16).value
    0.5
    """

    value: float
    A: float
    regularizer: float
    loss: float
    n: int


def complexity_bound(solution: Solution, kernels: Kernels) -> ComplexityBound:
    """Theorem 2 with its parts (formulation, eq. 24). Never compare it across C.

    Parameters
    ----------
    solution : Solution
        What was learned, for two classes.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.

    Returns
    -------
    ComplexityBound
        The bound and what it is made of.

    Raises
    ------
    ParameterError
        There are more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import complexity_bound
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> complexity_bound(solve(spn, kernels, y == 0), kernels).n
    178
    """
    if len(solution.classes) != 2:
        raise ParameterError(
            f"Theorem 2 is about two classes, but this solution has {len(solution.classes)}; pose a binary problem."
        )
    problem = solution.problem(kernels)
    circuit, beta = problem.circuit, problem.beta_array(solution.beta)
    rows = {leaf: diagonal[None] for leaf, diagonal in diagonals(problem.source, circuit.leaves).items()}
    ones = np.ones((1, problem.n))
    A = float(apply_kernel(circuit, np.ones(circuit.n_terms), MatrixSource(rows), ones)[0, 0]) ** 0.5
    signed = solution.alpha * problem.Y[0]
    f = apply_kernel(circuit, circuit.weights(beta), problem.source, signed[None], problem.n_threads)[0]
    _, loss = best_intercept(f, problem.Y[0], problem.C)
    regularizer = float(signed @ f) / 2 + float((problem.c * beta).sum())
    return ComplexityBound(2 * A / problem.n * (regularizer + loss), A, regularizer, loss, problem.n)
