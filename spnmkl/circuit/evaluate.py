"""The circuit on kernel entries, streamed: no path matrix and no intermediate n×n matrix ever exists.

Rows are cut into segments of at most `SEGMENT` entries. For one segment all operations are evaluated in a scratch
buffer that stays in cache; kernel rows are read where they lie. Threads take different rows, so that two callers
never share anything (numba's own threading layers are not used).
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import carray, njit, types
from numba.extending import intrinsic

from spnmkl.circuit.program import Circuit, Floats, Indices
from spnmkl.circuit.source import ComputedSource, KernelSource
from spnmkl.errors import KernelError

SEGMENT = 512
_ITEM = 8
_NOTHING, _NO_WEIGHTS = np.empty((1, 1, 0)), np.empty(0)
_MOST_COUNTING = 0.9  # share of the rows beyond which leaving the others out is not worth it
_WORTH_THREADS = 400 * 400  # entries below which starting threads costs more than it saves


@intrinsic
def _pointer(typing_context: Any, address: Any = None) -> Any:
    """An address as a pointer to float64: numba cannot take a list of arrays without recompiling for its length."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.float64)(types.int64), generate


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
        slots[leaf] = tiles[leaf] + (row * strides[leaf] + column) * _ITEM
    base = scratch.ctypes.data
    for k in range(len(slots) - n_leaves):
        slots[n_leaves + k] = base + (spare + k) * scratch.shape[1] * _ITEM


@njit(nogil=True, cache=True)
def _fill_rows(operation_start, term_start, arguments, W, tiles, strides, first, n_rows, K):  # type: ignore[no-untyped-def]
    """Rows first … first+n_rows of K from the diagonal on; the tiles start at (first, first)."""
    n, n_leaves, n_operations = K.shape[1], len(tiles), len(operation_start) - 1
    scratch = np.empty((1 + n_operations, SEGMENT))
    slots = np.empty(n_leaves + n_operations, dtype=np.int64)
    for row in range(first, first + n_rows):
        column = row
        while column < n:
            size = min(SEGMENT, n - column)
            _slot_addresses(slots, tiles, strides, row - first, column - first, scratch, 1)
            slots[-1] = K.ctypes.data + (row * n + column) * _ITEM
            _values(operation_start, term_start, arguments, n_leaves, W, slots, scratch, size)
            column += size


@njit(nogil=True, cache=True)
def _mirror(K, first, last):  # type: ignore[no-untyped-def]
    """Copy the upper triangle's columns first … last to the lower one, in blocks that stay in cache."""
    block = 32
    for i0 in range(first, last, block):
        for j0 in range(0, i0 + block, block):
            for i in range(i0, min(i0 + block, last)):
                for j in range(j0, min(j0 + block, i)):
                    K[i, j] = K[j, i]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _dot(x, y, size):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(size):
        total += x[j] * y[j]
    return total


@njit(nogil=True, cache=True, inline="never")
def _adjoints(operation_start, term_start, arguments, n_leaves, W, slots, adjoint, scratch, size, k, t):  # type: ignore[no-untyped-def]
    """∂K/∂W_t into scratch[0] for term t of operation k; adds ∂K/∂slot to the operations among its arguments."""
    is_root = k == len(operation_start) - 2
    derivative = scratch[0]
    start, stop = term_start[t], term_start[t + 1]
    if is_root:
        derivative[:size] = 1.0
    else:
        for j in range(size):
            derivative[j] = adjoint[k, j]
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
    """As `_respond_rows` for terms ∂K/∂W_t = kernel: four rows at a time, so that memory delivers four streams."""
    n_classes, n = A.shape
    only_q = R.size == 0
    for b in range(0, len(rows), 4):
        four = rows[b : b + 4]
        together = four[-1] + 1 if len(four) == 4 else n  # from this column on
        for k in range(len(leaves)):
            t, stride = terms[k], strides[leaves[k]]
            origin = tiles[leaves[k]] - first * (stride + 1) * _ITEM  # where entry (0, 0) would be
            for c in range(n_classes):
                a = A[c]
                for row in four:
                    x = carray(_pointer(origin + row * stride * _ITEM), (n,))
                    dot, w = 0.0, a[row]
                    for j in range(row + 1, together):
                        dot += x[j] * a[j]
                    if only_q:
                        q[t] += w * (w * x[row] + 2.0 * dot)
                    else:
                        r = R[t, c]
                        r[row] += w * x[row] + dot
                        for j in range(row + 1, together):
                            r[j] += w * x[j]
                if together == n:
                    continue
                x0 = carray(_pointer(origin + four[0] * stride * _ITEM), (n,))
                x1 = carray(_pointer(origin + four[1] * stride * _ITEM), (n,))
                x2 = carray(_pointer(origin + four[2] * stride * _ITEM), (n,))
                x3 = carray(_pointer(origin + four[3] * stride * _ITEM), (n,))
                w0, w1, w2, w3 = a[four[0]], a[four[1]], a[four[2]], a[four[3]]
                d0, d1, d2, d3 = 0.0, 0.0, 0.0, 0.0
                if only_q:
                    for j in range(together, n):
                        d0 += x0[j] * a[j]
                        d1 += x1[j] * a[j]
                        d2 += x2[j] * a[j]
                        d3 += x3[j] * a[j]
                    q[t] += 2.0 * (w0 * d0 + w1 * d1 + w2 * d2 + w3 * d3)
                else:
                    r = R[t, c]
                    for j in range(together, n):
                        d0 += x0[j] * a[j]
                        d1 += x1[j] * a[j]
                        d2 += x2[j] * a[j]
                        d3 += x3[j] * a[j]
                        r[j] += w0 * x0[j] + w1 * x1[j] + w2 * x2[j] + w3 * x3[j]
                    r[four[0]] += d0
                    r[four[1]] += d1
                    r[four[2]] += d2
                    r[four[3]] += d3


@njit(nogil=True, cache=True)
def _respond_rows(operation_start, term_start, arguments, W, tiles, strides, first, n_rows, A, R, q):  # type: ignore[no-untyped-def]
    """Add rows first … first+n_rows, from the diagonal on and mirrored, to R[t, c, i] = Σ_j (∂K_ij/∂W_t) A[c, j].

    An empty R is left alone: then only q[t] = Σ_c Σ_i A[c, i] R[t, c, i] is added to.
    """
    only_q = R.size == 0
    n_classes, n = A.shape
    n_leaves, n_operations = len(tiles), len(operation_start) - 1
    rows = np.array([row for row in range(first, first + n_rows) if np.any(A[:, row])], dtype=np.int64)
    kernels = np.array(
        [t for t in range(operation_start[-2], operation_start[-1]) if _is_kernel(term_start, arguments, n_leaves, t)],
        dtype=np.int64,
    )
    _respond_to_kernels(arguments[term_start[kernels]], kernels, tiles, strides, first, rows, A, R, q)
    if len(kernels) == len(term_start) - 1:
        return
    scratch = np.empty((2 + n_operations, SEGMENT))
    adjoint = np.empty((n_operations, SEGMENT))
    slots = np.empty(n_leaves + n_operations, dtype=np.int64)
    derivative = scratch[0]
    for row in rows:
        column = row
        while column < n:
            size = min(SEGMENT, n - column)
            _slot_addresses(slots, tiles, strides, row - first, column - first, scratch, 2)
            if n_operations > 1:
                _values(operation_start[:-1], term_start, arguments, n_leaves, W, slots, scratch, size)
                adjoint[:] = 0.0
            off = 1 if column == row else 0  # the diagonal entry counts once
            for k in range(n_operations - 1, -1, -1):
                for t in range(operation_start[k], operation_start[k + 1]):
                    if k == n_operations - 1 and _is_kernel(term_start, arguments, n_leaves, t):
                        continue
                    _adjoints(operation_start, term_start, arguments, n_leaves, W, slots, adjoint, scratch, size, k, t)
                    for c in range(n_classes):
                        weight = A[c, row]
                        if only_q:
                            if weight != 0.0:
                                total = 2.0 * _dot(derivative, A[c, column:], size)
                                q[t] += weight * (total - off * derivative[0] * weight)
                            continue
                        R[t, c, row] += _dot(derivative, A[c, column:], size)
                        if weight != 0.0:
                            target = R[t, c, column:]
                            for j in range(off, size):
                                target[j] += weight * derivative[j]
            column += size


@njit(nogil=True, cache=True)
def _is_kernel(term_start, arguments, n_leaves, t):  # type: ignore[no-untyped-def]
    """Whether a term of the root is a weighted kernel."""
    return term_start[t + 1] == term_start[t] + 1 and arguments[term_start[t]] < n_leaves


@njit(nogil=True, cache=True)
def _apply_rows(operation_start, term_start, arguments, W, tiles, strides, n_columns, A, out):  # type: ignore[no-untyped-def]
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


def kernel_matrix(circuit: Circuit, W: Floats, source: KernelSource, out: Floats, n_threads: int = 1) -> Floats:
    """K(β), (n, n), written to `out`."""
    circuit, W = _flattened(circuit, W)

    def fill(first: int, last: int, worker: int) -> None:
        with _Tiles(source, circuit, slice(first, last), slice(first, None)) as (tiles, strides):
            _fill_rows(*_program(circuit), W, tiles, strides, first, last - first, out)

    _over_rows(fill, source, n_threads)
    _over_rows(lambda first, last, _: _mirror(out, first, last), source, n_threads)
    representable(np.diagonal(out), W)  # what is not on it is smaller
    return out


def term_responses(circuit: Circuit, W: Floats, source: KernelSource, A: Floats, n_threads: int = 1) -> Floats:
    """R[t, c, i] = Σ_j (∂K_ij/∂W_t) A[c, j]; valid on the rows i where some A[c, i] is not zero."""
    mixture = circuit.mixture
    if mixture is not None and mixture is not circuit:
        return np.tensordot(circuit.mixing(W)[1], term_responses(mixture, _NO_WEIGHTS, source, A, n_threads), 1)
    if (some := _counting(source, A)) is not None:
        rows, part = some
        full = np.zeros((circuit.n_terms, *A.shape))
        full[..., rows] = term_responses(circuit, W, part, np.ascontiguousarray(A[:, rows]), n_threads)
        return full
    R = np.zeros((n_threads, circuit.n_terms, *A.shape))

    def respond(first: int, last: int, worker: int) -> None:
        with _Tiles(source, circuit, slice(first, last), slice(first, None)) as (tiles, strides):
            _respond_rows(*_program(circuit), W, tiles, strides, first, last - first, A, R[worker], _NOTHING[0, 0])

    _over_rows(respond, source, n_threads)
    return representable(R[0] if n_threads == 1 else R.sum(axis=0), W, A)


def term_quadratics(circuit: Circuit, W: Floats, source: KernelSource, A: Floats, n_threads: int = 1) -> Floats:
    """(terms,) q_t = Σ_c A_cᵀ(∂K/∂W_t)A_c."""
    mixture = circuit.mixture
    if mixture is not None and mixture is not circuit:
        return circuit.mixing(W)[1] @ term_quadratics(mixture, _NO_WEIGHTS, source, A, n_threads)
    if (some := _counting(source, A)) is not None:
        rows, part = some
        return term_quadratics(circuit, W, part, np.ascontiguousarray(A[:, rows]), n_threads)
    q = np.zeros((n_threads, circuit.n_terms))

    def measure(first: int, last: int, worker: int) -> None:
        with _Tiles(source, circuit, slice(first, last), slice(first, None)) as (tiles, strides):
            _respond_rows(*_program(circuit), W, tiles, strides, first, last - first, A, _NOTHING, q[worker])

    _over_rows(measure, source, n_threads)
    return representable(q.sum(axis=0), W, A)


def apply_kernel(circuit: Circuit, W: Floats, source: KernelSource, A: Floats, n_threads: int = 1) -> Floats:
    """(classes, rows): Σ_j K_ij A[c, j], tile by tile; the source may be rectangular."""
    circuit, W = _flattened(circuit, W)
    out = np.zeros((source.shape[0], len(A)))

    def apply(first: int, last: int, worker: int) -> None:
        with _Tiles(source, circuit, slice(first, last), slice(0, None)) as (tiles, strides):
            _apply_rows(*_program(circuit), W, tiles, strides, source.shape[1], A, out[first:last])

    _over_rows(apply, source, n_threads)
    return representable(np.ascontiguousarray(out.T), W, A)


def representable(values: Floats, *given: Floats) -> Floats:
    """What came of the kernels, which must be finite wherever what else was given is: infinity proves nothing."""
    if not np.isfinite(values).all() and all(np.isfinite(other).all() for other in given):
        raise KernelError(
            "Kernel values, or products of them, are so large that what is computed from them leaves the range of "
            "double precision; rescale the kernels, for example to a diagonal of 1 (normalize='unit_diagonal')."
        )
    return values


def _counting(source: KernelSource, A: Floats) -> tuple[Indices, KernelSource] | None:
    """Where entries are computed when asked for: the rows that A weighs, and the kernels among them; None for all."""
    rows = np.flatnonzero(A.any(axis=0))
    if isinstance(source, ComputedSource) and 0 < len(rows) < _MOST_COUNTING * A.shape[1]:
        return rows, source.among(rows)
    return None


def _flattened(circuit: Circuit, W: Floats) -> tuple[Circuit, Floats]:
    """One sum of kernels instead of sums of sums, where there is nothing else."""
    mixture = circuit.mixture
    return (circuit, W) if mixture is None or mixture is circuit else (mixture, circuit.mixing(W)[0])


def _program(circuit: Circuit) -> tuple[Indices, Indices, Indices]:
    return circuit.operation_start, circuit.term_start, circuit.arguments


class _Tiles:
    """The addresses and row strides (in entries) of the tiles, which are kept alive while they are in use."""

    def __init__(self, source: KernelSource, circuit: Circuit, rows: slice, columns: slice) -> None:
        self.arrays = source.tiles(circuit.leaves, rows, columns)
        for tile in self.arrays:  # read through raw addresses: anything else would be garbage, or worse
            if tile.dtype != np.float64 or (tile.shape[1] > 1 and tile.strides[1] != _ITEM):
                raise TypeError("A kernel source must give float64 tiles with contiguous rows.")

    def __enter__(self) -> tuple[Indices, Indices]:
        addresses = np.array([tile.ctypes.data for tile in self.arrays], dtype=np.int64)
        strides = np.array([tile.strides[0] // _ITEM for tile in self.arrays], dtype=np.int64)
        return addresses, strides

    def __exit__(self, *error: object) -> None:
        self.arrays = []


def _over_rows(work: Callable[[int, int, int], object], source: KernelSource, n_threads: int) -> None:
    """work(first, last, worker) over all rows; worker k takes every k-th block, so that sums come out the same."""
    if source.shape[0] * source.shape[1] < _WORTH_THREADS:
        n_threads = 1
    n, step = source.shape[0], source.rows_per_tile(n_threads)
    blocks = [(first, min(first + step, n)) for first in range(0, n, step)]

    def run(worker: int) -> None:
        for first, last in blocks[worker::n_threads]:
            work(first, last, worker)

    if n_threads == 1:
        run(0)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        for done in [pool.submit(run, worker) for worker in range(n_threads)]:
            done.result()
