"""Passes over the kernels, streamed: no path matrix and no intermediate n×n matrix ever exists.

Threads take different rows, so that two callers never share anything (numba's own threading layers are not used).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from spnmkl.circuit.blocks import (
    Block,
    LaneSum,
    dealt,
    is_short,
    lane_count,
    most_rows,
    over_lanes,
    rectangle,
    triangle,
)
from spnmkl.circuit.entries import (
    ITEM,
    address,
    apply_rows,
    apply_triangle,
    contract_rows,
    evaluate_rows,
    fill_rows,
    respond_rows,
    respond_to_kernels,
    respond_to_pairs,
    scratch_size,
)
from spnmkl.circuit.program import Circuit, Floats, Indices
from spnmkl.circuit.source import KernelSource, is_computed
from spnmkl.circuit.spread import Lane, Spread, lanes_summed
from spnmkl.errors import KernelError

_NOTHING, _NO_WEIGHTS, _NONE = np.empty((1, 1, 0)), np.empty(0), np.empty(0, dtype=np.int64)
_FORWARD = 3  # work of a multiplication of K itself, compared to one of its derivatives
_COMPUTED = 30  # work of computing an entry of a kernel
_MANY_CLASSES = 6  # from so many on, products of matrices are faster than our own loops
_ALL = slice(None)
FloatingT = TypeVar("FloatingT", bound=np.floating)
Weighed = tuple[Circuit, Floats, Floats]  # with its weights, and A
_MOST_COUNTING = 0.9  # share of the rows beyond which leaving the others out is not worth it


def kernel_matrix(
    circuit: Circuit, W: Floats, source: KernelSource, out: NDArray[FloatingT], n_threads: int = 1
) -> NDArray[FloatingT]:
    """K(β) of eq. 2, (n, n), written to `out` and rounded to its precision."""
    circuit, W = _flattened(circuit, W)
    kernels = _Kernels(circuit, W, source, source.shape[0] / 2, _FORWARD * circuit.size)
    blocks = kernels.triangle()

    def fill(lane: int, blocks: Iterable[Block]) -> None:
        for first, last in blocks:
            kernels.use(fill_rows, kernels.tiles((first, last), first), first, last - first, out)

    over_lanes(fill, dealt(blocks, len(blocks)), n_threads)
    representable(np.diagonal(out).astype(np.float64), W)  # what is not on it is smaller
    return out


def cross_matrix(circuit: Circuit, W: Floats, source: KernelSource, out: Floats, n_threads: int = 1) -> Floats:
    """K(β) of eq. 2 between the rows and the columns of a source, which may be rectangular, written to `out`."""
    circuit, W = _flattened(circuit, W)
    kernels = _Kernels(circuit, W, source, len(out), _FORWARD * circuit.size)
    blocks = rectangle(len(out), kernels.most_rows, kernels.lanes)

    def evaluate(lane: int, blocks: Iterable[Block]) -> None:
        for first, last in blocks:
            kernels.use(evaluate_rows, kernels.tiles((first, last), 0), out[first:last])

    over_lanes(evaluate, dealt(blocks, len(blocks)), n_threads)
    return representable(out, W)


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
    R = LaneSum((circuit.n_terms, *A.shape))
    _differentiate(circuit, W, source, A, n_threads, R, lambda own: (own, _NOTHING[0, 0]))
    return representable(R.total, W, A)


def term_quadratics(circuit: Circuit, W: Floats, source: KernelSource, A: Floats, n_threads: int = 1) -> Floats:
    """(terms,) q_t = Σ_c A_cᵀ(∂K/∂W_t)A_c, eq. 7."""
    mixture = circuit.mixture
    if mixture is not None and mixture is not circuit:
        return circuit.mixing(W)[1] @ term_quadratics(mixture, _NO_WEIGHTS, source, A, n_threads)
    if (some := _counting(source, A)) is not None:
        rows, part = some
        return term_quadratics(circuit, W, part, np.ascontiguousarray(A[:, rows]), n_threads)
    if isinstance(source, Spread):
        lanes = len(_lanes(_differentiated(circuit, W, source, A)))
        return representable(lanes_summed(term_quadratics, circuit, W, source, A, lanes), W, A)
    q = LaneSum((circuit.n_terms,))
    _differentiate(circuit, W, source, A, n_threads, q, lambda own: (_NOTHING, own))
    return representable(q.total, W, A)


def row_quadratics(
    circuit: Circuit, W: Floats, source: KernelSource, Y: Floats, A: Floats, n_threads: int = 1
) -> Floats:
    """(terms, rows) Σ_c Y[c, i] Σ_j (∂K_ij/∂W_t) A[c, j], row by row; the source may be rectangular."""
    mixture = circuit.mixture
    if mixture is not None and mixture is not circuit:
        return circuit.mixing(W)[1] @ row_quadratics(mixture, _NO_WEIGHTS, source, Y, A, n_threads)
    n_rows = source.shape[0]
    kernels = _Kernels(circuit, W, source, n_rows, circuit.derivative_size + len(A))
    blocks, out = rectangle(n_rows, kernels.most_rows, kernels.lanes), np.zeros((n_rows, circuit.n_terms))

    def respond(lane: int, blocks: Iterable[Block]) -> None:
        for first, last in blocks:
            G = np.ascontiguousarray(Y[:, first:last].T @ A)
            kernels.use(respond_to_pairs, kernels.tiles((first, last), 0), G, out[first:last])

    over_lanes(respond, dealt(blocks, len(blocks)), n_threads)
    return representable(np.ascontiguousarray(out.T), W, A)


def term_contractions(circuit: Circuit, W: Floats, source: KernelSource, G: Floats, n_threads: int = 1) -> Floats:
    """(terms,) Σ_ij G_ij ∂K_ij/∂W_t for a symmetric (n, n) G: as `term_quadratics`, of any rank (eq. 36)."""
    mixture = circuit.mixture
    if mixture is not None and mixture is not circuit:
        return circuit.mixing(W)[1] @ term_contractions(mixture, _NO_WEIGHTS, source, G, n_threads)
    kernels = _Kernels(circuit, W, source, source.shape[0] / 2, circuit.derivative_size + circuit.n_terms)
    q = LaneSum((circuit.n_terms,))

    def contract(lane: int, blocks: Iterable[Block]) -> None:
        own = q.begin(lane)
        for first, last in blocks:
            kernels.use(contract_rows, kernels.tiles((first, last), first), first, last - first, G, own)
        q.end(lane, own)

    over_lanes(contract, dealt(kernels.triangle(), kernels.lanes), n_threads)
    return representable(q.total, W, G)


def _differentiate(
    circuit: Circuit,
    W: Floats,
    source: KernelSource,
    A: Floats,
    n_threads: int,
    total: LaneSum,
    outputs: Callable[[Floats], tuple[Floats, Floats]],
) -> None:
    """Add ∂K/∂W_t, contracted, to R or q, whichever `outputs` makes of a lane's part."""
    responses = len(total.total.shape) > 1
    plain = circuit.root_kernels if responses or len(A) == 1 else (_NONE, _NONE)
    multiplied = responses and len(A) >= _MANY_CLASSES
    compiled = _contraction(circuit, plain[0], (_NONE, _NONE) if multiplied else plain)
    kernels = _differentiated(circuit, W, source, A)

    def respond(lane: int, blocks: Iterable[Block]) -> None:
        own = total.begin(lane)
        for first, last in blocks:
            tiles = kernels.tiles((first, last), first)
            if multiplied:
                _multiply(tiles, plain, A, first, last, own)
            kernels.use(compiled, tiles, first, last - first, A, *outputs(own))
        total.end(lane, own)

    over_lanes(respond, _lanes(kernels), n_threads)


def _differentiated(circuit: Circuit, W: Floats, source: KernelSource, A: Floats) -> _Kernels:
    """For a pass over half of the entries that differentiates in the weights of terms."""
    return _Kernels(circuit, W, source, source.shape[0] / 2, circuit.derivative_size + len(A) * circuit.n_terms)


def _lanes(kernels: _Kernels) -> list[tuple[Block, ...]]:
    """All of a pass over half of the entries, or the one that was asked for."""
    lanes, source = dealt(kernels.triangle(), kernels.lanes), kernels.source
    return lanes[source.lane : source.lane + 1] if isinstance(source, Lane) else lanes


def _contraction(circuit: Circuit, done: Indices, plain: tuple[Indices, Indices]) -> Callable[..., None]:
    """The compiled loops that a circuit needs beside the terms that are `done` otherwise, or here as `plain` kernels.

    For the quadratic forms of several classes none are: there these are better summed before kernels are read.
    """
    terms, leaves = plain
    skipped = np.zeros(circuit.n_terms, dtype=bool)
    skipped[done] = True

    stream: Callable[..., None] = respond_to_kernels
    descend: Callable[..., None] = respond_rows

    def contract(*given: Any) -> None:
        program, tiles, room, rest = given[:4], given[4:6], given[6:8], given[8:]
        if len(terms):
            stream(terms, leaves, *tiles, *rest)
        if len(done) < circuit.n_terms:
            descend(*program, *tiles, *room, skipped, *rest)

    return contract


def _multiply(tiles: _Tiles, plain: tuple[Indices, Indices], A: Floats, first: int, last: int, R: Floats) -> None:
    """As `respond_to_kernels`, for many classes: products of matrices."""
    for t, leaf in zip(*plain, strict=True):
        X = tiles.arrays[leaf]
        R[t, :, first:last] += A[:, first:] @ X.T
        R[t, :, last:] += A[:, first:last] @ X[:, last - first :]


def apply_kernel(circuit: Circuit, W: Floats, source: KernelSource, A: Floats, n_threads: int = 1) -> Floats:
    """(classes, rows): Σ_j K_ij A[c, j], tile by tile; the source may be rectangular."""
    circuit, W = _flattened(circuit, W)
    n_rows, n_columns = source.shape
    kernels = _Kernels(circuit, W, source, n_rows, _FORWARD * (circuit.size + len(A)))
    blocks, out = rectangle(n_rows, kernels.most_rows, kernels.lanes), np.zeros((n_rows, len(A)))

    def apply(lane: int, blocks: Iterable[Block]) -> None:
        for first, last in blocks:
            kernels.use(apply_rows, kernels.tiles((first, last), 0), n_columns, A, out[first:last])

    over_lanes(apply, dealt(blocks, len(blocks)), n_threads)
    return representable(np.ascontiguousarray(out.T), W, A)


def apply_to_samples(circuit: Circuit, W: Floats, source: KernelSource, A: Floats, n_threads: int = 1) -> Floats:
    """As `apply_kernel` for kernels among the samples, which are symmetric: half of the entries are read."""
    circuit, W = _flattened(circuit, W)
    kernels = _Kernels(circuit, W, source, source.shape[0] / 2, _FORWARD * (circuit.size + len(A)))
    if isinstance(source, Spread):
        return representable(lanes_summed(apply_to_samples, circuit, W, source, A, len(_lanes(kernels))), W, A)
    F = LaneSum(A.shape)

    def apply(lane: int, blocks: Iterable[Block]) -> None:
        own = F.begin(lane)
        for first, last in blocks:
            kernels.use(apply_triangle, kernels.tiles((first, last), first), first, last - first, A, own)
        F.end(lane, own)

    over_lanes(apply, _lanes(kernels), n_threads)
    return representable(F.total, W, A)


def in_one_pass(
    source: KernelSource, applied: Sequence[Weighed], contracted: Sequence[Weighed], n_threads: int = 1
) -> tuple[list[Floats], list[Floats]]:
    """`apply_to_samples` of some circuits and `term_quadratics` of others, for which kernels are computed once."""
    parts: list[tuple[_Kernels, LaneSum, Callable[..., None], Callable[[Floats], tuple[Floats, ...]], Floats]] = []
    for circuit, W, A in applied:
        circuit, W = _flattened(circuit, W)
        kernels = _Kernels(circuit, W, source, source.shape[0] / 2, _FORWARD * (circuit.size + len(A)))
        parts.append((kernels, LaneSum(A.shape), apply_triangle, lambda own: (own,), A))
    for circuit, W, A in contracted:
        circuit, W = (circuit.mixture or circuit, _NO_WEIGHTS) if _is_mixed(circuit) else (circuit, W)
        plain = circuit.root_kernels if len(A) == 1 else (_NONE, _NONE)
        compiled, q = _contraction(circuit, plain[0], plain), LaneSum((circuit.n_terms,))
        parts.append((_differentiated(circuit, W, source, A), q, compiled, lambda own: (_NOTHING, own), A))
    leaves = list(dict.fromkeys(leaf for kernels, *_ in parts for leaf in kernels.leaves))
    used = [np.array([leaves.index(leaf) for leaf in kernels.leaves], dtype=np.int64) for kernels, *_ in parts]
    most, lanes = min(kernels.most_rows for kernels, *_ in parts), max(kernels.lanes for kernels, *_ in parts)

    def read(lane: int, blocks: Iterable[Block]) -> None:
        owns = [total.begin(lane) for _, total, *_ in parts]
        for first, last in blocks:
            tiles = _located(source.tiles(leaves, slice(first, last), slice(first, None)))
            for (kernels, _, compiled, outputs, A), own, some in zip(parts, owns, used, strict=True):
                kernels.use(compiled, tiles.of(some), first, last - first, A, *outputs(own))
        for (_, total, *_), own in zip(parts, owns, strict=True):
            total.end(lane, own)

    over_lanes(read, dealt(triangle(source.shape[0], most, lanes), lanes), n_threads)
    found = [representable(total.total, *kernels.program[3:], A) for kernels, total, _, _, A in parts]
    forms = [
        circuit.mixing(W)[1] @ q if _is_mixed(circuit) else q
        for (circuit, W, _), q in zip(contracted, found[len(applied) :], strict=True)
    ]
    return found[: len(applied)], forms


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
    if not is_computed(source):
        return None
    rows = np.flatnonzero(A.any(axis=0))
    if 0 < len(rows) < _MOST_COUNTING * A.shape[1]:
        return rows, source.among(rows)
    return None


def _is_mixed(circuit: Circuit) -> bool:
    """Whether sums of sums can be read as another circuit, one sum."""
    return circuit.mixture is not None and circuit.mixture is not circuit


def _flattened(circuit: Circuit, W: Floats) -> tuple[Circuit, Floats]:
    """One sum of kernels instead of sums of sums, where there is nothing else."""
    mixture = circuit.mixture
    return (circuit, W) if mixture is None or mixture is circuit else (mixture, circuit.mixing(W)[0])


class _Kernels:
    """A circuit and the tiles it reads: asked for block by block, or once where all is at hand and the pass short."""

    def __init__(self, circuit: Circuit, W: Floats, source: KernelSource, whole_rows: float, work: int) -> None:
        """The pass reads as many entries as so many whole rows have, with so much work for each."""
        self.source, self.leaves = source, circuit.leaves
        self.program = circuit.operation_start, circuit.term_start, circuit.arguments, W
        self.n_operations, self.scratch_size = circuit.n_operations, scratch_size(circuit.n_operations)
        (n_rows, n_columns), at_a_time = source.shape, source.rows_per_tile()
        at_hand = at_a_time >= n_rows
        if not at_hand:
            work += _COMPUTED * len(self.leaves)
        total = whole_rows * n_columns * work
        self.lanes, self.most_rows = lane_count(total), most_rows(at_a_time, n_columns, work)
        self.all = _located(source.tiles(self.leaves, _ALL, _ALL)) if at_hand and is_short(total) else None

    def triangle(self) -> tuple[Block, ...]:
        return triangle(self.source.shape[0], self.most_rows, self.lanes)

    def tiles(self, rows: Block, column: int) -> _Tiles:
        """Of these rows, from a column on."""
        if self.all is None:
            return _located(self.source.tiles(self.leaves, slice(*rows), slice(column, None)))
        return self.all.part(rows, column)

    def use(self, compiled: Callable[..., None], tiles: _Tiles, *arguments: object) -> None:
        """Call a compiled function on tiles, which live at least as long."""
        slots, scratch = np.empty(len(self.leaves) + self.n_operations, dtype=np.int64), np.empty(self.scratch_size)
        compiled(*self.program, tiles.addresses, tiles.strides, slots, scratch, *arguments)


@dataclass(frozen=True)
class _Tiles:
    """One tile per leaf: arrays, the addresses of their first entries, and their row strides in entries."""

    arrays: Sequence[Floats]
    addresses: Indices
    strides: Indices

    def part(self, rows: Block, column: int) -> _Tiles:
        moved = self.addresses + (rows[0] * self.strides + column) * ITEM
        return _Tiles(_Parts(self.arrays, rows, column), moved, self.strides)

    def of(self, leaves: Indices) -> _Tiles:
        return _Tiles([self.arrays[leaf] for leaf in leaves], self.addresses[leaves], self.strides[leaves])


class _Parts(Sequence[Floats]):
    """These rows of every array, from a column on, made when asked for."""

    def __init__(self, arrays: Sequence[Floats], rows: Block, column: int) -> None:
        self.whole, self.rows, self.column = arrays, slice(*rows), column

    def __getitem__(self, leaf: Any) -> Any:
        return self.whole[leaf][self.rows, self.column :]

    def __len__(self) -> int:
        return len(self.whole)


def _located(arrays: Sequence[Floats]) -> _Tiles:
    strides = []
    for tile in arrays:  # read through raw addresses: anything else would be garbage, or worse
        down, across = tile.strides
        if tile.dtype != np.float64 or (across != ITEM and tile.shape[1] > 1):
            raise TypeError("A kernel source must give float64 tiles with contiguous rows.")
        strides.append(down // ITEM)
    addresses = [address(tile) for tile in arrays]
    return _Tiles(arrays, np.array(addresses, dtype=np.int64), np.array(strides, dtype=np.int64))
