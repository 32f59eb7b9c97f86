"""Rows in blocks, blocks in lanes, and threads that take lanes.

The sizes alone decide on blocks and lanes, and sums over lanes are taken in their order: any number of threads gives
the same bits. Whatever ends a pass early (an error, a stop, Ctrl-C) ends it in all threads at their next block.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

import numpy as np

from spnmkl.circuit.source import Floats

Block = tuple[int, int]  # rows first … last−1
# Work is counted in multiplications, about four in a nanosecond where kernels stream through the derivatives.
_WORTH_LANES, _LANE_WORK = 4 * 10**6, 3 * 10**7  # below, threads and sums of lanes cost more than they save
_MOST_LANES = 8  # of a pass: no more threads share one
_BLOCK_WORK = 4 * 10**8  # a tenth of a second
_TOGETHER = 4  # rows that the compiled loops read at once


def lane_count(work: float) -> int:
    """A power of two, so that two or four threads have equal parts."""
    if work < _WORTH_LANES:
        return 1
    return min(_MOST_LANES, 1 << max(2, int(work // _LANE_WORK)).bit_length() - 1)


def most_rows(rows_per_tile: int, n_columns: int, work: int) -> int:
    """In a block: what the source gives at a time, and no more than `work` per entry does in a fraction of a second."""
    return _whole(min(rows_per_tile, _BLOCK_WORK / max(1, n_columns * work)))


def is_short(work: float) -> bool:
    """No more than a block."""
    return work <= _BLOCK_WORK


@lru_cache(maxsize=64)
def triangle(n: int, most: int, parts: int) -> tuple[Block, ...]:
    """Blocks of rows that reach from the diagonal to the last column: `parts` of equal area, or more and smaller ones.

    None has more entries than `most` whole rows.
    """
    blocks, first = [], 0
    while first < n:
        width = n - first
        share = width - max(0.0, width**2 - n**2 / parts) ** 0.5
        rows = min(_whole(share + _TOGETHER / 2), _whole(most * n / width), width)
        if width**2 <= min(most * n, 1.2 * n**2 / parts):
            rows = width  # leaves no narrow one for the end
        blocks.append((first, first + rows))
        first += rows
    return tuple(blocks)


def _whole(rows: float) -> int:
    """Rounded down to a multiple of what is read at once."""
    return max(1, int(rows) if rows < _TOGETHER else _TOGETHER * int(rows / _TOGETHER))


@lru_cache(maxsize=64)
def rectangle(n: int, most: int, parts: int) -> tuple[Block, ...]:
    """Blocks of whole rows."""
    rows = max(1, min(most, -(-n // parts)))
    return tuple((first, min(first + rows, n)) for first in range(0, n, rows))


def dealt(blocks: tuple[Block, ...], lanes: int) -> list[tuple[Block, ...]]:
    return [blocks[lane::lanes] for lane in range(min(lanes, len(blocks)))]


def over_lanes(
    work: Callable[[int, Iterable[Block]], object], lanes: Sequence[Sequence[Block]], n_threads: int
) -> None:
    """work(k, blocks of lane k) for every lane, in this thread and, where there are lanes for them, in others."""
    if min(n_threads, len(lanes)) <= 1:
        for lane, blocks in enumerate(lanes):
            work(lane, blocks)
        return
    waiting, failures = iter(range(len(lanes))), list[BaseException]()

    def until_failure(blocks: Sequence[Block]) -> Iterator[Block]:
        for block in blocks:
            if failures:
                return
            yield block

    def take_lanes() -> None:
        try:
            while (lane := next(waiting, None)) is not None and not failures:
                work(lane, until_failure(lanes[lane]))
        except BaseException as error:
            failures.append(error)

    helpers = [threading.Thread(target=take_lanes, daemon=True) for _ in range(min(n_threads, len(lanes)) - 1)]
    try:
        for helper in helpers:
            helper.start()
        take_lanes()
        _join(helpers)
    except BaseException as error:  # Ctrl-C may come while we wait
        failures.append(error)
        _join(helpers)
    if failures:
        raise failures[0]


def _join(helpers: Iterable[threading.Thread]) -> None:
    for helper in helpers:
        if helper.ident is not None:
            helper.join()


class LaneSum:
    """Σ over lanes in their order, whichever ends first; the memory of a lane that was added serves a later one."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.total = np.zeros(shape)
        self._lock, self._next = threading.Lock(), 0
        self._ended: dict[int, Floats] = {}
        self._free: list[Floats] = []

    def begin(self, lane: int) -> Floats:
        """Zeros for this lane to add to."""
        if lane == 0:
            return self.total
        try:
            memory = self._free.pop()
        except IndexError:
            return np.zeros_like(self.total)
        memory.fill(0.0)
        return memory

    def end(self, lane: int, part: Floats) -> None:
        with self._lock:
            self._ended[lane] = part
            while self._next in self._ended:
                done = self._ended.pop(self._next)
                if done is not self.total:
                    self.total += done
                    self._free.append(done)
                self._next += 1
