"""BLAS has one thread while we work, whichever of our threads that is, and then as many as before."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from spnmkl.threads import single_threaded_blas

BLAS = ThreadpoolController().select(user_api="blas")


def counts() -> set[int]:
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library.num_threads for library in BLAS.lib_controllers}


def inside() -> set[int]:
    with single_threaded_blas():
        return counts()


def test_in_any_thread_after_another_one() -> None:
    with threadpool_limits(2, user_api="blas"):
        before = counts()
        assert inside() == {1} and counts() == before  # now the main thread has decided once
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(inside).result() == {1}
        assert counts() == before
        assert inside() == {1} and counts() == before


def test_an_exception_gives_the_threads_back() -> None:
    @single_threaded_blas()
    def fail() -> None:
        raise ValueError

    with threadpool_limits(2, user_api="blas"):
        before = counts()
        with pytest.raises(ValueError):
            fail()
        assert counts() == before


def test_until_the_last_has_left() -> None:
    entered, leave, seen = threading.Event(), threading.Event(), []

    def longer() -> None:
        with single_threaded_blas():
            entered.set()
            leave.wait(10)
            seen.append(counts())

    with threadpool_limits(2, user_api="blas"):
        before = counts()
        worker = threading.Thread(target=longer)
        with single_threaded_blas():
            worker.start()
            entered.wait(10)
        assert counts() == {1}
        leave.set()
        worker.join()
        assert seen == [{1}] and counts() == before
