"""Blocks, lanes and threads: every row once, the same bits for any number of threads, and all end together."""

import itertools
import os
import signal
import threading
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spnmkl.circuit.blocks import Block, LaneSum, dealt, lane_count, most_rows, over_lanes, rectangle, triangle

sizes = given(st.integers(1, 3000), st.integers(1, 3000), st.sampled_from([1, 2, 4, 8]))
quick = settings(max_examples=200, deadline=None, derandomize=True)


def assert_consecutive(blocks: Iterable[Block], n: int) -> None:
    edges = [first for first, _ in blocks] + [n]
    assert edges[0] == 0 and edges == sorted(set(edges))
    assert [last for _, last in blocks] == edges[1:]


@quick
@sizes
def test_rows_of_a_triangle_come_once_and_few_at_a_time(n: int, most: int, parts: int) -> None:
    blocks = triangle(n, most, parts)
    assert_consecutive(blocks, n)
    assert all((last - first) * (n - first) <= most * n for first, last in blocks)


@quick
@sizes
def test_rows_of_a_rectangle_come_once_and_few_at_a_time(n: int, most: int, parts: int) -> None:
    blocks = rectangle(n, most, parts)
    assert_consecutive(blocks, n)
    assert all(last - first <= most for first, last in blocks)


@pytest.mark.parametrize("n", [500, 1001, 2003])
@pytest.mark.parametrize("parts", [2, 4, 8])
def test_lanes_have_equal_parts_of_a_triangle(n: int, parts: int) -> None:
    lanes = dealt(triangle(n, n, parts), parts)
    areas = [sum((last - first) * (2 * n - first - last) / 2 for first, last in blocks) for blocks in lanes]
    assert len(lanes) == parts
    assert max(areas) <= 1.1 * n**2 / 2 / parts


def test_a_block_is_a_fraction_of_a_second() -> None:
    per_entry = 75  # of the derivatives by 25 weights
    for n in (100, 10_000, 40_000):
        assert most_rows(n, n, per_entry) * n * per_entry <= 4 * 10**8
    assert most_rows(10**6, 10**6, 10**6) == 1


def test_small_passes_have_one_lane() -> None:
    assert [lane_count(work) for work in (1e3, 1e6, 1e7, 1e8, 1e9, 1e12)] == [1, 1, 2, 2, 8, 8]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_lanes_are_summed_in_their_order(order: tuple[int, ...]) -> None:
    values = [1e16, 1.0, -1e16, 1.0]
    total = LaneSum((1,))
    parts = {lane: total.begin(lane) for lane in order}
    for lane in order:
        parts[lane] += values[lane]
        total.end(lane, parts[lane])
    assert total.total[0] == ((values[0] + values[1]) + values[2]) + values[3] != sum(sorted(values))


def test_memory_of_a_lane_serves_the_next() -> None:
    total = LaneSum((3,))
    total.end(0, total.begin(0))
    first = total.begin(1)
    first += 5.0
    total.end(1, first)
    second = total.begin(2)
    assert second is first and not second.any()


LANES = dealt(tuple((i, i + 1) for i in range(40)), 4)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 9])
def test_every_block_once(n_threads: int) -> None:
    done = []
    over_lanes(lambda lane, blocks: done.extend((lane, block) for block in blocks), LANES, n_threads)
    assert sorted(done) == sorted((lane, block) for lane, blocks in enumerate(LANES) for block in blocks)


class Blocks:
    """Counts blocks; in one thread `ends` is called at the second block, while the other one waits at its second."""

    def __init__(self, ends: threading.Thread | None, how: BaseException) -> None:
        self.ends, self.how = ends, how
        self.done = {True: 0, False: 0}
        self.other_waits, self.ended = threading.Event(), threading.Event()

    def work(self, lane: int, blocks: Iterable[Block]) -> None:
        for _ in blocks:
            here = (threading.current_thread() is threading.main_thread()) == (self.ends is threading.main_thread())
            self.done[here] += 1
            if self.done[here] != 2:
                continue
            if here:
                assert self.other_waits.wait(10)
                threading.Timer(0.05, self.ended.set).start()
                raise self.how
            self.other_waits.set()
            assert self.ended.wait(10)


@pytest.mark.parametrize("in_main", [True, False])
@pytest.mark.parametrize("how", [ValueError("no kernel"), KeyboardInterrupt()])
def test_what_ends_one_thread_ends_all_at_their_next_block(in_main: bool, how: BaseException) -> None:
    blocks = Blocks(threading.main_thread() if in_main else None, how)
    with pytest.raises(type(how)) as raised:
        over_lanes(blocks.work, LANES, 2)
    assert raised.value is how
    assert blocks.done == {True: 2, False: 2}


def test_ctrl_c_while_the_main_thread_waits_ends_the_other_at_its_next_block() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        interrupted_while_waiting()
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted_while_waiting() -> None:
    done = []

    def work(lane: int, blocks: Iterable[Block]) -> None:
        if threading.current_thread() is threading.main_thread():
            return  # takes what lanes there are, then waits
        for block in blocks:
            done.append(block)
            os.kill(os.getpid(), signal.SIGINT)
            threading.Event().wait(0.2)

    taken = threading.Event()

    def first_the_helper(lane: int, blocks: Iterable[Block]) -> None:
        if threading.current_thread() is threading.main_thread():
            assert taken.wait(10)
        taken.set()
        work(lane, blocks)

    with pytest.raises(KeyboardInterrupt):
        over_lanes(first_the_helper, LANES[:2], 2)
    assert len(done) == 1


def test_nothing_to_do() -> None:
    over_lanes(lambda lane, blocks: pytest.fail("called"), [], 2)
    assert np.array_equal(LaneSum((2,)).total, [0.0, 0.0])
