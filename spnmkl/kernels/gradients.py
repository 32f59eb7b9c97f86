"""How kernel values change with the columns of a sample: exact derivatives, for the built-in kernels of numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from spnmkl.errors import DataError
from spnmkl.kernels import registry
from spnmkl.kernels.bases import select
from spnmkl.kernels.fitting import FittedKernel
from spnmkl.kernels.normalization import inverse_root


@dataclass(frozen=True)
class _Gradient:
    """Of a kernel before its normalisation.

    `inside` gives Σ_j V[i, j] ∂k(x_i, z_j)/∂x_i, (m, d), from X, Z, the values k(x_i, z_j) and V; `own` gives
    ∂k(x, x)/∂x, or None where that is zero.
    """

    inside: Callable[..., np.ndarray]
    own: Callable[..., np.ndarray] | None = None


def _linear(X: np.ndarray, Z: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    return V @ Z


def _linear_own(X: np.ndarray) -> np.ndarray:
    return 2 * X


def _slope(product: np.ndarray, degree: int, gamma: float, coef0: float) -> np.ndarray:
    return np.asarray(degree * gamma * (gamma * product + coef0) ** (degree - 1))


def _polynomial(X: np.ndarray, Z: np.ndarray, K: np.ndarray, V: np.ndarray, **params: Any) -> np.ndarray:
    return (V * _slope(X @ Z.T, **params)) @ Z


def _polynomial_own(X: np.ndarray, **params: Any) -> np.ndarray:
    return 2 * X * _slope((X * X).sum(axis=1), **params)[:, None]


def _rbf(X: np.ndarray, Z: np.ndarray, K: np.ndarray, V: np.ndarray, gamma: float) -> np.ndarray:
    W = -2 * gamma * V * K
    return W.sum(axis=1)[:, None] * X - W @ Z


def _cosine(X: np.ndarray, Z: np.ndarray, K: np.ndarray, V: np.ndarray) -> np.ndarray:
    here, there = inverse_root((X * X).sum(axis=1)), inverse_root((Z * Z).sum(axis=1))
    return (V * here[:, None] * there) @ Z - ((V * K).sum(axis=1) * here**2)[:, None] * X


def _laplacian(X: np.ndarray, Z: np.ndarray, K: np.ndarray, V: np.ndarray, gamma: float) -> np.ndarray:
    W = -gamma * V * K
    return np.array([w @ np.sign(x - Z) for x, w in zip(X, W, strict=True)]).reshape(X.shape)


def _chi2(X: np.ndarray, Z: np.ndarray, K: np.ndarray, V: np.ndarray, gamma: float) -> np.ndarray:
    W = -gamma * V * K
    return np.array([w @ _chi2_slope(x, Z) for x, w in zip(X, W, strict=True)]).reshape(X.shape)


def _chi2_slope(x: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """The derivative of (x − z)²/(x + z), which is 0 where both are."""
    total = x + Z
    return np.divide((x - Z) * (x + 3 * Z), total**2, out=np.zeros_like(Z), where=total > 0)


_GRADIENTS: Mapping[str, _Gradient] = {
    "linear": _Gradient(_linear, _linear_own),
    "polynomial": _Gradient(_polynomial, _polynomial_own),
    "rbf": _Gradient(_rbf),
    "cosine": _Gradient(_cosine),
    "laplacian": _Gradient(_laplacian),
    "chi2": _Gradient(_chi2),
}
_FUNCTIONS = {name: registry.get(name).function for name in _GRADIENTS}  # as built in; a name may be taken over


def has_gradient(kernel: str) -> bool:
    """Whether the derivatives of this kernel are known: not of categories, nor of a user's own."""
    return kernel in _GRADIENTS and registry.get(kernel).function is _FUNCTIONS[kernel]


def weighted_gradient(fitted: FittedKernel, X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Σ_j weights[…, i, j] ∂k(x_i, z_j)/∂x_i over the reference rows j, by all columns of X.

    Parameters
    ----------
    fitted : FittedKernel
        With a kernel that `has_gradient`.
    X : ndarray of shape (m, n_features)
    weights : ndarray of shape (classes, m, n_reference)
        Of the kernel values as they are normalised.

    Returns
    -------
    ndarray of shape (classes, m, n_features)
        0 for columns that the kernel does not see.
    """
    kernel, params, known = registry.get(fitted.spec.kernel), fitted.params, fitted.statistics
    rows = None if fitted.needs_all_rows else fitted.rows
    Z = select(fitted.X_ref if rows is None else fitted.X_ref[rows], fitted.columns)
    if issparse(Z):
        raise DataError("How a decision changes with columns is told for dense rows only; train on X.toarray().")
    own = select(X, fitted.columns)
    K = kernel.finished(kernel.base(own, Z, params), params)
    found = np.zeros((len(weights), *X.shape))
    seen = slice(None) if fitted.columns is None else list(fitted.columns)
    of = _GRADIENTS[fitted.spec.kernel]
    here = None if known.scale is None else inverse_root(kernel.self_similarity(own, params))
    for c, given in enumerate(weights):
        V = _before_normalisation(fitted, given, len(Z), here)
        gradient = of.inside(own, Z, K, V, **params)
        if here is not None and of.own is not None:
            # k(x, z) / √k(x, x): the second part of the quotient's derivative.
            gradient -= (0.5 * (V * K).sum(axis=1) * here**2)[:, None] * of.own(own, **params)
        found[c][:, seen] = gradient
    return found


def _before_normalisation(fitted: FittedKernel, weights: np.ndarray, n: int, here: np.ndarray | None) -> np.ndarray:
    """(m, n): the weights of the values before they were normalised."""
    known = fitted.statistics
    V = known.factor * weights
    if here is not None and known.scale is not None:
        return np.asarray(V * here[:, None] * known.scale)
    if not fitted.needs_all_rows:
        return V
    everywhere = np.zeros((len(V), n))
    everywhere[:, slice(None) if fitted.rows is None else fitted.rows] = V
    return everywhere - V.sum(axis=1)[:, None] / n
