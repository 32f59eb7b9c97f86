"""Probabilities from decision values: SVMs that have not seen a sample, and Platt's scaling of what they say of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from spnmkl.circuit.program import Floats
from spnmkl.solvers.sturdy import solve_sturdily


def held_out(K: Floats, Y: Floats, C: Floats, train: NDArray[np.intp], test: NDArray[np.intp], gap: float) -> Floats:
    """(classes, len(test)) decision values of SVMs that have not seen `test`."""
    K_train, K_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    F = []
    for y in np.ascontiguousarray(Y[:, train]):  # the SVM's loops would be compiled again for other strides
        fit = solve_sturdily(K_train, y, C[train], np.zeros(len(train)), gap)
        F.append(K_test @ (fit.alpha * y) + fit.intercept)
    return np.array(F)


def platt(f: Floats, positive: NDArray[np.bool_], weight: Floats) -> Floats:
    """(slope, offset) of logit P(y = 1 | f), fitted to Platt's smoothed targets by maximum likelihood."""
    n_positive, n_negative = weight[positive].sum(), weight[~positive].sum()
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    scale = np.abs(f).max() or 1.0
    Z = np.column_stack([f / scale, np.ones(len(f))])

    def loss(theta: Floats) -> float:
        z = Z @ theta
        return weight @ (np.logaddexp(0, z) - target * z)

    def gradient(theta: Floats) -> Floats:
        return Z.T @ (weight * (expit(Z @ theta) - target))

    def hessian(theta: Floats) -> Floats:
        s = expit(Z @ theta)
        return (Z.T * (weight * s * (1 - s))) @ Z

    start = np.array([0.0, np.log((n_positive + 1) / (n_negative + 1))])
    slope, offset = minimize(loss, start, jac=gradient, hess=hessian, method="trust-exact").x
    return np.array([slope / scale, offset])
