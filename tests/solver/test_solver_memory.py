"""Working memory beyond the given kernel matrices: at most three n×n matrices."""

import tracemalloc

import numpy as np
import pytest
from cases import flat, product_of_sums
from oracles import Array, Structure

from spnmkl import SPN, solve

N = 600
STRUCTURES = {"25 kernels": flat(25), "5 sums of 5 kernels": product_of_sums(5, 5)}


def kernels_of(spn: SPN) -> tuple[dict[str, Array], Array]:
    """Kernels, and labels that need most samples as support vectors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5))
    kernels = {}
    for i, leaf in enumerate(spn.kernels):
        x = X[:, i % 5]
        kernels[leaf] = np.exp(-(1 + i) * (x[:, None] - x) ** 2)
    return kernels, np.where(np.sin(3 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=N) > 0, 1, -1)


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("C", [0.3, 30.0])
@pytest.mark.parametrize("structure", STRUCTURES.values(), ids=STRUCTURES)
def test_three_matrices_are_enough(structure: Structure, C: float, n_threads: int) -> None:
    spn = SPN.from_dict(structure)
    kernels, y = kernels_of(spn)
    solve(spn, {leaf: K[:40, :40] for leaf, K in kernels.items()}, y[:40])  # compile
    tracemalloc.start()
    try:
        solution = solve(spn, kernels, y, C=C, n_threads=n_threads)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert solution.status == "optimal"
    assert peak <= 3 * 8 * N**2
