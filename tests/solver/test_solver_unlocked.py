"""Cholesky factors without Python's lock: as NumPy's, and other threads go on meanwhile."""

import threading
import time

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from spnmkl.solvers.factor import factorised
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
