"""How the decision changes with the columns of a sample."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from spnmkl.circuit.program import Circuit, Floats
from spnmkl.errors import KernelError
from spnmkl.kernels import FittedKernel, cross_kernels
from spnmkl.kernels.gradients import has_gradient, weighted_gradient
from spnmkl.kernels.matrices import row_blocks
from spnmkl.solution import Solution
from spnmkl.threads import single_threaded_blas


@single_threaded_blas()
def decision_gradient(solution: Solution, fitted: Mapping[str, FittedKernel], X: np.ndarray) -> Floats:
    """The derivative of the decision function with respect to every column, at some samples.

    Kernels are differentiated as they are normalised; what normalisation learned from the training rows stays.

    Parameters
    ----------
    solution : Solution
        What was learned.
    fitted : mapping from leaf id to FittedKernel
        The kernels it was trained with, as `spnmkl.kernels.fit_kernels` gives them.
    X : ndarray of shape (m, n_features)
        The samples, all columns of training in the same order.

    Returns
    -------
    ndarray of shape (m, n_features), or (classes, m, n_features) for more than two classes
        Positive where a larger value pushes towards the second class, or towards the class.

    Raises
    ------
    KernelError
        A kernel of positive weight has no derivative: one of categories, or of your own.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from spnmkl import solve, templates
    >>> from spnmkl.inspection import decision_gradient
    >>> from spnmkl.kernels import fit_kernels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = X / X.std(axis=0)
    >>> spn = templates.flat({"mean": list(range(10)), "worst": list(range(20, 30))})
    >>> kernels, fitted = fit_kernels(spn, X[:200])
    >>> decision_gradient(solve(spn, kernels, y[:200]), fitted, X[200:205]).shape
    (5, 30)
    """
    circuit, W = solution.active_circuit()
    for leaf in circuit.leaves:
        if leaf not in fitted or not has_gradient(fitted[leaf].spec.kernel):
            kind = fitted[leaf].spec.kernel if leaf in fitted else "precomputed"
            raise KernelError(
                f"Kernel {kind!r} of leaf {solution.spn.label(leaf)!r} has no derivative; use kernels of numbers that "
                "are built in, or permute columns instead."
            )
    A = solution.signed_alpha
    gradient = np.zeros((len(A), *X.shape))
    for rows in row_blocks(len(X)) if circuit.leaves else ():
        cross = cross_kernels({leaf: fitted[leaf] for leaf in circuit.leaves}, X[rows])
        for leaf, slope in leaf_slopes(circuit, W, cross).items():
            gradient[:, rows] += weighted_gradient(fitted[leaf], X[rows], A[:, None, :] * slope)
    return gradient[0] if len(A) == 1 else gradient


def leaf_slopes(circuit: Circuit, W: Floats, values: Mapping[str, Floats]) -> dict[str, Floats]:
    """Leaf → ∂K/∂k_leaf, entry by entry: the circuit evaluated, then walked back from its root."""
    terms = [
        [circuit.arguments[circuit.term_start[t] : circuit.term_start[t + 1]].tolist() for t in range(start, stop)]
        for start, stop in pairwise(circuit.operation_start)
    ]
    weights = [W[start:stop] for start, stop in pairwise(circuit.operation_start)]
    known = [values[leaf] for leaf in circuit.leaves]
    for own, scales in zip(terms, weights, strict=True):
        known.append(sum(w * _multiplied(known, slots) for w, slots in zip(scales, own, strict=True)))
    slopes: list[Floats | float] = [0.0] * len(known)
    slopes[-1] = 1.0
    for k in reversed(range(len(terms))):
        for w, slots in zip(weights[k], terms[k], strict=True):
            for place, slot in enumerate(slots):
                others = slots[:place] + slots[place + 1 :]
                slopes[slot] = slopes[slot] + slopes[len(circuit.leaves) + k] * (w * _multiplied(known, others))
    return {leaf: np.broadcast_to(slope, known[-1].shape) for leaf, slope in zip(circuit.leaves, slopes, strict=False)}


def _multiplied(known: Sequence[Floats], slots: Sequence[int]) -> Floats | float:
    return math.prod((known[slot] for slot in slots), start=1.0)
