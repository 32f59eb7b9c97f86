"""Vectors by their addresses, compiled: what the loops over kernel rows are made of.

Numba cannot take a list of arrays without compiling anew for its length, and compiles loops over a few addresses in a
third of the time that it takes for views of arrays. What they point to is therefore always an argument of the
outermost function: numba frees its own arrays after the last line that names them. (Its cache looks at the file of a
function only: whoever changes this one touches `entries.py` too.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

ITEM = 8  # bytes


@intrinsic
def pointer(typing_context: Any, address: Any = None) -> Any:
    """An address as a pointer to float64."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.int64), generate


@njit(nogil=True, cache=True)
def address(array):  # type: ignore[no-untyped-def]
    """Where its first entry lies; a tenth of the time of `array.ctypes.data` in Python.

    Numba's own is unsigned, and unsigned with signed integers makes floats.
    """
    return np.int64(array.ctypes.data)


@njit(nogil=True, cache=True)
def fill(value, out, size):  # type: ignore[no-untyped-def]
    o = carray(pointer(out), (size,))
    for j in range(size):
        o[j] = value


@njit(nogil=True, cache=True)
def multiply(w, x, y, out, size):  # type: ignore[no-untyped-def]
    """out = w x∘y."""
    u, v, o = carray(pointer(x), (size,)), carray(pointer(y), (size,)), carray(pointer(out), (size,))
    for j in range(size):
        o[j] = w * u[j] * v[j]


@njit(nogil=True, cache=True)
def multiply_by(x, out, size):  # type: ignore[no-untyped-def]
    """out ∘= x, which `multiply` would do number by number, since it finds that its vectors overlap."""
    u, o = carray(pointer(x), (size,)), carray(pointer(out), (size,))
    for j in range(size):
        o[j] *= u[j]


@njit(nogil=True, cache=True)
def add(w, x, out, size):  # type: ignore[no-untyped-def]
    """out += w x."""
    u, o = carray(pointer(x), (size,)), carray(pointer(out), (size,))
    for j in range(size):
        o[j] += w * u[j]


@njit(nogil=True, cache=True)
def add_product(w, x, y, out, size):  # type: ignore[no-untyped-def]
    """out += w x∘y."""
    u, v, o = carray(pointer(x), (size,)), carray(pointer(y), (size,)), carray(pointer(out), (size,))
    for j in range(size):
        o[j] += w * u[j] * v[j]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def dot(x, y, size):  # type: ignore[no-untyped-def]
    u, v = carray(pointer(x), (size,)), carray(pointer(y), (size,))
    total = 0.0
    for j in range(size):
        total += u[j] * v[j]
    return total


@njit(nogil=True, cache=True)
def add_four(w0, w1, w2, w3, x0, x1, x2, x3, out, size):  # type: ignore[no-untyped-def]
    """out += Σ w x: a quarter of the traffic on `out`."""
    u0, u1 = carray(pointer(x0), (size,)), carray(pointer(x1), (size,))
    u2, u3 = carray(pointer(x2), (size,)), carray(pointer(x3), (size,))
    o = carray(pointer(out), (size,))
    for j in range(size):
        o[j] += w0 * u0[j] + w1 * u1[j] + w2 * u2[j] + w3 * u3[j]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def dot_four(x0, x1, x2, x3, y, size):  # type: ignore[no-untyped-def]
    u0, u1 = carray(pointer(x0), (size,)), carray(pointer(x1), (size,))
    u2, u3 = carray(pointer(x2), (size,)), carray(pointer(x3), (size,))
    v = carray(pointer(y), (size,))
    d0 = d1 = d2 = d3 = 0.0
    for j in range(size):
        d0 += u0[j] * v[j]
        d1 += u1[j] * v[j]
        d2 += u2[j] * v[j]
        d3 += u3[j] * v[j]
    return d0, d1, d2, d3


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def dot_and_add_four(x0, x1, x2, x3, y, w0, w1, w2, w3, out, size):  # type: ignore[no-untyped-def]
    """The products of y with every x, and out += Σ w x, in one go."""
    u0, u1 = carray(pointer(x0), (size,)), carray(pointer(x1), (size,))
    u2, u3 = carray(pointer(x2), (size,)), carray(pointer(x3), (size,))
    v, o = carray(pointer(y), (size,)), carray(pointer(out), (size,))
    d0 = d1 = d2 = d3 = 0.0
    for j in range(size):
        d0 += u0[j] * v[j]
        d1 += u1[j] * v[j]
        d2 += u2[j] * v[j]
        d3 += u3[j] * v[j]
        o[j] += w0 * u0[j] + w1 * u1[j] + w2 * u2[j] + w3 * u3[j]
    return d0, d1, d2, d3
