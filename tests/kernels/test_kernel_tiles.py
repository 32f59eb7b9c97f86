"""Kernels fitted and computed without their matrices: what the matrices would be, in little memory."""

import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle

import numpy as np
import pytest

from spnmkl import KernelError
from spnmkl.circuit.source import EveryKth, MatrixSource
from spnmkl.kernels import (
    NORMALIZATIONS,
    TileSource,
    compiled,
    fit_kernels,
    fit_source,
    fit_tiles,
    kernel_names,
    register_kernel,
    registry,
    tiles,
)
from spnmkl.kernels.reuse import Memory
from spnmkl.structure import SPN, Kernel, Product, Sum

RNG = np.random.default_rng(0)
X = RNG.random((60, 20))
X[4] = 0
MANY = RNG.random((1100, 18)) + 5  # more rows than are tested, or enter a median; an offset that costs digits
WIDTHS = {"polynomial": (0.3, "scale")} | dict.fromkeys(("rbf", "laplacian", "chi2"), (0.3, "scale", "median"))
TILES = [
    (slice(0, 60), slice(0, None)),
    (slice(8, 17), slice(8, None)),
    (slice(20, 22), slice(0, 30)),
    (slice(0, 60, 3), slice(0, 60, 3)),
    (slice(1, 9, 4), slice(5, None, 2)),
    (slice(40, 50), slice(0, 10)),
]


def structure(*leaves):
    return SPN(Sum(*(Product(leaf) for leaf in leaves)))


def every_kernel(*hows):
    """Every kernel and every kind of width, the normalisations in turn."""
    names, how = [name for name in kernel_names() if name != "precomputed"], cycle(hows)
    leaves = [Kernel(name, normalize=next(how)) for name in names]
    leaves += [Kernel(name, gamma=gamma, normalize=next(how)) for name, widths in WIDTHS.items() for gamma in widths]
    return structure(*leaves, *(Kernel("rbf", gamma=g, features=[2, 0], normalize=next(how)) for g in (1.0, "median")))


def assert_same(value, expected):
    if expected is None:
        assert value is None
    else:
        np.testing.assert_allclose(value, expected, rtol=1e-10, atol=1e-13)


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))


@pytest.mark.parametrize(
    ("hows", "samples"),
    [*(((how,), X) for how in NORMALIZATIONS), (tuple(NORMALIZATIONS), MANY)],
    ids=[*NORMALIZATIONS, "many rows"],
)
def test_tiles_are_cut_from_the_matrices(hows, samples):
    spn = every_kernel(*hows)
    matrices, expected = fit_kernels(spn, samples)
    source, fitted = fit_tiles(spn, samples)
    assert source.shape == (len(samples), len(samples)) and list(fitted) == list(expected)
    for leaf, kernel in fitted.items():
        assert kernel.spec == expected[leaf].spec and kernel.columns == expected[leaf].columns
        for name, value in expected[leaf].params.items():
            assert kernel.params[name] == pytest.approx(value, rel=1e-12)
        for name, value in vars(expected[leaf].statistics).items():
            assert_same(vars(kernel.statistics)[name], value)
    for rows, columns in TILES:
        for leaf, tile in zip(spn.kernels, source.tiles(spn.kernels, rows, columns), strict=True):
            assert tile.dtype == np.float64 and tile.flags.c_contiguous
            scale = np.abs(matrices[leaf]).max()
            np.testing.assert_allclose(tile, matrices[leaf][rows, columns], atol=1e-11 * scale)


def test_the_diagonal_is_exact_however_narrow_the_kernel():
    source, _ = fit_tiles(structure(Kernel("rbf", gamma=1e15)), MANY)
    (tile,) = source.tiles(list(source.fitted), slice(600, 640), slice(600, None))
    assert np.array_equal(np.diagonal(tile), np.ones(40))


def test_kernels_fitted_without_matrices_predict_the_same():
    spn = every_kernel("centred")
    expected, fitted = fit_kernels(spn, X)[1], fit_tiles(spn, X)[1]
    for leaf in spn.kernels:
        assert_same(fitted[leaf].cross(X[:7] + 0.1), expected[leaf].cross(X[:7] + 0.1))


def test_only_the_asked_leaves_columns_and_distances_are_computed(monkeypatch):
    shapes = []
    rbf = registry.get("rbf")
    distance = rbf.function

    def counted(X, Z, memory):
        shapes.append((X.shape, Z.shape))
        return distance(X, Z, memory)

    monkeypatch.setitem(
        registry._KERNELS, "rbf", registry.RegisteredKernel("rbf", counted, rbf.schema, None, rbf.finish)
    )
    spn = structure(
        *(Kernel("rbf", gamma=g) for g in (1, 2, 1)), Kernel("rbf", gamma=1, features=[0]), Kernel("linear")
    )
    source, _ = fit_tiles(spn, X)
    shapes.clear()
    first, second, again, _, linear = spn.kernels
    found = source.tiles([first, second, again, linear], slice(10, 14), slice(10, None))
    assert shapes == [((4, 20), (50, 20))]
    assert found[0] is found[2] and not np.shares_memory(found[0], found[1])


def test_matrices_are_held_where_they_fit():
    spn = structure(Kernel("rbf", gamma=1), Kernel("rbf", gamma=1.0), Kernel("linear"))
    held, _ = fit_source(spn, X, max_bytes=2 * 8 * 60**2)  # equal leaves share one
    tiled, _ = fit_source(spn, X, max_bytes=2 * 8 * 60**2 - 1)
    assert isinstance(held, MatrixSource) and isinstance(tiled, TileSource)
    names = [f"c{k}" for k in range(20)]
    source, _ = fit_source(structure(Kernel("linear", features=["c3"])), X, names, max_bytes=0)
    assert isinstance(source, TileSource)


def test_tiles_stay_as_they_are_while_they_are_held():
    spn = every_kernel("unit_diagonal")
    source, _ = fit_tiles(spn, X)
    held = [tile[:, 2:] for tile in source.tiles(spn.kernels, slice(0, 8), slice(0, None))]
    before = [tile.copy() for tile in held]
    source.tiles(spn.kernels, slice(8, 16), slice(8, None))
    assert all(np.array_equal(tile, copy) for tile, copy in zip(held, before, strict=True))


def test_memory_comes_back_with_the_last_view():
    memory = Memory(12)
    first = memory.lend((3, 4))
    first[:] = 1.0
    address, view = first.ctypes.data, first[1:]
    del first
    assert memory.lend((2, 2)).ctypes.data != address
    del view
    assert memory.lend((2, 6)).ctypes.data == address
    assert memory.lend((4, 4)).shape == (4, 4)  # larger than what is kept


def test_threads_get_their_own_memory():
    spn = every_kernel("centred")
    source, _ = fit_tiles(spn, MANY[:200])
    expected = source.tiles(spn.kernels, slice(0, None), slice(0, None))
    barrier = threading.Barrier(4)

    def differs(worker):
        barrier.wait()
        worst = 0.0
        for first in range(worker, 200, 20):
            rows = slice(first, first + 9)
            found = source.tiles(spn.kernels, rows, slice(first, None))
            pairs = zip(found, expected, strict=True)
            worst = max(worst, *(np.abs(tile - K[rows, first:]).max() for tile, K in pairs))
        return worst

    with ThreadPoolExecutor(4) as pool:
        assert max(pool.map(differs, range(4))) <= 1e-9


def test_a_sample_of_tiles_equals_that_of_matrices():
    spn = every_kernel("unit_variance")
    matrices, _ = fit_kernels(spn, X)
    copies = EveryKth(fit_tiles(spn, X)[0], 7).matrices(spn.kernels)
    for leaf in spn.kernels:
        assert_same(copies[leaf], matrices[leaf][::7, ::7])


@pytest.mark.usefixtures("own_registry")
@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda X, Z: X[:, [2]] * np.ones(len(Z)), "Kernel 'own' of leaf 'mine' gives a matrix that is not symmetric"),
        (lambda X, Z: -np.ones((len(X), len(Z))), "of leaf 'mine' gives a matrix that is not positive semidefinite"),
        (lambda X, Z: np.full((len(X), len(Z)), np.nan), "of leaf 'mine' gives a matrix that holds NaN or infinity"),
    ],
)
def test_what_is_no_kernel_is_refused(function, message):
    register_kernel("own", function)
    with pytest.raises(KernelError, match=message):
        fit_tiles(structure(Kernel("own", label="mine")), MANY)


@pytest.mark.usefixtures("own_registry")
def test_nan_between_two_rows_is_found_when_they_meet():
    def odd(X, Z):
        meeting = (X[:, :1] == MANY[1, 0]) & (Z[:, 0] == MANY[3, 0])
        return np.where(meeting, np.nan, X @ Z.T)

    register_kernel("odd", odd)
    source, _ = fit_tiles(structure(Kernel("odd")), MANY)
    with pytest.raises(KernelError, match="Kernel 'odd' gives a matrix that holds NaN or infinity"):
        source.tiles(list(source.fitted), slice(0, 8), slice(0, None))


def test_overflow_is_found_on_any_row():
    large = MANY.copy()
    large[1] = 1e90  # not among the rows that are tested
    with pytest.raises(
        KernelError, match="Kernel 'polynomial' of leaf 'cubic' gives a matrix that holds NaN or infinity"
    ):
        fit_tiles(structure(Kernel("polynomial", degree=5, gamma=1.0, label="cubic")), large)


def test_signs_are_checked():
    with pytest.raises(KernelError, match="needs values of 0 or more, but column 3 holds -1"):
        fit_tiles(structure(Kernel("chi2")), np.where(np.arange(20) == 3, -1.0, X))


def test_fitting_and_tiles_take_a_fraction_of_a_matrix(monkeypatch):
    monkeypatch.setattr(tiles, "_TILE_BYTES", 2**20)
    n = 1100
    spn = structure(
        *(Kernel("rbf", gamma=g, normalize=how) for g in (0.1, 1, 3) for how in ("centred", "unit_diagonal"))
    )
    fit_tiles(spn, MANY[:50])
    tracemalloc.start()
    try:
        source, _ = fit_tiles(spn, MANY)
        step = source.rows_per_tile()
        for first in range(0, n, step):
            source.tiles(spn.kernels, slice(first, min(first + step, n)), slice(first, None))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 0.5 * 8 * n**2


@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_our_exponential_is_right_to_two_units_in_the_last_place(number):
    form = np.finfo(number)
    x = np.linspace(0, -np.log(form.tiny) - 1, 100_001).astype(number)[None]
    out = np.empty(x.shape)
    compiled.decay(x, number(1), out)
    assert out[0, 0] == 1
    np.testing.assert_allclose(out, np.exp(-x.astype(np.longdouble)), rtol=2 * form.eps)
    compiled.decay(np.array([[1e4, form.max]], number), number(1), out[:, :2])
    assert np.array_equal(out[:, :2], [[0, 0]])


def test_powers_of_negative_numbers_are_powers():
    x, out = RNG.normal(size=(3, 40)), np.empty((3, 40))
    for degree in (1, 2, 3, 7, 100):
        compiled.power(x, degree, 0.5, 0.1, out)
        np.testing.assert_allclose(out, (0.5 * x + 0.1) ** degree, rtol=4 * degree * np.finfo(float).eps)


def test_single_precision_costs_little_and_is_left_where_it_would_cost_much():
    narrow = Kernel("rbf", gamma=1e4, label="narrow")
    kinds = [Kernel(name, normalize="none") for name in kernel_names() if name != "precomputed"]
    spn = structure(narrow, *kinds)
    source, _ = fit_tiles(spn, MANY[:300])
    rough = source.in_single()
    others = list(spn.kernels)[1:]
    where = slice(20, 60), slice(20, None)
    (exact, *values), (same, *close) = source.tiles(spn.kernels, *where), rough.tiles(spn.kernels, *where)
    assert np.array_equal(exact, same)
    for leaf, value, found in zip(others, values, close, strict=True):
        assert found.dtype == np.float64
        assert not np.array_equal(value, found) or spn.spec(leaf).kernel == "hamming"
        np.testing.assert_allclose(found, value, atol=tiles._SINGLE_ERROR * np.abs(value).max())
    assert rough.among(np.arange(30)).single


@pytest.mark.parametrize("size", [1e-30, 1e-22, 1e22, 1e30])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian", "chi2", "linear", "polynomial", "cosine"])
def test_single_precision_is_left_where_it_cannot_hold_the_numbers(kernel, size):
    gamma = (
        {} if kernel in ("linear", "cosine") else {"gamma": "median" if kernel in ("laplacian", "chi2") else "scale"}
    )
    spn = structure(Kernel(kernel, normalize="none", **gamma))
    source, _ = fit_tiles(spn, size * np.abs(MANY[:60]))
    whole = spn.kernels, slice(None), slice(None)
    (exact,), (found,) = source.tiles(*whole), source.in_single().tiles(*whole)
    np.testing.assert_allclose(found, exact, atol=tiles._SINGLE_ERROR * np.abs(exact).max())
