"""Loops over kernel values, compiled, in the precision of the samples that they are given.

exp is our own, because numpy's is fast on some processors only: x = k ln 2 + r with |r| ≤ ln 2 / 2, and exp(x) is 2ᵏ
times the Taylor polynomial of exp(r), which leaves out 5·10⁻⁹ of it in single and 5·10⁻¹⁸ in double precision. With
its rounding that is less than two units in the last place (a test compares). What underflows is 0.
"""

from __future__ import annotations

from decimal import Decimal
from math import factorial, log
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic, overload

_SEGMENT = 1024  # entries of a row at a time, which stay in cache
_LN2 = Decimal("0.693147180559945309417232121458")
# By type: that of its bits; digits after the first; what is added to its exponent; binary digits of ln 2 that leave
# room for those of k; the degree of the polynomial.
_FORMS: dict[Any, Any] = {
    types.float32: (np.float32, np.int32, 23, 127, 10, 7),
    types.float64: (np.float64, np.int64, 52, 1023, 32, 13),
}


@intrinsic
def _bits(typing_context: Any, value: Any = None) -> Any:
    """The bits of a float as an integer of its size, or the other way round."""
    integers: dict[Any, Any] = {types.float32: types.int32, types.float64: types.int64}
    other = (integers | {whole: number for number, whole in integers.items()})[value]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], context.get_value_type(signature.return_type))

    return other(value), generate


def exponential(x: float) -> float:
    """exp(x) for x ≤ 0, within compiled loops."""
    raise NotImplementedError


@overload(exponential, jit_options={"fastmath": {"contract"}})
def _exponential(x):  # type: ignore[no-untyped-def]
    number, whole, digits, bias, exact, degree = _FORMS[x]
    log2_e, least = number(1 / log(2)), number(-bias * log(2))
    high = number(round(log(2) * 2**exact) / 2**exact)  # k times it is exact
    low = number(_LN2 - Decimal(float(high)))
    rounding = number(1.5 * 2**digits)  # a sum with it is rounded to a whole number, which are its last bits
    shift, width = np.array(rounding).view(whole)[()] - whole(bias), whole(digits)
    leading, *others = (number(1 / factorial(k)) for k in range(degree, -1, -1))
    coefficients = tuple(others)

    def value(x):  # type: ignore[no-untyped-def]
        x = max(x, least)  # where 2ᵏ is 0
        sum = x * log2_e + rounding
        k = sum - rounding
        r = (x - k * high) - k * low
        p = leading
        for coefficient in coefficients:
            p = p * r + coefficient
        return p * _bits(whole((_bits(sum) - shift) << width))

    return value


@njit(nogil=True, cache=True, fastmath={"contract"})
def decay(base, gamma, out):  # type: ignore[no-untyped-def]
    """out = exp(−γ base); it may be the base itself, so that loops go through memory of their own."""
    n_rows, n = base.shape
    memory = np.empty(_SEGMENT, base.dtype)
    for i in range(n_rows):
        for first in range(0, n, _SEGMENT):
            x, o = base[i, first : first + _SEGMENT], out[i, first : first + _SEGMENT]
            part = memory[: len(x)]
            for j in range(len(x)):
                part[j] = -gamma * x[j]
            for j in range(len(x)):
                o[j] = exponential(part[j])


@njit(nogil=True, cache=True, fastmath={"contract"})
def power(base, degree, gamma, coef0, out):  # type: ignore[no-untyped-def]
    """out = (γ base + coef0)^degree, by squares; it may be the base itself."""
    n_rows, n = base.shape
    squares, products = np.empty(_SEGMENT, base.dtype), np.empty(_SEGMENT, base.dtype)
    for i in range(n_rows):
        for first in range(0, n, _SEGMENT):
            x, o = base[i, first : first + _SEGMENT], out[i, first : first + _SEGMENT]
            square, product = squares[: len(x)], products[: len(x)]
            for j in range(len(x)):
                square[j] = gamma * x[j] + coef0
            product[:] = 1
            left = degree
            while left > 1:
                if left % 2:
                    product *= square
                square *= square
                left //= 2
            for j in range(len(x)):
                o[j] = product[j] * square[j]


@njit(nogil=True, cache=True)
def scale(values, rows, columns):  # type: ignore[no-untyped-def]
    """values_ij ∘= rows_i columns_j, equal to the last bit at (i, j) and (j, i)."""
    for i in range(len(rows)):
        own, row = values[i], rows[i]
        for j in range(len(columns)):
            own[j] *= row * columns[j]


@njit(nogil=True, cache=True, fastmath={"contract"})
def squared_differences(X, Zt, out):  # type: ignore[no-untyped-def]
    """out_ij = Σ_k (x_ik − z_jk)²; Zt holds the z as columns."""
    for first in range(0, Zt.shape[1], _SEGMENT):
        last = min(first + _SEGMENT, Zt.shape[1])
        for i in range(len(X)):
            o = out[i, first:last]
            o[:] = 0
            for k in range(len(Zt)):
                x, z = X[i, k], Zt[k, first:last]
                for j in range(len(o)):
                    o[j] += (x - z[j]) * (x - z[j])


@njit(nogil=True, cache=True)
def absolute_differences(X, Zt, out):  # type: ignore[no-untyped-def]
    """out_ij = Σ_k |x_ik − z_jk|."""
    for first in range(0, Zt.shape[1], _SEGMENT):
        last = min(first + _SEGMENT, Zt.shape[1])
        for i in range(len(X)):
            o = out[i, first:last]
            o[:] = 0
            for k in range(len(Zt)):
                x, z = X[i, k], Zt[k, first:last]
                for j in range(len(o)):
                    o[j] += abs(x - z[j])


@njit(nogil=True, cache=True, fastmath={"contract"})
def chi2_differences(X, Zt, out):  # type: ignore[no-untyped-def]
    """out_ij = Σ_k (x_ik − z_jk)² / (x_ik + z_jk) of numbers that are not negative; 0/0 is 0."""
    tiny = np.finfo(X.dtype).tiny
    for first in range(0, Zt.shape[1], _SEGMENT):
        last = min(first + _SEGMENT, Zt.shape[1])
        for i in range(len(X)):
            o = out[i, first:last]
            o[:] = 0
            for k in range(len(Zt)):
                x, z = X[i, k], Zt[k, first:last]
                for j in range(len(o)):
                    o[j] += (x - z[j]) * (x - z[j]) / max(x + z[j], tiny)
