"""Laplace's approximation of a Gaussian process classifier's log evidence, and its derivative in the kernel.

Rasmussen and Williams (2006), algorithms 3.1 and 5.1, with the logistic link. Only B is ever factorised, whose
eigenvalues are at least 1: a kernel of any rank will do as it is, and nothing is added to its diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack
from scipy.special import expit

from spnmkl.circuit.program import Floats

_MOST_STEPS, _MOST_HALVINGS = 100, 30
_SETTLED, _ROUNDING = 1e-12, 1e-13  # of 1 + |Ψ|: a gain after which f is exact (its error falls to its square); noise


@dataclass(frozen=True)
class Laplace:
    """Of one kernel and the labels of every class.

    Attributes
    ----------
    log_evidence : float
        Summed over the classes, eq. 33.
    a : (classes, n) K⁻¹f at the mode of every class, which is the slope of its log likelihood there.
    G : (n, n) ∂ log Z/∂K, eq. 35; symmetric.
    """

    log_evidence: float
    a: Floats
    G: Floats


@dataclass(frozen=True)
class _Mode:
    """Of one class: f = Ka, the probabilities there, the lower factor of B, and Ψ = log p(t|f) − ½ aᵀf."""

    a: Floats
    p: Floats
    L: Floats
    value: float


def laplace(
    K: Floats,
    Y: Floats,
    start: Floats,
    counts: Floats | None = None,
    n_threads: int = 1,
    pause: Callable[[], None] | None = None,
) -> Laplace:
    """For labels Y of ±1, (classes, n); the modes are sought from `start`, the a of a kernel nearby.

    `counts` are how often rows count; `pause` is called now and then and may raise to stop.
    """
    often = np.ones(len(K)) if counts is None else counts

    def one(c: int) -> tuple[float, Floats, Floats]:
        mode = _mode(K, Y[c], often, start[c], pause or (lambda: None))
        return mode.value - float(np.log(np.diagonal(mode.L)).sum()), mode.a, _slope(K, often, mode)

    if n_threads == 1 or len(Y) == 1:
        found = [one(c) for c in range(len(Y))]
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            found = list(pool.map(one, range(len(Y))))
    G = found[0][2]
    for _, _, other in found[1:]:
        G += other
    return Laplace(sum(value for value, _, _ in found), np.array([a for _, a, _ in found]), G)


def _mode(K: Floats, t: Floats, often: Floats, a: Floats, pause: Callable[[], None]) -> _Mode:
    """Newton's method on Ψ, which is concave, with steps that never lower it (eq. 34)."""
    f = K @ a
    if _psi(a, f, t, often) < _psi(0 * a, 0 * f, t, often):  # a start from another kernel may be worse than none
        a, f = 0 * a, 0 * f
    value = _psi(a, f, t, often)
    for _ in range(_MOST_STEPS):
        pause()
        p, L, root = _factor(K, f, often)
        b = root**2 * f + often * ((t + 1) / 2 - p)
        step = b - root * cho_solve((L, True), root * (K @ b), check_finite=False) - a
        along, gain = K @ step, 0.0
        for halving in range(_MOST_HALVINGS):
            size = 0.5**halving
            gain = _psi(a + size * step, f + size * along, t, often) - value
            if gain >= -_ROUNDING * (1 + abs(value)):
                break
        else:
            break  # rounding: there is nothing to gain
        a, f, value = a + size * step, f + size * along, value + gain
        if gain <= _SETTLED * (1 + abs(value)):
            break
    p, L, _ = _factor(K, f, often)
    return _Mode(a, p, L, value)


def _psi(a: Floats, f: Floats, t: Floats, often: Floats) -> float:
    return -float(often @ np.logaddexp(0, -t * f)) - float(a @ f) / 2


def _factor(K: Floats, f: Floats, often: Floats) -> tuple[Floats, Floats, Floats]:
    """The probabilities, the lower factor of B = I + W^½ K W^½, and W^½."""
    p = expit(f)
    root = np.sqrt(often * p * expit(-f))  # 1 − p without cancellation
    B = root[:, None] * K * root
    B[np.diag_indices_from(B)] += 1.0
    return p, cholesky(B, lower=True, overwrite_a=True, check_finite=False), root


def score_test(K: Floats, Y: Floats, a: Floats, candidates: Iterable[Floats], counts: Floats | None = None) -> Floats:
    """(candidates,) z of eq. 41: what each would add to the kernel K, in standard deviations under K alone.

    `a` is that of K's own modes, or near it. Classes count as if they were independent.
    """
    often = np.ones(len(K)) if counts is None else counts
    modes = [_mode(K, t, often, start, lambda: None) for t, start in zip(Y, a, strict=True)]
    G = np.sum([_slope(K, often, mode) for mode in modes], axis=0)
    R = [_spread(often, mode)[0] for mode in modes]
    return np.array([_standardised(G, R, candidate) for candidate in candidates])


def _standardised(G: Floats, R: Sequence[Floats], K: Floats) -> float:
    variance = 0.0
    for of_class in R:
        M = of_class @ K
        variance += float(np.einsum("ij,ji->", M, M)) / 2
    return float(np.vdot(G, K)) / np.sqrt(variance) if variance > 0 else 0.0


def _slope(K: Floats, often: Floats, mode: _Mode) -> Floats:
    """G of eq. 35. The posterior variance of f_i times W_i is 1 − (B⁻¹)_ii, so that it is never divided by W_i."""
    p, a = mode.p, mode.a
    R, diagonal = _spread(often, mode)
    s = (diagonal - 1) * (1 - 2 * p) / 2
    v = s - R @ (K @ s)
    half = np.outer(v, a)
    return (np.outer(a, a) - R + half + half.T) / 2


def _spread(often: Floats, mode: _Mode) -> tuple[Floats, Floats]:
    """R = W^½ B⁻¹ W^½ of eq. 35, and the diagonal of B⁻¹."""
    root = np.sqrt(often * mode.p * (1 - mode.p))
    inverse, _ = lapack.dpotri(mode.L, lower=1)
    inverse = np.tril(inverse)
    diagonal = np.diagonal(inverse).copy()
    inverse += np.tril(inverse, -1).T
    return root[:, None] * inverse * root, diagonal
