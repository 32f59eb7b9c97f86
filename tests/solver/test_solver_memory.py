"""Working memory beyond the given kernel matrices: at most three n×n matrices."""

import tracemalloc

import numpy as np
import pytest
from cases import flat, product_of_sums
from oracles import Array, Structure

from spnmkl import SPN, solve

N = 600
STRUCTURES = {"25 kernels": flat(25), "5 sums of 5 kernels": product_of_sums(5, 5)}


def kernels_of(spn: SPN, narrowness: float) -> tuple[dict[str, Array], Array]:
    """With narrow kernels every sample is a free support vector, which is when most memory is needed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    features = [X[:, i % 5] for i in range(len(spn.kernels))]
    kernels = {
        leaf: np.exp(-narrowness * (1 + i) * (x[:, None] - x) ** 2)
        for i, (leaf, x) in enumerate(zip(spn.kernels, features, strict=True))
    }
    return kernels, np.where(np.sin(3 * X[:, 0]) + X[:, 1] > 0, 1, -1)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("narrowness", [1.0, 300.0])
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_three_matrices_are_enough(structure: Structure, narrowness: float, n_threads: int) -> None:
    spn = SPN.from_dict(structure)
    kernels, y = kernels_of(spn, narrowness)
    solve(spn, {leaf: K[:40, :40] for leaf, K in kernels.items()}, y[:40])  # compile
    tracemalloc.start()
    try:
        solution = solve(spn, kernels, y, C=10.0, n_threads=n_threads)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert solution.status == "optimal"
    assert peak <= 3 * 8 * N**2
