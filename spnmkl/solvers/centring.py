"""The SVM with its box softened by a barrier: at fixed K and μ the centre α_μ, by primal-dual Newton steps.

That is the inner maximum of eq. 25. It is strictly concave whatever the rank of K, so that the centre is unique where
the SVM's own α is not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

from spnmkl.certificate import balanced, best_intercept
from spnmkl.circuit.program import Floats
from spnmkl.solvers.shifted import Dense, Low, ShiftedKernel

_BALANCED = 1e-9  # of Σ C: |yᵀα| at a centre
_SPREAD = 10.0  # at a centre, products of bounds and multipliers are within this factor of μ
_WARM_STEPS, _COLD_STEPS, _LADDER_STEPS = 25, 60, 80  # from a point inside, from scratch, for every μ of a ladder
_LADDER, _LADDER_TOL = 0.2, 1e-3  # by how much μ falls there; of μ: the decrement on the way
_SHORT, _MOST_SHORT = 0.05, 6  # a step of less than that of its length; so many in a row end the attempt
_STAY_INSIDE = 0.99  # of the way to the nearest bound
_IDLE, _MOST_IDLE = 0.3, 3  # full steps that leave so much of the decrement are idle; so many are the end
_AWAY = 2.0  # times μ: a mean product above it is still far from the centre
_VERY_SHORT = 0.1  # of its length: a step that short is corrected even without second-order terms
_WORTH_CORRECTING = 0.5  # of its length: a corrected step is taken if it reaches so far, away from the centre
_LEAST_TARGET, _MOST_TARGET = 0.1, 6.0  # times the common one: targets of single products
_LEAST_MARGIN = 1e-2  # below, a margin tells nothing about the distance to the bound
_MOST_ROOM, _LEAST_ROOM = 0.3, 1e-10  # of C: the distance to a bound that a start has
_NOTHING = 1e-300  # what must stay above zero is more


@dataclass
class Inside:
    """One class's point inside the box: α = a, C − α = u, the multipliers of its bounds, the intercept."""

    a: Floats
    u: Floats
    lo: Floats
    hi: Floats
    b: float


@dataclass
class Centre(Inside):
    """A centre, with what tells how it moves.

    Attributes
    ----------
    f : (n,) K(α∘y).
    inverse : (K + D)⁻¹ with D = lo/a + hi/u, until it was used.
    one, total : (K + D)⁻¹1, and the sum of that.
    """

    f: Floats
    inverse: Low | Dense | None
    one: Floats
    total: float


@njit(nogil=True, cache=True)
def _residual(y, a, u, lo, hi, b, f, mu, D, r):  # type: ignore[no-untyped-def]
    """Sets D = lo/a + hi/u and the right side r of eq. 28 at target μ; returns yᵀα and mean, most and least product."""
    n = len(y)
    balance = total = most = 0.0
    least = np.inf
    for i in range(n):
        low, high = lo[i] * a[i], hi[i] * u[i]
        D[i] = lo[i] / a[i] + hi[i] / u[i]
        r[i] = y[i] - f[i] - b + y[i] * (mu / a[i] - mu / u[i])
        balance += y[i] * a[i]
        total += low + high
        most = max(most, low, high)
        least = min(least, low, high)
    return balance, total / (2 * n), most, least


@njit(nogil=True, cache=True)
def _direction(y, a, u, lo, hi, x, one, balance, total, target_a, target_u, da, dlo, dhi):  # type: ignore[no-untyped-def]
    """Eq. 28: from x = (K + D)⁻¹ r the steps of α and the multipliers; returns that of b and the length to a bound."""
    n = len(y)
    db = (x.sum() + balance) / total
    longest = np.inf
    for i in range(n):
        d = (x[i] - one[i] * db) * y[i]
        da[i] = d
        dlo[i] = target_a[i] / a[i] - lo[i] - lo[i] / a[i] * d
        dhi[i] = target_u[i] / u[i] - hi[i] + hi[i] / u[i] * d
        if d < 0:
            longest = min(longest, -a[i] / d)
        elif d > 0:
            longest = min(longest, u[i] / d)
        if dlo[i] < 0:
            longest = min(longest, -lo[i] / dlo[i])
        if dhi[i] < 0:
            longest = min(longest, -hi[i] / dhi[i])
    return db, longest


@njit(nogil=True, cache=True)
def _corrected_targets(y, a, u, b, f, mu, mean, length, da, dlo, dhi, lo, hi, r, target_a, target_u, second):  # type: ignore[no-untyped-def]
    """Targets that a cut step can reach, less its second-order term; clipped, so that they always push inwards."""
    n = len(y)
    target = max(mean, mu)
    if second:
        ahead = 0.0
        for i in range(n):
            ahead += (lo[i] + length * dlo[i]) * (a[i] + length * da[i])
            ahead += (hi[i] + length * dhi[i]) * (u[i] - length * da[i])
        share = min(1.0, max(ahead / (2 * n) / mean, 0.0))
        target = mu if mean <= _AWAY * mu else max(mu, share * share * mean)
    for i in range(n):
        target_a[i] = target_u[i] = target
        if second:
            target_a[i] = min(max(target - dlo[i] * da[i], _LEAST_TARGET * target), _MOST_TARGET * target)
            target_u[i] = min(max(target + dhi[i] * da[i], _LEAST_TARGET * target), _MOST_TARGET * target)
        r[i] = y[i] - f[i] - b + y[i] * (target_a[i] / a[i] - target_u[i] / u[i])


@njit(nogil=True, cache=True)
def _advance(a, u, lo, hi, da, dlo, dhi, length):  # type: ignore[no-untyped-def]
    """Takes the step; returns the smallest of all, which must stay above zero."""
    least = np.inf
    for i in range(len(a)):
        a[i] += length * da[i]
        u[i] -= length * da[i]
        lo[i] += length * dlo[i]
        hi[i] += length * dhi[i]
        least = min(least, a[i], u[i], lo[i], hi[i])
    return least


@njit(nogil=True, cache=True)
def _decrement(y, da, r, db):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(y)):
        total += da[i] * y[i] * (r[i] - db)
    return total


@njit(nogil=True, cache=True)
def _longest(a, u, lo, hi, da, dlo, dhi):  # type: ignore[no-untyped-def]
    longest = np.inf
    for i in range(len(a)):
        if da[i] < 0:
            longest = min(longest, -a[i] / da[i])
        elif da[i] > 0:
            longest = min(longest, u[i] / da[i])
        if dlo[i] < 0:
            longest = min(longest, -lo[i] / dlo[i])
        if dhi[i] < 0:
            longest = min(longest, -hi[i] / dhi[i])
    return longest


def longest_inside(point: Inside, da: Floats, dlo: Floats, dhi: Floats) -> float:
    """The length of a step at which it meets a bound."""
    return float(_longest(point.a, point.u, point.lo, point.hi, da, dlo, dhi))


def cold(kernel: ShiftedKernel, y: Floats, C: Floats, mu: float) -> Inside:
    """The middle of the box, with multipliers of one level as large as the margins: centred, though not feasible."""
    positive = float(C[y > 0].sum())
    negative = float(C[y < 0].sum())
    light = min(positive, negative)
    a = 0.5 * C * np.where(y > 0, light / positive, light / negative)
    u = C - a
    margin = 1.0 - y * kernel.times(a * y)
    level = max(mu, float(np.abs(margin).max()) * float((a * u / C).mean()))
    return Inside(a, u, level / a, level / u, 0.0)


def around(kernel: ShiftedKernel, y: Floats, C: Floats, mu: float, alpha: Floats) -> Inside:
    """Inside the box around a given α: at a bound, the distance that μ asks for at its margin."""
    f = kernel.times(alpha * y)
    b = best_intercept(f, y, C)[0]
    margin = np.maximum(np.abs(1.0 - y * (f + b)), _LEAST_MARGIN)
    room = np.maximum(np.minimum(mu / margin, _MOST_ROOM * C), _LEAST_ROOM * C)
    a = np.clip(alpha, room, C - room)
    u = C - a
    return Inside(a, u, mu / a, mu / u, b)


def snapped(point: Inside, y: Floats, C: Floats) -> Floats:
    """α at 0 or C where its distance to the bound is small beside the multiplier; the others restore yᵀα = 0."""
    alpha = np.where(point.a < point.lo * C, 0.0, np.where(point.u < point.hi * C, C, point.a))
    imbalance = float(alpha @ y)
    room = np.where((alpha > 0) & (alpha < C), np.where(y * imbalance > 0, alpha, C - alpha), 0.0)
    total = float(room.sum())
    if total > abs(imbalance):
        return alpha - y * (imbalance / total) * room
    return balanced(point.a[None], y[None])[0]


def centred(kernel: ShiftedKernel, y: Floats, C: Floats, mu: float, start: Inside | None, tol: float) -> Centre:
    """The centre at μ from a point inside, or from scratch; where that fails, by way of ever smaller μ.

    Raises
    ------
    FloatingPointError
        Rounding keeps it from being found.
    """
    found = None if start is None else _centre(kernel, y, C, mu, start, tol, _WARM_STEPS)
    if found is None:
        start = cold(kernel, y, C, mu)
        found = _centre(kernel, y, C, mu, start, tol, _COLD_STEPS)
    if found is not None:
        return found
    point = cold(kernel, y, C, mu)
    level = max(mu, float((point.lo * point.a).mean() + (point.hi * point.u).mean()))
    point = Inside(point.a, point.u, level / point.a, level / point.u, 0.0)
    while True:
        enough = tol if level <= mu else max(tol, _LADDER_TOL * level)
        found = _centre(kernel, y, C, level, point, enough, _LADDER_STEPS)
        if found is None:
            raise FloatingPointError("no centre")
        if level <= mu:
            return found
        point, level = found, max(mu, _LADDER * level)


def _centre(
    kernel: ShiftedKernel, y: Floats, C: Floats, mu: float, start: Inside, tol: float, steps: int
) -> Centre | None:
    """Newton steps, with a second-order corrector where one is cut; None where it does not get there.

    tol : on the squared decrement.
    """
    n, allowed = len(y), _BALANCED * float(C.sum())
    a, u, lo, hi, b = start.a.copy(), start.u.copy(), start.lo.copy(), start.hi.copy(), start.b
    D, da, dlo, dhi, target_a, target_u = np.empty((6, n))
    B = np.ones((n, 2), order="F")
    short, idle, full, last = 0, 0, False, np.inf
    for step in range(steps + 1):
        kernel.pause()
        f = kernel.times(a * y)
        balance, mean, most, least = _residual(y, a, u, lo, hi, b, f, mu, D, B[:, 0])
        inverse = kernel.shifted(D)
        X = inverse(B)
        x, one = np.ascontiguousarray(X[:, 0]), np.ascontiguousarray(X[:, 1])
        total = float(one.sum())
        target_a[:] = target_u[:] = mu
        db, longest = _direction(y, a, u, lo, hi, x, one, balance, total, target_a, target_u, da, dlo, dhi)
        decrement = _decrement(y, da, B[:, 0], db)
        if not np.isfinite(decrement):
            return None
        central = abs(balance) <= allowed and most < _SPREAD * mu and least > mu / _SPREAD
        idle = idle + 1 if central and full and abs(decrement) > _IDLE * last else 0
        if central and (abs(decrement) <= tol or idle >= _MOST_IDLE):
            return Centre(a, u, lo, hi, b, f, inverse, one, total)
        if step == steps:
            return None
        last = abs(decrement)
        for second in (True, False):
            if longest >= 1.0 or (not second and longest >= _VERY_SHORT):
                break
            kept = db, longest, da.copy(), dlo.copy(), dhi.copy()
            _corrected_targets(
                y, a, u, b, f, mu, mean, min(longest, 1.0), da, dlo, dhi, lo, hi, B[:, 0], target_a, target_u, second
            )
            x = np.ascontiguousarray(inverse(B[:, :1])[:, 0])
            db, reached = _direction(y, a, u, lo, hi, x, one, balance, total, target_a, target_u, da, dlo, dhi)
            if reached > longest or (mean > _AWAY * mu and reached > _WORTH_CORRECTING):
                longest = reached
            else:
                db, longest, da, dlo, dhi = kept
        full = longest > 1.0
        length = 1.0 if full else min(1.0, _STAY_INSIDE * longest)
        short = short + 1 if length < _SHORT else 0
        if short >= _MOST_SHORT or _advance(a, u, lo, hi, da, dlo, dhi, length) <= _NOTHING:
            return None
        b += length * db
    return None
