"""Kernel images against block means, the projection against scikit-learn."""

from itertools import pairwise

import numpy as np
import pytest
from oracles import Array
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.decomposition import KernelPCA
from small_runs import Trained, trained
from tolerances import ROUNDING

from spnmkl import ParameterError, StructureError
from spnmkl.kernels import alignment
from spnmkl.reporting import kernel_views
from spnmkl.reporting.kernel_views import kernel_image, leading_components, projection

# Eigenvectors found by iteration.
COMPONENTS = 1e-6


@pytest.fixture(params=[2, 3], ids=["binary", "multiclass"])
def case(request: pytest.FixtureRequest) -> Trained:
    return trained(request.param)


def sorted_kernel(K: Array, y: np.ndarray) -> Array:
    order = np.argsort(y, kind="stable")
    return K[np.ix_(order, order)]


def test_small_kernels_are_shown_as_they_are(case: Trained) -> None:
    image = kernel_image(case.run, case.prepared, case.run.spn.root)
    y = case.prepared.y_train
    np.testing.assert_allclose(image.cells, sorted_kernel(case.learned(), y), atol=ROUNDING)
    classes, counts = np.unique(y, return_counts=True)
    assert image.classes == tuple(classes)
    assert image.boundaries == tuple(np.cumsum(counts))


@pytest.mark.parametrize("most", [3, 7, 20, 56])
@pytest.mark.parametrize("node", ["near", "joint", "choice"])
def test_cells_are_means_over_blocks_of_one_class(case: Trained, node: str, most: int) -> None:
    image = kernel_image(case.run, case.prepared, node, most)
    y = case.prepared.y_train
    if node == "near":
        K = case.prepared.kernels["near"]
    else:
        met = {"joint": {"joint"}, "choice": {"p7"}}[node]
        parts = zip(case.g, case.path_kernels(), strict=True)
        K = sum(g * K_m for m, (g, K_m) in enumerate(parts) if case.nodes(m) & met)
    K, (classes, counts) = sorted_kernel(K, y), np.unique(y, return_counts=True)
    means, cells = kernel_views._cells(np.searchsorted(classes, y), most)
    rows = np.diff(means.indptr)  # of every cell
    np.testing.assert_array_equal(np.cumsum(cells), image.boundaries)
    assert image.boundaries[-1] == len(image.cells) == len(rows) <= most
    for of_class, count in zip(np.split(rows, image.boundaries[:-1]), counts, strict=True):
        assert of_class.sum() == count
        assert of_class.max() - of_class.min() <= 1
    edges = list(pairwise([0, *np.cumsum(rows)]))
    expected = [[K[top:bottom, left:right].mean() for left, right in edges] for top, bottom in edges]
    np.testing.assert_allclose(image.cells, expected, atol=ROUNDING)


def test_many_classes_share_the_cells() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        sizes = rng.integers(1, 40, size=rng.integers(2, 12))
        most = int(rng.integers(len(sizes), 60))
        means, cells = kernel_views._cells(np.repeat(np.arange(len(sizes)), sizes), most)
        assert (cells >= 1).all()
        assert (cells <= sizes).all()
        assert cells.sum() == means.shape[0] <= most
        assert (np.diff(means.indptr) > 0).all()
        np.testing.assert_allclose(means.sum(axis=1), 1)


def test_alignment_is_that_of_the_kernel(case: Trained) -> None:
    y = case.prepared.y_train
    for node, K in {"far": case.prepared.kernels["far"], case.run.spn.root: case.learned()}.items():
        assert kernel_image(case.run, case.prepared, node, 5).alignment == pytest.approx(alignment(K, y), abs=ROUNDING)


def test_images_that_are_none() -> None:
    case = trained(3)
    with pytest.raises(ParameterError) as refused:
        kernel_image(case.run, case.prepared, "near", 2)
    assert str(refused.value) == ("most must be a whole number of at least 3, a cell for every class, but it is 2.")
    with pytest.raises(StructureError, match="'nowhere'"):
        kernel_image(case.run, case.prepared, "nowhere")


def up_to_sign(found: Array, expected: Array, atol: float) -> None:
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=atol * np.abs(expected).max())


@pytest.mark.parametrize("small", [100, 0], ids=["all eigenvectors", "few eigenvectors"])
def test_the_projection_is_kernel_pca(case: Trained, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_views, "_SMALL", small)
    table = projection(case.run, case.prepared)
    oracle = KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit(case.learned())
    for part, K in (("train", case.learned()), ("test", case.learned("test"))):
        found = table[table["part"] == part][["x", "y"]].to_numpy()
        up_to_sign(found, oracle.transform(K), COMPONENTS)
    again = projection(case.run, case.prepared)
    np.testing.assert_array_equal(table["x"], again["x"])


def test_what_else_the_projection_tells(case: Trained) -> None:
    table, frame = projection(case.run, case.prepared), case.dataset.frame
    for part, scores in (("train", case.run.train_scores), ("test", case.run.test_scores)):
        rows = table[table["part"] == part]
        assert (frame["class"].iloc[rows["row"] - 1].to_numpy() == rows["class"]).all()
        np.testing.assert_array_equal(rows["predicted"], scores.predicted)
        np.testing.assert_array_equal(rows["right"], rows["class"] == rows["predicted"])
        best = scores.decision if scores.decision.ndim == 1 else scores.decision.max(axis=1)
        np.testing.assert_array_equal(rows["decision"], best)


def test_without_convergence_all_eigenvectors_are_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def stuck(*args: object, **options: object) -> None:
        raise ArpackNoConvergence("stuck", np.zeros(0), np.zeros((150, 0)))

    X = np.random.default_rng(0).normal(size=(150, 4)) * [3, 2, 1, 1]
    expected = leading_components(X @ X.T)
    monkeypatch.setattr(kernel_views, "eigsh", stuck)
    values, vectors = leading_components(X @ X.T)
    np.testing.assert_allclose(values, expected[0], rtol=ROUNDING)
    np.testing.assert_allclose(vectors, expected[1], atol=COMPONENTS)


@pytest.mark.parametrize("n", [2, 5, 150])
def test_kernels_without_two_directions(n: int) -> None:
    values, vectors = leading_components(np.ones((n, n)))
    assert not values.any()
    assert not vectors.any()
    x = np.linspace(-1, 1, n)
    values, vectors = leading_components(np.outer(x, x))
    np.testing.assert_allclose(values, [x @ x, 0], atol=ROUNDING)
    np.testing.assert_allclose(np.abs(vectors), np.abs(np.column_stack([x / np.sqrt(x @ x), 0 * x])), atol=COMPONENTS)


def test_a_run_without_any_weight_has_all_in_one_place() -> None:
    case = trained(C=1e-6)
    assert not projection(case.run, case.prepared)[["x", "y"]].to_numpy().any()
    image = kernel_image(case.run, case.prepared, case.run.spn.root)
    assert not image.cells.any()
    assert image.alignment == 0
