"""The circuit on blocks of kernel rows, compiled.

Rows are cut into segments of at most `SEGMENT` entries. For one segment all operations are evaluated in a scratch
buffer that stays in cache; kernel rows are read where they lie. Vectors are passed on by their addresses (`vectors`).
"""

from __future__ import annotations

import numpy as np
from numba import carray, njit

from spnmkl.circuit.vectors import (
    ITEM,
    add,
    add_four,
    add_product,
    address,
    dot,
    dot_and_add_four,
    dot_four,
    fill,
    multiply,
    multiply_by,
    pointer,
)

SEGMENT = 512  # entries of a row at a time: 4 KB for every operation


def scratch_size(n_operations: int) -> int:
    """Numbers that the functions below need room for: operations, their adjoints, and four more segments."""
    return (4 + 2 * n_operations) * SEGMENT


@njit(nogil=True, cache=True)
def _add_multiple_product(w, x, slots, arguments, a, stop, spare, out, size):  # type: ignore[no-untyped-def]
    """out += w x∘Π of the arguments a … stop−1."""
    if a == stop:
        add(w, x, out, size)
    elif a == stop - 1:
        add_product(w, x, slots[arguments[a]], out, size)
    else:
        multiply(w, x, slots[arguments[a]], spare, size)
        for b in range(a + 1, stop - 1):
            multiply_by(slots[arguments[b]], spare, size)
        add_product(1.0, spare, slots[arguments[stop - 1]], out, size)


@njit(nogil=True, cache=True)
def _values(operation_start, n_operations, term_start, arguments, W, slots, spare, size):  # type: ignore[no-untyped-def]
    """Evaluate the first operations (eq. 6), each into its slot; `slots` holds the address of each slot's segment."""
    n_leaves = len(slots) - len(operation_start) + 1
    for k in range(n_operations):
        out = slots[n_leaves + k]
        fill(0.0, out, size)
        t, stop = operation_start[k], operation_start[k + 1]
        while t < stop:
            a, end = term_start[t], term_start[t + 1]
            if end == a + 1 and t + 3 < stop and term_start[t + 4] == a + 4:
                x0, x1 = slots[arguments[a]], slots[arguments[a + 1]]
                x2, x3 = slots[arguments[a + 2]], slots[arguments[a + 3]]
                add_four(W[t], W[t + 1], W[t + 2], W[t + 3], x0, x1, x2, x3, out, size)
                t += 4
                continue
            if W[t] != 0.0:
                _add_multiple_product(W[t], slots[arguments[a]], slots, arguments, a + 1, end, spare, out, size)
            t += 1


@njit(nogil=True, cache=True)
def _locate(slots, tiles, strides, row, column, operations):  # type: ignore[no-untyped-def]
    """Kernel slots point into the kernel rows, those of operations to segments that follow each other."""
    n_leaves = len(tiles)
    for leaf in range(n_leaves):
        slots[leaf] = tiles[leaf] + (row * strides[leaf] + column) * ITEM
    for k in range(len(slots) - n_leaves):
        slots[n_leaves + k] = operations + k * SEGMENT * ITEM


@njit(nogil=True, cache=True)
def fill_rows(operation_start, term_start, arguments, W, tiles, strides, slots, scratch, first, n_rows, K):  # type: ignore[no-untyped-def]
    """Rows first … first+n_rows of K from the diagonal on, and mirrored; the tiles start at (first, first).

    K may be in single precision: then its rows are computed in the scratch, and rounded.
    """
    n, n_operations = K.shape[1], len(operation_start) - 1
    spare, out, double = address(scratch), address(K), K.itemsize == ITEM
    plain = n_operations == 1 and len(arguments) == len(term_start) - 1  # a sum of kernels needs no scratch
    segment = n if plain and double else SEGMENT
    for row in range(first, first + n_rows):
        column = row
        while column < n:
            size = min(segment, n - column)
            _locate(slots, tiles, strides, row - first, column - first, spare + SEGMENT * ITEM)
            if double:
                slots[-1] = out + (row * n + column) * ITEM
            _values(operation_start, n_operations, term_start, arguments, W, slots, spare, size)
            if not double:
                K[row, column : column + size] = carray(pointer(slots[-1]), (size,))
            column += size
    mirror(K, first, first + n_rows)


@njit(nogil=True, cache=True)
def mirror(K, first, last):  # type: ignore[no-untyped-def]
    """Copy rows first … last, from the diagonal on, to the columns first … last, in blocks that stay in cache."""
    n, block = len(K), 32
    for i0 in range(first, last, block):
        for j0 in range(i0, n, block):
            for j in range(j0, min(j0 + block, n)):
                for i in range(i0, min(i0 + block, last, j)):
                    K[j, i] = K[i, j]


@njit(nogil=True, cache=True)
def evaluate_rows(operation_start, term_start, arguments, W, tiles, strides, slots, scratch, out):  # type: ignore[no-untyped-def]
    """out[i, j] = K_ij on a rectangular tile."""
    n_rows, n_columns = out.shape
    n_operations, spare = len(operation_start) - 1, address(scratch)
    for row in range(n_rows):
        for column in range(0, n_columns, SEGMENT):
            size = min(SEGMENT, n_columns - column)
            _locate(slots, tiles, strides, row, column, spare + SEGMENT * ITEM)
            slots[-1] = address(out) + (row * n_columns + column) * ITEM
            _values(operation_start, n_operations, term_start, arguments, W, slots, spare, size)


@njit(nogil=True, cache=True)
def apply_rows(operation_start, term_start, arguments, W, tiles, strides, slots, scratch, n_columns, A, out):  # type: ignore[no-untyped-def]
    """out[i, c] += Σ_j K_ij A[c, j] on a rectangular tile."""
    n_operations = len(operation_start) - 1
    spare, weights = address(scratch), address(A)
    for row in range(len(out)):
        for column in range(0, n_columns, SEGMENT):
            size = min(SEGMENT, n_columns - column)
            _locate(slots, tiles, strides, row, column, spare + SEGMENT * ITEM)
            _values(operation_start, n_operations, term_start, arguments, W, slots, spare, size)
            for c in range(len(A)):
                out[row, c] += dot(slots[-1], weights + (c * n_columns + column) * ITEM, size)


@njit(nogil=True, cache=True)
def apply_triangle(  # type: ignore[no-untyped-def]
    operation_start, term_start, arguments, W, tiles, strides, slots, scratch, first, n_rows, A, F
):
    """F[c, i] += Σ_j K_ij A[c, j] for rows first … first+n_rows from the diagonal on, and mirrored."""
    n_operations, n = len(operation_start) - 1, A.shape[1]
    spare = address(scratch)
    for row in range(first, first + n_rows):
        column = row
        while column < n:
            size = min(SEGMENT, n - column)
            _locate(slots, tiles, strides, row - first, column - first, spare + SEGMENT * ITEM)
            _values(operation_start, n_operations, term_start, arguments, W, slots, spare, size)
            for c in range(len(A)):
                _respond(slots[-1], A[c], row, column, size, F[c])
            column += size


@njit(nogil=True, cache=True)
def respond_to_kernels(terms, leaves, tiles, strides, first, n_rows, A, R, q):  # type: ignore[no-untyped-def]
    """As `respond_rows` for terms ∂K/∂W_t = kernel: kernel by kernel, four rows at a time, as memory likes it."""
    n_classes, n = A.shape
    rows = _weighed_rows(A, first, n_rows)
    for k in range(len(leaves)):
        t, stride = terms[k], strides[leaves[k]]
        origin = tiles[leaves[k]] - first * (stride + 1) * ITEM  # where entry (0, 0) would be
        for b in range(0, len(rows), 4):
            for c in range(n_classes):
                weights = address(A) + c * n * ITEM
                if R.size == 0:
                    q[t] += _form_of_four(origin, stride, rows, b, A[c], weights, n)
                else:
                    _respond_four(origin, stride, rows, b, A[c], weights, R[t, c], n)


@njit(nogil=True, cache=True)
def _form_of_four(origin, stride, rows, b, a, weights, n):  # type: ignore[no-untyped-def]
    """The part of aᵀKa that up to four rows from the b-th on have, each from the diagonal on and mirrored."""
    found = min(4, len(rows) - b)
    last = rows[b + found - 1]
    total = 0.0
    for i in range(b, b + found):  # up to the column from which all four go together
        row = rows[i]
        x, after = origin + row * stride * ITEM, (row + 1) * ITEM
        own = a[row] * carray(pointer(x), (n,))[row]
        total += a[row] * (own + 2.0 * dot(x + after, weights + after, last - row))
    x0, x1, x2, x3 = _four(origin + (last + 1) * ITEM, stride, rows, b, found)
    d0, d1, d2, d3 = dot_four(x0, x1, x2, x3, weights + (last + 1) * ITEM, n - last - 1)
    w0, w1, w2, w3 = _weights_of_four(a, rows, b, found)
    return total + 2.0 * (w0 * d0 + w1 * d1 + w2 * d2 + w3 * d3)


@njit(nogil=True, cache=True)
def _respond_four(origin, stride, rows, b, a, weights, r, n):  # type: ignore[no-untyped-def]
    """Adds to r = Ka what up to four rows from the b-th on have, each from the diagonal on and mirrored."""
    found = min(4, len(rows) - b)
    last = rows[b + found - 1]
    for i in range(b, b + found):
        row = rows[i]
        x, after, size = origin + row * stride * ITEM, (row + 1) * ITEM, last - row
        r[row] += a[row] * carray(pointer(x), (n,))[row] + dot(x + after, weights + after, size)
        add(a[row], x + after, address(r) + after, size)
    after = (last + 1) * ITEM
    x0, x1, x2, x3 = _four(origin + after, stride, rows, b, found)
    w0, w1, w2, w3 = _weights_of_four(a, rows, b, found)
    d = dot_and_add_four(x0, x1, x2, x3, weights + after, w0, w1, w2, w3, address(r) + after, n - last - 1)
    for i in range(found):
        r[rows[b + i]] += d[i]


@njit(nogil=True, cache=True)
def _four(origin, stride, rows, b, found):  # type: ignore[no-untyped-def]
    """Addresses of four rows; what is missing of four is the last."""
    i1, i2 = rows[b + min(1, found - 1)], rows[b + min(2, found - 1)]
    step = stride * ITEM
    return origin + rows[b] * step, origin + i1 * step, origin + i2 * step, origin + rows[b + found - 1] * step


@njit(nogil=True, cache=True)
def _weights_of_four(a, rows, b, found):  # type: ignore[no-untyped-def]
    """What is missing of four is weighed by 0."""
    w1 = a[rows[b + 1]] if found > 1 else 0.0
    w2 = a[rows[b + 2]] if found > 2 else 0.0
    return a[rows[b]], w1, w2, a[rows[b + 3]] if found > 3 else 0.0


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
def respond_rows(  # type: ignore[no-untyped-def]
    operation_start, term_start, arguments, W, tiles, strides, slots, scratch, skipped, first, n_rows, A, R, q
):
    """Add rows first … first+n_rows, from the diagonal on and mirrored, to R[t, c, i] = Σ_j (∂K_ij/∂W_t) A[c, j].

    An empty R is left alone: then only q[t] = Σ_c Σ_i A[c, i] R[t, c, i] is added to. Terms that are `skipped` are no
    part of it.
    """
    only_q = R.size == 0
    n_classes, n = A.shape
    n_leaves, n_operations = len(tiles), len(operation_start) - 1
    step = SEGMENT * ITEM
    derivative = address(scratch)
    spare, pairs, outer_pairs = derivative + step, derivative + 2 * step, derivative + 3 * step
    operations = derivative + 4 * step
    adjoints = operations + n_operations * step
    for row in _weighed_rows(A, first, n_rows):
        column = row
        while column < n:
            size = min(SEGMENT, n - column)
            _locate(slots, tiles, strides, row - first, column - first, operations)
            _values(operation_start, n_operations - 1, term_start, arguments, W, slots, spare, size)
            for k in range(n_operations):
                fill(1.0 if k == n_operations - 1 else 0.0, adjoints + k * step, size)
            if only_q:
                _weigh_pairs(A, row, column, size, pairs)
            for k in range(n_operations - 1, -1, -1):
                outer, weighed = adjoints + k * step, False
                for t in range(operation_start[k], operation_start[k + 1]):
                    if skipped[t]:
                        continue
                    start, stop = term_start[t], term_start[t + 1]
                    if only_q and stop == start + 1 and arguments[start] < n_leaves:
                        if not weighed:  # once for all kernels of the operation
                            multiply(1.0, pairs, outer, outer_pairs, size)
                            weighed = True
                        q[t] += dot(slots[arguments[start]], outer_pairs, size)
                        continue
                    if n_classes == 1 and stop == start + 1 and arguments[start] < n_leaves:
                        _respond_to_leaf(outer, slots[arguments[start]], A[0], row, column, size, R[t, 0])
                        continue
                    _pass_down(arguments, start, stop, W[t], slots, n_leaves, outer, adjoints, spare, derivative, size)
                    if only_q:
                        q[t] += dot(derivative, pairs, size)
                        continue
                    for c in range(n_classes):
                        _respond(derivative, A[c], row, column, size, R[t, c])
            column += size


@njit(nogil=True, cache=True)
def respond_to_pairs(operation_start, term_start, arguments, W, tiles, strides, slots, scratch, G, out):  # type: ignore[no-untyped-def]
    """out[i, t] += Σ_j (∂K_ij/∂W_t) G[i, j] on a rectangular tile."""
    n_leaves, n_operations = len(tiles), len(operation_start) - 1
    n_columns, step = G.shape[1], SEGMENT * ITEM
    derivative = address(scratch)
    spare, outer_pairs, operations = derivative + step, derivative + 2 * step, derivative + 3 * step
    adjoints = operations + n_operations * step
    for row in range(len(G)):
        for column in range(0, n_columns, SEGMENT):
            size = min(SEGMENT, n_columns - column)
            pairs = address(G) + (row * n_columns + column) * ITEM
            _locate(slots, tiles, strides, row, column, operations)
            _values(operation_start, n_operations - 1, term_start, arguments, W, slots, spare, size)
            for k in range(n_operations):
                fill(1.0 if k == n_operations - 1 else 0.0, adjoints + k * step, size)
            for k in range(n_operations - 1, -1, -1):
                outer, weighed = adjoints + k * step, False
                for t in range(operation_start[k], operation_start[k + 1]):
                    start, stop = term_start[t], term_start[t + 1]
                    if stop == start + 1 and arguments[start] < n_leaves:
                        if not weighed:  # once for all kernels of the operation
                            multiply(1.0, pairs, outer, outer_pairs, size)
                            weighed = True
                        out[row, t] += dot(slots[arguments[start]], outer_pairs, size)
                        continue
                    _pass_down(arguments, start, stop, W[t], slots, n_leaves, outer, adjoints, spare, derivative, size)
                    out[row, t] += dot(derivative, pairs, size)


@njit(nogil=True, cache=True)
def contract_rows(  # type: ignore[no-untyped-def]
    operation_start, term_start, arguments, W, tiles, strides, slots, scratch, first, n_rows, G, q
):
    """Add rows first … first+n_rows, from the diagonal on and mirrored, to q[t] = Σ_ij G_ij ∂K_ij/∂W_t; G is symmetric.

    The derivatives are passed down already weighed by G: they begin with it at the root instead of with 1.
    """
    n, n_leaves, n_operations = len(G), len(tiles), len(operation_start) - 1
    step = SEGMENT * ITEM
    derivative = address(scratch)
    spare, ones, operations = derivative + step, derivative + 2 * step, derivative + 4 * step
    adjoints = operations + n_operations * step
    fill(1.0, ones, SEGMENT)
    for row in range(first, first + n_rows):
        column = row
        while column < n:
            size = min(SEGMENT, n - column)
            _locate(slots, tiles, strides, row - first, column - first, operations)
            _values(operation_start, n_operations - 1, term_start, arguments, W, slots, spare, size)
            for k in range(n_operations):
                fill(0.0, adjoints + k * step, size)
            root = adjoints + (n_operations - 1) * step
            add(2.0, address(G) + (row * n + column) * ITEM, root, size)
            if column == row:
                carray(pointer(root), (size,))[0] *= 0.5
            for k in range(n_operations - 1, -1, -1):
                outer = adjoints + k * step
                for t in range(operation_start[k], operation_start[k + 1]):
                    start, stop = term_start[t], term_start[t + 1]
                    if stop == start + 1 and arguments[start] < n_leaves:
                        q[t] += dot(slots[arguments[start]], outer, size)
                        continue
                    _pass_down(arguments, start, stop, W[t], slots, n_leaves, outer, adjoints, spare, derivative, size)
                    q[t] += dot(derivative, ones, size)
            column += size


@njit(nogil=True, cache=True)
def _pass_down(arguments, start, stop, w, slots, n_leaves, outer, adjoints, spare, derivative, size):  # type: ignore[no-untyped-def]
    """∂K/∂W_t of a term from `outer` = ∂K/∂(its operation), added to ∂K/∂slot of the operations it multiplies.

    The derivative runs over the prefix products; suffixes are multiplied anew: terms have few arguments.
    """
    prefix = outer
    for a in range(start, stop):
        if arguments[a] >= n_leaves and w != 0.0:
            target = adjoints + (arguments[a] - n_leaves) * SEGMENT * ITEM
            _add_multiple_product(w, prefix, slots, arguments, a + 1, stop, spare, target, size)
        if a == start:
            multiply(1.0, outer, slots[arguments[a]], derivative, size)
            prefix = derivative
        else:
            multiply_by(slots[arguments[a]], derivative, size)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _respond_to_leaf(outer, leaf, a, row, column, size, r):  # type: ignore[no-untyped-def]
    """As `_respond` for one class and the derivative outer∘leaf, which is never stored."""
    u, x = carray(pointer(outer), (size,)), carray(pointer(leaf), (size,))
    v = carray(pointer(address(a) + column * ITEM), (size,))
    o = carray(pointer(address(r) + column * ITEM), (size,))
    w, dot, before = a[row], 0.0, o[0]
    for j in range(size):
        entry = u[j] * x[j]
        dot += entry * v[j]
        o[j] += w * entry
    if column == row:
        o[0] = before
    r[row] += dot


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _respond(derivative, a, row, column, size, r):  # type: ignore[no-untyped-def]
    """Add the entries of a row from a column on, and mirrored, to the responses; the diagonal one counts once."""
    x = carray(pointer(derivative), (size,))
    v = carray(pointer(address(a) + column * ITEM), (size,))
    o = carray(pointer(address(r) + column * ITEM), (size,))
    w, dot, before = a[row], 0.0, o[0]
    for j in range(size):
        dot += x[j] * v[j]
        o[j] += w * x[j]
    if column == row:
        o[0] = before
    r[row] += dot


@njit(nogil=True, cache=True)
def _weigh_pairs(A, row, column, size, pairs):  # type: ignore[no-untyped-def]
    """Σ_c A[c, i] A[c, j] for the entry (i, j), twice for its mirrored one."""
    fill(0.0, pairs, size)
    for c in range(len(A)):
        if A[c, row] != 0.0:
            add(2.0 * A[c, row], address(A) + (c * A.shape[1] + column) * ITEM, pairs, size)
    if column == row:
        carray(pointer(pairs), (size,))[0] *= 0.5
