"""Kernels computed tile by tile while solving give what matrices in memory give."""

import numpy as np
import pytest

from spnmkl import Kernel, solve, templates
from spnmkl.kernels import CrossSource, fit_kernels


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("normalize", ["unit_diagonal", "centred"])
def test_tiles_equal_matrices(normalize: str, n_threads: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(420, 6))  # more entries than one thread is given
    y = np.sign(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=420))
    spn = templates.product_of_sums(
        {
            "near": [Kernel("rbf", gamma=g, normalize=normalize) for g in (0.1, 1.0)],
            "far": [Kernel("linear", normalize=normalize), Kernel("polynomial", normalize=normalize)],
        }
    )
    matrices, fitted = fit_kernels(spn, X)
    tiled = solve(spn, CrossSource(fitted, X), y, C=3.0, n_threads=n_threads)
    held = solve(spn, matrices, y, C=3.0, n_threads=n_threads)
    assert tiled.status == held.status == "optimal"
    assert tiled.beta == pytest.approx(held.beta, rel=1e-6)
    assert tiled.certify(matrices).gap == pytest.approx(held.gap, abs=1e-9)
