"""Fitted kernels: new samples, fewer references, files, and what leaves share."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from spnmkl.kernels import (
    NORMALIZATIONS,
    FittedKernel,
    Parameter,
    cross_kernels,
    fit_kernel,
    fit_kernels,
    fit_tiles,
    kernel_names,
    kernel_schema,
    register_kernel,
    registry,
    restrict_kernels,
)
from spnmkl.structure import SPN, Kernel, KernelSpec, Product, Sum

RNG = np.random.default_rng(0)
X = RNG.random((30, 20))
X[4] = 0
NEW = np.round(RNG.random((11, 20)), 1)
NAMES = [f"column {i}" for i in range(20)]
COMPUTED = [name for name in kernel_names() if name != "precomputed"]
SPECS = [
    KernelSpec(kernel, features=features, normalize=normalize)
    for kernel in COMPUTED
    for normalize in NORMALIZATIONS
    for features in (None, (3, "column 7", 1))
]


def spec_id(spec):
    return f"{spec.kernel}-{spec.normalize}-{'all' if spec.features is None else 'some'}"


def structure(*leaves):
    return SPN(Sum(*(Product(leaf) for leaf in leaves)))


@pytest.fixture
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_KERNELS", dict(registry._KERNELS))


@pytest.mark.parametrize("spec", SPECS, ids=spec_id)
def test_training_rows_meet_their_training_matrix_again(spec):
    fitted, K = fit_kernel(spec, X, NAMES)
    assert K.shape == (30, 30) and K.dtype == np.float64 and K.flags.c_contiguous and np.array_equal(K, K.T)
    np.testing.assert_allclose(fitted.cross(X), K, atol=1e-12)
    np.testing.assert_allclose(fitted.cross(X[5:8]), K[5:8], atol=1e-12)


@pytest.mark.parametrize("spec", SPECS, ids=spec_id)
def test_restricted_kernels_give_the_same_columns(spec):
    fitted, _ = fit_kernel(spec, X, NAMES)
    rows = np.array([4, 20, 7])
    restricted = fitted.restrict(rows)
    assert restricted.n_reference == 3
    np.testing.assert_allclose(restricted.cross(NEW), fitted.cross(NEW)[:, rows], atol=1e-13)
    twice = restricted.restrict(np.array([False, True, True]))
    np.testing.assert_allclose(twice.cross(NEW), fitted.cross(NEW)[:, [20, 7]], atol=1e-13)


@pytest.mark.parametrize("spec", SPECS, ids=spec_id)
def test_state_survives_json(spec):
    fitted = fit_kernel(spec, X, NAMES)[0].restrict(np.array([2, 9, 4]))
    state = fitted.state()
    arrays = {key: value for key, value in state.items() if isinstance(value, np.ndarray)}
    assert all(value.dtype == np.float64 for value in arrays.values())
    plain = json.loads(json.dumps({key: value for key, value in state.items() if key not in arrays}))
    loaded = FittedKernel.from_state({**plain, **arrays}, fitted.X_ref)
    assert loaded.spec == spec and loaded.params == fitted.params and loaded.X_ref is fitted.X_ref
    assert np.array_equal(loaded.cross(NEW), fitted.cross(NEW))


def test_columns_by_name_and_by_position_are_the_same():
    _, by_name = fit_kernel(KernelSpec("rbf", features=("column 2", 0)), X, NAMES)
    _, by_position = fit_kernel(KernelSpec("rbf", features=(2, 0)), X)
    _, alone = fit_kernel(KernelSpec("rbf"), X[:, [2, 0]])
    assert np.array_equal(by_name, by_position) and np.array_equal(by_name, alone)


def test_repeated_columns_count_repeatedly():
    _, repeated = fit_kernel(KernelSpec("linear", features=(0, 0, 1), normalize="none"), X[:, :3])
    np.testing.assert_allclose(repeated, X[:, [0, 0, 1]] @ X[:, [0, 0, 1]].T, atol=1e-14)


def test_fitting_and_predicting_leave_the_samples_alone():
    before, new = X.copy(), NEW.copy()
    matrices, fitted = fit_kernels(structure(*(Kernel(name) for name in COMPUTED)), X)
    cross_kernels(fitted, new)
    assert np.array_equal(X, before) and np.array_equal(new, NEW)
    assert not any(np.shares_memory(K, X) for K in matrices.values())
    assert all(kernel.X_ref is X for kernel in fitted.values())


def many_leaves():
    leaves = [Kernel("rbf", gamma=gamma, normalize=how) for gamma in (0.1, "median") for how in NORMALIZATIONS]
    leaves += [Kernel("rbf", gamma=0.1, features=[0, 1]), Kernel("rbf", gamma=2, features=["column 0", 1])]
    leaves += [
        Kernel("laplacian", gamma="scale"),
        Kernel("laplacian"),
        Kernel("chi2"),
        Kernel("chi2", gamma=1),
    ]
    leaves += [Kernel("polynomial", degree=d, normalize=how) for d in (1, 2, 3) for how in NORMALIZATIONS]
    return [
        *leaves,
        Kernel("linear"),
        Kernel("cosine"),
        Kernel("hamming"),
        Kernel("linear", normalize="none"),
    ]


def test_leaves_computed_together_equal_leaves_computed_alone():
    spn = structure(*many_leaves())
    matrices, fitted = fit_kernels(spn, X, NAMES)
    crossed = cross_kernels(fitted, NEW)
    assert list(matrices) == list(fitted) == list(crossed) == list(spn.kernels)
    for leaf in spn.kernels:
        alone, K = fit_kernel(spn.spec(leaf), X, NAMES)
        assert fitted[leaf].params == alone.params and fitted[leaf].spec == spn.spec(leaf)
        np.testing.assert_allclose(matrices[leaf], K, atol=1e-14)
        np.testing.assert_allclose(crossed[leaf], alone.cross(NEW), atol=1e-14)


def test_equal_leaves_share_one_array_and_others_do_not():
    leaves = [Kernel("rbf", gamma=1), Kernel("linear"), Kernel("rbf", gamma=1.0), Kernel("rbf", gamma=2)]
    spn = structure(*leaves)
    matrices, fitted = fit_kernels(spn, X)
    first, linear, second, other = spn.kernels
    assert matrices[first] is matrices[second] and fitted[first] is fitted[second]
    assert not np.shares_memory(matrices[first], matrices[other])
    assert not np.shares_memory(matrices[first], matrices[linear])
    crossed = cross_kernels(fitted, NEW)
    assert crossed[first] is crossed[second]


def test_distances_are_computed_once_per_set_of_columns(monkeypatch):
    calls = []

    rbf = registry.get("rbf")

    def counted(X, Z, memory):
        calls.append((len(X), *Z.shape))
        return rbf.function(X, Z, memory)

    monkeypatch.setitem(registry._KERNELS, "rbf", replace(rbf, function=counted))
    leaves = [Kernel("rbf", gamma=g, features=f) for g in (0.1, 1, "median") for f in ([0], [1, 2])]
    _, fitted = fit_kernels(structure(*leaves), X)
    cross_kernels(fitted, NEW)
    assert calls == [(30, 30, 1), (30, 30, 2), (11, 30, 1), (11, 30, 2)]


@pytest.mark.parametrize("how", [["unit_diagonal", "none"], ["unit_diagonal", "centred"]])
def test_restricting_all_leaves_keeps_one_array_of_rows(how):
    spn = structure(*(Kernel("linear", normalize=h) for h in how), Kernel("rbf"), Kernel("rbf"))
    _, fitted = fit_kernels(spn, X)
    rows = np.array([9, 2, 25])
    restricted = restrict_kernels(fitted, rows)
    first, *others = restricted.values()
    assert all(kernel.X_ref is first.X_ref for kernel in others)
    assert len(first.X_ref) == (30 if "centred" in how else 3)
    assert len({id(kernel) for kernel in restricted.values()}) == 3
    before, after = cross_kernels(fitted, NEW), cross_kernels(restricted, NEW)
    for leaf in spn.kernels:
        np.testing.assert_allclose(after[leaf], before[leaf][:, rows], atol=1e-14)


def test_predicting_in_tiles_equals_predicting_at_once():
    _, fitted = fit_kernels(structure(Kernel("linear", normalize="centred"), Kernel("rbf")), X)
    for kernel in fitted.values():
        tiles = [kernel.cross(NEW[i : i + 4]) for i in range(0, len(NEW), 4)]
        np.testing.assert_allclose(np.vstack(tiles), kernel.cross(NEW), atol=1e-14)


def cauchy(X, Z, width):
    return 1 / (1 + ((X[:, None] - Z[None]) ** 2).sum(-1) / width**2)


WIDTH = Parameter("width", "float", 1.5, minimum=0, exclusive_minimum=True, help="Where it has halved.")


@pytest.mark.parametrize("normalize", NORMALIZATIONS)
@pytest.mark.parametrize("diagonal", [None, lambda X, width: np.ones(len(X))])
def test_a_registered_kernel_works_end_to_end(own_registry, normalize, diagonal):
    register_kernel("cauchy", cauchy, [WIDTH], diagonal=diagonal)
    assert kernel_names()[-1] == "cauchy" and kernel_schema("cauchy") == (WIDTH,)
    spn = structure(Kernel("cauchy", normalize=normalize), Kernel("cauchy", width=3, normalize=normalize))
    matrices, fitted = fit_kernels(spn, X)
    if normalize == "none":
        np.testing.assert_allclose(matrices[spn.kernels[1]], cauchy(X, X, 3), atol=1e-14)
    for leaf in spn.kernels:
        np.testing.assert_allclose(fitted[leaf].cross(X), matrices[leaf], atol=1e-12)
        loaded = FittedKernel.from_state(fitted[leaf].state(), X).restrict(np.arange(4))
        np.testing.assert_allclose(loaded.cross(NEW), fitted[leaf].cross(NEW)[:, :4], atol=1e-13)


def test_a_registered_kernel_may_keep_its_array(own_registry):
    kept = 4.0 * np.eye(30)
    register_kernel("kept", lambda X, Z: kept)
    _, K = fit_kernel(KernelSpec("kept"), X)
    assert np.array_equal(K, np.eye(30)) and np.array_equal(kept, 4 * np.eye(30))


def test_schemas_can_be_shown_in_a_form():
    for name in kernel_names():
        for parameter in kernel_schema(name):
            assert parameter.accepts(parameter.default) and parameter.help.endswith(".")
            assert parameter.type in ("float", "int", "choice", "float_or_choice")


@pytest.mark.parametrize("value", [0, -1.0, True, None, "wide", [1.0], np.inf, np.nan, 10**400])
def test_parameters_refuse_what_is_no_such_number(value):
    assert not WIDTH.accepts(value)


def test_parameters_say_what_they_accept():
    below = Parameter("share", "float", 0.5, maximum=1, exclusive_maximum=True)
    assert below.expected() == "a number below 1" and below.accepts(-3) and not below.accepts(1)
    kind = Parameter("kind", "choice", "soft", choices=("soft", "hard"))
    assert kind.expected() == "'soft' or 'hard'" and kind.accepts("hard") and not kind.accepts(1)
    assert Parameter("any", "float", 0.0).expected() == "a number"


@pytest.mark.parametrize("name", COMPUTED)
def test_arrays_that_cannot_be_written_to_will_do(name: str) -> None:
    X = np.random.default_rng(0).uniform(0.1, 1.0, (6, 3))
    expected = fit_kernel(KernelSpec(name), X)[1]
    X.setflags(write=False)
    fitted, K = fit_kernel(KernelSpec(name), X)
    np.testing.assert_array_equal(K, expected)
    np.testing.assert_allclose(cross_kernels({"k": fitted}, X)["k"], K, atol=1e-12)


def test_a_data_frame_names_its_columns():
    spn = SPN(Sum(Product(Kernel("rbf", features=["column 7"])), Product(Kernel("linear", features=["column 1", 3]))))
    frame = pd.DataFrame(X, columns=NAMES)
    expected = fit_kernels(spn, X, NAMES)[0]
    matrices, tiled, named = fit_kernels(spn, frame)[0], fit_tiles(spn, frame)[1], fit_tiles(spn, X, NAMES)[1]
    for leaf, K in expected.items():
        np.testing.assert_array_equal(matrices[leaf], K)
        np.testing.assert_array_equal(tiled[leaf].cross(NEW), named[leaf].cross(NEW))
    spec = spn.spec(next(iter(expected)))
    np.testing.assert_array_equal(fit_kernel(spec, frame)[1], fit_kernel(spec, X, NAMES)[1])
    swapped = fit_kernels(spn, frame, NAMES[::-1])[0]
    assert all((swapped[leaf] != K).any() for leaf, K in expected.items())
