"""One sample, one node: what pushes a decision, and the kernel that a node computes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from spnmkl.circuit.evaluate import kernel_matrix
from spnmkl.circuit.heaviest import WeightedPath
from spnmkl.circuit.program import Circuit, Floats
from spnmkl.errors import KernelError
from spnmkl.inspection.shares import Kernels
from spnmkl.kernels.matrices import row_blocks
from spnmkl.problem import Problem
from spnmkl.solution import Solution
from spnmkl.structure.meeting import most_met, products_through
from spnmkl.threads import single_threaded_blas


@single_threaded_blas()
def sample_contributions(
    solution: Solution, cross_kernels: Mapping[str, ArrayLike], paths: Sequence[WeightedPath]
) -> Floats:
    """How much each path pushed each sample.

    f_m(x) = g_m Σ_i α_i y_i K_m(x_i, x); summed over all paths, plus the intercept, it is the decision function.

    Parameters
    ----------
    solution : Solution
        What was learned.
    cross_kernels : mapping from leaf id to array-like of shape (rows, n)
        Kernels between the samples and the n training samples, for the leaves of the paths.
    paths : sequence of WeightedPath
        As `heaviest_paths` gives them.

    Returns
    -------
    ndarray of shape (paths, rows), or (paths, rows, classes) for more than two classes
        The pushes; positive towards the second class, or towards the class.

    Raises
    ------
    KernelError
        A matrix is missing or of the wrong size.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import heaviest_paths, sample_contributions
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> solution = solve(spn, kernels, y)
    >>> sample_contributions(solution, kernels, heaviest_paths(solution)).shape
    (2, 178, 3)
    """
    A = solution.signed_alpha
    leaves = dict.fromkeys(leaf for path in paths for leaf in path.leaves)
    cross = {leaf: np.asarray(_of_leaf(cross_kernels, leaf), dtype=float) for leaf in leaves or cross_kernels}
    rows = len(next(iter(cross.values()), A[:0]))
    for leaf, K in cross.items():
        if K.shape != (rows, A.shape[1]):
            raise KernelError(
                f"The cross-kernel matrix of {leaf!r} has shape {K.shape}; expected {(rows, A.shape[1])}, new samples "
                "by training samples, with the same rows for every leaf."
            )
    pushes = np.empty((len(paths), rows, len(A)))
    for block in row_blocks(rows):
        for m, path in enumerate(paths):
            first, *others = (cross[leaf][block] for leaf in path.leaves)
            for other in others:
                first = first * other
            pushes[m, block] = path.g * (first @ A.T)
    return pushes[..., 0] if len(A) == 1 else pushes


def _of_leaf(kernels: Mapping[str, ArrayLike], leaf: str) -> ArrayLike:
    if leaf not in kernels:
        raise KernelError(
            f"Kernel {leaf!r} has no matrix; expected one for each leaf asked for, found them for "
            f"{sorted(kernels, key=str)}; add it."
        )
    return kernels[leaf]


def node_kernel(solution: Solution, kernels: Kernels, node: str) -> Floats:
    """The kernel matrix at a node.

    Parameters
    ----------
    solution : Solution
        What was learned.
    kernels : mapping from leaf id to array-like of shape (n, n), or KernelSource
        The kernels it was trained with.
    node : str
        Its id.

    Returns
    -------
    ndarray of shape (n, n)
        A leaf's own matrix; at a sum or a product, Σ g_m K_m over the paths through it; at the root, K(β).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import node_kernel
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_wine(return_X_y=True)
    >>> spn = templates.flat({"colour": [9, 10], "acids": [1, 5, 6]})
    >>> kernels, fitted = fit_kernels(spn, X / X.std(axis=0))
    >>> node_kernel(solve(spn, kernels, y), kernels, spn.root).shape
    (178, 178)
    """
    spn = solution.spn
    if spn.kind(node) == "kernel":
        if isinstance(kernels, Mapping):
            return np.array(_of_leaf(kernels, node), dtype=float)
        return kernels.tiles([node], slice(None), slice(None))[0].copy()
    problem = solution.problem(kernels)
    beta = problem.beta_array(solution.beta)
    circuit = problem.circuit.restricted(beta > 0)
    W, products = circuit.weights(beta), products_through(spn, [node])
    if products is None:
        return _combined(problem, circuit, W)
    if most_met(spn, products, {v: k for k, v in enumerate(spn.topological_order())}) <= 1:
        return _combined(problem, circuit, np.where(_only_through(circuit, products), W, 0.0))
    K = _combined(problem, circuit, W)
    K -= _combined(problem, circuit, circuit.weights(np.where([v in products for v in circuit.products], 0.0, beta)))
    return K


def _combined(problem: Problem, circuit: Circuit, W: Floats) -> Floats:
    out = np.zeros((problem.n, problem.n))
    return kernel_matrix(circuit, W, problem.source, out, problem.n_threads) if W.any() else out


def _only_through(circuit: Circuit, products: Collection[str]) -> NDArray[np.bool_]:
    """(terms,) those that are left of the paths through products of which no path meets two.

    An operation that can lead to one of the products is then never used but on the way to it: there only the terms
    on the way stay.
    """
    leads = np.zeros(len(circuit.leaves) + circuit.n_operations, dtype=bool)
    keep = np.ones(circuit.n_terms, dtype=bool)
    for k in range(circuit.n_operations):
        span = slice(circuit.operation_start[k], circuit.operation_start[k + 1])
        on_the_way = [
            any(v in products for v, _ in circuit.derivations.terms[circuit.terms[t]].products)
            or leads[circuit.arguments[circuit.term_start[t] : circuit.term_start[t + 1]]].any()
            for t in range(span.start, span.stop)
        ]
        leads[len(circuit.leaves) + k] = any(on_the_way)
        if any(on_the_way) or k == circuit.n_operations - 1:
            keep[span] = on_the_way
    return keep
