"""Cholesky factors without Python's lock: as NumPy's, and other threads go on meanwhile."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from spnmkl.circuit.entries import mirror
from spnmkl.solvers.factor import Factors, factorised, solved
from spnmkl.solvers.unlocked import potrf


def definite(n: int, dtype: type[np.floating] = np.float64) -> np.ndarray:
    A = np.random.default_rng(n).normal(size=(n, n))
    return np.asfortranarray(A @ A.T + np.eye(n), dtype)


@pytest.mark.parametrize("n", [0, 1, 2, 65, 200])
@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-10), (np.float32, 1e-3)])
def test_the_factor_is_numpys(n: int, dtype: type[np.floating], tol: float) -> None:
    A = definite(n, dtype)
    L = A.copy(order="F")
    assert potrf(L)
    np.testing.assert_allclose(np.tril(L), np.linalg.cholesky(A), atol=tol)
    np.testing.assert_array_equal(np.triu(L, 1), np.triu(A, 1))  # not touched


def test_there_is_none_of_an_indefinite_matrix() -> None:
    assert not potrf(np.asfortranarray(np.diag([1.0, -1.0])))


@pytest.mark.parametrize("A", [np.eye(4)[:, :3], np.ones((3, 3)) + np.eye(3), np.asfortranarray(definite(6))[:3, :3]])
def test_what_lapack_would_misread_is_refused(A: np.ndarray) -> None:
    with pytest.raises(ValueError, match="Fortran order"):
        potrf(A)


def test_a_factor_in_blocks_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    A = definite(100)
    whole, parts = A.copy(order="F"), A.copy(order="F")
    assert factorised(whole, lambda: None)
    monkeypatch.setattr("spnmkl.solvers.factor._WHOLE", 10)
    monkeypatch.setattr("spnmkl.solvers.factor._BLOCK", 32)
    assert factorised(parts, lambda: None)
    np.testing.assert_allclose(np.tril(parts), np.tril(whole), atol=1e-10)
    parts = -np.asfortranarray(np.eye(100))
    assert not factorised(parts, lambda: None)


@pytest.mark.parametrize("size", [1, 40, 100])
def test_a_factor_under_the_diagonal_of_K_leaves_the_rest_of_it(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spnmkl.solvers.factor._BLOCK", 32)
    memory = np.empty((101, 100), np.float32)
    K, below = memory[:100], memory[1:]
    K[:] = definite(100) / 100
    whole, rows = K.astype(float), np.sort(np.random.default_rng(size).permutation(100)[:size])
    B = np.random.default_rng(0).normal(size=(size, 3))
    found = []
    for threads in (1, 3):
        L = Factors(lambda: None, threads).cholesky(K, rows, np.float32, below)
        assert np.shares_memory(L, K)
        found.append((np.tril(L), solved(L, B), solved(L, B, trans=1)))
        np.testing.assert_array_equal(np.triu(K), np.triu(whole))
    for one, three in zip(*found, strict=True):
        np.testing.assert_array_equal(one, three)  # any number of threads gives the same bits
    exact = np.linalg.cholesky(whole[np.ix_(rows, rows)])
    L, forward, backward = found[0]
    np.testing.assert_allclose(L, exact, atol=1e-3)
    np.testing.assert_allclose(L @ forward, B, atol=1e-4)
    np.testing.assert_allclose(L.T @ backward, B, atol=1e-4)
    mirror(K, 0, 100)
    np.testing.assert_array_equal(K, whole)


def test_where_there_is_no_factor_the_diagonal_stands_in(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = np.empty((9, 8), np.float32)
    memory[:8] = np.diag([4.0, -4.0] * 4) + 4.0 * np.eye(8) - 8.0 * np.eye(8)[::-1]
    K, before = memory[:8], memory[:8].copy()
    L = Factors(lambda: None).cholesky(K, np.arange(8), np.float32, memory[1:])
    np.testing.assert_array_equal(np.tril(L), 2.0 * np.eye(8))
    np.testing.assert_array_equal(np.triu(K), np.triu(before))


def test_another_thread_runs_meanwhile() -> None:
    """Under the lock it would get no turn from the beginning of the factor to its end."""
    A, turns, done = np.asfortranarray(np.eye(2500)), list[float](), threading.Event()

    def count() -> None:
        while not done.is_set():
            turns.append(time.perf_counter())
            time.sleep(1e-3)

    thread = threading.Thread(target=count)
    thread.start()
    with threadpool_limits(1):
        began = time.perf_counter()
        potrf(A)
        ended = time.perf_counter()
    done.set()
    thread.join()
    assert sum(began < turn < ended for turn in turns) > 3
