"""The default tolerance on data sets of everyday size, in few evaluations."""

from collections.abc import Iterator

import numpy as np
import pytest
from cases import flat, product_of_sums
from numpy.typing import NDArray
from oracles import Array
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler
from tolerances import ROUNDING

from spnmkl import SPN, Solution, solve
from spnmkl.inspection import heaviest_paths

MOST_EVALUATIONS = 20


def unit_diagonal(K: Array) -> Array:
    scale = np.sqrt(np.diag(K))
    K = K / np.outer(scale, scale)
    return (K + K.T) / 2


def gaussian(X: Array, width: float) -> Array:
    squared = euclidean_distances(X, squared=True)
    return np.exp(-squared / (2 * width**2 * X.shape[1]))


def base_kernels(X: Array, groups: int) -> Iterator[Array]:
    """10 rbf widths, polynomial 1 to 3, and one rbf per group of features."""
    X = StandardScaler().fit_transform(X)
    for width in np.logspace(-1, 1, 10):
        yield gaussian(X, width)
    for degree in (1, 2, 3):
        yield unit_diagonal((X @ X.T / X.shape[1] + 1) ** degree)
    for columns in np.array_split(np.arange(X.shape[1]), groups):
        yield gaussian(X[:, columns], 1.0)


def check(solution: Solution, kernels: dict[str, Array]) -> None:
    assert solution.status == "optimal"
    assert -ROUNDING <= solution.gap <= solution.tol == 1e-3
    assert solution.certify(kernels).gap == pytest.approx(solution.gap, abs=ROUNDING)
    assert solution.history[-1].evaluations <= MOST_EVALUATIONS


def loaded(name: str) -> tuple[dict[str, Array], NDArray]:
    """25 kernels: 569 rows of breast cancer, 178 of wine (three classes), the first 600 of digits (ten)."""
    load = {"breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}[name]
    X, y = load(return_X_y=True)
    return {f"K{i}": K for i, K in enumerate(base_kernels(X[:600], 12))}, y[:600]


@pytest.fixture(scope="module", params=["breast cancer", "wine", "digits"])
def data(request: pytest.FixtureRequest) -> tuple[dict[str, Array], NDArray]:
    return loaded(request.param)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_one_layer(data: tuple[dict[str, Array], NDArray], p: float) -> None:
    kernels, y = data
    solution = solve(SPN.from_dict(flat(25)), kernels, y, p=p)
    check(solution, kernels)
    assert bool(solution.pruned) == (p == 1)


def test_groups_and_products(data: tuple[dict[str, Array], NDArray]) -> None:
    kernels, y = data
    structure = product_of_sums(2, 5)
    given = dict(zip([f"K{d}.{k}" for d in range(2) for k in range(5)], list(kernels.values())[13:], strict=False))
    check(solve(SPN.from_dict(structure), given, y), given)


def test_a_million_paths() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 6))
    y = np.where(np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0, "yes", "no")
    spn = SPN.from_dict(product_of_sums(6, 10))
    assert spn.n_paths == 10**6
    kernels = {
        f"K{d}.{k}": np.exp(-((X[:, [d]] - X[:, d]) ** 2) * width)
        for d in range(6)
        for k, width in enumerate(np.logspace(-2, 1, 10))
    }
    solution = solve(spn, kernels, y)
    check(solution, kernels)
    heaviest = heaviest_paths(solution, 3)
    assert [path.share for path in heaviest] == sorted((path.share for path in heaviest), reverse=True)
    assert {len(path.leaves) for path in heaviest} == {6}
