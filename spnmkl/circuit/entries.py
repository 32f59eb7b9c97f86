"""The circuit on blocks of kernel rows, compiled.

Rows are cut into segments of at most `SEGMENT` entries. For one segment all operations are evaluated in a scratch
buffer that stays in cache; kernel rows are read where they lie.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

SEGMENT = 512
ITEM = 8  # bytes


@intrinsic
def _pointer(typing_context: Any, address: Any = None) -> Any:
    """An address as a pointer to float64: numba cannot take a list of arrays without recompiling for its length."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.int64), generate


@njit(nogil=True, cache=True)
def address(tile):  # type: ignore[no-untyped-def]
    """Where its first entry lies; a tenth of the time of `tile.ctypes.data`."""
    return tile.ctypes.data


@njit(nogil=True, cache=True, inline="never")
def _values(operation_start, term_start, arguments, n_leaves, W, slots, scratch, size):  # type: ignore[no-untyped-def]
    """Fill every operation's row of the scratch; `slots` holds the address of each slot's segment."""
    for k in range(len(operation_start) - 1):
        out = carray(_pointer(slots[n_leaves + k]), (size,))
        out[:] = 0.0
        t, stop = operation_start[k], operation_start[k + 1]
        while t < stop:
            a = term_start[t]
            n_arguments = term_start[t + 1] - a
            if n_arguments == 1 and t + 3 < stop and term_start[t + 4] - a == 4:
                # Four plain kernels at once: a quarter of the traffic on `out`.
                w0, w1, w2, w3 = W[t], W[t + 1], W[t + 2], W[t + 3]
                x0 = carray(_pointer(slots[arguments[a]]), (size,))
                x1 = carray(_pointer(slots[arguments[a + 1]]), (size,))
                x2 = carray(_pointer(slots[arguments[a + 2]]), (size,))
                x3 = carray(_pointer(slots[arguments[a + 3]]), (size,))
                for j in range(size):
                    out[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j]
                t += 4
                continue
            w = W[t]
            x0 = carray(_pointer(slots[arguments[a]]), (size,))
            if w == 0.0:
                pass
            elif n_arguments == 1:
                for j in range(size):
                    out[j] += w * x0[j]
            elif n_arguments == 2:
                x1 = carray(_pointer(slots[arguments[a + 1]]), (size,))
                for j in range(size):
                    out[j] += w * x0[j] * x1[j]
            else:
                product = scratch[0]
                for j in range(size):
                    product[j] = w * x0[j]
                for b in range(a + 1, a + n_arguments):
                    x1 = carray(_pointer(slots[arguments[b]]), (size,))
                    for j in range(size):
                        product[j] *= x1[j]
                for j in range(size):
                    out[j] += product[j]
            t += 1


@njit(nogil=True, cache=True, inline="never")
def _slot_addresses(slots, tiles, strides, row, column, scratch, spare):  # type: ignore[no-untyped-def]
    """Kernel slots point into the kernel rows, operation slots into the scratch behind its spare rows."""
    n_leaves = len(tiles)
    for leaf in range(n_leaves):
        slots[leaf] = tiles[leaf] + (row * strides[leaf] + column) * ITEM
    base = scratch.ctypes.data
    for k in range(len(slots) - n_leaves):
        slots[n_leaves + k] = base + (spare + k) * scratch.shape[1] * ITEM


@njit(nogil=True, cache=True)
def fill_rows(operation_start, term_start, arguments, W, tiles, strides, first, n_rows, K):  # type: ignore[no-untyped-def]
    """Rows first … first+n_rows of K from the diagonal on, and mirrored; the tiles start at (first, first)."""
    n, n_leaves, n_operations = K.shape[1], len(tiles), len(operation_start) - 1
    scratch = np.empty((1 + n_operations, SEGMENT))
    slots = np.empty(n_leaves + n_operations, dtype=np.int64)
    for row in range(first, first + n_rows):
        column = row
        while column < n:
            size = min(SEGMENT, n - column)
            _slot_addresses(slots, tiles, strides, row - first, column - first, scratch, 1)
            slots[-1] = K.ctypes.data + (row * n + column) * ITEM
            _values(operation_start, term_start, arguments, n_leaves, W, slots, scratch, size)
            column += size
    _mirror(K, first, first + n_rows)


@njit(nogil=True, cache=True)
def _mirror(K, first, last):  # type: ignore[no-untyped-def]
    """Copy rows first … last, from the diagonal on, to the columns first … last, in blocks that stay in cache."""
    n, block = len(K), 32
    for i0 in range(first, last, block):
        for j0 in range(i0, n, block):
            for j in range(j0, min(j0 + block, n)):
                for i in range(i0, min(i0 + block, last, j)):
                    K[j, i] = K[i, j]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _dot(x, y, size):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(size):
        total += x[j] * y[j]
    return total


@njit(nogil=True, cache=True, inline="never")
def _adjoints(term_start, arguments, n_leaves, W, slots, outer, adjoint, scratch, size, t):  # type: ignore[no-untyped-def]
    """∂K/∂W_t into scratch[0], from `outer` = ∂K/∂(its operation); adds to ∂K/∂slot of operations it multiplies."""
    derivative = scratch[0]
    start, stop = term_start[t], term_start[t + 1]
    for j in range(size):
        derivative[j] = outer[j]
    # scratch[0] runs over the prefix products; suffixes are multiplied anew: terms have few arguments.
    for a in range(start, stop):
        x = carray(_pointer(slots[arguments[a]]), (size,))
        if arguments[a] >= n_leaves and W[t] != 0.0:
            others = scratch[1]
            for j in range(size):
                others[j] = W[t] * derivative[j]
            for b in range(a + 1, stop):
                z = carray(_pointer(slots[arguments[b]]), (size,))
                for j in range(size):
                    others[j] *= z[j]
            target = adjoint[arguments[a] - n_leaves]
            for j in range(size):
                target[j] += others[j]
        for j in range(size):
            derivative[j] *= x[j]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _respond_to_kernels(leaves, terms, tiles, strides, first, rows, A, R, q):  # type: ignore[no-untyped-def]
    """As `respond_rows` for terms ∂K/∂W_t = kernel: four rows at a time, so that memory delivers four streams."""
    n_classes, n = A.shape
    only_q = R.size == 0
    for b in range(0, len(rows), 4):
        found = min(4, len(rows) - b)
        i0, i1 = rows[b], rows[b + min(1, found - 1)]
        i2, i3 = rows[b + min(2, found - 1)], rows[b + found - 1]  # what is missing of four is the last, weighed by 0
        for k in range(len(leaves)):
            t, stride = terms[k], strides[leaves[k]]
            origin = tiles[leaves[k]] - first * (stride + 1) * ITEM  # where entry (0, 0) would be
            x0 = carray(_pointer(origin + i0 * stride * ITEM), (n,))
            x1 = carray(_pointer(origin + i1 * stride * ITEM), (n,))
            x2 = carray(_pointer(origin + i2 * stride * ITEM), (n,))
            x3 = carray(_pointer(origin + i3 * stride * ITEM), (n,))
            for c in range(n_classes):
                a = A[c]
                for row in rows[b : b + found]:  # up to the column from which all four go together
                    x = carray(_pointer(origin + row * stride * ITEM), (n,))
                    dot, w = 0.0, a[row]
                    for j in range(row + 1, i3 + 1):
                        dot += x[j] * a[j]
                    if only_q:
                        q[t] += w * (w * x[row] + 2.0 * dot)
                    else:
                        r = R[t, c]
                        r[row] += w * x[row] + dot
                        for j in range(row + 1, i3 + 1):
                            r[j] += w * x[j]
                w0, w1 = a[i0], a[i1] if found > 1 else 0.0
                w2, w3 = a[i2] if found > 2 else 0.0, a[i3] if found > 3 else 0.0
                d0, d1, d2, d3 = 0.0, 0.0, 0.0, 0.0
                if only_q:
                    for j in range(i3 + 1, n):
                        d0 += x0[j] * a[j]
                        d1 += x1[j] * a[j]
                        d2 += x2[j] * a[j]
                        d3 += x3[j] * a[j]
                    q[t] += 2.0 * (w0 * d0 + w1 * d1 + w2 * d2 + w3 * d3)
                else:
                    r = R[t, c]
                    for j in range(i3 + 1, n):
                        d0 += x0[j] * a[j]
                        d1 += x1[j] * a[j]
                        d2 += x2[j] * a[j]
                        d3 += x3[j] * a[j]
                        r[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j]
                    r[i0] += d0
                    if found > 1:
                        r[i1] += d1
                    if found > 2:
                        r[i2] += d2
                    if found > 3:
                        r[i3] += d3


@njit(nogil=True, cache=True)
def respond_rows(operation_start, term_start, arguments, W, tiles, strides, first, n_rows, A, R, q):  # type: ignore[no-untyped-def]
    """Add rows first … first+n_rows, from the diagonal on and mirrored, to R[t, c, i] = Σ_j (∂K_ij/∂W_t) A[c, j].

    An empty R is left alone: then only q[t] = Σ_c Σ_i A[c, i] R[t, c, i] is added to.
    """
    only_q = R.size == 0
    n_classes, n = A.shape
    n_leaves, n_operations = len(tiles), len(operation_start) - 1
    rows = _weighed_rows(A, first, n_rows)
    streamed = n_classes == 1 or not only_q  # for q alone, classes are better summed before kernels are read
    if streamed:
        kernels = _kernel_terms(operation_start, term_start, arguments, n_leaves)
        _respond_to_kernels(arguments[term_start[kernels]], kernels, tiles, strides, first, rows, A, R, q)
        if len(kernels) == len(term_start) - 1:
            return
    scratch = np.empty((2 + n_operations, SEGMENT))
    adjoint = np.empty((n_operations, SEGMENT))
    slots = np.empty(n_leaves + n_operations, dtype=np.int64)
    derivative, pairs, outer_pairs = scratch[0], np.empty(SEGMENT), np.empty(SEGMENT)
    for row in rows:
        column = row
        while column < n:
            size = min(SEGMENT, n - column)
            _slot_addresses(slots, tiles, strides, row - first, column - first, scratch, 2)
            if n_operations > 1:
                _values(operation_start[:-1], term_start, arguments, n_leaves, W, slots, scratch, size)
            adjoint[:-1, :size] = 0.0
            adjoint[-1, :size] = 1.0
            if only_q:
                _weigh_pairs(A, row, column, size, pairs)
            for k in range(n_operations - 1, -1, -1):
                outer, weighed = adjoint[k], False
                for t in range(operation_start[k], operation_start[k + 1]):
                    if not _is_kernel(term_start, arguments, n_leaves, t):
                        _adjoints(term_start, arguments, n_leaves, W, slots, outer, adjoint, scratch, size, t)
                        if only_q:
                            q[t] += _dot(derivative, pairs, size)
                    elif streamed and k == n_operations - 1:
                        continue
                    else:
                        x = carray(_pointer(slots[arguments[term_start[t]]]), (size,))
                        if only_q:
                            if not weighed:  # once for all kernels of the operation
                                _multiply(pairs, outer, size, outer_pairs)
                                weighed = True
                            q[t] += _dot(x, outer_pairs, size)
                        else:
                            _multiply(x, outer, size, derivative)
                    if not only_q:
                        for c in range(n_classes):
                            _respond(derivative, A[c], row, column, size, R[t, c])
            column += size


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _respond(derivative, a, row, column, size, r):  # type: ignore[no-untyped-def]
    """Add the entries of a row from a column on, and mirrored, to the responses to a; the diagonal one counts once."""
    w, aside, out = a[row], a[column:], r[column:]
    r[row] += _dot(derivative, aside, size)
    if w != 0.0:
        for j in range(1 if column == row else 0, size):
            out[j] += w * derivative[j]


@njit(nogil=True, cache=True)
def _weigh_pairs(A, row, column, size, pairs):  # type: ignore[no-untyped-def]
    """Σ_c A[c, i] A[c, j] for the entry (i, j), twice for its mirrored one."""
    pairs[:size] = 0.0
    for c in range(len(A)):
        w, a = 2.0 * A[c, row], A[c, column:]
        if w != 0.0:
            for j in range(size):
                pairs[j] += w * a[j]
    if column == row:
        pairs[0] *= 0.5


@njit(nogil=True, cache=True)
def _multiply(x, y, size, out):  # type: ignore[no-untyped-def]
    for j in range(size):
        out[j] = x[j] * y[j]


@njit(nogil=True, cache=True)
def _weighed_rows(A, first, n_rows):  # type: ignore[no-untyped-def]
    """Those of rows first … first+n_rows to which A gives a weight."""
    rows, found = np.empty(n_rows, np.int64), 0
    for row in range(first, first + n_rows):
        for c in range(len(A)):
            if A[c, row] != 0.0:
                rows[found] = row
                found += 1
                break
    return rows[:found]


@njit(nogil=True, cache=True)
def _kernel_terms(operation_start, term_start, arguments, n_leaves):  # type: ignore[no-untyped-def]
    """Terms of the root that are weighted kernels."""
    terms, found = np.empty(operation_start[-1] - operation_start[-2], np.int64), 0
    for t in range(operation_start[-2], operation_start[-1]):
        if _is_kernel(term_start, arguments, n_leaves, t):
            terms[found] = t
            found += 1
    return terms[:found]


@njit(nogil=True, cache=True)
def _is_kernel(term_start, arguments, n_leaves, t):  # type: ignore[no-untyped-def]
    """Whether a term is a weighted kernel."""
    return term_start[t + 1] == term_start[t] + 1 and arguments[term_start[t]] < n_leaves


@njit(nogil=True, cache=True)
def apply_rows(operation_start, term_start, arguments, W, tiles, strides, n_columns, A, out):  # type: ignore[no-untyped-def]
    """out[i, c] += Σ_j K_ij A[c, j] on a rectangular tile."""
    n_leaves, n_operations = len(tiles), len(operation_start) - 1
    scratch = np.empty((1 + n_operations, SEGMENT))
    slots = np.empty(n_leaves + n_operations, dtype=np.int64)
    for row in range(len(out)):
        for column in range(0, n_columns, SEGMENT):
            size = min(SEGMENT, n_columns - column)
            _slot_addresses(slots, tiles, strides, row, column, scratch, 1)
            _values(operation_start, term_start, arguments, n_leaves, W, slots, scratch, size)
            for c in range(len(A)):
                out[row, c] += _dot(scratch[n_operations], A[c, column:], size)
