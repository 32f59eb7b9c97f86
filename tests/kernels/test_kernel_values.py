"""Every kernel against its formula, written out entry by entry, and what gamma's words stand for."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.svm import SVC

from spnmkl.kernels import fit_kernel, kernel_names, kernel_schema
from spnmkl.structure import KernelSpec

RNG = np.random.default_rng(0)
X = RNG.integers(0, 4, size=(9, 3)) + RNG.choice([0.0, 0.25], size=(9, 3))
WIDE = RNG.normal(size=(9, 40)) + 1e4

FORMULAS = {
    "linear": ({}, lambda x, z: sum(a * b for a, b in zip(x, z, strict=True))),
    "polynomial": (
        {"degree": 3, "gamma": 0.5, "coef0": 2.0},
        lambda x, z: (0.5 * sum(a * b for a, b in zip(x, z, strict=True)) + 2) ** 3,
    ),
    "rbf": (
        {"gamma": 0.3},
        lambda x, z: math.exp(-0.3 * sum((a - b) ** 2 for a, b in zip(x, z, strict=True))),
    ),
    "laplacian": (
        {"gamma": 0.3},
        lambda x, z: math.exp(-0.3 * sum(abs(a - b) for a, b in zip(x, z, strict=True))),
    ),
    "chi2": (
        {"gamma": 0.3},
        lambda x, z: math.exp(-0.3 * sum((a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b)),
    ),
    "cosine": (
        {},
        lambda x, z: sum(a * b for a, b in zip(x, z, strict=True)) / (math.hypot(*x) * math.hypot(*z)),
    ),
    "hamming": ({}, lambda x, z: sum(a == b for a, b in zip(x, z, strict=True)) / len(x)),
}


def spec(kernel, features=None, normalize="none", **params):
    return KernelSpec(kernel, tuple(sorted(params.items())), features, normalize)


def entry_by_entry(formula, X, Z):
    return np.array([[formula(x, z) for z in Z] for x in X])


def test_every_kernel_has_its_formula_here():
    assert set(FORMULAS) == set(kernel_names()) - {"precomputed"}


@pytest.mark.parametrize("kernel", FORMULAS)
@pytest.mark.parametrize("features", [None, (2, 0)])
def test_values_follow_the_formula(kernel, features):
    params, formula = FORMULAS[kernel]
    fitted, K = fit_kernel(spec(kernel, features, **params), X)
    columns = slice(None) if features is None else list(features)
    np.testing.assert_allclose(K, entry_by_entry(formula, X[:, columns], X[:, columns]), rtol=1e-13)
    new = X[::-2] + 0.5
    expected = entry_by_entry(formula, new[:, columns], X[:, columns])
    np.testing.assert_allclose(fitted.cross(new), expected, rtol=1e-13)


def test_rbf_on_many_columns_keeps_its_digits_far_from_the_origin():
    _, K = fit_kernel(spec("rbf", gamma=0.01), WIDE)
    expected = entry_by_entry(lambda x, z: math.exp(-0.01 * math.dist(x, z) ** 2), WIDE, WIDE)
    np.testing.assert_allclose(K, expected, rtol=1e-12)


def test_scale_is_that_of_scikit_learn():
    fitted, _ = fit_kernel(spec("rbf", gamma="scale"), X)
    assert fitted.params["gamma"] == pytest.approx(SVC().fit(X, np.arange(9) % 2)._gamma, rel=1e-14)


DISTANCES = {
    "rbf": lambda x, z: sum((x - z) ** 2),
    "laplacian": lambda x, z: sum(abs(x - z)),
    "chi2": lambda x, z: sum((x - z) ** 2 / (x + z)),
}


@pytest.mark.parametrize("kernel", DISTANCES)
def test_median_is_over_all_pairs_of_few_rows(kernel):
    rows = X + 0.1 * np.arange(1, 10)[:, None]
    pairs = [DISTANCES[kernel](rows[i], rows[j]) for i in range(9) for j in range(i)]
    fitted, _ = fit_kernel(spec(kernel, gamma="median"), rows)
    assert fitted.params["gamma"] == pytest.approx(1 / np.median(pairs), rel=1e-13)


def test_median_of_many_rows_is_deterministic_and_close():
    many = np.random.default_rng(1).normal(size=(1500, 2))
    first, _ = fit_kernel(spec("laplacian", gamma="median"), many)
    again, _ = fit_kernel(spec("laplacian", gamma="median"), many.copy())
    full = np.abs(many[:, None] - many).sum(-1)[np.triu_indices(1500, 1)]
    assert first.params == again.params
    assert first.params["gamma"] == pytest.approx(1 / np.median(full), rel=0.02)


def test_median_falls_back_to_the_mean_when_most_pairs_coincide():
    rows = np.array([[0.0]] * 9 + [[3.0]])
    fitted, _ = fit_kernel(spec("rbf", gamma="median"), rows)
    assert fitted.params["gamma"] == pytest.approx(45 / (9 * 9.0))


@pytest.mark.parametrize("n_columns", [1, 30])
@pytest.mark.parametrize("gamma", ["scale", "median"])
@pytest.mark.parametrize("kernel", DISTANCES)
def test_constant_columns_give_the_constant_kernel(kernel, gamma, n_columns):
    constant = np.full((7, n_columns), 0.1)
    fitted, K = fit_kernel(spec(kernel, gamma=gamma), constant)
    assert fitted.params["gamma"] == 1
    np.testing.assert_allclose(K, 1, rtol=1e-14)


def test_defaults_come_from_the_schema():
    fitted, _ = fit_kernel(spec("polynomial", gamma=1), X)
    defaults = {parameter.name: parameter.default for parameter in kernel_schema("polynomial")}
    assert fitted.params == {**defaults, "gamma": 1.0}


def test_whole_floats_serve_as_integers():
    fitted, _ = fit_kernel(spec("polynomial", degree=3.0), X)
    assert fitted.params["degree"] == 3 and isinstance(fitted.params["degree"], int)


@pytest.mark.parametrize("kernel", FORMULAS)
@given(data=st.data())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_gram_matrices_are_symmetric_and_positive_semidefinite(kernel, data):
    shape = data.draw(st.tuples(st.integers(1, 12), st.sampled_from([1, 3, 20])))
    values = st.floats(0 if kernel == "chi2" else -10, 10, width=32)
    _, K = fit_kernel(spec(kernel), data.draw(arrays(np.float64, shape, elements=values)))
    assert K.dtype == np.float64 and K.flags.c_contiguous
    assert np.array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] >= -1e-10 * max(np.trace(K), 1e-300)
