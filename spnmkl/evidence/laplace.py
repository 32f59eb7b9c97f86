"""Laplace's approximation of a Gaussian process classifier's log evidence, and its derivative in the kernel.

Rasmussen and Williams (2006), algorithms 3.1 and 5.1, with the logistic link. Only B is ever factorised, whose
eigenvalues are at least 1: a kernel of any rank will do as it is, and nothing is added to its diagonal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, blas, lapack
from scipy.special import expit

from spnmkl.circuit.program import Floats

_MOST_STEPS, _MOST_HALVINGS = 100, 30
_SETTLED, _ROUNDING = 1e-9, 1e-13  # of 1 + |Ψ|: a gain after which f is exact (its error falls to its square); noise


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

    def one(c: int) -> tuple[float, _Slope]:
        mode = _mode(K, Y[c], often, start[c], pause or (lambda: None))
        return mode.value - float(np.log(np.diagonal(mode.L)).sum()), _slope(K, often, mode)

    if n_threads == 1 or len(Y) == 1:
        found = [one(c) for c in range(len(Y))]
    else:
        with ThreadPoolExecutor(n_threads) as pool:
            found = list(pool.map(one, range(len(Y))))
    slopes = [slope for _, slope in found]
    return Laplace(sum(value for value, _ in found), np.array([slope.a for slope in slopes]), _total(slopes))


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
        step = b - root * lapack.dpotrs(L, root * (K @ b), lower=1)[0] - a
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
    """The probabilities, the lower factor of B = I + W^½ K W^½ (above its diagonal is no number to use), and W^½."""
    p = expit(f)
    root = np.sqrt(often * p * expit(-f))  # 1 − p without cancellation
    B = root[:, None] * K
    B *= root
    B.flat[:: len(B) + 1] += 1.0
    L, failed = lapack.dpotrf(B.T, lower=1, clean=0, overwrite_a=1)  # of a symmetric B, in the order that LAPACK has
    if failed:
        raise LinAlgError("B is not positive definite: the kernel has an eigenvalue far below 0, or is not finite.")
    return p, L, root


def score_test(K: Floats, Y: Floats, a: Floats, candidates: Iterable[Floats], counts: Floats | None = None) -> Floats:
    """(candidates,) z of eq. 41: what each would add to the kernel K, in standard deviations under K alone.

    `a` is that of K's own modes, or near it. Classes count as if they were independent.
    """
    often = np.ones(len(K)) if counts is None else counts
    modes = [_mode(K, t, often, start, lambda: None) for t, start in zip(Y, a, strict=True)]
    slopes = [_slope(K, often, mode) for mode in modes]
    G, R = _total(slopes), [_mirrored(slope.R) for slope in slopes]
    return np.array([_standardised(G, R, candidate) for candidate in candidates])


def _standardised(G: Floats, R: Sequence[Floats], K: Floats) -> float:
    variance = 0.0
    for of_class in R:
        M = of_class @ K
        variance += float(np.einsum("ij,ji->", M, M)) / 2
    return float(np.vdot(G, K)) / np.sqrt(variance) if variance > 0 else 0.0


@dataclass(frozen=True)
class _Slope:
    """Of one class, what G of eq. 35 is made of: ½ (aaᵀ − R + vaᵀ + avᵀ); of R the lower half is filled."""

    a: Floats
    v: Floats
    R: Floats


def _slope(K: Floats, often: Floats, mode: _Mode) -> _Slope:
    """The posterior variance of f_i times W_i is 1 − (B⁻¹)_ii, so that it is never divided by W_i."""
    p = mode.p
    root = np.sqrt(often * p * (1 - p))
    R, _ = lapack.dpotri(mode.L, lower=1)
    s = (np.diagonal(R) - 1) * (1 - 2 * p) / 2
    R *= root
    R *= root[:, None]
    return _Slope(mode.a, s - blas.dsymv(1.0, R, K @ s, lower=1), R)


def _total(slopes: Sequence[_Slope]) -> Floats:
    """G of eq. 35, summed over the classes; halves are mirrored once."""
    R = slopes[0].R.copy()
    for slope in slopes[1:]:
        R += slope.R
    A = np.array([slope.a for slope in slopes])
    half = A.T @ np.array([slope.v + slope.a / 2 for slope in slopes])
    return (half + half.T - _mirrored(R)) / 2


def _mirrored(lower: Floats) -> Floats:
    half = np.tril(lower, -1)
    return half + half.T + np.diag(np.diagonal(lower))
