"""Rows in compressed form (CSR) are computed with as they are, and give what dense ones give."""

import json
import tracemalloc
import zipfile

import numpy as np
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix, issparse, random_array

from spnmkl import DataError, KernelError, ModelFileError
from spnmkl.estimator import SPNMKLClassifier
from spnmkl.inspection import decision_gradient
from spnmkl.kernels import NORMALIZATIONS, TileSource, cross_kernels, fit_kernels, fit_tiles
from spnmkl.model_file import _Reader
from spnmkl.structure import Kernel, templates

RNG = np.random.default_rng(0)
X = np.where(RNG.random((60, 25)) < 0.2, RNG.integers(1, 5, (60, 25)), 0.0)
X[7] = 0
NEW = np.where(RNG.random((9, 25)) < 0.2, RNG.integers(1, 5, (9, 25)), 0.0)
y = np.where(X[:, :5].sum(axis=1) > X[:, 5:10].sum(axis=1), "yes", "no")
KERNELS = [
    Kernel(name, normalize=how, **given)
    for how in NORMALIZATIONS
    for name, given in (
        ("linear", {}),
        ("polynomial", {"degree": 3}),
        ("cosine", {"features": [3, 1, 7]}),
        ("rbf", {}),
        ("rbf", {"gamma": "2*median"}),
        ("rbf", {"gamma": 0.2, "features": [0, 2]}),
    )
]
SPN = templates.flat(KERNELS)
FOUR: dict[str, dict] = {"linear": {}, "polynomial": {"degree": 2}, "cosine": {}, "rbf": {"gamma": 0.05}}


def test_matrices_tiles_and_new_rows_are_those_of_dense_rows() -> None:
    dense, fitted = fit_kernels(SPN, X)
    sparse, own = fit_kernels(SPN, csr_array(X))
    source, _ = fit_tiles(SPN, csr_array(X))
    rough = source.in_single()
    part = slice(3, 20), slice(3, None)
    new, both = cross_kernels(fitted, NEW), [cross_kernels(own, rows) for rows in (csr_array(NEW), NEW)]
    for leaf, tile, single in zip(
        SPN.kernels, source.tiles(SPN.kernels, *part), rough.tiles(SPN.kernels, *part), strict=True
    ):
        assert issparse(own[leaf].X_ref) and own[leaf].params == pytest.approx(fitted[leaf].params, rel=1e-12)
        scale = np.abs(dense[leaf]).max()
        np.testing.assert_allclose(sparse[leaf], dense[leaf], atol=1e-12 * scale)
        np.testing.assert_allclose(tile, dense[leaf][part], atol=1e-12 * scale)
        np.testing.assert_allclose(single, dense[leaf][part], atol=1e-4 * scale)
        for found in both:
            np.testing.assert_allclose(found[leaf], new[leaf], atol=1e-12 * scale)
    np.testing.assert_allclose(cross_kernels(fitted, csr_matrix(NEW))[leaf], new[leaf])


@pytest.mark.parametrize("max_memory", [None, 0])
def test_a_model_of_sparse_rows_is_that_of_dense_ones_and_stays_sparse_in_its_file(max_memory, tmp_path) -> None:
    model = SPNMKLClassifier(SPN, C=2.0, tol=1e-7, max_memory=max_memory).fit(csr_matrix(X), y)
    dense = SPNMKLClassifier(SPN, C=2.0, tol=1e-7).fit(X, y)
    assert model.status_ == "optimal" and model.objective_ == pytest.approx(dense.objective_, rel=1e-6)
    for rows in (NEW, csr_array(NEW)):
        np.testing.assert_allclose(model.decision_function(rows), dense.decision_function(NEW), atol=1e-2)
        np.testing.assert_allclose(dense.decision_function(rows), dense.decision_function(NEW), atol=1e-9)
    model.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as archive:
        assert json.loads(archive.read("model.json"))["version"] == 2, "earlier releases cannot read it, and say so"
    again = SPNMKLClassifier.load(tmp_path / "model")
    assert all(issparse(kernel.X_ref) for kernel in again.kernels_.values())
    assert np.array_equal(again.decision_function(NEW), model.decision_function(NEW))


def test_wide_rows_are_never_made_dense() -> None:
    n, d = 120, 40_000
    wide = csr_array(random_array((n, d), density=1e-3, rng=RNG, format="csr"))
    for structure in (None, templates.flat([Kernel("linear"), Kernel("cosine"), Kernel("rbf")])):
        tracemalloc.start()
        try:
            model = SPNMKLClassifier(structure, C=1.0, n_threads=1).fit(wide, np.arange(n) % 2)
            model.predict(wide)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert model.status_ == "optimal" and peak < 8 * n * d / 3


@pytest.mark.parametrize("max_memory", [None, 0], ids=["matrices", "tiles"])
def test_rows_that_would_be_far_beyond_memory_if_they_were_dense(max_memory, tmp_path) -> None:
    n, words, of_a_row = 800, 2**22, 12  # 27 GB
    rng = np.random.default_rng(1)
    topic = np.arange(n) % 2
    columns = np.where(rng.random((n, of_a_row)) < 0.5, rng.integers(words, size=(n, of_a_row)), 7000 * topic[:, None])
    wide = csr_array((np.ones(columns.size), (np.arange(n).repeat(of_a_row), columns.ravel())), shape=(n, words))
    spn = templates.flat([Kernel(name, **given) for name, given in FOUR.items()])
    tracemalloc.start()
    try:
        model = SPNMKLClassifier(spn, C=1.0, n_threads=1, max_memory=max_memory).fit(wide, topic)
        model.save(tmp_path / "model")
        again = SPNMKLClassifier.load(tmp_path / "model")
        answers = again.predict(wide[:100])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert model.status_ == "optimal" and np.mean(answers == topic[:100]) > 0.9
    assert peak < 8 * n * words / 50


@pytest.mark.parametrize(
    "kind", ["explicit zeros", "duplicates", "columns", "float32", "whole numbers", "32-bit indices"]
)
def test_however_the_same_rows_are_stored(kind) -> None:
    rows = csr_array(X)
    if kind == "explicit zeros":
        rows = rows + csr_array((np.ones(25), (np.arange(25), np.arange(25))), shape=X.shape)
        rows[np.arange(25), np.arange(25)] = X[np.arange(25), np.arange(25)]
        assert (rows.data == 0).any()
    elif kind == "duplicates":
        whole = coo_array(X)
        twice = [np.concatenate([part, part[::-1]]) for part in (whole.data / 2, *whole.coords)]
        rows = coo_array((twice[0], tuple(twice[1:])), shape=X.shape)
    elif kind == "32-bit indices":
        rows = csr_array((rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32)), shape=X.shape)
    else:
        rows = csc_array(rows) if kind == "columns" else rows.astype(np.float32 if kind == "float32" else np.int64)
    spn = templates.flat([Kernel(name, **given) for name, given in FOUR.items()])
    expected, found = (SPNMKLClassifier(spn, C=2.0, tol=1e-7).fit(given, y) for given in (X, rows))
    assert all(issparse(kernel.X_ref) for kernel in found.kernels_.values())
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    np.testing.assert_allclose(found.decision_function(rows), expected.decision_function(X), atol=1e-2)


def test_a_single_column_and_rows_that_are_empty() -> None:
    one = np.where(np.arange(60) % 3 == 0, 0.0, np.arange(60.0) - 30)[:, None]
    labels = one[:, 0] > 0
    spn = templates.flat([Kernel("linear", normalize="none"), Kernel("rbf", gamma=0.1)])
    expected, found = (SPNMKLClassifier(spn, C=1.0, tol=1e-7).fit(rows, labels) for rows in (one, csr_array(one)))
    assert found.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    empty = csr_array((3, 1))
    np.testing.assert_allclose(found.decision_function(empty), expected.decision_function(np.zeros((3, 1))), atol=1e-3)


def test_without_a_structure_columns_are_scaled_but_not_moved() -> None:
    wide = X * 4.0 ** np.arange(-10, 15)  # which rounds nothing
    one, other = (SPNMKLClassifier(C=1.0).fit(csr_array(rows), y) for rows in (X, wide))
    assert not one.centre_.any()
    np.testing.assert_allclose(other.decision_function(csr_array(wide)), one.decision_function(X), atol=1e-9)
    weight = np.arange(60) % 3
    weighted = SPNMKLClassifier(C=1.0).fit(csr_array(X), y, sample_weight=weight)
    np.testing.assert_allclose(weighted.spread_[0] ** 2, np.average(X[:, 0] ** 2, weights=weight))


def test_what_cannot_be_done_with_sparse_rows_is_refused_in_words() -> None:
    rows = csr_array(X)
    with pytest.raises(KernelError, match=r"'chi2' of leaf .* cannot be computed from sparse rows, only linear, "):
        SPNMKLClassifier(templates.flat([Kernel("chi2")])).fit(rows, y)
    with pytest.raises(KernelError, match="asks for column 'age', but"):
        SPNMKLClassifier(templates.flat(["age"])).fit(rows, y)
    rows.data[3] = 1e200
    with pytest.raises(DataError, match=f"beyond 1e\\+100 in column {rows.indices[3]}"):
        fit_kernels(SPN, rows)
    spn = templates.flat([Kernel("linear")])
    model = SPNMKLClassifier(spn).fit(csr_array(X), y)
    with pytest.raises(DataError, match=r"dense rows only; train on X.toarray\(\)"):
        decision_gradient(model.solution_, fit_kernels(spn, csr_array(X))[1], X)


@pytest.mark.parametrize(("name", "wrong"), [("X_ref_starts", 5), ("X_ref_columns", 25), ("X_ref_values", np.nan)])
def test_a_damaged_file_of_sparse_rows_is_refused(name, wrong, tmp_path, monkeypatch) -> None:
    SPNMKLClassifier(templates.flat([Kernel("linear")])).fit(csr_array(X), y).save(tmp_path / "model")
    before = _Reader.__init__

    def damaged(self, file, document, arrays):
        arrays[name] = arrays[name].copy()
        arrays[name][0] = wrong
        before(self, file, document, arrays)

    monkeypatch.setattr(_Reader, "__init__", damaged)
    with pytest.raises(ModelFileError, match=r"X_ref|parts of sparse rows"):
        SPNMKLClassifier.load(tmp_path / "model")


def test_tiles_of_sparse_rows_can_be_asked_for_some_rows() -> None:
    source, _ = fit_tiles(SPN, csr_array(X))
    assert isinstance(source, TileSource)
    rows, everything = np.array([4, 9, 30]), slice(None)
    some = source.among(rows).tiles(SPN.kernels, everything, everything)
    for found, whole in zip(some, source.tiles(SPN.kernels, everything, everything), strict=True):
        np.testing.assert_allclose(found, whole[np.ix_(rows, rows)], atol=1e-12 * np.abs(whole).max())
