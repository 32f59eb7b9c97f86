"""Given matrices, and their alignment with labels."""

import numpy as np
import pytest

from spnmkl.errors import KernelError
from spnmkl.kernels import alignment, check_matrix

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
