"""Given matrices, and their alignment with labels."""

import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from spnmkl.errors import KernelError
from spnmkl.kernels import alignment, check_matrix, matrices

RNG = np.random.default_rng(0)
FACTOR = RNG.normal(size=(700, 3))
K = FACTOR @ FACTOR.T
Y = RNG.integers(0, 3, size=700)


def test_a_good_matrix_is_returned_as_it_is():
    assert check_matrix(K, "k1", 700) is K


def test_single_precision_and_other_orders_are_converted():
    single = check_matrix(K.astype(np.float32), "k1")
    assert single.dtype == np.float64
    assert check_matrix(np.asfortranarray(K), "k1").flags.c_contiguous
    assert np.array_equal(check_matrix([[2, 1], [1, 2]], "k1"), [[2.0, 1.0], [1.0, 2.0]])


def test_rounding_is_evened_out_in_a_copy():
    rough = K + 1e-9 * RNG.random(K.shape)
    before = rough.copy()
    even = check_matrix(rough, "k1")
    assert np.array_equal(even, even.T) and np.array_equal(rough, before)
    np.testing.assert_allclose(even, (rough + rough.T) / 2, rtol=1e-15)


def test_asymmetry_beside_one_huge_entry_is_evened_out():
    rough = np.eye(200) + 0.1 * np.triu(RNG.random((200, 200)), 1)
    rough[0, 0] = 1e13
    even = check_matrix(rough, "k1")
    assert np.array_equal(even, even.T)


def test_the_zero_matrix_is_a_kernel():
    check_matrix(np.zeros((4, 4)), "k1")


@pytest.mark.parametrize("n", [40, 700])
def test_a_clearly_negative_eigenvalue_is_found(n):
    u = np.ones(n) / np.sqrt(n)
    with pytest.raises(KernelError, match="not positive semidefinite"):
        check_matrix(np.eye(n) - 1.5 * np.outer(u, u), "k1")


def test_a_negative_diagonal_is_found_beyond_the_examined_rows():
    examined = np.linspace(0, 699, 256).astype(int)
    bad = np.eye(700)
    place = np.setdiff1d(np.arange(700), examined)[0]
    bad[place, place] = -2
    with pytest.raises(KernelError, match="an eigenvalue of -2 or less"):
        check_matrix(bad, "k1")


@pytest.mark.parametrize("place", [(3, 5), (690, 690), (300, 650), (650, 300)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_one_bad_entry_is_found_anywhere(place, value):
    bad = K.copy()
    bad[place] = value
    with pytest.raises(KernelError, match="NaN or infinity"):
        check_matrix(bad, "k1")


@pytest.mark.parametrize("place", [(3, 5), (300, 650), (650, 300)])
def test_one_asymmetric_entry_is_found_anywhere(place):
    bad = K.copy()
    bad[place] += 0.5
    with pytest.raises(KernelError, match=r"differ by up to 0\.5"):
        check_matrix(bad, "k1")


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("excess", [1e-3, 1.0])
def test_one_bad_pair_is_found_beyond_the_examined_rows(n, excess):
    i, j = np.setdiff1d(np.arange(n), matrices.tested_rows(n))[[3, 50]] if n > matrices.PSD_ROWS else (3, 30)
    bad = np.diag(np.linspace(0.5, 2, n))
    bound = np.sqrt(bad[i, i] * bad[j, j])
    bad[i, j] = bad[j, i] = -(1 + excess) * bound
    with pytest.raises(KernelError) as refused:
        check_matrix(bad, "k1")
    assert str(refused.value) == (
        f"Kernel matrix 'k1' is not positive semidefinite: entry ({i}, {j}) is {bad[i, j]:.6g}, but the diagonal "
        f"entries of {i} and {j}, {bad[i, i]:.6g} and {bad[j, j]:.6g}, allow at most {bound:.6g} in size; set its "
        "negative eigenvalues to zero, or add their size to the diagonal."
    )


def test_a_pair_without_a_diagonal_is_found():
    bad = np.zeros((4, 4))
    bad[1, 2] = bad[2, 1] = 1e-3
    with pytest.raises(KernelError, match=r"entry \(1, 2\) is 0\.001"):
        check_matrix(bad, "k1")


@pytest.mark.parametrize("scale", [1e-200, 1e-8, 1.0, 1e200])
@pytest.mark.parametrize("n", [40, 700])
def test_all_pairs_at_their_bound_pass_in_single_precision(n, scale):
    # Rank one: |K_ij| = √(K_ii K_jj) but for rounding, over 12 orders of magnitude.
    v = np.logspace(-3, 3, n)
    K = np.outer(v, v)
    check_matrix(scale * K, "k1")
    check_matrix(scale * K.astype(np.float32).astype(float), "k1")


@pytest.fixture
def checks(monkeypatch):
    """Counts how often a matrix is really looked at."""
    done, look = [], matrices._checked

    def counted(*args):
        done.append(None)  # not the matrix: it shall die
        return look(*args)

    monkeypatch.setattr(matrices, "_checked", counted)
    return done


@pytest.mark.parametrize("n", [40, 700])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_matrix_is_checked_once_while_it_lives(n, dtype, checks):
    mine, equal = (K[:n, :n].astype(dtype) for _ in range(2))
    first = check_matrix(mine, "k1")
    for _ in range(3):
        assert np.array_equal(check_matrix(mine, "k2", n), first)
    assert len(checks) == 1
    check_matrix(equal, "k1")
    assert len(checks) == 2


def test_what_is_known_goes_with_the_matrix(checks):
    before = len(matrices._known)
    for _ in range(5):
        mine = K[:40, :40].copy()
        check_matrix(mine, "k1")
        assert len(matrices._known) == before + 1
        del mine
        assert len(matrices._known) == before
    assert len(checks) == 5


def test_an_evened_copy_is_not_kept(checks):
    rough = K[:40, :40] + 1e-9 * RNG.random((40, 40))
    first = check_matrix(rough, "k1")
    again = check_matrix(rough, "k1")
    assert len(checks) == 1 and again is not first and np.array_equal(again, first)
    copy = weakref.ref(again)
    del again
    gc.collect()
    assert copy() is None


def test_lists_are_checked_every_time(checks):
    for _ in range(2):
        check_matrix([[2, 1], [1, 2]], "k1")
    assert len(checks) == 2


@pytest.mark.parametrize("n", [3, 40, 511])
def test_any_entry_changed_in_place_is_noticed(n):
    mine = K[:n, :n].copy()
    check_matrix(mine, "k1")
    for place in [(0, 0), (0, n - 1), (n // 2, n // 3), (n - 1, n - 1)]:
        value = mine[place]
        mine[place] = np.nan
        with pytest.raises(KernelError, match="NaN or infinity"):
            check_matrix(mine, "k1")
        mine[place] = value
        assert check_matrix(mine, "k1") is mine


CHANGES = {
    "a row": np.s_[411],
    "a column": np.s_[:, 123],
    "every sign": np.s_[:],
    "a block": np.s_[100:200, 300:400],
    "one of the diagonal": np.s_[505, 505],
}


@pytest.mark.parametrize("where", CHANGES.values(), ids=CHANGES)
def test_large_matrices_changed_in_place_are_checked_again(where):
    mine = K.copy()
    assert check_matrix(mine, "k1") is mine
    mine[where] *= -1
    with pytest.raises(KernelError):
        check_matrix(mine, "k1")


def test_doubling_in_place_is_noticed(checks):
    # All entries change in the same bit.
    mine = K[:40, :40].copy()
    for _ in range(60):
        check_matrix(mine, "k1")
        mine *= 2
    assert len(checks) == 60


def test_many_threads_may_check_the_same_and_dying_matrices():
    shared = [K[:60, :60].copy() for _ in range(5)]

    def work(k):
        for i in range(50):
            assert check_matrix(shared[(k + i) % 5], "k1") is shared[(k + i) % 5]
            check_matrix(shared[i % 5].copy(), "k1")
        return True

    before = len(matrices._known)
    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))
    assert len(matrices._known) == before + 5


def centred_cosine(K, T):
    H = np.eye(len(K)) - 1 / len(K)
    K, T = H @ K @ H, H @ T @ H
    return np.sum(K * T) / np.sqrt(np.sum(K * K) * np.sum(T * T))


def test_alignment_of_several_classes_follows_the_definition():
    indicator = np.eye(3)[Y]
    assert alignment(K, Y) == pytest.approx(centred_cosine(K, indicator @ indicator.T), rel=1e-10)


def test_alignment_of_two_classes_is_that_of_signs():
    signs = np.where(Y == 1, 1.0, -1.0)
    names = np.where(Y == 1, "yes", "no")
    assert alignment(K, names) == pytest.approx(centred_cosine(K, np.outer(signs, signs)), rel=1e-10)


def test_alignment_of_the_ideal_kernel_is_one_and_of_constants_zero():
    same = (Y[:, None] == Y).astype(float)
    assert alignment(same, Y) == pytest.approx(1)
    assert alignment(7 * same + 100, Y) == pytest.approx(1)
    assert alignment(np.full((700, 700), 0.1), Y) == 0
    assert alignment(K, np.zeros(700)) == 0
