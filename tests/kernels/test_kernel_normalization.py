"""What each normalisation promises of the training matrix, degenerate data included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spnmkl.kernels import NORMALIZATIONS, fit_kernel
from spnmkl.structure import KernelSpec

X = np.random.default_rng(0).normal(size=(300, 4)) + 1
KERNELS = ["linear", "polynomial", "rbf", "cosine", "hamming"]


def matrix(kernel, normalize, X=X):
    return fit_kernel(KernelSpec(kernel, normalize=normalize), X)[1]


@pytest.mark.parametrize("kernel", KERNELS)
def test_unit_diagonal(kernel):
    raw, K = matrix(kernel, "none"), matrix(kernel, "unit_diagonal")
    root = np.sqrt(np.diagonal(raw))
    assert (np.diagonal(K) == 1).all()
    np.testing.assert_allclose(K, raw / np.outer(root, root), atol=1e-14)


@pytest.mark.parametrize("kernel", KERNELS)
def test_unit_trace(kernel):
    raw, K = matrix(kernel, "none"), matrix(kernel, "unit_trace")
    assert np.trace(K) == pytest.approx(len(X))
    np.testing.assert_allclose(K * raw[0, 0], raw * K[0, 0], rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_unit_variance(kernel):
    raw, K = matrix(kernel, "none"), matrix(kernel, "unit_variance")
    assert np.diagonal(K).mean() - K.mean() == pytest.approx(1)
    np.testing.assert_allclose(K * raw[0, 0], raw * K[0, 0], rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_centred(kernel):
    raw, K = matrix(kernel, "none"), matrix(kernel, "centred")
    H = np.eye(len(X)) - 1 / len(X)
    centred = H @ raw @ H
    np.testing.assert_allclose(K, centred / np.diagonal(centred).mean(), atol=1e-12)
    np.testing.assert_allclose(K.sum(axis=0), 0, atol=1e-10)


def test_centred_linear_kernel_is_linear_in_the_distance_from_the_mean():
    centred = X - X.mean(axis=0)
    expected = centred @ centred.T / (centred**2).sum(axis=1).mean()
    np.testing.assert_allclose(matrix("linear", "centred"), expected, atol=1e-13)


def test_a_row_without_self_similarity_stays_zero():
    rows = np.array([[1.0, 2.0], [0.0, 0.0], [3.0, -1.0]])
    fitted, K = fit_kernel(KernelSpec("linear"), rows)
    assert (K[1] == 0).all() and (K[:, 1] == 0).all() and (np.diagonal(K) == [1, 0, 1]).all()
    np.testing.assert_allclose(fitted.cross(rows), K, atol=1e-15)


@pytest.mark.parametrize(
    ("kernel", "value", "normalize", "entry"),
    [
        ("rbf", 0.1, "unit_variance", 1),
        ("rbf", 0.1, "centred", 0),
        ("linear", 0.0, "unit_diagonal", 0),
        ("linear", 0.0, "unit_trace", 0),
        ("linear", 0.1, "unit_trace", 1),
        ("linear", 0.1, "centred", 0),
    ],
)
def test_constant_data_never_divide_by_zero(kernel, value, normalize, entry):
    rows = np.full((5, 1), value)
    fitted, K = fit_kernel(KernelSpec(kernel, normalize=normalize), rows)
    np.testing.assert_allclose(K, np.full((5, 5), float(entry)), atol=1e-15)
    np.testing.assert_allclose(fitted.cross(rows), K, atol=1e-15)


@pytest.mark.parametrize(("n", "value"), [(3, 1.2), (3, 4.98), (7, 0.94), (7, 3.36)])
def test_variance_of_rounding_size_is_none(n, value):
    rows = np.full((n, 2), value)
    assert np.array_equal(matrix("linear", "unit_variance", rows), matrix("linear", "none", rows))
    assert (matrix("linear", "centred", rows) == 0).all()


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@given(rows=arrays(np.float64, (6, 2), elements=st.floats(-1e6, 1e6, width=32)))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_any_data_give_a_finite_symmetric_matrix(normalize, rows):
    for kernel in ("linear", "polynomial", "laplacian", "cosine"):
        K = matrix(kernel, normalize, rows)
        assert np.isfinite(K).all() and np.array_equal(K, K.T)
        assert np.linalg.eigvalsh(K)[0] >= -1e-6 * max(np.trace(K), 1e-300)
